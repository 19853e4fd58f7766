//! `uwf cas put`, `put-text` and `hash`: values become nodes, or only get their hash.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::text;

use crate::fixtures::notes::{note, put_text};
use crate::home;

/// A text whose node has a hash of digits only, and one of digits and one E: numbers to a YAML reader.
const HASH_LIKE_AN_INTEGER: (&str, &str) = ("2217292", "6519566623692");

const HASH_LIKE_A_FLOAT: (&str, &str) = ("396677", "21604619E9284");

/// Every tenth vector: one process each.
fn published(file: &Value) -> Vec<(String, String, String)> {
    let vectors = file["vectors"].as_array().expect("a list of vectors").iter();
    // Their types are any bytes, those of the command hashes.
    let usable = vectors.filter(|vector| vector["type"].as_str().is_some_and(json_cas::NodeHash::is_hash));
    usable.step_by(10).map(|vector| (text(vector, "type"), text(vector, "json"), text(vector, "hash"))).collect()
}

#[test]
fn invalid_values_are_rejected_with_all_reasons() {
    let home = home();
    let [schema, ..] = note(&home);
    assert_snapshot!(home.transcript(&["cas", "put", &schema, r#"{"on": "nothing", "stars": "many"}"#]), @r#"
    exit 65
    --- stderr
    error: the payload is not a valid note: /on: expected the hash of a node (13 symbols, 0-9 and A-Z), found "nothing"; /stars: expected an integer, found the string "many"
    "#);
    assert_snapshot!(home.transcript(&["cas", "put", "content", r#"{"text": 1, "more": 2}"#]), @r"
    exit 65
    --- stderr
    error: the payload is not a valid content: /text: expected a string, found 1; unknown key `more`; allowed are `text`
    ");
    assert_snapshot!(home.transcript(&["cas", "put", "content", r#"{"text": "a", "text": "b"}"#]), @r"
    exit 65
    --- stderr
    error: bad JSON at line 1, column 15, in /text: the key occurs twice
    ");
    assert_snapshot!(home.transcript(&["cas", "put", "content", r#"{"text": "\ud800"}"#]), @r"
    exit 65
    --- stderr
    error: bad JSON at line 1, column 10: a text that is not valid: unexpected end of hex escape
    ");
    assert_snapshot!(home.transcript(&["cas", "put", &schema, r#"{"on": [1, 1e400]}"#]), @r"
    exit 65
    --- stderr
    error: bad JSON at line 1, column 12: `1e400` is not a value; quote it if it is a text
    ");
    assert_snapshot!(home.transcript(&["cas", "put", "content", "value.json"]), @r#"
    exit 64
    --- stderr
    error: `value.json` is neither JSON nor a file
    hint: give JSON, a file with JSON, or - for stdin; a plain text needs its own quotes: '"text"'
    "#);
    assert_snapshot!(home.transcript(&["cas", "put", "contnet", "{}"]), @r"
    exit 69
    --- stderr
    error: unknown type `contnet`
    hint: did you mean `content`?
    ");
    assert_snapshot!(home.transcript(&["cas", "put", "0000000000000", "{}"]), @r"
    exit 65
    --- stderr
    error: type 0000000000000 is not in the store
    hint: `uwf cas schema list` shows all types
    ");
    let text = put_text(&home, "no schema");
    assert_snapshot!(home.transcript(&["cas", "put", &text, "{}"]), @r"
    exit 65
    --- stderr
    error: node 7VHTJ5QD2DG24 is not a schema and cannot be a type
    ");
    assert_snapshot!(home.transcript(&["cas", "schema", "put", r#"{"type": "objekt", "$ref": "https://example.com/x"}"#]), @r"
    exit 65
    --- stderr
    error: bad schema: /type: `objekt` is not a type; did you mean `object`?; /$ref: `https://example.com/x` is outside this schema; copy what it names into `$defs`
    ");
    assert_snapshot!(home.transcript(&["cas", "schema", "put", r#"{"type": "object", "requird": ["a"]}"#]), @r#"
    exit 0
    {"hash":"6P8AK9SNG0ADN"}
    --- stderr
    warning: /requird: `requird` is not a keyword and has no effect; did you mean `required`?
    "#);
}

#[test]
fn value_comes_from_file_or_stdin() {
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
fn hash_stores_nothing_and_accepts_unknown_types() {
    let home = home();
    assert_snapshot!(home.transcript(&["cas", "hash", "content", r#"{"text": "hello"}"#]), @r#"
    exit 0
    {"hash":"DWSHB3MZK7GWH"}
    "#);
    assert_snapshot!(home.transcript(&["cas", "hash", "0000000000000", "-0", "--format", "text"]), @r"
    exit 0
    909VC64C1B55Y
    ");
    assert!(!home.root().join("cas").exists(), "nothing is stored");
}

#[test]
fn numeric_hashes_are_quoted_in_yaml() {
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
