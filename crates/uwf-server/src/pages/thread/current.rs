//! The step that comes next: its attempts so far, and since when it waits.

use uwf_core::agent_name::AgentName;
use uwf_core::config::UwfConfig;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::groups::GroupStatus;
use uwf_engine::views::show::ThreadStatus;
use uwf_engine::views::thread_now::ThreadNow;
use uwf_engine::views::timeline::{self, TimedWork};
use uwf_engine::views::why::{StepRouting, ThreadOutlook};

use super::child_work::ChildWork;
use super::time_bars::of_branches;

/// The step that a thread plays, or at which it has stopped.
pub(super) struct CurrentStep {
    pub(super) role: String,
    pub(super) agent: Option<AgentName>,
    pub(super) attempts: Vec<TimedWork>,
    /// Since when it waits.
    pub(super) waits_since: Option<u64>,
    /// The child thread that plays it.
    pub(super) child: Option<ChildWork>,
}

impl CurrentStep {
    /// The step of a thread; `None` if nothing was tried, and nothing is waited for. `next` names its role before an attempt, `group` is the
    /// group that is being played.
    pub(super) fn read(
        now: &ThreadNow<'_>,
        config: &UwfConfig,
        status: &ThreadStatus,
        (next, group): (Option<&ThreadOutlook>, Option<&GroupStatus>),
    ) -> Option<CurrentStep> {
        if status.done {
            return None;
        }
        let attempts = timeline::attempts_at_head(now);
        let waits = matches!(
            status.state,
            ThreadState::Waiting | ThreadState::Limited | ThreadState::Stuck | ThreadState::Paused
        );
        let waits_since = status.since.filter(|_| waits);
        let chosen = match next.map(|next| &next.routing) {
            Some(StepRouting::Explained(explained)) => Some(explained.next.clone()),
            _ => None,
        };
        let role = status.at_role.clone().or_else(|| attempts.last().map(|work| work.role.clone())).or(chosen)?;
        let is_idle = attempts.is_empty() && waits_since.is_none() && status.state != ThreadState::Running;
        if is_idle {
            return None;
        }
        let home = now.thread.home();
        // A group has a thread of its own, whose branches are known.
        let child = if group.is_some() { None } else { timeline::child_at_head(now, &role) };
        let child = child.and_then(|child| ChildWork::read(home, config, child));
        Some(CurrentStep { role, agent: status.agent.clone(), attempts, waits_since, child })
    }

    /// The times at which anything of it happened.
    pub(super) fn busy(&self, group: Option<&GroupStatus>) -> Vec<(u64, u64)> {
        let branches = group.into_iter().flat_map(of_branches);
        let own = self.attempts.iter().map(|work| (work.from, work.to));
        own.chain(branches).chain(self.child.iter().flat_map(ChildWork::busy)).collect()
    }

    /// Whether it waits, with no end so far.
    pub(super) fn waits(&self) -> bool {
        self.waits_since.is_some()
    }
}
