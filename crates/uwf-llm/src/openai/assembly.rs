//! Assembles the pieces of a streamed completion into the form of an unstreamed one.

use serde_json::{Map, Value, json};

use crate::assembly::{ReplyAssembly, parse};
use crate::delta::ReplyDelta;
use crate::endpoint::ModelEndpoint;
use crate::error::{Error, Result};
use crate::sse::ServerSentEvent;

/// Texts that are never split. Some providers repeat them in every piece, so they are set rather than appended.
const WHOLE: [&str; 6] = ["role", "id", "type", "name", "format", "signature"];

/// Most calls in one reply. A larger index is invalid and would only fill memory.
const MAX_CALLS: usize = 128;

/// A completion so far.
#[derive(Debug, Default)]
pub(crate) struct OpenAiAssembly {
    /// Everything outside `choices`.
    outer: Map<String, Value>,
    message: Map<String, Value>,
    /// Whether any piece had a choice.
    has_choice: bool,
    finish: Option<Value>,
    done: bool,
}

impl ReplyAssembly for OpenAiAssembly {
    fn push(
        &mut self,
        endpoint: &ModelEndpoint,
        event: &ServerSentEvent,
        on_delta: &mut dyn FnMut(ReplyDelta<'_>),
    ) -> Result<()> {
        if event.data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        if event.data.trim().is_empty() {
            return Ok(());
        }
        let Value::Object(mut fields) = parse(endpoint, event, "a piece")? else {
            return Err(Error::bad_reply(endpoint, "a piece is not an object", &event.data));
        };
        let choices = fields.remove("choices");
        self.outer.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
        let Some(choice) = choices.as_ref().and_then(|choices| choices.get(0)) else { return Ok(()) };
        self.has_choice = true;
        if let Some(Value::Object(delta)) = choice.get("delta") {
            emit_deltas(delta, on_delta);
            merge(&mut self.message, delta);
        }
        if let Some(finish) = choice.get("finish_reason").filter(|finish| !finish.is_null()) {
            self.finish = Some(finish.clone());
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn parts(&self) -> Vec<&str> {
        let text = self.message.get("content").and_then(Value::as_str);
        let calls = self.message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        text.into_iter().chain(calls.filter_map(|call| call.pointer("/function/arguments")?.as_str())).collect()
    }

    /// Not every provider sends `[DONE]`, so a finish reason is enough.
    fn finish(self: Box<Self>) -> Option<Value> {
        let finish = match (self.finish, self.done) {
            (Some(finish), _) => finish,
            (None, true) => Value::Null,
            (None, false) => return None,
        };
        let mut reply = self.outer;
        reply.insert("object".to_owned(), json!("chat.completion"));
        let choice = json!({ "index": 0, "message": self.message, "finish_reason": finish });
        let choices = if self.has_choice { vec![choice] } else { Vec::new() };
        reply.insert("choices".to_owned(), Value::from(choices));
        Some(Value::Object(reply))
    }
}

fn emit_deltas(delta: &Map<String, Value>, on_delta: &mut dyn FnMut(ReplyDelta<'_>)) {
    let text = |name: &str| delta.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(thought) = text("reasoning_content").or_else(|| text("reasoning")) {
        on_delta(ReplyDelta::Reasoning(thought));
    }
    if let Some(text) = text("content") {
        on_delta(ReplyDelta::Text(text));
    }
    for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        let part = |place: &str| call.pointer(place).and_then(Value::as_str).unwrap_or_default();
        on_delta(ReplyDelta::Call { name: part("/function/name"), arguments: part("/function/arguments") });
    }
}

/// Adds a piece: texts are appended, list items are matched by `index`, everything else is set.
fn merge(into: &mut Map<String, Value>, piece: &Map<String, Value>) {
    for (name, value) in piece {
        match (into.get_mut(name), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more)) if WHOLE.contains(&name.as_str()) => {
                if !more.is_empty() {
                    more.clone_into(text);
                }
            }
            (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
            (Some(Value::Object(object)), Value::Object(more)) => merge(object, more),
            (Some(Value::Array(items)), Value::Array(more)) => merge_items(items, more),
            (None, Value::Array(more)) => {
                let mut items = Vec::new();
                merge_items(&mut items, more);
                into.insert(name.clone(), Value::Array(items));
            }
            (_, value) => {
                into.insert(name.clone(), value.clone());
            }
        }
    }
}

fn merge_items(items: &mut Vec<Value>, more: &[Value]) {
    for piece in more {
        match (place(items, piece).and_then(|place| items.get_mut(place)), piece) {
            (Some(Value::Object(item)), Value::Object(piece)) => merge(item, piece),
            _ => items.push(piece.clone()),
        }
    }
}

/// Returns the index of the item that a piece continues; `None` if it starts a new item. Servers identify calls by `index`, `id` or both. Some
/// number every call 0, some send the id only once, and some send neither.
fn place(items: &[Value], piece: &Value) -> Option<usize> {
    let id = |item: &Value| item.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()).map(str::to_owned);
    let index = |item: &Value| item.get("index").and_then(Value::as_u64).filter(|index| *index < MAX_CALLS as u64);
    let begins = piece.pointer("/function/name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    let own = id(piece);
    if let Some(known) = own.as_ref().and_then(|own| items.iter().position(|item| id(item).as_ref() == Some(own))) {
        return Some(known);
    }
    if let Some(at) = index(piece) {
        let last = items.iter().rposition(|item| index(item) == Some(at))?;
        let is_another = begins && own.is_some() && items.get(last).is_some_and(|item| id(item).is_some());
        return (!is_another).then_some(last);
    }
    // Without an index (Gemini, some local servers) a piece with a name is a separate call.
    let goes_on = piece.get("function").is_some() && !begins;
    items.len().checked_sub(1).filter(|_| goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls of a reply with these pieces: id, name, arguments.
    fn calls(pieces: &[Value]) -> Vec<(String, String, String)> {
        let mut message = Map::new();
        for piece in pieces {
            let delta = json!({ "tool_calls": [piece] });
            merge(&mut message, delta.as_object().expect("an object"));
        }
        let text =
            |call: &Value, place: &str| call.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned();
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        calls
            .iter()
            .map(|call| (text(call, "/id"), text(call, "/function/name"), text(call, "/function/arguments")))
            .collect()
    }

    #[test]
    fn calls_are_separated_as_servers_send_them() {
        let two = [
            ("a".to_owned(), "read".to_owned(), "{\"p\":1}".to_owned()),
            ("b".to_owned(), "write".to_owned(), "{}".to_owned()),
        ];
        let piece = |index: Value, id: &str, name: &str, arguments: &str| json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } });
        for (server, pieces) in [
            (
                "an index each",
                vec![
                    piece(json!(0), "a", "read", "{\"p\""),
                    piece(json!(1), "b", "write", "{}"),
                    piece(json!(0), "", "", ":1}"),
                ],
            ),
            (
                "the id in each piece",
                vec![
                    piece(json!(0), "a", "read", "{\"p\""),
                    piece(json!(0), "a", "", ":1}"),
                    piece(json!(1), "b", "write", "{}"),
                ],
            ),
            (
                "every call is the first",
                vec![
                    piece(json!(0), "a", "read", "{\"p\""),
                    piece(json!(0), "", "", ":1}"),
                    piece(json!(0), "b", "write", "{}"),
                ],
            ),
            (
                "no index",
                vec![
                    piece(Value::Null, "a", "read", "{\"p\""),
                    piece(Value::Null, "", "", ":1}"),
                    piece(Value::Null, "b", "write", "{}"),
                ],
            ),
            (
                "no index, ids",
                vec![
                    piece(Value::Null, "a", "read", "{\"p\""),
                    piece(Value::Null, "b", "write", "{}"),
                    piece(Value::Null, "a", "", ":1}"),
                ],
            ),
            ("whole calls", vec![piece(json!(0), "a", "read", "{\"p\":1}"), piece(json!(0), "b", "write", "{}")]),
        ] {
            assert_eq!(calls(&pieces), two, "{server}");
        }
    }
}
