//! What an agent did, turn by turn, and the nodes that tell it.

use std::collections::{HashMap, HashSet};

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
    known: HashSet<Hash>,
    /// Texts of turns by their checksums: each turn's input repeats most of the one before.
    texts: HashMap<Hash, Said>,
}

/// A text of a turn.
struct Said {
    /// Before redaction.
    text: String,
    node: Hash,
    /// Its node, as long as no turn has it.
    unused: Option<Draft>,
}

impl Batch {
    /// Adds a node.
    pub fn add(&mut self, draft: Draft) -> Hash {
        let hash = draft.hash();
        if self.known.insert(hash) {
            self.drafts.push(draft);
        }
        hash
    }

    /// Adds a text.
    pub fn content(&mut self, text: String) -> Hash {
        self.add(Content { text }.draft())
    }

    /// Makes the node of a text that a turn will most likely have; with that turn it is added.
    pub fn expect(&mut self, text: &str, redactor: &Redactor) {
        self.said(text, redactor);
    }

    /// Adds a text without its secrets.
    fn redacted(&mut self, text: &str, redactor: &Redactor) -> Hash {
        let said = self.said(text, redactor);
        let (node, unused) = (said.node, said.unused.take());
        if let Some(draft) = unused {
            self.add(draft);
        }
        node
    }

    fn said(&mut self, text: &str, redactor: &Redactor) -> &mut Said {
        let new = || {
            let draft = Content { text: redactor.text(text) }.draft();
            Said { text: text.to_owned(), node: draft.hash(), unused: Some(draft) }
        };
        let said = self.texts.entry(json_cas::xxh64(text.as_bytes())).or_insert_with(new);
        // Of two texts with one checksum each takes the other's place.
        if said.text != text {
            *said = new();
        }
        said
    }

    /// Adds a turn with its texts and tool calls, secrets redacted; always by the same redactor.
    pub fn turn(&mut self, turn: &Turn, redactor: &Redactor) -> Hash {
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

    fn redactor(secret: &str) -> Redactor {
        Redactor::new([], &[("API_KEY".to_owned(), secret.to_owned())])
    }

    fn texts(batch: &Batch) -> Vec<&str> {
        batch.drafts.iter().filter_map(|draft| draft.payload()["text"].as_str()).collect()
    }

    #[test]
    fn what_was_expected_is_stored_with_the_turn_that_has_it_and_only_then() {
        let redactor = redactor("not-in-any-text");
        let mut batch = Batch::default();
        ["one", "two", "three"].iter().for_each(|text| batch.expect(text, &redactor));
        assert!(batch.drafts.is_empty());
        let turn = Turn { output: "two".to_owned(), ..Turn::asked(vec!["three".to_owned(), "four".to_owned()]) };
        let stored = batch.turn(&turn, &redactor);
        assert_eq!(texts(&batch), ["three", "four", "two"]);
        assert_eq!(batch.turn(&turn, &redactor), stored);
        assert_eq!(batch.drafts.len(), 4, "nothing twice");
        let mut unexpected = Batch::default();
        assert_eq!(unexpected.turn(&turn, &redactor), stored);
    }

    #[test]
    fn what_is_made_ready_is_redacted() {
        let redactor = redactor("sk-0123456789");
        let mut batch = Batch::default();
        batch.expect("the key sk-0123456789", &redactor);
        batch.turn(&Turn::asked(vec!["the key sk-0123456789".to_owned()]), &redactor);
        assert_eq!(texts(&batch), ["the key [redacted API_KEY]", ""]);
    }
}
