//! One tool call of an agent, assembled from all updates about it.

use std::borrow::Cow;

use agent_kit::answer::AgentToolCall;
use serde_json::{Value, json};
use uwf_core::activity;
use uwf_core::text::without_end;

/// Bytes kept of a call's arguments, and of its result.
pub(super) const MAX_CALL_BYTES: usize = 1 << 20;

/// A tool call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct AcpToolCall {
    /// The agent's id of the call.
    pub(super) id: String,
    tool: Option<String>,
    title: Option<String>,
    kind: Option<String>,
    status: String,
    input: Option<String>,
    output: Option<String>,
    content: Option<String>,
    /// Whether its request for permission was denied.
    is_denied: bool,
    begun_ms: u64,
    ended_ms: Option<u64>,
}

impl AcpToolCall {
    /// A call that was first reported at this time.
    pub(super) fn new(id: &str, at_ms: u64) -> AcpToolCall {
        AcpToolCall { id: id.to_owned(), status: "pending".to_owned(), begun_ms: at_ms, ..AcpToolCall::default() }
    }

    /// Applies an update. Fields that it lacks keep their values.
    pub(super) fn update(&mut self, update: &Value, at_ms: u64) {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        self.tool = text(update.pointer("/_meta/claudeCode/toolName")).or_else(|| self.tool.take());
        self.title = text(update.get("title")).or_else(|| self.title.take());
        self.kind = text(update.get("kind")).or_else(|| self.kind.take());
        self.input = raw(update.get("rawInput")).or_else(|| self.input.take());
        self.output = result(update.get("rawOutput")).or_else(|| self.output.take());
        self.content = contents(update.get("content")).or_else(|| self.content.take());
        if let Some(status) = text(update.get("status")) {
            self.status = status;
        }
        if matches!(self.status.as_str(), "completed" | "failed") && self.ended_ms.is_none() {
            self.ended_ms = Some(at_ms);
        }
    }

    /// Marks the call as denied.
    pub(super) fn deny(&mut self) {
        self.is_denied = true;
    }

    /// The tool's name if the agent reports it, otherwise the title of the call.
    pub(super) fn name(&self) -> &str {
        let names = [&self.tool, &self.title, &self.kind];
        names.into_iter().flatten().find(|name| !name.trim().is_empty()).unwrap_or(&self.id)
    }

    /// The command that is the title of a call without tool and arguments: this is all that gemini reports of a command.
    fn title_command(&self) -> Option<&str> {
        let is_command = self.kind.as_deref() == Some("execute") && self.tool.is_none() && self.input.is_none();
        self.title.as_deref().filter(|title| is_command && !title.trim().is_empty())
    }

    /// `pending`, `in_progress`, `completed`, `failed`.
    pub(super) fn status(&self) -> &str {
        &self.status
    }

    /// The call for the trace. Its time runs from the first to the last update; 0 if all came at once.
    pub(super) fn record(&self) -> AgentToolCall {
        let (name, arguments) = match self.title_command() {
            Some(command) => (activity::SHELL, command),
            None => (self.name(), self.input.as_deref().unwrap_or_default()),
        };
        AgentToolCall {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            result: self.result().into_owned(),
            duration_ms: self.ended_ms.map_or(0, |ended| ended.saturating_sub(self.begun_ms)),
        }
    }

    /// The call in full, as text.
    pub(super) fn as_text(&self) -> String {
        let input = self.input.as_ref().map(|input| format!(" {input}")).unwrap_or_default();
        let result = self.result();
        let result = if result.is_empty() { String::new() } else { format!("\n{result}") };
        format!("[tool call: {}, {}]{input}{result}", self.name(), self.status)
    }

    /// The tool's result, as the model got it where the agent reports that.
    fn result(&self) -> Cow<'_, str> {
        let said = self.output.as_deref().or(self.content.as_deref()).unwrap_or_default();
        if self.is_denied { activity::denied_result(said).into() } else { said.into() }
    }
}

/// A raw value: text as it is, anything else as JSON.
fn raw(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(cut(text)),
        value => Some(cut(&value.to_string())),
    }
}

/// A tool's result. The result of an MCP tool often comes as the content blocks of the server; then it is their text.
fn result(value: Option<&Value>) -> Option<String> {
    let blocks = match value? {
        Value::Object(map)
            if map.keys().all(|key| ["content", "isError", "structuredContent", "_meta"].contains(&key.as_str())) =>
        {
            map.get("content")
        }
        other => Some(other),
    };
    let texts = blocks.and_then(Value::as_array).filter(|blocks| !blocks.is_empty()).and_then(|blocks| {
        blocks
            .iter()
            .map(|block| {
                block.get("text").and_then(Value::as_str).filter(|_| block.get("type") == Some(&json!("text")))
            })
            .collect::<Option<Vec<&str>>>()
    });
    texts.map_or_else(|| raw(value), |texts| Some(cut(&texts.join("\n"))))
}

/// The texts and file differences that a call shows to people.
fn contents(value: Option<&Value>) -> Option<String> {
    let items = value?.as_array()?;
    let texts: Vec<String> = items
        .iter()
        .filter_map(|item| match item.get("type").and_then(Value::as_str)? {
            "content" => content_text(item.get("content")?),
            "diff" => {
                let part = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
                Some(format!("--- {}\n{}\n+++\n{}", part("path"), part("oldText"), part("newText")))
            }
            other => Some(format!("[{other}]")),
        })
        .collect();
    (!texts.is_empty()).then(|| cut(&texts.join("\n")))
}

fn cut(text: &str) -> String {
    without_end(text, MAX_CALL_BYTES).into_owned()
}

/// Text of a content block. A block without text is named by its type.
pub(super) fn content_text(content: &Value) -> Option<String> {
    let kind = content.get("type").and_then(Value::as_str)?;
    Some(match (kind, content.get("text").and_then(Value::as_str)) {
        ("text", Some(text)) => text.to_owned(),
        ("resource_link", _) => content.get("uri").and_then(Value::as_str).map(|uri| format!("[{uri}]"))?,
        (other, _) => format!("[{other}]"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(update: &Value) -> (String, String) {
        let mut call = AcpToolCall::new("t1", 0);
        call.update(update, 0);
        let record = call.record();
        (record.name, record.arguments)
    }

    #[test]
    fn title_is_command_where_nothing_else_is_reported() {
        let shell = |command: &str| (activity::SHELL.to_owned(), command.to_owned());
        assert_eq!(recorded(&json!({ "title": "cargo test", "kind": "execute" })), shell("cargo test"));
        let with_input = json!({ "title": "Run tests", "kind": "execute", "rawInput": { "command": "cargo test" } });
        assert_eq!(recorded(&with_input), ("Run tests".to_owned(), r#"{"command":"cargo test"}"#.to_owned()));
        assert_eq!(recorded(&json!({ "title": "a.rs", "kind": "read" })), ("a.rs".to_owned(), String::new()));
    }
}
