//! What an ACP agent says: any line is a message or noise, what is kept of it has its limits, and every request can be
//! answered.

use agent_kit::json_rpc::{JsonRpcMessage, MessageLine, MessageLines, reply};
use serde_json::Value;
use uwf_agents::acp::messages::{AcpMessage, failure, read, unsupported};
use uwf_agents::acp::permission::{PermissionDecision, PermissionPolicy, decide};
use uwf_agents::acp::transcript::AcpTranscript;
use uwf_agents::acp::usage::AcpTokenCounts;
use uwf_testing::FuzzTarget;

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "ACP messages",
    samples: &[
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true}}}\n{\"id\":2,\"result\":{\"sessionId\":\"s\",\"modes\":null}}\n{\"id\":3,\"result\":{\"stopReason\":\"end_turn\",\"usage\":{\"inputTokens\":10,\"outputTokens\":2,\"totalTokens\":12,\"cachedReadTokens\":3}}}\n",
        b"{\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"---\\nn: 1\\n---\\nD\\u00f6ne\"},\"messageId\":\"m1\"}}}\n{\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"agent_thought_chunk\",\"content\":{\"type\":\"text\",\"text\":\"hm\"}}}}\n",
        b"{\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"1\",\"title\":\"ls\",\"kind\":\"execute\",\"rawInput\":{\"command\":\"ls\"},\"status\":\"pending\"}}}\n{\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"1\",\"status\":\"completed\",\"content\":[{\"type\":\"diff\",\"path\":\"a\",\"oldText\":null,\"newText\":\"b\"},{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":\"x\"}}],\"rawOutput\":[{\"type\":\"text\",\"text\":\"a\"}]}}}\n",
        b"{\"id\":\"p\",\"method\":\"session/request_permission\",\"params\":{\"toolCall\":{\"toolCallId\":\"1\",\"title\":\"mcp__uwf__submit\",\"kind\":\"other\",\"rawInput\":{\"server_name\":\"uwf\"}},\"options\":[{\"optionId\":\"y\",\"kind\":\"allow_once\"},{\"optionId\":\"n\",\"kind\":\"reject_once\"}]}}\nwarn: slow\n",
        b"{\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"plan\",\"entries\":[{\"content\":\"one\",\"status\":\"completed\"}]}}}\n{\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":5,\"cost\":{\"amount\":0.5,\"currency\":\"USD\"}}}}\n{\"id\":4,\"error\":{\"code\":-32603,\"message\":\"Internal error\",\"data\":{\"details\":\"no key\"}}}",
    ],
    words: &[
        "\"id\"", "\"method\"", "\"params\"", "\"update\"", "\"sessionUpdate\"", "\"content\"", "\"text\"", "\"type\"", "\"toolCallId\"",
        "\"status\"", "\"rawInput\"", "\"rawOutput\"", "\"agent_message_chunk\"", "\"tool_call\"", "\"tool_call_update\"", "\"plan\"",
        "\"usage_update\"", "\"messageId\"", "\"m2\"", "[MODE_UPDATE]", "---", "\\n", "\\u0000", "\\ud800", "null", "1e999",
        "18446744073709551615", "{", "}", "[", "]", ",", ":", "\n", "\r", "é", "\"error\"", "\"result\"", "\"data\"",
    ],
    check,
};

/// Bytes of a line that are read here.
const LINE_CAP: usize = 8000;

/// Bytes of what is said that are kept, in turn: none, little, and all.
const TEXT_CAPS: [usize; 3] = [0, 7, 1 << 20];

fn check(bytes: &[u8]) {
    let mut lines = MessageLines::new(LINE_CAP);
    let mut found = lines.push(bytes);
    found.extend(lines.finish());
    let mut transcripts = TEXT_CAPS.map(AcpTranscript::new);
    let mut at_ms = 0;
    for line in found {
        let MessageLine::Whole(line) = line else { continue };
        let Some(message) = read(&line) else {
            assert!(line.trim_ascii().is_empty());
            continue;
        };
        match message {
            AcpMessage::Rpc(JsonRpcMessage::Notification { method, params }) => {
                at_ms += 10;
                for transcript in &mut transcripts {
                    let update = params.get("update").filter(|_| method == "session/update");
                    let _ = update.and_then(|update| transcript.update(update, at_ms));
                }
            }
            AcpMessage::Rpc(JsonRpcMessage::Request { id, method, params }) => answer(&id, &method, &params),
            AcpMessage::Rpc(JsonRpcMessage::Reply { result: Ok(result), .. }) => {
                let counts = AcpTokenCounts::read(&result);
                let _ = counts.map(|counts| (counts.tokens(), counts.since(AcpTokenCounts::default())));
            }
            AcpMessage::Rpc(JsonRpcMessage::Reply { result: Err(error), .. }) => {
                assert!(failure(&error).message.len() <= 2 * line.len() + 40);
            }
            AcpMessage::Noise(shown) => assert!(shown.chars().count() <= 201),
        }
    }
    for (transcript, cap) in transcripts.iter().zip(TEXT_CAPS) {
        assert!(transcript.answer().len() <= cap);
        let _ = transcript.said();
        let size = transcript.tool_calls().iter().map(|call| call.arguments.len() + call.result.len()).sum::<usize>();
        // Written again as JSON, a control character becomes six bytes.
        assert!(size <= 8 * bytes.len() + 1000 && transcript.partial().len() <= 30 * bytes.len() + 1000);
    }
}

/// Whatever is asked has an answer that is one line, with the id as it came.
fn answer(id: &Value, method: &str, params: &Value) {
    let mut answers = vec![unsupported(id, method)];
    for policy in [PermissionPolicy::Allow, PermissionPolicy::Deny, PermissionPolicy::Ask] {
        let decision = decide(policy, params);
        if let PermissionDecision::Pick(picked) = &decision {
            let offered = params["options"].as_array().expect("options were offered");
            assert!(offered.iter().any(|option| option["optionId"] == picked.as_str()), "{picked}");
        }
        answers.push(reply(id, decision.outcome()));
    }
    for answer in answers {
        assert_eq!(&answer["id"], id);
        assert!(!answer.to_string().contains('\n'));
    }
}
