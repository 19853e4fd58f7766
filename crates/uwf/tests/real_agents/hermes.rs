//! hermes-agent 0.19.0.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmScript, LlmServer, LlmServerRequest, ScriptedAnswer};
use uwf_testing::processes::signal;
use uwf_testing::{TestHome, text};

use super::{
    FIRST, SECOND, begins_anew, calls, detail, goes_on, has_tools, in_order, outputs, reaches_limit, start, submitting,
    twice,
};

const RIGHT: &str = "---\nn: 1\n---\nOne line, counted with wc.";

/// A home with the real hermes that asks this model, and with these settings beside `home`.
fn with_hermes(model: &LlmServer, settings: &str) -> TestHome {
    let home = super::home(&[("hermes", "venv/bin/hermes")]);
    let dir = home.root().join("hermes");
    fs::create_dir(&dir).unwrap();
    let config = format!(
        "model: {{default: scripted-model, provider: custom, base_url: \"{}\", api_key: sk-scripted}}\n\
         security: {{allow_lazy_installs: false, tirith_enabled: false}}\n",
        model.url()
    );
    fs::write(dir.join("config.yaml"), config).unwrap();
    home.config(&format!(
        "agents:\n  h: {{ command: uwf-hermes, timeout: 5m, config: {{ home: hermes{settings} }} }}\n\
         defaultAgent: h\npromptBudget: 400000\n"
    ));
    home
}

fn messages(request: &LlmServerRequest) -> Vec<(&str, &Value)> {
    let messages = request.body["messages"].as_array().unwrap();
    messages.iter().map(|message| (message["role"].as_str().unwrap_or_default(), &message["content"])).collect()
}

#[test]
fn hermes_chat_with_a_tool() {
    let model = LlmServer::start(in_order([
        ScriptedAnswer::text("Counting.").and_call("terminal", json!({ "command": "wc -l < a.txt" })),
        ScriptedAnswer::text(RIGHT),
    ]));
    let home = with_hermes(&model, "");
    home.file("a.txt", "one line\n");
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    let told = ["source", "extractedBy", "raw"].map(|key| detail[key].clone());
    assert_eq!(told, [json!("export"), json!("frontmatter"), json!(RIGHT)]);
    assert_eq!(outputs(&detail), ["Counting.", RIGHT]);
    let calls = calls(&detail);
    assert_eq!(calls.len(), 1);
    assert!(calls[0].starts_with("terminal {\"command\":") && calls[0].contains("\"output\": \"1\""), "{calls:?}");
    assert!(detail["tokens"]["input"].as_u64().unwrap() > 0, "{}", detail["tokens"]);
    let id = detail["sessionId"].as_str().unwrap();
    assert!(id.len() > 10, "{id}");
}

#[test]
fn feedback_arrives_in_same_session() {
    let model = LlmServer::start(in_order([ScriptedAnswer::text("There is one line."), ScriptedAnswer::text(RIGHT)]));
    let home = with_hermes(&model, "");
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    assert_eq!((&detail["extractedBy"], &detail["raw"]), (&json!("feedback"), &json!("There is one line.")));
    assert_eq!(outputs(&detail), ["There is one line.", RIGHT]);
    let asked: Vec<LlmServerRequest> = model.asked().into_iter().filter(has_tools).collect();
    assert_eq!(asked.len(), 2);
    let resumed = messages(&asked[1]);
    assert_eq!(resumed.iter().map(|(role, _)| *role).collect::<Vec<_>>(), ["system", "user", "assistant", "user"]);
    assert!(resumed[3].1.to_string().contains("Do not do the work again"), "{}", resumed[3].1);
}

/// Steps a thread whose model hands in a value that is rejected, then a right one; where its trace came from.
fn handing_in(own: &str) -> (TestHome, String) {
    let model = LlmServer::start(submitting());
    let home = with_hermes(&model, ", mcp: true");
    let file = home.root().join("hermes/config.yaml");
    let config = fs::read_to_string(&file).unwrap() + own;
    fs::write(&file, &config).unwrap();
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    assert_eq!((&detail["extractedBy"], &detail["raw"]), (&json!("submit"), &json!("Handed in.")));
    let calls = calls(&detail);
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[0].contains("integer"), "the rejection says why: {}", calls[0]);
    let step = home.json(&["thread", "steps", &thread])["steps"][1].clone();
    assert_eq!(step["output"], json!({ "n": 1 }));
    assert_eq!(fs::read_to_string(&file).unwrap(), config, "its own configuration is as it was");
    (home, detail["sessionId"].as_str().unwrap().to_owned())
}

#[test]
fn hermes_hands_in_its_result_through_the_protocol() {
    let (_, session) = handing_in("");
    assert!(session.contains('-'), "an id of a session of the protocol: {session}");
}

#[test]
fn chat_submits_result_if_config_names_servers() {
    let (home, session) = handing_in("mcp_servers: {mine: {command: \"true\", enabled: false}}\n");
    assert!(session.contains('_'), "an id of a session of the command line: {session}");
    let log = fs::read_to_string(home.root().join("hermes/logs/agent.log")).unwrap();
    assert!(log.contains("mcp__uwf__submit"), "{log}");
}

#[test]
fn hermes_takes_a_prompt_no_argument_could_hold() {
    let model = LlmServer::start(in_order([ScriptedAnswer::text("One."), ScriptedAnswer::text(RIGHT)]));
    let home = with_hermes(&model, "");
    let task = format!("count the lines of a.txt; {}", "this is padding. ".repeat(12_000));
    assert!(task.len() > 200_000);
    let thread = start(&home, "count-rounds", &task);
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    assert_eq!(detail["extractedBy"], "feedback");
    assert_eq!(outputs(&detail), ["One.", RIGHT], "both in one session");
    let asked: Vec<LlmServerRequest> = model.asked().into_iter().filter(has_tools).collect();
    let prompt = messages(&asked[0])[1].1.to_string();
    assert!(prompt.len() > 200_000 && prompt.contains("this is padding."), "{}", prompt.len());
    assert_eq!(messages(&asked[1]).len(), 4, "the history is kept");
}

#[test]
fn hermes_fails_with_the_words_of_its_provider() {
    let model = LlmServer::start(LlmScript::deciding(|_| ScriptedAnswer::status(401, "this key is not known")));
    let home = with_hermes(&model, "");
    let thread = start(&home, "count-rounds", "count");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("agent `h` exited with 1; its last words: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("this key is not known"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("sk-scripted"), "{}", ran.stderr);
}

#[test]
fn hermes_that_is_ended_leaves_its_turns() {
    let model = LlmServer::start(in_order([
        ScriptedAnswer::text("Counting.").and_call("terminal", json!({ "command": "wc -l < a.txt" })),
        ScriptedAnswer::text("never").after(Duration::from_mins(3)),
    ]));
    let home = with_hermes(&model, "");
    home.file("a.txt", "one line\n");
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    let mut step = home.command(&["thread", "step", &thread]).spawn().unwrap();
    let begun = Instant::now();
    let attempts = home.root().join("threads").join(&thread).join("attempts");
    let is_at_round_2 = || model.asked().iter().filter(|request| has_tools(request)).count() == 2;
    let knows_session = || {
        let traces = fs::read_dir(&attempts).unwrap().flatten().map(|entry| entry.path());
        let mut traces = traces.filter(|path| path.extension().is_some_and(|extension| extension == "trace"));
        traces.any(|path| fs::read_to_string(path).unwrap().contains("\"id\":\""))
    };
    while !(is_at_round_2() && knows_session()) {
        assert!(begun.elapsed() < Duration::from_secs(110), "hermes never came so far");
        std::thread::sleep(Duration::from_millis(100));
    }
    signal(&home.recorded(&thread, "started")["pid"], "KILL");
    assert_eq!(step.wait().unwrap().code(), Some(40));
    let attempt = text(&home.json(&["thread", "show", &thread]), "attempt");
    let attempt = home.json(&["thread", "step-details", &attempt, "--format", "json"]);
    assert_eq!(attempt["source"], "export", "{attempt}");
    assert_eq!(outputs(&attempt)[0], "Counting.");
    let calls = calls(&attempt);
    assert!(calls[0].starts_with("terminal ") && calls[0].contains("\"output\": \"1\""), "{calls:?}");
}

#[test]
fn later_step_continues_session() {
    let model = LlmServer::start(in_order([ScriptedAnswer::text(FIRST), ScriptedAnswer::text(SECOND)]));
    let home = with_hermes(&model, "");
    goes_on(&home, &model);
}

#[test]
fn missing_session_starts_new_one() {
    let model = LlmServer::start(in_order([ScriptedAnswer::text(FIRST), ScriptedAnswer::text(SECOND)]));
    let home = with_hermes(&model, "");
    let (first, second) = twice(&home, || fs::remove_file(home.root().join("hermes/state.db")).unwrap());
    begins_anew(&model, &first, &second);
}

#[test]
fn session_continues_through_acp() {
    let model = LlmServer::start(in_order([ScriptedAnswer::text(FIRST), ScriptedAnswer::text(SECOND)]));
    let home = with_hermes(&model, ", mcp: true");
    goes_on(&home, &model);
}

#[test]
fn usage_limit_ends_as_provider_says() {
    // With `retry-after`, hermes waits itself.
    let error =
        json!({ "error": { "type": "rate_limit_error", "message": "Rate limit reached. Try again in 2 hours." } });
    let limited = ScriptedAnswer::raw(429, "application/json", error.to_string()).repeated();
    let model = LlmServer::start(vec![limited]);
    reaches_limit(&with_hermes(&model, ""), &model, 120);
}
