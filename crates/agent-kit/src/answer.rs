//! What an agent hands in.

use serde_json::Value;
use uwf_core::node::Tokens;
use uwf_core::prompt::Prompt;

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
    /// Token counts of the whole run.
    pub tokens: Option<Tokens>,
}

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
#[derive(Debug, Clone, PartialEq, Eq)]
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

impl Answer {
    /// An answer that is a text: frontmatter markdown.
    pub fn text(raw: impl Into<String>) -> Answer {
        Answer { raw: raw.into(), source: "stdout".to_owned(), ..Answer::default() }
    }

    /// An answer that is the role's output itself.
    pub fn value(value: Value) -> Answer {
        Answer { raw: format!("{value:#}"), value: Some(value), source: "submit".to_owned(), ..Answer::default() }
    }
}
