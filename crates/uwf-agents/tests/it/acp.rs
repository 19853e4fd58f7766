//! The pure parts of the ACP agent: lines, requests, answers and costs.

use agent_kit::json_rpc::JsonRpcMessage;
use proptest::prelude::*;
use serde_json::{Value, json};
use uwf_agents::acp::messages::{AcpFailure, AcpMessage, failure, read, request_number};
use uwf_agents::acp::permission::{PermissionDecision, PermissionPolicy, decide, what};
use uwf_agents::acp::preset::PRESETS;
use uwf_agents::acp::session_options::current_model;
use uwf_agents::acp::settings::AcpLaunch;
use uwf_agents::acp::transcript::{AcpTranscript, AcpUpdate, MAX_CALLS};
use uwf_agents::acp::usage::{AcpTokenCounts, dollars, only_model};
use uwf_agents::describe::describe;
use uwf_core::node::TokenCounts;

/// Cap no test comes near.
const PLENTY: usize = 1 << 20;

fn chunk(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
}

fn chunk_of(message: &str, text: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "messageId": message, "content": { "type": "text", "text": text } })
}

fn thought(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": text } })
}

fn call(id: &str, fields: Value) -> Value {
    let mut update = json!({ "sessionUpdate": "tool_call", "toolCallId": id });
    if let (Value::Object(update), Value::Object(fields)) = (&mut update, fields) {
        update.extend(fields);
    }
    update
}

/// A transcript of these updates, one each 10 ms.
fn told(updates: &[Value]) -> AcpTranscript {
    let mut transcript = AcpTranscript::new(PLENTY);
    for (at, update) in updates.iter().enumerate() {
        transcript.update(update, at as u64 * 10);
    }
    transcript
}

#[test]
fn lines_are_messages_or_noise() {
    let lines = [
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"a\":1}}",
        "{\"id\":\"4\",\"result\":null}",
        "{\"id\":5,\"error\":{\"code\":-32603,\"message\":\"Internal error\",\"data\":{\"details\":\"no key\"}}}",
        "{\"id\":5,\"error\":{\"message\":\"no\",\"data\":\"no\"},\"result\":1}",
        "{\"id\":\"x\",\"result\":1,\"error\":null}",
        "{\"id\":\"a-1\",\"method\":\"fs/read_text_file\",\"params\":{\"path\":\"/a\"}}",
        " {\"method\":\"session/update\"} \r",
        "{\"progress\": 3}",
        "[1]",
        "warn: slow network",
    ];
    let messages: Vec<AcpMessage> = lines.iter().filter_map(|line| read(line.as_bytes())).collect();
    let reply = |id: Value, result| AcpMessage::Rpc(JsonRpcMessage::Reply { id, result });
    let errors = [
        json!({ "code": -32603, "message": "Internal error", "data": { "details": "no key" } }),
        json!({ "message": "no", "data": "no" }),
    ];
    assert_eq!(
        messages,
        [
            reply(json!(3), Ok(json!({ "a": 1 }))),
            reply(json!("4"), Ok(Value::Null)),
            reply(json!(5), Err(errors[0].clone())),
            reply(json!(5), Err(errors[1].clone())),
            reply(json!("x"), Ok(json!(1))),
            AcpMessage::Rpc(JsonRpcMessage::Request {
                id: json!("a-1"),
                method: "fs/read_text_file".to_owned(),
                params: json!({ "path": "/a" })
            }),
            AcpMessage::Rpc(JsonRpcMessage::Notification { method: "session/update".to_owned(), params: Value::Null }),
            AcpMessage::Noise("{\"progress\": 3}".to_owned()),
            AcpMessage::Noise("[1]".to_owned()),
            AcpMessage::Noise("warn: slow network".to_owned()),
        ]
    );
    assert_eq!([json!(3), json!("4"), json!("x")].map(|id| request_number(&id)), [Some(3), Some(4), None]);
    let failed = |code, message: &str| AcpFailure { code, message: message.to_owned() };
    assert_eq!(errors.map(|error| failure(&error)), [failed(-32603, "Internal error (no key)"), failed(0, "no")]);
    assert_eq!(read(b" \t"), None);
    let Some(AcpMessage::Noise(shown)) = read("é".repeat(1000).as_bytes()) else { panic!("it is noise") };
    assert_eq!(shown.chars().count(), 201, "a long line is shown in part");
}

#[test]
fn answer_is_last_text_after_last_tool_call() {
    let one = told(&[
        chunk("I "),
        chunk("look."),
        call("1", json!({ "title": "ls" })),
        chunk("It "),
        thought("hm"),
        chunk("is done."),
    ]);
    assert_eq!(one.answer(), "It is done.");
    let none_since = told(&[chunk("The answer."), call("1", json!({ "title": "submit" })), chunk(" \n")]);
    assert_eq!(none_since.answer(), "The answer.", "nothing was said since");
    let messages = told(&[chunk("Warning: x"), chunk_of("m1", "first"), chunk_of("m2", "sec"), chunk("ond")]);
    assert_eq!(messages.answer(), "second");
    let updates_only = told(&[
        call("1", json!({ "title": "ls" })),
        chunk("a"),
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed" }),
        chunk("b"),
    ]);
    assert_eq!(updates_only.answer(), "ab", "news of an old call is no new call");
    assert_eq!(told(&[]).answer(), "");
}

#[test]
fn warning_before_answer_keeps_header_readable() {
    let warned = told(&[chunk("Model metadata not found."), chunk("---\nn: 2\n"), chunk("---\nTwo."), chunk("---")]);
    assert_eq!(warned.answer(), "Model metadata not found.\n---\nn: 2\n---\nTwo.---");
    assert_eq!(told(&[chunk("Note.\n"), chunk("---\nn: 2\n---\n")]).answer(), "Note.\n---\nn: 2\n---\n");
}

#[test]
fn mode_update_text_is_not_part_of_answer() {
    let mut transcript = AcpTranscript::new(PLENTY);
    let seen = transcript.update(&chunk("[MODE_UPDATE] yolo\n"), 0);
    assert_eq!(seen, Some(AcpUpdate::Event("[MODE_UPDATE] yolo".to_owned())));
    transcript.update(&chunk("[MODE_UPDATE] is what it printed\nfirst"), 0);
    assert_eq!(transcript.answer(), "[MODE_UPDATE] is what it printed\nfirst");
}

#[test]
fn tool_call_merges_all_of_its_updates() {
    let transcript = told(&[
        call("1", json!({ "title": "", "kind": "execute", "rawInput": {} })),
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "title": "`cargo test`", "rawInput": { "command": "cargo test" } }),
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed", "rawOutput": "ok",
                "content": [{ "type": "content", "content": { "type": "text", "text": "shown" } }] }),
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed", "rawOutput": null }),
        call(
            "2",
            json!({ "title": "Edit a.rs", "status": "completed", "_meta": { "claudeCode": { "toolName": "Edit" } },
            "content": [{ "type": "diff", "path": "a.rs", "oldText": "a", "newText": "b" }, { "type": "terminal", "terminalId": "t" }] }),
        ),
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "3", "status": "failed", "rawOutput": { "error": "no" } }),
        call(
            "4",
            json!({ "title": "submit", "rawOutput": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }),
        ),
        call(
            "5",
            json!({ "title": "submit", "rawOutput": { "content": [{ "type": "text", "text": "a" }], "isError": false } }),
        ),
        call("6", json!({ "title": "list", "rawOutput": [{ "type": "file", "text": "a" }] })),
    ]);
    let calls: Vec<(String, String, String, u64)> = transcript
        .tool_calls()
        .into_iter()
        .map(|call| (call.name, call.arguments, call.result, call.duration_ms))
        .collect();
    let expected = [
        ("`cargo test`", "{\"command\":\"cargo test\"}", "ok", 20),
        ("Edit", "", "--- a.rs\na\n+++\nb\n[terminal]", 0),
        ("3", "", "{\"error\":\"no\"}", 0),
        ("submit", "", "a\nb", 0),
        ("submit", "", "a", 0),
        ("list", "", "[{\"type\":\"file\",\"text\":\"a\"}]", 0),
    ]
    .map(|(name, arguments, result, ms)| (name.to_owned(), arguments.to_owned(), result.to_owned(), ms));
    assert_eq!(calls, expected);
}

#[test]
fn transcript_is_limited_and_reports_cuts() {
    let mut transcript = AcpTranscript::new(10);
    transcript.update(&chunk("12345"), 0);
    transcript.update(&call("1", json!({ "title": "ls" })), 0);
    transcript.update(&chunk("67890ab"), 0);
    assert_eq!(transcript.said(), "[… 5 bytes cut …]\n\n[tool call: ls]\n\n67890ab", "the oldest goes first");
    transcript.update(&chunk("cdefé"), 0);
    assert_eq!(transcript.answer(), "67890abcde", "one text alone is kept from its beginning");

    let mut transcript = AcpTranscript::new(PLENTY);
    for number in 0..MAX_CALLS + 2 {
        transcript.update(&call(&number.to_string(), json!({ "title": "ls" })), 0);
    }
    assert_eq!(transcript.tool_calls().len(), MAX_CALLS);
    assert!(transcript.said().ends_with("[… 2 more tool calls …]"));

    let long =
        told(&[call("1", json!({ "title": "cat", "status": "completed", "rawOutput": "x".repeat((1 << 20) + 7) }))]);
    assert!(long.tool_calls()[0].result.ends_with("x\n[… 7 bytes cut …]"));
}

fn asked(title: &str, kinds: &[&str]) -> Value {
    let options: Vec<Value> =
        kinds.iter().map(|kind| json!({ "optionId": format!("id-{kind}"), "kind": kind })).collect();
    json!({ "toolCall": { "toolCallId": "1", "title": title, "kind": "execute" }, "options": options })
}

#[test]
fn policy_picks_least_committing_option_of_its_kind() {
    let all = ["allow_always", "reject_always", "allow_once", "reject_once"];
    let pick = |option: &str| PermissionDecision::Pick(option.to_owned());
    assert_eq!(decide(PermissionPolicy::Allow, &asked("ls", &all)), pick("id-allow_once"));
    assert_eq!(decide(PermissionPolicy::Deny, &asked("ls", &all)), pick("id-reject_once"));
    assert_eq!(
        decide(PermissionPolicy::Ask, &asked("ls\n-l", &all)),
        PermissionDecision::Ask("ls -l (execute)".to_owned())
    );
    assert_eq!(decide(PermissionPolicy::Deny, &asked("ls", &["allow_once"])), PermissionDecision::NoneFits);
    assert_eq!(decide(PermissionPolicy::Allow, &json!({})), PermissionDecision::NoneFits);
    let of_kind = |title: &str, kind: Value| {
        let mut asked = asked(title, &all);
        asked["toolCall"]["kind"] = kind;
        asked
    };
    for own in ["mcp__uwf__submit", "uwf_context", "mcp_uwf_cas_get", "submit (uwf MCP Server)"] {
        assert_eq!(decide(PermissionPolicy::Ask, &of_kind(own, json!("other"))), pick("id-allow_once"), "{own}");
        assert_eq!(
            decide(PermissionPolicy::Deny, &of_kind(own, json!("execute"))),
            pick("id-reject_once"),
            "{own} as a command"
        );
    }
    let mut codex = of_kind("Approve MCP tool call", Value::Null);
    let approval = json!({ "_meta": { "codex_approval_kind": "mcp_tool_call" } });
    codex["toolCall"]["rawInput"] = json!({ "server_name": "uwf", "request": approval });
    assert_eq!(decide(PermissionPolicy::Deny, &codex), pick("id-allow_once"));
    codex["toolCall"]["rawInput"]["server_name"] = json!("another");
    assert_eq!(decide(PermissionPolicy::Deny, &codex), pick("id-reject_once"));
    for other in ["sh -c mcp__uwf__submit", "mcp__uwf__delete", "uwf_submit; rm -rf /"] {
        assert_eq!(decide(PermissionPolicy::Deny, &of_kind(other, json!("other"))), pick("id-reject_once"), "{other}");
    }
    assert!(what(&asked(&"long ".repeat(500), &[])).chars().count() <= 301);
}

#[test]
fn token_counts_include_their_parts() {
    let tokens = |usage: Value| AcpTokenCounts::read(&json!({ "usage": usage })).map(AcpTokenCounts::tokens);
    let expected = |input, output, cached, reasoning| {
        Some(TokenCounts { input: Some(input), output: Some(output), cached, reasoning, ..TokenCounts::default() })
    };
    assert_eq!(tokens(json!({ "inputTokens": 100, "outputTokens": 20 })), expected(100, 20, None, None));
    let within = json!({ "inputTokens": 100, "outputTokens": 20, "totalTokens": 120, "cachedReadTokens": 80, "thoughtTokens": 5 });
    assert_eq!(tokens(within), expected(100, 20, Some(80), Some(5)));
    let apart = json!({ "inputTokens": 10, "outputTokens": 20, "totalTokens": 137, "cachedReadTokens": 80, "cachedWriteTokens": 20, "thoughtTokens": 7 });
    let written = expected(110, 27, Some(80), Some(7)).map(|tokens| TokenCounts { cache_write: Some(20), ..tokens });
    assert_eq!(tokens(apart), written);
    let no_total = json!({ "inputTokens": 10, "outputTokens": 20, "cachedReadTokens": 80 });
    assert_eq!(tokens(no_total), expected(90, 20, Some(80), None), "more than all can be no part");
    assert_eq!(tokens(json!({ "totalTokens": 9 })), None);

    let at = |input: u64, cached: u64| {
        AcpTokenCounts::read(
            &json!({ "usage": { "inputTokens": input, "outputTokens": 1, "cachedReadTokens": cached } }),
        )
        .unwrap_or_default()
    };
    let since = at(30, 8).since(at(10, 3)).map(AcpTokenCounts::tokens);
    assert_eq!(since, expected(20, 0, Some(5), None));
    assert_eq!(at(5, 0).since(at(10, 0)), None, "counts that shrink are not those of the session");

    let cost = |amount: Value, currency: &str| dollars(&json!({ "cost": { "amount": amount, "currency": currency } }));
    assert_eq!(cost(json!(0.5), "USD"), Some(0.5));
    assert_eq!((cost(json!(0.5), "EUR"), cost(json!(-1), "USD"), dollars(&json!({}))), (None, None, None));
}

#[test]
fn gemini_counts_a_prompt_and_names_its_model() {
    let counted = |models: Value| json!({ "_meta": { "quota": { "token_count": { "input_tokens": 203, "output_tokens": 14 }, "model_usage": models } } });
    let reply = counted(json!([{ "model": "gemini-2.5-flash" }]));
    let tokens = AcpTokenCounts::read(&reply).map(AcpTokenCounts::tokens);
    assert_eq!(tokens.map(|tokens| (tokens.input, tokens.output)), Some((Some(203), Some(14))));
    assert_eq!(only_model(&reply), Some("gemini-2.5-flash"));
    assert_eq!(only_model(&counted(json!([{ "model": "a" }, { "model": "b" }]))), None);
}

#[test]
fn current_model_is_the_one_of_the_session() {
    let option =
        |value: &str| json!({ "configOptions": [{ "id": "model", "category": "model", "currentValue": value }] });
    assert_eq!(current_model(&option("zen/big")), Some("zen/big"));
    assert_eq!(current_model(&json!({ "models": { "currentModelId": "big" } })), Some("big"));
    assert_eq!([current_model(&option("default")), current_model(&json!({}))], [None, None]);
}

#[test]
fn presets_match_schema_and_still_ask_unless_allowed() {
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    let schema = describe("acp").unwrap().config_schema;
    assert_eq!(schema["properties"]["preset"]["enum"], json!(names));
    for preset in &PRESETS {
        let careful = AcpLaunch::preset(preset, PermissionPolicy::Ask);
        assert_eq!(careful.mode, None, "{}", preset.name);
        assert_eq!(careful.env.len(), preset.env.len(), "{}", preset.name);
        assert_eq!(
            AcpLaunch::preset(preset, PermissionPolicy::Allow).env.len(),
            preset.env.len() + preset.unattended_env.len()
        );
    }
}

/// Updates as an agent could send them, sense or not.
fn update_like() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec![
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "usage_update",
        "x",
    ]);
    let content = prop_oneof![
        "[a-zé \n]{0,12}".prop_map(|text| json!({ "type": "text", "text": text })),
        Just(json!([{ "type": "diff", "path": 1 }])),
        Just(json!({ "type": "image" })),
        Just(json!(7)),
    ];
    let message = prop_oneof![Just(Value::Null), Just(json!("m1")), Just(json!("m2"))];
    (kind, content, message, 0..4u8).prop_map(|(kind, content, message, id)| {
        json!({ "sessionUpdate": kind, "content": content, "messageId": message, "toolCallId": id.to_string(),
                "entries": [{ "content": "x" }], "rawInput": content, "status": "completed" })
    })
}

proptest! {
    #[test]
    fn no_line_makes_it_panic(bytes: Vec<u8>) {
        let _ = read(&bytes);
    }

    #[test]
    fn no_json_makes_it_panic(updates in prop::collection::vec(update_like(), 0..40), cap in 0usize..60) {
        let mut transcript = AcpTranscript::new(cap);
        for (at, update) in updates.iter().enumerate() {
            let line = json!({ "method": "session/update", "params": { "update": update } }).to_string();
            let is_notification = matches!(read(line.as_bytes()), Some(AcpMessage::Rpc(JsonRpcMessage::Notification { .. })));
            prop_assert!(is_notification);
            transcript.update(update, at as u64);
        }
        prop_assert!(transcript.answer().len() <= cap);
        let _ = (transcript.said(), transcript.partial(), transcript.tool_calls());
    }

    #[test]
    fn chunking_does_not_change_answer(text in "\\PC{0,200}", cuts: Vec<prop::sample::Index>) {
        prop_assume!(!text.contains("[MODE_UPDATE]") && !text.contains("---") && !text.trim().is_empty());
        let mut places: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        places.extend([0, text.len()]);
        places.sort_unstable();
        let chunks: Vec<Value> = places.windows(2).map(|pair| chunk(&text[pair[0]..pair[1]])).collect();
        let transcript = told(&chunks);
        prop_assert_eq!(transcript.answer(), text.as_str());
    }
}
