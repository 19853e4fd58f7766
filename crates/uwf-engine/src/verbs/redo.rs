//! `thread fork --redo GROUP.BRANCH`: a fork before a group, in which every other finished branch has its result already.

use std::path::Path;

use json_cas::NodeHash;
use uwf_core::node::{NodeKind, StartNode, StepNode};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::{BranchFiles, GROUP_AGENT, PlannedBranch, RoleGroup, Workflow};

use crate::attempt::child_threads::Child;
use crate::attempt::settings::ThreadSettings;
use crate::attempt::thread_branch::ThreadBranch;
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::project;
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::verbs::fork::{self, ForkChanges, ForkReport};
use crate::verbs::pause;
use crate::verbs::start_child::{self, ChildTask};

/// The reason why the fork is paused while its branches are taken over.
const UNFINISHED: &str = "`thread fork --redo` did not finish; kill this thread and fork again";

/// A finished group of a thread.
struct FinishedGroup {
    role: String,
    thread: NodeHash,
    /// The branches with the steps of their threads.
    branches: Vec<(PlannedBranch, NodeHash)>,
}

/// Forks a thread before its last step of a group, whose other branches keep their results. `path` is `GROUP.BRANCH`.
///
/// # Errors
/// `Usage` if the thread has no such finished group or branch; errors of [`fork::thread`].
pub fn redo(home: &Home, id: &ThreadId, path: &str, changes: &ForkChanges, cwd: &Path) -> Result<ForkReport> {
    let _hold = home.hold_nodes()?;
    let source = Thread::any(home, id)?;
    let workflow = source.workflow()?;
    let (group, branch) = split(&workflow, path)?;
    let finished = finished(&source, &workflow, group)?;
    if !finished.branches.iter().any(|(planned, _)| planned.name == branch) {
        let known: Vec<&str> = finished.branches.iter().map(|(planned, _)| planned.name.as_str()).collect();
        return Err(Error::usage(format!("group `{group}` of thread {id} has no branch `{branch}`"))
            .hint(format!("its branches: {}", known.join(", "))));
    }
    let forked = fork::thread(home, id, Some(group), changes, cwd)?;
    let thread = &forked.thread;
    pause::pause(home, thread, Some(UNFINISHED), None)?;
    take_over(home, thread, &finished, branch)?;
    pause::resume(home, thread, None)?;
    Ok(forked)
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

/// The last finished play of a group.
fn finished(source: &Thread<'_>, workflow: &Workflow, role: &str) -> Result<FinishedGroup> {
    let (home, store) = (source.home(), source.home().store());
    let none = || Error::usage(format!("group `{role}` has not ended in thread {}", source.id));
    let chain = source.chain()?;
    let record = chain.last_of(role).and_then(|last| chain.get(last)).ok_or_else(none)?;
    let detail = nodes::get(store, record.detail)?;
    if NodeKind::from_type_hash(detail.type_hash) != Some(NodeKind::StepNode) {
        return Err(none().hint("it had no branches"));
    }
    let last: StepNode = nodes::payload(record.detail, &detail)?;
    if last.agent != GROUP_AGENT {
        return Err(none());
    }
    let files = workflow.roles.get(role).and_then(|role| role.more.play.as_ref()).map(|group: &RoleGroup| group.files);
    if files == Some(BranchFiles::Worktree) {
        return Err(Error::usage(format!(
            "group `{role}` has `files: worktree`, so no branch can be played again alone"
        ))
        .hint(format!("`uwf thread fork {} --from-role {role}` plays all of them again", source.id)));
    }
    let thread = Thread::load_at(home, source.id.clone(), record.detail)?;
    let planned = thread.workflow()?.planned_branches().ok_or_else(none)?;
    let mut branches = Vec::with_capacity(planned.len());
    for (planned, record) in planned.into_iter().zip(thread.chain()?.records()) {
        branches.push((planned, record.detail));
    }
    Ok(FinishedGroup { role: role.to_owned(), thread: thread.start_hash, branches })
}

/// Begins the group in the fork, and gives it every finished branch except one. The role that picks a copy decides anew.
fn take_over(home: &Home, thread: &ThreadId, finished: &FinishedGroup, redone: &str) -> Result<()> {
    let (parent, _) = Thread::active(home, thread)?;
    let settings = ThreadSettings::load(home, thread)?.unwrap_or_default();
    let own = |branch: Option<ThreadBranch>| ThreadSettings {
        workspace: settings.workspace.clone(),
        bound: settings.bound.clone(),
        branch,
        ..ThreadSettings::default()
    };
    let start = nodes::typed::<StartNode>(home.store(), finished.thread)?;
    let max_depth = project::config_here(home)?.limits.max_depth;
    let begun = start_child::find_or_begin(&parent, &finished.role, max_depth, || {
        Ok(ChildTask {
            workflow: start.workflow.to_string(),
            prompt: start.prompt.clone(),
            settings: own(None),
            worktree: None,
        })
    })?;
    let Child::Active(group) = begun else { return Ok(()) };
    let (group, _) = Thread::active(home, &group)?;
    let copies = parent.workflow()?.roles.get(&finished.role).and_then(|role| role.more.play.as_ref()?.copies);
    let most = copies.and_then(|copies| usize::try_from(copies).ok()).unwrap_or(usize::MAX);
    for (planned, step) in finished.branches.iter().take(most).filter(|(planned, _)| planned.name != redone) {
        let detail = nodes::get(home.store(), *step)?;
        // A failed branch has no step; it is played again.
        if NodeKind::from_type_hash(detail.type_hash) == Some(NodeKind::StepNode) {
            let place = ThreadBranch { group: finished.role.clone(), name: planned.name.clone(), item: None };
            start_child::begin_ended(&group, &planned.name, *step, own(Some(place)))?;
        }
    }
    Ok(())
}
