//! The agent that plays a group: starts a thread for the group and one for each branch, and steps the branches at the same time, each step
//! with its own keeper.
//!
//! Every attempt finds the same threads. So whatever ends this process costs no step of a branch, and a retry plays only the branches that
//! have not ended.

mod handed_over;
mod parts;
mod pick;
mod plan;
mod resolve;
mod results;
mod tasks;
mod window;

use std::io::Write;

use agent_kit::answer::AgentAnswer;
use agent_kit::ladder::ExtractionLadder;
use agent_kit::play::give_up;
use agent_kit::{AgentContext, Error, Result, submit};
use json_cas::NodeHash;
use serde_json::{Map, Value};
use uwf_core::node::{EndStatus, TypedPayload};
use uwf_core::prompt::AnswerForm;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::{GROUP_AGENT, PlannedBranch, RoleGroup, Workflow};
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::attempt::bindings::{AgentBindings, AgentReference};
use uwf_engine::attempt::child_threads::{self, Child};
use uwf_engine::attempt::recorded::AttemptOpening;
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::attempt::worktree::NewWorktree;
use uwf_engine::root::history::HistoryLine;
use uwf_engine::root::home::Home;
use uwf_engine::root::project;
use uwf_engine::root::thread_branch::ThreadBranch;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::message;
use uwf_engine::verbs::end_group::{BranchResult, EndedBranch, end_group, link_branches};
use uwf_engine::verbs::group_files::{GroupFiles, MergeConflict};
use uwf_engine::verbs::start_child::{self, ChildTask};

use crate::progress;
use crate::workflow::BRIEF_SHARE;
use parts::branch_part;
use plan::GroupPlan;
pub(crate) use tasks::tasks;

/// The share of the prompt budget for a branch's last answer: half of its task.
const OWN_ANSWER_SHARE: usize = 2 * BRIEF_SHARE;

/// Plays the group that is a role of a thread.
///
/// # Errors
/// `Usage` outside an attempt, `Waiting` and `Limit` if branches wait or are at a limit, `AgentFailed` if branches failed, errors of the
/// expressions and nodes.
pub(crate) fn run(home: &Home, thread: &ThreadId, role: &str) -> Result<()> {
    let context = AgentContext::load(home, thread, role)?;
    let signals = SignalListener::listen()?;
    let step = play(&context).inspect_err(|error| {
        // If a signal stopped this process, the keeper knows why.
        if !error.kind.is_stop() || signals.stop().is_none() {
            give_up(&context, error, None);
        }
    })?;
    // The record already has it, whether or not stdout is still read.
    let _ = std::io::stdout().write_all(format!("{step}\n").as_bytes());
    Ok(())
}

/// A group that is being played.
struct GroupAttempt<'c, 'h> {
    context: &'c AgentContext<'h>,
    opened: &'c AttemptOpening,
    group: RoleGroup,
    workflow: Workflow,
    max_depth: u32,
    /// The files of the worktree that it works in, if there is one.
    files: Option<GroupFiles<'h>>,
    /// A stop signal that arrives at any time while the group is played.
    signals: SignalListener,
}

/// The part of a branch's task that other branches lack.
struct BranchTask<'t> {
    /// Its position in the group, from 0.
    position: usize,
    item: Option<&'t Value>,
    /// Its part of the prompt.
    part: &'t str,
    /// The role whose view of the parent's steps it has.
    sees_as: &'t str,
    /// Agents of its own.
    bound: AgentBindings,
    /// Whether it may have files of its own.
    has_files: bool,
}

fn play(context: &AgentContext<'_>) -> Result<NodeHash> {
    let opened = context.opened()?;
    let (home, name) = (context.thread().home(), context.role_name());
    let group = group_of(context)?;
    let limits = project::config_here(home)?.limits;
    let workflow = pick::with_person(home, context.thread().workflow()?, &group)?;
    let files = GroupFiles::begin(context.thread(), opened, &group)?;
    let signals = SignalListener::listen()?;
    let playing = GroupAttempt { context, opened, group, workflow, max_depth: limits.max_depth, files, signals };
    let plan = || GroupPlan::new(context.thread(), &playing.workflow, (name, &playing.group), limits.max_branches);
    let child = if start_child::find_child(context.thread(), name)?.is_some() {
        playing.begin(plan)?
    } else {
        let plan = plan()?;
        if plan.branches.is_empty() {
            return playing.submit_nothing();
        }
        playing.begin(|| Ok(plan))?
    };
    let ended = match child {
        Child::Ended(ended) => ended,
        Child::Active(id) => playing.finish(&id)?,
    };
    playing.deliver(&ended)
}

/// The group that the role of an attempt is.
fn group_of(context: &AgentContext<'_>) -> Result<RoleGroup> {
    let name = context.role_name();
    context.role().more.play.clone().ok_or_else(|| {
        Error::config(format!("role `{name}` does not play other roles, so `{GROUP_AGENT}` cannot play it"))
    })
}

impl GroupAttempt<'_, '_> {
    /// The thread of the group. `plan` is asked if it has not begun on this machine.
    fn begin(&self, plan: impl FnOnce() -> Result<GroupPlan>) -> Result<Child> {
        let (parent, name) = (self.context.thread(), self.context.role_name());
        // From storing its workflow until the head refers to it.
        let _hold = parent.home().hold_nodes()?;
        start_child::find_or_begin(parent, name, self.max_depth, || {
            let plan = plan()?;
            let workflow = self.workflow.group(name, &plan.steps()).ok_or_else(|| no_role(name))?;
            self.task(&workflow, self.prompt(&plan)?, ThreadSettings::default(), None)
        })
        .and_then(|child| start_child::revive_killed(parent, child))
    }

    /// The prompt of the group's thread: its items, or the task of its branches.
    fn prompt(&self, plan: &GroupPlan) -> Result<String> {
        match self.group.each {
            Some(_) => Ok(format!("{:#}", Value::from(plan.items.clone()))),
            None => self.context.branch_brief("", self.opened.prompt_budget / BRIEF_SHARE),
        }
    }

    /// The task of a group's thread, or of a branch; `settings` has what only this thread has.
    fn task(
        &self,
        workflow: &Workflow,
        prompt: String,
        settings: ThreadSettings,
        worktree: Option<NewWorktree>,
    ) -> Result<ChildTask> {
        let home = self.context.thread().home();
        let own = ThreadSettings::load(home, &self.context.thread().id)?;
        let settings = ThreadSettings {
            workspace: self.opened.workspace.clone(),
            bound: own.map(|own| own.bound).unwrap_or_default().with(settings.bound).for_workflow(workflow),
            ..settings
        };
        let hash = home.store().put(&workflow.draft())?;
        Ok(ChildTask { workflow: hash.to_string(), prompt, settings, worktree })
    }

    /// Plays the branches of the group's thread, picks a copy if the group has copies, and ends the thread.
    fn finish(&self, id: &ThreadId) -> Result<HistoryLine> {
        let home = self.context.thread().home();
        let (group, _) = Thread::active(home, id)?;
        let plan = GroupPlan::of_thread(&group, &self.group)?;
        let linked = group.chain()?.len();
        if linked < plan.branches.len() {
            let mut ended = self.play_branches(&group, &plan)?;
            self.refuse_without_copies(&group, &ended)?;
            if let Some(files) = &self.files {
                let mut resolve = |conflict: &MergeConflict| self.resolve(&group, &plan, conflict);
                files.join(&group, &names_of_ended(&ended), &mut resolve, &mut progress::line)?;
                ended.extend(self.resolved(&group, &plan)?);
            }
            link_branches(home, id, 0, &ended)?;
        }
        self.pick(id, &plan)?;
        end_group(home, id)
    }

    /// The storage root, and the path of the group.
    fn group_path(&self) -> (&Home, String) {
        let parent = self.context.thread();
        let path = child_threads::stopped_branches::group_path(parent.home(), &parent.id, self.context.role_name());
        (parent.home(), path)
    }

    /// Starts the thread of a branch, or finds it.
    fn start_branch(&self, group: &Thread<'_>, plan: &GroupPlan, position: usize) -> Result<Child> {
        let branch = &plan.branches[position];
        let item = plan.items.get(position);
        let part =
            branch_part(self.context, (&self.group, plan), position, self.opened.prompt_budget / OWN_ANSWER_SHARE)?;
        let workflow = || self.workflow.branch(&branch.role).ok_or_else(|| no_role(&branch.role));
        let bound = self.copy_agent(branch, position)?;
        self.start(
            group,
            branch,
            BranchTask { position, item, part: &part, sees_as: &branch.role, bound, has_files: true },
            workflow,
        )
    }

    /// The agent that the configuration gives a copy, unless the thread was started with another.
    fn copy_agent(&self, branch: &PlannedBranch, position: usize) -> Result<AgentBindings> {
        let parent = self.context.thread();
        let bound = ThreadSettings::load(parent.home(), &parent.id)?.map(|own| own.bound).unwrap_or_default();
        let config = project::config(parent.home(), &self.opened.workspace)?;
        let group = self.context.role_name();
        let alias = config.agent_of_copy(self.context.workflow_name(), group, position);
        let agents = alias
            .filter(|_| self.group.copies.is_some() && bound.agent_for_role(&branch.role).is_none())
            .map(|alias| (branch.role.clone(), AgentReference::plain(alias)));
        Ok(AgentBindings { agents: agents.into_iter().collect(), every_role: None })
    }

    fn start(
        &self,
        group: &Thread<'_>,
        branch: &PlannedBranch,
        task: BranchTask<'_>,
        workflow: impl FnOnce() -> Result<Workflow>,
    ) -> Result<Child> {
        let parent = self.context.thread();
        // From storing its workflow until the head refers to it.
        let _hold = parent.home().hold_nodes()?;
        start_child::find_or_begin(group, &branch.name, self.max_depth, || {
            let context = AgentContext::for_role(
                Thread::load_at(parent.home(), parent.id.clone(), parent.head)?,
                task.sees_as,
                None,
            )?;
            let prompt = context.branch_brief(task.part, self.opened.prompt_budget / BRIEF_SHARE)?;
            let place = ThreadBranch {
                group: self.context.role_name().to_owned(),
                name: branch.name.clone(),
                item: task.item.cloned(),
                position: Some(task.position),
            };
            let settings = ThreadSettings {
                limits: branch.limits,
                branch: Some(place),
                bound: task.bound,
                ..ThreadSettings::default()
            };
            let worktree = match &self.files {
                Some(files) if task.has_files => files.branch_worktree()?,
                Some(_) | None => None,
            };
            self.task(&workflow()?, prompt, settings, worktree)
        })
        .and_then(|child| match branch.may_fail {
            // The group continues without it.
            true => Ok(child),
            false => start_child::revive_killed(group, child),
        })
    }

    fn submit_nothing(&self) -> Result<NodeHash> {
        let is_list = self.group.repeated().is_some() && self.group.key.is_none();
        let nothing = if is_list { Value::Array(Vec::new()) } else { Value::Object(Map::new()) };
        submit::submit(self.context, AgentAnswer::made_by_uwf(nothing), AnswerForm::Json, self.ladder())
    }

    fn ladder(&self) -> ExtractionLadder<'static, 'static> {
        ExtractionLadder { rungs: self.opened.extract, feedback: None, extractor: None }
    }

    /// Turns the outputs of the branches into the output of the parent's role.
    fn deliver(&self, ended: &HistoryLine) -> Result<NodeHash> {
        let home = self.context.thread().home();
        if ended.status == EndStatus::Killed {
            let message = format!("group `{}`: {}", self.context.role_name(), child_threads::was_killed(&ended.thread));
            return Err(Error::agent_failed(message).hint(results::retry_hint(&self.context.thread().id)));
        }
        let thread = Thread::load_at(home, ended.thread.clone(), ended.head)?;
        let mut steps = message::branches(home.store(), ended.head)?;
        if self.group.resolve.is_some() {
            steps.truncate(thread.workflow()?.planned_branches().unwrap_or_default().len());
        }
        let output = match (self.group.copies, self.group.repeated(), &self.group.key) {
            (Some(_), ..) => self.picked(&thread, steps)?,
            (None, Some(_), None) => steps.into_iter().map(|step| step.output).collect(),
            (None, ..) => Value::Object(steps.into_iter().map(|step| (step.name, step.output)).collect()),
        };
        submit::submit_child(
            self.context,
            AgentAnswer::made_by_uwf(output),
            AnswerForm::Json,
            self.ladder(),
            ended.head,
        )
    }
}

/// The names of the branches that ended without a failure.
fn names_of_ended(branches: &[EndedBranch]) -> Vec<&str> {
    let has_step = |branch: &&EndedBranch| matches!(branch.result, BranchResult::Step(_));
    branches.iter().filter(has_step).map(|branch| branch.name.as_str()).collect()
}

fn no_role(name: &str) -> Error {
    Error::data(format!("the workflow has no role `{name}`"))
}
