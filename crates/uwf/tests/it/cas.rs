//! Reading the store: `uwf cas get`, `has`, `refs`, `walk`, `list` and `schema`.

use std::fs;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::fixtures::notes::{NOTE_SCHEMA, file_of, note, put_text};
use crate::home;

#[test]
fn stored_node_is_found_by_hash_prefix() {
    let home = home();
    let [_, on, note] = note(&home);
    assert_snapshot!(home.transcript(&["cas", "get", &note]), @r#"
    exit 0
    {"hash":"12HBH7P84TFRV","type":"0M2XXNNYATED9","payload":{"on":"DWSHB3MZK7GWH","stars":5},"timestamp":<ms>}
    "#);
    assert_snapshot!(home.transcript(&["cas", "get", &on[..4], "--format", "text"]), @r#"
    exit 0
    hash:   DWSHB3MZK7GWH
    type:   FXEFD3A3K4P94 (content)
    stored: <time>

    {
      "text": "hello"
    }
    "#);
    assert_snapshot!(home.transcript(&["cas", "get", &on.to_lowercase(), "--format", "yaml"]), @r"
    exit 0
    hash: DWSHB3MZK7GWH
    type: FXEFD3A3K4P94
    payload:
      text: hello
    timestamp: <ms>
    ");
    assert_snapshot!(home.transcript(&["cas", "refs", &note]), @r#"
    exit 0
    ["DWSHB3MZK7GWH"]
    "#);
    assert_eq!(put_text(&home, "hello"), on, "the same content has the same hash");
}

#[test]
fn walk_and_list_show_what_is_there() {
    let home = home();
    let [schema, on, note] = note(&home);
    assert_snapshot!(home.transcript(&["cas", "walk", &note]), @r#"
    exit 0
    [{"hash":"12HBH7P84TFRV","type":"0M2XXNNYATED9","title":"note"},{"hash":"DWSHB3MZK7GWH","type":"FXEFD3A3K4P94","title":"content"}]
    "#);
    assert_snapshot!(home.transcript(&["cas", "walk", &note, "--types", "--format", "text"]), @r"
    exit 0
    12HBH7P84TFRV  note
    DWSHB3MZK7GWH  content
    0M2XXNNYATED9  json-cas meta-schema
    FXEFD3A3K4P94  json-cas meta-schema
    111ZGV99GA4Z7  json-cas meta-schema
    ");
    assert_snapshot!(home.transcript(&["cas", "list", "--type", "content"]), @r#"
    exit 0
    [{"hash":"DWSHB3MZK7GWH","type":"FXEFD3A3K4P94","title":"content"}]
    "#);
    assert_snapshot!(home.transcript(&["cas", "list", "--type", &schema[..5], "--format", "text"]), @r"
    exit 0
    12HBH7P84TFRV  note
    ");
    assert_snapshot!(home.transcript(&["cas", "list", "--limit", "2", "--format", "yaml"]), @r"
    exit 0
    - hash: 0JH93PCDMMDP8
      type: 111ZGV99GA4Z7
      title: json-cas meta-schema
    - hash: 0M2XXNNYATED9
      type: 111ZGV99GA4Z7
      title: json-cas meta-schema
    ");
    assert_snapshot!(home.transcript(&["cas", "schema", "list", "--format", "text"]), @"
    exit 0
    0JH93PCDMMDP8  react-tool-call
    0M2XXNNYATED9  note
    111ZGV99GA4Z7  json-cas meta-schema
    3JJXX03EK0Q9J  react-session
    4KJZ87NTZVXAM  react-session
    668EMGAMRHHNP  attempt
    7ACY84ACJ8AT7  Workflow
    7P6V8E44J1NKS  Workflow
    996P5D51CY7P6  Workflow
    9QRHCCNM0J9FQ  react-session
    A0B8EAC74XR4W  attempt
    C7MBYB1DN3TGW  StartNode
    CA51B31HK0CJP  thread-end
    CJJCGZNTK1P3R  attempt
    CKDHDKMZ3XG9X  StepNode
    DP275P26Y59DC  StartNode
    ED6QN50K76W37  Workflow
    FM5698SPFQ2XS  react-turn
    FN9R4JQF9JB9Z  thread-end
    FXEFD3A3K4P94  content
    FY8K6VTXE2Q3S  agent
    ");
    assert_eq!(home.json(&["cas", "schema", "get", &schema]), serde_json::from_str::<Value>(NOTE_SCHEMA).unwrap());
    assert_eq!(home.json(&["cas", "list", "--type", "content"])[0]["hash"], json!(on));
}

#[test]
fn an_empty_store_is_no_error() {
    let home = home();
    for (args, expected) in [
        (&["cas", "list"][..], "[]\n"),
        (&["cas", "list", "--format", "yaml"], "[]\n"),
        (&["cas", "list", "--format", "text"], ""),
        (&["cas", "list", "--type", "content"], "[]\n"),
        (&["cas", "schema", "list"], "[]\n"),
        (&["cas", "verify"], "{\"checked\":0,\"bytes\":0,\"problems\":[]}\n"),
        (
            &["cas", "reindex"],
            "{\"status\":\"reindexed\",\"nodes\":0,\"threads\":0,\"steps\":0,\"tempFiles\":0,\"problems\":[]}\n",
        ),
    ] {
        let ran = home.uwf(args);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), expected, ""), "{args:?}");
    }
    assert_snapshot!(home.transcript(&["cas", "get", "0000000000000"]), @r"
    exit 69
    --- stderr
    error: node 0000000000000 does not exist
    hint: the store is <dir>/root/cas
    ");
    assert_snapshot!(home.transcript(&["cas", "get", "0000"]), @r"
    exit 69
    --- stderr
    error: no node's hash begins with 0000
    hint: the store is <dir>/root/cas
    ");
}

#[test]
fn ambiguous_hash_prefix_lists_candidates() {
    let home = home();
    fs::create_dir(home.root().join("cas")).unwrap();
    for last in 1..8 {
        fs::write(file_of(&home, &format!("000000000000{last}")), "").unwrap();
    }
    assert_snapshot!(home.transcript(&["cas", "get", "0000"]), @r"
    exit 64
    --- stderr
    error: 0000 is the beginning of more than one hash: 0000000000001, 0000000000002, 0000000000003, 0000000000004, 0000000000005, …
    ");
    assert_snapshot!(home.transcript(&["cas", "has", "00000"]), @r"
    exit 64
    --- stderr
    error: 00000 is the beginning of more than one hash: 0000000000001, 0000000000002, 0000000000003, 0000000000004, 0000000000005, …
    ");
    assert_snapshot!(home.transcript(&["cas", "list", "--type", "000000"]), @r"
    exit 64
    --- stderr
    error: 000000 is the beginning of more than one hash: 0000000000001, 0000000000002, 0000000000003, 0000000000004, 0000000000005, …
    ");
    assert_snapshot!(home.transcript(&["cas", "get", "0000000000007"]), @r"
    exit 65
    --- stderr
    error: node 0000000000007 is corrupt: the file is empty
    hint: `uwf cas verify 0000000000007` checks it; putting the same content again repairs it
    ");
}

#[test]
fn has_reports_existence_by_exit_code() {
    let home = home();
    let hash = put_text(&home, "hello");
    assert_snapshot!(home.transcript(&["cas", "has", &hash]), @r#"
    exit 0
    {"has":true,"exists":true}
    "#);
    assert_snapshot!(home.transcript(&["cas", "has", "0000000000000"]), @r#"
    exit 69
    {"has":false,"exists":false}
    "#);
    assert_snapshot!(home.transcript(&["cas", "has", "0000"]), @r#"
    exit 69
    {"has":false,"exists":false}
    "#);
    assert_snapshot!(home.transcript(&["cas", "has", "hello"]), @r"
    exit 64
    --- stderr
    error: `hello` is not a hash: the first symbol of a hash is 0-9 or A-F
    ");
}

#[test]
fn closed_pipe_ends_listing_quietly() {
    let home = home();
    for number in 0..40 {
        put_text(&home, &format!("text {number}"));
    }
    let mut child = home.command(&["cas", "list", "--format", "text"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}
