//! Agents that run commands only if `uwf setup` has allowed it.

use std::fs;

use serde_json::{Value, json};
use uwf_testing::TestHome;
use uwf_testing::llm_server::{LlmScript, LlmServer, ScriptedAnswer};

use super::claude::{self, with_claude};
use super::codex::with_codex;
use super::gemini::{self, with_gemini};
use super::opencode::{self, with_opencode};
use super::{detail, in_order, offered, start};

const RIGHT: &str = "---\nn: 1\n---\nOne line.";

/// A reply that denies a command.
const DENIAL: &str = "no, not here";

/// A command that leaves a trace in the workspace.
const COMMAND: &str = "touch ran.txt";

/// The model runs the command with this tool, then answers.
fn running(tool: &str, arguments: &Value) -> LlmServer {
    let first = ScriptedAnswer::text("I run it.").and_call(tool, arguments.clone());
    LlmServer::start(in_order([first, ScriptedAnswer::text(RIGHT)]))
}

/// Lets an agent play a role after a person answered setup's question. Returns whether its command ran, and the tools that were denied.
fn play(home: &TestHome, agent: &str, may_run: &str) -> (bool, Value) {
    home.json(&["setup", "--agent", agent, "--may-run-commands", may_run]);
    let thread = start(home, "count-rounds", "run it");
    let done = home.json(&["thread", "step", &thread]);
    assert_eq!(done["done"], true, "{done}");
    (home.work().join("ran.txt").exists(), done["denied"].clone())
}

/// Checks an agent with both answers.
fn check(agent: &str, tool: &str, arguments: &Value, denied: &Value, home: impl Fn(&LlmServer) -> TestHome) {
    for (may_run, expected) in [("no", (false, denied.clone())), ("yes", (true, Value::Null))] {
        let model = running(tool, arguments);
        assert_eq!(play(&home(&model), agent, may_run), expected, "{agent} with {may_run}");
    }
}

#[test]
fn claude_runs_commands_only_if_allowed() {
    let arguments = json!({ "command": COMMAND, "description": "leave a trace" });
    check("c", "Bash", &arguments, &Value::Null, |model| with_claude(model, claude::PRINTING));
}

/// As `uwf setup` configures it without an answer: a reviewer that could run no test is not a green step.
#[test]
fn denied_command_of_claude_is_shown() {
    let model = running("Bash", &json!({ "command": "cargo test", "description": "run the tests" }));
    let home = with_claude(
        &model,
        claude::PRINTING.replace("--dangerously-skip-permissions", "--permission-mode, acceptEdits").as_str(),
    );
    let thread = start(&home, "count-rounds", "run the tests");
    let ran = home.uwf(&["run", &thread, "--format", "text"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert!(ran.stderr.contains("denied: Bash(cargo test)"), "{}", ran.transcript());
    let read = home.uwf(&["thread", "read", &thread]).stdout;
    assert!(read.contains("denied"), "{read}");
}

/// Its own sandbox, in which it runs commands, may not work in a container. So this looks at the tools that it offers its model.
#[test]
fn codex_offers_commands_only_if_allowed() {
    for (may_run, expected) in [("no", false), ("yes", true)] {
        let model = LlmServer::start(in_order([ScriptedAnswer::text(RIGHT)]));
        play(&with_codex(&model), "codex", may_run);
        let tools: Vec<String> = model.asked().iter().flat_map(offered).collect();
        assert_eq!(tools.iter().any(|tool| tool.contains("exec_command")), expected, "{may_run}: {tools:?}");
    }
}

#[test]
fn gemini_runs_commands_only_if_allowed() {
    let arguments = json!({ "command": COMMAND });
    check("g", "run_shell_command", &arguments, &Value::Null, |model| with_gemini(model, gemini::PRINTING));
}

#[test]
fn opencode_runs_commands_only_if_allowed() {
    let arguments = json!({ "command": COMMAND, "description": "leave a trace" });
    check("o", "bash", &arguments, &Value::Null, |model| with_opencode(model, opencode::PRINTING));
}

/// Lets an agent that must ask run the command. Returns the home, and the thread that waits for a person.
fn asking(home: TestHome, agent: &str) -> (TestHome, String) {
    home.json(&["config", "set", &format!("agents.{agent}.config.permissions"), "ask"]);
    let thread = start(&home, "count-rounds", "run it");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    let shown = home.json(&["thread", "show", &thread]);
    assert!(shown["why"].as_str().is_some_and(|why| why.contains(COMMAND)), "{shown:#}");
    assert!(!home.work().join("ran.txt").exists(), "it waits for a person");
    (home, thread)
}

/// A model that runs the command, and once more after a person's decision if that allows it. Then it answers.
fn obeying(tool: &str, arguments: &Value) -> LlmServer {
    let (tool, arguments) = (tool.to_owned(), arguments.clone());
    let mut has_run = false;
    LlmServer::start(LlmScript::deciding(move |request| {
        // A new session gets the whole prompt, with the question and its reply.
        let is_decided = ["A person's decision", "Permission needed"].iter().any(|part| request.text.contains(part));
        if !super::has_tools(request) {
            return ScriptedAnswer::text("Counting");
        }
        if is_decided && (has_run || request.text.contains(DENIAL)) {
            return ScriptedAnswer::text(RIGHT);
        }
        has_run = is_decided;
        ScriptedAnswer::text("I run it.").and_call(&tool, arguments.clone())
    }))
}

/// A person allows the command once, and the session continues with it; in another thread, a person denies it. `pause` is before the
/// replies.
fn person_decides(tool: &str, arguments: &Value, agent: &str, home: impl Fn(&LlmServer) -> TestHome, pause: impl Fn()) {
    let model = obeying(tool, arguments);
    let (allowed, thread) = asking(home(&model), agent);
    let denying = obeying(tool, arguments);
    let (denied, other) = asking(home(&denying), agent);
    pause();
    allowed.json(&["thread", "answer", &thread, "-m", "yes", "--by", "alice"]);
    let done = allowed.json(&["run", &thread]);
    assert_eq!((&done["done"], &done["denied"]), (&json!(true), &Value::Null), "{done}");
    assert!(allowed.work().join("ran.txt").exists(), "the command ran");
    // gemini can't always load a session; `gemini::session_continues_in_later_minute` shows when it can.
    let resumed = detail(&allowed, &thread)["resumed"] == true;
    assert!(resumed || agent == "g", "the session continued");

    denied.json(&["thread", "answer", &other, "-m", DENIAL]);
    denied.json(&["run", &other]);
    assert!(!denied.work().join("ran.txt").exists(), "it is denied");
    let read = denied.uwf(&["thread", "read", &other]).stdout;
    assert!(read.contains("denied"), "{read}");
    assert!(denying.asked().iter().any(|asked| asked.text.contains(DENIAL)), "the model gets the reply");
}

#[test]
fn person_decides_on_command_of_opencode() {
    let arguments = json!({ "command": COMMAND, "description": "leave a trace" });
    person_decides(
        "bash",
        &arguments,
        "o",
        |model| {
            let home = with_opencode(model, opencode::THROUGH_ACP);
            let config = home.root().join("opencode/opencode.json");
            let asks = fs::read_to_string(&config).unwrap().replace("\"bash\":\"allow\"", "\"bash\":\"ask\"");
            fs::write(config, asks).unwrap();
            home
        },
        || {},
    );
}

#[test]
fn person_decides_on_command_of_claude() {
    let arguments = json!({ "command": COMMAND, "description": "leave a trace" });
    person_decides("Bash", &arguments, "c", |model| with_claude(model, claude::THROUGH_ACP), || {});
}

#[test]
fn person_decides_on_command_of_gemini() {
    let arguments = json!({ "command": COMMAND });
    // It can't load a session within the minute in which it was opened.
    person_decides(
        "run_shell_command",
        &arguments,
        "g",
        |model| with_gemini(model, gemini::THROUGH_ACP),
        gemini::next_minute,
    );
}
