//! An agent's answer.

use serde_json::Value;
use uwf_core::node::Tokens;
use uwf_engine::attempt::live_trace::Trace;

pub use uwf_engine::attempt::turns::{ToolCall, Turn};

/// An agent's answer, and data about how it was obtained. Unknown data is `None`, never a guess.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// The agent's own text, unchanged.
    pub raw: String,
    /// The value, if the agent gave one directly instead of in a text.
    pub value: Option<Value>,
    /// Its turns, oldest first; empty if the whole run was one exchange.
    pub turns: Vec<Turn>,
    /// Wall time, milliseconds.
    pub duration_ms: u64,
    /// Origin of the trace: `stdout`, `wire`, `session-file`, `acp`…
    pub source: String,
    /// The agent's own session id.
    pub session_id: Option<String>,
    /// Whether the session was continued from an earlier visit of the role.
    pub is_resumed: bool,
    /// Token counts of the whole run.
    pub tokens: Option<Tokens>,
}

impl Answer {
    /// An answer as text: Markdown with frontmatter.
    pub fn text(raw: impl Into<String>) -> Answer {
        Answer { raw: raw.into(), source: "stdout".to_owned(), ..Answer::default() }
    }

    /// This answer, with the turns and costs of an abandoned session added to the run.
    #[must_use]
    pub fn after(self, given_up: Trace) -> Answer {
        let total = self.tokens.map(|tokens| (tokens, self.turns.len()));
        let Trace { turns, total, .. } = Trace { turns: self.turns, session: None, total }.after(given_up);
        Answer { turns, tokens: total.map(|(tokens, _)| tokens), ..self }
    }

    /// An answer that is the role's output.
    pub fn value(value: Value) -> Answer {
        Answer { raw: format!("{value:#}"), value: Some(value), source: "submit".to_owned(), ..Answer::default() }
    }
}
