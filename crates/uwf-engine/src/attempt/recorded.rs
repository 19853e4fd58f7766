//! The newest attempt in a thread's record: its plan, its processes and its outcome.
//!
//! It begins with the newest `opened` line; earlier lines belong to earlier attempts. Lines:
//!
//! | event | written by | when |
//! |---|---|---|
//! | `opened` | keeper | before the agent starts |
//! | `started` | keeper | when the agent's process exists |
//! | `answered` | agent process | when the agent has answered in full, and the answer is in its output file |
//! | `named` | keeper | when an agent that stores its nodes itself has named its step, before that is verified |
//! | `finished` | agent process | when its nodes are stored, before it reports them; fsynced |
//! | `gaveUp` | agent process | instead, when it knows why it has no result |
//! | `closed` | keeper | when the head moved, or the attempt failed |
//! | `replied` | `thread answer` | when a person has replied to the agent's question; fsynced |
//! | `ended` | the process that ended the thread | when its line is in the history, as a second copy |
//!
//! Lines of other attempts (late results) are ignored: the `opened` line names the attempt.

pub mod at_work;
mod attempt;
mod by_hand;
pub(crate) mod claim;
mod lines;
mod output;

use std::io::ErrorKind;
use std::path::Path;

use json_cas::Hash;
use uwf_core::thread::ThreadId;

pub use self::attempt::Attempt;
pub(crate) use self::by_hand::{dir_by_hand, is_by_hand, open_by_hand};
use self::lines::Line;
pub use self::lines::{Answered, Closed, Exchange, Finished, GaveUp, Named, Opened, Outcome, Replied, Started};
pub(crate) use self::output::hand_on;
pub use self::output::{OutputFiles, room_in, sweep};
use crate::error::{AtPath, Result};
use crate::root::home::Home;
use crate::root::marks::{self, Mark};
use crate::root::{history, ids, record};
use crate::thread::digest::Digest;

/// The record of a thread, read once.
pub struct ThreadRecord {
    thread: ThreadId,
    bytes: Vec<u8>,
}

impl ThreadRecord {
    /// Reads a record; an absent one has no lines.
    ///
    /// # Errors
    /// `Io` when the file cannot be read.
    pub fn read(home: &Home, thread: &ThreadId) -> Result<ThreadRecord> {
        Ok(ThreadRecord { thread: thread.clone(), bytes: record::read(home, thread)? })
    }

    /// The thread it is about.
    pub(crate) fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// Whether it has no lines.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }

    /// The line with the thread's settings.
    pub(crate) fn settings_line(&self) -> Option<&[u8]> {
        record::settings_line(&self.bytes)
    }

    /// The newest attempt; `None` if there was none, or if its first line is incomplete (then no agent was started).
    pub fn newest(&self) -> Option<Attempt> {
        self.attempts().next()
    }

    /// The lines of the newest attempt, oldest first.
    fn lines_of_newest(&self) -> Vec<Line> {
        let Some(Attempt { opened, .. }) = self.newest() else { return Vec::new() };
        let mut lines: Vec<Line> = self.lines().filter(|line| line.attempt() == Some(&opened.attempt)).collect();
        lines.reverse();
        lines
    }

    /// The attempts that failed since the step at this head, oldest first.
    pub(crate) fn failed_at(&self, head: Hash) -> Vec<Hash> {
        self.newest().map(|newest| newest.earlier_at(head)).unwrap_or_default()
    }

    fn lines(&self) -> impl Iterator<Item = Line> {
        record::newest_first(&self.bytes).filter_map(Line::parse)
    }

    /// All attempts it still has, newest first. Reads lines back to the `opened` line of an attempt: lines before that belong to earlier
    /// attempts.
    fn attempts(&self) -> impl Iterator<Item = Attempt> {
        let mut later = Vec::new();
        self.lines().filter_map(move |line| match line {
            Line::Opened(opened) if opened.thread == self.thread => {
                Some(later.drain(..).rev().fold(Attempt::begun(*opened), Attempt::with))
            }
            other => {
                later.push(other);
                None
            }
        })
    }

    /// All attempts it still has, oldest first.
    pub(crate) fn all(&self) -> Vec<Attempt> {
        let mut attempts: Vec<Attempt> = self.attempts().collect();
        attempts.reverse();
        attempts
    }

    /// The attempt that produced a step of the thread; `None` if the record does not go back that far.
    pub(crate) fn of_step(&self, step: Hash) -> Option<Attempt> {
        self.attempts().find(|attempt| attempt.result() == Some(step))
    }

    /// The recorded digests of the attempts, each with the node it applies to, newest first.
    pub(crate) fn digests(&self) -> impl Iterator<Item = (Hash, Digest)> {
        self.lines().filter_map(|line| match line {
            Line::Opened(opened) if opened.thread == self.thread => {
                opened.digest.map(|digest| (opened.expected_head, digest))
            }
            Line::Finished(finished) => finished.digest.map(|digest| (finished.step, digest)),
            _ => None,
        })
    }

    /// The step of the newest attempt at a role except `current`; `None` if it produced none, or if the record does not go back that far.
    pub fn last_step_of(&self, role: &str, current: &str) -> Option<Hash> {
        let mut finished: Vec<Finished> = Vec::new();
        for line in self.lines() {
            match line {
                Line::Finished(line) => finished.push(line),
                Line::Opened(opened)
                    if opened.role == role && opened.attempt != current && opened.thread == self.thread =>
                {
                    return finished.iter().find(|line| line.attempt == opened.attempt).map(|line| line.step);
                }
                _ => {}
            }
        }
        None
    }

    /// The newest entry about the thread's end; `None` if the thread has not ended, or has an attempt after that.
    pub fn end(&self) -> Option<history::Finished> {
        let newest = self.lines().find_map(|line| match line {
            Line::Ended(finished) => Some(Some(finished).filter(|finished| finished.thread == self.thread)),
            Line::Opened(_) => Some(None),
            Line::Started(_)
            | Line::Answered(_)
            | Line::Named(_)
            | Line::Finished(_)
            | Line::GaveUp(_)
            | Line::Closed(_)
            | Line::Replied(_) => None,
        });
        newest.flatten()
    }
}

/// Reads the newest attempt; `None` if there was none, or if its first line is incomplete (then no agent was started).
///
/// # Errors
/// `Io` when the file cannot be read.
pub fn read(home: &Home, thread: &ThreadId) -> Result<Option<Attempt>> {
    Ok(ThreadRecord::read(home, thread)?.newest())
}

/// The attempt of a process: the thread's newest attempt, or one that is run by hand. `running` is the id that the
/// process was given.
///
/// # Errors
/// `Io` when the record cannot be read.
pub fn of_process(home: &Home, thread: &ThreadId, role: &str, running: Option<&str>) -> Result<Option<Attempt>> {
    let Some(running) = running else { return Ok(None) };
    let attempt = match by_hand::read(home, thread, running) {
        Some(opened) => Some(Attempt::begun(opened)),
        None => read(home, thread)?,
    };
    Ok(attempt.filter(|attempt| attempt.opened.attempt == running && attempt.opened.role == role))
}

/// Opens an attempt, before the agent starts. Not synced: after a power loss no agent is alive, and a record without
/// the line means the same.
///
/// # Errors
/// `Io`.
pub fn open(home: &Home, opened: Opened) -> Result<()> {
    let path = home.record_file(&opened.thread);
    let thread = opened.thread.clone();
    let line = Line::Opened(Box::new(opened));
    if path.metadata().at("look at", &path)?.len() > record::LIMIT {
        let before = record::read(home, &thread)?;
        record::renew(home, &thread, record::settings_line(&before).unwrap_or_default(), &line)?;
    } else {
        record::append(home, &thread, &line)?;
    }
    marks::open(home, &thread)
}

/// Records the agent's process.
///
/// # Errors
/// `Io`.
pub fn started(home: &Home, thread: &ThreadId, started: Started) -> Result<()> {
    record::append(home, thread, &Line::Started(started))?;
    Ok(())
}

/// Records that the agent has answered, with the current content of [`OutputFiles::raw`], if any, or with the submitted
/// value.
///
/// # Errors
/// `Io`.
pub fn answered(home: &Home, thread: &ThreadId, attempt: &str) -> Result<()> {
    if is_by_hand(attempt) {
        return Ok(());
    }
    let raw = OutputFiles::of(home, thread, attempt).raw;
    let bytes = output::size(&raw)?;
    record::append(home, thread, &Line::Answered(Answered { attempt: attempt.to_owned(), bytes }))?;
    Ok(())
}

/// Records the step that an agent named, so that the agent need not run again if the verification is interrupted.
///
/// # Errors
/// `Io`.
pub fn named(home: &Home, thread: &ThreadId, attempt: &str, step: Hash) -> Result<()> {
    record::append(home, thread, &Line::Named(Named { attempt: attempt.to_owned(), step }))?;
    Ok(())
}

/// Records a result durably. After it returns, the output can't be lost.
///
/// # Errors
/// `Io`.
pub fn finished(home: &Home, thread: &ThreadId, attempt: &str, step: Hash, digest: Option<Digest>) -> Result<()> {
    if is_by_hand(attempt) {
        return Ok(());
    }
    let line = Finished { attempt: attempt.to_owned(), step, digest, finished_at: ids::now_ms() };
    let file = record::append(home, thread, &Line::Finished(line))?;
    file.sync_data().at("sync", home.record_file(thread))?;
    claim::tell(home, thread);
    Ok(())
}

/// Updates the claim from the record, on behalf of the agent's process, which has no access to the store.
pub(crate) fn tell(home: &Home, thread: &ThreadId) {
    claim::tell(home, thread);
}

/// Records why an attempt has no result.
///
/// # Errors
/// `Io`.
pub fn gave_up(home: &Home, thread: &ThreadId, gave_up: GaveUp) -> Result<()> {
    if is_by_hand(&gave_up.attempt) {
        return Ok(());
    }
    record::append(home, thread, &Line::GaveUp(gave_up))?;
    Ok(())
}

/// Durably records a person's reply to the question of an attempt. Returns the reply that counts, which is another one
/// if a person on another machine replied first.
///
/// # Errors
/// `Io`, errors of the store, `Busy` when another machine has begun a new attempt meanwhile.
pub(crate) fn replied(home: &Home, thread: &ThreadId, attempt: &str, question: Hash, reply: Hash) -> Result<Hash> {
    let line = Replied { attempt: attempt.to_owned(), question, reply, replied_at: ids::now_ms() };
    let counts = claim::reply(home, thread, line)?;
    let reply = counts.reply;
    let file = record::append(home, thread, &Line::Replied(counts))?;
    file.sync_data().at("sync", home.record_file(thread))?;
    // Adds whatever else the claim lacks, such as that the attempt was closed.
    claim::tell(home, thread);
    Ok(reply)
}

/// Records how an attempt ended, with its error and node if it failed.
///
/// # Errors
/// `Io`.
pub fn closed(home: &Home, opened: &Opened, outcome: Outcome, error: Option<String>, node: Option<Hash>) -> Result<()> {
    let closed =
        Closed { attempt: opened.attempt.clone(), outcome, error, node, adopted: false, closed_at: ids::now_ms() };
    conclude(home, opened, closed)
}

/// Records that the step of an attempt became the head; `adopted` if its own keeper died before that.
pub(crate) fn linked(home: &Home, opened: &Opened, adopted: bool) -> Result<()> {
    let (attempt, outcome) = (opened.attempt.clone(), Outcome::Linked);
    conclude(home, opened, Closed { attempt, outcome, error: None, node: None, adopted, closed_at: ids::now_ms() })
}

fn conclude(home: &Home, opened: &Opened, closed: Closed) -> Result<()> {
    // Once the head has moved, no machine needs the attempt's claim.
    let is_over = matches!(closed.outcome, Outcome::Linked | Outcome::Quarantined);
    record::append(home, &opened.thread, &Line::Closed(closed))?;
    if !is_over {
        claim::tell(home, &opened.thread);
    }
    marks::clear(home, &opened.thread, &[Mark::Open])
}

/// Keeps a copy of a thread's line in the history. The copy may fail: it matters only if the history is damaged.
pub fn ended(home: &Home, finished: &history::Finished) {
    let _ = record::append(home, &finished.thread, &Line::Ended(finished.clone()));
}

/// Id of this boot, so that uwf never acts on process ids of an earlier boot. Empty on systems without such ids.
///
/// # Errors
/// `Io` when it cannot be read now. If uwf assumed another boot instead, it would not end processes nor read answers.
pub fn boot_id() -> Result<String> {
    let path = Path::new("/proc/sys/kernel/random/boot_id");
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        read => Ok(read.at("read", path)?.trim().to_owned()),
    }
}
