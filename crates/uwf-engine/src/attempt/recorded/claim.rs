//! A claim: what other machines know of the newest attempt at a thread, where the store is shared.
//!
//! It is a note beside the head, `attempt.THREAD`, with the lines that the record on the machine of the attempt has of it. That
//! machine writes it before it starts an agent, and anew while the agent is at work (see [`crate::attempt::lease`]), so that its age
//! tells whether the machine is alive. No clock of one machine is compared with that of another: how old a note is the store says, and
//! for how long an attempt had been under way the machine that is at it.
//!
//! A claim says something about one position. Once the head has moved, nobody looks at it any more, and the next one takes its place.

use std::time::Duration;

use json_cas::{Expected, Note, NoteWritten, Version};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_core::config::LONGEST_LEASE;
use uwf_core::thread::ThreadId;

use super::attempt::Attempt;
use super::boot_id;
use super::lines::{Closed, Line, Opened, Outcome, Replied};
use super::output::OutputFiles;
use crate::attempt::at_work::AtWork;
use crate::attempt::redactor::Redactor;
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::log::{Log, log};
use crate::root::{ids, machine, record};

/// How often a claim is told again what the record says when somebody wrote it in between. Its own machine renews it every few seconds.
const TRIES: usize = 5;

/// What the note says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Claim {
    /// Machine that wrote it.
    #[serde(deserialize_with = "machine::deserialize")]
    pub(crate) machine: String,
    /// How long it holds without being renewed, milliseconds.
    lease: u64,
    /// For how long the attempt had been under way when this was written, milliseconds.
    elapsed: u64,
    /// The lines of the attempt, oldest first.
    lines: Vec<Value>,
}

impl Claim {
    /// What a note says; `None` for one that is no claim.
    pub(crate) fn of(note: &Note) -> Option<Claim> {
        serde_json::from_value(note.value.clone()).ok()
    }

    /// The attempt that it is about; `None` when its lines are none of an attempt at this thread.
    pub(crate) fn attempt(&self, thread: &ThreadId) -> Option<Attempt> {
        let lines: Vec<String> = self.lines.iter().map(Value::to_string).collect();
        super::newest(lines.join("\n").as_bytes(), thread)
    }

    /// What a note says of an attempt at this thread; `None` for any other note.
    pub(crate) fn with_attempt(note: &Note, thread: &ThreadId) -> Option<(Attempt, Claim)> {
        let claim = Claim::of(note)?;
        Some((claim.attempt(thread)?, claim))
    }

    /// How long it holds without being renewed, at most [`LONGEST_LEASE`].
    pub(crate) fn lease(&self) -> Duration {
        Duration::from_millis(self.lease).min(LONGEST_LEASE)
    }

    /// For how long the attempt had been under way when this was written.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_millis(self.elapsed)
    }

    /// Who is at work on an attempt that it is about, when it was written so long ago.
    pub(crate) fn at_work(&self, attempt: Attempt, age: Duration) -> AtWork {
        AtWork {
            thread: attempt.opened.thread,
            machine: self.machine.clone(),
            role: attempt.opened.role,
            agent: attempt.opened.agent.names(),
            since: self.elapsed() + age,
            lease: self.lease(),
        }
    }

    /// The same, written so much later.
    pub(crate) fn renewed(self, elapsed: Duration) -> Claim {
        Claim { elapsed: millis(elapsed), ..self }
    }

    /// The same, with what the record says and it doesn't yet. What it says already stays: another machine may have closed the attempt,
    /// and the keeper knows more secrets than the process of an agent.
    fn with_news(mut self, told: &Attempt, lines: Vec<Line>, redactor: &Redactor) -> Claim {
        let news: Vec<Line> = lines.into_iter().filter(|line| !told.has(line)).collect();
        self.lines.extend(written(&news, redactor));
        self
    }

    /// The same, closed by this machine because the one that was at work is gone.
    pub(crate) fn taken_over(self, attempt: &str, why: &str) -> Claim {
        self.over(attempt, Outcome::Failed, why)
    }

    fn over(mut self, attempt: &str, outcome: Outcome, why: &str) -> Claim {
        let closed = Closed {
            attempt: attempt.to_owned(),
            outcome,
            error: Some(why.to_owned()),
            node: None,
            adopted: false,
            closed_at: ids::now_ms(),
        };
        self.lines.extend(serde_json::to_value(Line::Closed(closed)));
        Claim { machine: machine::name(), ..self }
    }

    /// Its lines.
    fn lines(&self) -> impl Iterator<Item = Line> {
        self.lines.iter().filter_map(|line| Line::parse(line.to_string().as_bytes()))
    }

    /// The note.
    pub(crate) fn value(&self) -> Value {
        serde_json::to_value(self).expect("a claim is texts and numbers")
    }
}

/// Name of the note that has the claim on a thread.
pub(crate) fn name(thread: &ThreadId) -> String {
    format!("{KIND}{thread}")
}

/// What stands for the boot of another machine. It is none of this machine, so that no process here is taken for one of there.
const ELSEWHERE: &str = "elsewhere";

/// What the name of such a note begins with.
pub(crate) const KIND: &str = "attempt.";

/// The thread that a note has the claim on; `None` for other notes.
pub(crate) fn thread_of(name: &str) -> Option<ThreadId> {
    name.strip_prefix(KIND)?.parse().ok()
}

/// All claims, each with how long ago it was written.
///
/// # Errors
/// Those of the store.
pub(crate) fn all(home: &Home) -> Result<Vec<(ThreadId, Claim, Duration)>> {
    let Some(notes) = home.notes() else { return Ok(Vec::new()) };
    let names: Vec<String> = notes.notes(KIND)?.into_iter().map(|listed| listed.name).collect();
    let claim = |(name, note): (String, Note)| Some((thread_of(&name)?, Claim::of(&note)?, note.age));
    Ok(notes.read_notes(&names)?.into_iter().filter_map(claim).collect())
}

/// How the claiming of the next step ended.
#[derive(Debug)]
#[must_use]
pub(crate) enum Claimed {
    /// Nobody shares the store: the lock of the thread is all there needs to be.
    Alone,
    /// The step is this machine's as long as it renews the claim.
    Ours(Claim, Version),
    /// Somebody else was quicker.
    Theirs(Option<Claim>),
}

/// Claims the next step for an attempt that is about to be put on record, if the claim there is still the one that was looked at.
///
/// # Errors
/// Those of the store, and `Config` when it cannot be told what is secret.
pub(crate) fn claim(home: &Home, opened: &Opened, seen: Option<&Version>) -> Result<Claimed> {
    let Some(notes) = home.notes() else { return Ok(Claimed::Alone) };
    let config = home.config()?;
    let lines = written(&[Line::Opened(Box::new(opened.clone()))], &Redactor::of(home)?);
    let claim = Claim { machine: machine::name(), lease: millis(config.lease()), elapsed: 0, lines };
    let expected = seen.map_or(Expected::Nothing, Expected::At);
    Ok(match notes.write_note(&name(&opened.thread), expected, &claim.value())? {
        NoteWritten::Done(version) => Claimed::Ours(claim, version),
        // An answer was lost, and the write was made again.
        NoteWritten::Moved(Some(note)) if note.value == claim.value() => Claimed::Ours(claim, note.version),
        NoteWritten::Moved(note) => Claimed::Theirs(note.as_ref().and_then(Claim::of)),
    })
}

/// Gives a claim up that nothing came of, since its attempt was not begun: others need not wait for its lease.
pub(crate) fn give_up(home: &Home, opened: &Opened, claim: &Claim, version: &Version, why: &str) {
    let Some(notes) = home.notes() else { return };
    let over = claim.clone().over(&opened.attempt, Outcome::Suspended, why);
    // Should that fail, they do.
    let _ = notes.write_note(&name(&opened.thread), Expected::At(version), &over.value());
}

/// Writes into the claim what the record says of its attempt now. The record is what counts here, and its lines are written
/// already: when this fails, another machine waits for the lease instead, and is told nothing.
pub(super) fn tell(home: &Home, thread: &ThreadId) {
    if let Some(broker) = home.broker() {
        return broker.tell();
    }
    if home.notes().is_none() {
        return;
    }
    if let Err(error) = told(home, thread) {
        log!(
            Log::open(&home.log_file(thread)),
            "N4V7Q2ZC",
            Warn,
            "other machines were not told of the attempt: {error}"
        );
    }
}

fn told(home: &Home, thread: &ThreadId) -> Result<()> {
    let Some(notes) = home.notes() else { return Ok(()) };
    let (name, redactor) = (name(thread), Redactor::of(home)?);
    let mut note = notes.note(&name)?;
    for _ in 0..TRIES {
        let Some(there) = note else { return Ok(()) };
        let Some(claim) = Claim::of(&there) else { return Ok(()) };
        let (Some(told), Some(own)) = (claim.attempt(thread), super::read(home, thread)?) else { return Ok(()) };
        if told.opened.attempt != own.opened.attempt {
            return Ok(());
        }
        let mut lines = super::lines_of_newest(home, thread)?;
        if !is_kept(home, &own)? {
            lines.retain(|line| !matches!(line, Line::Answered(_)));
        }
        match notes.write_note(
            &name,
            Expected::At(&there.version),
            &claim.with_news(&told, lines, &redactor).value(),
        )? {
            NoteWritten::Done(_) => return Ok(()),
            NoteWritten::Moved(now) => note = now,
        }
    }
    Ok(())
}

/// The refusal when another machine was quicker to claim the next step, and did not say for what.
pub(crate) fn moved(thread: &ThreadId) -> Error {
    Error::busy(format!("another machine took the next step of thread {thread} in this moment"))
        .hint("look at it with `uwf thread show`, then try again")
}

/// Writes a reply into the claim of its attempt, before it is put on record: of two machines whose people reply in one moment, one is
/// the first. Gives the reply that is there then.
///
/// # Errors
/// Those of the store, `ClaimMoved` when the claim is about another attempt.
pub(super) fn reply(home: &Home, thread: &ThreadId, replied: Replied) -> Result<Replied> {
    let Some(notes) = home.notes() else { return Ok(replied) };
    let name = name(thread);
    let mut note = notes.note(&name)?;
    loop {
        // Only a store that was shared afterwards has none; or somebody has spoiled it.
        let Some(there) = note.filter(|note| !note.value.is_null()) else { return Ok(replied) };
        let of_it = Claim::with_attempt(&there, thread).filter(|(told, _)| told.opened.attempt == replied.attempt);
        let Some((told, mut claim)) = of_it else { return Err(moved(thread)) };
        if let Some(first) = told.replied {
            return Ok(first);
        }
        claim.lines.extend(serde_json::to_value(Line::Replied(replied.clone())));
        match notes.write_note(&name, Expected::At(&there.version), &claim.value())? {
            NoteWritten::Done(_) => return Ok(replied),
            NoteWritten::Moved(now) => note = now,
        }
    }
}

/// Whether all that the agent of a failed attempt has answered is in its node. A value that it handed in is not, and a text may be cut
/// short by a power loss.
fn is_kept(home: &Home, own: &Attempt) -> Result<bool> {
    let files = OutputFiles::of(home, &own.opened.thread, &own.opened.attempt);
    Ok(!files.has_value()? && own.opened.boot_id == boot_id()?)
}

/// Takes the claim on a thread away, which has ended or is gone: whoever is still at work on it sees that and ends its agent.
pub(crate) fn remove(home: &Home, thread: &ThreadId) {
    if let Err(error) = forget(home, thread) {
        log!(
            Log::open(&home.log_file(thread)),
            "W8J3K6PD",
            Warn,
            "the note on the newest attempt was not removed: {error}"
        );
    }
}

/// The same for whoever removes the thread: as long as there is a note of it, the thread is taken for one whose head was lost.
///
/// # Errors
/// Those of the store.
pub(crate) fn forget(home: &Home, thread: &ThreadId) -> Result<()> {
    Ok(home.notes().map_or(Ok(()), |notes| notes.remove_note(&name(thread)))?)
}

/// Adds to the record what a claim knows and the record does not: an attempt of another machine, or what became of one elsewhere.
/// Whether there was anything.
///
/// # Errors
/// `Io`.
pub(crate) fn bring_in(home: &Home, thread: &ThreadId, claim: &Claim) -> Result<bool> {
    let Some(theirs) = claim.attempt(thread) else { return Ok(false) };
    let own = super::read(home, thread)?;
    let known = own.as_ref().filter(|own| own.opened.attempt == theirs.opened.attempt);
    let of_it = claim.lines().filter(|line| line.attempt() == Some(&theirs.opened.attempt));
    let mut new: Vec<Line> = of_it.filter(|line| known.is_none_or(|known| !known.has(line))).collect();
    // What it answered is on that machine. Of an attempt that was closed there it is in a node, too.
    new.retain(|line| !matches!(line, Line::Answered(_)) || theirs.closed.is_some());
    for line in &mut new {
        if let Line::Opened(opened) = line {
            let before = own.as_ref().map(|own| own.earlier_at(opened.expected_head)).unwrap_or_default();
            opened.earlier = union(before, &opened.earlier);
            opened.machine.get_or_insert_with(|| claim.machine.clone());
            // Its process ids say nothing here.
            opened.boot_id = ELSEWHERE.to_owned();
        }
    }
    record::append_all(home, thread, &new)?;
    Ok(!new.is_empty())
}

/// Failed attempts of both, each once.
fn union(mut all: Vec<json_cas::Hash>, more: &[json_cas::Hash]) -> Vec<json_cas::Hash> {
    for hash in more {
        if !all.contains(hash) {
            all.push(*hash);
        }
    }
    all
}

/// Lines as they are written where others read them: without what is secret here.
fn written(lines: &[Line], redactor: &Redactor) -> Vec<Value> {
    lines.iter().filter_map(|line| serde_json::to_value(line).ok()).map(|line| redactor.value(&line)).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
