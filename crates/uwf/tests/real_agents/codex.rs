//! codex 0.169.0, as a command whose stdout is a trace, and through codex-acp 0.16.0.

use std::fs;

use serde_json::json;
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};
use uwf_testing::{TestHome, text};

use super::{
    COUNTING, FIRST, SECOND, begins_anew, calls, detail, goes_on, outputs, prices_apply, reaches_limit,
    seconds_from_now, start, step_shows, submitting, twice,
};

const RIGHT: &str = "---\nn: 1\n---\nOne line.";

/// codex as a command whose stdout is a trace.
pub(super) const PRINTING: &str = "command: codex, args: [exec, --json, --skip-git-repo-check, \
                                   --dangerously-bypass-approvals-and-sandbox, \"-\"], output: text, env: [SCRIPTED_KEY], \
                                   timeout: 5m, config: { trace: codex }";

/// A home with the real codex that asks this model.
pub(super) fn with_codex(model: &LlmServer) -> TestHome {
    let home =
        super::home(&[("codex", "npm/node_modules/.bin/codex"), ("codex-acp", "npm/node_modules/.bin/codex-acp")]);
    fs::write(home.root().join(".env"), variables(&home, model)).unwrap();
    home.config(&format!("agents:\n  codex: {{ {PRINTING} }}\ndefaultAgent: codex\nsecrets: [SCRIPTED_KEY]\n"));
    home
}

/// The variables with which codex asks this model in a home.
pub(super) fn variables(home: &TestHome, model: &LlmServer) -> String {
    let dir = home.root().join("codex");
    fs::create_dir(&dir).unwrap();
    let config = format!(
        "model = \"scripted-model\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{}\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\n",
        model.url()
    );
    fs::write(dir.join("config.toml"), config).unwrap();
    format!("CODEX_HOME={}\nSCRIPTED_KEY=sk-scripted-0123\n", dir.display())
}

#[test]
fn printed_trace_is_live_and_has_answer() {
    let model = LlmServer::start(vec![
        ScriptedAnswer::text("Counting.").and_call("exec_command", json!({ "cmd": COUNTING, "yield_time_ms": 30000 })),
        ScriptedAnswer::text(RIGHT),
    ]);
    let home = with_codex(&model);
    home.file("a.txt", "one line\n");
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    step_shows(&home, &thread, |running| running["tokens"]["input"] == 11 && running["tokens"]["output"] == 7);
    let detail = detail(&home, &thread);
    assert_eq!((&detail["source"], &detail["raw"]), (&json!("stdout"), &json!(RIGHT)));
    assert_eq!(outputs(&detail), ["Counting.", RIGHT]);
    let calls = calls(&detail);
    assert!(calls.len() == 1 && calls[0].starts_with("shell ") && calls[0].contains(COUNTING), "{calls:?}");
    assert!(detail["tokens"]["input"].as_u64().unwrap() > 0, "{}", detail["tokens"]);
    prices_apply(&home, &thread, "scripted-model");
}

#[test]
fn default_setup_prints_trace() {
    let model = LlmServer::start(vec![ScriptedAnswer::text(RIGHT)]);
    let home = with_codex(&model);
    home.config("secrets: [SCRIPTED_KEY]\n");
    home.json(&["setup", "--agent", "codex"]);
    home.json(&["config", "set", "agents.codex.env", "[SCRIPTED_KEY]"]);
    let thread = start(&home, "count-rounds", "count");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    assert_eq!((outputs(&detail), &detail["raw"]), (vec![RIGHT], &json!(RIGHT)));
    assert!(detail["sessionId"].is_string() && detail["tokens"]["input"].as_u64().unwrap() > 0, "{detail}");
}

#[test]
fn session_file_can_be_imported() {
    let model = LlmServer::start(vec![
        ScriptedAnswer::text("Counting.").and_call("exec_command", json!({ "cmd": "wc -l < a.txt" })),
        ScriptedAnswer::text(RIGHT),
    ]);
    let home = with_codex(&model);
    home.file("a.txt", "one line\n");
    let script = "#!/bin/sh\nset -eu\necho count | codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox - >&2\n\
        file=$(find \"$CODEX_HOME/sessions\" -name 'rollout-*.jsonl')\n\
        \"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 1}' --trace \"$file\"\n";
    home.script("counter", script);
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!(
        "{}  counter: {{ command: counter, env: [SCRIPTED_KEY] }}\ndefaultAgent: counter\nsecrets: [SCRIPTED_KEY]\n",
        config.split("defaultAgent").next().unwrap()
    ));
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    assert_eq!(detail["source"], "session-file");
    let turns = detail["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2);
    for turn in turns {
        assert!(turn["tokens"]["input"].as_u64().unwrap() > 0, "{turn}");
    }
    assert!(text(&turns[0]["toolCalls"][0], "result").contains('1'), "{detail}");
    prices_apply(&home, &thread, "scripted-model");
}

/// The way `docs/reference/configuration.md` shows: codex fills in nothing, so a shell does.
#[test]
fn submit_tool_is_passed_on_command_line() {
    let model = LlmServer::start(submitting());
    let home = with_codex(&model);
    let page = fs::read_to_string(uwf_testing::repository().join("docs/reference/configuration.md")).unwrap();
    let script =
        page.split("```sh\n#!/bin/sh\n# codex-step").nth(1).and_then(|block| block.split("```").next()).unwrap();
    home.script("codex-step", &format!("#!/bin/sh\n# codex-step{script}"));
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!(
        "{}  stepping: {{ command: codex-step, output: text, env: [SCRIPTED_KEY], timeout: 5m, config: {{ trace: codex, mcp: true }} }}\n\
         defaultAgent: stepping\nsecrets: [SCRIPTED_KEY]\n",
        config.split("defaultAgent").next().unwrap()
    ));
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    assert_eq!((&detail["extractedBy"], &detail["raw"]), (&json!("submit"), &json!("Handed in.")));
    let calls = calls(&detail);
    assert!(calls.len() == 2 && calls[0].contains("integer"), "the rejection says why: {calls:?}");
    assert!(model.asked()[0].text.contains("gives you the tool `submit`"));
}

#[test]
fn codex_plays_roles_through_acp() {
    let model = LlmServer::start(submitting());
    let home = with_codex(&model);
    home.config(
        "agents:\n  a: { command: uwf-acp, env: [SCRIPTED_KEY], timeout: 5m, config: { preset: codex } }\ndefaultAgent: a\n\
         secrets: [SCRIPTED_KEY]\n",
    );
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    assert_eq!((&detail["source"], &detail["extractedBy"]), (&json!("acp"), &json!("submit")));
    assert_eq!(detail["raw"], "Handed in.");
    assert_eq!(calls(&detail).len(), 2, "{detail}");
}

/// A home whose codex continues in its sessions.
fn resuming(model: &LlmServer) -> TestHome {
    let home = with_codex(model);
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&config.replace("trace: codex", "trace: codex, resume: true"));
    home
}

#[test]
fn later_step_continues_session() {
    let model = LlmServer::start(vec![ScriptedAnswer::text(FIRST), ScriptedAnswer::text(SECOND)]);
    let second = goes_on(&resuming(&model), &model);
    // The model counts the same tokens for each of its answers.
    assert_eq!(json!([second["tokens"]["input"], second["tokens"]["output"]]), json!([11, 7]), "{second}");
}

#[test]
fn missing_session_starts_new_one() {
    let model = LlmServer::start(vec![ScriptedAnswer::text(FIRST), ScriptedAnswer::text(SECOND)]);
    let home = resuming(&model);
    let (first, second) = twice(&home, || {
        for kept in fs::read_dir(home.root().join("codex")).unwrap().map(Result::unwrap) {
            if kept.file_name() != "config.toml" {
                let _ = fs::remove_dir_all(kept.path()).or_else(|_| fs::remove_file(kept.path()));
            }
        }
    });
    begins_anew(&model, &first, &second);
}

#[test]
fn session_continues_through_acp() {
    let model = LlmServer::start(vec![ScriptedAnswer::text(FIRST), ScriptedAnswer::text(SECOND)]);
    let home = with_codex(&model);
    home.config(
        "agents:\n  a: { command: uwf-acp, env: [SCRIPTED_KEY], timeout: 5m, config: { preset: codex } }\ndefaultAgent: a\n\
         secrets: [SCRIPTED_KEY]\n",
    );
    goes_on(&home, &model);
}

#[test]
fn usage_limit_ends_as_provider_says() {
    let error = json!({ "type": "usage_limit_reached", "message": "limit", "plan_type": "plus", "resets_at": seconds_from_now(7200) });
    let model = LlmServer::start(vec![super::two_hours(&json!({ "error": error }))]);
    reaches_limit(&with_codex(&model), &model, 120);
}

#[test]
fn run_waits_for_the_end_of_a_limit() {
    let error = json!({
        "type": "usage_limit_reached", "message": "limit", "plan_type": "plus", "resets_at": seconds_from_now(20),
    });
    let limited = ScriptedAnswer::raw(429, "application/json", json!({ "error": error }).to_string());
    let model = LlmServer::start(vec![limited, ScriptedAnswer::text(RIGHT)]);
    let home = with_codex(&model);
    let thread = start(&home, "count-rounds", "count");
    let ran = home.uwf(&["run", &thread, "--wait"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "completed");
    assert_eq!(outputs(&detail(&home, &thread)), [RIGHT]);
    assert_eq!(model.asked().len(), 2, "it is not asked before the end of the limit");
}
