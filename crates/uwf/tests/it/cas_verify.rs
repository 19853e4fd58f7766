//! `uwf cas verify`: damaged, missing and invalid nodes.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use crate::fixtures::notes::{file_of, note, put_text};
use crate::home;

#[test]
fn put_repairs_node_reported_as_damaged() {
    let home = home();
    let [_, on, note] = note(&home);
    let other = put_text(&home, "something else");
    let whole = fs::read(file_of(&home, &on)).unwrap();
    fs::write(file_of(&home, &on), fs::read(file_of(&home, &other)).unwrap()).unwrap();

    assert_snapshot!(home.transcript(&["cas", "get", &on]), @r"
    exit 65
    --- stderr
    error: node DWSHB3MZK7GWH is corrupt: the content has hash 6ZE0Y6PN7E4FS
    hint: `uwf cas verify DWSHB3MZK7GWH` checks it; putting the same content again repairs it
    ");
    assert_snapshot!(home.transcript(&["cas", "verify"]), @r#"
    exit 65
    {"checked":24,"bytes":15052,"problems":[{"hash":"DWSHB3MZK7GWH","file":null,"kind":"corrupt","reason":"the content has hash 6ZE0Y6PN7E4FS","referencedBy":null}]}
    "#);
    assert_snapshot!(home.transcript(&["cas", "verify", &note, "--format", "text"]), @r"
    exit 65
    DWSHB3MZK7GWH  corrupt: the content has hash 6ZE0Y6PN7E4FS (referred to by 12HBH7P84TFRV)
    4 nodes checked, 553 bytes: 1 problem
    ");
    assert_snapshot!(home.transcript(&["cas", "walk", &note]), @r#"
    exit 65
    [{"hash":"12HBH7P84TFRV","type":"0M2XXNNYATED9","title":"note"}]
    --- stderr
    warning: node DWSHB3MZK7GWH is corrupt: the content has hash 6ZE0Y6PN7E4FS
    error: 1 of the nodes reachable from 12HBH7P84TFRV is not readable
    hint: `uwf cas verify 12HBH7P84TFRV` shows the problem of each
    "#);

    assert_eq!(put_text(&home, "hello"), on);
    assert_eq!(home.json(&["cas", "get", &on])["payload"]["text"], "hello");
    assert_eq!(fs::read(file_of(&home, &on)).unwrap().len(), whole.len());
    assert_eq!(home.uwf(&["cas", "verify"]).code, Some(0));
}

#[test]
fn missing_invalid_and_misnamed_nodes_are_found() {
    let home = home();
    let [schema, on, note] = note(&home);
    fs::remove_file(file_of(&home, &on)).unwrap();
    fs::write(home.root().join("cas/notes.txt"), "mine").unwrap();
    assert_snapshot!(home.transcript(&["cas", "verify", "--format", "text"]), @"
    exit 65
    DWSHB3MZK7GWH  missing: it does not exist (referred to by 12HBH7P84TFRV)
    notes.txt  misnamed: not named <hash>.bin
    22 nodes checked, 14916 bytes: 2 problems
    ");
    assert_snapshot!(home.transcript(&["cas", "verify", &note]), @r#"
    exit 65
    {"checked":3,"bytes":485,"problems":[{"hash":"DWSHB3MZK7GWH","file":null,"kind":"missing","reason":"it does not exist","referencedBy":"12HBH7P84TFRV"}]}
    "#);
    assert_snapshot!(home.transcript(&["cas", "verify", &on]), @r"
    exit 69
    --- stderr
    error: node DWSHB3MZK7GWH does not exist
    ");
    assert_eq!(home.uwf(&["cas", "verify", &schema]).code, Some(0));
}

#[test]
fn one_damaged_node_does_not_break_a_listing() {
    let home = home();
    let hash = put_text(&home, "hello");
    fs::write(file_of(&home, &hash), "").unwrap();
    let rows = home.json(&["cas", "list"]);
    let row = rows.as_array().unwrap().iter().find(|row| row["hash"] == json!(hash)).unwrap();
    assert_eq!(row, &json!({ "hash": hash, "type": null, "title": null, "problem": "the file is empty" }));
    assert_snapshot!(home.transcript(&["cas", "list", "--type", "content"]), @r"
    exit 0
    []
    --- stderr
    warning: node DWSHB3MZK7GWH is corrupt: the file is empty; it is left out
    ");
    assert_snapshot!(home.transcript(&["cas", "reindex"]), @r#"
    exit 0
    {"status":"problems","nodes":20,"threads":0,"steps":0,"tempFiles":0,"problems":["node DWSHB3MZK7GWH is corrupt: the file is empty"]}
    --- stderr
    warning: some nodes are not readable; `uwf cas verify` shows the problem of each
    "#);
}
