//! Importers of traces: what other programs write about their own runs, as turns and tool calls.
//!
//! Every importer is a pure function from text to [`Trace`]. They are tolerant, because formats change with every
//! version of every agent: a line that is not understood is counted and left out. Nothing is guessed: what a format
//! does not tell (tokens of a turn, say) stays absent. `docs/reference/trace-format.md` has the formats.

mod claude;
mod codex;
mod cursor;
mod gemini;
mod hermes;
mod json;
mod jsonl;
mod opencode;
mod timestamp;
mod turns;

use agent_kit::Turn;
use serde::Deserialize;
use serde_json::Value;
use uwf_core::node::Tokens;

/// Bytes of a trace file that are read. The largest session files of a day's work are some ten MB.
pub const MAX_TRACE_BYTES: u64 = 64 << 20;

/// Turns that are taken from a trace; those after it are counted and left out. Each becomes a few files.
pub const MAX_TURNS: usize = 5_000;

/// Tool calls that are taken from one turn.
pub const MAX_CALLS_PER_TURN: usize = 1_000;

/// Bytes kept of one text: the middle of a longer one is cut out, and the cut is said.
pub const MAX_TEXT: usize = 1 << 20;

/// Lines that are looked at to tell a format.
const LINES_TO_TELL: usize = 50;

/// A format that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The documented format of uwf itself.
    Jsonl,
    /// `hermes sessions export`, or a session file of hermes.
    Hermes,
    /// `codex exec --json`, or a rollout file of codex.
    Codex,
    /// `claude -p --output-format stream-json`, or a session file of Claude Code.
    Claude,
    /// `cursor-agent -p --output-format stream-json`.
    Cursor,
    /// `opencode run --format json`, or `opencode export`.
    Opencode,
    /// `gemini --output-format stream-json`.
    Gemini,
}

impl Format {
    /// All formats, in the order of the documentation.
    pub const ALL: [Format; 7] = [
        Format::Jsonl,
        Format::Hermes,
        Format::Codex,
        Format::Claude,
        Format::Cursor,
        Format::Opencode,
        Format::Gemini,
    ];

    /// The word for it in options and configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Jsonl => "jsonl",
            Format::Hermes => "hermes",
            Format::Codex => "codex",
            Format::Claude => "claude",
            Format::Cursor => "cursor",
            Format::Opencode => "opencode",
            Format::Gemini => "gemini",
        }
    }

    /// The format a word stands for.
    pub fn parse(word: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.as_str() == word)
    }

    /// Tells the format from the text, by the first lines that belong to exactly one; `None` when none does.
    pub fn of(text: &str) -> Option<Format> {
        let told: Vec<Value> = json::objects(text).0.into_iter().take(LINES_TO_TELL).collect();
        // Cursor's events are Claude's but for the tool calls, so its own are looked for first.
        let order = [
            Format::Cursor,
            Format::Jsonl,
            Format::Codex,
            Format::Opencode,
            Format::Gemini,
            Format::Claude,
            Format::Hermes,
        ];
        order.into_iter().find(|format| told.iter().any(|event| format.is_event(event)))
    }

    /// Whether an object can only be of this format.
    fn is_event(self, event: &Value) -> bool {
        match self {
            Format::Jsonl => jsonl::is_event(event),
            Format::Hermes => hermes::is_session(event),
            Format::Codex => codex::is_event(event),
            Format::Claude => claude::is_event(event),
            Format::Cursor => cursor::is_event(event),
            Format::Opencode => opencode::is_event(event),
            Format::Gemini => gemini::is_event(event),
        }
    }

    /// Reads a text in this format.
    pub fn read(self, text: &str) -> Trace {
        let (objects, unread) = json::objects(text);
        let trace = match self {
            Format::Jsonl => jsonl::read(&objects),
            Format::Hermes => hermes::read(&objects),
            Format::Codex => codex::read(&objects),
            Format::Claude => claude::read(&objects),
            Format::Cursor => cursor::read(&objects),
            Format::Opencode => opencode::read(&objects),
            Format::Gemini => gemini::read(&objects),
        };
        Trace { unread: trace.unread + unread, ..trace }
    }
}

/// What a trace tells.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// Turns, oldest first.
    pub turns: Vec<Turn>,
    /// What the agent said at the end, when it ended by saying something.
    pub answer: Option<String>,
    /// Token counts of the whole session.
    pub tokens: Option<Tokens>,
    /// The agent's own session id.
    pub session_id: Option<String>,
    /// Wall time of the session, milliseconds.
    pub duration_ms: Option<u64>,
    /// Why the agent failed, in its own words.
    pub error: Option<String>,
    /// Where such a trace comes from: `stdout`, `session-file`, `export`…
    pub source: String,
    /// Lines that were not understood.
    pub unread: usize,
    /// Turns and tool calls beyond the limits.
    pub left_out: usize,
}

impl Trace {
    /// Puts the parts of an input in the place of its text: they are stored already and shared with other prompts, the
    /// same text in one piece would be stored again. A trace that does not tell what the first turn was told, which was
    /// this input, gets it too.
    #[must_use]
    pub fn with_input(mut self, parts: &[String]) -> Trace {
        let whole = parts.concat();
        let mut is_there = false;
        for turn in &mut self.turns {
            if let Some(at) = turn.input.iter().position(|text| text.trim() == whole.trim()) {
                turn.input.splice(at..=at, parts.iter().cloned());
                is_there = true;
            }
        }
        if let Some(first) = self.turns.first_mut().filter(|turn| !is_there && turn.input.is_empty()) {
            first.input.extend(parts.iter().cloned());
        }
        self
    }

    /// What was left out, in words; `None` when nothing was.
    pub fn gaps(&self) -> Option<String> {
        let lines = (self.unread > 0).then(|| format!("{} lines were not understood", self.unread));
        let parts = (self.left_out > 0).then(|| format!("{} turns or tool calls are over the limit", self.left_out));
        match (lines, parts) {
            (None, None) => None,
            (lines, parts) => Some([lines, parts].into_iter().flatten().collect::<Vec<_>>().join(", ")),
        }
    }
}
