//! Knowledge of this machine about one thread besides the index.

use std::cell::RefCell;

use json_cas::NodeHash;
use serde::Serialize;
use uwf_core::node::StepNode;
use uwf_core::thread::ThreadId;

use crate::attempt::recorded::{AttemptOutcome, RecordedAttempt, ThreadRecord};
use crate::attempt::settings::ThreadSettings;
use crate::error::{Error, Result};
use crate::root::history::HistoryLine;
use crate::root::home::Home;
use crate::root::lock;
use crate::thread::chain;
use crate::thread::load::Thread;
use crate::thread::nodes;

/// Where a head was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HeadSource {
    /// Its line in the index.
    Index,
    /// Its head in the store that machines share.
    Store,
    /// The note about its newest attempt, for other machines.
    Claim,
    /// The note that says where it works.
    Workplace,
    /// The note with the names of workflows.
    Names,
    /// The record of its newest attempt.
    Attempt,
    /// `cache/chains/<id>`, the thread's known steps.
    Chain,
    /// Its settings: the head it started at.
    Settings,
    /// Its line in the history, or the copy of that line in the thread's record.
    History,
}

impl HeadSource {
    /// The source as messages name it.
    pub fn in_words(self) -> &'static str {
        match self {
            HeadSource::Index => "the index",
            HeadSource::Store => "the store",
            HeadSource::Claim => "the note of its newest attempt",
            HeadSource::Workplace => "the note of where it works",
            HeadSource::Names => "the note of the names",
            HeadSource::Attempt => "its attempt record",
            HeadSource::Chain => "the chain cache",
            HeadSource::Settings => "its settings",
            HeadSource::History => "the history",
        }
    }
}

/// A head found in local records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordedHead {
    pub(super) head: NodeHash,
    pub(super) from: HeadSource,
    /// The previous head, if the index may still be there: the next step adopts the result.
    pub(super) pending_from: Option<NodeHash>,
}

/// Everything that is read to find the heads of threads. Damaged data is ignored. Data that cannot be read just now must not count as
/// damaged, or an intact thread would be lost or set back.
pub(super) struct HeadEvidence<'h> {
    home: &'h Home,
    unread: RefCell<Option<Error>>,
}

impl<'h> HeadEvidence<'h> {
    /// Evidence of a root before anything is read.
    pub(super) fn new(home: &'h Home) -> HeadEvidence<'h> {
        HeadEvidence { home, unread: RefCell::new(None) }
    }

    /// The result of a read; `None` for damaged data. Ask [`HeadEvidence::complete`] before acting on it.
    pub(super) fn get<T>(&self, read: Result<T, impl Into<Error>>) -> Option<T> {
        let unread = |error: Error| {
            if !error.is_damage() {
                self.unread.borrow_mut().get_or_insert(error);
            }
        };
        read.map_err(Into::into).map_err(unread).ok()
    }

    /// Whether all intact data could be read.
    pub(super) fn complete(self) -> Result<()> {
        let hint = "nothing was changed; if it can never be read, move it away and try again";
        self.unread.into_inner().map_or(Ok(()), |error| Err(error.hint(hint)))
    }

    /// The newest head in local records with readable nodes; if none is readable, the newest.
    pub(super) fn known(&self, id: &ThreadId) -> Option<RecordedHead> {
        let record = self.get(ThreadRecord::read(self.home, id));
        let settings =
            record.as_ref().and_then(|record| self.get(ThreadSettings::in_record(self.home, record)).flatten());
        let attempt = record.and_then(|record| record.newest());
        let of_attempt = attempt.as_ref().map(|attempt| self.of_attempt(id, attempt));
        let of_chain = || {
            let head = self.get(chain::last_known(self.home, id)).flatten()?;
            let is_ours =
                settings.as_ref().and_then(|settings| settings.begun_at).is_none_or(|at| self.same_start(head, at));
            is_ours.then_some(RecordedHead { head, from: HeadSource::Chain, pending_from: None })
        };
        let begun = settings.as_ref().and_then(|settings| settings.begun_at);
        let of_settings = begun.map(|head| RecordedHead { head, from: HeadSource::Settings, pending_from: None });
        if let Some(known) = of_attempt.filter(|known| self.is_readable(known.head)) {
            return Some(known);
        }
        of_chain().filter(|known| self.is_readable(known.head)).or(of_attempt).or(of_settings)
    }

    pub(super) fn of_attempt(&self, id: &ThreadId, attempt: &RecordedAttempt) -> RecordedHead {
        let before = attempt.opened.expected_head;
        let at = |head, from, pending_from| RecordedHead { head, from, pending_from };
        let outcome = attempt.closed.as_ref().map(|closed| closed.outcome);
        // A running keeper moves the head itself.
        if matches!(
            outcome,
            Some(
                AttemptOutcome::Failed
                    | AttemptOutcome::Asked
                    | AttemptOutcome::Quarantined
                    | AttemptOutcome::Suspended
            )
        ) || self.get(lock::is_held(self.home, id)).unwrap_or(true)
        {
            return at(before, HeadSource::Attempt, None);
        }
        let pending = outcome.is_none().then_some(before);
        match &attempt.finished {
            Some(finished) if self.follows(finished.step, before) => at(finished.step, HeadSource::Attempt, pending),
            // The record itself may be damaged.
            None if outcome == Some(AttemptOutcome::Linked) => {
                match self.get(chain::last_known(self.home, id)).flatten() {
                    Some(step) if self.follows(step, before) => at(step, HeadSource::Chain, None),
                    _ => at(before, HeadSource::Attempt, None),
                }
            }
            Some(_) | None => at(before, HeadSource::Attempt, None),
        }
    }

    /// Whether a step directly follows a head.
    fn follows(&self, step: NodeHash, head: NodeHash) -> bool {
        self.get(nodes::step_node(self.home.store(), step)).is_some_and(|(step, _)| before(&step) == head)
    }

    /// Whether both this head and its thread's start are readable.
    pub(super) fn is_readable(&self, head: NodeHash) -> bool {
        self.start_of(head).is_some()
    }

    pub(super) fn start_of(&self, head: NodeHash) -> Option<NodeHash> {
        self.get(Thread::load_at(self.home, crate::root::ids::new_thread_id(), head)).map(|thread| thread.start_hash)
    }

    /// Whether two heads belong to runs of the same start.
    pub(super) fn same_start(&self, a: NodeHash, b: NodeHash) -> bool {
        self.start_of(a).is_some_and(|start| Some(start) == self.start_of(b))
    }

    /// Whether `to` is `from` or one of the heads before it.
    pub(super) fn leads_to(&self, from: NodeHash, to: NodeHash) -> bool {
        let mut at = from;
        while at != to {
            // The walk ends at the start, since a node cannot refer to a later one.
            match self.get(nodes::step_node(self.home.store(), at)) {
                Some((step, _)) => at = before(&step),
                None => return false,
            }
        }
        true
    }

    /// Whether a history line names missing nodes while its copy names existing ones.
    pub(super) fn is_better_known(&self, end: &HistoryLine) -> bool {
        let is_there = |node| self.get(self.home.store().get(node).map_err(Error::from)).is_some();
        let is_readable = |end: &HistoryLine| self.is_readable(end.head) && end.end.is_none_or(is_there);
        !is_readable(end) && self.end_of(&end.thread).is_some_and(|copy| is_readable(&copy))
    }

    /// The copy of a thread's line in the history.
    pub(super) fn end_of(&self, id: &ThreadId) -> Option<HistoryLine> {
        self.get(ThreadRecord::read(self.home, id))?.end()
    }
}

fn before(step: &StepNode) -> NodeHash {
    step.prev.unwrap_or(step.start)
}
