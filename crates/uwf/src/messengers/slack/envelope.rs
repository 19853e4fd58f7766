//! The texts that Slack sends through a socket.

use json_cas::NodeHash;
use serde_json::Value;
use uwf_engine::root::messages::{MessageName, QuestionName, ReceivedReply, ReplyContent};

use super::markup;
use crate::messengers::wording;

/// A text of Slack.
#[derive(Debug, PartialEq)]
pub(super) enum SocketEnvelope {
    /// The connection is ready.
    Hello,
    /// The connection will end.
    Disconnect,
    /// An event to acknowledge, and the reply in it.
    Event { id: String, reply: Option<Box<ReceivedReply>> },
}

impl SocketEnvelope {
    /// Parses a text; `None` if it has another form.
    pub(super) fn parse(text: &str, source: &str) -> Option<SocketEnvelope> {
        let envelope: Value = serde_json::from_str(text).ok()?;
        let payload = &envelope["payload"];
        let reply = match envelope["type"].as_str()? {
            "hello" => return Some(SocketEnvelope::Hello),
            "disconnect" => return Some(SocketEnvelope::Disconnect),
            "interactive" => button(payload),
            "events_api" => message(payload),
            _ => None,
        };
        let id = envelope["envelope_id"].as_str()?.to_owned();
        let of_source = |reply| ReceivedReply { source: source.to_owned(), ..reply };
        Some(SocketEnvelope::Event { id, reply: reply.map(of_source).map(Box::new) })
    }
}

/// The reply of a pressed button.
fn button(payload: &Value) -> Option<ReceivedReply> {
    if payload["type"] != "block_actions" {
        return None;
    }
    let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str);
    let value: Value = serde_json::from_str(text("/actions/0/value")?).ok()?;
    let head: NodeHash = value["head"].as_str()?.parse().ok()?;
    let option = usize::try_from(value["option"].as_u64()?).ok()?;
    let code = value["uwf"].as_str()?.to_owned();
    let user = text("/user/id")?;
    let ts = text("/container/message_ts").or_else(|| text("/message/ts"));
    let channel = text("/container/channel_id").or_else(|| text("/channel/id"));
    let message = channel.zip(ts).map(|(channel, ts)| MessageName { channel: channel.to_owned(), ts: ts.to_owned() });
    let id = format!("button {user} {} {}", ts.unwrap_or_default(), text("/actions/0/action_ts").unwrap_or_default());
    let name = text("/user/username").or_else(|| text("/user/name"));
    let question = QuestionName::Code { code, head: Some(head), message };
    Some(ReceivedReply { id, ..reply(user, name, question, ReplyContent::Option(option)) })
}

/// The reply in a message of a thread that a person wrote.
fn message(payload: &Value) -> Option<ReceivedReply> {
    let event = &payload["event"];
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    let is_of_person = event.get("bot_id").is_none() && event.get("subtype").is_none();
    if text("type") != Some("message") || !is_of_person {
        return None;
    }
    let (user, thread, ts) = (text("user")?, text("thread_ts")?, text("ts")?);
    let channel = text("channel")?.to_owned();
    let id = format!("message {channel} {ts}");
    let question = QuestionName::Message(MessageName { channel, ts: thread.to_owned() });
    let content = ReplyContent::Text(markup::typed(text("text").unwrap_or_default()));
    Some(ReceivedReply { id, ..reply(user, None, question, content) })
}

fn reply(user: &str, name: Option<&str>, question: QuestionName, content: ReplyContent) -> ReceivedReply {
    let user = wording::person(user);
    let by = match name.map(wording::person).filter(|name| !name.is_empty()) {
        Some(name) => format!("slack:{name} ({user})"),
        None => format!("slack:{user}"),
    };
    let (source, id) = (String::new(), String::new());
    ReceivedReply { source, id, by, user: Some(user), question, content, is_begun: false }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_texts_are_no_replies() {
        for text in ["", "null", "[]", "{}", "{\"type\": \"hi\"}", "{\"type\": 1}", "\u{0}"] {
            assert_eq!(SocketEnvelope::parse(text, "s"), None, "{text}");
        }
        let event = |event: Value| {
            let text = json!({ "type": "events_api", "envelope_id": "e", "payload": { "event": event } }).to_string();
            SocketEnvelope::parse(&text, "s")
        };
        let ignored = Some(SocketEnvelope::Event { id: "e".to_owned(), reply: None });
        let message = json!({ "type": "message", "user": "U1", "text": "a", "ts": "2", "channel": "C" });
        let with = |key: &str, value: &str| {
            let mut message = message.clone();
            message["thread_ts"] = "1".into();
            message[key] = value.into();
            message
        };
        assert_eq!(event(message.clone()), ignored, "outside of a thread");
        assert_eq!(event(with("bot_id", "B1")), ignored);
        assert_eq!(event(with("subtype", "message_changed")), ignored);
        assert_eq!(event(json!(null)), ignored);
        let Some(SocketEnvelope::Event { reply: Some(kept), .. }) = event(with("text", "a &amp; b")) else {
            panic!("a reply")
        };
        let reply = *kept;
        assert_eq!((reply.id.as_str(), reply.by.as_str()), ("message C 2", "slack:U1"));
        assert_eq!(reply.content, ReplyContent::Text("a & b".to_owned()));
    }

    #[test]
    fn name_of_a_user_stays_one_short_line() {
        let question = QuestionName::Message(MessageName { channel: "C".to_owned(), ts: "1".to_owned() });
        let hostile = format!("ada\nby root\u{1b}[2J{}", "x".repeat(500));
        let reply = reply("U1", Some(&hostile), question, ReplyContent::Option(0));
        assert!(!reply.by.contains(['\n', '\u{1b}']) && reply.by.len() < 100, "{}", reply.by);
    }
}
