//! The history that expressions of a thread's roles see. A branch has no steps of its own, so it sees the steps before its group, and its
//! item.

use serde_json::Value;
use uwf_core::moderator::ModeratorDecision;
use uwf_core::thread::MAX_GENERATIONS;
use uwf_core::workflow::Workflow;

use crate::attempt::settings::ThreadSettings;
use crate::error::Result;
use crate::thread::load::Thread;
use crate::thread::moderate::{self, ConsideredTransition, DecisionExplanation};

/// The history that expressions of a thread's roles see.
pub struct BranchOutlook<'t, 'h> {
    own: &'t Thread<'h>,
    /// For a branch, the thread whose role the outermost group is, at the step before the group.
    above: Option<Thread<'h>>,
    /// The item of the branch, or of the nearest branch above that has one.
    item: Option<Value>,
}

impl<'t, 'h> BranchOutlook<'t, 'h> {
    /// The outlook of a thread.
    pub fn for_thread(own: &'t Thread<'h>) -> Result<BranchOutlook<'t, 'h>> {
        let mut outlook = BranchOutlook { own, above: None, item: None };
        for _ in 0..MAX_GENERATIONS {
            let Some((above, item)) = above_group(outlook.thread())? else { break };
            outlook.above = Some(above);
            outlook.item = outlook.item.or(item);
        }
        Ok(outlook)
    }

    fn thread(&self) -> &Thread<'h> {
        self.above.as_ref().unwrap_or(self.own)
    }

    /// Evaluates an expression of the workflow.
    ///
    /// # Errors
    /// `Data` if it cannot be evaluated.
    pub fn evaluate(&self, expression: &str) -> Result<Option<Value>> {
        moderate::evaluate_bounded(self.thread(), expression, self.item.as_ref())
    }

    /// Whether a named condition of the workflow holds; `None` always does.
    ///
    /// # Errors
    /// `Data` if it cannot be evaluated.
    pub fn holds(&self, workflow: &Workflow, condition: Option<&str>) -> Result<bool> {
        let Some(name) = condition else { return Ok(true) };
        Ok(moderate::decide_alone(self.thread(), workflow, name, self.item.as_ref())?.taken().is_some())
    }

    /// Explains which branches a group of the thread has, as [`moderate::explain_branches`].
    pub(crate) fn explain_branches(&self, workflow: &Workflow, group: &str) -> Vec<ConsideredTransition> {
        moderate::explain_branches(self.thread(), workflow, group, self.item.as_ref())
    }
}

/// Explains a decision on a thread. If it chose a group with conditions, also which branches the group has.
pub fn explain(thread: &Thread<'_>, workflow: &Workflow, decision: &ModeratorDecision) -> DecisionExplanation {
    let explained = moderate::explain(thread, workflow, decision);
    // Without the outlook, the step fails with the reason.
    let outlook = BranchOutlook::for_thread(thread);
    let branches = outlook.map_or_else(|_| Vec::new(), |seen| seen.explain_branches(workflow, &explained.next));
    DecisionExplanation { branches, ..explained }
}

/// For a branch, the thread whose role its group is, at the head where the group began, and the branch's item.
pub(crate) fn above_group<'h>(branch: &Thread<'h>) -> Result<Option<(Thread<'h>, Option<Value>)>> {
    let home = branch.home();
    let Some(own) = ThreadSettings::load_or_published(home, &branch.id)? else { return Ok(None) };
    let (Some(place), Some(group), Some(group_head)) = (own.branch, own.parent, branch.start.parent) else {
        return Ok(None);
    };
    let above = ThreadSettings::load_or_published(home, &group)?.and_then(|group| group.parent);
    let Some(above) = above else { return Ok(None) };
    let Some(head) = Thread::load_at(home, group, group_head)?.start.parent else { return Ok(None) };
    Ok(Some((Thread::load_at(home, above, head)?, place.item)))
}
