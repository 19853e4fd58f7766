//! The next attempt after a failed one, decided only here: the agent tries again after a wait, its fallback plays the role, or the step
//! ends with the error.

use std::collections::BTreeMap;
use std::time::Duration;

use uwf_core::config::{LONGEST_RETRY_WAIT, RetryPolicy};
use uwf_core::failure_class::FailureClass;
use uwf_core::view;

use super::{StepInProgress, StepReport, refuse_paused};
use crate::attempt::agent_process::SignalListener;
use crate::attempt::agents::AgentSpec;
use crate::attempt::ended::stopped;
use crate::attempt::plan::StepPlan;
use crate::attempt::recorded::{self, AttemptOutcome, FallbackReason};
use crate::error::{AttemptFailure, Error, Result};
use crate::root::home::Home;
use crate::root::log::log;
use crate::root::marks::{self, ThreadMark};
use crate::root::{agent_limits, ids};

/// Time between two looks at the clock. It may jump, for example while a laptop sleeps.
const LOOK: Duration = Duration::from_secs(1);

/// The failed attempts of one step.
#[derive(Debug, Default)]
pub(super) struct FailedAgents {
    /// How often each agent has failed.
    attempts: BTreeMap<String, u32>,
    /// Why agents do not try again in this step.
    given_up: BTreeMap<String, String>,
    /// The attempt that was counted last.
    counted: Option<String>,
}

/// The next attempt.
#[derive(Debug, PartialEq, Eq)]
enum NextAttempt {
    /// The same agent tries again at this time, Unix milliseconds.
    At(u64),
    /// Another agent plays the role, now.
    ByFallback {
        /// Why the agent does not try again.
        why: String,
    },
    /// The step has failed.
    None,
}

impl StepInProgress<'_, '_> {
    /// Performs the step. A failed attempt is followed by others as the agent's `retry` and `fallback` say.
    pub(super) fn run_with_retries(&self, signals: &mut SignalListener) -> Result<StepReport> {
        loop {
            let error = match self.run_until_kept(signals) {
                Ok(report) => return Ok(report),
                Err(error) => error,
            };
            let Some((agent, failure)) = self.newly_failed() else { return Err(error) };
            match self.after(&agent, failure, &error) {
                NextAttempt::None => return Err(error),
                NextAttempt::ByFallback { why } => {
                    log!(self.log, "F3X7N2QD", Info, "agent {agent} gets no further attempt: {why}");
                    self.failed.borrow_mut().given_up.insert(agent, why);
                }
                NextAttempt::At(at) => {
                    log!(self.log, "J6W9T4RB", Info, "agent {agent} tries again at {} UTC", view::time(at));
                    self.wait_until(at, signals)?;
                }
            }
            refuse_paused(self.home, &self.thread.id)?;
            if !self.still_active() {
                return Err(error);
            }
        }
    }

    /// The agent of an attempt that this process has made and that has failed since the last call.
    fn newly_failed(&self) -> Option<(String, AttemptFailure)> {
        let newest = recorded::read(self.home, &self.thread.id).ok().flatten()?;
        let opened = &newest.opened;
        let closed = newest.closed.as_ref().filter(|closed| closed.outcome == AttemptOutcome::Failed)?;
        let is_own = opened.keeper == std::process::id() && opened.expected_head == self.head.hash;
        let mut failed = self.failed.borrow_mut();
        if !is_own || opened.reextract.is_some() || failed.counted.as_ref() == Some(&opened.attempt) {
            return None;
        }
        failed.counted = Some(opened.attempt.clone());
        *failed.attempts.entry(opened.agent.name.clone()).or_default() += 1;
        Some((opened.agent.name.clone(), closed.failure?))
    }

    fn after(&self, agent: &str, failure: AttemptFailure, error: &Error) -> NextAttempt {
        let Some(config) = self.plan.config.agent(agent) else { return NextAttempt::None };
        let attempts = self.failed.borrow().attempts.get(agent).copied().unwrap_or_default();
        let is_retried = config.retry.on.contains(&failure.class);
        if is_retried && let Some(at) = retry_at(&config.retry, failure, attempts, ids::now_ms(), fastrand::f64()) {
            return NextAttempt::At(at);
        }
        let is_limit = failure.class == FailureClass::UsageLimit;
        // A person who names an agent for the step wants this agent.
        if config.fallback.is_none() || self.request.agent.is_some() || !(is_limit || is_retried) {
            return NextAttempt::None;
        }
        let why = match failure.limit_end() {
            Some(until) => format!("it is at its usage limit until {} UTC", view::time(until)),
            None => error.message.clone(),
        };
        NextAttempt::ByFallback { why }
    }

    /// Waits for the next attempt. Meanwhile the thread is running, because this process holds its lock.
    fn wait_until(&self, at: u64, signals: &mut SignalListener) -> Result<()> {
        // Without the mark, lists show the state after the failed attempt.
        let _ = marks::open(self.home, &self.thread.id);
        let mut waited = Ok(());
        loop {
            let left = Duration::from_millis(at.saturating_sub(ids::now_ms()));
            if left.is_zero() {
                break;
            }
            if let Some(signal) = signals.stop() {
                waited = Err(stopped(signal));
                break;
            }
            signals.wait(left.min(LOOK));
        }
        let _ = marks::clear(self.home, &self.thread.id, &[ThreadMark::Open]);
        waited
    }

    /// The agent that plays a role now: its own, or the first of its fallbacks that can. With the reason, if it is a fallback.
    ///
    /// # Errors
    /// `Limit` if all are at their usage limits; the errors of the plan.
    pub(super) fn available_agent(&self, role: &str) -> Result<(AgentSpec, Option<FallbackReason>)> {
        if self.request.agent.is_some() {
            return Ok((self.plan.agent(role, self.request.agent.as_ref())?, None));
        }
        let candidates = self.plan.candidates(role)?;
        let own = candidates[0].name.clone();
        let (mut reason, mut first_end) = (None, None);
        for candidate in candidates {
            let limit = agent_limits::current(self.home, &candidate.name);
            let given_up = self.failed.borrow().given_up.get(&candidate.name).cloned();
            let at_limit = || {
                limit.as_ref().map(|limit| format!("it is at its usage limit until {} UTC", view::time(limit.until)))
            };
            let Some(why) = given_up.or_else(at_limit) else { return Ok((candidate, reason)) };
            reason = reason.or(Some(FallbackReason { agent: own.clone(), why }));
            first_end = first_end.into_iter().chain(limit).min_by_key(|limit| limit.until);
        }
        Err(match first_end {
            Some(limit) => self.at_limit(role, &limit.agent, limit.until),
            None => Error::agent_failed(format!("no agent is left for role `{role}`")),
        })
    }

    /// The refusal of an attempt by an agent that is at its usage limit. The thread is marked with it.
    fn at_limit(&self, role: &str, agent: &str, until: u64) -> Error {
        let error = Error::usage_limit(agent, until, "").hints(limit_hints(self.thread.id.as_str()));
        self.mark_error(ThreadMark::Limited, role, &error);
        error
    }
}

/// Forgets the usage limits of all agents that may play a role of the thread.
pub(super) fn forget_limits(home: &Home, plan: &StepPlan) -> Result<()> {
    for role in plan.workflow.roles.keys() {
        // The step itself reports an agent that can't be found.
        for agent in plan.candidates(role).unwrap_or_default() {
            agent_limits::forget(home, &agent.name)?;
        }
    }
    Ok(())
}

/// Hints for a person about a usage limit.
pub(super) fn limit_hints(thread: &str) -> [String; 2] {
    [
        format!("`uwf run {thread} --wait` waits until then and continues"),
        format!(
            "`uwf thread step {thread} --agent NAME` lets another agent play the role; `uwf thread retry {thread}` tries now"
        ),
    ]
}

/// When an agent tries again after so many failed attempts; `None` if it has no attempt left, or must wait for too long. `chance` is a
/// random number from 0 to 1, which keeps many threads from trying at the same moment.
fn retry_at(policy: &RetryPolicy, failure: AttemptFailure, attempts: u32, now: u64, chance: f64) -> Option<u64> {
    if attempts >= policy.attempts {
        return None;
    }
    let doubled = policy.wait.saturating_mul(2_u32.saturating_pow(attempts.saturating_sub(1)));
    let wait = doubled.min(LONGEST_RETRY_WAIT).mul_f64(0.5 + chance / 2.0);
    let at =
        now.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)).max(failure.until.unwrap_or_default());
    let longest = u64::try_from(LONGEST_RETRY_WAIT.as_millis()).unwrap_or(u64::MAX);
    (at - now <= longest).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000;

    fn wait(policy: &RetryPolicy, until: Option<u64>, attempts: u32, chance: f64) -> Option<u64> {
        let class = if until.is_some() { FailureClass::UsageLimit } else { FailureClass::Transient };
        retry_at(policy, AttemptFailure { class, until }, attempts, NOW, chance).map(|at| at - NOW)
    }

    #[test]
    fn waits_double_up_to_longest() {
        let policy = RetryPolicy { attempts: 20, wait: Duration::from_secs(4), ..RetryPolicy::default() };
        let waits: Vec<_> = (1..=4).map(|attempts| wait(&policy, None, attempts, 1.0)).collect();
        assert_eq!(waits, [4_000, 8_000, 16_000, 32_000].map(Some));
        assert_eq!(wait(&policy, None, 1, 0.0), Some(2_000), "half of it is left to chance");
        assert_eq!(wait(&policy, None, 15, 1.0), Some(600_000));
        assert_eq!(wait(&policy, None, 20, 1.0), None, "no attempt is left");
    }

    #[test]
    fn usage_limit_is_waited_for_if_short() {
        let policy = RetryPolicy { attempts: 3, wait: Duration::from_secs(4), ..RetryPolicy::default() };
        assert_eq!(wait(&policy, Some(NOW + 30_000), 1, 1.0), Some(30_000));
        assert_eq!(wait(&policy, Some(NOW + 1_000), 1, 1.0), Some(4_000));
        assert_eq!(wait(&policy, Some(NOW + 601_000), 1, 1.0), None);
    }
}
