//! Cache of everything that adding up costs has read. Entries belong to a hash or to an unchanged record, so they are never outdated.

use std::collections::HashMap;
use std::sync::Arc;

use json_cas::NodeHash;
use uwf_core::config::UwfConfig;
use uwf_core::thread::ThreadId;

use super::HeadAndRecord;
use super::attempt_times::AttemptTimes;
use crate::attempt::recorded;
use crate::root::file_sign::FileSign;
use crate::root::home::Home;
use crate::thread::runs::StepRuns;

/// How many steps to keep, some 300 bytes each. Beyond that, the cache is emptied.
const MOST_STEPS: usize = 100_000;

/// Steps and threads that were read before, for callers that add up repeatedly. A new one is empty.
#[derive(Default)]
pub struct CostMemory {
    /// Names and models of agents depend on it.
    config: UwfConfig,
    steps: HashMap<NodeHash, Arc<StepRuns>>,
    lines: HashMap<NodeHash, Arc<CachedThreadSteps>>,
    tries: HashMap<ThreadId, (FileSign, NodeHash, Vec<NodeHash>)>,
    times: HashMap<ThreadId, (Option<FileSign>, Arc<AttemptTimes>)>,
}

/// Workflow and steps of a thread up to a head.
pub(super) struct CachedThreadSteps {
    /// The name of the workflow.
    pub(super) workflow: Option<String>,
    /// The steps, oldest first.
    pub(super) steps: Vec<NodeHash>,
    /// Whether it is a child thread.
    pub(super) is_child: bool,
}

impl CostMemory {
    /// Empties the cache if it is too large or belongs to another configuration.
    pub(super) fn begin(&mut self, config: &UwfConfig) {
        if self.steps.len() > MOST_STEPS || self.config != *config {
            *self = CostMemory { config: config.clone(), ..CostMemory::default() };
        }
    }

    pub(super) fn step(&self, step: NodeHash) -> Option<Arc<StepRuns>> {
        self.steps.get(&step).cloned()
    }

    /// Keeps a step. A step that was partly unreadable is read again the next time.
    pub(super) fn keep_step(&mut self, step: NodeHash, runs: StepRuns) -> Arc<StepRuns> {
        let runs = Arc::new(runs);
        if runs.unreadable.is_none() {
            self.steps.insert(step, Arc::clone(&runs));
        }
        runs
    }

    pub(super) fn line(&self, head: NodeHash) -> Option<Arc<CachedThreadSteps>> {
        self.lines.get(&head).cloned()
    }

    pub(super) fn keep_line(&mut self, head: NodeHash, line: CachedThreadSteps) -> Arc<CachedThreadSteps> {
        let line = Arc::new(line);
        self.lines.insert(head, Arc::clone(&line));
        line
    }

    /// Keeps the failed attempts of a thread that was read before.
    pub(super) fn keep_tries(&mut self, thread: &ThreadId, standing: &HeadAndRecord, tries: Vec<NodeHash>) {
        self.tries.extend(standing.record.map(|sign| (thread.clone(), (sign, standing.head, tries))));
    }

    /// Keeps how long the failed attempts of a thread took whose record was read before.
    pub(super) fn keep_times(&mut self, thread: &ThreadId, sign: Option<FileSign>, times: AttemptTimes) {
        self.times.insert(thread.clone(), (sign, Arc::new(times)));
    }

    /// How long the failed attempts of a thread took, read again when its record has changed.
    pub(super) fn attempt_times(&mut self, home: &Home, thread: &ThreadId) -> Arc<AttemptTimes> {
        let sign = FileSign::from_file(&home.record_file(thread));
        if let Some((_, times)) = self.times.get(thread).filter(|(known, _)| *known == sign) {
            return Arc::clone(times);
        }
        let times = Arc::new(AttemptTimes::read(home, thread));
        self.times.insert(thread.clone(), (sign, Arc::clone(&times)));
        times
    }

    /// The failed attempts since the newest step of a thread, from its record.
    pub(super) fn tries(&mut self, home: &Home, thread: &ThreadId, head: NodeHash, sign: FileSign) -> Vec<NodeHash> {
        match self.tries.get(thread) {
            Some((of, at, tries)) if (*of, *at) == (sign, head) => tries.clone(),
            _ => {
                let Ok(attempt) = recorded::read(home, thread) else { return Vec::new() };
                let tries = attempt.map(|attempt| attempt.earlier_at(head)).unwrap_or_default();
                self.tries.insert(thread.clone(), (sign, head, tries.clone()));
                tries
            }
        }
    }
}
