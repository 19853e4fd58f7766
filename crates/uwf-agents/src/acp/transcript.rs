//! Collects the reports of an agent during a prompt: texts, thoughts, tool calls, its plan. Pure.
//!
//! The protocol does not report single model calls. A prompt is therefore one turn with all texts and tool calls, and nothing is guessed.

use std::collections::VecDeque;

use agent_kit::answer::AgentToolCall;
use serde_json::{Value, json};

use super::call::{AcpToolCall, content_text};
use super::usage;

/// Tool calls kept of a prompt. The longest real runs have some hundreds.
pub const MAX_CALLS: usize = 10_000;

/// Prefix of a chunk by which one agent reports its mode as text.
const MODE_CHUNK: &str = "[MODE_UPDATE]";

/// A piece of the transcript, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AcpTranscriptBlock {
    /// Part of the answer, or talk before it.
    Text { message: Option<String>, text: String, chunks: usize },
    /// A thought of the model.
    Thought(String),
    /// A call, by its number.
    Call(usize),
}

impl AcpTranscriptBlock {
    fn size(&self) -> usize {
        match self {
            AcpTranscriptBlock::Text { text, .. } | AcpTranscriptBlock::Thought(text) => text.len(),
            AcpTranscriptBlock::Call(_) => 0,
        }
    }
}

/// An update as a watcher sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcpUpdate {
    /// More of a text.
    Text(String),
    /// More of a thought.
    Thought(String),
    /// An event, in one line.
    Event(String),
}

/// All reports during one prompt.
#[derive(Debug, Default)]
pub struct AcpTranscript {
    /// Bytes kept of texts. Over it, the oldest texts go first.
    cap: usize,
    size: usize,
    dropped: usize,
    blocks: VecDeque<AcpTranscriptBlock>,
    calls: Vec<AcpToolCall>,
    calls_dropped: usize,
    plan: String,
    dollars: Option<f64>,
}

impl AcpTranscript {
    /// An empty transcript that keeps `cap` bytes of texts.
    pub fn new(cap: usize) -> AcpTranscript {
        AcpTranscript { cap, ..AcpTranscript::default() }
    }

    /// Applies the `update` of a `session/update` that came `at_ms` milliseconds after the prompt.
    pub fn update(&mut self, update: &Value, at_ms: u64) -> Option<AcpUpdate> {
        let text_of = |key: &str| update.get(key).and_then(Value::as_str);
        match text_of("sessionUpdate").unwrap_or_default() {
            "agent_message_chunk" => self.text(update),
            "agent_thought_chunk" => {
                let text = content_text(update.get("content")?)?;
                self.thought(&text);
                Some(AcpUpdate::Thought(text))
            }
            "tool_call" | "tool_call_update" => self.call(update, at_ms),
            "plan" => {
                self.plan = plan_text(update);
                Some(AcpUpdate::Event(format!("plan: {}", self.plan.replace('\n', "; "))))
            }
            "usage_update" => {
                self.dollars = usage::dollars(update).or(self.dollars);
                let used = update.get("used").and_then(Value::as_u64);
                used.map(|used| AcpUpdate::Event(format!("context: {used} tokens")))
            }
            "current_mode_update" => {
                Some(AcpUpdate::Event(format!("mode: {}", text_of("currentModeId").unwrap_or("?"))))
            }
            // An echo of our prompt.
            "user_message_chunk" => None,
            other => Some(AcpUpdate::Event(format!("told: {other}"))),
        }
    }

    /// Marks a tool call as denied, by the `toolCall` of its request for permission. Some agents report the call only there.
    pub fn deny(&mut self, call: &Value, at_ms: u64) {
        let Some(id) = call.get("toolCallId").and_then(Value::as_str) else { return };
        // Such a call has no block: it must not separate texts that are one answer.
        if !self.calls.iter().any(|known| known.id == id) && self.calls.len() < MAX_CALLS {
            self.calls.push(AcpToolCall::new(id, at_ms));
        }
        if let Some(known) = self.calls.iter_mut().rfind(|known| known.id == id) {
            known.update(call, at_ms);
            known.deny();
        }
    }

    /// Adds a denied call that the agent did not report again, by its title.
    pub(super) fn deny_unreported(&mut self, title: &str, at_ms: u64) {
        let id = format!("denied {}", self.calls.len());
        self.deny(&json!({ "toolCallId": id, "title": title, "status": "failed" }), at_ms);
    }

    /// The answer: the last text after the last tool call, or the last text before it if none followed.
    pub fn answer(&self) -> &str {
        let texts = self.blocks.iter().rev().filter_map(|block| match block {
            AcpTranscriptBlock::Text { text, .. } => Some(text.as_str()),
            AcpTranscriptBlock::Thought(_) | AcpTranscriptBlock::Call(_) => None,
        });
        texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default()
    }

    /// All texts, in order, with marks where tools were called.
    pub fn said(&self) -> String {
        self.text_with(|call| format!("[tool call: {}]", call.name()))
    }

    /// The same with arguments and results of tools; a failed prompt leaves nothing else.
    pub fn partial(&self) -> String {
        self.text_with(AcpToolCall::as_text)
    }

    /// The tool calls, in order.
    pub fn tool_calls(&self) -> Vec<AgentToolCall> {
        self.calls.iter().map(AcpToolCall::record).collect()
    }

    /// Cost of the session so far in US dollars, if it was reported.
    pub fn dollars(&self) -> Option<f64> {
        self.dollars
    }

    /// Whether nothing was reported yet.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.plan.is_empty()
    }

    fn text(&mut self, update: &Value) -> Option<AcpUpdate> {
        let text = content_text(update.get("content")?)?;
        if text.trim_start().starts_with(MODE_CHUNK) && text.trim().lines().count() == 1 {
            return Some(AcpUpdate::Event(text.trim().to_owned()));
        }
        let message = update.get("messageId").and_then(Value::as_str);
        let mut bytes = text.len();
        match self.open_text() {
            Some(AcpTranscriptBlock::Text { message: known, text: open, chunks })
                if message.is_none() || known.as_deref() == message =>
            {
                // A warning before an answer comes as an ordinary chunk, without a line break.
                if *chunks == 1 && !open.ends_with('\n') && text.starts_with("---") {
                    open.push('\n');
                    bytes += 1;
                }
                open.push_str(&text);
                *chunks += 1;
            }
            _ => {
                let message = message.map(str::to_owned);
                self.blocks.push_back(AcpTranscriptBlock::Text { message, text: text.clone(), chunks: 1 });
            }
        }
        self.grown(bytes);
        Some(AcpUpdate::Text(text))
    }

    /// The last text, if no tool was called after it.
    fn open_text(&mut self) -> Option<&mut AcpTranscriptBlock> {
        let open = self.blocks.iter_mut().rev().find(|block| !matches!(block, AcpTranscriptBlock::Thought(_)))?;
        matches!(open, AcpTranscriptBlock::Text { .. }).then_some(open)
    }

    fn thought(&mut self, text: &str) {
        match self.blocks.back_mut() {
            Some(AcpTranscriptBlock::Thought(thought)) => thought.push_str(text),
            _ => self.blocks.push_back(AcpTranscriptBlock::Thought(text.to_owned())),
        }
        self.grown(text.len());
    }

    /// Keeps the newest texts within the cap. If one text alone exceeds it, its beginning is kept, where the header of an answer is.
    fn grown(&mut self, bytes: usize) {
        self.size += bytes;
        while self.size > self.cap && self.blocks.len() > 1 {
            let gone = self.blocks.pop_front().map_or(0, |block| block.size());
            self.size -= gone;
            self.dropped += gone;
        }
        if self.size > self.cap
            && let Some(AcpTranscriptBlock::Text { text, .. } | AcpTranscriptBlock::Thought(text)) =
                self.blocks.back_mut()
        {
            let kept = text.floor_char_boundary(self.cap);
            self.dropped += text.len() - kept;
            text.truncate(kept);
            self.size = kept;
        }
    }

    fn call(&mut self, update: &Value, at_ms: u64) -> Option<AcpUpdate> {
        let id = update.get("toolCallId").and_then(Value::as_str)?;
        let known = self.calls.iter().rposition(|call| call.id == id);
        let index = match known {
            Some(index) => index,
            None if self.calls.len() >= MAX_CALLS => {
                self.calls_dropped += 1;
                return Some(AcpUpdate::Event(format!("tool call {id} is not kept: there are {MAX_CALLS} before it")));
            }
            None => {
                self.calls.push(AcpToolCall::new(id, at_ms));
                self.blocks.push_back(AcpTranscriptBlock::Call(self.calls.len() - 1));
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[index];
        let was = call.status().to_owned();
        call.update(update, at_ms);
        let changed = known.is_none() || call.status() != was;
        Some(AcpUpdate::Event(match changed {
            true => format!("tool {}: {}", call.name(), call.status()),
            false => format!("tool {}: …", call.name()),
        }))
    }

    fn text_with(&self, call: impl Fn(&AcpToolCall) -> String) -> String {
        let mut parts = Vec::new();
        if self.dropped > 0 {
            parts.push(format!("[… {} bytes cut …]", self.dropped));
        }
        parts.extend(self.blocks.iter().filter_map(|block| match block {
            AcpTranscriptBlock::Text { text, .. } => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            AcpTranscriptBlock::Thought(thought) => Some(format!("<thought>\n{}\n</thought>", thought.trim())),
            AcpTranscriptBlock::Call(index) => self.calls.get(*index).map(&call),
        }));
        if self.calls_dropped > 0 {
            parts.push(format!("[… {} more tool calls …]", self.calls_dropped));
        }
        if !self.plan.is_empty() {
            parts.push(format!("<plan>\n{}\n</plan>", self.plan));
        }
        parts.join("\n\n")
    }
}

fn plan_text(update: &Value) -> String {
    let entries = update.get("entries").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let lines: Vec<String> = entries
        .iter()
        .filter_map(|entry| {
            let content = entry.get("content")?.as_str()?;
            let status = entry.get("status").and_then(Value::as_str).unwrap_or("pending");
            Some(format!("[{status}] {content}"))
        })
        .collect();
    lines.join("\n")
}
