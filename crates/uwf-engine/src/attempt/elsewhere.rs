//! The activity of other machines on the next step of a thread, with a shared store.

mod all;
mod stand;

use std::time::Duration;

use json_cas::{NameVersion, NodeHash, NoteWriteCondition, NoteWritten, StoredNote};
use uwf_core::thread::ThreadId;

pub(crate) use self::all::all;
pub use self::all::{HeldLease, leases};
pub(crate) use self::stand::PostAttemptState;
use crate::attempt::agent_process::SignalListener;
use crate::attempt::ended::stopped;
use crate::attempt::lease::RENEWALS;
use crate::attempt::recorded::at_work::AtWork;
use crate::attempt::recorded::claim::{self, Claim};
use crate::attempt::recorded::{self, RecordedAttempt};
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::thread::load;

/// Interval between checks whether a machine with a late renewal is alive.
const LOOK: Duration = Duration::from_millis(500);

/// Renewals that a machine may miss before this one waits for its lease to end instead of assuming that it is alive.
const LATE: u32 = 2;

/// Result of looking at a claim.
#[must_use]
pub(crate) enum ClaimResolution {
    /// No machine is running the step. The version is the note's version, needed to claim the step.
    Free(Option<NameVersion>),
    /// The record has new lines: handle what the other machine did as if it had happened here.
    BroughtIn,
}

/// Looks at the claim on a thread's next step. Doesn't wait for a machine that is running the step. If the machine
/// seems to be gone, waits for the end of its lease and takes its step over.
///
/// # Errors
/// `Busy` when another machine is running the step, errors of the store and the record, and the error of a stop signal.
pub(crate) fn resolve_claim(
    home: &Home,
    thread: &ThreadId,
    head: NodeHash,
    signals: &mut SignalListener,
) -> Result<ClaimResolution> {
    loop {
        let Some(note) = home.notes().note(&claim::name(thread))? else { return Ok(ClaimResolution::Free(None)) };
        let Some((attempt, claim)) = Claim::with_attempt(&note, thread) else {
            return Ok(ClaimResolution::Free(Some(note.version)));
        };
        if attempt.opened.expected_head != head {
            // The claim may be newer than the head that was read: then the other machine is already running a later
            // step.
            if !is_known(home, &attempt)? {
                is_still_at(home, thread, head)?;
            }
            return Ok(ClaimResolution::Free(Some(note.version)));
        }
        if attempt.closed.is_some() || is_known(home, &attempt)? {
            return brought_in(home, thread, &claim, note.version);
        }
        if note.age < claim.lease() / RENEWALS * LATE {
            return Err(at_work(attempt, &claim, note.age));
        }
        if attempt.result().is_some() {
            return brought_in(home, thread, &claim, note.version);
        }
        if note.age >= claim.lease() && take_over(home, &attempt, &claim, &note)? {
            return Ok(ClaimResolution::BroughtIn);
        }
        if let Some(signal) = signals.stop() {
            return Err(stopped(signal));
        }
        signals.wait(LOOK);
    }
}

/// Checks that a thread's head has not moved.
///
/// # Errors
/// `Busy` if it has moved, and errors of the store.
pub(crate) fn is_still_at(home: &Home, thread: &ThreadId, head: NodeHash) -> Result<()> {
    match home.heads().read(thread.as_str())? {
        Some(now) if now.hash == head => Ok(()),
        _ => Err(load::head_moved(thread, "being stepped")),
    }
}

/// Checks that an open attempt in this machine's record is not running on another machine. The record may be in a copy
/// of a storage root whose original is in use.
///
/// # Errors
/// `Busy` when it is, and errors of the store.
pub(crate) fn refuse_copied(home: &Home, attempt: &RecordedAttempt) -> Result<()> {
    let opened = &attempt.opened;
    if attempt.closed.is_some() || opened.machine.is_some() || recorded::is_of_this_boot(opened)? == Some(true) {
        return Ok(());
    }
    let Some(note) = home.notes().note(&claim::name(&opened.thread))? else { return Ok(()) };
    let there = Claim::with_attempt(&note, &opened.thread);
    let is_own = |now: &RecordedAttempt| now.opened.attempt == opened.attempt && now.closed.is_none();
    match there.filter(|(now, claim)| is_own(now) && note.age < claim.lease()) {
        Some((now, claim)) => Err(at_work(now, &claim, note.age)),
        None => Ok(()),
    }
}

/// Whether another machine is running a step of a thread.
pub fn is_at_work(home: &Home, thread: &ThreadId) -> Result<bool> {
    let Some(note) = home.notes().note(&claim::name(thread))? else { return Ok(false) };
    let Some(head) = home.heads().read(thread.as_str())? else { return Ok(false) };
    let report = claim_report(&note, thread, head.hash, || recorded::read(home, thread))?;
    Ok(matches!(report, Some(ClaimReport::AtWork(_))))
}

/// The newest attempt at this head of a thread, on any machine.
///
/// # Errors
/// Errors of the store and the record.
pub fn newest(home: &Home, thread: &ThreadId, head: NodeHash) -> Result<Option<RecordedAttempt>> {
    let note = home.notes().note(&claim::name(thread))?;
    let there = note.and_then(|note| Claim::with_attempt(&note, thread));
    match there.filter(|(attempt, _)| attempt.opened.expected_head == head) {
        Some((attempt, _)) => Ok(Some(attempt)),
        None => Ok(recorded::read(home, thread)?.filter(|attempt| attempt.opened.expected_head == head)),
    }
}

/// Its id.
pub(crate) fn newest_id(home: &Home, thread: &ThreadId, head: NodeHash) -> Result<Option<String>> {
    Ok(newest(home, thread, head)?.map(|attempt| attempt.opened.attempt))
}

/// Whether this attempt is the newest one in this machine's record. If so, the thread's lock, which the caller holds,
/// shows that it is not running.
fn is_known(home: &Home, attempt: &RecordedAttempt) -> Result<bool> {
    let own = recorded::read(home, &attempt.opened.thread)?;
    Ok(own.is_some_and(|own| own.opened.attempt == attempt.opened.attempt))
}

fn brought_in(home: &Home, thread: &ThreadId, claim: &Claim, version: NameVersion) -> Result<ClaimResolution> {
    let was_new = claim::bring_in(home, thread, claim)?;
    Ok(if was_new { ClaimResolution::BroughtIn } else { ClaimResolution::Free(Some(version)) })
}

/// Closes the attempt of a machine that is gone, so that the machine notices if it comes back, and records it here.
fn take_over(home: &Home, attempt: &RecordedAttempt, claim: &Claim, note: &StoredNote) -> Result<bool> {
    let opened = &attempt.opened;
    let closed = claim.clone().taken_over(&opened.attempt, &gone(&claim.machine));
    match home.notes().write_note(
        &claim::name(&opened.thread),
        NoteWriteCondition::At(&note.version),
        &closed.value(),
    )? {
        NoteWritten::Done(_) => claim::bring_in(home, &opened.thread, claim),
        // It has just renewed its lease, or a third machine was quicker.
        NoteWritten::Moved(_) => Ok(false),
    }
}

/// The error of an attempt whose machine no longer answers.
pub(crate) fn gone(machine: &str) -> String {
    format!("machine `{machine}`, which was running this step, did not renew its lease")
}

fn at_work(attempt: RecordedAttempt, claim: &Claim, age: Duration) -> Error {
    let at_work = claim.at_work(attempt, age);
    Error::busy(at_work.to_string()).hint(format!(
        "try again when it has finished; if that machine is gone, the next step takes over {} s after its last sign \
         of life",
        at_work.lease.as_secs()
    ))
}

/// Activity of other machines on a thread, as far as its state depends on that.
#[derive(Debug)]
pub(crate) enum PeerActivity {
    /// A machine is running a step.
    AtWork(Box<AtWork>),
    /// The thread's state after the last step.
    Stands(PostAttemptState),
}

impl ClaimReport {
    /// The resulting state of the thread.
    pub(crate) fn elsewhere(&self) -> PeerActivity {
        match self {
            ClaimReport::AtWork(at_work) => PeerActivity::AtWork(at_work.clone()),
            ClaimReport::Over(attempt) => PeerActivity::Stands(PostAttemptState::after(attempt)),
        }
    }
}

/// A claim's news about the newest attempt at a position: this machine's record lacks the attempt or knows less.
pub(crate) enum ClaimReport {
    /// Another machine is running it.
    AtWork(Box<AtWork>),
    /// It has ended.
    Over(Box<RecordedAttempt>),
}

/// News from other machines about the newest attempt at this head of a thread; `None` when the local record knows as
/// much.
pub(crate) fn newer_claim_report(home: &Home, thread: &ThreadId, head: NodeHash) -> Result<Option<ClaimReport>> {
    told_beyond(home, thread, head, || recorded::read(home, thread))
}

/// The same for a caller with its own way to the newest attempt in the local record, which is read only if there is news.
pub(crate) fn told_beyond(
    home: &Home,
    thread: &ThreadId,
    head: NodeHash,
    own: impl FnOnce() -> Result<Option<RecordedAttempt>>,
) -> Result<Option<ClaimReport>> {
    let Some(note) = home.notes().note(&claim::name(thread))? else { return Ok(None) };
    claim_report(&note, thread, head, own)
}

fn claim_report(
    note: &StoredNote,
    thread: &ThreadId,
    head: NodeHash,
    own: impl FnOnce() -> Result<Option<RecordedAttempt>>,
) -> Result<Option<ClaimReport>> {
    let there = Claim::with_attempt(note, thread);
    let Some((attempt, claim)) = there.filter(|(attempt, _)| attempt.opened.expected_head == head) else {
        return Ok(None);
    };
    if attempt.closed.is_none() {
        let at_work = at_work_elsewhere(attempt, &claim, note.age, own)?;
        return Ok(at_work.map(|at_work| ClaimReport::AtWork(Box::new(at_work))));
    }
    let is_news = is_news(own()?.as_ref(), &attempt.opened.attempt, attempt.replied.is_some());
    Ok(is_news.then(|| ClaimReport::Over(Box::new(attempt))))
}

/// The machine that runs an attempt, judging by a claim of this age. `None` if the attempt has ended, if its machine is
/// gone, or if this machine made it: then the thread's lock shows whether it runs.
fn at_work_elsewhere(
    attempt: RecordedAttempt,
    claim: &Claim,
    age: Duration,
    own: impl FnOnce() -> Result<Option<RecordedAttempt>>,
) -> Result<Option<AtWork>> {
    if attempt.closed.is_some() || age >= claim.lease() {
        return Ok(None);
    }
    let is_known = own()?.is_some_and(|own| own.opened.attempt == attempt.opened.attempt);
    Ok((!is_known).then(|| claim.at_work(attempt, age)))
}

/// Whether the claim of an ended attempt says more than this machine's record.
fn is_news(own: Option<&RecordedAttempt>, attempt: &str, was_replied_to: bool) -> bool {
    let own = own.filter(|own| own.opened.attempt == attempt);
    own.is_none_or(|own| own.replied.is_none() && was_replied_to)
}

/// Records what ended on another machine. The caller holds the lock of the thread.
pub(crate) fn catch_up(home: &Home, thread: &ThreadId, head: NodeHash) -> Result<()> {
    let Some(claim) = home.notes().note(&claim::name(thread))?.as_ref().and_then(Claim::from_note) else {
        return Ok(());
    };
    let is_over = |attempt: &RecordedAttempt| attempt.opened.expected_head == head && attempt.closed.is_some();
    if claim.attempt(thread).as_ref().is_some_and(is_over) {
        claim::bring_in(home, thread, &claim)?;
    }
    Ok(())
}

/// The error when another machine claimed the next step first.
pub(crate) fn outrun(thread: &ThreadId, theirs: Option<&Claim>) -> Error {
    let attempt = theirs.and_then(|claim| Some((claim.attempt(thread)?, claim)));
    match attempt {
        Some((attempt, claim)) => at_work(attempt, claim, Duration::ZERO),
        None => claim::moved(thread),
    }
}
