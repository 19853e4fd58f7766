//! The store through the command: put, get, list, walk, verify, and what happens when a file is damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{TestHome, text};

use crate::home;

/// A text whose node has a hash of digits only, and one of digits and one E: numbers to a YAML reader.
const HASH_LIKE_AN_INTEGER: (&str, &str) = ("2217292", "6519566623692");
const HASH_LIKE_A_FLOAT: (&str, &str) = ("396677", "21604619E9284");

const NOTE_SCHEMA: &str = r#"{"title":"note","type":"object","properties":{"on":{"type":"string","format":"cas_ref"},"stars":{"type":"integer"}},"required":["on"]}"#;

fn put_text(home: &TestHome, content: &str) -> String {
    text(&home.json(&["cas", "put-text", content]), "hash")
}

fn file_of(home: &TestHome, hash: &str) -> PathBuf {
    home.root().join("cas").join(format!("{hash}.bin"))
}

/// A note on a text; returns the hashes of schema, text and note.
fn note(home: &TestHome) -> [String; 3] {
    let schema = text(&home.json(&["cas", "schema", "put", NOTE_SCHEMA]), "hash");
    let on = put_text(home, "hello");
    let note = text(&home.json(&["cas", "put", &schema, &format!("{{\"on\":\"{on}\",\"stars\":5}}")]), "hash");
    [schema, on, note]
}

#[test]
fn a_node_is_put_read_and_found_by_a_beginning_of_its_hash() {
    let home = home();
    let [_, on, note] = note(&home);
    assert_snapshot!(home.told(&["cas", "get", &note]), @r#"
    exit 0
    {"hash":"12HBH7P84TFRV","type":"0M2XXNNYATED9","payload":{"on":"DWSHB3MZK7GWH","stars":5},"timestamp":<ms>}
    "#);
    assert_snapshot!(home.told(&["cas", "get", &on[..4], "--format", "text"]), @r#"
    exit 0
    hash:   DWSHB3MZK7GWH
    type:   FXEFD3A3K4P94 (content)
    stored: <time>

    {
      "text": "hello"
    }
    "#);
    assert_snapshot!(home.told(&["cas", "get", &on.to_lowercase(), "--format", "yaml"]), @r"
    exit 0
    hash: DWSHB3MZK7GWH
    type: FXEFD3A3K4P94
    payload:
      text: hello
    timestamp: <ms>
    ");
    assert_snapshot!(home.told(&["cas", "refs", &note]), @r#"
    exit 0
    ["DWSHB3MZK7GWH"]
    "#);
    assert_eq!(put_text(&home, "hello"), on, "the same content has the same hash");
}

#[test]
fn walk_and_list_show_what_is_there() {
    let home = home();
    let [schema, on, note] = note(&home);
    assert_snapshot!(home.told(&["cas", "walk", &note]), @r#"
    exit 0
    [{"hash":"12HBH7P84TFRV","type":"0M2XXNNYATED9","title":"note"},{"hash":"DWSHB3MZK7GWH","type":"FXEFD3A3K4P94","title":"content"}]
    "#);
    assert_snapshot!(home.told(&["cas", "walk", &note, "--types", "--format", "text"]), @r"
    exit 0
    12HBH7P84TFRV  note
    DWSHB3MZK7GWH  content
    0M2XXNNYATED9  json-cas meta-schema
    FXEFD3A3K4P94  json-cas meta-schema
    111ZGV99GA4Z7  json-cas meta-schema
    ");
    assert_snapshot!(home.told(&["cas", "list", "--type", "content"]), @r#"
    exit 0
    [{"hash":"DWSHB3MZK7GWH","type":"FXEFD3A3K4P94","title":"content"}]
    "#);
    assert_snapshot!(home.told(&["cas", "list", "--type", &schema[..5], "--format", "text"]), @r"
    exit 0
    12HBH7P84TFRV  note
    ");
    assert_snapshot!(home.told(&["cas", "list", "--limit", "2", "--format", "yaml"]), @r"
    exit 0
    - hash: 0JH93PCDMMDP8
      type: 111ZGV99GA4Z7
      title: json-cas meta-schema
    - hash: 0M2XXNNYATED9
      type: 111ZGV99GA4Z7
      title: json-cas meta-schema
    ");
    assert_snapshot!(home.told(&["cas", "schema", "list", "--format", "text"]), @"
    exit 0
    0JH93PCDMMDP8  react-tool-call
    0M2XXNNYATED9  note
    111ZGV99GA4Z7  json-cas meta-schema
    3JJXX03EK0Q9J  react-session
    668EMGAMRHHNP  attempt
    996P5D51CY7P6  Workflow
    9QRHCCNM0J9FQ  react-session
    A0B8EAC74XR4W  attempt
    CKDHDKMZ3XG9X  StepNode
    DP275P26Y59DC  StartNode
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
            "{\"status\":\"ok\",\"nodes\":0,\"threads\":0,\"steps\":0,\"tempFiles\":0,\"problems\":[]}\n",
        ),
    ] {
        let ran = home.uwf(args);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), expected, ""), "{args:?}");
    }
    assert_snapshot!(home.told(&["cas", "get", "0000000000000"]), @r"
    exit 69
    --- stderr
    error: there is no node 0000000000000
    hint: the store is <dir>/root/cas
    ");
    assert_snapshot!(home.told(&["cas", "get", "0000"]), @r"
    exit 69
    --- stderr
    error: no node's hash begins with 0000
    hint: the store is <dir>/root/cas
    ");
}

#[test]
fn a_beginning_of_more_than_one_hash_is_refused_with_the_candidates() {
    let home = home();
    fs::create_dir(home.root().join("cas")).unwrap();
    for last in 1..8 {
        fs::write(file_of(&home, &format!("000000000000{last}")), "").unwrap();
    }
    assert_snapshot!(home.told(&["cas", "get", "0000"]), @r"
    exit 64
    --- stderr
    error: 0000 is the beginning of more than one hash: 0000000000001, 0000000000002, 0000000000003, 0000000000004, 0000000000005, …
    ");
    assert_snapshot!(home.told(&["cas", "has", "00000"]), @r"
    exit 64
    --- stderr
    error: 00000 is the beginning of more than one hash: 0000000000001, 0000000000002, 0000000000003, 0000000000004, 0000000000005, …
    ");
    assert_snapshot!(home.told(&["cas", "list", "--type", "000000"]), @r"
    exit 64
    --- stderr
    error: 000000 is the beginning of more than one hash: 0000000000001, 0000000000002, 0000000000003, 0000000000004, 0000000000005, …
    ");
    assert_snapshot!(home.told(&["cas", "get", "0000000000007"]), @r"
    exit 65
    --- stderr
    error: node 0000000000007 is corrupt: the file is empty
    hint: `uwf cas verify 0000000000007` checks it; putting the same content again repairs it
    ");
}

#[test]
fn whether_a_node_is_there_is_told_by_the_exit_code_too() {
    let home = home();
    let hash = put_text(&home, "hello");
    assert_snapshot!(home.told(&["cas", "has", &hash]), @r#"
    exit 0
    {"has":true,"exists":true}
    "#);
    assert_snapshot!(home.told(&["cas", "has", "0000000000000"]), @r#"
    exit 69
    {"has":false,"exists":false}
    "#);
    assert_snapshot!(home.told(&["cas", "has", "0000"]), @r#"
    exit 69
    {"has":false,"exists":false}
    "#);
    assert_snapshot!(home.told(&["cas", "has", "hello"]), @r"
    exit 64
    --- stderr
    error: `hello` is not a hash: the first symbol of a hash is 0-9 or A-F
    ");
}

#[test]
fn values_that_do_not_fit_are_refused_with_every_reason() {
    let home = home();
    let [schema, ..] = note(&home);
    assert_snapshot!(home.told(&["cas", "put", &schema, r#"{"on": "nothing", "stars": "many"}"#]), @r#"
    exit 65
    --- stderr
    error: the payload is not a valid note: /on: expected the hash of a node (13 symbols, 0-9 and A-Z), found "nothing"; /stars: expected an integer, found the string "many"
    "#);
    assert_snapshot!(home.told(&["cas", "put", "content", r#"{"text": 1, "more": 2}"#]), @r"
    exit 65
    --- stderr
    error: the payload is not a valid content: /text: expected a string, found 1; unknown key `more`; allowed are `text`
    ");
    assert_snapshot!(home.told(&["cas", "put", "content", r#"{"text": "a", "text": "b"}"#]), @r"
    exit 65
    --- stderr
    error: bad JSON at line 1, column 20, in /text: the key occurs twice
    ");
    assert_snapshot!(home.told(&["cas", "put", "content", r#"{"text": "\ud800"}"#]), @r"
    exit 65
    --- stderr
    error: bad JSON at line 1, column 17, in /text: unexpected end of hex escape
    ");
    assert_snapshot!(home.told(&["cas", "put", &schema, r#"{"on": [1, 1e400]}"#]), @r"
    exit 65
    --- stderr
    error: bad JSON at line 1, column 16, in /on/1: number out of range
    ");
    assert_snapshot!(home.told(&["cas", "put", "content", "value.json"]), @r#"
    exit 64
    --- stderr
    error: `value.json` is neither JSON nor a file
    hint: give JSON, a file with JSON, or - for stdin; a plain text needs quotes of its own: '"text"'
    "#);
    assert_snapshot!(home.told(&["cas", "put", "contnet", "{}"]), @r"
    exit 69
    --- stderr
    error: there is no type `contnet`
    hint: did you mean `content`?
    ");
    assert_snapshot!(home.told(&["cas", "put", "0000000000000", "{}"]), @r"
    exit 65
    --- stderr
    error: type 0000000000000 is not in the store
    hint: `uwf cas schema list` shows the types there are
    ");
    let text = put_text(&home, "no schema");
    assert_snapshot!(home.told(&["cas", "put", &text, "{}"]), @r"
    exit 65
    --- stderr
    error: node 7VHTJ5QD2DG24 is not a schema and cannot be a type
    ");
    assert_snapshot!(home.told(&["cas", "schema", "put", r#"{"type": "objekt", "$ref": "https://example.com/x"}"#]), @r"
    exit 65
    --- stderr
    error: bad schema: /type: `objekt` is no type; did you mean `object`?; /$ref: `https://example.com/x` is outside this schema; copy what it names into `$defs`
    ");
    assert_snapshot!(home.told(&["cas", "schema", "put", r#"{"type": "object", "requird": ["a"]}"#]), @r#"
    exit 0
    {"hash":"6P8AK9SNG0ADN"}
    --- stderr
    warning: /requird: `requird` is no keyword and has no effect; did you mean `required`?
    "#);
}

#[test]
fn a_value_can_come_from_a_file_or_stdin() {
    let home = home();
    home.file("value.json", "\u{feff}{\"text\": \"hello\"}\n");
    home.file("hello.txt", "hello");
    let expected = put_text(&home, "hello");
    let from_file = home.json(&["cas", "put", "content", "value.json"]);
    let from_text_file = home.json(&["cas", "put-text", "--file", "hello.txt"]);
    let mut piped = home.command(&["cas", "put", "content", "-"]);
    let output = piped.stdin(Stdio::from(fs::File::open(home.work().join("value.json")).unwrap())).output().unwrap();
    let from_stdin: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!([from_file, from_text_file, from_stdin], [(); 3].map(|()| json!({ "hash": expected })));
}

#[test]
fn a_hash_is_told_without_storing_anything_whether_or_not_its_type_exists() {
    let home = home();
    assert_snapshot!(home.told(&["cas", "hash", "content", r#"{"text": "hello"}"#]), @r#"
    exit 0
    {"hash":"DWSHB3MZK7GWH"}
    "#);
    assert_snapshot!(home.told(&["cas", "hash", "0000000000000", "-0", "--format", "text"]), @r"
    exit 0
    909VC64C1B55Y
    ");
    assert!(!home.root().join("cas").exists(), "nothing is stored");
}

#[test]
fn hashes_that_look_like_numbers_stay_texts_in_yaml() {
    let home = home();
    let told = [HASH_LIKE_AN_INTEGER, HASH_LIKE_A_FLOAT].map(|(content, hash)| {
        assert_eq!(put_text(&home, content), hash);
        home.uwf(&["cas", "hash", "content", &format!("{{\"text\":\"{content}\"}}"), "--format", "yaml"]).stdout
    });
    assert_eq!(told, ["hash: \"6519566623692\"\n", "hash: \"21604619E9284\"\n"]);
}

#[test]
fn hashes_agree_with_another_implementation() {
    let home = home();
    // Minus zero is the integer 0, one byte of CBOR.
    let zero = json_cas::hash_bytes(b"0000000000000", &[0]).to_string();
    let mut vectors = vec![("0000000000000".to_owned(), "-0".to_owned(), zero)];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/json-cas.json");
    match fs::read(&path) {
        Ok(bytes) => vectors.extend(published(&serde_json::from_slice(&bytes).unwrap())),
        Err(_) => eprintln!("no published vectors here; only one value was compared"),
    }
    for (type_hash, value, hash) in vectors {
        let told = home.json(&["cas", "hash", &type_hash, &value]);
        assert_eq!(told, json!({ "hash": hash }), "{value} of type {type_hash}");
    }
}

/// Every tenth vector: one process each.
fn published(file: &Value) -> Vec<(String, String, String)> {
    let vectors = file["vectors"].as_array().expect("a list of vectors").iter();
    // Their types are any bytes, those of the command hashes.
    let usable = vectors.filter(|vector| vector["type"].as_str().is_some_and(json_cas::Hash::is_hash));
    usable.step_by(10).map(|vector| (text(vector, "type"), text(vector, "json"), text(vector, "hash"))).collect()
}

#[test]
fn damage_is_named_and_putting_the_same_content_again_repairs_it() {
    let home = home();
    let [_, on, note] = note(&home);
    let other = put_text(&home, "something else");
    let whole = fs::read(file_of(&home, &on)).unwrap();
    fs::write(file_of(&home, &on), fs::read(file_of(&home, &other)).unwrap()).unwrap();

    assert_snapshot!(home.told(&["cas", "get", &on]), @r"
    exit 65
    --- stderr
    error: node DWSHB3MZK7GWH is corrupt: the content has hash 6ZE0Y6PN7E4FS
    hint: `uwf cas verify DWSHB3MZK7GWH` checks it; putting the same content again repairs it
    ");
    assert_snapshot!(home.told(&["cas", "verify"]), @r#"
    exit 65
    {"checked":17,"bytes":6946,"problems":[{"hash":"DWSHB3MZK7GWH","file":null,"kind":"corrupt","reason":"the content has hash 6ZE0Y6PN7E4FS","referencedBy":null}]}
    "#);
    assert_snapshot!(home.told(&["cas", "verify", &note, "--format", "text"]), @r"
    exit 65
    DWSHB3MZK7GWH  corrupt: the content has hash 6ZE0Y6PN7E4FS (referred to by 12HBH7P84TFRV)
    4 nodes checked, 553 bytes: 1 problem
    ");
    assert_snapshot!(home.told(&["cas", "walk", &note]), @r#"
    exit 65
    [{"hash":"12HBH7P84TFRV","type":"0M2XXNNYATED9","title":"note"}]
    --- stderr
    warning: node DWSHB3MZK7GWH is corrupt: the content has hash 6ZE0Y6PN7E4FS
    error: 1 of the nodes reachable from 12HBH7P84TFRV is not readable
    hint: `uwf cas verify 12HBH7P84TFRV` tells what is wrong with each
    "#);

    assert_eq!(put_text(&home, "hello"), on);
    assert_eq!(home.json(&["cas", "get", &on])["payload"]["text"], "hello");
    assert_eq!(fs::read(file_of(&home, &on)).unwrap().len(), whole.len());
    assert_eq!(home.uwf(&["cas", "verify"]).code, Some(0));
}

#[test]
fn what_is_missing_invalid_or_no_node_at_all_is_found() {
    let home = home();
    let [schema, on, note] = note(&home);
    fs::remove_file(file_of(&home, &on)).unwrap();
    fs::write(home.root().join("cas/notes.txt"), "mine").unwrap();
    assert_snapshot!(home.told(&["cas", "verify", "--format", "text"]), @"
    exit 65
    DWSHB3MZK7GWH  missing: it does not exist (referred to by 12HBH7P84TFRV)
    notes.txt  misnamed: not named <hash>.bin
    15 nodes checked, 6810 bytes: 2 problems
    ");
    assert_snapshot!(home.told(&["cas", "verify", &note]), @r#"
    exit 65
    {"checked":3,"bytes":485,"problems":[{"hash":"DWSHB3MZK7GWH","file":null,"kind":"missing","reason":"it does not exist","referencedBy":"12HBH7P84TFRV"}]}
    "#);
    assert_snapshot!(home.told(&["cas", "verify", &on]), @r"
    exit 69
    --- stderr
    error: there is no node DWSHB3MZK7GWH
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
    assert_snapshot!(home.told(&["cas", "list", "--type", "content"]), @r"
    exit 0
    []
    --- stderr
    warning: node DWSHB3MZK7GWH is corrupt: the file is empty; it is left out
    ");
    assert_snapshot!(home.told(&["cas", "reindex"]), @r#"
    exit 0
    {"status":"problems","nodes":13,"threads":0,"steps":0,"tempFiles":0,"problems":["node DWSHB3MZK7GWH is corrupt: the file is empty"]}
    --- stderr
    warning: some nodes are not readable; `uwf cas verify` tells what is wrong with each
    "#);
}

#[test]
fn the_cache_may_be_deleted_or_damaged_at_any_time() {
    let home = home();
    let [_, on, _] = note(&home);
    let expected = home.json(&["cas", "list", "--type", "content"]);
    let cache = home.root().join("cache/types");
    for damage in [&b""[..], b"garbage", &[0; 48], &fs::read(&cache).unwrap()[..30]] {
        fs::write(&cache, damage).unwrap();
        assert_eq!(home.json(&["cas", "list", "--type", "content"]), expected);
    }
    fs::remove_dir_all(home.root().join("cache")).unwrap();
    assert_eq!(home.json(&["cas", "list", "--type", "content"]), expected);
    // A node that is gone is not listed, though its type is remembered; one that came by other ways is.
    fs::rename(file_of(&home, &on), home.work().join("away")).unwrap();
    assert_eq!(home.json(&["cas", "list", "--type", "content"]), json!([]));
    fs::rename(home.work().join("away"), file_of(&home, &on)).unwrap();
    assert_eq!(home.json(&["cas", "list", "--type", "content"]), expected);
}

#[test]
fn reindex_rebuilds_the_cache_and_removes_what_crashed_writers_left() {
    let home = home();
    home.script("worker", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    home.config("agents: { w: { command: worker, output: json } }\ndefaultAgent: w\n");
    home.put("count-rounds", &uwf_testing::counting_workflow(2));
    let (done, open) = (home.start("count-rounds", "a"), home.start("count-rounds", "b"));
    home.json(&["thread", "run", &done]);
    home.json(&["thread", "step", &open]);
    let stale = [home.root().join(".tmp-a"), home.root().join("cas/.tmp-b"), home.root().join("threads/.tmp-c")];
    let fresh = home.root().join("cas/.tmp-d");
    for path in stale.iter().chain([&fresh]) {
        fs::write(path, "half a no").unwrap();
    }
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 60 * 60);
    stale.iter().for_each(|path| fs::File::open(path).unwrap().set_modified(long_ago).unwrap());
    fs::remove_dir_all(home.root().join("cache")).unwrap();

    let report = home.json(&["cas", "reindex"]);
    let counts = ["threads", "steps", "tempFiles", "problems"].map(|key| report[key].clone());
    assert_eq!(counts, [json!(2), json!(3), json!(3), json!([])]);
    assert_eq!(report["nodes"], json!(home.json(&["cas", "list"]).as_array().unwrap().len()));
    assert!(fresh.exists() && !stale.iter().any(|path| path.exists()));
    for thread in [done, open] {
        assert!(home.root().join("cache/chains").join(thread).exists());
    }
    assert!(home.root().join("cache/types").exists());
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_listing_quietly() {
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
