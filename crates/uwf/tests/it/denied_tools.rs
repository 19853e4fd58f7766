//! Tool calls that an agent's program denied: a step without them looks like any other, so every view names them.

use serde_json::{Value, json};
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, failed_attempts};

use crate::fixtures::acp::{config, prompts, scripted};
use crate::fixtures::answering::with_worker;

/// The events of Claude Code without permission to run commands: it cannot run the tests, and says that all is well.
const CLAUDE: &str = r#"{"type":"system","subtype":"init","session_id":"c-1"}
{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cargo test"}}]}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Claude requested permissions to use Bash, but you haven't granted it yet."}]}}
{"type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"a.rs"}}]}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"Claude requested permissions to use Bash"}]}}
{"type":"assistant","message":{"id":"m3","role":"assistant","content":[{"type":"tool_use","id":"t3","name":"WebFetch","input":{"url":"http://x"}}]}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t3","is_error":true,"content":"no"}]}}
"#;

/// Its answer, and its own list of denied calls.
const ANSWER: &str = r#"{"type":"assistant","message":{"id":"m4","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"---\nn: 1\n---\nAll is well."}]}}
{"type":"result","subtype":"success","is_error":false,"result":"All is well.","permission_denials":[{"tool_name":"Bash","tool_use_id":"t1","tool_input":{}},{"tool_name":"WebFetch","tool_use_id":"t3","tool_input":{}}]}
"#;

const FAILURE: &str = r#"{"type":"result","subtype":"error_max_turns","is_error":true}
"#;

/// A home with a thread of so many rounds and an agent that prints this trace.
fn traced(rounds: usize, format: &str, trace: &str) -> (TestHome, String) {
    let settings = format!("output: text, config: {{ trace: {format} }}");
    let (home, thread) = with_worker(rounds, &settings, "#!/bin/sh\ncat > /dev/null\ncat trace.jsonl\n");
    home.file("trace.jsonl", trace);
    (home, thread)
}

/// Number of times that a command says these words.
fn says(home: &TestHome, args: &[&str], words: &str) -> usize {
    let ran = home.uwf(&[args, &["--format", "text"]].concat());
    ran.stdout.matches(words).count() + ran.stderr.matches(words).count()
}

/// The step events of an ended thread.
fn steps(home: &TestHome, thread: &str) -> Vec<Value> {
    let printed = home.uwf(&["live", thread, "--format", "json"]).stdout;
    let events = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["event"] == "step").collect()
}

#[test]
fn every_view_names_denied_tools() {
    let (home, thread) = traced(2, "claude", &format!("{CLAUDE}{ANSWER}"));
    let denied = json!(["Bash(cargo test)", "WebFetch"]);
    let words = "denied: Bash(cargo test), WebFetch";
    assert_eq!(home.json(&["thread", "step", &thread])["denied"], denied);
    assert_eq!(says(&home, &["thread", "run", &thread], words), 1);
    assert_eq!(home.json(&["thread", "show", &thread])["denied"], denied);
    assert_eq!(says(&home, &["thread", "show", &thread], "denied:    Bash(cargo test), WebFetch\n"), 1);
    assert_eq!(says(&home, &["thread", "read", &thread], words), 2);
    assert_eq!(says(&home, &["live", &thread], words), 2);
    assert_eq!(home.json(&["thread", "steps", &thread])["steps"][1]["denied"], denied);
    let steps = steps(&home, &thread);
    assert_eq!(steps.len(), 2);
    for step in steps {
        assert_eq!((&step["denied"], &step["frontmatter"]), (&denied, &Value::Null));
    }
    let server = TestServer::start(&home, &[]);
    assert!(server.page(&format!("/threads/{thread}")).body.contains(words));
    assert_eq!(server.get(&format!("/api/threads/{thread}")).json()["denied"], denied);
}

#[test]
fn failed_attempt_names_its_denied_tools() {
    let (home, thread) = traced(1, "claude", &format!("{CLAUDE}{FAILURE}"));
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    assert_eq!(home.json(&["thread", "show", &thread])["denied"], json!(["Bash(cargo test)"]));
    assert_eq!(says(&home, &["thread", "read", &thread], "denied: Bash(cargo test)"), 1);
    let server = TestServer::start(&home, &[]);
    assert!(server.page(&format!("/threads/{thread}")).body.contains("denied: Bash(cargo test)"));
    home.file("trace.jsonl", &format!("{CLAUDE}{ANSWER}"));
    home.json(&["thread", "step", &thread]);
    assert_eq!(failed_attempts(&home.last_detail(&thread)), 1);
}

#[test]
fn each_program_says_in_its_own_way() {
    let codex = r#"{"type":"thread.started","thread_id":"t"}
{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"bash -lc 'cargo test'","aggregated_output":"exec command rejected by user","exit_code":-1,"status":"declined"}}
{"type":"item.completed","item":{"id":"i2","type":"mcp_tool_call","server":"web","tool":"fetch","arguments":{},"error":{"message":"user cancelled MCP tool call"},"status":"failed"}}
{"type":"item.completed","item":{"id":"i3","type":"agent_message","text":"---\nn: 1\n---\n"}}
{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}
"#;
    let gemini = r#"{"type":"init","session_id":"g","timestamp":"2026-01-01T00:00:00Z"}
{"type":"tool_use","tool_id":"a","tool_name":"run_shell_command","parameters":{"command":"cargo test"}}
{"type":"tool_result","tool_id":"a","status":"error","error":{"type":"policy_violation","message":"Tool execution denied by policy."}}
{"type":"message","role":"assistant","content":"---\nn: 1\n---\n"}
{"type":"result","status":"success"}
"#;
    let opencode = r#"{"type":"step_start","sessionID":"o","part":{}}
{"type":"tool_use","sessionID":"o","part":{"callID":"a","tool":"bash","state":{"status":"error","input":{"command":"cargo test"},"error":"The user rejected permission to use this specific tool call."}}}
{"type":"step_finish","sessionID":"o","part":{"reason":"tool-calls"}}
{"type":"step_start","sessionID":"o","part":{}}
{"type":"text","sessionID":"o","part":{"text":"---\nn: 1\n---\n"}}
{"type":"step_finish","sessionID":"o","part":{"reason":"stop"}}
"#;
    let cursor = r#"{"type":"system","subtype":"init","session_id":"k"}
{"type":"tool_call","subtype":"completed","call_id":"a","tool_call":{"shellToolCall":{"args":{"command":"cargo test"},"result":{"rejected":{"reason":""}}}}}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"---\nn: 1\n---\n"}]}}
{"type":"result","subtype":"success","is_error":false}
"#;
    let jsonl = r#"{"type":"turn","output":"","toolCalls":[{"name":"shell","arguments":"cargo test","denied":true}]}
{"type":"turn","output":"---\nn: 1\n---\n"}
"#;
    for (format, trace, denied) in [
        ("codex", codex, json!(["shell(cargo test)", "web.fetch"])),
        ("gemini", gemini, json!(["run_shell_command(cargo test)"])),
        ("opencode", opencode, json!(["bash(cargo test)"])),
        ("cursor", cursor, json!(["shell(cargo test)"])),
        ("jsonl", jsonl, json!(["shell(cargo test)"])),
    ] {
        let (home, thread) = traced(1, format, trace);
        assert_eq!(home.json(&["thread", "step", &thread])["denied"], denied, "{format}");
    }
}

mod with_tools {
    use super::*;

    #[test]
    fn policy_of_acp_agent_denies_tools() {
        let script = prompts(json!([[
            { "permission": { "title": "ls", "kind": "execute", "input": { "command": "ls" } } },
            { "permission": { "title": "weird", "options": ["something_new"] } },
            { "text": "\n---\nn: 1\n---\n" },
        ]]));
        let (home, thread) = scripted(&config("permissions: deny"), &script);
        assert_eq!(home.json(&["thread", "step", &thread])["denied"], json!(["ls", "weird"]));
        let (home, thread) = scripted(&config("permissions: allow"), &script);
        assert_eq!(home.json(&["thread", "step", &thread])["denied"], json!(["weird"]));
    }
}
