//! Steps with their cost and duration, for pages that show a thread over time.

use std::ops::Range;

use uwf_core::config::UwfConfig;
use uwf_core::spending::{self, SpendingTotals};
use uwf_core::thread::{Step, ThreadId};

use crate::attempt::child_threads;
use crate::error::Result;
use crate::thread::load::Thread;
use crate::thread::runs::RunReader;
use crate::views::cost;

/// A step with its cost and duration.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedStep {
    /// The step in full.
    pub step: Step,
    /// Spending of its agent, including earlier failed attempts; if a child thread played the role, of that thread.
    pub spent: SpendingTotals,
    /// Duration of its attempt in milliseconds, as far as recorded; if a child thread played the role, of all its attempts.
    pub took_ms: u64,
    /// The child thread that played the role, if this machine knows it.
    pub child: Option<ThreadId>,
}

/// Some steps of a thread, by their positions from 0. Reads each step's node, output and detail.
///
/// # Errors
/// Errors of the chain and the StepNodes. Unreadable nodes below them are listed in [`Step::unreadable`].
pub fn timeline(thread: &Thread<'_>, config: &UwfConfig, range: Range<usize>) -> Result<Vec<TimedStep>> {
    let mut reader = RunReader::new(thread.home().store(), config);
    let count = thread.chain()?.len();
    let mut timed = Vec::new();
    for index in range.start.min(count)..range.end.min(count) {
        let step = thread.whole_step(index)?;
        if step.is_child_thread {
            let child = child_threads::that_played(&thread.as_of(index)?, &step.role).unwrap_or_default();
            let spent = cost::of_step(thread.home(), config, step.hash);
            timed.push(TimedStep { step, took_ms: spent.duration_ms, spent, child });
            continue;
        }
        let runs = reader.of_step(step.hash).unwrap_or_default();
        let mut spent = SpendingTotals::default();
        for run in &runs.runs {
            spent.add(&run.run, spending::run_prices(config, run.model.as_deref()));
        }
        let made = runs.runs.iter().find(|run| !run.run.has_failed);
        let took_ms = made.map_or(0, |run| run.run.duration_ms);
        timed.push(TimedStep { step, spent, took_ms, child: None });
    }
    Ok(timed)
}
