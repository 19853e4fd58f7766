//! An agent's answer.

use serde_json::Value;
use uwf_core::node::TokenCounts;
use uwf_engine::attempt::live_trace::LiveTrace;

pub use uwf_engine::attempt::turns::{AgentToolCall, AgentTurn};

/// An agent's answer, and data about how it was obtained. Unknown data is `None`, never a guess.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentAnswer {
    /// The agent's own text, unchanged.
    pub raw: String,
    /// The value, if the agent gave one directly instead of in a text.
    pub value: Option<Value>,
    /// Whether uwf made the value, from an exit code or from accepted outputs. Then the text says nothing about it: a test run may print
    /// `1 failed`, try again and pass.
    pub is_made_by_uwf: bool,
    /// Its turns, oldest first; empty if the whole run was one exchange.
    pub turns: Vec<AgentTurn>,
    /// Wall time, milliseconds.
    pub duration_ms: u64,
    /// Origin of the trace: `stdout`, `wire`, `session-file`, `acp`…
    pub source: String,
    /// The agent's own session id.
    pub session_id: Option<String>,
    /// The model that the agent's program reported.
    pub model: Option<String>,
    /// Whether the session was continued from an earlier visit of the role.
    pub is_resumed: bool,
    /// Token counts of the whole run.
    pub tokens: Option<TokenCounts>,
    /// The person who gave it; `None` for an agent's own answer.
    pub by: Option<String>,
}

impl AgentAnswer {
    /// An answer as text: Markdown with frontmatter.
    pub fn text(raw: impl Into<String>) -> AgentAnswer {
        AgentAnswer { raw: raw.into(), source: "stdout".to_owned(), ..AgentAnswer::default() }
    }

    /// This answer, with the turns and costs of an abandoned session added to the run.
    #[must_use]
    pub fn after(self, given_up: LiveTrace) -> AgentAnswer {
        let total = self.tokens.map(|tokens| (tokens, self.turns.len()));
        let own = LiveTrace { turns: self.turns, session: None, model: self.model, total };
        let LiveTrace { turns, model, total, .. } = own.after(given_up);
        AgentAnswer { turns, model, tokens: total.map(|(tokens, _)| tokens), ..self }
    }

    /// An answer whose value uwf made, from an exit code or from accepted outputs.
    pub fn made_by_uwf(value: Value) -> AgentAnswer {
        AgentAnswer { is_made_by_uwf: true, ..AgentAnswer::value(value) }
    }

    /// An answer that is the role's output.
    pub fn value(value: Value) -> AgentAnswer {
        AgentAnswer {
            raw: format!("{value:#}"),
            value: Some(value),
            source: "submit".to_owned(),
            ..AgentAnswer::default()
        }
    }
}
