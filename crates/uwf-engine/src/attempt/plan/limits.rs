//! The limits of a thread, and of the threads above it.

use std::time::Duration;

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;
use uwf_core::usage::{ReachedLimit, ThreadLimits, UsageAmount};

use super::StepPlan;
use crate::attempt::child_threads::MAX_ANCESTORS;
use crate::attempt::recorded::ThreadRecord;
use crate::attempt::settings::ThreadSettings;
use crate::attempt::spent;
use crate::error::{Error, Result};
use crate::root::ids;
use crate::thread::load::Thread;

impl StepPlan {
    /// Rejects a step of a thread that has reached a limit; `failed` are attempts at that step. A child thread's usage
    /// counts for its parent as well.
    ///
    /// # Errors
    /// `Limit`; errors of the nodes with the usage, if usage is limited.
    pub(crate) fn check_limits(&self, thread: &Thread<'_>, failed: &[NodeHash]) -> Result<()> {
        let above = self.above(thread)?;
        let plans = || std::iter::once((thread, self)).chain(above.iter().map(|(thread, plan)| (thread, plan)));
        let reads_usage = plans().any(|(_, plan)| plan.limits().read_usage());
        let mut used = UsageAmount::default();
        let mut below = None;
        for (thread, plan) in plans() {
            if reads_usage {
                used.add(match below {
                    None => spent::used(thread, &plan.config, failed, None)?,
                    Some(_) => spent::used(thread, &plan.config, &spent::failed_at(thread)?, below)?,
                });
            }
            below = Some(&thread.id);
            used.steps = thread.chain()?.len() as u64;
            if let Some(reached) = plan.limits().reached(used, age(thread)) {
                return Err(over_limit(&thread.id, &reached));
            }
        }
        Ok(())
    }

    /// The ancestors of a child thread with their plans, its parent first. Ancestors that are not active impose no
    /// limit.
    fn above<'h>(&self, thread: &Thread<'h>) -> Result<Vec<(Thread<'h>, StepPlan)>> {
        let mut above = Vec::new();
        let mut next = self.settings.parent.clone();
        while let Some(parent) = next.filter(|_| above.len() < MAX_ANCESTORS) {
            let Ok((parent, _)) = Thread::active(thread.home(), &parent) else { break };
            let plan = StepPlan::of_ancestor(&parent)?;
            next = plan.settings.parent.clone();
            above.push((parent, plan));
        }
        Ok(above)
    }

    /// The plan of a thread above the one that is stepped. This machine may not know where it works.
    fn of_ancestor(thread: &Thread<'_>) -> Result<StepPlan> {
        let home = thread.home();
        let record = ThreadRecord::read(home, &thread.id)?;
        if !record.is_empty() {
            return StepPlan::from_record(thread, &record, None);
        }
        let published = ThreadSettings::published(home, &thread.id)?.unwrap_or_default();
        StepPlan::for_thread(thread, home.config()?, published)
    }

    /// The thread's limits: set for the thread, otherwise by its workflow, otherwise by the configuration.
    pub fn limits(&self) -> ThreadLimits {
        self.settings.limits.or(self.workflow.limits).or(self.config.limits.thread)
    }
}

fn over_limit(thread: &ThreadId, reached: &ReachedLimit) -> Error {
    // Branches at work when the limit was reached have gone beyond it.
    let more = match reached {
        ReachedLimit::Steps { steps, limit } => format!("--steps +{}", steps.saturating_sub(*limit) + 10),
        ReachedLimit::Time { seconds, limit } => format!("--time +{}h", seconds.saturating_sub(*limit) / 3600 + 1),
        ReachedLimit::Tokens { tokens, limit } => {
            format!("--tokens +{}", (tokens.saturating_sub(*limit) / 100_000 + 1) * 100_000)
        }
        ReachedLimit::Cost { cost, limit } => format!("--cost +{}", (cost - limit).max(0.0).floor() + 1.0),
    };
    Error::limit(reached.to_string()).hint(format!("to continue: `uwf thread limit {thread} {more}`"))
}

/// How long ago a thread began; zero if its id has no start time.
pub fn age(thread: &Thread<'_>) -> Duration {
    age_at(thread, ids::now_ms())
}

/// The age of a thread at a time in Unix milliseconds.
pub(crate) fn age_at(thread: &Thread<'_>, at: u64) -> Duration {
    Duration::from_millis(at.saturating_sub(thread.started_at().unwrap_or(at)))
}
