//! Follows the trace of a running agent: each look reads the lines written since the previous one.
//!
//! Between looks it keeps the position of each text in the file, never a text: a running agent may have written 64 MB,
//! and a server follows many agents.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use durable_files::regular;
use serde::Deserialize;
use serde::de::IgnoredAny;
use uwf_core::node::TokenCounts;

use super::{LiveTraceLine, MAX_BYTES, MAX_TURNS, StoredTurn};
use crate::attempt::recorded::AttemptOutputFiles;
use crate::attempt::turns::{AgentToolCall, AgentTurn};
use crate::root::file_sign::FileSign;

/// Beginning of a line with a text.
const TEXT: &[u8] = br#"{"text":"#;

/// Bytes before the end of the last look that the next look compares: a trace that was restarted has others there.
const KNOWN: usize = 64;

/// A line of the file. Skips a turn's input, because each turn repeats the numbers of all earlier texts.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum SeenLine {
    Turn(SeenTurn),
}

type SeenTurn = StoredTurn<IgnoredAny>;

/// Follows the trace of one attempt.
#[derive(Debug, Default)]
pub(crate) struct LiveTraceFollower {
    /// Signs of the two files at the last look.
    signs: Option<[Option<FileSign>; 2]>,
    /// Bytes read of the trace, in whole lines.
    read: u64,
    /// The last bytes that were read.
    known: Vec<u8>,
    /// Offset and length of each text's line, by number.
    texts: Vec<(u64, u64)>,
    /// Number of finished turns.
    turns: usize,
    /// Their tokens; `None` if one of them was not counted.
    counted: Option<TokenCounts>,
}

/// New turns.
pub(crate) struct LiveTraceUpdate<'f> {
    /// Turns finished since the last look, each with its number from 0. If the agent restarts its trace, numbering
    /// begins at 0 again.
    pub(crate) over: Vec<(usize, SeenTurn)>,
    /// The current turn.
    pub(crate) open: Option<SeenTurn>,
    /// Tokens of all turns so far; `None` without turns, or if a finished turn was not counted.
    pub(crate) tokens: Option<TokenCounts>,
    /// The texts of these turns.
    pub(crate) texts: LiveTraceTexts<'f>,
}

/// The texts of a trace, read on demand.
pub(crate) struct LiveTraceTexts<'f> {
    lines: &'f [(u64, u64)],
    file: Option<File>,
}

impl LiveTraceFollower {
    /// Reads the turns since the last call; `None` if the files are unchanged. Skips incomplete and unknown lines.
    pub(crate) fn read_new_turns(&mut self, files: &AttemptOutputFiles) -> Option<LiveTraceUpdate<'_>> {
        let signs = [&files.trace, &files.turn].map(|path| FileSign::from_file(path));
        if self.signs.replace(signs) == Some(signs) {
            return None;
        }
        let file = regular::open(&files.trace).ok();
        let over = file.as_ref().and_then(|file| self.new_turns(file).ok()).unwrap_or_default();
        let under_way: Option<SeenTurn> = regular::open(&files.turn).ok().and_then(|file| {
            // Its size has the same limit as the trace.
            serde_json::from_reader(BufReader::new(file.take(MAX_BYTES))).ok()
        });
        let open = under_way.filter(|stored| stored.number == self.turns);
        let now = open.as_ref().and_then(|turn| turn.tokens.as_ref());
        let tokens = match (&self.counted, now) {
            (Some(before), Some(now)) => Some(before.plus(now)),
            (None, Some(now)) if self.turns == 0 => Some(now.clone()),
            (before, _) => before.clone(),
        };
        Some(LiveTraceUpdate { over, open, tokens, texts: LiveTraceTexts { lines: &self.texts, file } })
    }

    fn new_turns(&mut self, file: &File) -> std::io::Result<Vec<(usize, SeenTurn)>> {
        let size = file.metadata()?.len().min(MAX_BYTES);
        if size < self.read || !self.continues(file) {
            *self = LiveTraceFollower { signs: self.signs, ..LiveTraceFollower::default() };
        }
        let mut reader = BufReader::new(file);
        reader.seek(SeekFrom::Start(self.read))?;
        let mut reader = reader.take(size - self.read);
        let (mut over, mut line) = (Vec::new(), Vec::new());
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            over.extend(self.line(&line));
            self.read += line.len() as u64;
            self.known.clear();
            self.known.extend_from_slice(&line[line.len().saturating_sub(KNOWN)..]);
            line.clear();
        }
        Ok(over)
    }

    /// Whether the file still has the last bytes read at the same position.
    fn continues(&self, file: &File) -> bool {
        let mut bytes = vec![0; self.known.len()];
        file.read_exact_at(&mut bytes, self.read - self.known.len() as u64).is_ok() && bytes == self.known
    }

    /// Processes a line. Returns the turn that it finishes.
    fn line(&mut self, line: &[u8]) -> Option<(usize, SeenTurn)> {
        if line.starts_with(TEXT) {
            self.texts.push((self.read, line.len() as u64));
            return None;
        }
        let SeenLine::Turn(turn) = serde_json::from_slice(line).ok()?;
        if self.turns == MAX_TURNS || turn.texts().any(|number| number >= self.texts.len()) {
            return None;
        }
        self.counted = match (&self.counted, &turn.tokens) {
            (None, Some(first)) if self.turns == 0 => Some(first.clone()),
            (before, now) => before.as_ref().zip(now.as_ref()).map(|(before, now)| before.plus(now)),
        };
        self.turns += 1;
        Some((self.turns - 1, turn))
    }
}

impl LiveTraceTexts<'_> {
    /// A turn with its texts, without its input; `None` if one of them cannot be read.
    pub(crate) fn turn(&self, stored: &SeenTurn) -> Option<AgentTurn> {
        let calls = stored.calls.iter().map(|call| {
            let (arguments, result) = (self.text(call.arguments)?, self.text(call.result)?);
            Some(AgentToolCall { name: call.name.clone(), arguments, result, duration_ms: call.duration_ms })
        });
        Some(AgentTurn {
            input: Vec::new(),
            tool_calls: calls.collect::<Option<_>>()?,
            output: self.text(stored.output)?,
            tokens: stored.tokens.clone(),
            latency_ms: stored.latency_ms,
        })
    }

    /// A text by its number.
    pub(crate) fn text(&self, number: usize) -> Option<String> {
        let (offset, length) = *self.lines.get(number)?;
        let mut line = vec![0; usize::try_from(length).ok()?];
        self.file.as_ref()?.read_exact_at(&mut line, offset).ok()?;
        match serde_json::from_str(&String::from_utf8_lossy(&line)) {
            Ok(LiveTraceLine::Text(text)) => Some(text),
            Ok(
                LiveTraceLine::Turn(_) | LiveTraceLine::Session(_) | LiveTraceLine::Model(_) | LiveTraceLine::Total(_),
            )
            | Err(_) => None,
        }
    }
}
