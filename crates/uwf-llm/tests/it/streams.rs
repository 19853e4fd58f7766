//! Replies in pieces, whole and broken.

use std::time::Duration;

use serde_json::json;
use uwf_llm::{
    ChatReply, Error, FinishReason, LlmClient, LlmTimeoutKind, LlmTimeouts, LlmWireFormat, ReplyDelta, Result,
    RetryLimits,
};
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};

use crate::setting::{WIRES, endpoint, streamed, talk, timeouts};

/// Asks, and writes down every piece.
fn listen(client: &LlmClient) -> (Result<ChatReply>, Vec<String>) {
    let mut pieces = Vec::new();
    let reply = client.chat_with(&streamed("go"), &mut |delta| {
        pieces.push(match delta {
            ReplyDelta::Text(text) => format!("text {text}"),
            ReplyDelta::Reasoning(text) => format!("thought {text}"),
            ReplyDelta::Call { name, arguments } => format!("call {name} {arguments}"),
            ReplyDelta::Restart => "restart".to_owned(),
        });
    });
    (reply, pieces)
}

/// One try at a stream that is sent as it stands here.
fn raw(wire: LlmWireFormat, events: &str) -> Result<ChatReply> {
    let server = LlmServer::start([ScriptedAnswer::raw(200, "text/event-stream; charset=utf-8", events)]);
    LlmClient::new(endpoint(&server, wire), timeouts(), RetryLimits::never()).unwrap().chat(&streamed("go"))
}

#[test]
fn pieces_are_reported_in_order() {
    for wire in WIRES {
        let say = ScriptedAnswer::text("")
            .chunks(["Hel", "lo ", "wörld"])
            .thinking("hm")
            .and_call("submit", json!({ "a": 1 }));
        let (_server, client) = talk(wire, [say]);
        let (reply, pieces) = listen(&client);
        assert_eq!(reply.unwrap().text, "Hello wörld");
        let expected = [
            "thought h",
            "thought m",
            "text Hel",
            "text lo ",
            "text wörld",
            "call submit ",
            "call  {\"a",
            "call  \":1}",
        ];
        assert_eq!(pieces, expected, "{wire:?}");
    }
}

#[test]
fn a_cut_stream_carries_what_had_come() {
    // Enough events for the beginning and two pieces on either wire.
    for (wire, pieces) in WIRES.into_iter().zip([3, 5]) {
        let say = ScriptedAnswer::text("").chunks(["one ", "two ", "three"]).cut_after(pieces);
        let server = LlmServer::start([say]);
        let client = LlmClient::new(endpoint(&server, wire), timeouts(), RetryLimits::never()).unwrap();
        let (reply, _) = listen(&client);
        let error = reply.unwrap_err();
        assert!(matches!(error, Error::CutStream { .. }), "{error:?}");
        assert_eq!(error.partial(), "one two ", "{wire:?}");
    }
}

#[test]
fn partial_call_is_kept() {
    // Up to the first half of the arguments.
    for (wire, pieces) in WIRES.into_iter().zip([4, 7]) {
        let say =
            ScriptedAnswer::text("").chunks(["So."]).and_call("submit", json!({ "verdict": "good" })).cut_after(pieces);
        let server = LlmServer::start([say]);
        let client = LlmClient::new(endpoint(&server, wire), timeouts(), RetryLimits::never()).unwrap();
        let error = listen(&client).0.unwrap_err();
        assert_eq!(error.partial(), "So.\n\n{\"verdict", "{wire:?}");
    }
}

#[test]
fn cut_stream_is_retried_with_restart_notice() {
    for wire in WIRES {
        let cut = ScriptedAnswer::text("").chunks(["lost"]).cut_after(4);
        let (_server, client) = talk(wire, [cut, ScriptedAnswer::text("").chunks(["kept"])]);
        let (reply, pieces) = listen(&client);
        assert_eq!(reply.unwrap().text, "kept");
        assert_eq!(pieces.last().unwrap(), "text kept");
        assert_eq!(pieces.iter().filter(|piece| *piece == "restart").count(), 1, "{pieces:?}");
    }
}

#[test]
fn silence_between_pieces_is_idle_timeout_with_partial() {
    for (wire, pieces) in WIRES.into_iter().zip([3, 5]) {
        let server =
            LlmServer::start([ScriptedAnswer::text("").chunks(["one ", "two ", "three"]).stalling_after(pieces)]);
        let limits = LlmTimeouts { idle: Duration::from_millis(200), ..timeouts() };
        let client = LlmClient::new(endpoint(&server, wire), limits, RetryLimits::never()).unwrap();
        let error = listen(&client).0.unwrap_err();
        assert!(matches!(error, Error::Timeout { which: LlmTimeoutKind::Idle, .. }), "{error:?}");
        assert_eq!(error.partial(), "one two ", "{wire:?}");
    }
}

#[test]
fn endless_stream_is_ended_by_total_timeout() {
    for wire in WIRES {
        let endless = ScriptedAnswer::text("").chunks(["on "; 200]).pausing(Duration::from_millis(20));
        let server = LlmServer::start([endless]);
        let limits = LlmTimeouts { total: Duration::from_millis(400), ..timeouts() };
        let client = LlmClient::new(endpoint(&server, wire), limits, RetryLimits::default()).unwrap();
        let error = listen(&client).0.unwrap_err();
        assert!(matches!(error, Error::Timeout { which: LlmTimeoutKind::Total, .. }), "{error:?}");
        assert!(error.partial().starts_with("on on "), "{error:?}");
        assert_eq!(server.asked().len(), 1);
    }
}

#[test]
fn a_trickling_stream_is_read_to_its_end() {
    for wire in WIRES {
        let say = ScriptedAnswer::text("ein Märchen").trickling(3, Duration::from_micros(200));
        let (_server, client) = talk(wire, [say]);
        let (reply, _) = listen(&client);
        assert_eq!(reply.unwrap().text, "ein Märchen");
    }
}

#[test]
fn a_provider_that_cannot_stream_is_understood() {
    for wire in WIRES {
        let (_server, client) = talk(wire, [ScriptedAnswer::text("all at once").never_streamed()]);
        let (reply, pieces) = listen(&client);
        assert_eq!(reply.unwrap().text, "all at once");
        assert!(pieces.is_empty());
    }
}

#[test]
fn finish_reason_completes_stream_without_done_marker() {
    let events = ": ping\n\n\
        data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"fine\"}}]}\r\n\r\n\
        data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3}}";
    let reply = raw(LlmWireFormat::OpenAi, events).unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("fine", FinishReason::Stop));
    assert_eq!(reply.usage.unwrap().input, Some(3));
    assert_eq!(reply.usage.unwrap().output, None);
}

#[test]
fn unindexed_and_repeated_id_calls_are_assembled() {
    let whole = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"\",\"type\":\"function\",\
        \"extra_content\":{\"sign\":\"abc\"},\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}]}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"go\",\"arguments\":\"{}\"}}]},\
        \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let reply = raw(LlmWireFormat::OpenAi, whole).unwrap();
    let calls: Vec<_> = reply.tool_calls.iter().map(|call| (call.id.as_str(), call.name.as_str())).collect();
    assert_eq!(calls, [("call_0", "look"), ("call_1", "go")]);
    assert_eq!(reply.tool_calls[0].extra["extra_content"], json!({ "sign": "abc" }));
    assert_eq!(reply.finish, FinishReason::ToolCalls);
    let repeating = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":\
        {\"name\":\"look\",\"arguments\":\"{\\\"a\\\":\"}}]}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":\
        {\"name\":\"look\",\"arguments\":\"1}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n";
    let reply = raw(LlmWireFormat::OpenAi, repeating).unwrap();
    assert_eq!(reply.tool_calls.len(), 1);
    assert_eq!((reply.tool_calls[0].name.as_str(), reply.tool_calls[0].arguments.as_str()), ("look", "{\"a\":1}"));
}

#[test]
fn a_failure_inside_a_stream_is_that_failure() {
    let openai = "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n\
        data: {\"error\":{\"code\":502,\"message\":\"upstream is gone\"}}\n\n";
    let error = raw(LlmWireFormat::OpenAi, openai).unwrap_err();
    assert!(matches!(&error, Error::CutStream { reason, .. } if reason == "upstream is gone"), "{error:?}");
    assert_eq!(error.partial(), "half");
    let anthropic = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let error = raw(LlmWireFormat::Anthropic, anthropic).unwrap_err();
    assert_eq!((error.status(), error.is_transient()), (Some(529), true));
}

#[test]
fn malformed_stream_is_reported_without_panic() {
    for wire in WIRES {
        for garbage in
            ["data: {\"choices\":[{\"del", "data: nonsense\n\n", "data: [1,2]\n\n", "", "\n\n\n", "plain text"]
        {
            let error = raw(wire, garbage).unwrap_err();
            assert!(
                matches!(error, Error::BadReply { .. } | Error::CutStream { .. }),
                "{wire:?} {garbage:?} {error:?}"
            );
        }
    }
}
