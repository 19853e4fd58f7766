//! What this machine knows of one thread beside the index.

use json_cas::Hash;
use serde::Serialize;
use uwf_core::node::StepNode;
use uwf_core::thread::ThreadId;

use crate::attempts::{self, Attempt, Outcome};
use crate::chain;
use crate::home::Home;
use crate::load::{self, Thread};
use crate::lock;
use crate::settings::Settings;

/// Where a head was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Its line in the index.
    Index,
    /// `attempt.jsonl`, the record of its newest attempt.
    Attempt,
    /// `cache/chains/<id>`, the steps it had.
    Chain,
    /// `settings.json`: the head it began at.
    Settings,
    /// Its line in the history, or the copy of it in `attempt.jsonl`.
    History,
}

impl Source {
    /// What people call it.
    pub fn told(self) -> &'static str {
        match self {
            Source::Index => "the index",
            Source::Attempt => "its attempt record",
            Source::Chain => "the chain cache",
            Source::Settings => "its settings",
            Source::History => "the history",
        }
    }
}

/// A head that local records tell of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) head: Hash,
    pub(super) from: Source,
    /// The head before, as long as the index may rightly still be there: the next step takes the result over.
    pub(super) pending_from: Option<Hash>,
}

/// The newest head that local records tell of and whose nodes are readable; of those that are not, the newest.
pub(super) fn known(home: &Home, id: &ThreadId) -> Option<Known> {
    let settings = Settings::load(home, id).ok().flatten();
    let attempt = attempts::read(home, id).ok().flatten();
    let of_attempt = attempt.as_ref().map(|attempt| of_attempt(home, id, attempt));
    let of_chain = || {
        let head = chain::last_known(home, id)?;
        let is_ours =
            settings.as_ref().and_then(|settings| settings.begun_at).is_none_or(|at| same_start(home, head, at));
        is_ours.then_some(Known { head, from: Source::Chain, pending_from: None })
    };
    let begun = settings.as_ref().and_then(|settings| settings.begun_at);
    let of_settings = begun.map(|head| Known { head, from: Source::Settings, pending_from: None });
    if let Some(known) = of_attempt.filter(|known| is_readable(home, known.head)) {
        return Some(known);
    }
    of_chain().filter(|known| is_readable(home, known.head)).or(of_attempt).or(of_settings)
}

fn of_attempt(home: &Home, id: &ThreadId, attempt: &Attempt) -> Known {
    let before = attempt.opened.expected_head;
    let at = |head, from, pending_from| Known { head, from, pending_from };
    let outcome = attempt.closed.as_ref().map(|closed| closed.outcome);
    // A keeper that is at it moves the head itself.
    if matches!(outcome, Some(Outcome::Failed | Outcome::Quarantined | Outcome::Suspended)) || lock::is_held(home, id) {
        return at(before, Source::Attempt, None);
    }
    let pending = outcome.is_none().then_some(before);
    match &attempt.finished {
        Some(finished) if follows(home, finished.step, before) => at(finished.step, Source::Attempt, pending),
        // The record may be damaged itself.
        None if outcome == Some(Outcome::Linked) => match chain::last_known(home, id) {
            Some(step) if follows(home, step, before) => at(step, Source::Chain, None),
            _ => at(before, Source::Attempt, None),
        },
        Some(_) | None => at(before, Source::Attempt, None),
    }
}

/// Whether a step is the one after a head.
fn follows(home: &Home, step: Hash, head: Hash) -> bool {
    load::step_node(home.store(), step).is_ok_and(|(step, _)| before(&step) == head)
}

fn before(step: &StepNode) -> Hash {
    step.prev.unwrap_or(step.start)
}

/// Whether head and start of a thread at this head are readable.
pub(super) fn is_readable(home: &Home, head: Hash) -> bool {
    start_of(home, head).is_some()
}

fn start_of(home: &Home, head: Hash) -> Option<Hash> {
    Thread::at(home, crate::ids::new_thread_id(), head).ok().map(|thread| thread.start_hash)
}

/// Whether two heads belong to runs of the same start.
pub(super) fn same_start(home: &Home, a: Hash, b: Hash) -> bool {
    start_of(home, a).is_some_and(|start| Some(start) == start_of(home, b))
}

/// Whether `to` is `from` or one of the heads before it.
pub(super) fn leads_to(home: &Home, from: Hash, to: Hash) -> bool {
    let mut at = from;
    while at != to {
        // It ends at the start, since a node cannot refer to one that did not exist.
        match load::step_node(home.store(), at) {
            Ok((step, _)) => at = before(&step),
            Err(_) => return false,
        }
    }
    true
}
