//! `thread fork`: a new head on an old node. Copies only the settings.

use std::path::{Path, PathBuf};

use json_cas::{NodeHash, StoreError, nearest};
use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::input::{InputDoor, InputRequest, InputValues};
use uwf_core::label::ThreadLabels;
use uwf_core::node::{self, StartNode};
use uwf_core::thread::ThreadId;
use uwf_core::usage::ThreadLimits;

use crate::attempt::bindings::AgentBindings;
use crate::attempt::git::SnapshotCommit;
use crate::attempt::plan::StepPlan;
use crate::attempt::recorded_digest;
use crate::attempt::redactor::SecretRedactor;
use crate::attempt::settings::{self, ThreadSettings};
use crate::attempt::worktree::{NewWorktree, checkout_of};
use crate::attempt::{snapshot, travel};
use crate::error::{Error, ErrorCause, ErrorKind, Result};
use crate::root::home::Home;
use crate::root::worktree::Worktree;
use crate::root::{ids, project, project_files};
use crate::thread::load::Thread;
use crate::thread::{chain, nodes};
use crate::verbs::settings::rebind;
use crate::verbs::start::chosen_id::{self, EarlierStart};
use crate::verbs::start::decide_workflows::WorkflowDecider;
use crate::verbs::start::thread_input::{self, ThreadInput};
use crate::verbs::start::{self, CreatedThread};

/// A fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkReport {
    /// The new thread.
    pub thread: ThreadId,
    /// Where it begins.
    pub forked_from: ForkPoint,
    /// Its own worktree, with the files as they were at that node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// Messages for the person.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Where a fork begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ForkPoint {
    /// A step, or the start of a thread.
    pub step: NodeHash,
}

/// Differences between a fork and its source.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForkChanges {
    /// Directory its agents work in.
    pub workspace: Option<PathBuf>,
    /// Its limits. The steps before the fork count.
    pub limits: ThreadLimits,
    /// Whether limits that have no effect on its agents are an error instead of a note.
    pub strict_limits: bool,
    /// Its id, for callers that may repeat the request; by default a new one.
    pub id: Option<ThreadId>,
    /// Its task. Only a thread without steps can get another task, because steps answer the old one.
    pub prompt: Option<String>,
    /// Assignments `NAME=VALUE` that change its input. Only a thread without steps can get another input.
    pub set: Vec<String>,
    /// How these assignments came.
    pub door: InputDoor,
    /// Labels that are added to its source's labels, or replace them by key.
    pub labels: ThreadLabels,
    /// Agents of its roles from the fork on.
    pub bound: AgentBindings,
}

impl ForkChanges {
    /// Whether the fork has a start of its own.
    fn begins_anew(&self) -> bool {
        self.prompt.is_some() || !self.set.is_empty()
    }
}

/// Forks at a node; the thread that it came from is unknown. If a repository has the files of the node, the fork gets a worktree with them.
/// This is the repository at `cwd`, or one that some thread has a worktree of. Otherwise the fork works in `cwd`, or in the workspace that
/// `changes` names.
///
/// # Errors
/// `Data` when the node is neither start nor step, `Usage` for another task or input at a step, `NotFound` when the workspace does not exist; errors
/// of git.
pub fn at_node(home: &Home, at: NodeHash, changes: &ForkChanges, cwd: &Path) -> Result<ForkReport> {
    refuse_secret_labels(home, changes)?;
    // This fork may be the only reference to the node.
    let _hold = home.hold_nodes()?;
    let named = |error: Error| match error.missing_node() {
        Some(hash) if hash == at => StoreError::NotFound { hash }.into(),
        Some(_) | None => error,
    };
    let thread = Thread::load_at(home, ids::new_thread_id(), at).map_err(named).map_err(|error| {
        if is_other(home, at) {
            error.hint("`uwf thread steps THREAD` lists the nodes that can be forked")
        } else {
            error
        }
    })?;
    refuse_group(&thread)?;
    let (step, mut notes) = begin_at(&thread, at, changes)?;
    if let Some(forked) = forked_before(home, changes, |begun_at| begun_at == step)? {
        return Ok(forked);
    }
    let settings = settings(None, changes, cwd)?;
    let settings = with_agents(&thread, settings, changes, cwd, &mut notes)?;
    notes.extend(unenforced_limits(&thread, &settings, changes)?);
    let worktree = match changes.workspace {
        Some(_) => None,
        None => recorded_anywhere(home, cwd, at)?.map(|(repository, files)| {
            let (from, inside) = (checkout_of(&repository), files.directory.clone());
            NewWorktree::of_step(repository, files, from, inside)
        }),
    };
    let created = start::create(home, step, settings, worktree.as_ref(), changes.id.as_ref())?;
    Ok(forked(created, step, notes))
}

fn refuse_secret_labels(home: &Home, changes: &ForkChanges) -> Result<()> {
    // Most forks have no labels, and needn't read the secrets.
    match changes.labels.is_empty() {
        true => Ok(()),
        false => settings::refuse_secret_labels(&changes.labels, &SecretRedactor::for_home(home)?),
    }
}

/// Rejects a fork of the thread of a group: only the step of its parent plays the branches.
fn refuse_group(thread: &Thread<'_>) -> Result<()> {
    if thread.workflow()?.planned_branches().is_none() {
        return Ok(());
    }
    let error = Error::usage(format!("thread {} is a group, which has no steps of its own", thread.id));
    let parent = ThreadSettings::load(thread.home(), &thread.id)?.and_then(|own| own.parent);
    let parent = parent.as_ref().map_or("PARENT", |parent| parent.as_str());
    Err(error
        .hint(format!("fork its parent: `uwf thread fork {parent}`"))
        .hint(format!("`uwf thread fork {parent} --redo GROUP.BRANCH` plays one branch again")))
}

/// The fork that the same request created before; it must begin at a node that `is_it` accepts.
fn forked_before(
    home: &Home,
    changes: &ForkChanges,
    is_it: impl FnOnce(NodeHash) -> bool,
) -> Result<Option<ForkReport>> {
    let Some(id) = &changes.id else { return Ok(None) };
    let begun = chosen_id::begun(home, id, is_it)?;
    Ok(begun.map(|EarlierStart { at, worktree }| {
        let forked_from = ForkPoint { step: at };
        ForkReport { thread: id.clone(), forked_from, worktree, notes: Vec::new() }
    }))
}

fn forked(created: CreatedThread, step: NodeHash, notes: Vec<String>) -> ForkReport {
    let CreatedThread { thread, worktree, note: further, .. } = created;
    let forked_from = ForkPoint { step };
    ForkReport { thread, forked_from, worktree, notes: notes.into_iter().chain(further).collect() }
}

/// The node that a fork begins at. With another task or input, this is a new StartNode, which is not part of a child thread.
fn begin_at(thread: &Thread<'_>, node: NodeHash, changes: &ForkChanges) -> Result<(NodeHash, Vec<String>)> {
    if !changes.begins_anew() {
        return Ok((node, Vec::new()));
    }
    if let Some(prompt) = &changes.prompt {
        start::refuse_empty_prompt(prompt)?;
    }
    if node != thread.start_hash {
        let start = thread.start_hash;
        let (what, how) = match changes.prompt {
            Some(_) => ("task", "-p 'TEXT'"),
            None => ("input", "--set NAME=VALUE"),
        };
        return Err(Error::usage(format!("{node} is a step: only the start of a thread can get another {what}"))
            .hint(format!("fork the start with another {what}: uwf thread fork {start} {how}")));
    }
    let redactor = SecretRedactor::for_home(thread.home())?;
    let (prompt, replaced) = match &changes.prompt {
        Some(prompt) => start::without_secrets(&redactor, prompt),
        None => (thread.start.prompt.clone(), None),
    };
    let input = match changes.set.is_empty() {
        true => ThreadInput::default(),
        false => {
            let values = thread.input()?.map(|value| InputValues::Value { value, origin: "input".to_owned() });
            let given = InputRequest { values, set: changes.set.clone(), door: changes.door };
            thread_input::prepare(thread.home(), &thread.workflow()?, &given, &redactor)?
        }
    };
    let kept = thread.start.input;
    let start = StartNode { prompt, parent: None, depth: None, input: input.hash().or(kept), ..thread.start.clone() };
    let notes = replaced.into_iter().chain(input.note).collect();
    Ok((start::put_start(thread.home(), &start, input.node)?, notes))
}

/// Whether a node is readable but neither start nor step.
fn is_other(home: &Home, at: NodeHash) -> bool {
    let kind = home.store().get(at).map(|found| node::NodeKind::from_type_hash(found.type_hash));
    kind.is_ok_and(|kind| !matches!(kind, Some(node::NodeKind::StartNode | node::NodeKind::StepNode)))
}

/// Forks a thread at its head. With `from_role`, forks it before the last step of that role, so that the role is played again; with another
/// task or input, at its start. The fork gets the settings of the thread, as far as this machine knows them.
///
/// # Errors
/// `NotFound` when the role was never played or the workspace does not exist, `Usage` for another task or input at a step.
pub fn thread(
    home: &Home,
    id: &ThreadId,
    from_role: Option<&str>,
    changes: &ForkChanges,
    cwd: &Path,
) -> Result<ForkReport> {
    refuse_secret_labels(home, changes)?;
    let _hold = home.hold_nodes()?;
    let thread = Thread::any(home, id).map_err(|error| with_earlier_step(home, id, error))?;
    refuse_group(&thread)?;
    let node = match (from_role, changes.begins_anew()) {
        (Some(role), _) => before_role(&thread, role)?,
        (None, true) => thread.start_hash,
        (None, false) => thread.head,
    };
    let (begins_at, mut notes) = begin_at(&thread, node, changes)?;
    if changes.id.is_some() {
        let chain = thread.chain()?;
        // The thread may have continued since the first request, which forked it at an earlier step.
        let is_of = |at: NodeHash| at == thread.start_hash || chain.records().iter().any(|record| record.step == at);
        let is_it = |at| at == begins_at || !changes.begins_anew() && is_of(at);
        if let Some(forked) = forked_before(home, changes, is_it)? {
            return Ok(forked);
        }
    }
    let known = ThreadSettings::load(home, id)?;
    let worktree = match changes.workspace {
        Some(_) => None,
        None => match &known {
            Some(known) => files_at(home, id, known, node)?,
            None => travel::for_fork(home, id, node, cwd)?,
        },
    };
    let digest = recorded_digest::digest_at_node(home, id, begins_at)?;
    let settings = ThreadSettings { digest, ..settings(known, changes, cwd)? };
    let settings = with_agents(&thread, settings, changes, cwd, &mut notes)?;
    notes.extend(unenforced_limits(&thread, &settings, changes)?);
    let created = start::create(home, begins_at, settings, worktree.as_ref(), changes.id.as_ref())?;
    Ok(forked(created, begins_at, notes))
}

/// Adds the newest readable step to the error of a thread whose head is unreadable.
fn with_earlier_step(home: &Home, id: &ThreadId, error: Error) -> Error {
    let is_whole = |step: &NodeHash| nodes::step_node(home.store(), *step).is_ok();
    match chain::cached(home, id).find(is_whole).filter(|_| error.kind == ErrorKind::Data) {
        Some(step) => error.hint(format!("`uwf thread fork {step}` continues after the newest step that can be read")),
        None => error,
    }
}

/// The repository that has the files of a node, and these files; `None` without git.
fn recorded_anywhere(home: &Home, cwd: &Path, node: NodeHash) -> Result<Option<(PathBuf, SnapshotCommit)>> {
    match snapshot::find_anywhere(home, cwd, node) {
        Err(Error { cause: Some(ErrorCause::NoGit), .. }) => Ok(None),
        found => Ok(found?),
    }
}

/// The worktree for a fork of a thread that works in one, with the files of the forked node.
fn files_at(home: &Home, id: &ThreadId, known: &ThreadSettings, node: NodeHash) -> Result<Option<NewWorktree>> {
    let Some(worktree) = known.worktree_in_use() else { return Ok(None) };
    let Worktree { dir, repository, .. } = worktree;
    let Some(files) = travel::find(home, repository, id, node)? else {
        return Err(Error::not_found(format!("the files of thread {id} at {node} were not recorded"))
            .hint(format!("`uwf thread fork {id} --cwd DIR` forks the conversation alone")));
    };
    let origin = project_files::origin(home, dir);
    let from = if origin == *dir { checkout_of(repository) } else { origin };
    let inside = worktree.inside(&known.workspace).unwrap_or_default();
    Ok(Some(NewWorktree::of_step(repository.clone(), files, from, inside)))
}

fn settings(known: Option<ThreadSettings>, changes: &ForkChanges, cwd: &Path) -> Result<ThreadSettings> {
    let mut settings = match (known, &changes.workspace) {
        (known, Some(dir)) => ThreadSettings { workspace: settings::workspace(cwd, dir)?, ..known.unwrap_or_default() },
        (Some(known), None) => known,
        (None, None) => ThreadSettings { workspace: settings::workspace(cwd, cwd)?, ..ThreadSettings::default() },
    };
    settings.limits = changes.limits.or(settings.limits);
    settings.labels.extend(changes.labels.clone());
    // The fork of a child thread has no parent.
    settings.parent = None;
    settings.branch = None;
    Ok(settings)
}

/// Settings of a fork with the agents that the changes name. Without any, a fork needs no configuration.
fn with_agents(
    thread: &Thread<'_>,
    settings: ThreadSettings,
    changes: &ForkChanges,
    cwd: &Path,
    notes: &mut Vec<String>,
) -> Result<ThreadSettings> {
    let bound = &changes.bound;
    if bound.is_empty() {
        return Ok(settings);
    }
    let home = thread.home();
    bound.refuse_secrets(&SecretRedactor::for_home(home)?)?;
    let config = project::config(home, &settings.workspace)?;
    bound.check(&config, &thread.workflow()?, &settings.workspace)?;
    let workflow = thread.start.workflow;
    let (settings, further) = rebind::with_agents(home, workflow, &config, settings, bound.clone(), cwd)?;
    notes.extend(further);
    Ok(settings)
}

/// Notes about limits that have no effect on the agents of the fork.
fn unenforced_limits(thread: &Thread<'_>, settings: &ThreadSettings, changes: &ForkChanges) -> Result<Vec<String>> {
    let home = thread.home();
    let planned = || {
        let config = project::config(home, &settings.workspace)?;
        let decider = WorkflowDecider { home, config: &config, person_at: None };
        let (workflows, _) = decider.decide(thread.start.workflow, settings)?;
        let settings = ThreadSettings { workflows, ..settings.clone() };
        StepPlan::new(home, config, settings, thread.start.workflow, thread.workflow()?)
    };
    match planned() {
        Ok(plan) => start::check_limits(home, &plan, changes.strict_limits),
        // A fork needs neither agents nor a configuration; its next step reports what is wrong with them.
        Err(_) if !changes.strict_limits => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn never_played(thread: &Thread<'_>, role: &str, has_steps: bool) -> Result<Error> {
    let (id, roles) = (&thread.id, thread.workflow()?.roles);
    let others = roles.keys().map(String::as_str).filter(|other| *other != role);
    let hint = match nearest::did_you_mean(role, others) {
        _ if !has_steps => Some(format!("it has no steps yet: `uwf thread fork {id}` forks it at its start")),
        _ if roles.contains_key(role) => Some(format!("`uwf thread steps {id}` lists the roles that were")),
        near => near,
    };
    Ok(Error::not_found(format!("role `{role}` was never played in thread {id}")).hints(hint))
}

fn before_role(thread: &Thread<'_>, role: &str) -> Result<NodeHash> {
    let chain = thread.chain()?;
    let Some(last) = chain.last_of(role) else {
        return Err(never_played(thread, role, !chain.is_empty())?);
    };
    let before = last.checked_sub(1).and_then(|before| chain.get(before));
    Ok(before.map_or(thread.start_hash, |record| record.step))
}
