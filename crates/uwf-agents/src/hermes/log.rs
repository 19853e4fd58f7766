//! What hermes is doing, by its own log: with `--quiet` it prints nothing until it has its answer, which can take an
//! hour. Each call of the model and of a tool is a line there, led by the session's id.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often the log is looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// Bytes of the log that are read at once.
const AT_ONCE: u64 = 1 << 20;

/// The log from now on.
pub(super) struct Tail {
    path: PathBuf,
    read: u64,
    looked: Instant,
    rest: String,
    /// Sessions that began a turn since then. Other sessions of the same home write into the same file.
    sessions: BTreeSet<String>,
}

impl Tail {
    /// Begins at the end of the log of a `HERMES_HOME`.
    pub(super) fn open(home: &Path) -> Tail {
        let path = home.join("logs").join("agent.log");
        let read = path.metadata().map_or(0, |meta| meta.len());
        Tail { path, read, looked: Instant::now(), rest: String::new(), sessions: BTreeSet::new() }
    }

    /// What was done since the last look, a line each.
    pub(super) fn events(&mut self) -> Vec<String> {
        if self.looked.elapsed() < INTERVAL {
            return Vec::new();
        }
        self.looked = Instant::now();
        self.take();
        let Some(end) = self.rest.rfind('\n') else { return Vec::new() };
        let lines: String = self.rest.drain(..=end).collect();
        lines.lines().filter_map(|line| event(line, &mut self.sessions)).collect()
    }

    /// The session that began a turn since then, when there is only one: others may be somebody else's.
    pub(super) fn session(&self) -> Option<&str> {
        let mut sessions = self.sessions.iter();
        sessions.next().filter(|_| sessions.next().is_none()).map(String::as_str)
    }

    fn take(&mut self) {
        let Ok(mut file) = File::open(&self.path) else { return };
        let length = file.metadata().map_or(0, |meta| meta.len());
        if length < self.read {
            // It was begun anew.
            self.read = 0;
        }
        let mut bytes = Vec::new();
        if file.seek(SeekFrom::Start(self.read)).is_ok() && file.take(AT_ONCE).read_to_end(&mut bytes).is_ok() {
            self.read += bytes.len() as u64;
            self.rest.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
}

/// `… INFO [SESSION] agent.conversation_loop: API call #1: …` of a session that began since we look.
fn event(line: &str, sessions: &mut BTreeSet<String>) -> Option<String> {
    let (session, said) = line.split_once(" [")?.1.split_once("] ")?;
    let (_, what) = said.split_once(": ")?;
    if what.starts_with("conversation turn:") {
        sessions.insert(session.to_owned());
    }
    let is_event = what.starts_with("API call #") || what.starts_with("tool ");
    (is_event && sessions.contains(session)).then(|| what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_sessions_that_began_meanwhile_are_events() {
        let mut sessions = BTreeSet::new();
        let log = "\
2026-11-22 02:15:00,001 INFO [other] agent.conversation_loop: API call #7: in=1 out=1
2026-11-22 02:15:03,518 INFO [mine] agent.turn_context: conversation turn: session=mine history=0 msg='x'
2026-11-22 02:15:09,291 INFO run_agent: OpenAI client created
2026-11-22 02:15:10,892 INFO [mine] agent.conversation_loop: API call #1: in=111 out=22 latency=1.8s
2026-11-22 02:15:12,388 INFO [mine] agent.tool_executor: tool terminal completed (1.45s, 57 chars)
2026-11-22 02:15:12,400 INFO [other] agent.tool_executor: tool terminal completed (1.45s, 57 chars)
";
        let events: Vec<String> = log.lines().filter_map(|line| event(line, &mut sessions)).collect();
        assert_eq!(events, ["API call #1: in=111 out=22 latency=1.8s", "tool terminal completed (1.45s, 57 chars)"]);
    }
}
