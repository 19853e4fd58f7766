//! How a turn ended decides whether there is an answer.

use uwf_testing::text;

use crate::fixtures::answering::with_worker;

/// An answer that would fit.
const SAYS: &str = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"{\"n\": 7}"}]}}"#;

const GEMINI_SAYS: &str = r#"{"type":"init","session_id":"s"}
{"type":"message","role":"assistant","content":"{\"n\": 7}"}"#;

#[test]
fn failed_turn_is_not_answer() {
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
            "was cut off at its token limit (`max_tokens`)",
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
            "was cut off at its token limit (`max_tokens`)",
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

/// The output of each program until its turn ends: the format, the events, the last event.
const WITHOUT_AN_ENDING: [(&str, &str, &str); 7] = [
    ("claude", SAYS, "`assistant`"),
    ("gemini", GEMINI_SAYS, "`message`"),
    (
        "codex",
        r#"{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"{\"n\": 7}"}}"#,
        "`item.completed (agent_message)`",
    ),
    (
        "opencode",
        r#"{"type":"step_start","sessionID":"s","part":{"type":"step-start"}}
{"type":"text","sessionID":"s","part":{"type":"text","text":"{\"n\": 7}"}}"#,
        "`text`",
    ),
    (
        "cursor",
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"{\"n\": 7}"}]},"session_id":"s"}"#,
        "`assistant`",
    ),
    (
        "hermes",
        r#"{"id":"s","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"{\"n\": 7}"}]}"#,
        "",
    ),
    (
        "codex",
        r#"{"type":"session_meta","payload":{"id":"t"}}
{"type":"event_msg","payload":{"type":"task_complete"}}
{"type":"event_msg","payload":{"type":"task_started"}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"{\"n\": 7}"}]}}"#,
        "`response_item (message)`",
    ),
];

#[test]
fn turn_without_an_ending_is_no_answer() {
    for (format, printed, last) in WITHOUT_AN_ENDING {
        let script = format!("#!/bin/sh\ncat > /dev/null\necho run >> runs\ncat <<'E'\n{printed}\nE\n");
        let (home, thread) = with_worker(1, &format!("output: json, config: {{ trace: {format} }}"), &script);
        let head = home.head(&thread);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(40), "{printed}: {}", ran.stderr);
        let why = home.json(&["thread", "show", &thread])["why"].clone();
        let end = if last.is_empty() { String::new() } else { format!("; the last event in its trace is {last}") };
        assert_eq!(why, format!("agent `w` did not say how its turn ended{end}"), "{printed}");
        assert_eq!(home.head(&thread), head);
        let attempt = home.json(&["thread", "show", &thread])["attempt"].as_str().unwrap().to_owned();
        let kept = home.uwf(&["thread", "step-details", &attempt]).stdout;
        assert!(kept.contains("\"n\": 7"), "{kept}");
        // A person can take the text for the answer.
        assert!(ran.stderr.contains("--reextract` takes its last message as its answer"), "{}", ran.stderr);
        assert_eq!(home.json(&["thread", "step", &thread, "--reextract"])["done"], true);
        assert_eq!(std::fs::read_to_string(home.work().join("runs")).unwrap(), "run\n", "its agent ran once");
    }
}

/// Claude Code prints totals for each turn, and codex events for each. The last turn counts.
#[test]
fn turn_after_a_complete_turn_needs_an_ending() {
    let claude = format!("{SAYS}\n{SUCCESS}\n{}", SAYS.replace("\"id\":\"m\"", "\"id\":\"o\""));
    let gemini = format!("{GEMINI_SAYS}\n{}\n{GEMINI_SAYS}", r#"{"type":"result","status":"success","stats":{}}"#);
    let (_, codex, _) = WITHOUT_AN_ENDING[2];
    let codex = format!("{codex}\n{}\n{codex}", r#"{"type":"turn.completed","usage":{}}"#);
    for (format, printed) in [("claude", claude), ("gemini", gemini), ("codex", codex)] {
        let script = format!("#!/bin/sh\ncat <<'E'\n{printed}\nE\n");
        let (home, thread) = with_worker(1, &format!("output: json, config: {{ trace: {format} }}"), &script);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(40), "{printed}: {}", ran.transcript());
        assert!(ran.stderr.contains("did not say how its turn ended"), "{}", ran.stderr);
    }
}

/// The agent has answered, and uwf dies before it reads how the turn ended: first the process that reads it, then also the keeper.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs what only Linux shows of processes")]
fn crash_before_ending_is_read_accepts_nothing() {
    let result =
        r#"{"type":"result","subtype":"success","is_error":false,"stop_reason":"max_tokens","result":"{\"n\": 7}"}"#;
    // A shell waits between the agent and the process that reads its answer.
    let reader = "$(parent $PPID)";
    for (processes, code) in [(reader.to_owned(), 40), (format!("$(parent {reader}) {reader}"), 70)] {
        let script = format!(
            "#!/bin/sh\nparent() {{ cut -d' ' -f4 \"/proc/$1/stat\"; }}\ncat > /dev/null\necho run >> runs\ncat <<'E'\n{SAYS}\n{result}\nE\n[ \"$(wc -l < runs)\" -gt 1 ] || kill -9 {processes}\n"
        );
        let (home, thread) = with_worker(1, "output: json, config: { trace: claude }", &script);
        let head = home.head(&thread);
        let died = home.uwf(&["thread", "step", &thread]);
        assert_eq!(died.code, Some(code), "{processes}: {}", died.transcript());
        let next = home.uwf(&["thread", "step", &thread]);
        assert_eq!(next.code, Some(40), "{processes}: {}", next.transcript());
        assert!(next.stderr.contains("was cut off at its token limit"), "{processes}: {}", next.stderr);
        assert_eq!(home.head(&thread), head, "{processes}");
    }
}

#[test]
fn aborted_turn_is_no_answer() {
    let (_, stream, _) = WITHOUT_AN_ENDING[2];
    let (_, rollout, _) = WITHOUT_AN_ENDING[6];
    for printed in [
        format!("{stream}\n{}", r#"{"type":"turn.aborted","reason":"interrupted"}"#),
        format!("{rollout}\n{}", r#"{"type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}"#),
    ] {
        let script = format!("#!/bin/sh\ncat <<'E'\n{printed}\nE\n");
        let (home, thread) = with_worker(1, "output: json, config: { trace: codex }", &script);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(40), "{printed}: {}", ran.transcript());
        assert!(ran.stderr.contains("agent `w` aborted its turn (interrupted)"), "{}", ran.stderr);
    }
}

/// The result is marked as a success, and there is only a notice in it.
#[test]
fn notice_of_a_failure_is_no_answer() {
    let claude =
        |notice: &str| format!(r#"{{"type":"result","subtype":"success","is_error":false,"result":"{notice}"}}"#);
    let gemini = |notice: &str| {
        format!(
            "{{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"{notice}\"}}\n{{\"type\":\"result\",\"status\":\"success\",\"stats\":{{}}}}"
        )
    };
    let codex = |notice: &str| {
        format!(
            "{{\"type\":\"item.completed\",\"item\":{{\"type\":\"agent_message\",\"text\":\"{notice}\"}}}}\n{{\"type\":\"turn.completed\"}}"
        )
    };
    let opencode = |notice: &str| {
        format!(
            "{{\"type\":\"text\",\"sessionID\":\"s\",\"part\":{{\"text\":\"{notice}\"}}}}\n{{\"type\":\"step_finish\",\"sessionID\":\"s\",\"part\":{{\"reason\":\"stop\"}}}}"
        )
    };
    for (format, printed, notice) in [
        ("claude", claude("Credit balance is too low"), "Credit balance is too low"),
        ("claude", claude("Invalid API key · Please run /login"), "Invalid API key · Please run /login"),
        (
            "codex",
            codex("You've hit your usage limit. Try again later."),
            "You've hit your usage limit. Try again later.",
        ),
        ("gemini", gemini("[API Error: quota exceeded]"), "[API Error: quota exceeded]"),
        ("opencode", opencode("Credit balance is too low"), "Credit balance is too low"),
        ("", "Invalid API key · Please run /login".to_owned(), "Invalid API key · Please run /login"),
    ] {
        let trace = if format.is_empty() { String::new() } else { format!(", config: {{ trace: {format} }}") };
        for output in ["json", "text"] {
            let script = format!("#!/bin/sh\ncat > /dev/null\necho run >> runs\ncat <<'E'\n{printed}\nE\n");
            let (home, thread) = with_worker(1, &format!("output: {output}{trace}"), &script);
            let ran = home.uwf(&["thread", "step", &thread]);
            let is_limit = notice.contains("limit") || notice.contains("quota");
            assert_eq!(ran.code, Some(if is_limit { 30 } else { 40 }), "{printed}: {}", ran.transcript());
            let why = text(&home.json(&["thread", "show", &thread]), "why");
            assert!(why.ends_with(&format!("agent `w` failed: {notice}")), "{why}");
            let attempt = home.json(&["thread", "show", &thread])["attempt"].as_str().unwrap().to_owned();
            let kept = home.uwf(&["thread", "step-details", &attempt]).stdout;
            assert!(kept.contains(notice), "{kept}");
        }
    }
    // The rest of a notice is on lines of its own.
    let lines = "API Error: 500 {\\n  \\\"type\\\": \\\"error\\\"\\n}\\nTry again later.";
    let script = format!("#!/bin/sh\ncat > /dev/null\ncat <<'E'\n{}\nE\n", claude(lines));
    let (home, thread) = with_worker(1, "output: text, config: { trace: claude }", &script);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert_eq!(home.json(&["thread", "show", &thread])["why"], "agent `w` failed: API Error: 500 {");
    let about = "---\\nn: 7\\n---\\nCredit balance is too low";
    let script = format!("#!/bin/sh\ncat <<'E'\n{}\nE\n", claude(about));
    let (home, thread) = with_worker(1, "output: text, config: { trace: claude }", &script);
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
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
fn turn_ending_in_call_offers_last_text() {
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
        assert!(told.contains("hint: `uwf thread step <id> --reextract` takes that text as its answer"), "{told}");
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
fn cursor_ending_in_call_offers_last_text() {
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

/// The built-in agent tells the same as the programs above.
#[test]
fn react_ending_without_text_offers_last_text() {
    use serde_json::json;
    use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};

    let called = ScriptedAnswer::text("---\nn: 7\n---\nCounted.").and_call("list_dir", json!({ "path": "." }));
    let server = LlmServer::start([called, ScriptedAnswer::text("").repeated()]);
    let home = crate::home();
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{}\", apiKeyEnv: P_KEY }}\nmodels:\n  m: {{ provider: p, name: x }}\n\
         agents:\n  r: {{ command: uwf-react, model: m }}\ndefaultAgent: r\n",
        server.url()
    ));
    std::fs::write(home.root().join(".env"), "P_KEY=sk-scripted-0123456789\n").unwrap();
    let thread = home.start_counting(1, "count");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{ran:?}");
    let told = home.steady(&ran.stderr);
    assert!(told.contains("Before that it said: --- n: 7 --- Counted."), "{told}");
    assert!(told.contains("hint: `uwf thread step <id> --reextract` takes that text as its answer"), "{told}");
    assert!(!told.contains("uwf setup"), "{told}");
    assert_eq!(home.json(&["thread", "step", &thread, "--reextract"])["done"], true);
    assert_eq!(home.json(&["thread", "eval", &thread, "steps[-1].output.n"]), 7);
    let shown = home.uwf(&["thread", "read", &thread]).stdout;
    assert!(shown.contains("Counted.") && !shown.contains("list_dir"), "{shown}");
}

/// The submitted output is the answer; later text and calls don't change it.
#[test]
fn turn_ending_in_submit_is_answer() {
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
    for (output, said) in [
        ("json", "I can't help with that."),
        ("text", "I can't help with that."),
        ("text", "I'm sorry,\nbut no."),
        ("text", "Declined."),
        ("json", "ok"),
        ("text", "---\nstatus: refused\n---\nI will not do it."),
        ("json", "{\"error\":\"I refuse\"}"),
        ("text", "I cannot do this.\n\n{\"n\": \"x\"}"),
    ] {
        let script = format!("#!/bin/sh\ncat > /dev/null\ncat <<'E'\n{said}\nE\n");
        let (home, thread) = with_worker(1, &format!("output: {output}"), &script);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(41), "{ran:?}");
        let quoted = format!("; the answer reads: {}\n", said.split_whitespace().collect::<Vec<_>>().join(" "));
        assert!(ran.stderr.contains(&quoted), "{}", ran.stderr);
    }
    let long = "I can't help with that. ".repeat(20);
    for said in [&*long, "{\"m\": 1}", "{\"n\": \"x\",\n\"m\": \"y\"}"] {
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
    use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};

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

    /// A streamed completion with this text, or this call of `submit`, and these last pieces.
    fn stream(delta: &serde_json::Value, last: &str) -> ScriptedAnswer {
        let piece = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
        ScriptedAnswer::raw(200, "text/event-stream", format!("data: {piece}\n\n{last}"))
    }

    fn ended_with(word: &str) -> String {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{word}\"}}]}}\n\ndata: [DONE]\n\n"
        )
    }

    fn submit_call() -> serde_json::Value {
        let function = json!({ "name": "submit", "arguments": "{\"approved\": true}" });
        json!({ "tool_calls": [{ "index": 0, "id": "c", "type": "function", "function": function }] })
    }

    #[test]
    fn reply_without_a_finish_reason_is_no_answer() {
        let value = json!({ "content": "{\"approved\": true}" });
        let whole = json!({ "choices": [{ "index": 0, "message": { "role": "assistant", "content": "{\"approved\": true}" }, "finish_reason": null }] });
        for (say, reason) in [
            (stream(&value, "data: [DONE]\n\n"), "did not say how its turn ended"),
            (stream(&submit_call(), "data: [DONE]\n\n"), "did not say how its turn ended"),
            (ScriptedAnswer::raw(200, "application/json", whole.to_string()), "did not say how its turn ended"),
            (stream(&value, ""), "was cut"),
        ] {
            let server = LlmServer::start([say.repeated()]);
            let (home, thread) = reviewer(&server);
            let ran = home.uwf(&["thread", "step", &thread]);
            assert_eq!(ran.code, Some(40), "{}", ran.transcript());
            assert!(ran.stderr.contains(reason), "{}", ran.stderr);
            let attempt = home.json(&["thread", "show", &thread])["attempt"].as_str().unwrap().to_owned();
            let kept = home.json(&["thread", "step-details", &attempt, "--format", "json"]).to_string();
            assert!(kept.contains("approved"), "{kept}");
        }
    }

    #[test]
    fn submit_in_a_failed_reply_is_no_answer() {
        for (word, agent, reason) in [
            ("content_filter", "uwf-llm", "ended its turn with `content_filter`"),
            ("length", "uwf-llm", "reached its limit of output tokens (`length`)"),
            ("content_filter", "uwf-react", "ended its turn with `content_filter`"),
            ("", "uwf-react", "did not say how its turn ended"),
        ] {
            let server = LlmServer::start([stream(&submit_call(), &ended_with(word)).repeated()]);
            let (home, thread) = reviewer(&server);
            let config = std::fs::read_to_string(home.root().join("config.yaml")).unwrap();
            home.config(&config.replace("uwf-llm", agent));
            let ran = home.uwf(&["thread", "step", &thread]);
            assert_eq!(ran.code, Some(40), "{word} {agent}: {}", ran.transcript());
            assert!(ran.stderr.contains(reason), "{}", ran.stderr);
        }
    }

    #[test]
    fn calls_of_a_cut_reply_are_made_again() {
        let cut = stream(&submit_call(), &ended_with("length"));
        let server = LlmServer::start([cut, ScriptedAnswer::call("submit", json!({ "approved": false }))]);
        let (home, thread) = reviewer(&server);
        let config = std::fs::read_to_string(home.root().join("config.yaml")).unwrap();
        home.config(&config.replace("uwf-llm", "uwf-react"));
        home.json(&["thread", "step", &thread]);
        assert_eq!(home.last_step(&thread)["output"], json!({ "approved": false }));
        let told = server.requests()[1].body["messages"].to_string();
        assert!(told.contains("not run: your answer was cut off at its token limit"), "{told}");
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
            let server = LlmServer::start([ScriptedAnswer::text(reply).repeated()]);
            let (home, thread) = reviewer(&server);
            let ran = home.uwf(&["thread", "step", &thread]);
            assert_eq!(ran.code, Some(41), "{reply}: {}", ran.transcript());
        }
        let server = LlmServer::start([ScriptedAnswer::text("{\"approved\": false}")]);
        let (home, thread) = reviewer(&server);
        home.json(&["thread", "step", &thread]);
        assert_eq!(home.last_step(&thread)["output"], json!({ "approved": false }));
    }
}
