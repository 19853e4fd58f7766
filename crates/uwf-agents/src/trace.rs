//! Importers of traces: they convert what other programs record of their runs into turns and tool calls.
//!
//! Every importer is a pure function from text to [`ParsedTrace`]. Importers are tolerant, because every version of every agent changes its
//! format: they count and skip lines they don't understand. Nothing is guessed: a value that a format does not report (tokens of a turn,
//! say) stays absent. `docs/reference/trace-format.md` describes the formats.

mod claude;
mod codex;
pub(crate) mod codex_session;
mod cursor;
mod ending;
pub(crate) mod follow;
mod gemini;
mod hermes;
mod json;
mod jsonl;
pub(crate) mod opencode;
mod timestamp;
mod turns;

use std::sync::Arc;

use agent_kit::AgentTurn;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use uwf_core::failure_class::FailureNotice;
use uwf_core::node::TokenCounts;
use uwf_engine::attempt::live_trace;

use turns::TraceTurnCollector;

pub use ending::TraceEnding;

/// Bytes read of a trace file. The largest session files of a day's work have some ten MB.
pub const MAX_TRACE_BYTES: u64 = 64 << 20;

/// Turns read of a trace; later ones are counted and skipped. Each becomes a few files.
pub const MAX_TURNS: usize = 5_000;

/// Tool calls read of one turn.
pub const MAX_CALLS_PER_TURN: usize = 1_000;

/// Bytes kept of one text. The middle of a longer text is cut out, with a note.
pub const MAX_TEXT: usize = 1 << 20;

/// Lines checked to recognise a format.
const LINES_LOOKED_AT: usize = 50;

/// A format that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TraceFormat {
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

/// Reads the events of a trace one by one, so that the turns of a running agent are shown as they grow.
pub(crate) trait TraceEventReader: Send {
    /// Reads the next event.
    fn event(&mut self, event: &Value);

    /// Number of turns so far.
    fn count(&self) -> usize;

    /// A turn as it is now. Only the newest one may still grow.
    fn turn(&self, number: usize) -> Option<AgentTurn>;

    /// The model so far; `None` if the format does not name it.
    fn model(&self) -> Option<&str> {
        None
    }

    /// The program's own id of its session so far; `None` if the reader does not know it yet.
    fn session_id(&self) -> Option<&str> {
        None
    }

    /// The trace, after the last event.
    fn into_trace(self) -> ParsedTrace
    where
        Self: Sized;
}

/// Reads events that need nothing but the turns and the trace before them.
struct PrintedEventReader {
    read_event: fn(&mut TraceTurnCollector, &mut ParsedTrace, &Value),
    turns: TraceTurnCollector,
    trace: ParsedTrace,
}

impl PrintedEventReader {
    fn new(read_event: fn(&mut TraceTurnCollector, &mut ParsedTrace, &Value)) -> PrintedEventReader {
        PrintedEventReader { read_event, turns: TraceTurnCollector::default(), trace: ParsedTrace::default() }
    }
}

impl TraceEventReader for PrintedEventReader {
    fn event(&mut self, event: &Value) {
        (self.read_event)(&mut self.turns, &mut self.trace, event);
    }

    fn count(&self) -> usize {
        self.turns.count()
    }

    fn turn(&self, number: usize) -> Option<AgentTurn> {
        self.turns.turn(number)
    }

    fn model(&self) -> Option<&str> {
        self.trace.model.as_deref()
    }

    fn session_id(&self) -> Option<&str> {
        self.trace.session_id.as_deref()
    }

    fn into_trace(self) -> ParsedTrace {
        self.turns.into_trace("stdout", self.trace)
    }
}

/// Reads all events of a trace.
fn read_events(mut reader: impl TraceEventReader, events: &[Value]) -> ParsedTrace {
    events.iter().for_each(|event| reader.event(event));
    reader.into_trace()
}

/// The importer of a format.
struct TraceImporter {
    /// Its name in options and configuration.
    word: &'static str,
    /// Whether an object can only belong to this format.
    is_event: fn(&Value) -> bool,
    read: fn(&[Value]) -> ParsedTrace,
    /// A reader of the events that a running program prints; `None` if the format is one object.
    events: Option<fn() -> Box<dyn TraceEventReader>>,
}

impl TraceFormat {
    /// All formats, in the order of the documentation.
    pub const ALL: [TraceFormat; 7] = [
        TraceFormat::Jsonl,
        TraceFormat::Hermes,
        TraceFormat::Codex,
        TraceFormat::Claude,
        TraceFormat::Cursor,
        TraceFormat::Opencode,
        TraceFormat::Gemini,
    ];

    fn importer(self) -> TraceImporter {
        match self {
            TraceFormat::Jsonl => TraceImporter {
                word: "jsonl",
                is_event: jsonl::is_event,
                read: |events| read_events(jsonl::JsonlEventReader::default(), events),
                events: Some(|| Box::new(jsonl::JsonlEventReader::default())),
            },
            TraceFormat::Hermes => {
                TraceImporter { word: "hermes", is_event: hermes::is_session, read: hermes::read, events: None }
            }
            TraceFormat::Codex => TraceImporter {
                word: "codex",
                is_event: codex::is_event,
                read: codex::read,
                events: Some(|| Box::new(PrintedEventReader::new(codex::read_event))),
            },
            TraceFormat::Claude => TraceImporter {
                word: "claude",
                is_event: claude::is_event,
                read: |events| read_events(claude::ClaudeEventReader::default(), events),
                events: Some(|| Box::new(claude::ClaudeEventReader::default())),
            },
            TraceFormat::Cursor => TraceImporter {
                word: "cursor",
                is_event: cursor::is_event,
                read: |events| read_events(PrintedEventReader::new(cursor::read_event), events),
                events: Some(|| Box::new(PrintedEventReader::new(cursor::read_event))),
            },
            TraceFormat::Opencode => TraceImporter {
                word: "opencode",
                is_event: opencode::is_event,
                read: opencode::read,
                events: Some(|| Box::new(PrintedEventReader::new(opencode::read_event))),
            },
            TraceFormat::Gemini => TraceImporter {
                word: "gemini",
                is_event: gemini::is_event,
                read: |events| read_events(PrintedEventReader::new(gemini::read_event), events),
                events: Some(|| Box::new(PrintedEventReader::new(gemini::read_event))),
            },
        }
    }

    /// Its name in options and configuration.
    pub fn as_str(self) -> &'static str {
        self.importer().word
    }

    /// The format with this name.
    pub fn parse(word: &str) -> Option<TraceFormat> {
        TraceFormat::ALL.into_iter().find(|format| format.as_str() == word)
    }

    /// Recognises the format of a text by its first lines that belong to exactly one format; `None` if no line does.
    pub fn detect(text: &str) -> Option<TraceFormat> {
        let events: Vec<Value> = json::objects(text).0.into_iter().take(LINES_LOOKED_AT).collect();
        // Cursor's events equal Claude's except for the tool calls, so check for its own events first.
        let order = [
            TraceFormat::Cursor,
            TraceFormat::Jsonl,
            TraceFormat::Codex,
            TraceFormat::Opencode,
            TraceFormat::Gemini,
            TraceFormat::Claude,
            TraceFormat::Hermes,
        ];
        order.into_iter().find(|format| events.iter().any(|event| (format.importer().is_event)(event)))
    }

    /// A reader of the events that a running program prints; `None` if it prints one object at its end.
    pub(crate) fn event_reader(self) -> Option<Box<dyn TraceEventReader>> {
        self.importer().events.map(|new| new())
    }

    /// Parses a text in this format.
    pub fn read(self, text: &str) -> ParsedTrace {
        let (objects, unread) = json::objects(text);
        let trace = (self.importer().read)(&objects);
        let last_event = objects.last().and_then(json::event_name);
        ParsedTrace { unread: trace.unread + unread, last_event, ..trace }
    }
}

/// A parsed trace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParsedTrace {
    /// Turns, oldest first.
    pub turns: Vec<AgentTurn>,
    /// The agent's final message, if it ended with one.
    pub answer: Option<String>,
    /// Its last text, even if it called a tool after it.
    pub last_said: Option<String>,
    /// Token counts of the whole session.
    pub tokens: Option<TokenCounts>,
    /// The agent's own session id.
    pub session_id: Option<String>,
    /// The model that the program reports.
    pub model: Option<String>,
    /// Wall time of the session, milliseconds.
    pub duration_ms: Option<u64>,
    /// How its last turn ended.
    pub ending: TraceEnding,
    /// The failure as an event of the trace describes it, besides its message.
    pub notice: Option<FailureNotice>,
    /// Type of the last event of the trace.
    pub last_event: Option<String>,
    /// Source of such a trace: `stdout`, `session-file`, `export`…
    pub source: String,
    /// Number of lines that were not understood.
    pub unread: usize,
    /// Number of turns and tool calls over the limits.
    pub left_out: usize,
}

impl ParsedTrace {
    /// This trace as an attempt records it.
    pub(crate) fn into_recorded(self) -> live_trace::LiveTrace {
        let total = self.tokens.map(|tokens| (tokens, self.turns.len()));
        live_trace::LiveTrace { turns: self.turns, session: None, model: self.model, total }
    }

    /// Replaces the text of an input by its parts, which are stored already and shared with other prompts. The same text in one piece would
    /// be stored again. If the trace has no input for its first turn, that turn gets the parts as well.
    #[must_use]
    pub fn with_input<T: AsRef<str>>(mut self, parts: &[T]) -> ParsedTrace {
        let whole: String = parts.iter().map(AsRef::as_ref).collect();
        let parts = || parts.iter().map(|part| Arc::from(part.as_ref()));
        let mut is_there = false;
        for turn in &mut self.turns {
            if let Some(at) = turn.input.iter().position(|text| text.trim() == whole.trim()) {
                turn.input.splice(at..=at, parts());
                is_there = true;
            }
        }
        if let Some(first) = self.turns.first_mut().filter(|turn| !is_there && turn.input.is_empty()) {
            first.input.extend(parts());
        }
        self
    }

    /// Describes what was skipped; `None` if nothing was.
    pub fn gaps(&self) -> Option<String> {
        let lines = (self.unread > 0).then(|| format!("{} lines were not understood", self.unread));
        let parts = (self.left_out > 0).then(|| format!("{} turns or tool calls are over the limit", self.left_out));
        match (lines, parts) {
            (None, None) => None,
            (lines, parts) => Some([lines, parts].into_iter().flatten().collect::<Vec<_>>().join(", ")),
        }
    }
}
