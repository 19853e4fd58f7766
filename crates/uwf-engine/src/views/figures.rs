//! Statistics of a workflow's roles: how often each was played, how often it failed, how long it took and what it cost.
//!
//! They come from the details of steps, like costs. So only the newest threads are read, up to a maximum number of steps.

use std::collections::{BTreeMap, HashSet};

use json_cas::NodeHash;
use serde::Serialize;
use uwf_core::config::UwfConfig;
use uwf_core::node::StartNode;
use uwf_core::spending::{self, SpendingTotals};

use crate::attempt::recorded;
use crate::error::Result;
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::thread::runs::{KnownRun, RunReader, StepRuns};
use crate::views::list::{self, ThreadFilter};

/// How many steps are read at most: a page waits for them.
const MOST_STEPS: usize = 400;

/// Statistics of roles.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowFigures {
    /// Each role that was played, by its name.
    pub roles: BTreeMap<String, RoleFigures>,
    /// Number of threads that were read, the newest ones.
    pub threads: usize,
    /// Number of threads of these workflows.
    pub of: usize,
    /// Number of steps that were read, in these threads and their child threads.
    pub steps: usize,
    /// Whether steps of these threads were left out because there are too many.
    pub is_cut: bool,
    /// Number of unreadable steps and threads.
    pub unreadable: usize,
}

/// Statistics of a role.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleFigures {
    /// Median time of its steps in milliseconds; none if it has no steps.
    pub median_ms: Option<u64>,
    /// Its steps and failed attempts, and their costs.
    #[serde(flatten)]
    pub spent: SpendingTotals,
    /// Milliseconds of each step.
    #[serde(skip)]
    times: Vec<u64>,
}

/// Adds up statistics of the roles of these workflows, from at most `most` of their newest threads.
pub fn of_roles(home: &Home, config: &UwfConfig, workflows: Vec<NodeHash>, most: usize) -> Result<WorkflowFigures> {
    let filter = ThreadFilter { all: true, workflows: Some(workflows), limit: Some(most), ..ThreadFilter::default() };
    let list::ThreadListing { rows, matching, .. } = list::list(home, &filter)?;
    let mut tally = RoleTally {
        home,
        config,
        reader: RunReader::new(home.store(), config),
        roles: BTreeMap::new(),
        counted: HashSet::new(),
        unreadable: 0,
        is_cut: false,
    };
    let mut threads = 0;
    for row in rows {
        if tally.counted.len() >= MOST_STEPS {
            break;
        }
        threads += 1;
        let read = Thread::load_at(home, row.thread, row.head);
        if read.and_then(|thread| tally.thread(&thread)).is_err() {
            tally.unreadable += 1;
        }
    }
    let (steps, is_cut, unreadable) = (tally.counted.len(), tally.is_cut, tally.unreadable);
    Ok(WorkflowFigures { roles: tally.figures(), threads, of: matching, steps, is_cut, unreadable })
}

struct RoleTally<'h> {
    home: &'h Home,
    config: &'h UwfConfig,
    reader: RunReader<'h>,
    roles: BTreeMap<String, RoleFigures>,
    /// Steps that were read; steps that forks share count once.
    counted: HashSet<NodeHash>,
    unreadable: usize,
    is_cut: bool,
}

impl RoleTally<'_> {
    /// Adds a thread, newest step first.
    fn thread(&mut self, thread: &Thread<'_>) -> Result<()> {
        for record in thread.chain()?.records().iter().rev() {
            if self.counted.len() >= MOST_STEPS {
                self.is_cut = true;
                return Ok(());
            }
            if self.counted.insert(record.step) && self.step(record.step).is_err() {
                self.unreadable += 1;
            }
        }
        // The failed attempts since the newest step, which belong to no step yet.
        let Ok(Some(attempt)) = recorded::read(self.home, &thread.id) else { return Ok(()) };
        for hash in attempt.earlier_at(thread.head) {
            match self.reader.failed(hash) {
                Ok(failed) => failed.iter().for_each(|run| self.add(&run.role, run)),
                Err(_) => self.unreadable += 1,
            }
        }
        Ok(())
    }

    fn step(&mut self, hash: NodeHash) -> Result<()> {
        let StepRuns { runs, child, unreadable, .. } = self.reader.of_step(hash)?;
        runs.iter().for_each(|run| self.add_run(run));
        if let Some(last) = child {
            self.child(hash, last)?;
        }
        unreadable.map_or(Ok(()), Err)
    }

    /// Adds a step that a child thread played: all costs of that thread count for the role. Roles of the branches of a group also count for
    /// themselves.
    fn child(&mut self, step: NodeHash, last: NodeHash) -> Result<()> {
        let role = nodes::step_node(self.home.store(), step)?.0.role;
        let mut all = SpendingTotals::default();
        let below = self.below(last, &mut all, false, 1);
        self.add_child(&role, all);
        below
    }

    /// Adds the costs of a child thread's steps, newest first. `is_of_group` is whether the thread above it is a group.
    fn below(&mut self, last: NodeHash, sum: &mut SpendingTotals, is_of_group: bool, depth: usize) -> Result<()> {
        // Its costs count even if its workflow is not readable.
        let is_group = self.is_group(last).unwrap_or_default();
        let is_branch = is_of_group && !is_group;
        let mut next = Some(last);
        while let Some(hash) = next {
            let (node, _) = nodes::step_node(self.home.store(), hash)?;
            self.counted.insert(hash);
            let StepRuns { runs, child, .. } = self.reader.of_step(hash)?;
            for run in &runs {
                sum.add(&run.run, spending::run_prices(self.config, run.model.as_deref()));
                if is_branch {
                    self.add_run(run);
                }
            }
            if let Some(child) = child.filter(|_| depth < nodes::MAX_NESTING) {
                let mut own = SpendingTotals::default();
                let read = self.below(child, &mut own, is_group, depth + 1);
                if is_branch {
                    self.add_child(&node.role, own.clone());
                }
                sum.merge(own);
                read?;
            }
            next = node.prev;
        }
        Ok(())
    }

    /// Whether the thread of a step plays the branches of a group.
    fn is_group(&self, step: NodeHash) -> Result<bool> {
        let store = self.home.store();
        let start: StartNode = nodes::typed(store, nodes::step_node(store, step)?.0.start)?;
        Ok(nodes::workflow(store, start.workflow)?.planned_branches().is_some())
    }

    /// Adds a step of a role that a child thread played. It is one step, whatever the child thread did.
    fn add_child(&mut self, role: &str, all: SpendingTotals) {
        let figures = self.roles.entry(role.to_owned()).or_default();
        figures.times.push(all.duration_ms);
        figures.spent.merge(SpendingTotals { steps: 1, failed_attempts: 0, ..all });
    }

    /// Adds an attempt of an agent.
    fn add_run(&mut self, run: &KnownRun) {
        self.add(&run.role, run);
        if !run.run.has_failed {
            self.roles.entry(run.role.clone()).or_default().times.push(run.run.duration_ms);
        }
    }

    fn add(&mut self, role: &str, known: &KnownRun) {
        let prices = spending::run_prices(self.config, known.model.as_deref());
        self.roles.entry(role.to_owned()).or_default().spent.add(&known.run, prices);
    }

    fn figures(self) -> BTreeMap<String, RoleFigures> {
        let mut roles = self.roles;
        for figures in roles.values_mut() {
            figures.times.sort_unstable();
            // For an even number, the lower of the two in the middle.
            figures.median_ms = figures.times.len().checked_sub(1).map(|last| figures.times[last / 2]);
        }
        roles
    }
}
