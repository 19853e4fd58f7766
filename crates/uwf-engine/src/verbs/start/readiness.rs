//! Checks that the agents of a thread can start, before the first agent is started and paid for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use json_cas::NodeHash;
use uwf_core::config::UwfConfig;
use uwf_core::workflow::{END, GroupBranch, START, next_positions, roles_after};

use crate::attempt::agents::AgentSpec;
use crate::attempt::plan::StepPlan;
use crate::error::{Error, ErrorKind, Result};
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::thread::steps::StepParts;

/// The hint for groups that are nested too deep.
pub(crate) const NESTED_GROUPS_HINT: &str = "to allow groups nested deeper, raise `maxDepth` in config.yaml";

/// Checks that an agent can start on this machine. The crate of the built-in agents knows their requirements; this crate does not. The
/// directory is unknown while a worktree has not been created.
pub type AgentCheck = fn(&Home, &UwfConfig, &AgentSpec, Option<&Path>) -> Result<()>;

/// Which roles of a thread to check.
#[derive(Debug, Clone)]
pub struct ReadinessOptions {
    /// Checks an agent.
    pub check: AgentCheck,
    /// The role before which the run stops.
    pub until: Option<String>,
    /// The number of steps after which the run stops.
    pub steps: Option<u64>,
}

/// Returns a warning for each role that the thread may still reach and whose agent can't start. A thread that has started runs as far as
/// it can, and its next step reports what its agent lacks.
///
/// # Errors
/// `Config`; `Data` if a node of the thread can't be read.
pub fn of_thread(thread: &Thread<'_>, readiness: &ReadinessOptions) -> Result<Vec<String>> {
    let plan = StepPlan::load(thread, None)?;
    let last = match thread.chain()?.len().checked_sub(1) {
        Some(last) => thread.step(last, StepParts::NONE)?.role,
        None => START.to_owned(),
    };
    let mut looked = ReadinessCheck::new(thread.home(), readiness, true);
    looked.depth = thread.start.depth.unwrap_or(0);
    let mut unready = looked.unready(&plan, &last);
    // The next step reports these itself.
    let mut next = next_positions(&plan.workflow.graph, &last);
    let branches: Vec<&str> = next.iter().flat_map(|role| plan.workflow.branches_of(role)).collect();
    next.extend(branches);
    unready.retain(|role, _| !next.contains(&role.as_str()));
    Ok(looked.warnings(&unready))
}

/// Rejects a new thread that is certain to reach a role whose agent can't start. Returns a warning for each other such role that it may
/// reach.
///
/// # Errors
/// The fault of the first such role's agent. Where conditions choose a role, one agent that can start is enough.
pub(crate) fn of_new_thread(
    home: &Home,
    plan: &StepPlan,
    readiness: &ReadinessOptions,
    gets_worktree: bool,
) -> Result<Vec<String>> {
    let mut looked = ReadinessCheck::new(home, readiness, !gets_worktree);
    let mut unready = looked.unready(plan, START);
    match looked.certain(plan, &unready).and_then(|role| unready.remove(&role)) {
        Some(error) => Err(error),
        None => Ok(looked.warnings(&unready)),
    }
}

/// An error that can be reported for several roles.
#[derive(Clone)]
struct ReadinessFault {
    kind: ErrorKind,
    message: String,
    hints: Vec<String>,
}

/// The check of a thread's agents and of the child threads that play its roles.
struct ReadinessCheck<'h> {
    home: &'h Home,
    readiness: ReadinessOptions,
    /// Whether the agents' directory exists.
    has_dir: bool,
    /// The fault of each child thread, by its workflow and the agent that starts it; `None` while it is being checked.
    children: BTreeMap<(NodeHash, String), Option<ReadinessFault>>,
    /// Warnings of child threads.
    of_children: Vec<String>,
    /// How many threads are above the one that is checked.
    depth: u32,
}

impl<'h> ReadinessCheck<'h> {
    fn new(home: &'h Home, readiness: &ReadinessOptions, has_dir: bool) -> ReadinessCheck<'h> {
        ReadinessCheck {
            home,
            readiness: readiness.clone(),
            has_dir,
            children: BTreeMap::new(),
            of_children: Vec::new(),
            depth: 0,
        }
    }

    /// The faults of agents that can't start, by role.
    fn unready(&mut self, plan: &StepPlan, from: &str) -> BTreeMap<String, Error> {
        let ReadinessOptions { until, steps, .. } = &self.readiness;
        let roles: Vec<String> =
            roles_after(&plan.workflow.graph, from, until.as_deref(), *steps).into_iter().map(str::to_owned).collect();
        let branches = roles.iter().flat_map(|role| plan.workflow.branches_of(role)).map(str::to_owned);
        let roles: BTreeSet<String> = roles.iter().cloned().chain(branches.collect::<Vec<_>>()).collect();
        let mut unready =
            roles.iter().filter_map(|role| Some((role.clone(), self.lack(plan, role)?))).collect::<BTreeMap<_, _>>();
        // From the innermost group outwards.
        for _ in 0..plan.workflow.roles.len() {
            let faults: Vec<_> = roles.iter().filter_map(|role| fault_of_group(plan, role, &unready)).collect();
            if faults.is_empty() {
                break;
            }
            unready.extend(faults);
        }
        unready
    }

    fn lack(&mut self, plan: &StepPlan, role: &str) -> Option<Error> {
        let dir = Some(plan.settings.workspace.as_path()).filter(|_| self.has_dir);
        if let Err(error) = plan.check_branches(self.home, role) {
            return Some(error);
        }
        let players = self.check_depth(plan, role).and_then(|()| plan.players(role));
        let mut check = |agent: &AgentSpec| {
            plan.check_form(self.home, role, agent)?;
            (self.readiness.check)(self.home, &plan.config, agent, dir)?;
            self.child(plan, agent)
        };
        let checked = players.and_then(|players| players.iter().try_for_each(&mut check));
        checked.err().map(|error| of_role(role, error))
    }

    /// Rejects groups that are nested deeper than `maxDepth`: the outer ones would have been paid for.
    fn check_depth(&self, plan: &StepPlan, role: &str) -> Result<()> {
        let nested = u32::try_from(plan.workflow.nested_groups(role)).unwrap_or(u32::MAX);
        let (depth, most) = (self.depth.saturating_add(nested), plan.config.limits.max_depth);
        if depth <= most {
            return Ok(());
        }
        let message =
            format!("the innermost group of role `{role}` would be {depth} threads deep, and `maxDepth` is {most}");
        Err(Error::limit(message).hint(NESTED_GROUPS_HINT))
    }

    /// Checks the child thread that plays a role. It must run to its end, however far its parent runs.
    fn child(&mut self, plan: &StepPlan, agent: &AgentSpec) -> Result<()> {
        let Some(child) = plan.for_child(self.home, agent)? else { return Ok(()) };
        let key = (child.workflow_hash, agent.name.clone());
        if !self.children.contains_key(&key) {
            // A workflow may play one of its own roles.
            self.children.insert(key.clone(), None);
            let lack = self.lack_of_child(&child);
            self.children.insert(key.clone(), lack);
        }
        match self.children.get(&key).cloned().flatten() {
            Some(ReadinessFault { kind, message, hints }) => Err(Error { hints, ..Error::new(kind, message) }),
            None => Ok(()),
        }
    }

    fn lack_of_child(&mut self, plan: &StepPlan) -> Option<ReadinessFault> {
        let whole = ReadinessOptions { until: None, steps: None, ..self.readiness.clone() };
        let readiness = std::mem::replace(&mut self.readiness, whole);
        self.depth += 1;
        let mut unready = self.unready(plan, START);
        self.depth -= 1;
        let certain = self.certain(plan, &unready).and_then(|role| unready.remove(&role));
        self.readiness = readiness;
        self.of_children.extend(unready.values().map(warning));
        certain.map(|Error { kind, message, hints, .. }| ReadinessFault { kind, message, hints })
    }

    /// The first role that the thread is certain to reach and whose agent can't start.
    fn certain(&self, plan: &StepPlan, unready: &BTreeMap<String, Error>) -> Option<String> {
        let graph = &plan.workflow.graph;
        let ReadinessOptions { until, steps, .. } = &self.readiness;
        let mut from = START;
        let mut seen = BTreeSet::new();
        while seen.insert(from) && steps.is_none_or(|steps| seen.len() as u64 <= steps) {
            let mut ways = next_positions(graph, from);
            // If no condition matches, no role is played and the thread ends.
            let may_end = graph.get(from).is_none_or(|all| all.iter().all(|way| way.condition.is_some()));
            if from == START {
                ways.retain(|role| *role != END);
            } else if may_end {
                return None;
            }
            if let Some(first) = ways.first().filter(|_| ways.iter().all(|role| unready.contains_key(*role))) {
                return Some((*first).to_owned());
            }
            match ways[..] {
                [only] if only != END && until.as_deref() != Some(only) => from = only,
                _ => return None,
            }
        }
        None
    }

    fn warnings(self, unready: &BTreeMap<String, Error>) -> Vec<String> {
        let mut warnings: Vec<String> = Vec::new();
        // A group and its branch may have the same fault.
        for warning in unready.values().map(warning).chain(self.of_children) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        warnings
    }
}

/// The fault of a group, if it is certain to play a role whose agent can't start: the other branches would be paid for nothing.
fn fault_of_group(plan: &StepPlan, group: &str, unready: &BTreeMap<String, Error>) -> Option<(String, Error)> {
    let play = plan.workflow.roles.get(group)?.more.play.as_ref().filter(|_| !unready.contains_key(group))?;
    // A list may be empty.
    let is_certain =
        |branch: &&GroupBranch| branch.condition.is_none() && !play.may_fail && !branch.may_fail && play.each.is_none();
    let branch = play.roles.iter().filter(is_certain).find(|branch| unready.contains_key(&branch.role))?;
    let Error { kind, message, hints, .. } = unready.get(&branch.role)?;
    Some((group.to_owned(), Error { hints: hints.clone(), ..Error::new(*kind, message.clone()) }))
}

fn of_role(role: &str, error: Error) -> Error {
    let name = format!("`{role}`");
    match error.message.contains(&name) {
        true => error,
        false => Error { message: format!("role {name}: {}", error.message), ..error },
    }
}

fn warning(error: &Error) -> String {
    format!("the thread will stop if it gets so far: {}", error.message)
}
