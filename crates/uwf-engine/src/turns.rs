//! What an agent did, turn by turn, and the nodes that tell it.

use json_cas::{Draft, Hash};
use serde::{Deserialize, Serialize};
use uwf_core::node::{Content, Payload, ReactToolCall, ReactTurn, Tokens};
use uwf_core::prompt::Prompt;

use crate::environment::Redactor;

/// One exchange.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Texts that together were the input, in order; each is stored once.
    pub input: Vec<String>,
    /// What came back.
    pub output: String,
    /// Tool calls it made.
    pub tool_calls: Vec<ToolCall>,
    /// Token counts.
    pub tokens: Option<Tokens>,
    /// Milliseconds from input to output.
    pub latency_ms: u64,
}

impl Turn {
    /// An exchange of which only the input is known yet.
    pub fn asked(input: Vec<String>) -> Turn {
        Turn { input, output: String::new(), tool_calls: Vec::new(), tokens: None, latency_ms: 0 }
    }

    /// The exchange of a prompt for a text, when nothing more is known of it.
    pub fn of(prompt: &Prompt, output: &str, latency_ms: u64) -> Turn {
        let input = prompt.parts.iter().map(|part| part.text.clone()).collect();
        Turn { output: output.to_owned(), latency_ms, ..Turn::asked(input) }
    }
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Tool.
    pub name: String,
    /// Arguments as the model wrote them.
    pub arguments: String,
    /// What the tool answered.
    pub result: String,
    /// Milliseconds.
    pub duration_ms: u64,
}

/// Nodes to be stored together, each once.
#[derive(Default)]
pub struct Batch {
    /// The nodes; those below another come before it.
    pub drafts: Vec<Draft>,
}

impl Batch {
    /// Adds a node.
    pub fn add(&mut self, draft: Draft) -> Hash {
        let hash = draft.hash();
        if !self.drafts.iter().any(|known| known.hash() == hash) {
            self.drafts.push(draft);
        }
        hash
    }

    /// Adds a text.
    pub fn content(&mut self, text: &str) -> Hash {
        self.add(Content { text: text.to_owned() }.draft())
    }

    /// Adds a turn with its texts and tool calls, secrets redacted.
    pub fn turn(&mut self, turn: &Turn, redactor: &Redactor) -> Hash {
        let input = turn.input.iter().map(|text| self.content(&redactor.text(text))).collect();
        let output = self.content(&redactor.text(&turn.output));
        let tool_calls = turn
            .tool_calls
            .iter()
            .map(|call| {
                let arguments = self.content(&redactor.text(&call.arguments));
                let result = self.content(&redactor.text(&call.result));
                let call = ReactToolCall { name: call.name.clone(), arguments, result, duration_ms: call.duration_ms };
                self.add(call.draft())
            })
            .collect();
        let turn = ReactTurn { input, output, tool_calls, tokens: turn.tokens.clone(), latency_ms: turn.latency_ms };
        self.add(turn.draft())
    }
}
