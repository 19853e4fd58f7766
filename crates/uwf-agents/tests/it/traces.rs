//! Importers of traces. The texts in `traces/` have the forms the real programs write, noise included.

use insta::assert_snapshot;
use proptest::prelude::*;
use uwf_agents::trace::{MAX_CALLS_PER_TURN, MAX_TEXT, MAX_TURNS, ParsedTrace, TraceEnding, TraceFormat};
use uwf_core::node::TokenCounts;

fn tokens(tokens: Option<&TokenCounts>) -> String {
    let Some(tokens) = tokens else { return "-".to_owned() };
    let count = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let counts = [tokens.input, tokens.output, tokens.cached, tokens.reasoning].map(count).join("/");
    tokens.cost.map_or(counts.clone(), |cost| format!("{counts} ${cost}"))
}

/// A trace in lines: the session, then each turn with its input, output and calls.
fn told(trace: &ParsedTrace) -> String {
    let mut lines = vec![format!(
        "{} {} {} ms tokens {} unread {} answer {:?} ending {:?}",
        trace.source,
        trace.session_id.as_deref().unwrap_or("-"),
        trace.duration_ms.map_or_else(|| "?".to_owned(), |ms| ms.to_string()),
        tokens(trace.tokens.as_ref()),
        trace.unread,
        trace.answer.as_deref().unwrap_or("-"),
        trace.ending,
    )];
    for turn in &trace.turns {
        let begin = format!("{:?} -> {:?} {} ms", turn.input, turn.output, turn.latency_ms);
        lines.push(format!("{begin} tokens {}", tokens(turn.tokens.as_ref())));
        lines.extend(
            turn.tool_calls
                .iter()
                .map(|call| format!("  {} {} -> {:?} {} ms", call.name, call.arguments, call.result, call.duration_ms)),
        );
    }
    lines.join("\n")
}

/// Reads a sample in the format it is told to have.
fn read(sample: &str, format: TraceFormat) -> String {
    assert_eq!(TraceFormat::detect(sample), Some(format));
    told(&format.read(sample))
}

#[test]
fn codex_exec_is_read_turn_by_turn() {
    assert_snapshot!(read(include_str!("traces/codex-exec.jsonl"), TraceFormat::Codex), @r#"
    stdout 01a2010b-aaaa ? ms tokens 222/44/22/10 unread 2 answer "---\nn: 0\n---\nThere is no such file." ending Good
    [] -> "<thinking>\nI have to count.\n</thinking>\n\nCounting." 0 ms tokens -
      shell wc -l a.txt -> "wc: a.txt: No such file\n\n[exit code 1]" 0 ms
      uwf.submit {"n":"one"} -> "/n: \"one\" is not an integer" 0 ms
    ["wc: a.txt: No such file\n\n[exit code 1]", "/n: \"one\" is not an integer"] -> "---\nn: 0\n---\nThere is no such file." 0 ms tokens -
    "#);
}

#[test]
fn codex_rollout_is_read_turn_by_turn() {
    assert_snapshot!(read(include_str!("traces/codex-rollout.jsonl"), TraceFormat::Codex), @r#"
    session-file 01a2010b-bbbb 1140 ms tokens 231/30/111/5 unread 0 answer "---\nn: 1\n---\nDone." ending Good
    ["You work in /w.", "count"] -> "<thinking>\nI think.\n</thinking>" 500 ms tokens 111/22/11/5
      exec_command {"cmd": "wc -l"} -> "1\n" 300 ms
    ["1\n"] -> "---\nn: 1\n---\nDone." 200 ms tokens 120/8/100/0
    "#);
}

#[test]
fn programs_report_their_model() {
    let gemini = include_str!("traces/gemini-stream.jsonl");
    let used = "\"models\":{\"gemini-2.5-flash\":{\"total_tokens\":250},\"gemini-2.5-pro\":{\"total_tokens\":0}},\"tool_calls\"";
    let chosen = gemini.replace("\"model\":\"m\"", "\"model\":\"auto\"").replace("\"tool_calls\"", used);
    for (format, sample, model) in [
        (TraceFormat::Codex, include_str!("traces/codex-rollout.jsonl"), Some("gpt-5.2-codex")),
        (TraceFormat::Codex, include_str!("traces/codex-exec.jsonl"), None),
        (TraceFormat::Gemini, gemini, Some("m")),
        (TraceFormat::Gemini, &chosen, Some("gemini-2.5-flash")),
        (TraceFormat::Cursor, include_str!("traces/cursor-stream.jsonl"), Some("Big 1")),
    ] {
        assert_eq!(format.read(sample).model.as_deref(), model, "{format:?}");
    }
}

#[test]
fn claude_stream_is_read_turn_by_turn() {
    assert_snapshot!(read(include_str!("traces/claude-stream.jsonl"), TraceFormat::Claude), @r#"
    stdout 5c1e 4200 ms tokens 1012/34/900/? $0.0123 unread 0 answer "---\nn: 1\n---\nDone." ending Good
    [] -> "<thinking>\nCount first.\n</thinking>\n\nCounting." 0 ms tokens 500/25/400/?
      Bash {"command":"wc -l"} -> "1" 0 ms
    ["1"] -> "---\nn: 1\n---\nDone." 0 ms tokens 512/9/500/?
    "#);
}

#[test]
fn claude_session_is_read_turn_by_turn() {
    assert_snapshot!(read(include_str!("traces/claude-session.jsonl"), TraceFormat::Claude), @r#"
    session-file 77aa ? ms tokens - unread 0 answer "---\nn: 1\n---" ending Good
    ["count"] -> "" 2500 ms tokens 10/25/?/?
      Bash {"command":"wc -l"} -> "1" 500 ms
    ["1"] -> "---\nn: 1\n---" 1000 ms tokens 40/9/?/?
    "#);
}

#[test]
fn cursor_stream_is_read_turn_by_turn() {
    assert_snapshot!(read(include_str!("traces/cursor-stream.jsonl"), TraceFormat::Cursor), @r#"
    stdout c6b6 5234 ms tokens - unread 0 answer "---\nn: 1\n---\nDone." ending Good
    ["count"] -> "Counting." 0 ms tokens -
      read {"path":"a.txt"} -> "{\"success\":{\"content\":\"one line\",\"totalLines\":1}}" 40 ms
    ["{\"success\":{\"content\":\"one line\",\"totalLines\":1}}"] -> "" 0 ms tokens -
      grep {"q":1} -> "none" 0 ms
    ["none"] -> "---\nn: 1\n---\nDone." 0 ms tokens -
    "#);
}

#[test]
fn opencode_run_is_read_turn_by_turn() {
    assert_snapshot!(read(include_str!("traces/opencode-run.jsonl"), TraceFormat::Opencode), @r#"
    stdout ses_1 ? ms tokens 231/31/111/5 $0.03 unread 0 answer "---\nn: 1\n---\nDone." ending Good
    [] -> "Counting." 1000 ms tokens 111/22/11/5 $0.01
      bash {"command":"wc -l"} -> "1\n" 400 ms
    ["1\n"] -> "---\nn: 1\n---\nDone." 1000 ms tokens 120/9/100/0 $0.02
    "#);
}

#[test]
fn opencode_export_is_read_turn_by_turn() {
    assert_snapshot!(read(include_str!("traces/opencode-export.json"), TraceFormat::Opencode), @r#"
    export ses_2 ? ms tokens 230/28/0/0 unread 1 answer "---\nn: 0\n---" ending Good
    ["count"] -> "<thinking>\nOne file.\n</thinking>" 1000 ms tokens 100/20/0/0
      bash {"command":"wc"} -> "timed out" 900 ms
    ["timed out"] -> "---\nn: 0\n---" 900 ms tokens 130/8/0/0
    "#);
}

#[test]
fn gemini_stream_is_read_turn_by_turn() {
    assert_snapshot!(read(include_str!("traces/gemini-stream.jsonl"), TraceFormat::Gemini), @r#"
    stdout 9e1f 2600 ms tokens 220/30/40/? unread 1 answer "---\nn: 0\n---\nNone." ending Good
    ["count"] -> "Counting." 1100 ms tokens -
      run_shell_command {"command":"wc -l"} -> "not found" 400 ms
    ["not found"] -> "---\nn: 0\n---\nNone." 1000 ms tokens -
    "#);
}

#[test]
fn hermes_export_is_read_turn_by_turn() {
    assert_snapshot!(read(include_str!("traces/hermes-export.jsonl"), TraceFormat::Hermes), @r#"
    export 20261122_021459_fa0b62 ? ms tokens 325/44/100/7 unread 1 answer "---\nn: 1\n---\nDone." ending Good
    ["count"] -> "<thinking>\nTwo files.\n</thinking>\n\nCounting." 1500 ms tokens -
      terminal {"command": "wc -l"} -> "{\"output\": \"1\"}" 1500 ms
    ["{\"output\": \"1\"}"] -> "---\nn: 1\n---\nDone." 250 ms tokens -
    "#);
}

#[test]
fn own_format_is_read_turn_by_turn() {
    assert_snapshot!(read(include_str!("traces/uwf.jsonl"), TraceFormat::Jsonl), @r#"
    wire s-1 1500 ms tokens 30/12/?/? $0.25 unread 1 answer "---\nn: 1\n---\nDone." ending Good
    ["count", "a.txt has one line"] -> "Counting." 400 ms tokens 10/2/?/?
      count {"file":"a.txt"} -> "1" 3 ms
    ["1"] -> "---\nn: 1\n---\nDone." 0 ms tokens -
    "#);
}

#[test]
fn failures_keep_the_agents_words() {
    let cases = [
        (
            TraceFormat::Codex,
            r#"{"type":"turn.failed","error":{"message":"stream disconnected"}}"#,
            "stream disconnected",
        ),
        (
            TraceFormat::Claude,
            r#"{"type":"result","subtype":"success","is_error":true,"result":"Invalid API key"}"#,
            "Invalid API key",
        ),
        (TraceFormat::Claude, r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#, "error_max_turns"),
        (
            TraceFormat::Cursor,
            r#"{"type":"result","subtype":"error","is_error":true,"result":"not signed in"}"#,
            "not signed in",
        ),
        (
            TraceFormat::Opencode,
            r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"no credit"}}}"#,
            "no credit",
        ),
        (
            TraceFormat::Gemini,
            r#"{"type":"result","status":"error","error":{"type":"FatalError","message":"quota"}}"#,
            "quota",
        ),
    ];
    for (format, line, error) in cases {
        let trace = format.read(line);
        assert_eq!(
            (trace.ending, trace.answer, trace.unread),
            (TraceEnding::Failed(error.to_owned()), None, 0),
            "{line}"
        );
    }
}

/// What a turn that did not end well said is in its turns, and the trace says why it is no answer.
#[test]
fn a_turn_that_ended_badly_has_its_reason() {
    let claude = |message: &str, result: &str| {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"id\":\"m\",\"content\":[{{\"type\":\"text\",\"text\":\"{{}}\"}}]{message}}}}}\n{{\"type\":\"result\",\"result\":\"{{}}\"{result}}}"
        )
    };
    let opencode = |reason: &str| {
        format!(
            "{{\"type\":\"text\",\"sessionID\":\"s\",\"part\":{{\"text\":\"{{}}\"}}}}\n{{\"type\":\"step_finish\",\"sessionID\":\"s\",\"part\":{{\"reason\":\"{reason}\"}}}}"
        )
    };
    let codex = |last: &str| {
        format!(
            "{{\"type\":\"thread.started\",\"thread_id\":\"t\"}}\n{{\"type\":\"item.completed\",\"item\":{{\"type\":\"agent_message\",\"text\":\"{{}}\"}}}}\n{last}"
        )
    };
    let cut = |word: &str| Some(format!("was cut off at its token limit (`{word}`)"));
    for (format, text, error) in [
        (TraceFormat::Claude, claude("", ",\"subtype\":\"success\",\"is_error\":false"), None),
        (TraceFormat::Claude, claude(",\"stop_reason\":\"end_turn\"", ",\"subtype\":\"success\""), None),
        (TraceFormat::Claude, claude("", ",\"subtype\":\"success\",\"is_error\":true"), Some("{}")),
        (
            TraceFormat::Claude,
            claude("", ",\"subtype\":\"error_during_execution\",\"is_error\":false"),
            Some("error_during_execution: {}"),
        ),
        (
            TraceFormat::Claude,
            claude(",\"stop_reason\":\"max_tokens\"", ",\"subtype\":\"success\""),
            cut("max_tokens").as_deref(),
        ),
        (
            TraceFormat::Claude,
            claude(",\"stop_reason\":\"refusal\"", ",\"subtype\":\"success\""),
            Some("ended its turn with `refusal`"),
        ),
        (
            TraceFormat::Claude,
            claude("", ",\"subtype\":\"success\",\"stop_reason\":\"model_context_window_exceeded\""),
            Some("ended its turn with `model_context_window_exceeded`"),
        ),
        (TraceFormat::Claude, claude(",\"model\":\"<synthetic>\"", ",\"subtype\":\"success\""), Some("{}")),
        (TraceFormat::Opencode, opencode("stop"), None),
        (TraceFormat::Opencode, opencode("tool-calls"), None),
        (TraceFormat::Opencode, opencode("length"), cut("length").as_deref()),
        (TraceFormat::Opencode, opencode("content-filter"), Some("ended its turn with `content-filter`")),
        (TraceFormat::Codex, codex("{\"type\":\"turn.completed\"}"), None),
        (
            TraceFormat::Codex,
            codex("{\"type\":\"error\",\"message\":\"Reconnecting\"}\n{\"type\":\"turn.completed\"}"),
            None,
        ),
        (
            TraceFormat::Codex,
            codex("{\"type\":\"turn.failed\",\"error\":{\"message\":\"no credit\"}}"),
            Some("no credit"),
        ),
    ] {
        let trace = format.read(&text);
        let why = match &trace.ending {
            TraceEnding::Bad(why) | TraceEnding::Failed(why) => Some(why.as_str()),
            TraceEnding::Good => None,
            TraceEnding::Unknown => panic!("{text}"),
        };
        assert_eq!((why, trace.answer.as_deref()), (error, Some("{}")), "{text}");
    }
}

#[test]
fn truncated_trace_has_turns_but_no_answer() {
    for (format, sample) in [
        (TraceFormat::Codex, include_str!("traces/codex-exec.jsonl")),
        (TraceFormat::Claude, include_str!("traces/claude-stream.jsonl")),
        (TraceFormat::Cursor, include_str!("traces/cursor-stream.jsonl")),
        (TraceFormat::Opencode, include_str!("traces/opencode-run.jsonl")),
        (TraceFormat::Gemini, include_str!("traces/gemini-stream.jsonl")),
    ] {
        let end = sample.find("---").unwrap();
        let trace = format.read(&sample[..end]);
        assert_eq!(trace.answer, None, "{format:?}");
        assert!(trace.turns.iter().all(|turn| !turn.tool_calls.is_empty()) && !trace.turns.is_empty(), "{format:?}");
    }
}

#[test]
fn other_texts_have_no_trace_format() {
    for text in ["", "words\n", "{}\n", "[1]\n", r#"{"type":"session_meta"}"#, r#"{"messages":[]}"#] {
        assert_eq!(TraceFormat::detect(text), None, "{text:?}");
    }
}

#[test]
fn excess_turns_and_calls_are_counted() {
    let line = "{\"type\":\"turn\",\"output\":\"x\"}\n";
    let trace = TraceFormat::Jsonl.read(&line.repeat(MAX_TURNS + 3));
    assert_eq!((trace.turns.len(), trace.left_out), (MAX_TURNS, 3));
    assert_eq!(trace.gaps().unwrap(), "3 turns or tool calls are over the limit");

    let call = r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"x"}}"#;
    let calls: String = (0..MAX_CALLS_PER_TURN + 2)
        .map(|id| {
            format!(
                "{{\"type\":\"item.started\",\"item\":{{\"id\":\"{id}\",\"type\":\"web_search\",\"query\":\"q\"}}}}\n"
            )
        })
        .collect();
    let trace = TraceFormat::Codex.read(&format!("{call}\n{calls}"));
    assert_eq!((trace.turns[0].tool_calls.len(), trace.left_out), (MAX_CALLS_PER_TURN, 2));

    let long = serde_json::json!({ "type": "turn", "output": "ü".repeat(MAX_TEXT) }).to_string();
    let output = TraceFormat::Jsonl.read(&long).turns.remove(0).output;
    assert!(output.len() < MAX_TEXT + 100 && output.contains("bytes cut"), "{}", output.len());
}

/// Lines that look like those of some format, with anything in the places that matter.
fn lines() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("assistant"),
        Just("user"),
        Just("tool"),
        Just("turn"),
        Just("session"),
        Just("item.completed"),
        Just("item.started"),
        Just("response_item"),
        Just("function_call_output"),
        Just("function_call"),
        Just("message"),
        Just("tool_call"),
        Just("completed"),
        Just("tool_use"),
        Just("tool_result"),
        Just("step_finish"),
        Just("result"),
        Just("command_execution"),
        Just("content"),
        Just("text"),
        Just("id"),
        Just("x"),
    ];
    let key = prop_oneof![
        Just("type"),
        Just("role"),
        Just("item"),
        Just("payload"),
        Just("message"),
        Just("messages"),
        Just("content"),
        Just("part"),
        Just("parts"),
        Just("state"),
        Just("tokens"),
        Just("usage"),
        Just("tool_call"),
        Just("call_id"),
        Just("subtype"),
        Just("id"),
        Just("info"),
        Just("text"),
        Just("output"),
        Just("toolCalls"),
        Just("input_tokens"),
    ];
    let leaf = prop_oneof![
        word.prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
    ];
    let value = leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|pairs| {
                serde_json::Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    });
    prop::collection::vec(value, 0..8)
        .prop_map(|values| values.iter().map(|value| format!("{value}\n")).collect::<String>())
}

proptest! {
    #[test]
    fn no_text_makes_an_importer_panic(text in any::<String>(), lines in lines()) {
        for text in [&text, &lines] {
            let _ = TraceFormat::detect(text);
            for format in TraceFormat::ALL {
                let _ = format.read(text);
            }
        }
    }

    #[test]
    fn a_sample_cut_anywhere_is_read(at in 0usize..4000, which in 0usize..4) {
        let samples = [
            (TraceFormat::Codex, include_str!("traces/codex-rollout.jsonl")),
            (TraceFormat::Claude, include_str!("traces/claude-stream.jsonl")),
            (TraceFormat::Opencode, include_str!("traces/opencode-export.json")),
            (TraceFormat::Hermes, include_str!("traces/hermes-export.jsonl")),
        ];
        let (format, sample) = samples[which];
        let cut = sample.get(..at.min(sample.len())).unwrap_or_default();
        let whole = format.read(sample);
        prop_assert!(format.read(cut).turns.len() <= whole.turns.len());
    }
}
