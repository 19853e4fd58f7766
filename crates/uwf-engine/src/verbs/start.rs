//! `thread start`: a StartNode, a head, and the thread's local settings. Nothing is executed.

use std::path::{Path, PathBuf};

use json_cas::{Draft, Hash, Swap};
use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::config::{Config, Workspace};
use uwf_core::node::{Content, Payload, StartNode};
use uwf_core::prompt;
use uwf_core::thread::ThreadId;
use uwf_core::usage::ThreadLimits;
use uwf_core::workflow::{END, Workflow, endless_roles};

use crate::attempt::bindings::Bindings;
use crate::attempt::delegation::Decisions;
use crate::attempt::plan::{self, Plan};
use crate::attempt::redactor::Redactor;
use crate::attempt::settings::{self, Settings};
use crate::attempt::travel;
use crate::attempt::worktree::NewWorktree;
use crate::error::{Error, ErrorKind, Result};
use crate::root::home::Home;
use crate::root::node_types;
use crate::root::worktree::Worktree;
use crate::root::{ids, project};
use crate::thread::nodes;
use crate::verbs::chosen_id::{self, Begun};
use crate::verbs::decide_workflows::Deciding;
use crate::verbs::find_workflow::{self, Found, Origin};
use crate::verbs::new_thread;
use crate::verbs::readiness::{self, Readiness};

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
    /// How far the thread may go.
    pub limits: ThreadLimits,
    /// Whether it gets a git worktree of its own; as the configuration has it for the workflow when nobody says.
    pub worktree: Option<bool>,
    /// Its id, for whoever may have to send the same request again; a new one when nobody says.
    pub id: Option<ThreadId>,
    /// How far it runs at once; `None` if nothing follows its start. A thread that can't run so far is not created.
    pub runs: Option<Readiness>,
    /// Whether limits that its agents keep from working are an error, not a note.
    pub strict_limits: bool,
}

/// What was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Started {
    /// The workflow it is pinned to.
    pub workflow: Hash,
    /// Its id.
    pub thread: ThreadId,
    /// Its StartNode.
    #[serde(skip)]
    pub head: Hash,
    /// The worktree it has of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// Things to tell the person.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Starts a thread. With an id that a thread has which began with the same workflow and task, that thread is what was started.
///
/// # Errors
/// `Usage` for an empty prompt, an id that another thread has, an unknown role in `--agent` or `--until`, or a worktree without a repository, `NotFound` for an unknown
/// workflow or workspace, those of store and index.
pub fn start(home: &Home, request: &StartRequest, cwd: &Path) -> Result<Started> {
    refuse_empty_prompt(&request.prompt)?;
    // From the workflow, which may have no name, to the head.
    let _hold = home.hold_nodes()?;
    let Found { hash, origin, mut notes } = find_workflow::workflow(home, &request.workflow, cwd)?;
    let workflow = nodes::workflow(home.store(), hash)?;
    if let Some(role) = request.runs.as_ref().and_then(|runs| runs.until.as_ref()) {
        plan::check_role(&workflow, role)?;
    }
    if let Some(started) = started_before(home, request, hash)? {
        return Ok(started);
    }
    // What comes from a file has been checked just now.
    if matches!(origin, Origin::Registry | Origin::Store) {
        notes.extend(endless(&workflow));
    }
    let workspace = settings::workspace(cwd, &request.workspace)?;
    let settings = Settings { workspace, bound: request.bound.clone(), limits: request.limits, ..Settings::default() };
    let config = project::config(home, &settings.workspace)?;
    let worktree = new_worktree(request.worktree, &config, &workflow, &settings.workspace)?;
    notes.extend(worktree.as_ref().and_then(NewWorktree::left_behind));
    check_agents(home, &config, hash, &settings)?;
    let redactor = Redactor::of(home)?;
    request.bound.refuse_secrets(&redactor)?;
    let (workflows, further) = Deciding { home, config: &config, person_at: Some(cwd) }.decide(hash, &settings)?;
    let plan = Plan { config, settings: Settings { workflows, ..settings }, workflow };
    if let Some(runs) = &request.runs {
        notes.extend(readiness::of_new_thread(home, &plan, runs, worktree.is_some())?);
    }
    notes.extend(check_limits(&plan, request.strict_limits)?);
    notes.extend(further);
    let Plan { settings, .. } = plan;
    let (prompt, replaced) = without_secrets(&redactor, &request.prompt);
    notes.extend(replaced);
    let head = put_start(home, &StartNode { workflow: hash, prompt, parent: None, depth: None })?;
    let Created { thread, worktree, note } = create(home, head, settings, worktree.as_ref(), request.id.as_ref())?;
    notes.extend(note);
    Ok(Started { workflow: hash, thread, head, worktree, notes })
}

/// What the same request has started before.
fn started_before(home: &Home, request: &StartRequest, workflow: Hash) -> Result<Option<Started>> {
    let Some(id) = &request.id else { return Ok(None) };
    let (prompt, _) = without_secrets(&Redactor::of(home)?, &request.prompt);
    let head = StartNode { workflow, prompt, parent: None, depth: None }.draft().hash();
    let begun = chosen_id::begun(home, id, |at| at == head)?;
    let started = |Begun { worktree, .. }| Started { workflow, thread: id.clone(), head, worktree, notes: Vec::new() };
    Ok(begun.map(started))
}

/// The worktree that a thread is to get, if it was asked for or is the default: of the configuration for the workflow, else of
/// the workflow itself.
fn new_worktree(asked: Option<bool>, config: &Config, workflow: &Workflow, dir: &Path) -> Result<Option<NewWorktree>> {
    let configured = config.workspaces.get(&workflow.name);
    let by_default = *configured.unwrap_or(&workflow.workspace) == Workspace::Worktree;
    match asked {
        Some(true) => Ok(Some(NewWorktree::from_dir(dir)?)),
        None if by_default => match NewWorktree::from_dir(dir) {
            Ok(worktree) => Ok(Some(worktree)),
            Err(error) => {
                let name = &workflow.name;
                let who = match configured {
                    Some(_) => format!("`workspaces.{name}` of the configuration"),
                    None => format!("workflow `{name}`"),
                };
                Err(error.hint(format!("{who} asks for a worktree; --no-worktree does without")))
            }
        },
        Some(false) | None => Ok(None),
    }
}

/// A task without the values of secrets, and what to tell whoever wrote one into it.
pub(crate) fn without_secrets(redactor: &Redactor, task: &str) -> (String, Option<String>) {
    let note = redactor
        .found_in(task)
        .map(|name| format!("the task had the value of {name} in it, which was replaced: a node is for ever"));
    (redactor.text(task), note)
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

/// A thread needs a task.
pub(crate) fn refuse_empty_prompt(prompt: &str) -> Result<()> {
    if !prompt.trim().is_empty() {
        return Ok(());
    }
    Err(Error::usage("the prompt is empty")
        .hint("say what the thread is to do: `-p 'TEXT'`, or `-p -` to read it from stdin"))
}

/// Returns a note for each limit that the agents of the thread keep from working; with `strict` they are an error.
fn check_limits(plan: &Plan, strict: bool) -> Result<Vec<String>> {
    let unenforced = plan.unenforced(plan.limits());
    match strict && !unenforced.is_empty() {
        true => Err(Error::config(unenforced.join("; "))
            .hint("`maxSteps` and `maxTime` work with every agent; `maxCost` works with tokens and a price in `prices` of config.yaml")
            .hint("without --strict-limits the thread starts with a warning")),
        false => Ok(unenforced),
    }
}

/// Whether the workflow has each role an agent is bound to, and there is such an agent.
fn check_agents(home: &Home, config: &Config, hash: Hash, settings: &Settings) -> Result<()> {
    settings.bound.check(config, &nodes::workflow(home.store(), hash)?, &settings.workspace)
}

/// A thread that was created.
pub(crate) struct Created {
    pub(crate) thread: ThreadId,
    /// The worktree it has of its own.
    pub(crate) worktree: Option<Worktree>,
    /// What a person should know.
    pub(crate) note: Option<String>,
}

/// Creates a thread whose head is a stored node: settings first, then the worktree if it gets one, the head last. With an id
/// that was chosen, the thread may be there by now.
///
/// # Errors
/// Those of settings and index, of git; `Usage` when another thread has the id.
pub(crate) fn create(
    home: &Home,
    head: Hash,
    settings: Settings,
    worktree: Option<&NewWorktree>,
    chosen: Option<&ThreadId>,
) -> Result<Created> {
    let thread = chosen.cloned().unwrap_or_else(ids::new_thread_id);
    let mut settings = Settings { worktree: None, ..settings };
    if let Some(new) = worktree {
        let (worktree, workspace) = new.of(home, &thread)?;
        settings = Settings { worktree: Some(worktree), workspace, ..settings };
    }
    let begin = if chosen.is_some() { new_thread::begin_chosen } else { new_thread::begin };
    match begin(home, &thread, head, &settings, worktree)? {
        Swap::Done => {
            let note = travel::push_start(home, &thread, head, &settings);
            Ok(Created { thread, worktree: settings.worktree, note })
        }
        Swap::Moved(_) => match chosen_id::begun(home, &thread, |at| at == head)? {
            Some(begun) => Ok(Created { thread, worktree: begun.worktree, note: None }),
            None => Err(Error::usage(format!(
                "thread id {thread} is taken: there are records of a thread with it, which is neither active nor finished"
            ))
            .hint("choose another id, or have that thread again: `uwf recover --dry-run` shows what is known of it")),
        },
    }
}
