//! `thread fork --redo GROUP.BRANCH`: a fork before a group, in which every other finished branch has its result already.

use std::collections::BTreeMap;
use std::path::Path;

use json_cas::NodeHash;
use serde_json::Value;
use uwf_core::node::{NodeKind, StartNode, StepNode, TypedPayload};
use uwf_core::text;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::{BranchFiles, GROUP_AGENT, PlannedBranch, RoleGroup, Workflow};

use crate::attempt::child_threads::Child;
use crate::attempt::settings::ThreadSettings;
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::root::project;
use crate::root::thread_branch::ThreadBranch;
use crate::thread::branches::{self, BranchEnd};
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::verbs::fork::{self, ForkChanges, ForkReport};
use crate::verbs::pause::{self, UNFINISHED_FORK};
use crate::verbs::start_child::{self, ChildTask};
use crate::verbs::{group_files, kill, rm};

/// Symbols shown of the names of branches.
const NAMES: usize = 400;

/// A finished group of a thread.
struct FinishedGroup {
    role: String,
    /// The StartNode of its thread.
    start: NodeHash,
    /// The thread that played it, and its head before.
    parent: ThreadId,
    before: NodeHash,
    files: BranchFiles,
    /// The branches with the steps of their threads.
    branches: Vec<(PlannedBranch, NodeHash)>,
    /// The branches that the group continued without: name → its step in the group's thread, and why it failed.
    failed: BTreeMap<String, (NodeHash, String)>,
}

/// Forks a thread before its last step of a group, whose other branches keep their results. `path` is `GROUP.BRANCH`; if that branch is a
/// group itself, `GROUP.BRANCH.BRANCH` is one of its branches.
///
/// # Errors
/// `Usage` if the thread has no such finished group or branch; errors of [`fork::thread`].
pub fn redo(home: &Home, id: &ThreadId, path: &str, changes: &ForkChanges, cwd: &Path) -> Result<ForkReport> {
    let _hold = home.hold_nodes()?;
    let source = Thread::any(home, id)?;
    let workflow = source.workflow()?;
    refuse_whole_group(&source, &workflow, path)?;
    let (group, branch) = split(&workflow, path)?;
    let levels = levels(&source, &workflow, group, branch)?;
    if let Some((first, _)) = levels.first().filter(|(first, _)| first.files == BranchFiles::Worktree) {
        if changes.workspace.is_some() {
            return Err(Error::usage(format!(
                "group `{group}` has `files: worktree`, and a fork with `--cwd` has no worktree"
            )));
        }
        group_files::redone::check(&source, first.before)?;
    }
    check_agents(&source, &workflow)?;
    let forked = fork::thread(home, id, Some(group), changes, cwd)?;
    let thread = &forked.thread;
    pause::pause(home, thread, Some(UNFINISHED_FORK), None)?;
    if let Err(error) = take_over_all(home, thread, &levels) {
        return Err(match changes.id {
            // The same request may have made the fork before, and completes it when it is repeated.
            Some(_) => error,
            None => without_fork(home, thread, error),
        });
    }
    pause::end_pause(home, thread, None)?;
    Ok(forked)
}

/// Checks the agents bound to a thread, as far as this machine knows them: its fork gets them.
fn check_agents(source: &Thread<'_>, workflow: &Workflow) -> Result<()> {
    let Some(own) = ThreadSettings::load(source.home(), &source.id)? else { return Ok(()) };
    let config = project::config(source.home(), &own.workspace)?;
    own.bound.check(&config, workflow, &own.workspace).map_err(|error| {
        error.hint(format!("`uwf run {} --agent ROLE=AGENT` binds another agent to an active thread", source.id))
    })
}

/// The error of a fork that could not take over the branches, after its removal.
fn without_fork(home: &Home, fork: &ThreadId, error: Error) -> Error {
    match kill::kill(home, fork, None).and_then(|_| rm::remove(home, fork, true)) {
        Ok(_) => error,
        Err(left) => error.hint(format!("the fork {fork} could not be removed: {}", left.message)),
    }
}

/// Rejects a path that names a group instead of a branch, with the branches of the group.
fn refuse_whole_group(source: &Thread<'_>, workflow: &Workflow, path: &str) -> Result<()> {
    if workflow.roles.get(path).is_none_or(|role| role.more.play.is_none()) {
        return Ok(());
    }
    let group = finished(source, workflow, path, (&source.id, path))?;
    let known: Vec<&str> = group.branches.iter().map(|(planned, _)| planned.name.as_str()).collect();
    Err(Error::usage(format!("`{path}` is a whole group; `--redo` plays one branch again: GROUP.BRANCH"))
        .hint(format!("its branches: {}", text::ellipsize(&known.join(", "), NAMES)))
        .hint(format!("`uwf thread fork {} --from-role {path}` plays all of them again", source.id)))
}

/// The group and the branch of a path. Both may contain dots, so the groups of the workflow decide.
fn split<'p>(workflow: &Workflow, path: &'p str) -> Result<(&'p str, &'p str)> {
    let is_group = |name: &str| workflow.roles.get(name).is_some_and(|role| role.more.play.is_some());
    let splits = path.match_indices('.').map(|(at, _)| (&path[..at], &path[at + 1..]));
    splits.into_iter().find(|(group, _)| is_group(group)).ok_or_else(|| {
        let groups: Vec<&str> = workflow.roles.keys().map(String::as_str).filter(|name| is_group(name)).collect();
        let error = Error::usage(format!("`{path}` does not begin with a group of workflow `{}`", workflow.name));
        match groups.as_slice() {
            [] => error.hint("no role of the workflow is a group; `--from-role ROLE` forks before a role"),
            groups => error.hint(format!("write GROUP.BRANCH; its groups: {}", groups.join(", "))),
        }
    })
}

/// The finished groups on the way to a branch, each with the name of the branch that is played again.
fn levels(
    source: &Thread<'_>,
    workflow: &Workflow,
    group_name: &str,
    path: &str,
) -> Result<Vec<(FinishedGroup, String)>> {
    let mut levels = vec![];
    let mut group = finished(source, workflow, group_name, (&source.id, group_name))?;
    let mut path = path;
    loop {
        let FinishedGroup { role, branches, files, .. } = &group;
        if let Some((planned, _)) = branches.iter().find(|(planned, _)| planned.name == path) {
            let name = planned.name.clone();
            levels.push((group, name));
            return Ok(levels);
        }
        let is_above = |name: &str| path.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        let above = branches.iter().find(|(planned, _)| is_above(&planned.name));
        let Some((planned, step)) = above else {
            let known: Vec<&str> = branches.iter().map(|(planned, _)| planned.name.as_str()).collect();
            return Err(Error::usage(format!("group `{role}` of thread {} has no branch `{path}`", source.id))
                .hint(format!("its branches: {}", text::ellipsize(&known.join(", "), NAMES))));
        };
        let names = levels.iter().map(|(_, name): &(FinishedGroup, String)| name.as_str());
        let whole: Vec<&str> = [group_name].into_iter().chain(names).chain([planned.name.as_str()]).collect();
        let whole = whole.join(".");
        let again = || format!("`uwf thread fork {} --redo '{whole}'` plays the whole branch again", source.id);
        let detail = nodes::get(source.home().store(), *step)?;
        if NodeKind::from_type_hash(detail.type_hash) != Some(NodeKind::StepNode) {
            return Err(Error::usage(format!("branch `{whole}` of thread {} failed, so it has no results", source.id))
                .hint(again()));
        }
        let branch = Thread::without_id(source.home(), *step)?;
        let below = finished(&branch, &branch.workflow()?, &planned.role, (&source.id, &whole))
            .map_err(|error| error.hint(again()))?;
        if [*files, below.files].contains(&BranchFiles::Worktree) {
            return Err(Error::usage(format!(
                "branches of `{whole}` work in git worktrees, so only the whole branch can be played again"
            ))
            .hint(again()));
        }
        let name = planned.name.clone();
        path = &path[name.len() + 1..];
        levels.push((group, name));
        group = below;
    }
}

/// The rejection of a group that has not ended, with the way to its end.
fn not_ended(home: &Home, (thread, group): (&ThreadId, &str)) -> Error {
    let error = Error::usage(format!("group `{group}` has not ended in thread {thread}"));
    match home.heads().read(thread.as_str()) {
        Ok(Some(_)) if marks::get(home, thread, ThreadMark::Stuck).is_some() => error.hint(format!(
            "`uwf thread retry {thread}` plays only the branches that have not ended; `--redo` is for a group that has"
        )),
        Ok(Some(_)) => {
            error.hint(format!("`uwf run {thread}` continues the thread; `--redo` is for a group that has ended"))
        }
        _ => error.hint(format!("`uwf thread steps {thread}` lists the steps that the thread has")),
    }
}

/// The last finished play of a group. `named` are the forked thread and the path of the group in it.
fn finished(source: &Thread<'_>, workflow: &Workflow, role: &str, named: (&ThreadId, &str)) -> Result<FinishedGroup> {
    let (home, store) = (source.home(), source.home().store());
    let none = || not_ended(home, named);
    let chain = source.chain()?;
    let record =
        chain.last_of(role).and_then(|last| chain.get(last)).ok_or_else(|| played_in(workflow, role, none()))?;
    let detail = nodes::get(store, record.detail)?;
    let is_step = NodeKind::from_type_hash(detail.type_hash) == Some(NodeKind::StepNode);
    if !is_step || nodes::payload::<StepNode>(record.detail, &detail)?.agent != GROUP_AGENT {
        return Err(Error::usage(format!("`{}` had no branches in thread {}", named.1, named.0)));
    }
    let (step, _) = nodes::step_node(store, record.step)?;
    let files = workflow.roles.get(role).and_then(|role| role.more.play.as_ref()).map(|group: &RoleGroup| group.files);
    let files = files.unwrap_or_default();
    let works_in_worktree = || group_files::works_in_worktree(home, &source.id);
    if files == BranchFiles::Shared && works_in_worktree()? {
        return Err(Error::usage(format!(
            "the branches of group `{}` changed the same files one after the other, so no branch can be played again alone",
            named.1
        ))
        .hint(format!("`uwf thread fork {} --from-role {role}` plays all of them again", named.0)));
    }
    let thread = Thread::load_at(home, source.id.clone(), record.detail)?;
    let planned = thread.workflow()?.planned_branches().ok_or_else(none)?;
    let mut branches = Vec::with_capacity(planned.len());
    for (planned, record) in planned.into_iter().zip(thread.chain()?.records()) {
        branches.push((planned, record.detail));
    }
    let failed = branches::linked(&thread)?.into_iter().filter_map(|linked| match linked.end {
        BranchEnd::Failed(why) => Some((linked.name, (linked.step, why))),
        BranchEnd::Step(_) => None,
    });
    let (failed, before) = (failed.collect(), step.prev.unwrap_or(step.start));
    let (role, parent) = (role.to_owned(), source.id.clone());
    Ok(FinishedGroup { role, start: thread.start_hash, parent, before, files, branches, failed })
}

/// Adds where a group is played that is a branch of another group.
fn played_in(workflow: &Workflow, role: &str, error: Error) -> Error {
    let mut players = workflow.groups().filter(|(_, play)| play.roles.iter().any(|branch| branch.role == role));
    match players.next() {
        Some((player, _)) => error.hint(format!("it is a branch of `{player}`: write `{player}.{role}.BRANCH`")),
        None => error,
    }
}

/// Begins the groups in the fork, and gives each its finished branches except one.
fn take_over_all(home: &Home, thread: &ThreadId, levels: &[(FinishedGroup, String)]) -> Result<()> {
    let mut parent = thread.clone();
    for (position, (finished, redone)) in levels.iter().enumerate() {
        let Some(group) = take_over(home, &parent, finished, redone)? else { return Ok(()) };
        if position + 1 < levels.len() {
            parent = begin_branch(home, &group, &parent, finished, redone)?;
        }
    }
    Ok(())
}

/// The settings of a child thread of this workflow in the fork.
fn settings_of(
    home: &Home,
    parent: &ThreadId,
    workflow: NodeHash,
    branch: Option<ThreadBranch>,
) -> Result<ThreadSettings> {
    let own = ThreadSettings::load(home, parent)?.unwrap_or_default();
    let bound = own.bound.for_workflow(&nodes::workflow(home.store(), workflow)?);
    Ok(ThreadSettings { workspace: own.workspace, bound, branch, ..ThreadSettings::default() })
}

/// Begins the group in a thread of the fork, and gives it every finished branch except one. The role that picks a copy decides again.
/// Returns the thread of the group, unless it has ended.
fn take_over(home: &Home, thread: &ThreadId, finished: &FinishedGroup, redone: &str) -> Result<Option<ThreadId>> {
    let (parent, _) = Thread::active(home, thread)?;
    let has_worktrees = finished.files == BranchFiles::Worktree;
    if has_worktrees {
        group_files::redone::begin_with_files_of(&finished.parent, &parent)?;
    }
    let start = nodes::typed::<StartNode>(home.store(), finished.start)?;
    let max_depth = project::config_here(home)?.limits.max_depth;
    let begun = start_child::find_or_begin(&parent, &finished.role, max_depth, || {
        Ok(ChildTask {
            workflow: start.workflow.to_string(),
            prompt: start.prompt.clone(),
            settings: settings_of(home, thread, start.workflow, None)?,
            worktree: None,
        })
    })?;
    let Child::Active(group_id) = begun else { return Ok(None) };
    let (group, _) = Thread::active(home, &group_id)?;
    let before = Thread::load_at(home, finished.parent.clone(), finished.before)?;
    let old_group = Thread::load_at(home, start_child::child_id(&before, &finished.role), finished.start)?;
    let copies = parent.workflow()?.roles.get(&finished.role).and_then(|role| role.more.play.as_ref()?.copies);
    let most = copies.and_then(|copies| usize::try_from(copies).ok()).unwrap_or(usize::MAX);
    for (position, (planned, step)) in finished.branches.iter().enumerate().take(most) {
        if planned.name == redone {
            continue;
        }
        let place = ThreadBranch {
            group: finished.role.clone(),
            name: planned.name.clone(),
            item: None,
            position: Some(position),
        };
        if let Some(failed) = finished.failed.get(&planned.name) {
            begin_failed([&parent, &group, &old_group], place, planned, failed)?;
            continue;
        }
        if has_worktrees {
            let [old, new] = [&old_group, &group].map(|group| start_child::child_id(group, &planned.name));
            group_files::redone::take_over_files(&parent, &old, &new, *step)?;
        }
        let workflow = Thread::without_id(home, *step)?.start.workflow;
        start_child::begin_ended(&group, &planned.name, *step, settings_of(home, thread, workflow, Some(place))?)?;
    }
    Ok(Some(group_id))
}

/// Begins the thread of a branch that failed in the earlier group, and ends it for the same reason: the group continues without it again.
fn begin_failed(
    [parent, group, old_group]: [&Thread<'_>; 3],
    place: ThreadBranch,
    planned: &PlannedBranch,
    (step, why): &(NodeHash, String),
) -> Result<()> {
    let home = parent.home();
    let workflow = parent
        .workflow()?
        .branch(&planned.role)
        .ok_or_else(|| Error::data(format!("the workflow of thread {} has no role `{}`", parent.id, planned.role)))?;
    let workflow = home.store().put(&workflow.draft())?;
    let settings = settings_of(home, &parent.id, workflow, Some(place))?;
    let settings = ThreadSettings { failed_step: Some(*step), ..settings };
    // Another machine may have played it.
    let known = Thread::any(home, &start_child::child_id(old_group, &planned.name));
    let prompt = known.map_or_else(|_| group.start.prompt.clone(), |known| known.start.prompt);
    start_child::begin_failed(group, &planned.name, (workflow, prompt), settings, why)
}

/// Begins the thread of the branch that is a group itself. Returns its id.
fn begin_branch(
    home: &Home,
    group: &ThreadId,
    parent: &ThreadId,
    finished: &FinishedGroup,
    name: &str,
) -> Result<ThreadId> {
    let (group, _) = Thread::active(home, group)?;
    let found = finished.branches.iter().enumerate().find(|(_, (planned, _))| planned.name == name);
    let (position, (planned, step)) = found.ok_or_else(|| Error::internal(format!("no branch `{name}`")))?;
    let start = Thread::without_id(home, *step)?.start;
    let item =
        serde_json::from_str(&group.start.prompt).ok().and_then(|items: Vec<Value>| items.get(position).cloned());
    let place = ThreadBranch { group: finished.role.clone(), name: name.to_owned(), item, position: Some(position) };
    let settings = ThreadSettings { limits: planned.limits, ..settings_of(home, parent, start.workflow, Some(place))? };
    let max_depth = project::config_here(home)?.limits.max_depth;
    start_child::find_or_begin(&group, name, max_depth, || {
        Ok(ChildTask { workflow: start.workflow.to_string(), prompt: start.prompt.clone(), settings, worktree: None })
    })?;
    Ok(start_child::child_id(&group, name))
}
