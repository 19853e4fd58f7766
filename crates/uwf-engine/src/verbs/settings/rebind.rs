//! `uwf run THREAD --agent …`: changes the agents of a thread, and of the branches of its groups, from their next steps on.

use std::path::Path;
use std::time::Duration;

use durable_files::FileLock;
use json_cas::NodeHash;
use uwf_core::config::UwfConfig;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::{PERSON_PICKS, Workflow};

use crate::attempt::agents::delegation;
use crate::attempt::bindings::AgentBindings;
use crate::attempt::child_threads;
use crate::attempt::plan::StepPlan;
use crate::attempt::redactor::SecretRedactor;
use crate::attempt::settings::ThreadSettings;
use crate::error::{Error, ErrorKind, Result};
use crate::root::home::Home;
use crate::root::lock;
use crate::thread::load::Thread;
use crate::verbs::start::decide_workflows::WorkflowDecider;
use crate::verbs::step::expected_head;
use crate::verbs::workflows::find_workflow::PathTrust;

/// Binds a thread to further agents, if it is at the expected head. Roles without a new agent keep theirs, unless one of the new agents
/// is for all roles. If a new agent is a workflow, resolves the workflow again for the person at `cwd`. Branches that have begun get the
/// agents of their roles as well. Returns notes for that person.
///
/// # Errors
/// `NotFound` if the thread is not active. `Busy` while another process steps it or such a branch, or if it is at another head. `Usage`
/// for an unknown role, `Config` for an unknown agent. Errors of the thread's record.
pub fn rebind(
    home: &Home,
    id: &ThreadId,
    bound: AgentBindings,
    cwd: &Path,
    expected: Option<NodeHash>,
) -> Result<Vec<String>> {
    // A running step also writes to the record, and may shorten it.
    let _lock = lock::take(home, id)?;
    let (thread, _) = expected_head::active(home, id, expected)?;
    let plan = StepPlan::load(&thread, None)?;
    bound.refuse_secrets(&SecretRedactor::for_home(home)?)?;
    bound.check(&plan.config, &plan.workflow, &plan.settings.workspace)?;
    let mut branches = Vec::new();
    add_branches(&thread, &plan.workflow, &bound, &mut branches)?;
    let _hold = home.hold_nodes()?;
    let notes = bind(&thread, plan, bound, cwd)?;
    for branch in branches {
        let plan = StepPlan::load(&branch.thread, None)?;
        bind(&branch.thread, plan, branch.bound, cwd)?;
    }
    Ok(notes)
}

/// A branch that gets other agents.
struct ReboundBranch<'h> {
    thread: Thread<'h>,
    bound: AgentBindings,
    _lock: FileLock,
}

/// Adds each active branch of a thread's groups whose role gets another agent. The workflow `above` has the roles.
fn add_branches<'h>(
    thread: &Thread<'h>,
    above: &Workflow,
    bound: &AgentBindings,
    found: &mut Vec<ReboundBranch<'h>>,
) -> Result<()> {
    let home = thread.home();
    for id in child_threads::active(home, &thread.id)? {
        let child = match Thread::active(home, &id) {
            // It has just ended.
            Err(error) if error.kind == ErrorKind::NotFound => continue,
            child => child?.0,
        };
        let workflow = child.workflow()?;
        if workflow.planned_branches().is_some() {
            add_branches(&child, above, bound, found)?;
            continue;
        }
        let Some(place) = StepPlan::load(&child, None)?.settings.branch else { continue };
        // The person who picks a copy has a role that no file names.
        let is_person = |role: &String| role == PERSON_PICKS && !above.roles.contains_key(role);
        if workflow.roles.keys().any(is_person) {
            continue;
        }
        add_branches(&child, above, bound, found)?;
        let bound = bound.clone().for_workflow(&workflow);
        if !bound.is_empty() {
            let lock = lock::take_within(home, &id, Duration::ZERO)?.ok_or_else(|| {
                Error::busy(format!("branch `{}` of thread {id} is at work with its earlier agent", place.path()))
                    .hint(format!("wait until it has ended, or end it: `uwf thread kill {id}`"))
            })?;
            found.push(ReboundBranch { thread: child, bound, _lock: lock });
        }
    }
    Ok(())
}

/// Records the agents of a thread, whose lock the caller holds.
fn bind(thread: &Thread<'_>, plan: StepPlan, bound: AgentBindings, cwd: &Path) -> Result<Vec<String>> {
    let home = thread.home();
    let StepPlan { config, settings, .. } = plan;
    let (settings, notes) = with_agents(home, thread.start.workflow, &config, settings, bound, cwd)?;
    let begun_at = settings.begun_at.unwrap_or(thread.head);
    settings.begun_at(begun_at).save(home, &thread.id)?;
    Ok(notes)
}

/// Settings of a thread with further agents, and notes for the person at `cwd`, for whom agents that are workflows are resolved again.
///
/// # Errors
/// `Config` for an unknown agent, and if a workflow can't be found.
pub(crate) fn with_agents(
    home: &Home,
    workflow: NodeHash,
    config: &UwfConfig,
    mut settings: ThreadSettings,
    bound: AgentBindings,
    cwd: &Path,
) -> Result<(ThreadSettings, Vec<String>)> {
    for named in bound.agents.values().chain(&bound.every_role) {
        let spec = named.spec(config, &settings.workspace)?;
        settings.workflows.retain(|name, _| delegation::workflow_of(&spec) != Some(name));
    }
    settings.bound = settings.bound.with(bound);
    let (workflows, notes) =
        WorkflowDecider { home, config, person_at: Some((cwd, PathTrust::Trusted)) }.decide(workflow, &settings)?;
    Ok((ThreadSettings { workflows, ..settings }, notes))
}
