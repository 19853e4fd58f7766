//! The rung where a model reads the answer, and the extractor as a tool of its own.

use std::fs;

use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmServer, Say};
use uwf_testing::{TestHome, counting_workflow, text};

use crate::home;

const KEY: &str = "sk-extract-0123456789";

/// Configuration of an extracting model beside one agent.
fn config(server: &LlmServer, agent: &str) -> String {
    format!(
        "providers:\n  p: {{ baseUrl: \"{}\", apiKeyEnv: P_KEY }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         modelOverrides: {{ extract: m }}\nagents:\n  a: {agent}\ndefaultAgent: a\n",
        server.url()
    )
}

/// A home whose agent is a command that answers in prose, and a thread whose role wants `{n: integer}`.
fn prose(server: &LlmServer, answer: &str) -> (TestHome, String) {
    let home = home();
    home.script("talker", &format!("#!/bin/sh\ncat > /dev/null\nenv > \"$UNCAGED_WORKFLOW_STORAGE_ROOT/seen\"\necho run >> \"$UNCAGED_WORKFLOW_STORAGE_ROOT/runs\"\ncat <<'END'\n{answer}\nEND\n"));
    home.config(&config(server, "{ command: talker, output: text }"));
    fs::write(home.root().join(".env"), format!("P_KEY={KEY}\n")).unwrap();
    home.put("count-rounds", &counting_workflow(1));
    let thread = home.start("count-rounds", "count");
    (home, thread)
}

fn runs(home: &TestHome) -> usize {
    fs::read_to_string(home.root().join("runs")).unwrap_or_default().lines().count()
}

fn found(n: u64) -> Say {
    Say::call("extracted", json!({ "found": true, "why": "", "value": { "n": n } }))
}

#[test]
fn a_model_reads_what_no_reader_could() {
    let server = LlmServer::start([found(3)]);
    let (home, thread) = prose(&server, "I counted three of them.");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let session = home.last_detail(&thread);
    assert_eq!((&session["extractedBy"], &session["raw"]), (&json!("llm"), &json!("I counted three of them.\n")));
    let rungs: Vec<&str> =
        session["extraction"].as_array().unwrap().iter().filter_map(|rung| rung["rung"].as_str()).collect();
    assert_eq!(rungs, ["frontmatter", "llm"]);
    assert_eq!(session["turns"].as_array().unwrap().len(), 2);
    assert_eq!(session["turns"][1]["tokens"], json!({ "input": 11, "output": 7 }));
    assert_eq!(session["tokens"], Value::Null, "what the command cost is not known, so neither is the sum");
    let by = home.json(&["thread", "eval", &thread, "$extractedBy(steps[-1])"]);
    assert_eq!(by, json!("llm"));
    let asked = &server.asked()[0];
    assert_eq!(asked.body["temperature"], 0.0);
    assert!(
        asked.text.contains("I counted three of them.") && asked.text.contains("there is no header"),
        "{}",
        asked.text
    );
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let seen = fs::read_to_string(home.root().join("seen")).unwrap();
    assert!(!seen.contains(KEY), "the command was given the key of the extracting model");
}

#[test]
fn a_model_that_does_not_find_it_says_so_and_the_text_can_be_read_again_later() {
    let server = LlmServer::start([
        Say::call("extracted", json!({ "found": false, "why": "no number is given" })),
        Say::call("extracted", json!({ "found": false, "why": "still no number" })),
        found(7),
    ]);
    let (home, thread) = prose(&server, "I counted some.");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.told());
    assert!(ran.stderr.contains("the text does not hold the output: no number is given"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--reextract"), "{}", ran.stderr);

    let again = home.uwf(&["thread", "step", &thread, "--reextract"]);
    assert_eq!(again.code, Some(41), "{}", again.told());
    assert!(again.stderr.contains("still no number"), "{}", again.stderr);
    let report = home.json(&["thread", "step", &thread, "--reextract"]);
    assert_eq!((&report["done"], &report["agent"]), (&json!(true), &json!("a")));
    assert_eq!(runs(&home), 1, "the agent itself ran once");
    let session = home.last_detail(&thread);
    assert_eq!((&session["extractedBy"], &session["raw"]), (&json!("llm"), &json!("I counted some.\n")));
    assert_eq!(session["source"], "attempt");
    assert_eq!(session["attempts"].as_array().unwrap().len(), 2);
    assert_eq!((&session["agent"]["name"], &session["agent"]["command"]), (&json!("a"), &json!("talker")));
}

#[test]
fn there_has_to_be_something_to_read_again() {
    let server = LlmServer::start([]);
    let (home, thread) = prose(&server, "---\nn: 1\n---");
    let ran = home.uwf(&["thread", "step", &thread, "--reextract"]);
    assert_eq!(ran.code, Some(69), "{}", ran.told());
    assert!(ran.stderr.contains("no failed attempt"), "{}", ran.stderr);
    assert_eq!(runs(&home), 0);
    home.script("talker", "#!/bin/sh\nexit 1\n");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let ran = home.uwf(&["thread", "step", &thread, "--reextract"]);
    assert_eq!(ran.code, Some(69), "{}", ran.told());
    let ran = home.uwf(&["thread", "step", &thread, "--reextract", "--agent", "a"]);
    assert_eq!(ran.code, Some(64), "{}", ran.told());
}

#[test]
fn a_step_costs_no_request_when_the_answer_can_be_read() {
    let server = LlmServer::start([]);
    let (home, thread) = prose(&server, "---\nn: 1\n---");
    fs::remove_file(home.root().join(".env")).unwrap();
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true, "not even the key is needed");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn without_a_model_the_rung_is_not_there() {
    let server = LlmServer::start([]);
    let (home, thread) = prose(&server, "I counted some.");
    home.config("agents:\n  a: { command: talker, output: text }\ndefaultAgent: a\n");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.told());
    assert!(!ran.stderr.contains("tried"), "{}", ran.stderr);
}

#[test]
fn a_key_that_is_not_set_is_told_with_the_rung() {
    let server = LlmServer::start([]);
    let (home, thread) = prose(&server, "I counted some.");
    fs::remove_file(home.root().join(".env")).unwrap();
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.told());
    assert!(ran.stderr.contains("the key of provider `p` is not set: P_KEY"), "{}", ran.stderr);
}

#[test]
fn nodes_the_text_names_are_told_with_it() {
    let server = LlmServer::start([found(1)]);
    let (home, thread) = prose(&server, "placeholder");
    let node = text(&home.json(&["cas", "put-text", "the count is one"]), "hash");
    home.script("talker", &format!("#!/bin/sh\ncat > /dev/null\necho 'The result is in {node}.'\n"));
    home.json(&["thread", "step", &thread]);
    assert!(server.asked()[0].text.contains("the count is one"), "{}", server.asked()[0].text);
}

#[test]
fn the_extractor_is_a_tool_of_its_own() {
    let server = LlmServer::start([found(5)]);
    let (home, _) = prose(&server, "unused");
    let schema = home.file("count.json", r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#);
    let schema = schema.to_str().unwrap();
    let answer = home.file("answer.md", "---\nn: 4\n---\nfour\n");
    let answer = answer.to_str().unwrap();
    assert_eq!(home.uwf(&["agent", "extract", schema, answer]).stdout, "{\"n\":4}\n");
    assert_eq!(home.uwf(&["agent", "extract", "count-rounds.worker", answer]).stdout, "{\"n\":4}\n");
    let prose = home.file("prose.md", "There are five.");
    let prose = prose.to_str().unwrap();
    let ran = home.uwf(&["agent", "extract", schema, prose, "--no-llm"]);
    assert_eq!(ran.code, Some(41), "{}", ran.told());
    assert!(ran.stderr.contains("the text has no valid output: there is no header"), "{}", ran.stderr);
    let explained = home.json(&["agent", "extract", schema, prose, "--explain"]);
    assert_eq!((&explained["value"], &explained["extractedBy"]), (&json!({ "n": 5 }), &json!("llm")));
    assert_eq!(explained["rungs"].as_array().unwrap().len(), 2);
    let ran = home.uwf(&["agent", "extract", "count-rounds.nobody", prose]);
    assert_eq!(ran.code, Some(64), "{}", ran.told());
    assert!(ran.stderr.contains("its roles: worker"), "{}", ran.stderr);
}
