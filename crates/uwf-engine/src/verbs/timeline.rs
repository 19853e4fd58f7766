//! Steps with what each of them took: for pages that show a thread in time.

use std::ops::Range;

use uwf_core::config::Config;
use uwf_core::spending::{self, Spent};
use uwf_core::thread::Step;

use crate::error::Result;
use crate::thread::load::Thread;
use crate::thread::runs::RunReader;

/// A step, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedStep {
    /// All there is to show of the step.
    pub step: Step,
    /// What its agent spent, failed attempts before it included. Of a step that a child thread did, nothing: its own steps say.
    pub spent: Spent,
    /// Milliseconds from the beginning of the attempt that made it to its end, as far as that is on record.
    pub took_ms: u64,
}

/// Some steps of a thread, by their positions from 0. Each takes reading its node, its output and its detail.
///
/// # Errors
/// Those of the chain and the StepNodes. What lies below them and is not readable is said in [`Step::unreadable`].
pub fn timeline(thread: &Thread<'_>, config: &Config, range: Range<usize>) -> Result<Vec<TimedStep>> {
    let mut reader = RunReader::new(thread.home().store(), config);
    let count = thread.chain()?.len();
    let mut timed = Vec::new();
    for index in range.start.min(count)..range.end.min(count) {
        let step = thread.whole_step(index)?;
        let runs = reader.of_step(step.hash).unwrap_or_default();
        let mut spent = Spent::default();
        for run in &runs.runs {
            spent.add(&run.run, spending::run_prices(config, run.model.as_deref()));
        }
        let made = runs.runs.iter().find(|run| !run.run.has_failed);
        let took_ms = made.map_or(0, |run| run.run.duration_ms);
        timed.push(TimedStep { step, spent, took_ms });
    }
    Ok(timed)
}
