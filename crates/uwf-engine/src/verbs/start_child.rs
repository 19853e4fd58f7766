//! Starting the child thread of a role that a workflow plays, or finding the existing one.

use std::collections::BTreeMap;

use json_cas::{NodeHash, SwapOutcome};
use serde_json::{Map, Value};
use uwf_core::input::{InputRequest, InputValues};
use uwf_core::node::{EndStatus, StartNode};
use uwf_core::thread::ThreadId;

use crate::attempt::branch_outlook::BranchOutlook;
use crate::attempt::child_threads::{self, Child};
use crate::attempt::git::GitScopeGuard;
use crate::attempt::plan::StepPlan;
use crate::attempt::redactor::SecretRedactor;
use crate::attempt::settings::ThreadSettings;
use crate::attempt::travel;
use crate::attempt::worktree::NewWorktree;
use crate::attempt_variable::ATTEMPT_VARIABLE;
use crate::error::{Error, ErrorKind, Result};
use crate::root::home::Home;
use crate::root::{lock, missing_thread};
use crate::thread::ending::ThreadEnding;
use crate::thread::load::Thread;
use crate::thread::{moderate, nodes};
use crate::verbs::kill;
use crate::verbs::start::readiness::NESTED_GROUPS_HINT;
use crate::verbs::start::thread_input::{self, ThreadInput};
use crate::verbs::start::{self, new_thread};
use crate::verbs::step::end;

/// Task of a child thread that is not yet started.
pub struct ChildTask {
    /// The workflow as the configuration names it.
    pub workflow: String,
    /// Its prompt.
    pub prompt: String,
    /// Its workspace, agents and limits; the parent is filled in.
    pub settings: ThreadSettings,
    /// Its own git worktree, if it does not work where its parent does.
    pub worktree: Option<NewWorktree>,
}

impl ChildTask {
    /// Whether it is a branch of the parent, which is a group. Group and branches are one level of nesting.
    fn is_branch(&self) -> bool {
        self.settings.branch.is_some()
    }
}

/// The id of the child thread of a role at the parent's head, whether or not there is one.
pub fn child_id(parent: &Thread<'_>, role: &str) -> ThreadId {
    child_threads::id_for(parent, role)
}

/// The child thread of a role at the parent's head, if there is one.
pub fn find_child(parent: &Thread<'_>, role: &str) -> Result<Option<Child>> {
    child_threads::find(parent.home(), &child_threads::id_for(parent, role))
}

/// The child thread of a role at the parent's head; starts one if it does not exist.
///
/// # Errors
/// `Limit` if it would be deeper than `maxDepth`, `Config` if the workflow does not exist, `Data` if its input does not fit; errors of
/// `task`, store and index.
pub fn find_or_begin(
    parent: &Thread<'_>,
    role: &str,
    max_depth: u32,
    task: impl FnOnce() -> Result<ChildTask>,
) -> Result<Child> {
    let home = parent.home();
    let id = child_threads::id_for(parent, role);
    if let Some(child) = child_threads::find(home, &id)? {
        // An earlier thread of the parent's id, which began it, may have been removed.
        if !home.children_dir(&parent.id).join(id.as_str()).exists() {
            child_threads::note_child(home, &parent.id, &id)?;
        }
        if matches!(child, Child::Active(_)) && ThreadSettings::load(home, &id)?.is_none() {
            go_on_here(parent, &id, task()?)?;
        }
        return Ok(child);
    }
    let task = task()?;
    let depth = parent.start.depth.unwrap_or(0).saturating_add(u32::from(!task.is_branch()));
    if depth > max_depth {
        let is_group = parent.workflow()?.roles.get(role).is_some_and(|role| role.more.play.is_some());
        let by = if is_group { "is a group" } else { "is played by a workflow" };
        return Err(Error::limit(format!(
            "role `{role}` {by}, but its thread would be {depth} threads deep, and `maxDepth` is {max_depth}"
        ))
        .hint(match is_group {
            true => NESTED_GROUPS_HINT,
            false => "a workflow that plays a role of itself never ends; otherwise raise `maxDepth` in config.yaml",
        }));
    }
    if task.is_branch() {
        // A step of the branch would be refused.
        check_group_limits(parent)?;
    }
    let is_branch = task.is_branch();
    let settings = of_child(parent, task.settings)?;
    let own = parent.workflow()?.roles.remove(role).map(|role| role.more).unwrap_or_default();
    // A group and its branches run parts of the parent's workflow, so they keep its input.
    let keeps_input = is_branch || own.play.is_some();
    // Before the hold, because an expression may take seconds.
    let values = if keeps_input { None } else { values_with(parent, role, &own.with)? };
    let _hold = home.hold_nodes()?;
    let (workflow, workflows) = start::pinned(home, &task.workflow, &settings)?;
    let input = if keeps_input { ThreadInput::default() } else { child_input(home, role, workflow, values)? };
    let kept = parent.start.input.filter(|_| keeps_input);
    let start = StartNode {
        workflow,
        prompt: task.prompt,
        parent: Some(parent.head),
        depth: Some(depth),
        input: input.hash().or(kept),
    };
    let head = start::put_start(home, &start, input.node)?;
    let settings = ThreadSettings { workflows, ..settings };
    begin(home, parent, id, head, settings, task.worktree.as_ref())
}

/// The group that a thread is playing: it has begun, and has no step yet.
pub fn group_without_step(thread: &Thread<'_>) -> Result<Option<String>> {
    for (role, _) in thread.workflow()?.groups() {
        if find_child(thread, role)?.is_some() {
            return Ok(Some(role.to_owned()));
        }
    }
    Ok(None)
}

/// Rejects another step of a group's branches if a thread above them has reached a limit. The limits of a branch itself stop only it.
///
/// # Errors
/// `Limit`; errors of the nodes with the usage, if usage is limited.
pub fn check_group_limits(group: &Thread<'_>) -> Result<()> {
    StepPlan::load(group, None)?.check_limits(group, &[])
}

/// Publishes what other machines need to step the thread of a branch without the threads above it. Returns whether a worker
/// on any machine can step it. A command line that was chosen as its agent stays on this machine, because it may contain a key.
///
/// # Errors
/// Errors of the index, the settings and the store.
pub fn publish_place(home: &Home, branch: &ThreadId) -> Result<bool> {
    let mut next = Some(branch.clone());
    // The branch, and its group.
    for _ in 0..2 {
        let Some(id) = next else { break };
        let (Some(head), Some(settings)) = (home.heads().read(id.as_str())?, ThreadSettings::load(home, &id)?) else {
            return Ok(false);
        };
        if !settings.bound.are_words() {
            return Ok(false);
        }
        settings.workplace(head.hash).publish_note(home, &id)?;
        next = settings.branch.and(settings.parent);
    }
    Ok(true)
}

/// Continues a child thread that a person killed: the role is tried again, with everything that its thread has done. Any other child stays
/// as it is.
///
/// # Errors
/// `Busy` if its last keeper is still at work; errors of index and history.
pub fn revive_killed(parent: &Thread<'_>, child: Child) -> Result<Child> {
    let Child::Ended(line) = child else { return Ok(child) };
    if line.status != EndStatus::Killed {
        return Ok(Child::Ended(line));
    }
    let (home, id) = (parent.home(), line.thread);
    let _lock = lock::take(home, &id)?;
    // A thread in both the history and the index has ended. If this process ends in between, the child begins again at its start.
    home.journal().forget(&[id.as_str()])?;
    let created = home.heads().create(id.as_str(), line.head)?;
    active_child(parent, id, &created)
}

/// The values that `with` of a role gives, evaluated on the history that the parent sees. A name whose expression gives nothing is left out.
fn values_with(parent: &Thread<'_>, role: &str, with: &BTreeMap<String, String>) -> Result<Option<InputValues>> {
    let mut values = Map::new();
    let outlook = BranchOutlook::for_thread(parent)?;
    for (name, expression) in with {
        let value = outlook.evaluate(expression).map_err(|error| Error {
            message: format!("`{name}` in `with` of role `{role}`: {}", error.message),
            ..error
        })?;
        values.extend(value.map(|value| (name.clone(), value)));
    }
    let value = Value::Object(values);
    let origin = format!("`with` of role `{role}`");
    Ok((!with.is_empty()).then_some(InputValues::Value { value, origin }))
}

/// The input of a child thread.
fn child_input(home: &Home, role: &str, workflow: NodeHash, values: Option<InputValues>) -> Result<ThreadInput> {
    let workflow = nodes::workflow(home.store(), workflow)?;
    let given = InputRequest { values, ..InputRequest::default() };
    thread_input::prepare(home, &workflow, &given, &SecretRedactor::for_home(home)?).map_err(|error| match error.kind {
        ErrorKind::Usage => Error { hints: Vec::new(), ..Error::data(format!("role `{role}`: {}", error.message)) }
            .hint(format!("give the values in `with` of role `{role}`; a name takes a JSONata expression")),
        _ => error,
    })
}

/// Starts a child thread at the last step of a thread of another group, and ends it there: the branch is not played again.
///
/// # Errors
/// `Busy` if another process moved its head; errors of store and index.
pub(crate) fn begin_ended(group: &Thread<'_>, branch: &str, last: NodeHash, settings: ThreadSettings) -> Result<()> {
    let (home, id) = (group.home(), child_threads::id_for(group, branch));
    if child_threads::find(home, &id)?.is_none() {
        begin(home, group, id.clone(), last, of_child(group, settings)?, None)?;
    }
    let Some(Child::Active(id)) = child_threads::find(home, &id)? else { return Ok(()) };
    let (thread, head) = Thread::active(home, &id)?;
    let workflow = thread.workflow()?;
    let decision = moderate::next(&thread, &workflow)?;
    end::end(&thread, &head, ThreadEnding::by(&decision), Some(&workflow), None).map(drop)
}

/// Starts the child thread of a failed branch without a step, and ends it there: the group continues without the branch.
///
/// # Errors
/// `Busy` if another process moved its head; errors of store and index.
pub(crate) fn begin_failed(
    group: &Thread<'_>,
    branch: &str,
    (workflow, prompt): (NodeHash, String),
    settings: ThreadSettings,
    why: &str,
) -> Result<()> {
    let (home, id) = (group.home(), child_threads::id_for(group, branch));
    if child_threads::find(home, &id)?.is_none() {
        let (parent, depth) = (Some(group.head), group.start.depth);
        let start = StartNode { workflow, prompt, parent, depth, input: group.start.input };
        let head = start::put_start(home, &start, None)?;
        begin(home, group, id.clone(), head, of_child(group, settings)?, None)?;
    }
    let Some(Child::Active(id)) = child_threads::find(home, &id)? else { return Ok(()) };
    let (thread, head) = Thread::active(home, &id)?;
    end::end(&thread, &head, ThreadEnding::failed_branch(why), None, None).map(drop)
}

/// The settings of a child thread, derived from its parent.
fn of_child(parent: &Thread<'_>, settings: ThreadSettings) -> Result<ThreadSettings> {
    let of_parent = ThreadSettings::load(parent.home(), &parent.id)?.unwrap_or_default();
    let ThreadSettings { workflows, labels, base, .. } = of_parent;
    Ok(ThreadSettings { parent: Some(parent.id.clone()), workflows, labels, base, ..settings })
}

/// Lets a child thread that started on another machine continue on this one, like its parent.
fn go_on_here(parent: &Thread<'_>, id: &ThreadId, task: ChildTask) -> Result<()> {
    let (child, head) = Thread::active(parent.home(), id)?;
    let workspace = task.settings.workspace.clone();
    let mut settings = of_child(parent, task.settings)?;
    if task.worktree.is_some() {
        let fetched = travel::fetch_if_unknown(parent.home(), id, head.hash, &workspace)?.unwrap_or_default();
        settings = ThreadSettings { workspace: fetched.workspace, worktree: fetched.worktree, ..settings };
    }
    child_threads::note_child(child.home(), &parent.id, id)?;
    settings.begun_at(head.hash).save(child.home(), id)
}

/// Starts a child thread. Its parent knows it before the index does. So a process that kills the parent finds the child thread, or this
/// function finds the parent killed.
fn begin(
    home: &Home,
    parent: &Thread<'_>,
    id: ThreadId,
    head: NodeHash,
    settings: ThreadSettings,
    worktree: Option<&NewWorktree>,
) -> Result<Child> {
    child_threads::note_child(home, &parent.id, &id)?;
    let begun = match worktree {
        Some(new) => {
            let (worktree, workspace) = new.worktree_for_thread(home, &id)?;
            let settings = ThreadSettings { worktree: Some(worktree), workspace, ..settings };
            let attempt = std::env::var(ATTEMPT_VARIABLE).ok();
            let _errand = GitScopeGuard::begin(attempt.as_deref(), None);
            // A killed attempt may have left a part of the worktree.
            let begun = new_thread::begin_chosen(home, &id, head, &settings, Some(new))?;
            // Another machine can continue the branch before its first step. If this fails, that step pushes the files.
            let _warning = travel::push_start(home, &id, head, &settings);
            begun
        }
        None => new_thread::begin(home, &id, head, &settings, None)?,
    };
    active_child(parent, id, &begun)
}

/// The child whose head was set. If its parent has ended meanwhile, kills it.
fn active_child(parent: &Thread<'_>, id: ThreadId, head: &SwapOutcome) -> Result<Child> {
    if matches!(head, SwapOutcome::Moved(None)) {
        return Err(Error::internal(format!("child thread {id} cannot be started")));
    }
    if parent.home().heads().read(parent.id.as_str())?.is_none() {
        kill::kill(parent.home(), &id, None)?;
        return Err(missing_thread::not_in_index(&parent.id));
    }
    Ok(Child::Active(id))
}
