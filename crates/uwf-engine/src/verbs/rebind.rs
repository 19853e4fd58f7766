//! `uwf run THREAD --agent …`: changes the agents of a thread from its next step on.

use std::path::Path;

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use crate::attempt::agents::delegation;
use crate::attempt::bindings::AgentBindings;
use crate::attempt::plan::StepPlan;
use crate::attempt::redactor::SecretRedactor;
use crate::error::Result;
use crate::root::home::Home;
use crate::root::lock;
use crate::verbs::start::decide_workflows::WorkflowDecider;
use crate::verbs::step::expected_head;

/// Binds a thread to further agents, if it is at the expected head. Roles without a new agent keep theirs, unless one of the new agents
/// is for all roles. If a new agent is a workflow, resolves the workflow again for the person at `cwd`. Returns notes for that person.
///
/// # Errors
/// `NotFound` if the thread is not active. `Busy` while another process steps it, or if it is at another head. `Usage` for an unknown
/// role, `Config` for an unknown agent. Errors of the thread's record.
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
    let StepPlan { config, mut settings, workflow, .. } = StepPlan::load(&thread, None)?;
    bound.refuse_secrets(&SecretRedactor::for_home(home)?)?;
    bound.check(&config, &workflow, &settings.workspace)?;
    for named in bound.agents.values().chain(&bound.every_role) {
        let spec = named.spec(&config, &settings.workspace)?;
        settings.workflows.retain(|name, _| delegation::workflow_of(&spec) != Some(name));
    }
    settings.bound = settings.bound.with(bound);
    let _hold = home.hold_nodes()?;
    let deciding = WorkflowDecider { home, config: &config, person_at: Some(cwd) };
    let (workflows, notes) = deciding.decide(thread.start.workflow, &settings)?;
    settings.workflows = workflows;
    let begun_at = settings.begun_at.unwrap_or(thread.head);
    settings.begun_at(begun_at).save(home, id)?;
    Ok(notes)
}
