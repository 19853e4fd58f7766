//! The session file of a running codex. It has the model, and the tokens after each response; the printed events have only the tokens of the
//! whole session, at its end.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use durable_files::regular;
use uwf_core::node::TokenCounts;

use super::codex::CodexCounts;
use super::json;
use super::{MAX_TRACE_BYTES, ParsedTrace};

/// Looks for the file before giving up. Codex creates it when a session begins.
const MOST_LOOKS: usize = 50;

/// Directories of days that are searched, newest first.
const MOST_DAYS: usize = 400;

/// The session file, as far as it was read.
pub(super) struct CodexSession {
    dir: Option<PathBuf>,
    looks: usize,
    path: Option<PathBuf>,
    read: u64,
    /// The beginning of a line that is not complete.
    rest: Vec<u8>,
    counts: CodexCounts,
    /// Whether the run continues a session.
    is_continued: bool,
    /// Tokens of the session before this run.
    before: Option<TokenCounts>,
}

impl CodexSession {
    /// The session of a run that begins now, and continues this one, if any.
    pub(super) fn begin(continued: Option<&str>) -> CodexSession {
        let mut session = CodexSession {
            dir: codex_home().map(|home| home.join("sessions")),
            looks: 0,
            path: None,
            read: 0,
            rest: Vec::new(),
            counts: CodexCounts::default(),
            is_continued: continued.is_some(),
            before: None,
        };
        if let Some(id) = continued {
            session.read_news(id);
            session.before = session.counts.total.clone();
        }
        session
    }

    /// Reads the lines since the last look at the session with this id. A file that can't be read has no news.
    pub(super) fn read_news(&mut self, id: &str) {
        if self.path.is_none() && self.looks < MOST_LOOKS {
            self.looks += 1;
            self.path = self.dir.as_deref().and_then(|dir| session_file(dir, id));
        }
        let _ = self.path.clone().map(|path| self.read_lines(&path));
    }

    fn read_lines(&mut self, path: &Path) -> std::io::Result<()> {
        let mut file: File = regular::open(path)?;
        file.seek(SeekFrom::Start(self.read))?;
        let left = MAX_TRACE_BYTES.saturating_sub(self.read);
        self.read += file.take(left).read_to_end(&mut self.rest)? as u64;
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Ok(()) };
        let rest = self.rest.split_off(end + 1);
        let lines = std::mem::replace(&mut self.rest, rest);
        let (events, _) = json::objects(&String::from_utf8_lossy(&lines));
        events.iter().for_each(|event| self.counts.event(event));
        Ok(())
    }

    /// The model.
    pub(super) fn model(&self) -> Option<&str> {
        self.counts.model.as_deref()
    }

    /// Tokens of this run so far.
    pub(super) fn tokens(&self) -> Option<TokenCounts> {
        let total = self.counts.total.as_ref().filter(|_| !self.is_continued || self.before.is_some())?;
        Some(difference(total, &self.before.clone().unwrap_or_default()))
    }

    /// The printed trace of the run, with the model. The program prints the tokens of its whole session, so the tokens of a run that
    /// continued a session are unknown without its file.
    pub(super) fn complete(mut self, trace: ParsedTrace) -> ParsedTrace {
        if let Some(id) = &trace.session_id {
            self.read_news(id);
        }
        let tokens = match self.is_continued {
            true => self.before.as_ref().and(self.tokens()),
            false => trace.tokens,
        };
        ParsedTrace { model: trace.model.or(self.counts.model), tokens, ..trace }
    }
}

/// The directory in which codex keeps its configuration and its sessions.
pub(crate) fn codex_home() -> Option<PathBuf> {
    let named = std::env::var_os("CODEX_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(std::env::home_dir()?.join(".codex")))
}

/// The counts without those before.
pub(super) fn difference(total: &TokenCounts, before: &TokenCounts) -> TokenCounts {
    let since = |total: Option<u64>, before: Option<u64>| Some(total?.saturating_sub(before.unwrap_or(0)));
    TokenCounts {
        input: since(total.input, before.input),
        output: since(total.output, before.output),
        cached: since(total.cached, before.cached),
        reasoning: since(total.reasoning, before.reasoning),
        ..TokenCounts::default()
    }
}

/// The file of a session, below directories of years, months and days.
fn session_file(dir: &Path, id: &str) -> Option<PathBuf> {
    let end = format!("-{id}.jsonl");
    let years = entries(dir).into_iter();
    let days = years.flat_map(|year| entries(&year)).flat_map(|month| entries(&month));
    days.take(MOST_DAYS).flat_map(|day| entries(&day)).find(|path| path.to_string_lossy().ends_with(&end))
}

/// The entries of a directory, newest name first.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort_unstable_by(|one, other| other.cmp(one));
    entries
}
