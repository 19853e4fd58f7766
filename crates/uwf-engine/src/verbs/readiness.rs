//! Whether the agents of a thread can begin, found out before the first of them is started and paid for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use uwf_core::config::Config;
use uwf_core::workflow::{END, START, next_positions, roles_after};

use crate::attempt::agents::AgentSpec;
use crate::attempt::plan::Plan;
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::thread::steps::Parts;

/// Checks that an agent can begin on this machine. What built-in agents need is known to their crate, not to this one. The directory is
/// unknown while a worktree has not been created.
pub type AgentCheck = fn(&Home, &Config, &AgentSpec, Option<&Path>) -> Result<()>;

/// How far the roles of a thread are checked.
#[derive(Debug, Clone)]
pub struct Readiness {
    /// What checks an agent.
    pub check: AgentCheck,
    /// The role before which the run stops.
    pub until: Option<String>,
    /// The number of steps after which the run stops.
    pub steps: Option<u64>,
}

/// Warns of each role that the thread may still get to and whose agent can't begin. A thread that has begun runs as far as it can. Its next
/// step says itself what its agent lacks.
///
/// # Errors
/// Those of the thread's nodes and of its configuration.
pub fn of_thread(thread: &Thread<'_>, readiness: &Readiness) -> Result<Vec<String>> {
    let plan = Plan::load(thread, None)?;
    let last = match thread.chain()?.len().checked_sub(1) {
        Some(last) => thread.step(last, Parts::NONE)?.role,
        None => START.to_owned(),
    };
    let mut unready = unready(thread.home(), &plan, &last, readiness, false);
    let next = next_positions(&plan.workflow.graph, &last);
    unready.retain(|role, _| !next.contains(&role.as_str()));
    Ok(warnings(&unready))
}

/// Refuses a new thread that would certainly get to a role whose agent can't begin. Returns a warning for each role to which it may get.
///
/// # Errors
/// What the agent of the first such role lacks. Where conditions choose a role, one agent that can begin is enough.
pub(crate) fn of_new_thread(
    home: &Home,
    plan: &Plan,
    readiness: &Readiness,
    gets_worktree: bool,
) -> Result<Vec<String>> {
    let mut unready = unready(home, plan, START, readiness, gets_worktree);
    match certain(plan, readiness, &unready).and_then(|role| unready.remove(&role)) {
        Some(error) => Err(error),
        None => Ok(warnings(&unready)),
    }
}

/// The first role that the thread certainly gets to and whose agent can't begin.
fn certain(plan: &Plan, readiness: &Readiness, unready: &BTreeMap<String, Error>) -> Option<String> {
    let graph = &plan.workflow.graph;
    let mut from = START;
    let mut seen = BTreeSet::new();
    while seen.insert(from) && readiness.steps.is_none_or(|steps| (seen.len() as u64) <= steps) {
        let mut ways = next_positions(graph, from);
        // Nothing is played where no condition matches, and the thread ends.
        let may_end = graph.get(from).is_none_or(|all| all.iter().all(|transition| transition.condition.is_some()));
        if from == START {
            ways.retain(|role| *role != END);
        } else if may_end {
            return None;
        }
        if let Some(first) = ways.first().filter(|_| ways.iter().all(|role| unready.contains_key(*role))) {
            return Some((*first).to_owned());
        }
        match ways[..] {
            [only] if only != END && readiness.until.as_deref() != Some(only) => from = only,
            _ => return None,
        }
    }
    None
}

/// What the agents lack that can't begin, by role.
fn unready(
    home: &Home,
    plan: &Plan,
    from: &str,
    readiness: &Readiness,
    gets_worktree: bool,
) -> BTreeMap<String, Error> {
    let dir = Some(plan.settings.workspace.as_path()).filter(|_| !gets_worktree);
    let lacks = |role: &str| {
        let checked = plan.agent(role, None).map_err(Error::from);
        checked.and_then(|agent| (readiness.check)(home, &plan.config, &agent, dir)).err()
    };
    let roles = roles_after(&plan.workflow.graph, from, readiness.until.as_deref(), readiness.steps);
    roles.into_iter().filter_map(|role| Some((role.to_owned(), of_role(role, lacks(role)?)))).collect()
}

fn of_role(role: &str, error: Error) -> Error {
    let name = format!("`{role}`");
    if error.message.contains(&name) {
        error
    } else {
        Error { message: format!("role {name}: {}", error.message), ..error }
    }
}

fn warnings(unready: &BTreeMap<String, Error>) -> Vec<String> {
    unready.values().map(|error| format!("the thread will stop if it gets so far: {}", error.message)).collect()
}
