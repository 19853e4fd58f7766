//! Follows hermes's work in its log: with `--quiet` it prints nothing until its answer, which can take an hour. Each call of the model and
//! of a tool is a line there, starting with the session id. All runs with the same `HERMES_HOME` share the file, and hermes prints a new
//! session's id only at the end. So other sessions are distinguished by when and how they began.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use durable_files::regular;

/// Time between two reads of the log.
const INTERVAL: Duration = Duration::from_secs(1);

/// Bytes of the log read at once.
const AT_ONCE: u64 = 1 << 20;

/// Time for a hermes run to begin its session: seconds, some more on a busy machine. If a session has begun, those that begin after this
/// time belong to other runs.
const STARTUP: Duration = Duration::from_mins(2);

/// The log from now on.
pub(super) struct HermesLogTail {
    path: PathBuf,
    read: u64,
    begun: Instant,
    looked: Instant,
    rest: String,
    sessions: HermesCandidateSessions,
}

impl HermesLogTail {
    /// Starts at the end of the log in a `HERMES_HOME`. `resumed` is the session that the run continues; without it the run begins one.
    pub(super) fn open(home: &Path, resumed: Option<&str>) -> HermesLogTail {
        let path = home.join("logs").join("agent.log");
        let read = path.metadata().map_or(0, |meta| meta.len());
        let now = Instant::now();
        HermesLogTail {
            path,
            read,
            begun: now,
            looked: now,
            rest: String::new(),
            sessions: HermesCandidateSessions::new(resumed),
        }
    }

    /// Events since the last call, one per line.
    pub(super) fn events(&mut self) -> Vec<String> {
        if self.looked.elapsed() < INTERVAL {
            return Vec::new();
        }
        self.looked = Instant::now();
        self.take();
        let Some(end) = self.rest.rfind('\n') else { return Vec::new() };
        let lines: String = self.rest.drain(..=end).collect();
        let events = lines.lines().filter_map(|line| self.sessions.event(line)).collect();
        if self.begun.elapsed() > STARTUP {
            self.sessions.no_more();
        }
        events
    }

    /// The session of the run, if only one candidate is left: other sessions may belong to other runs.
    pub(super) fn session(&self) -> Option<&str> {
        let mut sessions = self.sessions.ours.iter();
        sessions.next().filter(|_| sessions.next().is_none()).map(String::as_str)
    }

    fn take(&mut self) {
        let Ok(mut file) = regular::open(&self.path) else { return };
        let length = file.metadata().map_or(0, |meta| meta.len());
        if length < self.read {
            // The log was rotated or truncated.
            self.read = 0;
        }
        let mut bytes = Vec::new();
        if file.seek(SeekFrom::Start(self.read)).is_ok() && file.take(AT_ONCE).read_to_end(&mut bytes).is_ok() {
            self.read += bytes.len() as u64;
            self.rest.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
}

/// The candidate sessions of one run.
struct HermesCandidateSessions {
    ours: BTreeSet<String>,
    /// Whether a session that begins now can be ours.
    is_open: bool,
    /// Whether one of ours is being compressed, after which hermes continues it under another id.
    is_shortening: bool,
}

impl HermesCandidateSessions {
    fn new(resumed: Option<&str>) -> HermesCandidateSessions {
        let ours = resumed.map(str::to_owned).into_iter().collect();
        HermesCandidateSessions { ours, is_open: resumed.is_none(), is_shortening: false }
    }

    /// The time to begin is over. If no session has begun, the next one to begin counts as ours.
    fn no_more(&mut self) {
        self.is_open = self.ours.is_empty();
    }

    /// The event of our sessions in a line: `… INFO [SESSION] agent.conversation_loop: API call #1: …`.
    fn event(&mut self, line: &str) -> Option<String> {
        let (session, said) = line.split_once(" [")?.1.split_once("] ")?;
        let (_, what) = said.split_once(": ")?;
        let is_begun = what.starts_with("conversation turn:") && is_new(what);
        let is_shortened = what.starts_with("context compression done:");
        if (is_begun && self.is_open) || (is_shortened && self.is_shortening) {
            self.ours.insert(session.to_owned());
        }
        if !self.ours.contains(session) {
            return None;
        }
        let shortens = what.starts_with("context compression started:");
        self.is_shortening = shortens || (self.is_shortening && !is_shortened);
        let is_event = what.starts_with("API call #") || what.starts_with("tool ") || shortens || is_shortened;
        is_event.then(|| what.to_owned())
    }
}

/// Whether a turn is the first of a command line session. Editors and messengers have their own sessions.
fn is_new(turn: &str) -> bool {
    let field = |name: &str| turn.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    field("platform").is_none_or(|platform| platform == "cli") && field("history").is_none_or(|history| history == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events_of(sessions: &mut HermesCandidateSessions, log: &str) -> Vec<String> {
        log.lines().filter_map(|line| sessions.event(line)).collect()
    }

    fn call(session: &str, number: u32) -> String {
        format!(
            "2026-11-22 02:15:10,892 INFO [{session}] agent.conversation_loop: API call #{number}: in=1 latency=1.8s\n"
        )
    }

    fn turn(session: &str, more: &str) -> String {
        format!(
            "2026-11-22 02:15:03,518 INFO [{session}] agent.turn_context: conversation turn: session={session} {more} msg='x'\n"
        )
    }

    #[test]
    fn calls_of_newly_started_session_are_events() {
        let mut sessions = HermesCandidateSessions::new(None);
        let log = [
            call("other", 7),
            turn("mine", "model=m platform=cli history=0"),
            "2026-11-22 02:15:09,291 INFO run_agent: OpenAI client created\n".to_owned(),
            call("mine", 1),
            "2026-11-22 02:15:12,388 INFO [mine] agent.tool_executor: tool terminal completed (1.45s, 57 chars)\n"
                .to_owned(),
            call("other", 8),
        ];
        assert_eq!(
            events_of(&mut sessions, &log.concat()),
            ["API call #1: in=1 latency=1.8s", "tool terminal completed (1.45s, 57 chars)"]
        );
    }

    #[test]
    fn sessions_of_others_are_no_sign_of_life() {
        let mut late = HermesCandidateSessions::new(None);
        events_of(&mut late, &turn("mine", "history=0"));
        late.no_more();
        let others = turn("other", "history=0") + &call("other", 1);
        assert_eq!(events_of(&mut late, &others), [""; 0], "it began when this run had long begun");
        assert_eq!(events_of(&mut late, &call("mine", 1)).len(), 1);

        let mut slow = HermesCandidateSessions::new(None);
        slow.no_more();
        assert_eq!(events_of(&mut slow, &(turn("mine", "history=0") + &call("mine", 1))).len(), 1);

        let mut resumed = HermesCandidateSessions::new(Some("mine"));
        assert_eq!(events_of(&mut resumed, &others), [""; 0], "it is known which session goes on");
        assert_eq!(events_of(&mut resumed, &(turn("mine", "history=4") + &call("mine", 2))).len(), 1);

        let mut new = HermesCandidateSessions::new(None);
        for begun in ["platform=cli history=6", "platform=acp history=0"] {
            assert_eq!(events_of(&mut new, &(turn("other", begun) + &call("other", 1))), [""; 0], "{begun}");
        }
    }

    #[test]
    fn compressed_session_continues_under_new_id() {
        let mut sessions = HermesCandidateSessions::new(Some("first"));
        let shortened = |session: &str, how: &str| {
            format!(
                "2026-11-22 02:30:00,000 INFO [{session}] agent.conversation_compression: context compression {how}: session={session}\n"
            )
        };
        assert_eq!(events_of(&mut sessions, &shortened("other", "done")), [""; 0]);
        let log =
            [shortened("first", "started"), shortened("second", "done"), call("second", 9), shortened("other", "done")];
        assert_eq!(events_of(&mut sessions, &log.concat()).len(), 3);
    }
}
