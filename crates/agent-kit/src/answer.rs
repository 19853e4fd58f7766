//! What an agent hands in.

use serde_json::Value;
use uwf_core::node::Tokens;
use uwf_engine::attempt::live_trace::Trace;

pub use uwf_engine::attempt::turns::{ToolCall, Turn};

/// An agent's answer with what is known about how it came to be. What is not known stays `None`, never a guess.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// The agent's own text, kept as it is.
    pub raw: String,
    /// The value itself, when the agent gave one instead of a text to read it from.
    pub value: Option<Value>,
    /// Its turns, oldest first; empty when the whole run was one exchange.
    pub turns: Vec<Turn>,
    /// Wall time, milliseconds.
    pub duration_ms: u64,
    /// Where the trace comes from: `stdout`, `wire`, `session-file`, `acp`…
    pub source: String,
    /// The agent's own session id.
    pub session_id: Option<String>,
    /// Whether that session is the one of an earlier visit of the role.
    pub is_resumed: bool,
    /// Token counts of the whole run.
    pub tokens: Option<Tokens>,
}

impl Answer {
    /// An answer that is a text: frontmatter markdown.
    pub fn text(raw: impl Into<String>) -> Answer {
        Answer { raw: raw.into(), source: "stdout".to_owned(), ..Answer::default() }
    }

    /// This answer after a session that the agent gave up: what that did and cost is part of the run.
    #[must_use]
    pub fn after(self, given_up: Trace) -> Answer {
        let total = self.tokens.map(|tokens| (tokens, self.turns.len()));
        let Trace { turns, total, .. } = Trace { turns: self.turns, session: None, total }.after(given_up);
        Answer { turns, tokens: total.map(|(tokens, _)| tokens), ..self }
    }

    /// An answer that is the role's output itself.
    pub fn value(value: Value) -> Answer {
        Answer { raw: format!("{value:#}"), value: Some(value), source: "submit".to_owned(), ..Answer::default() }
    }
}
