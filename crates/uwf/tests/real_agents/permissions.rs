//! Agents that run commands only if `uwf setup` has allowed it.

use serde_json::{Value, json};
use uwf_testing::TestHome;
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};

use super::claude::{self, with_claude};
use super::codex::with_codex;
use super::gemini::{self, with_gemini};
use super::opencode::with_opencode;
use super::{in_order, offered, start};

const RIGHT: &str = "---\nn: 1\n---\nOne line.";

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
    let printing =
        "command: opencode, args: [run, --format, json, \"{prompt}\"], output: text, config: { trace: opencode }";
    let arguments = json!({ "command": COMMAND, "description": "leave a trace" });
    check("o", "bash", &arguments, &Value::Null, |model| with_opencode(model, printing));
}
