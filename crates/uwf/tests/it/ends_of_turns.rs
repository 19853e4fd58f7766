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
