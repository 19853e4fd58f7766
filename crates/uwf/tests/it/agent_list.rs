//! `uwf agent list`: which agents are configured.

use std::fs;

use serde_json::json;

use crate::fixtures::described::{started, with_described};

#[test]
fn agents_are_listed_without_starting_any() {
    let home = with_described();
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!(
        "{config}  m: {{ command: uwf-mock }}\n  gone: {{ command: gone, output: text }}\ndefaultAgent: m\n"
    ));
    insta::assert_snapshot!(home.transcript(&["agent", "list", "--format", "text"]), @"
    exit 0
    agent        command           prints  program
    asked        thing             text    <dir>/bin/thing
    given        thing             text    <dir>/bin/thing
    gone         gone              text    program `gone` is not on PATH
    m (default)  uwf-mock          step    built in
    mute         uwf-silent        step    <dir>/bin/uwf-silent
    never        uwf-thing         step    <dir>/bin/uwf-thing
    own          uwf-thing --fast  step    <dir>/bin/uwf-thing
    plain        thing             text    <dir>/bin/thing
    silent       uwf-silent        step    <dir>/bin/uwf-silent

    built in: uwf-acp, uwf-command, uwf-cursor, uwf-docx-diff, uwf-hermes, uwf-human, uwf-llm, uwf-mock, uwf-office, uwf-react, uwf-workflow
    ");
    let listed = home.json(&["agent", "list"]);
    assert_eq!(listed["agents"][2]["problem"], json!("program `gone` is not on PATH"), "{listed}");
    assert_eq!(started(&home), "");
}
