//! An agent's turns, and their nodes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use json_cas::{NodeDraft, NodeHash};
use serde::{Deserialize, Serialize};
use uwf_core::node::{ContentNode, ReactToolCall, ReactTurn, TokenCounts, TypedPayload};
use uwf_core::prompt::AgentPrompt;

use crate::attempt::redactor::SecretRedactor;

/// One exchange.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentTurn {
    /// The texts that form the input, in order; each is stored once. The turns of a conversation share earlier texts: a
    /// copy in each turn would grow with the square of their number.
    pub input: Vec<Arc<str>>,
    /// The model's output.
    pub output: String,
    /// Tool calls it made.
    pub tool_calls: Vec<AgentToolCall>,
    /// Token counts.
    pub tokens: Option<TokenCounts>,
    /// Milliseconds from input to output.
    pub latency_ms: u64,
}

impl AgentTurn {
    /// An exchange whose output is not known yet.
    pub fn asked<T: Into<Arc<str>>>(input: impl IntoIterator<Item = T>) -> AgentTurn {
        let input = input.into_iter().map(Into::into).collect();
        AgentTurn { input, output: String::new(), tool_calls: Vec::new(), tokens: None, latency_ms: 0 }
    }

    /// The exchange of a prompt for a text, when nothing more is known.
    pub fn from_prompt(prompt: &AgentPrompt, output: &str, latency_ms: u64) -> AgentTurn {
        AgentTurn { output: output.to_owned(), latency_ms, ..AgentTurn::asked(prompt.texts()) }
    }
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentToolCall {
    /// Tool.
    pub name: String,
    /// Arguments as the model wrote them.
    pub arguments: String,
    /// The tool's answer.
    pub result: String,
    /// Milliseconds.
    pub duration_ms: u64,
}

/// Nodes to store together, without duplicates.
#[derive(Default)]
pub struct NodeBatch {
    /// The nodes; each comes after the nodes that it references.
    pub drafts: Vec<NodeDraft>,
    known: HashSet<NodeHash>,
    /// Nodes of the added texts, by the text before redaction: each turn's input repeats most of the previous input.
    texts: HashMap<String, NodeHash>,
}

impl NodeBatch {
    /// Adds a node.
    pub fn add(&mut self, draft: NodeDraft) -> NodeHash {
        let hash = draft.hash();
        if self.known.insert(hash) {
            self.drafts.push(draft);
        }
        hash
    }

    /// Adds a text.
    pub fn content(&mut self, text: String) -> NodeHash {
        self.add(ContentNode { text }.draft())
    }

    /// Adds a redacted text.
    fn redacted(&mut self, text: &str, redactor: &SecretRedactor) -> NodeHash {
        if let Some(node) = self.texts.get(text) {
            return *node;
        }
        let node = self.content(redactor.text(text));
        self.texts.insert(text.to_owned(), node);
        node
    }

    /// Adds a turn with its texts and tool calls, redacted. Always pass the same redactor.
    pub fn turn(&mut self, turn: &AgentTurn, redactor: &SecretRedactor) -> NodeHash {
        let input = turn.input.iter().map(|text| self.redacted(text, redactor)).collect();
        let output = self.redacted(&turn.output, redactor);
        let tool_calls = turn
            .tool_calls
            .iter()
            .map(|call| {
                let arguments = self.redacted(&call.arguments, redactor);
                let result = self.redacted(&call.result, redactor);
                let call = ReactToolCall { name: call.name.clone(), arguments, result, duration_ms: call.duration_ms };
                self.add(call.draft())
            })
            .collect();
        let turn = ReactTurn { input, output, tool_calls, tokens: turn.tokens.clone(), latency_ms: turn.latency_ms };
        self.add(turn.draft())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(secret: &str) -> SecretRedactor {
        SecretRedactor::new([], &[("API_KEY".to_owned(), secret.to_owned())])
    }

    fn texts(batch: &NodeBatch) -> Vec<&str> {
        batch.drafts.iter().filter_map(|draft| draft.payload()["text"].as_str()).collect()
    }

    #[test]
    fn text_shared_by_turns_is_stored_once_redacted() {
        let redactor = redactor("sk-0123456789");
        let mut batch = NodeBatch::default();
        let turn = AgentTurn { output: "two".to_owned(), ..AgentTurn::asked(["the key sk-0123456789", "two"]) };
        let stored = batch.turn(&turn, &redactor);
        assert_eq!(texts(&batch), ["the key [redacted API_KEY]", "two"]);
        assert_eq!(batch.turn(&turn, &redactor), stored);
        assert_eq!(batch.drafts.len(), 3, "nothing twice");
    }
}
