//! Traces of other programs: every format reads every text, within its limits, and the same text always alike.

use uwf_agents::trace::{MAX_CALLS_PER_TURN, MAX_TEXT, MAX_TURNS, TraceFormat};
use uwf_testing::FuzzTarget;

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "trace import",
    samples: &[
        include_bytes!("../traces/claude-session.jsonl"),
        include_bytes!("../traces/claude-stream.jsonl"),
        include_bytes!("../traces/codex-exec.jsonl"),
        include_bytes!("../traces/codex-rollout.jsonl"),
        include_bytes!("../traces/cursor-stream.jsonl"),
        include_bytes!("../traces/gemini-stream.jsonl"),
        include_bytes!("../traces/hermes-export.jsonl"),
        include_bytes!("../traces/opencode-export.json"),
        include_bytes!("../traces/opencode-run.jsonl"),
        include_bytes!("../traces/uwf.jsonl"),
    ],
    words: &[
        "\"type\"",
        "\"role\"",
        "\"item\"",
        "\"payload\"",
        "\"message\"",
        "\"messages\"",
        "\"content\"",
        "\"part\"",
        "\"parts\"",
        "\"state\"",
        "\"tokens\"",
        "\"usage\"",
        "\"tool_call\"",
        "\"call_id\"",
        "\"id\"",
        "\"text\"",
        "\"output\"",
        "\"timestamp\"",
        "\"assistant\"",
        "\"tool_use\"",
        "\"tool_result\"",
        "\"turn\"",
        "\"result\"",
        "null",
        "-1",
        "1e308",
        "1e-308",
        "18446744073709551615",
        "\"2026-11-22T02:03:04Z\"",
        "\"2026-13-45T99:99:99\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\n",
        "\\ud83d",
        "\\u0000",
        "é",
        "\"\"",
    ],
    check,
};

fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let told = TraceFormat::detect(&text);
    let lines = text.lines().count();
    for format in TraceFormat::ALL {
        let trace = format.read(&text);
        assert!(trace.turns.len() <= MAX_TURNS && trace.unread <= lines.max(text.len()), "{}", trace.unread);
        for turn in &trace.turns {
            assert!(turn.tool_calls.len() <= MAX_CALLS_PER_TURN && turn.output.len() <= MAX_TEXT + 100);
        }
        if told == Some(format) {
            // Times come from the text, never from a clock.
            assert_eq!(format.read(&text), trace);
            let input = ["Do it.".to_owned()];
            assert_eq!(trace.clone().with_input(&input).turns.len(), trace.turns.len());
        }
        assert_eq!(trace.gaps().is_some(), trace.unread + trace.left_out > 0);
    }
}
