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
mod failure;
mod lines;
mod output;

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;
use uwf_platform::host;

pub use self::attempt::RecordedAttempt;
pub(crate) use self::by_hand::{dir_by_hand, is_by_hand, open_by_hand};
use self::lines::ThreadRecordLine;
pub use self::lines::{
    AttemptAnswer, AttemptEnd, AttemptOpening, AttemptOutcome, AttemptProcess, AttemptReply, FallbackReason,
    FinishedStep, GaveUp, NamedStep, QuestionExchange,
};
pub(crate) use self::output::hand_on;
pub use self::output::{AttemptOutputFiles, room_in, sweep};
use crate::error::{AtPath, AttemptFailure, Error, Result};
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::root::{history, ids, record};
use crate::thread::digest::ThreadDigest;

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
    pub fn newest(&self) -> Option<RecordedAttempt> {
        self.attempts().next()
    }

    /// The lines of the newest attempt, oldest first.
    fn lines_of_newest(&self) -> Vec<ThreadRecordLine> {
        let Some(RecordedAttempt { opened, .. }) = self.newest() else { return Vec::new() };
        let mut lines: Vec<ThreadRecordLine> =
            self.lines().filter(|line| line.attempt() == Some(&opened.attempt)).collect();
        lines.reverse();
        lines
    }

    /// The attempts that failed since the step at this head, oldest first.
    pub(crate) fn failed_at(&self, head: NodeHash) -> Vec<NodeHash> {
        self.newest().map(|newest| newest.earlier_at(head)).unwrap_or_default()
    }

    fn lines(&self) -> impl Iterator<Item = ThreadRecordLine> {
        record::newest_first(&self.bytes).filter_map(ThreadRecordLine::parse)
    }

    /// All attempts it still has, newest first. Reads lines back to the `opened` line of an attempt: lines before that belong to earlier
    /// attempts.
    fn attempts(&self) -> impl Iterator<Item = RecordedAttempt> {
        let mut later = Vec::new();
        self.lines().filter_map(move |line| match line {
            ThreadRecordLine::Opened(opened) if opened.thread == self.thread => {
                Some(later.drain(..).rev().fold(RecordedAttempt::begun(*opened), RecordedAttempt::with))
            }
            other => {
                later.push(other);
                None
            }
        })
    }

    /// All attempts it still has, oldest first.
    pub(crate) fn all(&self) -> Vec<RecordedAttempt> {
        let mut attempts: Vec<RecordedAttempt> = self.attempts().collect();
        attempts.reverse();
        attempts
    }

    /// The attempt that produced a step of the thread; `None` if the record does not go back that far.
    pub(crate) fn of_step(&self, step: NodeHash) -> Option<RecordedAttempt> {
        self.attempts().find(|attempt| attempt.result() == Some(step))
    }

    /// The recorded digests of the attempts, each with the node it applies to, newest first.
    pub(crate) fn digests(&self) -> impl Iterator<Item = (NodeHash, ThreadDigest)> {
        self.lines().filter_map(|line| match line {
            ThreadRecordLine::Opened(opened) if opened.thread == self.thread => {
                opened.digest.map(|digest| (opened.expected_head, digest))
            }
            ThreadRecordLine::Finished(finished) => finished.digest.map(|digest| (finished.step, digest)),
            _ => None,
        })
    }

    /// The step of the newest attempt at a role except `current`; `None` if it produced none, or if the record does not go back that far.
    pub fn last_step_of(&self, role: &str, current: &str) -> Option<NodeHash> {
        let mut finished: Vec<FinishedStep> = Vec::new();
        for line in self.lines() {
            match line {
                ThreadRecordLine::Finished(line) => finished.push(line),
                ThreadRecordLine::Opened(opened)
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
    pub fn end(&self) -> Option<history::HistoryLine> {
        let newest = self.lines().find_map(|line| match line {
            ThreadRecordLine::Ended(finished) => Some(Some(finished).filter(|finished| finished.thread == self.thread)),
            ThreadRecordLine::Opened(_) => Some(None),
            ThreadRecordLine::Started(_)
            | ThreadRecordLine::Answered(_)
            | ThreadRecordLine::Named(_)
            | ThreadRecordLine::Finished(_)
            | ThreadRecordLine::GaveUp(_)
            | ThreadRecordLine::Closed(_)
            | ThreadRecordLine::Replied(_) => None,
        });
        newest.flatten()
    }
}

/// Reads the newest attempt; `None` if there was none, or if its first line is incomplete (then no agent was started).
///
/// # Errors
/// `Io` when the file cannot be read.
pub fn read(home: &Home, thread: &ThreadId) -> Result<Option<RecordedAttempt>> {
    Ok(ThreadRecord::read(home, thread)?.newest())
}

/// The attempt of a process: the thread's newest attempt, or one that is run by hand. `running` is the id that the
/// process was given.
///
/// # Errors
/// `Io` when the record cannot be read.
pub fn of_process(
    home: &Home,
    thread: &ThreadId,
    role: &str,
    running: Option<&str>,
) -> Result<Option<RecordedAttempt>> {
    let Some(running) = running else { return Ok(None) };
    let attempt = match by_hand::read(home, thread, running) {
        Some(opened) => Some(RecordedAttempt::begun(opened)),
        None => read(home, thread)?,
    };
    Ok(attempt.filter(|attempt| attempt.opened.attempt == running && attempt.opened.role == role))
}

/// Opens an attempt, before the agent starts. Not synced: after a power loss no agent is alive, and a record without
/// the line means the same.
pub fn open(home: &Home, opened: AttemptOpening) -> Result<()> {
    let path = home.record_file(&opened.thread);
    let thread = opened.thread.clone();
    let line = ThreadRecordLine::Opened(Box::new(opened));
    if path.metadata().path_context("look at", &path)?.len() > record::LIMIT {
        let before = record::read(home, &thread)?;
        record::renew(home, &thread, record::settings_line(&before).unwrap_or_default(), &line)?;
    } else {
        record::append(home, &thread, &line)?;
    }
    marks::open(home, &thread)
}

/// Records the agent's process.
pub fn started(home: &Home, thread: &ThreadId, started: AttemptProcess) -> Result<()> {
    record::append(home, thread, &ThreadRecordLine::Started(started))?;
    Ok(())
}

/// Records that the agent has answered, with the current content of [`AttemptOutputFiles::raw`], if any, or with the submitted
/// value. `exit_code` is of its program.
pub fn answered(home: &Home, thread: &ThreadId, attempt: &str, exit_code: Option<i32>) -> Result<()> {
    if is_by_hand(attempt) {
        return Ok(());
    }
    let raw = AttemptOutputFiles::paths_of_attempt(home, thread, attempt).raw;
    // If the next process can't find out whether the machine was restarted meanwhile, the size proves nothing about the bytes.
    let is_durable = boot_id()?.is_empty();
    if is_durable {
        output::sync(&raw)?;
    }
    let bytes = output::size(&raw)?;
    let answer = AttemptAnswer { attempt: attempt.to_owned(), bytes, is_durable, exit_code };
    record::append(home, thread, &ThreadRecordLine::Answered(answer))?;
    Ok(())
}

/// Records the step that an agent named, so that the agent need not run again if the verification is interrupted.
pub fn named(home: &Home, thread: &ThreadId, attempt: &str, step: NodeHash) -> Result<()> {
    record::append(home, thread, &ThreadRecordLine::Named(NamedStep { attempt: attempt.to_owned(), step }))?;
    Ok(())
}

/// Records a result durably. After it returns, the output can't be lost.
pub fn finished(
    home: &Home,
    thread: &ThreadId,
    attempt: &str,
    step: NodeHash,
    digest: Option<ThreadDigest>,
) -> Result<()> {
    if is_by_hand(attempt) {
        return Ok(());
    }
    let line = FinishedStep { attempt: attempt.to_owned(), step, digest, finished_at: ids::now_ms() };
    let file = record::append(home, thread, &ThreadRecordLine::Finished(line))?;
    file.sync_data().path_context("sync", home.record_file(thread))?;
    claim::update_from_record(home, thread);
    Ok(())
}

/// Updates the claim from the record, on behalf of the agent's process, which has no access to the store.
pub(crate) fn update_claim(home: &Home, thread: &ThreadId) {
    claim::update_from_record(home, thread);
}

/// Records why an attempt has no result.
pub fn gave_up(home: &Home, thread: &ThreadId, gave_up: GaveUp) -> Result<()> {
    if is_by_hand(&gave_up.attempt) {
        return Ok(());
    }
    record::append(home, thread, &ThreadRecordLine::GaveUp(gave_up))?;
    Ok(())
}

/// Durably records a person's reply to the question of an attempt. Returns the reply that counts, which is another one
/// if a person on another machine replied first.
///
/// # Errors
/// `Io`, errors of the store, `Busy` when another machine has begun a new attempt meanwhile.
pub(crate) fn replied(
    home: &Home,
    thread: &ThreadId,
    attempt: &str,
    question: NodeHash,
    reply: NodeHash,
    by: &str,
) -> Result<AttemptReply> {
    let (attempt, by) = (attempt.to_owned(), Some(by.to_owned()));
    let line = AttemptReply { attempt, question, reply, by, replied_at: ids::now_ms() };
    let counts = claim::reply(home, thread, line)?;
    let file = record::append(home, thread, &ThreadRecordLine::Replied(counts.clone()))?;
    file.sync_data().path_context("sync", home.record_file(thread))?;
    // Adds whatever else the claim lacks, such as that the attempt was closed.
    claim::update_from_record(home, thread);
    Ok(counts)
}

/// Records how an attempt ended, with its error and node if it failed.
pub fn closed(
    home: &Home,
    opened: &AttemptOpening,
    outcome: AttemptOutcome,
    error: Option<String>,
    node: Option<NodeHash>,
) -> Result<()> {
    conclude(home, opened, AttemptEnd { error, node, ..AttemptEnd::now(&opened.attempt, outcome) })
}

/// Records that an attempt failed, with its error and node.
pub(crate) fn failed(
    home: &Home,
    opened: &AttemptOpening,
    error: String,
    failure: Option<AttemptFailure>,
    node: NodeHash,
) -> Result<()> {
    let (error, node) = (Some(error), Some(node));
    conclude(
        home,
        opened,
        AttemptEnd { error, failure, node, ..AttemptEnd::now(&opened.attempt, AttemptOutcome::Failed) },
    )
}

/// Records that the step of an attempt became the head; `adopted` if its own keeper died before that.
pub(crate) fn linked(home: &Home, opened: &AttemptOpening, adopted: bool) -> Result<()> {
    conclude(home, opened, AttemptEnd { adopted, ..AttemptEnd::now(&opened.attempt, AttemptOutcome::Linked) })
}

fn conclude(home: &Home, opened: &AttemptOpening, closed: AttemptEnd) -> Result<()> {
    // Once the head has moved, no machine needs the attempt's claim.
    let is_over = matches!(closed.outcome, AttemptOutcome::Linked | AttemptOutcome::Quarantined);
    record::append(home, &opened.thread, &ThreadRecordLine::Closed(closed))?;
    if !is_over {
        claim::update_from_record(home, &opened.thread);
    }
    marks::clear(home, &opened.thread, &[ThreadMark::Open])
}

/// Keeps a copy of a thread's line in the history. The copy may fail: it matters only if the history is damaged.
pub fn ended(home: &Home, finished: &history::HistoryLine) {
    let _ = record::append(home, &finished.thread, &ThreadRecordLine::Ended(finished.clone()));
}

/// Id of this boot, so that uwf never acts on process ids of an earlier boot. Empty on systems without such ids.
///
/// # Errors
/// `Io` when it cannot be read now. If uwf assumed another boot instead, it would not end processes nor read answers.
pub fn boot_id() -> Result<String> {
    let id = host().boot_id().map_err(|error| Error::io(error.to_string()))?;
    Ok(id.unwrap_or_default())
}

/// Whether an attempt was made in this boot; `None` if that is unknown, because the system did not identify its boot then or does not now.
///
/// # Errors
/// As [`boot_id`].
pub fn is_of_this_boot(opened: &AttemptOpening) -> Result<Option<bool>> {
    let now = boot_id()?;
    let is_known = !now.is_empty() && !opened.boot_id.is_empty();
    Ok(is_known.then(|| opened.boot_id == now))
}
