//! What adding up costs has read: by hash, so that it is never out of date. Whoever adds up again and again keeps it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use json_cas::Hash;
use uwf_core::config::Config;
use uwf_core::thread::ThreadId;

use crate::attempt::recorded;
use crate::root::home::Home;
use crate::thread::runs::StepRuns;

/// Steps that are kept, some 300 bytes each. Beyond, all are forgotten.
const MOST_STEPS: usize = 100_000;

/// What was read the last times. A new one knows nothing.
#[derive(Default)]
pub struct CostMemory {
    /// What agents are called, and which models they have, depends on it.
    config: Config,
    steps: HashMap<Hash, Arc<StepRuns>>,
    lines: HashMap<Hash, Arc<Line>>,
    tries: HashMap<ThreadId, (RecordSign, Hash, Vec<Hash>)>,
}

/// What leads to a head.
pub(super) struct Line {
    /// The name of the workflow.
    pub(super) workflow: Option<String>,
    /// The steps, oldest first.
    pub(super) steps: Vec<Hash>,
}

/// The record of a thread as the file system describes it: it is another one after each line that is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordSign {
    changed: SystemTime,
    bytes: u64,
}

impl RecordSign {
    /// `None` when there is no record.
    pub(super) fn of(record: &Path) -> Option<RecordSign> {
        let found = std::fs::metadata(record).ok()?;
        Some(RecordSign { changed: found.modified().ok()?, bytes: found.len() })
    }

    /// When it changed, Unix milliseconds.
    pub(super) fn changed_ms(&self) -> Option<u64> {
        u64::try_from(self.changed.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_millis()).ok()
    }
}

impl CostMemory {
    /// Makes ready for a sum by this configuration.
    pub(super) fn begin(&mut self, config: &Config) {
        if self.steps.len() > MOST_STEPS || self.config != *config {
            *self = CostMemory { config: config.clone(), ..CostMemory::default() };
        }
    }

    pub(super) fn step(&self, step: Hash) -> Option<Arc<StepRuns>> {
        self.steps.get(&step).cloned()
    }

    /// Keeps what is known of a step. What is not wholly readable is read again the next time.
    pub(super) fn keep_step(&mut self, step: Hash, runs: StepRuns) -> Arc<StepRuns> {
        let runs = Arc::new(runs);
        if runs.unreadable.is_none() {
            self.steps.insert(step, Arc::clone(&runs));
        }
        runs
    }

    pub(super) fn line(&self, head: Hash) -> Option<Arc<Line>> {
        self.lines.get(&head).cloned()
    }

    pub(super) fn keep_line(&mut self, head: Hash, line: Line) -> Arc<Line> {
        let line = Arc::new(line);
        self.lines.insert(head, Arc::clone(&line));
        line
    }

    /// The failed tries since the newest step of a thread, as its record has them.
    pub(super) fn tries(&mut self, home: &Home, thread: &ThreadId, head: Hash, sign: RecordSign) -> Vec<Hash> {
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
