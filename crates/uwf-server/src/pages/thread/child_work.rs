//! The child thread that plays a role: when its agents worked, and the groups that it played.

use uwf_core::config::UwfConfig;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::GROUP_AGENT;
use uwf_engine::root::home::Home;
use uwf_engine::views::groups::{self, GroupStatus};
use uwf_engine::views::thread_now::ThreadNow;
use uwf_engine::views::timeline::{self, TimedStep, TimedWork};

use super::time_bars::of_branches;

/// Newest groups of a child thread whose branches are shown.
const GROUPS: usize = 4;

/// The work of a child thread.
#[derive(Default)]
pub(super) struct ChildWork {
    /// The thread, if this machine knows it.
    pub(super) thread: Option<ThreadId>,
    /// When its agents worked, without its groups.
    pub(super) work: Vec<TimedWork>,
    /// Its newest groups, oldest first.
    pub(super) groups: Vec<GroupStatus>,
}

impl ChildWork {
    /// The child thread that played the role of a step; `None` if an agent or a group did.
    pub(super) fn of_step(home: &Home, config: &UwfConfig, timed: &TimedStep) -> Option<ChildWork> {
        if !timed.step.is_child_thread || timed.step.agent == GROUP_AGENT {
            return None;
        }
        let known = timed.child.as_ref().and_then(|thread| ChildWork::read(home, config, thread.clone()));
        Some(known.unwrap_or_else(|| ChildWork { work: timed.work.clone(), ..ChildWork::default() }))
    }

    /// Reads a child thread; `None` if it is unreadable. Its own page says why.
    pub(super) fn read(home: &Home, config: &UwfConfig, thread: ThreadId) -> Option<ChildWork> {
        let now = ThreadNow::read(home, &thread).ok()?;
        let groups = groups::all(&now, config, GROUPS).unwrap_or_default();
        let mut work = timeline::work_so_far(&now, config);
        // The branches of a group have times of their own.
        work.retain(|work| groups.iter().all(|group| group.role != work.role));
        Some(ChildWork { thread: Some(thread), work, groups })
    }

    /// When its agents and its branches worked.
    pub(super) fn busy(&self) -> impl Iterator<Item = (u64, u64)> {
        let own = self.work.iter().map(|work| (work.from, work.to));
        own.chain(self.groups.iter().flat_map(of_branches))
    }
}
