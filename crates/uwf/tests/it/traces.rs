//! Traces that come with an answer, or that are it.

use std::fs;

use serde_json::{Value, json};
use uwf_testing::{repository, text};

use crate::fixtures::answering::with_worker;

/// Outputs of the turns, with the names of the tools each called.
fn turns(detail: &Value) -> Vec<String> {
    let turns = detail["turns"].as_array().unwrap().iter().map(|turn| {
        let calls: Vec<&str> =
            turn["toolCalls"].as_array().unwrap().iter().filter_map(|call| call["name"].as_str()).collect();
        format!("{} {calls:?}", text(turn, "output"))
    });
    turns.collect()
}

/// The example of the documentation.
fn documented() -> String {
    let page = fs::read_to_string(repository().join("docs/reference/trace-format.md")).unwrap();
    page.split("```json\n").nth(1).and_then(|block| block.split("```").next()).unwrap().to_owned()
}

#[test]
fn the_documented_format_is_imported_with_an_answer() {
    let script = "#!/bin/sh\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 1}' --trace run.jsonl\n";
    let (home, thread) = with_worker(1, "output: step", script);
    home.file("run.jsonl", &documented());
    home.json(&["thread", "step", &thread]);
    let detail = home.last_detail(&thread);
    let told =
        ["sessionId", "source", "durationMs", "tokens", "totalTokens", "extractedBy"].map(|key| detail[key].clone());
    let tokens = json!({ "input": 30, "output": 12 });
    assert_eq!(told, [json!("s-1"), json!("wire"), json!(1500), tokens, json!(42), json!("submit")]);
    assert_eq!(turns(&detail), [r#"Counting. ["count"]"#, "There is one line. []"]);
}

#[test]
fn options_override_trace() {
    let script = "#!/bin/sh\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 1}' --trace run.jsonl --session-id mine --duration-ms 7\n";
    let (home, thread) = with_worker(1, "output: step", script);
    home.file("run.jsonl", &documented());
    home.json(&["thread", "step", &thread]);
    let detail = home.last_detail(&thread);
    assert_eq!((&detail["sessionId"], &detail["durationMs"]), (&json!("mine"), &json!(7)));
}

#[test]
fn unusable_trace_does_not_lose_answer() {
    for (trace, warning) in [
        ("nobody knows this\n", "warning: the trace run.jsonl is in no known format and was left out"),
        ("{\"type\":\"session\"}\n", "warning: the trace run.jsonl has no turns in the format of jsonl"),
        ("{\"type\":\"turn\",\"output\":\"x\"}\n?\n", "warning: the trace run.jsonl: 1 lines were not understood"),
    ] {
        let script =
            "#!/bin/sh\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 1}' --trace run.jsonl 2> said\n";
        let (home, thread) = with_worker(1, "output: step", script);
        home.file("run.jsonl", trace);
        assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
        assert_eq!(fs::read_to_string(home.work().join("said")).unwrap().trim_end(), warning);
    }
    let script = "#!/bin/sh\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 1}' --trace gone.jsonl\n";
    let (home, thread) = with_worker(1, "output: step", script);
    assert_eq!(
        home.uwf(&["thread", "step", &thread]).code,
        Some(40),
        "a file that is not there is a slip of the agent"
    );
}

const CODEX: &str = r#"#!/bin/sh
cat > prompt.txt
cat <<'EOF'
{"type":"thread.started","thread_id":"01a2"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"wc -l","aggregated_output":"","exit_code":null}}
{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"wc -l","aggregated_output":"1\n","exit_code":0}}
{"type":"item.completed","item":{"id":"i2","type":"agent_message","text":"---\nn: 1\n---\nOne line."}}
{"type":"turn.completed","usage":{"input_tokens":222,"cached_input_tokens":22,"output_tokens":44,"reasoning_output_tokens":10}}
EOF
"#;

#[test]
fn printed_trace_answers_with_final_message() {
    let (home, thread) = with_worker(1, "output: text, config: { trace: codex }", CODEX);
    home.json(&["thread", "step", &thread]);
    let detail = home.last_detail(&thread);
    let told = ["sessionId", "source", "extractedBy", "raw", "totalTokens"].map(|key| detail[key].clone());
    assert_eq!(
        told,
        [json!("01a2"), json!("stdout"), json!("frontmatter"), json!("---\nn: 1\n---\nOne line."), json!(266)]
    );
    assert_eq!(turns(&detail), [r#" ["shell"]"#, "---\nn: 1\n---\nOne line. []"]);
    let prompt = fs::read_to_string(home.work().join("prompt.txt")).unwrap();
    let input = detail["turns"][0]["input"].as_array().unwrap().iter().filter_map(Value::as_str).collect::<String>();
    assert_eq!(input, prompt, "it was told the prompt, whether it says so or not");
}

#[test]
fn trace_without_answer_fails_with_agents_words() {
    let fails = |line: &str, end: &str| format!("#!/bin/sh\ncat > /dev/null\necho '{line}'\n{end}\n");
    let cases = [
        (
            fails(r#"{"type":"turn.failed","error":{"message":"out of credit"}}"#, "exit 1"),
            "agent `w` exited with 1; its last words: out of credit",
        ),
        (fails(r#"{"type":"turn.failed","error":{"message":"out of credit"}}"#, ""), "agent `w` failed: out of credit"),
        (
            fails("words", ""),
            "agent `w` ended without a final message: nothing in its stdout is one in the format of codex",
        ),
    ];
    for (script, why) in cases {
        let (home, thread) = with_worker(1, "output: text, config: { trace: codex }", &script);
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
        assert_eq!(text(&home.json(&["thread", "show", &thread]), "why"), why);
    }
    let (home, thread) = with_worker(1, "output: text, config: { trace: codez }", CODEX);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(78));
    assert!(
        ran.stderr.contains("`config.trace` of agent `w`: expected \"jsonl\", \"hermes\", \"codex\""),
        "{}",
        ran.stderr
    );
}

#[test]
fn failed_attempt_with_trace_can_be_reextracted() {
    let (home, thread) = with_worker(1, "output: text, config: { trace: codex }", CODEX);
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!("{config}extract: {{ frontmatter: false }}\n"));
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(41));
    home.config(&config);
    home.json(&["thread", "step", &thread, "--reextract"]);
    let detail = home.last_detail(&thread);
    assert_eq!((&detail["source"], &detail["extractedBy"]), (&json!("attempt"), &json!("frontmatter")));
    assert_eq!(turns(&detail), [r#" ["shell"]"#, "---\nn: 1\n---\nOne line. []"]);
}
