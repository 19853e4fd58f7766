//! The groups of a thread: the branches of each, and how far they are.

use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::agent_name::AgentName;
use uwf_core::config::UwfConfig;
use uwf_core::node::NodeKind;
use uwf_core::number;
use uwf_core::outcome::SUCCEEDED;
use uwf_core::spending::SpendingTotals;
use uwf_core::thread::ThreadId;
use uwf_core::usage::ThreadLimits;
use uwf_core::workflow::{GROUP_AGENT, PlannedBranch, RoleGroup, picked_copy};

use crate::attempt::child_threads;
use crate::attempt::recorded::RecordedAttempt;
use crate::attempt::settings::ThreadSettings;
use crate::error::{Error, Result};
use crate::root::history::HistoryLine;
use crate::root::home::Home;
use crate::root::ids;
use crate::thread::branches::{self, BranchEnd, LinkedBranch};
use crate::thread::load::Thread;
use crate::thread::moderate;
use crate::thread::nodes;
use crate::thread::state::ThreadState;
use crate::thread::steps::StepParts;
use crate::views::branches::{group_path, path_above, path_below};
use crate::views::cost::{self, CostBy};
use crate::views::show;
use crate::views::thread_now::ThreadNow;

/// How many levels of groups within groups are read. More than any workflow needs; a damaged record may name a thread as its own branch.
const MAX_NESTING: usize = 16;

/// A group that a thread plays or has played.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupStatus {
    /// The role.
    pub role: String,
    /// Its step in the thread; absent while it is played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<NodeHash>,
    /// Position of that step in the thread, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// The group's thread, if this machine knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// The branches, in the order of the workflow or of the items.
    pub branches: Vec<BranchStatus>,
    /// Roles whose conditions did not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// A branch of a group.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchStatus {
    /// Its name in the group: its role, the key of its item, or its number from 1.
    pub name: String,
    /// Its path: `GROUP.BRANCH`, or `GROUP.BRANCH.BRANCH` within another group.
    pub branch: String,
    /// The role that it plays.
    pub role: String,
    /// State of its thread; absent if it has not begun, or if only its step is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<ThreadState>,
    /// Whether the group continued without it, because it failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Whether it is the copy that was picked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub picked: bool,
    /// Outcome of the workflow or the group that played it; absent if an agent did, or if it has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Its thread, if this machine knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// Its last step, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<NodeHash>,
    /// Agent that plays or played it.
    #[serde(flatten)]
    pub agent: Option<AgentName>,
    /// When its first attempt began, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    /// When it ended, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
    /// Milliseconds that its agents worked so far.
    pub took_ms: u64,
    /// Milliseconds that its agents waited so far for a place among the agents at work.
    #[serde(skip_serializing_if = "number::is_zero")]
    pub waited_ms: u64,
    /// Attempts of this machine's record whose agents began to work, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<WorkSpan>,
    /// Its spending, with its failed attempts.
    pub spent: SpendingTotals,
    /// Why it failed or does not continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The group that it plays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Box<GroupStatus>>,
}

/// The time that an agent worked, in Unix milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkSpan {
    /// When it began.
    pub from: u64,
    /// When it ended; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
}

impl BranchStatus {
    fn planned(group: &str, above: Option<&str>, planned: &PlannedBranch) -> BranchStatus {
        BranchStatus {
            name: planned.name.clone(),
            branch: path_below(above, group, &planned.name),
            role: planned.role.clone(),
            state: None,
            failed: false,
            picked: false,
            outcome: None,
            thread: None,
            step: None,
            agent: None,
            started_at: None,
            ended_at: None,
            took_ms: 0,
            waited_ms: 0,
            attempts: Vec::new(),
            spent: SpendingTotals::default(),
            why: None,
            group: None,
        }
    }

    /// The state in a word: for a workflow that did not succeed, its outcome; for the best copy, `picked`.
    #[must_use]
    pub fn state_in_words(&self) -> &str {
        match (self.failed, self.state) {
            (true, _) => "failed",
            (false, _) if self.unsuccessful().is_some() => self.unsuccessful().unwrap_or_default(),
            (false, _) if self.picked => "picked",
            (false, Some(state)) => state.name(),
            (false, None) if self.step.is_some() => ThreadState::Completed.name(),
            (false, None) => "not started",
        }
    }

    /// The outcome of the workflow that played it, if it is not `succeeded`.
    #[must_use]
    pub fn unsuccessful(&self) -> Option<&str> {
        self.outcome.as_deref().filter(|outcome| *outcome != SUCCEEDED)
    }
}

impl GroupStatus {
    /// The time from the start of its first attempt to the end of its last branch, or to now, in Unix milliseconds. `None` if no attempt
    /// is known here.
    #[must_use]
    pub fn span(&self) -> Option<(u64, u64)> {
        let now = ids::now_ms();
        let from = self.branches.iter().filter_map(|branch| branch.started_at).min()?;
        let to = self
            .branches
            .iter()
            .filter(|branch| branch.started_at.is_some())
            .map(|branch| branch.ended_at.unwrap_or(now));
        Some((from, to.max().unwrap_or(now)))
    }

    /// The spending of its branches.
    #[must_use]
    pub fn spent(&self) -> SpendingTotals {
        let mut all = SpendingTotals::default();
        self.branches.iter().for_each(|branch| all.merge(branch.spent.clone()));
        all
    }

    /// Its branches, each followed by the branches of the group that it plays.
    #[must_use]
    pub fn all_branches(&self) -> Vec<&BranchStatus> {
        let mut all = Vec::new();
        for branch in &self.branches {
            all.push(branch);
            all.extend(branch.group.iter().flat_map(|group| group.all_branches()));
        }
        all
    }
}

/// The group that a thread plays, or played last; `None` before a group has begun.
pub fn newest(now: &ThreadNow<'_>, config: &UwfConfig) -> Result<Option<GroupStatus>> {
    Ok(all(now, config, 1)?.pop())
}

/// The newest groups of a thread, at most `most`, oldest first. The last one may still be played.
pub fn all(now: &ThreadNow<'_>, config: &UwfConfig, most: usize) -> Result<Vec<GroupStatus>> {
    GroupReader { home: now.thread.home(), config }.groups(now, most, MAX_NESTING)
}

/// The work of a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchWork {
    /// Agent of its newest attempt or step.
    pub agent: Option<AgentName>,
    /// When its first attempt began, in Unix milliseconds.
    pub started_at: Option<u64>,
    /// Attempts of this machine's record whose agents began to work, oldest first.
    pub attempts: Vec<WorkSpan>,
    /// Milliseconds that its agents worked so far.
    pub took_ms: u64,
    /// Milliseconds that its agents waited so far for a place among the agents at work.
    pub waited_ms: u64,
    /// Its spending, with its failed attempts.
    pub spent: SpendingTotals,
    /// Outcome of the workflow or the group that played it; `None` if an agent did, or if it has not ended.
    pub outcome: Option<String>,
}

/// The work of the thread of a branch.
pub fn work(now: &ThreadNow<'_>, config: &UwfConfig) -> BranchWork {
    let recorded = now.record.all();
    let times = WorkTimes::new(&recorded, now.end.as_ref().map(|end| end.completed_at));
    let spent = cost::of_thread(now, config, CostBy::Role).total;
    let attempted = now.newest().map(|attempt| attempt.opened.agent.names());
    let agent = match now.has_ended() {
        true => agent_of(&now.thread),
        false => None,
    };
    // The step of a workflow does not name the alias of its agent.
    let agent = match (agent, attempted) {
        (Some(agent), Some(attempted)) if agent.agent == attempted.agent => Some(attempted),
        (agent, attempted) => agent.or(attempted),
    };
    let started_at = recorded.first().map(|attempt| attempt.opened.opened_at);
    let took_ms = if recorded.is_empty() { spent.duration_ms } else { times.took_ms };
    let last = (now.has_ended() && now.thread.last.is_some()).then_some(now.thread.head);
    let outcome = last.and_then(|last| step_outcome(now.thread.home(), last));
    BranchWork { agent, started_at, took_ms, waited_ms: times.waited_ms, attempts: times.spans, spent, outcome }
}

/// Reads groups of one storage root.
struct GroupReader<'h> {
    home: &'h Home,
    config: &'h UwfConfig,
}

impl GroupReader<'_> {
    fn groups(&self, now: &ThreadNow<'_>, most: usize, levels: usize) -> Result<Vec<GroupStatus>> {
        let (thread, workflow) = (&now.thread, now.thread.workflow()?);
        let plays: Vec<(&str, &RoleGroup)> = workflow.groups().collect();
        if plays.is_empty() || levels == 0 {
            return Ok(Vec::new());
        }
        if workflow.planned_branches().is_some() {
            return Ok(vec![self.own(thread, &workflow.name, levels)?]);
        }
        let settings = ThreadSettings::in_record(self.home, &now.record).ok().flatten();
        let above = |role: &str| path_above(self.home, settings.as_ref()?, role);
        let mut groups = Vec::new();
        for (role, play) in &plays {
            let id = child_threads::id_for(thread, role);
            if child_threads::find(self.home, &id)?.is_some() {
                let group = Thread::any(self.home, &id)?;
                groups.push(self.group((role, play), &group, Some(id), above(role).as_deref(), levels)?);
            }
        }
        let chain = thread.chain()?;
        let mut played: Vec<(usize, &str, &RoleGroup)> = Vec::new();
        for (role, play) in plays {
            played.extend(chain.positions_of_role(role).map(|index| (index, role, play)));
        }
        played.sort_unstable_by_key(|(index, ..)| std::cmp::Reverse(*index));
        for (index, role, play) in played.into_iter().take(most.saturating_sub(groups.len())) {
            groups.push(self.played(thread, index, (role, play), above(role).as_deref(), levels)?);
        }
        groups.reverse();
        Ok(groups)
    }

    /// The group whose own thread this is, with the name of its workflow.
    fn own(&self, group: &Thread<'_>, workflow: &str, levels: usize) -> Result<GroupStatus> {
        let path = group_path(self.home, &group.id);
        let role = path.as_deref().unwrap_or(workflow).rsplit('.').next().unwrap_or_default();
        let play = self.play_above(group, role).unwrap_or_default();
        self.group((role, &play), group, Some(group.id.clone()), path.as_deref(), levels)
    }

    /// The group as the workflow of the thread that plays it has it; `None` if this machine does not know that thread.
    fn play_above(&self, group: &Thread<'_>, role: &str) -> Option<RoleGroup> {
        let above = child_threads::parent_of(self.home, &group.id)?;
        let workflow = Thread::any(self.home, &above).ok()?.workflow().ok()?;
        workflow.roles.get(role)?.more.play.clone()
    }

    /// The group of step `index`.
    fn played(
        &self,
        thread: &Thread<'_>,
        index: usize,
        (role, play): (&str, &RoleGroup),
        above: Option<&str>,
        levels: usize,
    ) -> Result<GroupStatus> {
        let hash = thread.step_hash(index)?;
        let (step, _) = nodes::step_node(self.home.store(), hash)?;
        let detail = nodes::get(self.home.store(), step.detail)?;
        let place = |group: GroupStatus| GroupStatus { step: Some(hash), index: Some(index + 1), ..group };
        if step.agent != GROUP_AGENT || NodeKind::from_type_hash(detail.type_hash) != Some(NodeKind::StepNode) {
            // The group had no branches, or a person made its step.
            let left_out = left_out(play, &[]);
            let (branches, role) = (Vec::new(), role.to_owned());
            return Ok(place(GroupStatus { role, step: None, index: None, thread: None, branches, left_out }));
        }
        let id = child_threads::id_for(&thread.as_of(index)?, role);
        let known = child_threads::find(self.home, &id)?.map(|_| id);
        let group = match &known {
            Some(id) => Thread::load_at(self.home, id.clone(), step.detail)?,
            None => Thread::without_id(self.home, step.detail)?,
        };
        let mut status = self.group((role, play), &group, known, above, levels).map(place)?;
        let picked = nodes::get(self.home.store(), step.output).ok().and_then(|output| picked_copy(&output.payload));
        if let Some(copy) = picked.filter(|_| play.copies.is_some()).and_then(|copy| status.branches.get_mut(copy - 1))
        {
            copy.picked = true;
        }
        Ok(status)
    }

    /// A group by its own thread.
    fn group(
        &self,
        (role, play): (&str, &RoleGroup),
        group: &Thread<'_>,
        thread: Option<ThreadId>,
        above: Option<&str>,
        levels: usize,
    ) -> Result<GroupStatus> {
        let planned = group.workflow()?.planned_branches();
        let planned =
            planned.ok_or_else(|| Error::data(format!("thread {} is not the thread of a group", group.id)))?;
        let linked = branches::linked(group)?;
        let mut branches = Vec::with_capacity(planned.len());
        for (position, plan) in planned.iter().enumerate() {
            let branch = BranchStatus::planned(role, above, plan);
            let branch = match thread {
                Some(_) => self.by_thread(branch, group, position, levels)?,
                None => branch,
            };
            branches.push(match linked.get(position) {
                Some(linked) => self.ended(branch, linked)?,
                None => branch,
            });
        }
        branches.extend(self.resolvers((role, play), group, &planned, above, levels)?);
        let left_out = left_out(play, &planned);
        Ok(GroupStatus { role: role.to_owned(), step: None, index: None, thread, branches, left_out })
    }

    /// The branches of the role that resolves conflicts, as far as this machine knows their threads. A group plans none of them.
    fn resolvers(
        &self,
        (role, play): (&str, &RoleGroup),
        group: &Thread<'_>,
        planned: &[PlannedBranch],
        above: Option<&str>,
        levels: usize,
    ) -> Result<Vec<BranchStatus>> {
        let Some(resolver) = &play.resolve else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for id in child_threads::in_order(self.home, &group.id)? {
            let place = ThreadSettings::load(self.home, &id)?.and_then(|settings| settings.branch);
            let Some(name) = place.map(|place| place.name) else { continue };
            if planned.iter().all(|branch| branch.name != name) {
                let plan =
                    PlannedBranch { name, role: resolver.clone(), may_fail: false, limits: ThreadLimits::default() };
                found.push(self.by_thread(BranchStatus::planned(role, above, &plan), group, 0, levels)?);
            }
        }
        Ok(found)
    }

    /// Adds the data of a branch's thread.
    fn by_thread(
        &self,
        branch: BranchStatus,
        group: &Thread<'_>,
        position: usize,
        levels: usize,
    ) -> Result<BranchStatus> {
        // The copies of a group are played before it has steps, and its judge after them.
        let heads = [0, position.min(group.chain()?.len())];
        let ids = heads.into_iter().map(|steps| Ok(child_threads::id_for(&group.as_of(steps)?, &branch.name)));
        let ids = ids.collect::<Result<Vec<_>>>()?;
        let mut found = None;
        for id in ids {
            if found.is_none() && child_threads::find(self.home, &id)?.is_some() {
                found = Some(id);
            }
        }
        let Some(id) = found else { return Ok(branch) };
        let now = ThreadNow::read(self.home, &id)?;
        let status = show::status(&now)?;
        let group = self.groups(&now, 1, levels - 1)?.pop().map(Box::new);
        let has_failed = now.end.as_ref().is_some_and(HistoryLine::is_failed_branch);
        let BranchWork { agent, started_at, attempts, took_ms, waited_ms, spent, outcome } = work(&now, self.config);
        Ok(BranchStatus {
            failed: has_failed,
            state: Some(status.state),
            step: now.thread.last.is_some().then_some(now.thread.head),
            started_at,
            ended_at: status.changed_at.filter(|_| status.done),
            why: status.why.filter(|_| has_failed || status.state != ThreadState::Completed),
            thread: Some(id),
            outcome,
            agent,
            took_ms,
            waited_ms,
            attempts,
            spent,
            group,
            ..branch
        })
    }

    /// Adds the result of a branch from its step in the group.
    fn ended(&self, branch: BranchStatus, linked: &LinkedBranch) -> Result<BranchStatus> {
        let step = match &linked.end {
            BranchEnd::Failed(why) => return Ok(BranchStatus { failed: true, why: Some(why.clone()), ..branch }),
            BranchEnd::Step(_) if branch.thread.is_some() => return Ok(branch),
            BranchEnd::Step(step) => *step,
        };
        let spent = cost::of_step(self.home, self.config, step);
        let own = Thread::without_id(self.home, step)?;
        let (agent, took_ms, outcome) = (agent_of(&own), spent.duration_ms, step_outcome(self.home, step));
        Ok(BranchStatus {
            step: Some(step),
            agent,
            ended_at: Some(linked.linked_at),
            took_ms,
            spent,
            outcome,
            ..branch
        })
    }
}

/// The roles of a group that were not played because of their conditions.
fn left_out(play: &RoleGroup, planned: &[PlannedBranch]) -> Vec<String> {
    let is_left_out = |role: &&String| play.repeated().is_none() && planned.iter().all(|branch| branch.name != **role);
    play.roles.iter().map(|branch| &branch.role).filter(is_left_out).cloned().collect()
}

/// The outcome of the workflow or the group that played a step; `None` if an agent did. If it can't be decided again, the step is shown
/// without it.
#[must_use]
pub fn step_outcome(home: &Home, step: NodeHash) -> Option<String> {
    moderate::outcome_of_branch(home, step).ok().flatten()
}

/// The agent of a thread's newest step.
fn agent_of(thread: &Thread<'_>) -> Option<AgentName> {
    let last = thread.chain().ok()?.len().checked_sub(1)?;
    let step = thread.step(last, StepParts::ALIAS).ok()?;
    Some(AgentName { alias: step.alias, agent: step.agent })
}

/// When the agents of a thread worked, and how long they waited for a place.
#[derive(Debug, Default)]
struct WorkTimes {
    spans: Vec<WorkSpan>,
    took_ms: u64,
    waited_ms: u64,
}

impl WorkTimes {
    /// The times of a record's attempts, oldest first. `ended_at` is the end of an attempt that has no end of its own.
    fn new(attempts: &[RecordedAttempt], ended_at: Option<u64>) -> WorkTimes {
        let now = ids::now_ms();
        let mut times = WorkTimes::default();
        for attempt in attempts {
            let to = attempt.closed.as_ref().map(|closed| closed.closed_at);
            let to = to.or(attempt.finished.as_ref().map(|finished| finished.finished_at)).or(ended_at);
            let whole = to.unwrap_or(now).saturating_sub(attempt.opened.opened_at);
            let Some(started) = &attempt.started else {
                // No agent has begun to work.
                times.waited_ms += whole;
                continue;
            };
            times.waited_ms += started.waited_ms;
            times.took_ms += whole.saturating_sub(started.waited_ms);
            times.spans.push(WorkSpan { from: started.started_at.unwrap_or(attempt.opened.opened_at), to });
        }
        times
    }
}
