//! Assembles the events of a streamed message into the form of an unstreamed one.

use serde_json::{Map, Value, json};

use crate::assembly::{ReplyAssembly, parse};
use crate::delta::ReplyDelta;
use crate::endpoint::ModelEndpoint;
use crate::error::Result;
use crate::sse::ServerSentEvent;

/// A message so far.
#[derive(Debug, Default)]
pub(crate) struct AnthropicAssembly {
    message: Map<String, Value>,
    blocks: Vec<AnthropicBlock>,
    /// All text blocks so far, as the partial text in errors.
    text: String,
    done: bool,
}

/// A block of content, with the JSON of its input so far.
#[derive(Debug)]
struct AnthropicBlock {
    index: u64,
    fields: Map<String, Value>,
    input: String,
}

impl ReplyAssembly for AnthropicAssembly {
    fn push(
        &mut self,
        endpoint: &ModelEndpoint,
        event: &ServerSentEvent,
        on_delta: &mut dyn FnMut(ReplyDelta<'_>),
    ) -> Result<()> {
        let data = parse(endpoint, event, "an event")?;
        match data.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => {
                if let Some(Value::Object(message)) = data.get("message") {
                    self.message.clone_from(message);
                }
            }
            "content_block_start" => self.start_block(&data, on_delta),
            "content_block_delta" => self.add(&data, on_delta),
            "message_delta" => self.change(&data),
            "message_stop" => self.done = true,
            // `content_block_stop`, `ping`, and future events.
            _ => {}
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn parts(&self) -> Vec<&str> {
        let calls = self.blocks.iter().map(|block| block.input.as_str());
        std::iter::once(self.text.as_str()).chain(calls).collect()
    }

    fn finish(self: Box<Self>) -> Option<Value> {
        if !self.done {
            return None;
        }
        let mut message = self.message;
        message.insert("content".to_owned(), self.blocks.into_iter().map(AnthropicBlock::whole).collect());
        Some(Value::Object(message))
    }
}

impl AnthropicAssembly {
    fn start_block(&mut self, data: &Value, on_delta: &mut dyn FnMut(ReplyDelta<'_>)) {
        let Some(Value::Object(fields)) = data.get("content_block") else { return };
        if fields.get("type").and_then(Value::as_str) == Some("tool_use") {
            let name = fields.get("name").and_then(Value::as_str).unwrap_or_default();
            on_delta(ReplyDelta::Call { name, arguments: "" });
        }
        let index = data.get("index").and_then(Value::as_u64).unwrap_or(self.blocks.len() as u64);
        self.blocks.push(AnthropicBlock { index, fields: fields.clone(), input: String::new() });
    }

    fn add(&mut self, data: &Value, on_delta: &mut dyn FnMut(ReplyDelta<'_>)) {
        let index = data.get("index").and_then(Value::as_u64);
        let Some(block) = self.blocks.iter_mut().rev().find(|block| index.is_none_or(|index| block.index == index))
        else {
            return;
        };
        let text = |name: &str| data.pointer(&format!("/delta/{name}")).and_then(Value::as_str);
        if let Some(more) = text("text") {
            on_delta(ReplyDelta::Text(more));
            self.text.push_str(more);
            block.append("text", more);
        } else if let Some(more) = text("partial_json") {
            on_delta(ReplyDelta::Call { name: "", arguments: more });
            block.input.push_str(more);
        } else if let Some(more) = text("thinking") {
            on_delta(ReplyDelta::Reasoning(more));
            block.append("thinking", more);
        } else if let Some(signature) = text("signature") {
            block.append("signature", signature);
        }
    }

    /// Applies the end of the message: its stop reason, and the final token counts in addition to those at its start.
    fn change(&mut self, data: &Value) {
        if let Some(Value::Object(delta)) = data.get("delta") {
            self.message.extend(delta.clone());
        }
        let Some(Value::Object(counts)) = data.get("usage") else { return };
        let usage = self.message.entry("usage").or_insert_with(|| json!({}));
        if let Value::Object(usage) = usage {
            usage.extend(
                counts.iter().filter(|(_, count)| !count.is_null()).map(|(name, count)| (name.clone(), count.clone())),
            );
        }
    }
}

impl AnthropicBlock {
    fn append(&mut self, name: &str, more: &str) {
        match self.fields.get_mut(name) {
            Some(Value::String(text)) => text.push_str(more),
            _ => {
                self.fields.insert(name.to_owned(), json!(more));
            }
        }
    }

    fn whole(mut self) -> Value {
        if !self.input.is_empty() {
            // JSON that can't be read unchanged stays a string, so that the reader of the call sees it.
            let input = yaml_tree::json_value(&self.input).unwrap_or(Value::String(self.input));
            self.fields.insert("input".to_owned(), input);
        }
        Value::Object(self.fields)
    }
}
