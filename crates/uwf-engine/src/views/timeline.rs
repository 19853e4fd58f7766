//! Steps with their cost and their times, for pages that show a thread over time.

use std::ops::Range;

use json_cas::NodeHash;
use uwf_core::config::UwfConfig;
use uwf_core::spending::{self, SpendingTotals};
use uwf_core::thread::{Step, ThreadId};

use crate::attempt::child_threads;
use crate::attempt::recorded::AttemptOutcome;
use crate::error::Result;
use crate::root::home::Home;
use crate::root::ids;
use crate::thread::load::Thread;
use crate::thread::runs::{KnownRun, RunReader};
use crate::thread::state::ThreadState;
use crate::views::cost;
use crate::views::thread_now::ThreadNow;

/// Most steps of child threads whose times are read for one timeline.
const MOST_CHILD_STEPS: usize = 300;

/// A step with its cost and its times.
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
    /// When its agent worked, failed attempts included; if a child thread played the role, when the agents of that thread worked.
    pub work: Vec<TimedWork>,
}

/// A time in which an agent worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedWork {
    /// The role that it played.
    pub role: String,
    /// When it began, in Unix milliseconds: its end less its recorded duration.
    pub from: u64,
    /// When it ended, in Unix milliseconds.
    pub to: u64,
    /// Whether the attempt failed.
    pub has_failed: bool,
}

impl From<&KnownRun> for TimedWork {
    fn from(known: &KnownRun) -> TimedWork {
        let KnownRun { run, role, at_ms, .. } = known;
        let from = at_ms.saturating_sub(run.duration_ms);
        TimedWork { role: role.clone(), from, to: *at_ms, has_failed: run.has_failed }
    }
}

/// Some steps of a thread, by their positions from 0. Reads each step's node, output and detail.
///
/// # Errors
/// Errors of the chain and the StepNodes. Unreadable nodes below them are listed in [`Step::unreadable`].
pub fn timeline(thread: &Thread<'_>, config: &UwfConfig, range: Range<usize>) -> Result<Vec<TimedStep>> {
    let home = thread.home();
    let mut reader = RunReader::new(home.store(), config);
    let count = thread.chain()?.len();
    let mut timed = Vec::new();
    let mut left = MOST_CHILD_STEPS;
    for index in range.start.min(count)..range.end.min(count) {
        let step = thread.whole_step(index)?;
        let runs = reader.of_step(step.hash).unwrap_or_default();
        if step.is_child_thread {
            let child = child_threads::that_played(&thread.as_of(index)?, &step.role).unwrap_or_default();
            let spent = cost::of_step(home, config, step.hash);
            // The branches of a group have times of their own.
            let last = runs.child.filter(|_| runs.group.is_none());
            let work = last.and_then(|last| child_work(home, &mut reader, last, &mut left).ok()).unwrap_or_default();
            timed.push(TimedStep { step, took_ms: spent.duration_ms, spent, child, work });
            continue;
        }
        let mut spent = SpendingTotals::default();
        for run in &runs.runs {
            spent.add(&run.run, spending::run_prices(config, run.model.as_deref()));
        }
        let made = runs.runs.iter().find(|run| !run.run.has_failed);
        let took_ms = made.map_or(0, |run| run.run.duration_ms);
        let work = in_order(runs.runs.iter().map(TimedWork::from).collect());
        timed.push(TimedStep { step, spent, took_ms, child: None, work });
    }
    Ok(timed)
}

/// When agents worked at the step that comes next, oldest first; a running attempt ends now. Attempts whose agents never began are left out.
#[must_use]
pub fn attempts_at_head(now: &ThreadNow<'_>) -> Vec<TimedWork> {
    let is_running = now.state == ThreadState::Running;
    let attempts = now.record.all().into_iter().filter(|attempt| attempt.opened.expected_head == now.thread.head);
    let work = attempts.filter_map(|attempt| {
        let started = attempt.started.as_ref()?;
        let from = started.started_at.unwrap_or(attempt.opened.opened_at);
        let closed = attempt.closed.as_ref();
        // A person has not begun.
        if closed.is_some_and(|closed| closed.outcome == AttemptOutcome::Suspended) {
            return None;
        }
        let to = closed.map(|closed| closed.closed_at);
        let to = to.or(attempt.finished.as_ref().map(|finished| finished.finished_at));
        let has_failed = closed.map_or(!is_running, |closed| closed.outcome == AttemptOutcome::Failed);
        Some(TimedWork { role: attempt.opened.role, from, to: to.unwrap_or_else(ids::now_ms).max(from), has_failed })
    });
    work.collect()
}

/// The child thread that plays a role at the head of a thread, if this machine knows it.
#[must_use]
pub fn child_at_head(now: &ThreadNow<'_>, role: &str) -> Option<ThreadId> {
    child_threads::that_played(&now.thread, role).ok().flatten()
}

/// When the agents of a thread worked, at its newest steps and at the step that comes next. Unreadable steps are left out.
#[must_use]
pub fn work_so_far(now: &ThreadNow<'_>, config: &UwfConfig) -> Vec<TimedWork> {
    let home = now.thread.home();
    let mut reader = RunReader::new(home.store(), config);
    let last = now.thread.last.is_some().then_some(now.thread.head);
    let mut left = MOST_CHILD_STEPS;
    let mut work = last.and_then(|last| child_work(home, &mut reader, last, &mut left).ok()).unwrap_or_default();
    if !now.has_ended() {
        work.extend(attempts_at_head(now));
    }
    work
}

/// When the agents of a child thread worked, by its last step. Reads the newest steps that `left` allows.
fn child_work(home: &Home, reader: &mut RunReader<'_>, last: NodeHash, left: &mut usize) -> Result<Vec<TimedWork>> {
    let child = Thread::without_id(home, last)?;
    let mut work = Vec::new();
    for record in child.chain()?.records().iter().rev().take(*left) {
        *left -= 1;
        work.extend(reader.of_step(record.step)?.runs.iter().map(TimedWork::from));
    }
    Ok(in_order(work))
}

fn in_order(mut work: Vec<TimedWork>) -> Vec<TimedWork> {
    work.sort_by_key(|work| work.to);
    work
}
