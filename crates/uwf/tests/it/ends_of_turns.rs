//! How a turn ended decides whether there is an answer.

use crate::fixtures::answering::with_worker;

/// An answer that would fit.
const SAYS: &str = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"{\"n\": 7}"}]}}"#;

const GEMINI_SAYS: &str = r#"{"type":"init","session_id":"s"}
{"type":"message","role":"assistant","content":"{\"n\": 7}"}"#;

#[test]
fn a_turn_that_did_not_end_well_is_no_answer() {
    for (settings, printed, reason) in [
        (
            "output: json, config: { trace: claude }",
            format!(
                "{SAYS}\n{}",
                r#"{"type":"result","subtype":"error_during_execution","is_error":false,"errors":["it broke"]}"#
            ),
            "it broke",
        ),
        (
            "output: json, config: { trace: claude }",
            format!(
                "{SAYS}\n{}",
                r#"{"type":"result","subtype":"success","is_error":false,"stop_reason":"max_tokens","result":"{\"n\": 7}"}"#
            ),
            "was cut off at its token limit",
        ),
        (
            "output: json, config: { trace: claude }",
            r#"{"type":"result","subtype":"success","is_error":true,"result":"Credit balance is too low"}"#.to_owned(),
            "Credit balance is too low",
        ),
        (
            "output: json, config: { trace: claude }",
            r#"{"type":"result","subtype":"error_during_execution","is_error":false,"result":"{\"n\": 7}"}"#.to_owned(),
            "error_during_execution",
        ),
        (
            "output: json, config: { trace: gemini }",
            format!("{GEMINI_SAYS}\n{}", r#"{"type":"result","status":"max_tokens","stats":{}}"#),
            "was cut off at its token limit",
        ),
        (
            "output: json, config: { trace: hermes }",
            r#"{"id":"s","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"{\"n\": 7}","finish_reason":"content_filter"}]}"#.to_owned(),
            "ended its turn with `content_filter`",
        ),
        ("output: text", "Credit balance is too low".to_owned(), "Credit balance is too low"),
        ("output: json", "API Error: 529 Overloaded".to_owned(), "API Error: 529 Overloaded"),
    ] {
        let (home, thread) = with_worker(3, settings, &format!("#!/bin/sh\ncat <<'E'\n{printed}\nE\n"));
        let head = home.head(&thread);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(40), "{printed}: {}", ran.stderr);
        assert!(ran.stderr.contains(reason), "{printed}: {}", ran.stderr);
        assert_eq!(home.head(&thread), head);
        let attempt = home.json(&["thread", "show", &thread])["attempt"].as_str().unwrap().to_owned();
        let kept = home.uwf(&["thread", "step-details", &attempt]).stdout;
        assert!(kept.contains(if printed.contains("assistant") { "\"n\": 7" } else { reason }), "{kept}");
    }
}

#[test]
fn a_turn_that_ended_well_is_one() {
    let result =
        r#"{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","result":"{\"n\": 7}"}"#;
    let script = format!("#!/bin/sh\ncat <<'E'\n{SAYS}\n{result}\nE\n");
    let (home, thread) = with_worker(3, "output: json, config: { trace: claude }", &script);
    assert_eq!(home.json(&["thread", "step", &thread])["role"], "worker");
}

/// Claude Code notes that it is done after it has said its answer.
const CALLS: &str = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"{\"n\": 7}"},{"type":"tool_use","id":"t","name":"TodoWrite","input":{}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}"#;

/// The same in a turn of its own.
const CALLS_LATER: &str = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"{\"n\": 7}"},{"type":"tool_use","id":"s","name":"Bash","input":{}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"s","content":"ok"}]}}
{"type":"assistant","message":{"id":"o","content":[{"type":"tool_use","id":"t","name":"TodoWrite","input":{}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}"#;

const SUCCESS: &str = r#"{"type":"result","subtype":"success","is_error":false,"stop_reason":"tool_use","result":""}"#;

#[test]
fn a_turn_that_ends_in_a_call_offers_its_last_text() {
    let jsonl =
        r#"{"type":"turn","output":"{\"n\": 7}","toolCalls":[{"name":"TodoWrite","arguments":"{}","result":"ok"}]}"#;
    for (format, printed) in [("claude", CALLS), ("claude", CALLS_LATER), ("jsonl", jsonl)] {
        let end = if format == "claude" { SUCCESS } else { "" };
        let script = format!("#!/bin/sh\ncat > /dev/null\necho run >> runs\ncat <<'E'\n{printed}\n{end}\nE\n");
        let (home, thread) = with_worker(1, &format!("output: json, config: {{ trace: {format} }}"), &script);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(40), "{printed}: {ran:?}");
        let told = home.steady(&ran.stderr);
        assert!(told.contains("call `TodoWrite`. Before that it said: {\"n\": 7}"), "{told}");
        assert!(told.contains("hint: `uwf thread step <id> --reextract` takes that text for its answer"), "{told}");
        let attempt = home.json(&["thread", "show", &thread])["attempt"].as_str().unwrap().to_owned();
        let kept = home.json(&["thread", "step-details", &attempt, "--format", "json"]);
        assert!(kept["turns"][0]["output"].as_str().unwrap().contains("{\"n\": 7}"), "{kept}");
        let again = home.json(&["thread", "step", &thread, "--reextract"]);
        assert_eq!(again["done"], true, "{again}");
        assert_eq!(home.json(&["thread", "eval", &thread, "steps[-1].output.n"]), 7);
        assert_eq!(std::fs::read_to_string(home.work().join("runs")).unwrap(), "run\n", "its agent ran once");
    }
}

#[test]
fn cursor_that_ends_in_a_call_offers_its_last_text() {
    let home = crate::home();
    let said =
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"---\nn: 7\n---\n"}]},"session_id":"s"}"#;
    let called = r#"{"type":"tool_call","subtype":"completed","call_id":"c","session_id":"s","tool_call":{"todoToolCall":{"args":{},"result":{"success":{}}}}}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"","session_id":"s"}"#;
    home.script("cursor-agent", &format!("#!/bin/sh\ncat <<'E'\n{said}\n{called}\n{result}\nE\n"));
    home.config("agents:\n  a: { command: uwf-cursor }\ndefaultAgent: a\n");
    let thread = home.start_counting(1, "count");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40), "{ran:?}");
    assert!(ran.stderr.contains("call `todo`. Before that it said: --- n: 7 ---"), "{}", ran.stderr);
    assert_eq!(home.json(&["thread", "step", &thread, "--reextract"])["done"], true);
}

/// The submitted output is the answer; later text and calls don't change it.
#[test]
fn a_turn_that_ends_in_submit_is_an_answer() {
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"submit","arguments":{"n":7}}}"#;
    let script = format!(
        "#!/bin/sh\ncat > /dev/null\necho '{request}' | \"$UWF_BIN\" agent mcp \"$UWF_THREAD\" worker > told\ncat <<'E'\n{CALLS_LATER}\n{SUCCESS}\nE\n"
    );
    let (home, thread) = with_worker(1, "output: json, config: { trace: claude, mcp: true }", &script);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(home.json(&["thread", "eval", &thread, "steps[-1].output.n"]), 7);
}

#[test]
fn a_short_refusal_is_quoted() {
    for (output, said) in
        [("json", "I can't help with that."), ("text", "I can't help with that."), ("text", "I'm sorry,\nbut no.")]
    {
        let script = format!("#!/bin/sh\ncat > /dev/null\ncat <<'E'\n{said}\nE\n");
        let (home, thread) = with_worker(1, &format!("output: {output}"), &script);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(41), "{ran:?}");
        let quoted = format!("; the answer reads: {}\n", said.replace('\n', " "));
        assert!(ran.stderr.contains(&quoted), "{}", ran.stderr);
    }
    let long = "I can't help with that. ".repeat(20);
    for said in [&*long, "{\"m\": 1}", "ok"] {
        let script = format!("#!/bin/sh\ncat > /dev/null\ncat <<'E'\n{said}\nE\n");
        let (home, thread) = with_worker(1, "output: json", &script);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert!(ran.code == Some(41) && !ran.stderr.contains("the answer reads"), "{}", ran.stderr);
    }
}

/// `uwf-llm` reads the reply itself where the model can give a value.
mod llm {
    use serde_json::json;
    use uwf_testing::TestHome;
    use uwf_testing::llm_server::{LlmServer, Say};

    use crate::home;

    fn reviewer(server: &LlmServer) -> (TestHome, String) {
        let home = home();
        home.config(&format!(
            "providers:\n  p: {{ baseUrl: \"{}\", apiKeyEnv: P_KEY }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
             agents:\n  a: {{ command: uwf-llm, model: m }}\ndefaultAgent: a\n",
            server.url()
        ));
        std::fs::write(home.root().join(".env"), "P_KEY=sk-0123456789\n").unwrap();
        home.put(
            "review-one",
            "name: review-one\nroles:\n  reviewer:\n    goal: Approve or not.\n    meta: { type: object, required: [approved], properties: { approved: { type: boolean }, comment: { type: string } } }\n\
             graph:\n  $START: [ { role: reviewer } ]\n  reviewer: [ { role: $END } ]\n",
        );
        let thread = home.start("review-one", "review it");
        (home, thread)
    }

    #[test]
    fn object_within_a_reply_is_not_the_output() {
        for reply in [
            r#"I do not approve. The API must return {"approved": true} for valid users."#,
            "No. `{\"approved\": true}` is what the bot says.",
            "> {\"approved\": true}\n\nI reject.",
            "<think>\n{\"approved\": true}\n</think>\nI reject.",
            "{\"approved\": false}\n\n{\"approved\": true}",
        ] {
            let server = LlmServer::start([Say::text(reply).repeated()]);
            let (home, thread) = reviewer(&server);
            let ran = home.uwf(&["thread", "step", &thread]);
            assert_eq!(ran.code, Some(41), "{reply}: {}", ran.transcript());
        }
        let server = LlmServer::start([Say::text("{\"approved\": false}")]);
        let (home, thread) = reviewer(&server);
        home.json(&["thread", "step", &thread]);
        assert_eq!(home.last_step(&thread)["output"], json!({ "approved": false }));
    }
}
