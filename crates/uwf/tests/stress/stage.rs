//! A storage root with a workflow, its two agents and their ledger.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use json_cas::NodeHash;
use rustix::process::Signal;
use uwf_core::node::{NodeKind, StepNode};
use uwf_engine::root::home::Home;
use uwf_testing::{FinishedRun, TestHome};

use crate::ledger;
use crate::processes::{self, Process};

/// How long processes may take to come to their end by themselves.
const SETTLE: Duration = Duration::from_mins(1);

/// How often a command is given again that waited ten seconds for others.
const MAX_BUSY: usize = 20;

/// Rounds of a workflow that no test comes to the end of.
pub(crate) const ENDLESS: usize = 100_000;

/// A root, and what works on it.
pub(crate) struct Stage {
    pub(crate) home: TestHome,
}

impl Stage {
    /// A root with the workflow `take-turns`: `worker` and `stepper` take turns until there are `rounds` steps. An agent
    /// works for `work_ms` milliseconds.
    pub(crate) fn new(rounds: usize, work_ms: u32) -> Stage {
        let home = TestHome::new(uwf_testing::uwf_program());
        home.script("worker", &ledger::worker(work_ms));
        home.script("stepper", &ledger::stepper(work_ms));
        home.config(
            "agents:\n  worker: { command: worker, output: json }\n  stepper: { command: stepper }\n\
             defaultAgent: worker\nagentOverrides:\n  take-turns: { stepper: stepper }\nkillGrace: 1\n",
        );
        home.put("take-turns", &taking_turns(rounds));
        Stage { home }
    }

    /// Starts a thread.
    pub(crate) fn start(&self) -> String {
        self.home.start("take-turns", "take turns")
    }

    /// What came of a command, given again while it is told to try again.
    ///
    /// # Panics
    /// When somebody is busy for ever.
    pub(crate) fn not_busy<A: AsRef<std::ffi::OsStr>>(&self, ran: FinishedRun, args: &[A]) -> FinishedRun {
        let again = (0..MAX_BUSY).map(|_| self.home.uwf(args));
        let mut all = std::iter::once(ran).chain(again);
        all.find(|ran| ran.code != Some(75)).expect("nobody is busy for ever")
    }

    /// The root as the engine sees it: what a check reads needs no process.
    pub(crate) fn engine(&self) -> Home {
        Home::open(self.home.root(), "uwf")
    }

    /// Directory of everything that belongs to the stage, which is what its processes have as `HOME`.
    pub(crate) fn dir(&self) -> PathBuf {
        self.home.root().parent().unwrap().to_owned()
    }

    /// Live processes of this stage.
    pub(crate) fn processes(&self) -> Vec<Process> {
        processes::of(&self.dir())
    }

    /// Waits until no process of this stage is left.
    ///
    /// # Panics
    /// When some never end.
    pub(crate) fn settle(&self) {
        let deadline = Instant::now() + SETTLE;
        while !self.processes().is_empty() {
            assert!(Instant::now() < deadline, "still running: {:?}", self.processes());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Checks that every node of the store is whole and has all it refers to.
    pub(crate) fn check_store(&self) {
        let report = self.engine().store().verify(None).unwrap();
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    }

    /// The heads of active threads.
    pub(crate) fn heads(&self) -> BTreeMap<String, NodeHash> {
        self.engine().heads().list().unwrap().into_iter().collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for process in self.processes() {
            process.signal(Signal::KILL);
        }
    }
}

/// A step of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    /// The `StepNode`.
    pub(crate) step: NodeHash,
    /// What the head was before it.
    pub(crate) before: NodeHash,
    /// The output it names.
    pub(crate) output: NodeHash,
}

/// The steps from a head back to the start, oldest first. Read from the nodes, not from a cache.
pub(crate) fn chain(home: &Home, head: NodeHash) -> Vec<Link> {
    let mut links = Vec::new();
    let mut next = head;
    loop {
        let node = home.store().get(next).unwrap();
        if NodeKind::from_type_hash(node.type_hash) != Some(NodeKind::StepNode) {
            break;
        }
        let step: StepNode = serde_json::from_value(node.payload).unwrap();
        let before = step.prev.unwrap_or(step.start);
        links.push(Link { step: next, before, output: step.output });
        next = before;
    }
    links.reverse();
    links
}

/// Two roles that take turns; each tells the attempt it was played in, so that no two steps are the same node.
fn taking_turns(rounds: usize) -> String {
    let role = |name: &str| {
        format!(
            "  {name}:\n    description: takes its turn\n    goal: Take your turn.\n    meta:\n      type: object\n      \
             properties: {{ attempt: {{ type: string }} }}\n      required: [attempt]\n"
        )
    };
    format!(
        "name: take-turns\ndescription: two roles take turns\nroles:\n{}{}conditions:\n  enough:\n    description: there were \
         enough turns\n    expression: \"$count(steps) >= {rounds}\"\ngraph:\n  $START: [ {{ role: worker }} ]\n  worker:\n    \
         - {{ role: $END, condition: enough }}\n    - {{ role: stepper }}\n  stepper:\n    - {{ role: $END, condition: \
         enough }}\n    - {{ role: worker }}\n",
        role("worker"),
        role("stepper"),
    )
}

/// Reads a file that may not be there.
pub(crate) fn text_of(path: &std::path::Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
