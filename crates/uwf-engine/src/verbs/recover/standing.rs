//! The state of a thread without a head in a shared store, from its notes there and this machine's record.
//!
//! A thread has a note of its workplace from its start until it is removed, and a note of its newest attempt from its first step until it
//! ends. So a thread without any note was removed, whatever the records of a machine say, and is not restored.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::time::Duration;

use json_cas::NodeHash;
use serde_json::Value;
use uwf_core::thread::ThreadId;

use super::ends::OrphanThreadEnds;
use super::evidence::{HeadEvidence, HeadSource, RecordedHead};
use crate::attempt::recorded::claim::{self, Claim};
use crate::attempt::recorded::{self, RecordedAttempt};
use crate::error::{Error, ErrorCause, Result};
use crate::root::history::HistoryLine;
use crate::root::home::Home;
use crate::root::{lock, record, workplace};
use crate::verbs::start::new_thread;

/// How long after its note a thread may get its head. The two are written one after the other, each with a few retries.
const BEGINNING: Duration = Duration::from_mins(2);

/// State of a thread.
pub(super) enum HeadlessThreadState {
    /// Active, at this head.
    At(RecordedHead),
    /// Ended.
    Ended(Box<HistoryLine>),
    /// This machine does not know at present.
    Unclear(String),
    /// It is being started.
    Beginning,
    /// The store has no notes about it.
    Nowhere,
}

/// Threads with notes in the store, and the age of the newest note of each.
pub(super) fn noted(home: &Home) -> Result<BTreeMap<ThreadId, Duration>> {
    let mut noted = BTreeMap::new();
    for kind in [workplace::KIND, claim::KIND] {
        for listed in home.notes().notes(kind)? {
            if let Some(Ok(id)) = listed.name.strip_prefix(kind).map(str::parse::<ThreadId>) {
                let age = noted.entry(id).or_insert(listed.age);
                *age = listed.age.min(*age);
            }
        }
    }
    Ok(noted)
}

/// Evidence for the state of threads.
pub(super) struct HeadlessThreadEvidence<'h> {
    home: &'h Home,
    evidence: &'h HeadEvidence<'h>,
    noted: &'h BTreeMap<ThreadId, Duration>,
    history: &'h [Value],
    /// Read only if a thread has no head, because it looks through all nodes.
    ends: OnceCell<OrphanThreadEnds>,
}

impl<'h> HeadlessThreadEvidence<'h> {
    pub(super) fn new(
        home: &'h Home,
        evidence: &'h HeadEvidence<'h>,
        noted: &'h BTreeMap<ThreadId, Duration>,
        history: &'h [Value],
    ) -> HeadlessThreadEvidence<'h> {
        HeadlessThreadEvidence { home, evidence, noted, history, ends: OnceCell::new() }
    }

    /// The state of a thread.
    pub(super) fn of_thread(&self, id: &ThreadId) -> Result<HeadlessThreadState> {
        let Some(age) = self.noted.get(id) else { return Ok(HeadlessThreadState::Nowhere) };
        if let Some(end) = self.evidence.end_of(id) {
            return Ok(HeadlessThreadState::Ended(Box::new(end)));
        }
        if lock::is_held(self.home, id)? {
            return Ok(HeadlessThreadState::Unclear(
                "a process of this machine is running it: try again when that has ended".to_owned(),
            ));
        }
        let note = self.home.notes().note(&claim::name(id))?;
        let Some(note) = note else { return self.not_stepped(id, *age) };
        let Some((attempt, claim)) = Claim::with_attempt(&note, id) else {
            return Ok(HeadlessThreadState::Unclear("the note of its newest attempt is not readable".to_owned()));
        };
        if attempt.closed.is_none() && attempt.result().is_none() && note.age < claim.lease() {
            let why = format!("machine `{}` is running it: try again when that has ended", claim.machine);
            return Ok(HeadlessThreadState::Unclear(why));
        }
        self.attempted(id, attempt)
    }

    /// A thread that was stepped and has not ended.
    fn attempted(&self, id: &ThreadId, attempt: RecordedAttempt) -> Result<HeadlessThreadState> {
        // Other machines learn an attempt's outcome only if it failed.
        let own = recorded::read(self.home, id)?.filter(|own| own.opened.attempt == attempt.opened.attempt);
        let known = self.evidence.of_attempt(id, own.as_ref().unwrap_or(&attempt));
        let before = attempt.opened.expected_head;
        let ends = self.ends()?;
        if ends.has_at(known.head) || ends.has_at(before) {
            return Ok(HeadlessThreadState::Unclear(format!(
                "a thread that was at {} has ended, and it may have been this one",
                known.head
            )));
        }
        Ok(HeadlessThreadState::At(RecordedHead { from: HeadSource::Claim, ..known }))
    }

    /// A thread that has only the note of its workplace: it was never stepped, or it has ended.
    fn not_stepped(&self, id: &ThreadId, age: Duration) -> Result<HeadlessThreadState> {
        // If a start or fork on this machine was killed, its thread never gets a head.
        let is_of_here = record::says_anything(self.home, id)?;
        if (age < BEGINNING || is_of_here) && !new_thread::has_begun(self.home, id)? {
            return Ok(HeadlessThreadState::Beginning);
        }
        let place = match workplace::read_workplace(self.home, id) {
            Err(Error { cause: Some(ErrorCause::StrangeNote), .. }) => None,
            place => place?,
        };
        let Some(place) = place else {
            return Ok(HeadlessThreadState::Unclear("the note of where it works is not readable".to_owned()));
        };
        let Some(start) = self.evidence.start_of(place.node) else {
            return Ok(HeadlessThreadState::At(RecordedHead {
                head: place.node,
                from: HeadSource::Workplace,
                pending_from: None,
            }));
        };
        let was_stepped_here = recorded::read(self.home, id)?.is_some();
        if was_stepped_here || self.ends()?.has_of(start) {
            let why = "it has ended, or has lost a note: `uwf recover` on the machine that stepped it last may know";
            return Ok(HeadlessThreadState::Unclear(format!("{why} (it works on `{}`)", place.machine)));
        }
        Ok(HeadlessThreadState::At(RecordedHead { head: place.node, from: HeadSource::Workplace, pending_from: None }))
    }

    fn ends(&self) -> Result<&OrphanThreadEnds> {
        if let Some(ends) = self.ends.get() {
            return Ok(ends);
        }
        let named = self.history.iter().filter_map(|line| line.get("end")?.as_str()?.parse().ok());
        // This machine knows which threads it ended, even if the history was lost.
        let here = self.home.recorded_threads()?.into_iter().filter_map(|id| self.evidence.end_of(&id)?.end);
        let read = OrphanThreadEnds::read(self.home, &named.chain(here).collect())?;
        Ok(self.ends.get_or_init(|| read))
    }

    /// A step that this machine knows to follow the head of a thread: the head was set back.
    pub(super) fn later_step(&self, id: &ThreadId, head: NodeHash) -> Result<Option<NodeHash>> {
        let Some(own) = recorded::read(self.home, id)? else { return Ok(None) };
        let was_linked = own.closed.as_ref().is_some_and(|closed| closed.outcome == recorded::AttemptOutcome::Linked);
        let known = self.evidence.of_attempt(id, &own);
        if !was_linked || known.head == head {
            return Ok(None);
        }
        // Usually another machine has continued the thread.
        let note = self.home.notes().note(&claim::name(id))?;
        let newest = note.and_then(|note| Claim::with_attempt(&note, id));
        let is_outdated = newest.is_some_and(|(newest, _)| newest.opened.attempt > own.opened.attempt);
        Ok(Some(known.head).filter(|later| !is_outdated && self.evidence.leads_to(*later, head)))
    }
}
