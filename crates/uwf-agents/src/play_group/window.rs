//! Plays the branches of a group, at most so many at the same time: when one ends, the next begins.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::mpsc;

use agent_kit::{Error, ErrorKind, Result, failure_notice};
use uwf_core::node::EndStatus;
use uwf_core::text::{ellipsize, one_line};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::PlannedBranch;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::attempt::child_threads::{self, Child};
use uwf_engine::attempt::plan::StepPlan;
use uwf_engine::attempt::recorded;
use uwf_engine::root::history::HistoryLine;
use uwf_engine::root::home::Home;
use uwf_engine::root::marks::{self, ThreadMark};
use uwf_engine::thread::ending;
use uwf_engine::thread::load::Thread;
use uwf_engine::verbs::end_group::{BranchResult, EndedBranch};
use uwf_engine::verbs::group_files::GroupFiles;
use uwf_engine::verbs::{kill, start_child};

use super::GroupAttempt;
use super::handed_over;
use super::plan::GroupPlan;
use super::results::BranchErrors;
use crate::command::exit;
use crate::workflow;

/// Most symbols of the reason why a branch failed, in the output of its group.
const REASON: usize = 2_000;

/// Why branches have not begun after the failure of another one.
const SAME_REASON: &str = "the agent is the same, and would fail for the same reason";

/// Why branches have not begun after their agent was silent.
const SILENT: &str =
    "the agent is the same, and printed nothing; some programs wait like that for the end of a usage limit";

impl GroupAttempt<'_, '_> {
    /// Plays all branches to their ends. A branch that fails or waits does not stop the others, except for a failure that others with the
    /// same agent would have as well. After a stop signal, no branch begins.
    pub(super) fn play_branches(&self, group: &Thread<'_>, plan: &GroupPlan) -> Result<Vec<EndedBranch>> {
        let count = plan.branches.len();
        let mut results: Vec<Option<Result<BranchResult>>> = (0..count).map(|_| None).collect();
        let mut stop = None;
        let mut queue: VecDeque<usize> = (0..count).collect();
        let mut marked = BTreeSet::new();
        let agents = self.agents(plan);
        let mut unusable = BTreeSet::new();
        let mut not_begun = SAME_REASON;
        let (send, receive) = mpsc::channel();
        let home = self.context.thread().home();
        std::thread::scope(|scope| {
            let mut at_work = 0;
            loop {
                while at_work < self.group.max()
                    && stop.is_none()
                    && let Some(position) = queue.pop_front()
                {
                    if unusable.contains(&agents[position]) {
                        continue;
                    }
                    if self.signals.stop().is_some() {
                        stop = Some(stopped());
                        break;
                    }
                    match self.start_branch(group, plan, position) {
                        Ok(Child::Ended(ended)) => {
                            results[position] = Some(self.ended(&plan.branches[position], ended));
                        }
                        Ok(Child::Active(id)) => {
                            let (send, branch) = (send.clone(), &plan.branches[position]);
                            let files = self.files.as_ref();
                            let workers = self.workers(files.is_some_and(GroupFiles::has_worktrees));
                            scope.spawn(move || {
                                let played = match files {
                                    Some(files) => {
                                        files.around(&branch.name, || play(home, &branch.name, &id, workers))
                                    }
                                    None => play(home, &branch.name, &id, workers),
                                };
                                // The receiver lives until no branch is at work.
                                let _ = send.send((position, played));
                            });
                            at_work += 1;
                        }
                        Err(error) => stop = Some(error),
                    }
                }
                if at_work == 0 {
                    queue.extend(self.answered_meanwhile(group, plan, &mut marked));
                    if queue.is_empty() || stop.is_some() {
                        break;
                    }
                    continue;
                }
                let Ok((position, played)) = receive.recv() else { break };
                at_work -= 1;
                let branch = &plan.branches[position];
                if let Err(error) = &played {
                    // A branch that may fail has had its only try.
                    let is_silent = error.failure().is_some_and(|failure| failure.is_silent) && !branch.may_fail;
                    if is_silent || is_for_all(group, &branch.name, error) {
                        unusable.insert(agents[position].clone());
                        not_begun = if is_silent { SILENT } else { SAME_REASON };
                    }
                }
                if played.as_ref().is_err_and(|error| error.kind == ErrorKind::Waiting)
                    && self.waits(group, plan, position)
                {
                    marked.insert(position);
                }
                let result = played.and_then(|ended| self.ended(branch, ended));
                // A failure that others with the same agent would have is not given up, however many of them have begun.
                let is_alone = agents.iter().filter(|agent| **agent == agents[position]).count() == 1;
                results[position] = Some(result.or_else(|error| self.give_up(group, branch, error, is_alone)));
            }
        });
        if stop.is_none() && results.iter().any(Option::is_none) {
            stop = Some(Error::agent_failed(not_begun));
        }
        let mut errors = BranchErrors::new(self.group_path(), stop);
        let mut ended = Vec::with_capacity(count);
        for (branch, result) in plan.branches.iter().zip(results) {
            let Some(result) = result else {
                errors.not_begun(&branch.name);
                continue;
            };
            match result {
                Ok(result) => ended.push(EndedBranch { name: branch.name.clone(), result }),
                Err(error) => errors.push(&branch.name, &start_child::child_id(group, &branch.name), error),
            }
        }
        if let Err(reached) = start_child::check_group_limits(group)
            && reached.kind == ErrorKind::Limit
        {
            errors.update_limit(&reached);
        }
        match errors.is_empty() {
            true => Ok(ended),
            false => Err(errors.into_error(&self.context.thread().id)),
        }
    }

    /// The directory in which a branch is handed over to workers, if they play it. Only this machine has the files of a worktree that
    /// branches share, so there a branch needs one of its own.
    pub(super) fn workers(&self, has_worktree: bool) -> Option<&Path> {
        self.opened.branches_to.as_deref().filter(|_| has_worktree || self.files.is_none())
    }

    /// The branches that waited for a person and no longer do: the person answered, or resumed them, while others were at work. Takes them
    /// out of `marked`.
    fn answered_meanwhile(&self, group: &Thread<'_>, plan: &GroupPlan, marked: &mut BTreeSet<usize>) -> Vec<usize> {
        let answered: Vec<usize> =
            marked.iter().copied().filter(|position| !self.waits(group, plan, *position)).collect();
        marked.retain(|position| !answered.contains(position));
        answered
    }

    /// Whether the thread of a branch is marked as waiting or paused.
    fn waits(&self, group: &Thread<'_>, plan: &GroupPlan, position: usize) -> bool {
        let id = start_child::child_id(group, &plan.branches[position].name);
        let is = |mark| marks::get(self.context.thread().home(), &id, mark).is_some();
        is(ThreadMark::Waiting) || is(ThreadMark::Paused)
    }

    /// The result of a branch that ended.
    fn ended(&self, branch: &PlannedBranch, ended: HistoryLine) -> Result<BranchResult> {
        match ended.status {
            EndStatus::Killed if branch.may_fail => {
                Ok(BranchResult::Failed(reason(self.context.thread().home(), &ended)?))
            }
            _ => not_killed(ended).map(|ended| BranchResult::Step(ended.head)),
        }
    }

    /// The agent of each branch: an alias or a command line. If it can't be found, the role stands for it, because only this role needs it.
    fn agents(&self, plan: &GroupPlan) -> Vec<String> {
        let step = StepPlan::load(self.context.thread(), None).ok();
        let agent = |(position, branch): (usize, &PlannedBranch)| {
            // Only copies have agents of their own.
            let copy = self.group.copies.and_then(|_| self.copy_agent(branch, position).ok());
            let copy = copy.and_then(|bound| bound.agents.into_values().next()).map(|copy| copy.agent);
            let of_role = || step.as_ref()?.agent(&branch.role, None).ok().map(|agent| agent.name);
            copy.or_else(of_role).unwrap_or_else(|| format!("role {}", branch.role))
        };
        plan.branches.iter().enumerate().map(agent).collect()
    }

    /// The result of a branch that stopped with an error. Where the group continues without it, the thread of a failed branch is ended, so
    /// that no later attempt pays for it again.
    ///
    /// # Errors
    /// The same error, if the group does not continue without the branch.
    fn give_up(
        &self,
        group: &Thread<'_>,
        branch: &PlannedBranch,
        error: Error,
        is_alone: bool,
    ) -> Result<BranchResult> {
        let is_given_up = branch.may_fail
            && (is_alone || !is_for_all(group, &branch.name, &error))
            && is_failure(group, &branch.name, &error)?;
        if !is_given_up {
            return Err(error);
        }
        let why = short_reason(&error.message);
        let home = self.context.thread().home();
        kill::give_up_branch(home, &start_child::child_id(group, &branch.name), &why)?;
        Ok(BranchResult::Failed(why))
    }
}

/// Plays the thread of a branch to its end: in this process, or by `workers`, to which it is handed over.
fn play(home: &Home, branch: &str, thread: &ThreadId, workers: Option<&Path>) -> Result<HistoryLine> {
    let mut signals = SignalListener::listen()?;
    match workers {
        Some(dir) if start_child::publish_place(home, thread)? => {
            handed_over::await_branch(home, (branch, thread), dir, &mut signals)
        }
        _ => workflow::drive_branch(home, branch, thread, &mut signals),
    }
}

/// Plays the thread of one branch to its end, unless a stop signal has arrived.
pub(super) fn play_one(
    home: &Home,
    branch: &str,
    thread: Child,
    signals: &SignalListener,
    workers: Option<&Path>,
) -> Result<HistoryLine> {
    let played = match thread {
        Child::Ended(ended) => Ok(ended),
        Child::Active(_) if signals.stop().is_some() => Err(stopped()),
        Child::Active(thread) => play(home, branch, &thread, workers),
    };
    played.and_then(not_killed)
}

/// The error after a stop signal.
fn stopped() -> Error {
    Error::new(ErrorKind::Terminated, "the group was asked to stop")
}

/// Whether an error is the failure of a branch, not of uwf or of its configuration, nor a limit of a thread above it.
fn is_failure(group: &Thread<'_>, branch: &str, error: &Error) -> Result<bool> {
    Ok(match error.kind {
        ErrorKind::AgentFailed | ErrorKind::NotExtractable => true,
        // A branch whose agent is at its usage limit continues later.
        ErrorKind::Limit => error.limit_end().is_none() && start_child::check_group_limits(group).is_ok(),
        // Its agent could not begin: the item does not fit the workflow that plays the role, or `with` does not fit the item.
        ErrorKind::Data => {
            let last = recorded::read(group.home(), &start_child::child_id(group, branch))?;
            last.and_then(|last| last.gave_up).is_some_and(|gave_up| gave_up.kind == ErrorKind::Data)
        }
        ErrorKind::Config => lacks_directory(group, branch)?,
        _ => false,
    })
}

/// Whether other branches would fail for the same reason as a branch.
fn is_for_all(group: &Thread<'_>, branch: &str, error: &Error) -> bool {
    // If the record can't be read, don't begin another branch.
    failure_notice::is_for_all(error)
        && !(error.kind == ErrorKind::Config && lacks_directory(group, branch).unwrap_or_default())
}

/// Whether the command of a branch had no directory to run in. Only its own role names that directory.
fn lacks_directory(group: &Thread<'_>, branch: &str) -> Result<bool> {
    let last = recorded::read(group.home(), &start_child::child_id(group, branch))?;
    Ok(last.is_some_and(|last| last.gave_up.is_some() && exit::directory(&last.opened).is_err()))
}

/// The end of a branch's thread, unless it was killed.
pub(super) fn not_killed(ended: HistoryLine) -> Result<HistoryLine> {
    match ended.status {
        EndStatus::Killed => Err(Error::agent_failed(child_threads::was_killed(&ended.thread))),
        _ => Ok(ended),
    }
}

/// Why a branch failed whose thread was ended.
fn reason(home: &Home, killed: &HistoryLine) -> Result<String> {
    if let Some(why) = ending::of_failed_branch(home, killed) {
        return Ok(why);
    }
    let last = recorded::read(home, &killed.thread)?.and_then(|last| last.gave_up);
    // A branch that waited has not failed because of its question.
    let failed = last.filter(|gave_up| gave_up.kind != ErrorKind::Waiting);
    Ok(failed.map_or_else(|| kill::WAS_KILLED.to_owned(), |gave_up| short_reason(&gave_up.error)))
}

/// The reason of a failure, on one line.
fn short_reason(text: &str) -> String {
    ellipsize(&one_line(text), REASON).into_owned()
}
