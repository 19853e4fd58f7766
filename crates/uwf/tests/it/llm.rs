//! The agent that is one chat completion, against a scripted provider.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmScript, LlmServer, ScriptedAnswer, ScriptedUsage};
use uwf_testing::{TestHome, text};

use crate::home;

/// A workflow of one role with this schema of its output.
fn workflow(meta: &str) -> String {
    format!(
        "name: judge\ndescription: one verdict\nroles:\n  judge:\n    description: judges\n    goal: Judge.\n    meta: {meta}\n\
         graph:\n  $START: [ {{ role: judge }} ]\n  judge: [ {{ role: $END }} ]\n"
    )
}

const REASONED: &str =
    "{ type: object, properties: { ok: { type: boolean }, why: { type: string } }, required: [ok, why] }";

const BARE: &str = "{ type: object, properties: { ok: { type: boolean } }, required: [ok] }";

/// A home whose agent is a scripted model, and a thread of a role with this schema.
fn judged(server: &LlmServer, config: &str, meta: &str) -> (TestHome, String) {
    let home = home();
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         agents:\n  l: {{ command: uwf-llm, model: m, config: {{ {config} }} }}\ndefaultAgent: l\nextract: {{ llm: 0 }}\n",
        server.url()
    ));
    home.put("judge", &workflow(meta));
    let thread = home.start("judge", "is it good?");
    (home, thread)
}

fn output(home: &TestHome, thread: &str) -> Value {
    home.json(&["thread", "eval", thread, "steps[-1].output"])
}

#[test]
fn structured_value_is_requested_with_known_cost() {
    let usage = ScriptedUsage {
        input: 300,
        output: 40,
        cached: Some(200),
        cache_write: 0,
        reasoning: Some(12),
        cost: Some(0.002),
    };
    let server = LlmServer::start([ScriptedAnswer::text("Let me see.")
        .and_call("submit", json!({ "ok": true, "why": "it is" }))
        .usage(usage)]);
    let (home, thread) = judged(&server, "", REASONED);
    home.json(&["thread", "step", &thread]);
    assert_eq!(output(&home, &thread), json!({ "ok": true, "why": "it is" }));
    let session = home.last_detail(&thread);
    assert_eq!((&session["extractedBy"], &session["source"]), (&json!("submit"), &json!("wire")));
    assert_eq!(session["tokens"], json!({ "input": 300, "output": 40, "cached": 200, "reasoning": 12, "cost": 0.002 }));
    assert_eq!(session["raw"], "Let me see.");
    assert_eq!(session["turns"][0]["output"], "Let me see.\n\n{\"ok\":true,\"why\":\"it is\"}");
    let asked = &server.asked()[0].body;
    assert_eq!(asked["tool_choice"], json!({ "type": "function", "function": { "name": "submit" } }));
    assert!(asked["messages"][0]["content"].as_str().unwrap().contains("Print one JSON object and nothing else"));
}

#[test]
fn bare_verdict_is_requested_as_text() {
    let server =
        LlmServer::start([ScriptedAnswer::text("").chunks(["---\nok: ", "true\n---\n", "Because it is good.\n"])]);
    let (home, thread) = judged(&server, "", BARE);
    home.json(&["thread", "step", &thread]);
    let session = home.last_detail(&thread);
    assert_eq!(session["extractedBy"], "frontmatter");
    assert_eq!(output(&home, &thread), json!({ "ok": true }));
    let asked = &server.asked()[0].body;
    assert_eq!((asked.get("tools"), &asked["stream"]), (None, &json!(true)));
    let read = home.uwf(&["thread", "read", &thread]).stdout;
    assert!(read.contains("Because it is good."), "{read}");
}

#[test]
fn bare_verdict_is_requested_as_json_if_configured() {
    for config in ["", "structured: text"] {
        let says = [
            ScriptedAnswer::text("").and_call("submit", json!({ "ok": true })),
            ScriptedAnswer::text("{\"ok\": true}"),
        ];
        let server = LlmServer::start([says[usize::from(!config.is_empty())].clone()]);
        let (home, thread) = judged(&server, config, BARE);
        let settings = fs::read_to_string(home.root().join("config.yaml")).unwrap();
        home.config(&settings.replace("command: uwf-llm", "command: uwf-llm, output: json"));
        home.json(&["thread", "step", &thread]);
        assert_eq!(output(&home, &thread), json!({ "ok": true }));
        let asked = &server.asked()[0].body;
        assert_eq!(asked.get("tools").is_some(), config.is_empty());
        assert!(asked["messages"][0]["content"].as_str().unwrap().contains("Print one JSON object and nothing else"));
    }
}

#[test]
fn rejected_modes_are_remembered() {
    let script = LlmScript::deciding(|_| ScriptedAnswer::text("{\"ok\": false, \"why\": \"no\"}"))
        .refusing("tools")
        .refusing("json_schema");
    let server = LlmServer::start(script);
    let (home, thread) = judged(&server, "", REASONED);
    home.json(&["thread", "step", &thread]);
    assert_eq!(output(&home, &thread), json!({ "ok": false, "why": "no" }));
    let first = server.asked().len();
    assert_eq!(first, 4, "forced tool, tool, schema, object");
    let thread = home.start("judge", "again?");
    home.json(&["thread", "step", &thread]);
    assert_eq!(server.asked().len(), first + 1);
    assert_eq!(server.asked()[first].body["response_format"], json!({ "type": "json_object" }));
}

#[test]
fn invalid_value_is_corrected_in_same_conversation() {
    let server = LlmServer::start([
        ScriptedAnswer::call("submit", json!({ "ok": "perhaps", "why": "?" })),
        ScriptedAnswer::call("submit", json!({ "ok": false, "why": "no" })),
    ]);
    let (home, thread) = judged(&server, "", REASONED);
    home.json(&["thread", "step", &thread]);
    let session = home.last_detail(&thread);
    assert_eq!(session["extractedBy"], "feedback");
    let rungs: Vec<&str> =
        session["extraction"].as_array().unwrap().iter().filter_map(|rung| rung["rung"].as_str()).collect();
    assert_eq!(rungs, ["submit", "feedback"]);
    assert_eq!(session["tokens"], json!({ "input": 22, "output": 14 }));
    let messages = server.asked()[1].body["messages"].as_array().unwrap().clone();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user"]);
    let feedback = messages[3]["content"].as_str().unwrap();
    assert!(
        feedback.contains("Your output was received, but it is not valid") && feedback.contains("```json"),
        "{feedback}"
    );
}

#[test]
fn differing_calls_of_one_message_are_no_answer() {
    let (yes, no) = (json!({ "ok": true, "why": "a" }), json!({ "ok": false, "why": "b" }));
    let server = LlmServer::start([
        ScriptedAnswer::call("submit", yes.clone()).and_call("submit", no.clone()),
        ScriptedAnswer::call("submit", no.clone()).and_call("submit", no.clone()),
    ]);
    let (home, thread) = judged(&server, "", REASONED);
    home.json(&["thread", "step", &thread]);
    assert_eq!(output(&home, &thread), no);
    let messages = server.asked()[1].body["messages"].as_array().unwrap().clone();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let results: Vec<&str> = results.map(|message| message["content"].as_str().unwrap()).collect();
    let why = "not accepted: this message submits different values. Call `submit` once, with one value";
    assert!(results.len() == 2 && results.iter().all(|result| result.contains(why)), "{results:?}");
    let feedback = messages.last().unwrap()["content"].as_str().unwrap();
    assert!(feedback.contains("the answer has two different values"), "{feedback}");
}

#[test]
fn value_that_contradicts_itself_is_corrected() {
    let server = LlmServer::start([
        ScriptedAnswer::call("submit", json!({ "ok": true, "why": "I do not approve this." })),
        ScriptedAnswer::call("submit", json!({ "ok": false, "why": "I do not approve this." })),
    ]);
    let (home, thread) = judged(&server, "", REASONED);
    home.json(&["thread", "step", &thread]);
    assert_eq!(output(&home, &thread)["ok"], false);
    let asked = server.asked()[1].text.clone();
    assert!(asked.contains("its other keys say the opposite"), "{asked}");
}

#[test]
fn an_answer_that_was_cut_off_is_none() {
    let server = LlmServer::start([ScriptedAnswer::text("---\nok: true\n---\nBecause").cut_at_max_tokens().repeated()]);
    let (home, thread) = judged(&server, "", BARE);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("reached its limit of output tokens"), "{}", ran.stderr);
    let hash = ran.stderr.split("step-details ").nth(1).unwrap()[..13].to_owned();
    let attempt = home.json(&["thread", "step-details", &hash, "--format", "json"]);
    assert_eq!(attempt["raw"], "---\nok: true\n---\nBecause");
}

#[test]
fn settings_are_passed_on_and_checked() {
    let server = LlmServer::start([ScriptedAnswer::text("---\nok: true\n---\n")]);
    let config = "structured: text, temperature: 0.5, maxTokens: 99, stream: false, system: You are strict.";
    let (home, thread) = judged(&server, config, REASONED);
    home.uwf(&["thread", "step", &thread]);
    let asked = server.asked()[0].body.clone();
    assert_eq!((&asked["temperature"], &asked["max_tokens"], asked.get("tools")), (&json!(0.5), &json!(99), None));
    assert_eq!(asked["messages"][0], json!({ "role": "system", "content": "You are strict." }));

    let (home, thread) = judged(&server, "structured: magic", REASONED);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    assert!(ran.stderr.contains("`config.structured` of agent `l`: expected \"auto\", \"tool\""), "{}", ran.stderr);
}

#[test]
fn a_refused_key_is_a_matter_of_configuration() {
    let server = LlmServer::start([ScriptedAnswer::status(401, "no such key")]);
    let (home, thread) = judged(&server, "", REASONED);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    assert!(ran.stderr.contains("no such key"), "{}", ran.stderr);
}

#[test]
fn overloaded_provider_is_retried_and_silent_one_abandoned() {
    let server = LlmServer::start([
        ScriptedAnswer::status(429, "slow down").header("retry-after", "0"),
        ScriptedAnswer::call("submit", json!({ "ok": true, "why": "at last" })),
        ScriptedAnswer::text("never").after(Duration::from_mins(1)).repeated(),
    ]);
    let (home, thread) = judged(&server, "totalTimeout: 3s", REASONED);
    home.json(&["thread", "step", &thread]);
    assert_eq!(output(&home, &thread)["why"], "at last");
    let thread = home.start("judge", "again?");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("not done within the total timeout"), "{}", ran.stderr);
    assert!(fs::read_dir(home.root().join("marks")).unwrap().count() > 0, "the thread is stuck");
}

/// The configuration of [`judged`] with a limit on the agent's silence.
fn with_idle_timeout(home: &TestHome, limit: &str) {
    let path = home.root().join("config.yaml");
    let config = fs::read_to_string(&path).unwrap();
    home.config(&config.replace("model: m, config", &format!("model: m, idleTimeout: {limit}, config")));
}

#[test]
fn a_value_that_comes_slowly_is_no_silence() {
    let pieces = ["{\"ok\": ", "true, ", "\"why\": ", "\"it ", "took ", "its ", "time\"", "}"];
    let server = LlmServer::start([ScriptedAnswer::text("").chunks(pieces).pausing(Duration::from_millis(500))]);
    let (home, thread) = judged(&server, "structured: json_object", REASONED);
    with_idle_timeout(&home, "2");
    let begun = Instant::now();
    home.json(&["thread", "step", &thread]);
    assert!(begun.elapsed() > Duration::from_secs(3), "it was not slow");
    assert_eq!(output(&home, &thread)["why"], "it took its time");
}

#[test]
fn a_value_is_shown_as_it_grows() {
    let say =
        ScriptedAnswer::call("submit", json!({ "ok": true, "why": "it is good" })).pausing(Duration::from_millis(50));
    // The first half of the arguments comes with the third event.
    let server = LlmServer::start([say.stalling_after(3)]);
    let (home, thread) = judged(&server, "", REASONED);
    with_idle_timeout(&home, "3");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("it printed nothing for 3 s"), "{}", ran.stderr);
    let attempt = text(&home.json(&["thread", "show", &thread]), "attempt");
    let attempt = home.json(&["thread", "step-details", &attempt, "--format", "json"]);
    assert_eq!(attempt["stderr"], "[asking scripted-model]\n{\"ok\":true,\"why");
}

#[test]
fn partial_value_is_kept_when_provider_stalls() {
    let say = || ScriptedAnswer::call("submit", json!({ "ok": true, "why": "it is good" })).stalling_after(3);
    let server = LlmServer::start([say().repeated()]);
    // No second try, whose end could come before its text.
    let (home, thread) = judged(&server, "idleTimeout: 2s, totalTimeout: 2s", REASONED);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let attempt = text(&home.json(&["thread", "show", &thread]), "attempt");
    let attempt = home.json(&["thread", "step-details", &attempt, "--format", "json"]);
    assert_eq!(attempt["raw"], "{\"ok\":true,\"why");
}

mod with_tools {
    use super::*;

    /// The model is paid once, however often its value cannot be stored.
    #[test]
    fn unstored_value_is_adopted_without_new_request() {
        let server = LlmServer::start([
            ScriptedAnswer::text("Let me see.").and_call("submit", json!({ "ok": true, "why": "it is" }))
        ]);
        let (home, thread) = judged(&server, "", REASONED);
        let step = home.command(&["thread", "step", &thread]);
        let mut full = std::process::Command::new("strace");
        home.prepare(&mut full);
        full.args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=renameat2:error=ENOSPC"]);
        let ran = full.arg(step.get_program()).args(step.get_args()).output().unwrap();
        assert_eq!(ran.status.code(), Some(74), "{ran:?}");
        let report = home.json(&["thread", "step", &thread]);
        assert_eq!([&report["adopted"], &report["done"]], [&json!(true), &json!(true)]);
        assert_eq!(output(&home, &thread), json!({ "ok": true, "why": "it is" }));
        assert_eq!(home.last_detail(&thread)["raw"], "Let me see.");
        assert_eq!(server.asked().len(), 1);
    }
}
