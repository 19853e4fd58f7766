//! `uwf log`: the logs that keepers write while they work, of one thread or of all threads on this machine.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

use durable_files::regular;
use serde::{Deserialize, Serialize};
use uwf_core::thread::ThreadId;

use crate::error::{AtPath, Result};
use crate::root::home::Home;
use crate::root::log::LogLevel;
use crate::root::project_files::ProjectRoot;

/// How many bytes of one log are read at once, the newest.
const MAX_READ: u64 = 64 << 20;

/// Topics: names for the tags of the work after a step, by the files that log them.
const TOPICS: [(&str, &[&str]); 2] =
    [("notify", &["W4T6N9QB", "H2V8K3ZD", "E5B1X7MJ"]), ("otel", &["9N4XD2RE", "3QK7M5WT", "Y6C8T0HB"])];

/// One line of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// The thread whose log it is in.
    pub thread: ThreadId,
    /// Its content.
    #[serde(flatten)]
    pub note: LogEntry,
}

/// A log entry, as it is in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Permanent name of the place in the code.
    pub tag: String,
    /// Its severity.
    pub level: LogLevel,
    /// The text.
    pub content: String,
    /// Unix milliseconds.
    pub timestamp: u64,
}

/// Which lines to read.
#[derive(Debug, Clone, Default)]
pub struct LogFilter {
    /// Lines of this thread; otherwise of all.
    pub thread: Option<ThreadId>,
    /// Lines of the threads of this project.
    pub project: Option<ProjectRoot>,
    /// Lines with this tag.
    pub tag: Option<String>,
    /// Lines of at least this level.
    pub level: Option<LogLevel>,
}

/// Whether lines can have this tag: the name of a topic, or the tag of one place in the code.
pub fn is_tag(text: &str) -> bool {
    let is_topic = TOPICS.iter().any(|(name, _)| *name == text);
    is_topic || text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

impl LogFilter {
    fn has(&self, note: &LogEntry) -> bool {
        let is_of_tag = self.tag.as_ref().is_none_or(|tag| match TOPICS.iter().find(|(name, _)| name == tag) {
            Some((_, tags)) => tags.contains(&note.tag.as_str()),
            None => tag.eq_ignore_ascii_case(&note.tag),
        });
        is_of_tag && self.level.is_none_or(|level| note.level >= level)
    }
}

/// Logs, with the position up to which each was read.
pub struct LogReader<'h> {
    home: &'h Home,
    wanted: LogFilter,
    /// Position in each log.
    read: BTreeMap<ThreadId, u64>,
    /// Whether each thread is of the wanted project.
    of_project: BTreeMap<ThreadId, bool>,
}

impl<'h> LogReader<'h> {
    /// Logs that are not read yet.
    pub fn new(home: &'h Home, wanted: LogFilter) -> LogReader<'h> {
        LogReader { home, wanted, read: BTreeMap::new(), of_project: BTreeMap::new() }
    }

    /// The new lines, in order of time. Skips invalid lines, such as a line torn by a crash.
    ///
    /// # Errors
    /// `Io` when a log cannot be read.
    pub fn poll(&mut self) -> Result<Vec<LogLine>> {
        let threads = match &self.wanted.thread {
            Some(thread) => [thread.clone()].into(),
            None => self.home.recorded_threads()?,
        };
        let mut lines = Vec::new();
        for thread in threads {
            let notes = self.new_notes(&thread)?;
            if notes.is_empty() || !self.is_wanted(&thread) {
                continue;
            }
            lines.extend(notes.into_iter().map(|note| LogLine { thread: thread.clone(), note }));
        }
        lines.sort_by_key(|line| line.note.timestamp);
        Ok(lines)
    }

    /// Whether a thread is of the wanted project. Decided once, because it reads the record of the thread.
    fn is_wanted(&mut self, thread: &ThreadId) -> bool {
        let Some(project) = &self.wanted.project else { return true };
        let is_of_project = || project.membership(self.home)(thread);
        *self.of_project.entry(thread.clone()).or_insert_with(is_of_project)
    }

    fn new_notes(&mut self, thread: &ThreadId) -> Result<Vec<LogEntry>> {
        let path = self.home.log_file(thread);
        let from = self.read.entry(thread.clone()).or_default();
        let length = match path.metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            found => found.path_context("look at", &path)?.len(),
        };
        if length <= *from {
            // A log that was removed and created again is read from its beginning.
            *from = if length < *from { 0 } else { *from };
            return Ok(Vec::new());
        }
        *from = (*from).max(length.saturating_sub(MAX_READ));
        let mut file = regular::open(&path).path_context("open", &path)?;
        file.seek(SeekFrom::Start(*from)).path_context("read", &path)?;
        let mut bytes = Vec::new();
        file.take(MAX_READ).read_to_end(&mut bytes).path_context("read", &path)?;
        // A line that is still being written is read once it is complete.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        *from += whole as u64;
        let lines = bytes[..whole].split(|byte| *byte == b'\n');
        let notes = lines.filter_map(|line| serde_json::from_slice::<LogEntry>(line).ok());
        Ok(notes.filter(|note| self.wanted.has(note)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::TOPICS;

    #[test]
    fn a_topic_has_the_tags_of_its_files() {
        let read = |file: &str| {
            std::fs::read_to_string(format!("{}/src/verbs/{file}.rs", env!("CARGO_MANIFEST_DIR"))).unwrap()
        };
        for ((name, tags), files) in TOPICS.iter().zip([&["notify", "notifier"][..], &["otel"]]) {
            let text: String = files.iter().map(|file| read(file)).collect();
            let found: Vec<&str> = text.split("log!(log, \"").skip(1).map(|rest| &rest[..8]).collect();
            assert_eq!(found, *tags, "{name}");
        }
    }
}
