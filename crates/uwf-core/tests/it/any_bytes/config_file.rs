//! The configuration: every problem with its place; an edit changes what it should and nothing else, or is refused.

use serde_json::{Value, json};
use uwf_core::config::UwfConfig;
use uwf_core::config::edit::{self, EditError, KeyPath};
use uwf_testing::FuzzTarget;

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "config.yaml",
    samples: &[
        br#"# our agents
providers: { p: { baseUrl: "http://127.0.0.1:1/v1", apiKeyEnv: P_KEY, kind: openai } }
models: { m: { provider: p, name: n } }
agents:   # by name
  coder:
      command: codex   # the one we pay for
      args: [exec, "-"]
      env:
      - P_KEY
      timeout: 30m
      exitCodes: { 3: limited }
  judge: { command: 'claude', output: text }

defaultAgent:  coder
agentOverrides: { w: { worker: judge, other: ~ } }
modelOverrides: { extract: m }
maxSteps: 7
maxTokens: 1000
notify: [ { on: stuck, command: x } ]
otel: { endpoint: "http://x", headers: { a: b }, headersEnv: { c: D }, content: true }
maxCost: 0.5
maxTime: 1h
futureKey: |
  kept as
  it is
"#,
        b"{\"agents\": {\"coder\": {\"command\": \"x\", \"args\": [\"{prompt}\"]}}, \"defaultAgent\": \"coder\", \"extract\": {\"llm\": false}}",
        b"agents: &a\r\n  coder: {command: c}\r\nmore: *a\r\nmaxSteps: 3\r\n",
        b"# nothing yet\n",
    ],
    words: &[
        "agents", "coder", "command", "maxSteps", "defaultAgent", "models", "providers", "timeout", ": ", "- ", "\n", "\n  ",
        "{", "}", "[", "]", ", ", "\"", "'", "# c", "&a ", "*a", "<<: ", "!!str ", "---\n", "...\n", "|\n", ">-\n", "? ", "~",
        "null", "true", "1e400", "30m", "\u{feff}", "\r\n", "\t", "é", "\u{2028}",
    ],
    check,
};

fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (_, problems) = UwfConfig::parse(text, "config.yaml");
    for problem in &problems {
        assert!(problem.line >= 1 && problem.column >= 1 && !problem.message.is_empty(), "{problem}");
        assert!(!problem.to_string().contains('\n'), "{problem}");
    }
    for (path, value) in [
        ("agents.coder.command", json!("goose run")),
        ("maxSteps", json!(9)),
        ("agents.new", json!({ "command": "c", "args": ["- x", "#"] })),
    ] {
        change(text, &path.parse().expect("a path"), &value);
    }
}

fn change(text: &str, path: &KeyPath, value: &Value) {
    let edited = match edit::set(text, "config.yaml", path, value) {
        Ok(edited) => edited,
        Err(EditError::Unreadable(problems)) => {
            assert!(!problems.is_empty() && edit::values(text, "config.yaml").is_err());
            return;
        }
        Err(refused @ (EditError::NotAMapping { .. } | EditError::Entangled { .. })) => {
            assert!(!refused.to_string().contains('\n'), "{refused}");
            return;
        }
    };
    let before = edit::values(text, "config.yaml").expect("it was edited");
    let after = edit::values(&edited, "config.yaml").expect("an edit leaves a readable file");
    assert_eq!(edit::get(&after, path), Some(value));
    for (other, kept) in edit::leaves(&before) {
        let parts = other.parts();
        if !parts.starts_with(path.parts()) && !path.parts().starts_with(parts) {
            assert_eq!(edit::get(&after, &other), Some(kept), "{other} in {edited}");
        }
    }
    assert_eq!(edit::set(&edited, "config.yaml", path, value).expect("it is readable"), edited, "once more");
}
