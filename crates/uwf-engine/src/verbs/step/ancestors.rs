//! The marks of the threads above a child thread that has changed outside of their steps: a person has answered, retried, resumed or killed
//! it.

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use crate::attempt::child_threads::stopped_branches::{self, StoppedBranch};
use crate::attempt::child_threads::{self, MAX_ANCESTORS, branch_path};
use crate::attempt::settings::ThreadSettings;
use crate::error::{ErrorKind, Result};
use crate::root::home::Home;
use crate::root::lock;
use crate::root::log::{LogFile, log};
use crate::root::marks::{self, MarkReason, ThreadMark};
use crate::thread::load::Thread;
use crate::thread::state::{self, ThreadState};

/// Marks that the end of an attempt sets.
pub(super) const OF_ATTEMPTS: [ThreadMark; 3] = [ThreadMark::Waiting, ThreadMark::Limited, ThreadMark::Stuck];

/// The child threads of one role, as far as they decide whether the role can continue.
#[derive(Default)]
struct ChildStates {
    /// Branches that have stopped.
    branches: Vec<(ThreadState, StoppedBranch)>,
    /// Why other children have stopped, and which branch was killed.
    others: Vec<(ThreadState, String)>,
    /// When the first child can continue: at the end of a usage limit, or of the wait for a reply.
    until: Option<u64>,
    /// Whether a child is ready for its next step.
    is_any_ready: bool,
}

/// A change of a child thread outside of its steps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChildChange {
    /// A person has answered, retried or resumed it, or it made a step.
    Continued,
    /// A person has killed it, so a thread above that is stuck stays so.
    Killed,
}

/// Updates the marks of the threads above a child thread. Only logs a failure, because the change of the child has succeeded.
pub(crate) fn mark_again(home: &Home, child: &ThreadId, change: ChildChange) {
    if let Err(error) = try_mark_again(home, child, change) {
        let log = LogFile::open(&home.log_file(child));
        log!(log, "H6T2X8VB", Warn, "the threads above keep their marks: {}", error.message);
    }
}

/// Updates the marks of a thread that has active children at its head, and of the threads above it. Only logs a failure.
pub(crate) fn mark_with_children(home: &Home, id: &ThreadId) {
    let first = || -> Result<()> {
        let Some(head) = home.heads().read(id.as_str())? else { return Ok(()) };
        let mut children = ChildStates::default();
        children.read(home, id, head.hash)?;
        let Some(_lock) = lock::take_within(home, id, std::time::Duration::ZERO)? else { return Ok(()) };
        let mark = OF_ATTEMPTS.into_iter().find(|mark| marks::get(home, id, *mark).is_some());
        match mark.filter(|_| children.is_any_ready || children.has_any_stopped()) {
            Some(mark) => mark_by_children(home, id, head.hash, mark, None),
            None => Ok(()),
        }
    };
    if let Err(error) = first() {
        let log = LogFile::open(&home.log_file(id));
        log!(log, "W8K3M5QD", Warn, "the thread keeps its mark: {}", error.message);
    }
    mark_again(home, id, ChildChange::Continued);
}

/// When the first active child of a thread at its head can continue, Unix milliseconds; `None` if none has such a time.
pub(super) fn first_end(home: &Home, id: &ThreadId, head: NodeHash) -> Result<Option<u64>> {
    let mut children = ChildStates::default();
    children.read(home, id, head)?;
    Ok(children.until)
}

fn try_mark_again(home: &Home, child: &ThreadId, change: ChildChange) -> Result<()> {
    let mut child = child.clone();
    let killed = match change {
        ChildChange::Killed => Some(KilledChild { fault: fault_of_killed(home, &child)? }),
        ChildChange::Continued => None,
    };
    for _ in 0..MAX_ANCESTORS {
        let Some(parent) = child_threads::parent_of(home, &child) else { return Ok(()) };
        let Some(head) = home.heads().read(parent.as_str())? else { return Ok(()) };
        // A step of the parent sets its marks itself.
        let Some(_lock) = lock::take_within(home, &parent, std::time::Duration::ZERO)? else { return Ok(()) };
        if let Some(mark) = OF_ATTEMPTS.into_iter().find(|mark| marks::get(home, &parent, *mark).is_some()) {
            mark_by_children(home, &parent, head.hash, mark, killed.as_ref())?;
        }
        child = parent;
    }
    Ok(())
}

/// A child thread that a person has killed.
struct KilledChild {
    /// Why the threads above it cannot continue, unless they continue without it.
    fault: Option<String>,
}

/// Why the threads above a killed child cannot continue; `None` for a branch without which its group continues.
fn fault_of_killed(home: &Home, child: &ThreadId) -> Result<Option<String>> {
    let Some(branch) = ThreadSettings::load(home, child)?.and_then(|settings| settings.branch) else {
        return Ok(Some(child_threads::was_killed(child)));
    };
    let Some(group) = child_threads::parent_of(home, child) else { return Ok(None) };
    let (group, _) = Thread::active(home, &group)?;
    let planned = group.workflow()?.planned_branches().unwrap_or_default();
    let may_fail = planned.iter().any(|planned| planned.name == branch.name && planned.may_fail);
    let path = branch_path::path(home, child).unwrap_or_else(|| branch.path());
    Ok((!may_fail).then(|| format!("branch `{path}` was killed")))
}

/// Sets the mark that the children of a thread at its head require. No mark remains if a child is ready, and none has failed. A thread that
/// is stuck stays so after a child was killed.
fn mark_by_children(
    home: &Home,
    parent: &ThreadId,
    head: NodeHash,
    earlier: ThreadMark,
    killed: Option<&KilledChild>,
) -> Result<()> {
    let mut children = ChildStates::default();
    children.read(home, parent, head)?;
    let fault = killed.and_then(|killed| killed.fault.clone());
    children.others.extend(fault.map(|why| (ThreadState::Stuck, why)));
    let stopped = |state: ThreadState| {
        let branches = children.branches.iter().map(|(of_child, _)| of_child);
        branches.chain(children.others.iter().map(|(of_child, _)| of_child)).any(|of_child| *of_child == state)
    };
    let mark = if stopped(ThreadState::Stuck) {
        Some(ThreadMark::Stuck)
    } else if children.is_any_ready {
        None
    } else if stopped(ThreadState::Limited) {
        Some(ThreadMark::Limited)
    } else if !children.has_any_stopped() {
        None
    } else {
        Some(ThreadMark::Waiting)
    };
    if mark.is_none() && earlier == ThreadMark::Stuck && !children.is_any_ready && killed.is_some() {
        return Ok(());
    }
    let known = marks::get(home, parent, earlier);
    marks::clear(home, parent, &OF_ATTEMPTS)?;
    let Some(mark) = mark else { return Ok(()) };
    let role = known.as_ref().and_then(|known| known.role.clone()).unwrap_or_default();
    let until = children.until.filter(|_| matches!(mark, ThreadMark::Limited | ThreadMark::Waiting));
    let reason = MarkReason { head: Some(head), until, ..MarkReason::from_message(mark, &role, &children.message()) };
    let since = known.filter(|_| mark == earlier).map_or(reason.since, |known| known.since);
    marks::set(home, parent, mark, &MarkReason { since, ..reason })
}

impl ChildStates {
    fn has_any_stopped(&self) -> bool {
        !self.branches.is_empty() || !self.others.is_empty()
    }

    fn message(&self) -> String {
        let branches: Vec<StoppedBranch> = self.branches.iter().map(|(_, branch)| branch.clone()).collect();
        let of_branches = stopped_branches::message(&branches);
        let others = self.others.iter().map(|(_, why)| why.as_str());
        others.chain((!branches.is_empty()).then_some(of_branches.as_str())).collect::<Vec<_>>().join("\n")
    }

    /// Reads the active children that began at a head of their parent. The thread of a group has no steps of its own, so its branches count.
    fn read(&mut self, home: &Home, parent: &ThreadId, head: NodeHash) -> Result<()> {
        for child in child_threads::active(home, parent)? {
            let thread = match Thread::active(home, &child) {
                // It has just ended.
                Err(error) if error.kind == ErrorKind::NotFound => continue,
                found => found?.0,
            };
            if thread.start.parent != Some(head) {
                continue;
            }
            let set = marks::marks_of_thread(home, &child);
            match state::of_active(home, &child, &set) {
                ThreadState::Active if thread.workflow()?.planned_branches().is_some() => {
                    self.read(home, &child, thread.head)?;
                }
                ThreadState::Active | ThreadState::Running => self.is_any_ready = true,
                state => {
                    let mark = set.into_iter().find(|mark| *mark != ThreadMark::Open);
                    let reason = mark.and_then(|mark| marks::get(home, &child, mark));
                    let end = reason.as_ref().and_then(|reason| reason.until);
                    self.until = self.until.into_iter().chain(end).min();
                    let why = reason.map_or_else(|| state.name().to_owned(), |reason| reason.message());
                    match branch_path::path(home, &child) {
                        Some(path) => {
                            self.branches.push((state, StoppedBranch { path, state: state.name(), why }));
                        }
                        None => self.others.push((state, format!("child thread {child}: {}", why.trim_end()))),
                    }
                }
            }
        }
        Ok(())
    }
}
