//! Results of a workflow's conditions: the last time a thread left each role, and before its newest steps.

use std::collections::BTreeMap;
use std::ops::Range;

use uwf_core::moderator::TriedTransition;
use uwf_core::workflow::{START, Workflow};

use crate::thread::chain::role_key;
use crate::thread::load::Thread;
use crate::thread::moderate::{self, ConsideredTransition};

/// How many decisions are repeated at most: a page waits for them.
const MOST: usize = 24;

/// The last decision after a role, or at the start.
#[derive(Debug, Clone, PartialEq)]
pub struct LastDecision {
    /// The step after which it was made, from 1; 0 at the start.
    pub after: usize,
    /// The transitions that were tried.
    pub tried: Vec<TriedTransition>,
}

/// The last decision after each role that was played, and at the start. Omits decisions that take many steps or a separate process to
/// evaluate; `thread why` shows those.
pub fn last(thread: &Thread<'_>, workflow: &Workflow) -> BTreeMap<String, LastDecision> {
    let Ok(chain) = thread.chain() else { return BTreeMap::new() };
    let mut places: Vec<(usize, &str)> = vec![(0, START)];
    for role in workflow.roles.keys() {
        places.extend(chain.records().iter().rposition(|step| step.role == role_key(role)).map(|at| (at + 1, &**role)));
    }
    places.sort_unstable_by_key(|(after, _)| std::cmp::Reverse(*after));
    let decided = places.into_iter().take(MOST).filter_map(|(after, role)| {
        let decision = moderate::glance_at_decision(&thread.as_of(after).ok()?, workflow)?;
        Some((role.to_owned(), LastDecision { after, tried: decision.trace }))
    });
    decided.collect()
}

/// The transitions that were tried for the newest steps in a range of positions from 0, by the position of the step that was chosen. Omits
/// the same decisions as [`last`], and those for older steps.
pub fn for_steps(
    thread: &Thread<'_>,
    workflow: &Workflow,
    range: Range<usize>,
) -> BTreeMap<usize, Vec<ConsideredTransition>> {
    let decided = range.rev().take(MOST).filter_map(|index| {
        let before = thread.as_of(index).ok()?;
        let decision = moderate::glance_at_decision(&before, workflow)?;
        Some((index, moderate::explain(&before, workflow, &decision).considered))
    });
    decided.collect()
}
