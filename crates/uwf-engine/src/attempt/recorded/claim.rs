//! A claim shows other machines the newest attempt at a thread, with a shared store.
//!
//! It is a note beside the head, `attempt.THREAD`, with the attempt's lines from the record of its machine. The machine
//! writes it before it starts an agent, and rewrites it while the agent runs (see [`crate::attempt::lease`]). So its
//! age shows whether the machine is alive. Clocks of different machines are never compared: the store reports the age
//! of a note, and the machine of an attempt reports how long it has been running.
//!
//! A claim applies to one position. Once the head has moved, no machine reads it, and the next claim replaces it.

use std::time::Duration;

use json_cas::{NameVersion, NoteWriteCondition, NoteWritten, StoredNote};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_core::config::LONGEST_LEASE;
use uwf_core::thread::ThreadId;

use super::ThreadRecord;
use super::attempt::RecordedAttempt;
use super::lines::{AttemptEnd, AttemptOpening, AttemptOutcome, AttemptReply, ThreadRecordLine};
use super::output::AttemptOutputFiles;
use crate::attempt::recorded::at_work::AtWork;
use crate::attempt::redactor::SecretRedactor;
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::log::{LogFile, log};
use crate::root::{machine, record};

/// How often an update of a claim is retried if another write came in between. Its own machine renews it every few
/// seconds.
const TRIES: usize = 5;

/// Content of the note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Claim {
    /// Machine that wrote it.
    #[serde(deserialize_with = "machine::deserialize")]
    pub(crate) machine: String,
    /// How long it is valid without a renewal, milliseconds.
    lease: u64,
    /// How long the attempt had been running when this was written, milliseconds.
    elapsed: u64,
    /// The lines of the attempt, oldest first.
    lines: Vec<Value>,
}

impl Claim {
    /// The claim in a note; `None` if it has none.
    pub(crate) fn from_note(note: &StoredNote) -> Option<Claim> {
        serde_json::from_value(note.value.clone()).ok()
    }

    /// Its attempt; `None` if its lines contain no attempt at this thread.
    pub(crate) fn attempt(&self, thread: &ThreadId) -> Option<RecordedAttempt> {
        let lines: Vec<String> = self.lines.iter().map(Value::to_string).collect();
        ThreadRecord { thread: thread.clone(), bytes: lines.join("\n").into_bytes() }.newest()
    }

    /// The attempt at this thread in a note, with the claim; `None` for any other note.
    pub(crate) fn with_attempt(note: &StoredNote, thread: &ThreadId) -> Option<(RecordedAttempt, Claim)> {
        let claim = Claim::from_note(note)?;
        Some((claim.attempt(thread)?, claim))
    }

    /// How long it is valid without a renewal, at most [`LONGEST_LEASE`].
    pub(crate) fn lease(&self) -> Duration {
        Duration::from_millis(self.lease).min(LONGEST_LEASE)
    }

    /// How long the attempt had been running when this was written.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_millis(self.elapsed)
    }

    /// The machine that runs its attempt, for a claim of this age.
    pub(crate) fn at_work(&self, attempt: RecordedAttempt, age: Duration) -> AtWork {
        AtWork {
            thread: attempt.opened.thread,
            machine: self.machine.clone(),
            role: attempt.opened.role,
            agent: attempt.opened.agent.names(),
            since: self.elapsed() + age,
            lease: self.lease(),
        }
    }

    /// The same claim with a new running time.
    pub(crate) fn renewed(self, elapsed: Duration) -> Claim {
        Claim { elapsed: millis(elapsed), ..self }
    }

    /// The claim with the record's lines that it lacks. Keeps its own lines: another machine may have closed the
    /// attempt, and the keeper knows more secrets than an agent's process.
    fn with_news(
        mut self,
        announced: &RecordedAttempt,
        lines: Vec<ThreadRecordLine>,
        redactor: &SecretRedactor,
    ) -> Claim {
        let news: Vec<ThreadRecordLine> = lines.into_iter().filter(|line| !announced.has(line)).collect();
        self.lines.extend(written(&news, redactor));
        self
    }

    /// The claim, closed by this machine because the machine that ran the attempt is gone.
    pub(crate) fn taken_over(self, attempt: &str, why: &str) -> Claim {
        self.over(attempt, AttemptOutcome::Failed, why)
    }

    fn over(mut self, attempt: &str, outcome: AttemptOutcome, why: &str) -> Claim {
        let closed = AttemptEnd { error: Some(why.to_owned()), ..AttemptEnd::now(attempt, outcome) };
        self.lines.extend(serde_json::to_value(ThreadRecordLine::Closed(closed)));
        Claim { machine: machine::name(), ..self }
    }

    /// Its lines.
    fn lines(&self) -> impl Iterator<Item = ThreadRecordLine> {
        self.lines.iter().filter_map(|line| ThreadRecordLine::parse(line.to_string().as_bytes()))
    }

    /// The content of the note.
    pub(crate) fn value(&self) -> Value {
        serde_json::to_value(self).expect("a claim is texts and numbers")
    }
}

/// Name of the note with the claim on a thread.
pub(crate) fn name(thread: &ThreadId) -> String {
    format!("{KIND}{thread}")
}

/// Boot id of attempts of other machines. Never equal to a boot id here, so their process ids are not looked up here.
const ELSEWHERE: &str = "elsewhere";

/// Prefix of such names.
pub(crate) const KIND: &str = "attempt.";

/// The thread of a claim's note; `None` for other notes.
pub(crate) fn thread_of(name: &str) -> Option<ThreadId> {
    name.strip_prefix(KIND)?.parse().ok()
}

/// All claims, each with its age.
pub(crate) fn all(home: &Home) -> Result<Vec<(ThreadId, Claim, Duration)>> {
    let notes = home.notes();
    let names: Vec<String> = notes.notes(KIND)?.into_iter().map(|listed| listed.name).collect();
    let claim = |(name, note): (String, StoredNote)| Some((thread_of(&name)?, Claim::from_note(&note)?, note.age));
    Ok(notes.read_notes(&names)?.into_iter().filter_map(claim).collect())
}

/// Result of claiming the next step.
#[derive(Debug)]
#[must_use]
pub(crate) enum ClaimOutcome {
    /// No other machine can step the thread: its lock is sufficient.
    Alone,
    /// The step belongs to this machine while it renews the claim.
    Ours(Claim, NameVersion),
    /// Another machine claimed it first.
    Theirs(Option<Claim>),
}

/// Claims the next step for an attempt that is about to be recorded, if the claim has not changed since it was read.
///
/// # Errors
/// Errors of the store, and `Config` when the secrets can't be determined.
pub(crate) fn claim(home: &Home, opened: &AttemptOpening, seen: Option<&NameVersion>) -> Result<ClaimOutcome> {
    let Some(lease) = home.peers().claim_lease(home)? else { return Ok(ClaimOutcome::Alone) };
    let lines = written(&[ThreadRecordLine::Opened(Box::new(opened.clone()))], &SecretRedactor::for_home(home)?);
    let claim = Claim { machine: machine::name(), lease: millis(lease), elapsed: 0, lines };
    let expected = seen.map_or(NoteWriteCondition::Nothing, NoteWriteCondition::At);
    Ok(match home.notes().write_note(&name(&opened.thread), expected, &claim.value())? {
        NoteWritten::Done(version) => ClaimOutcome::Ours(claim, version),
        // The reply was lost, and the write was repeated.
        NoteWritten::Moved(Some(note)) if note.value == claim.value() => ClaimOutcome::Ours(claim, note.version),
        NoteWritten::Moved(note) => ClaimOutcome::Theirs(note.as_ref().and_then(Claim::from_note)),
    })
}

/// Gives up a claim whose attempt was not begun, so that other machines need not wait for its lease.
pub(crate) fn give_up(home: &Home, opened: &AttemptOpening, claim: &Claim, version: &NameVersion, why: &str) {
    let over = claim.clone().over(&opened.attempt, AttemptOutcome::Suspended, why);
    // If this fails, they wait.
    let _ = home.notes().write_note(&name(&opened.thread), NoteWriteCondition::At(version), &over.value());
}

/// Updates the claim from the record. The lines are already in the record, which is what counts here: if this fails,
/// other machines get no news and wait for the lease.
pub(super) fn update_from_record(home: &Home, thread: &ThreadId) {
    if let Some(broker) = home.broker() {
        return broker.announce_news();
    }
    if let Err(error) = try_update_from_record(home, thread) {
        log!(
            LogFile::open(&home.log_file(thread)),
            "N4V7Q2ZC",
            Warn,
            "could not announce the attempt to other machines: {error}"
        );
    }
}

fn try_update_from_record(home: &Home, thread: &ThreadId) -> Result<()> {
    let (notes, name) = (home.notes(), name(thread));
    let mut note = notes.note(&name)?;
    if note.is_none() {
        return Ok(());
    }
    let redactor = SecretRedactor::for_home(home)?;
    for _ in 0..TRIES {
        let Some(there) = note else { return Ok(()) };
        let Some(claim) = Claim::from_note(&there) else { return Ok(()) };
        let record = ThreadRecord::read(home, thread)?;
        let (Some(announced), Some(own)) = (claim.attempt(thread), record.newest()) else { return Ok(()) };
        if announced.opened.attempt != own.opened.attempt {
            return Ok(());
        }
        let mut lines = record.lines_of_newest();
        if !is_kept(home, &own)? {
            lines.retain(|line| !matches!(line, ThreadRecordLine::Answered(_)));
        }
        match notes.write_note(
            &name,
            NoteWriteCondition::At(&there.version),
            &claim.with_news(&announced, lines, &redactor).value(),
        )? {
            NoteWritten::Done(_) => return Ok(()),
            NoteWritten::Moved(now) => note = now,
        }
    }
    Ok(())
}

/// The error when another machine claimed the next step first, without an attempt in its claim.
pub(crate) fn moved(thread: &ThreadId) -> Error {
    Error::busy(format!("another machine took the next step of thread {thread} in this moment"))
        .hint(format!("look at it with `uwf thread show {thread}`, then try again"))
}

/// Writes a reply into the claim of its attempt before it is recorded: if people on two machines reply at the same
/// time, the first reply counts. Returns the reply that is in the claim.
///
/// # Errors
/// Errors of the store, `Busy` when the claim is for another attempt.
pub(super) fn reply(home: &Home, thread: &ThreadId, replied: AttemptReply) -> Result<AttemptReply> {
    let (notes, name) = (home.notes(), name(thread));
    let mut note = notes.note(&name)?;
    loop {
        // The claim is missing if the store was shared later, or if its note was damaged.
        let Some(there) = note.filter(|note| !note.value.is_null()) else { return Ok(replied) };
        let of_it = Claim::with_attempt(&there, thread).filter(|(told, _)| told.opened.attempt == replied.attempt);
        let Some((told, mut claim)) = of_it else { return Err(moved(thread)) };
        if let Some(first) = told.replied {
            return Ok(first);
        }
        claim.lines.extend(serde_json::to_value(ThreadRecordLine::Replied(replied.clone())));
        match notes.write_note(&name, NoteWriteCondition::At(&there.version), &claim.value())? {
            NoteWritten::Done(_) => return Ok(replied),
            NoteWritten::Moved(now) => note = now,
        }
    }
}

/// Whether the node of a failed attempt has its agent's whole answer. A submitted value is not in it, and a power loss
/// may cut a text short.
fn is_kept(home: &Home, own: &RecordedAttempt) -> Result<bool> {
    let files = AttemptOutputFiles::paths_of_attempt(home, &own.opened.thread, &own.opened.attempt);
    Ok(!files.has_value()? && own.answered.as_ref().map_or(Ok(false), |answered| own.keeps_text(answered))?)
}

/// Removes the claim on a thread that has ended or is gone. A machine that is still running a step notices and ends its
/// agent.
pub(crate) fn remove(home: &Home, thread: &ThreadId) {
    if let Err(error) = forget(home, thread) {
        log!(
            LogFile::open(&home.log_file(thread)),
            "W8J3K6PD",
            Warn,
            "the note on the newest attempt was not removed: {error}"
        );
    }
}

/// Like [`remove`], for removing the thread: while the note exists, the thread counts as one whose head was lost.
pub(crate) fn forget(home: &Home, thread: &ThreadId) -> Result<()> {
    Ok(home.notes().remove_note(&name(thread))?)
}

/// Adds lines of a claim that the record lacks: an attempt of another machine, or how one ended elsewhere. Returns
/// whether it added any.
pub(crate) fn bring_in(home: &Home, thread: &ThreadId, claim: &Claim) -> Result<bool> {
    let Some(theirs) = claim.attempt(thread) else { return Ok(false) };
    let own = super::read(home, thread)?;
    let known = own.as_ref().filter(|own| own.opened.attempt == theirs.opened.attempt);
    let of_it = claim.lines().filter(|line| line.attempt() == Some(&theirs.opened.attempt));
    let mut new: Vec<ThreadRecordLine> = of_it.filter(|line| known.is_none_or(|known| !known.has(line))).collect();
    // The answer is on that machine. If the attempt was closed there, its node has the answer as well.
    new.retain(|line| !matches!(line, ThreadRecordLine::Answered(_)) || theirs.closed.is_some());
    for line in &mut new {
        if let ThreadRecordLine::Opened(opened) = line {
            let before = own.as_ref().map(|own| own.earlier_at(opened.expected_head)).unwrap_or_default();
            opened.earlier = union(before, &opened.earlier);
            opened.machine.get_or_insert_with(|| claim.machine.clone());
            // Its process ids mean nothing here.
            opened.boot_id = ELSEWHERE.to_owned();
        }
    }
    record::append_all(home, thread, &new)?;
    Ok(!new.is_empty())
}

/// Failed attempts of both lists, without duplicates.
fn union(mut all: Vec<json_cas::NodeHash>, more: &[json_cas::NodeHash]) -> Vec<json_cas::NodeHash> {
    for hash in more {
        if !all.contains(hash) {
            all.push(*hash);
        }
    }
    all
}

/// Lines for other machines, redacted with the secrets of this one.
fn written(lines: &[ThreadRecordLine], redactor: &SecretRedactor) -> Vec<Value> {
    lines.iter().filter_map(|line| serde_json::to_value(line).ok()).map(|line| redactor.value(&line)).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
