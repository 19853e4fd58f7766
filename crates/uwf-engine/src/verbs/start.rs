//! `thread start`: a StartNode, a head, and the thread's local settings. Nothing is executed.

use std::path::{Path, PathBuf};

use json_cas::{Draft, Hash, Swap};
use uwf_core::config::Config;
use uwf_core::node::{Content, Payload, StartNode};
use uwf_core::prompt;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::{END, Workflow, endless_roles};

use crate::attempt::bindings::Bindings;
use crate::attempt::delegation::Decisions;
use crate::attempt::environment::Redactor;
use crate::attempt::settings::{self, Settings};
use crate::error::{Error, ErrorKind, Result, VerbError};
use crate::root::home::Home;
use crate::root::node_types;
use crate::root::{ids, project};
use crate::thread::nodes;
use crate::verbs::decide_workflows::Deciding;
use crate::verbs::find_workflow::{self, Found, Origin};
use crate::verbs::new_thread;

/// What to start.
#[derive(Debug, Clone, Default)]
pub struct StartRequest {
    /// Workflow as typed.
    pub workflow: String,
    /// The task.
    pub prompt: String,
    /// Directory agents work in.
    pub workspace: PathBuf,
    /// Agents the thread is bound to.
    pub bound: Bindings,
    /// Most steps the thread may have.
    pub max_steps: Option<u64>,
}

/// What was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// The workflow it is pinned to.
    pub workflow: Hash,
    /// Its id.
    pub thread: ThreadId,
    /// Its StartNode.
    pub head: Hash,
    /// Things to tell the person.
    pub notes: Vec<String>,
}

/// Starts a thread.
///
/// # Errors
/// `Usage` for an empty prompt or an unknown role in `--agent`, `NotFound` for an unknown workflow or workspace, those
/// of store and index.
pub fn start(home: &Home, request: &StartRequest, cwd: &Path) -> Result<Started> {
    if request.prompt.trim().is_empty() {
        return Err(VerbError::EmptyPrompt.into());
    }
    let Found { hash, origin, mut notes } = find_workflow::workflow(home, &request.workflow, cwd)?;
    // What comes from a file has been checked just now.
    if matches!(origin, Origin::Registry | Origin::Store) {
        notes.extend(endless(&nodes::workflow(home.store(), hash)?));
    }
    let workspace = settings::workspace(cwd, &request.workspace)?;
    let settings =
        Settings { workspace, bound: request.bound.clone(), max_steps: request.max_steps, ..Settings::default() };
    let config = project::config(home, &settings.workspace)?;
    check_agents(home, &config, hash, &settings)?;
    let redactor = Redactor::of(home)?;
    request.bound.refuse_secrets(&redactor)?;
    let (workflows, further) = Deciding { home, config: &config, person_at: Some(cwd) }.decide(hash, &settings)?;
    let settings = Settings { workflows, ..settings };
    notes.extend(further);
    if let Some(name) = redactor.found_in(&request.prompt) {
        notes.push(format!("the task had the value of {name} in it, which was replaced: a node is for ever"));
    }
    let prompt = redactor.text(&request.prompt);
    let head = put_start(home, &StartNode { workflow: hash, prompt, parent: None, depth: None })?;
    let thread = create(home, head, &settings)?;
    Ok(Started { workflow: hash, thread, head, notes })
}

/// What a person should know before paying for a thread that nothing but a limit ends.
fn endless(workflow: &Workflow) -> Option<String> {
    let roles: Vec<String> = endless_roles(&workflow.graph).iter().map(|role| format!("`{role}`")).collect();
    let roles = roles.join(", ");
    (!roles.is_empty()).then(|| format!("no way leads from {roles} to `{END}`: only a limit will stop this thread"))
}

/// Stores what a thread begins with. The task as it will be told is part of that, so that the first step need not wait
/// for one more file.
///
/// # Errors
/// Those of the store.
pub(crate) fn put_start(home: &Home, start: &StartNode) -> Result<Hash> {
    node_types::ensure(home)?;
    home.store().put_all(&drafts(start))?;
    Ok(start.draft().hash())
}

/// What is stored of a thread that begins: the task as its roles will be told it, and the StartNode last.
pub fn drafts(start: &StartNode) -> Vec<Draft> {
    let told = prompt::task(&start.prompt).map(|text| Content { text }.draft());
    told.into_iter().chain([start.draft()]).collect()
}

/// The workflow a child thread is pinned to, its agents checked, and what is decided for its own child threads. In `settings`
/// is what was decided when the parent started.
///
/// # Errors
/// `Config`, since it is the configuration that names workflow and agents.
pub(crate) fn pinned(home: &Home, workflow: &str, settings: &Settings) -> Result<(Hash, Decisions)> {
    let config = project::config(home, &settings.workspace)?;
    let pinned = || {
        let hash = match settings.workflows.get(workflow) {
            Some(decided) => decided.hash,
            // The parent is older than such decisions, or has another agent for this step.
            None => find_workflow::without_project(home, workflow, Some(&settings.workspace))?.hash,
        };
        check_agents(home, &config, hash, settings)?;
        let (decisions, _) = Deciding { home, config: &config, person_at: None }.decide(hash, settings)?;
        Ok((hash, decisions))
    };
    pinned().map_err(|error: Error| match error.kind {
        ErrorKind::NotFound | ErrorKind::Usage => Error { kind: ErrorKind::Config, ..error },
        _ => error,
    })
}

/// Whether the workflow has each role an agent is bound to, and there is such an agent.
fn check_agents(home: &Home, config: &Config, hash: Hash, settings: &Settings) -> Result<()> {
    Ok(settings.bound.check(config, &nodes::workflow(home.store(), hash)?, &settings.workspace)?)
}

/// Creates a thread whose head is a stored node: settings first, the head last.
///
/// # Errors
/// Those of settings and index.
pub fn create(home: &Home, head: Hash, settings: &Settings) -> Result<ThreadId> {
    let thread = ids::new_thread_id();
    match new_thread::begin(home, &thread, head, settings)? {
        Swap::Done => Ok(thread),
        Swap::Moved(_) => Err(VerbError::TakenId(thread).into()),
    }
}
