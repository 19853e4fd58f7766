//! The next attempt after a failed one, decided only here: the agent tries again after a wait, its fallback plays the role, or the step
//! ends with the error.

use std::collections::BTreeMap;

use uwf_core::config::{LONGEST_RETRY_WAIT, RetryPolicy};
use uwf_core::failure_class::FailureClass;
use uwf_core::view;

use super::{StepInProgress, StepReport, refuse_paused};
use crate::attempt::agent_process::SignalListener;
use crate::attempt::agents::AgentSpec;
use crate::attempt::ended::stopped;
use crate::attempt::recorded::{self, AttemptOutcome, FallbackReason};
use crate::error::{AttemptFailure, Error, Result};
use crate::root::agent_limits::{self, AgentLimit};
use crate::root::ids;
use crate::root::log::log;
use crate::root::marks::{self, MarkReason, ThreadMark};

/// The failed attempts of one step.
#[derive(Debug, Default)]
pub(super) struct FailedAgents {
    /// How often each agent has failed.
    attempts: BTreeMap<String, u32>,
    /// The errors after which agents do not try again in this step.
    given_up: BTreeMap<String, Error>,
    /// The attempt that was counted last.
    counted: Option<String>,
}

impl FailedAgents {
    /// The error of an agent that failed for another reason than a usage limit.
    fn take_other_than_limit(&mut self) -> Option<Error> {
        let agent = self.given_up.iter().find(|(_, error)| error.limit_end().is_none())?.0.clone();
        self.given_up.remove(&agent)
    }
}

/// The next attempt.
#[derive(Debug, PartialEq, Eq)]
enum NextAttempt {
    /// The same agent tries again at this time, Unix milliseconds.
    At(u64),
    /// Another agent plays the role, now.
    ByFallback,
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
            let next = self.after(&agent, failure);
            if next == NextAttempt::None {
                return Err(self.last_error(error));
            }
            if let NextAttempt::At(at) = next {
                log!(self.log, "J6W9T4RB", Info, "agent {agent} tries again at {} UTC", view::time(at));
                let why = waiting(&agent, at, &error);
                self.wait_until(at, why, signals)?;
            }
            refuse_paused(self.home, &self.thread.id)?;
            if !self.still_active() {
                return Err(error);
            }
            if next == NextAttempt::ByFallback {
                log!(self.log, "F3X7N2QD", Info, "agent {agent} gets no further attempt: {}", why(&error));
                self.failed.borrow_mut().given_up.insert(agent, error);
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

    /// The error of a failed step. The usage limit of a fallback is not the reason if another agent can be tried now, or earlier.
    fn last_error(&self, error: Error) -> Error {
        let Some(until) = error.limit_end() else { return error };
        let last = recorded::read(self.home, &self.thread.id).ok().flatten();
        let Some(role) = last.map(|last| last.opened.role) else { return error };
        let other = self.failed.borrow_mut().take_other_than_limit();
        let (mark, reason) = match other {
            Some(other) => (ThreadMark::Stuck, other),
            None => match self.first_limit(&role) {
                Ok(Some(first)) if first.until < until => {
                    (ThreadMark::Limited, Error::usage_limit(&first, "").hints(error.hints))
                }
                _ => return error,
            },
        };
        // The thread is marked with the limit of the fallback.
        if self.still_active() {
            self.mark_error(mark, &role, &reason);
        }
        reason
    }

    fn after(&self, agent: &str, failure: AttemptFailure) -> NextAttempt {
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
        NextAttempt::ByFallback
    }

    /// Waits for the next attempt. Meanwhile the thread is running, because this process holds its lock.
    fn wait_until(&self, at: u64, why: String, signals: &mut SignalListener) -> Result<()> {
        // Without the mark, lists show the state after the failed attempt.
        let reason = MarkReason { until: Some(at), ..MarkReason::without_role(why, ids::now_ms()) };
        let _ = marks::set(self.home, &self.thread.id, ThreadMark::Open, &reason);
        let stop = signals.wait_until(at);
        let _ = marks::clear(self.home, &self.thread.id, &[ThreadMark::Open]);
        let again = || format!("`uwf thread retry {}` makes the next attempt at once", self.thread.id);
        stop.map_or(Ok(()), |signal| Err(stopped(signal).hint(again())))
    }

    /// The agent that plays a role now: its own, or the first of its fallbacks that can. With the reason, if it is a fallback.
    ///
    /// # Errors
    /// The error of an agent that has failed in this step for another reason than a usage limit: it can be tried now. Otherwise `Limit`, if
    /// all are at their usage limits; the errors of the plan.
    pub(super) fn available_agent(&self, role: &str) -> Result<(AgentSpec, Option<FallbackReason>)> {
        if self.request.agent.is_some() {
            return Ok((self.plan.agent(role, self.request.agent.as_ref())?, None));
        }
        let given_up = |agent: &str| self.failed.borrow().given_up.get(agent).map(why);
        if let Some(available) = self.plan.available_agent(self.home, role, given_up)? {
            return Ok(available);
        }
        if let Some(error) = self.failed.borrow_mut().take_other_than_limit() {
            return Err(error);
        }
        Err(match self.first_limit(role)? {
            Some(limit) => self.at_limit(role, &limit),
            None => Error::agent_failed(format!("no agent is left for role `{role}`")),
        })
    }

    /// The usage limit that ends first of the agents that can play a role.
    fn first_limit(&self, role: &str) -> Result<Option<AgentLimit>> {
        if self.request.agent.is_some() {
            return Ok(None);
        }
        let failed = self.failed.borrow();
        let limit = |agent: AgentSpec| {
            // The limit is recorded for the account, maybe by an agent of another name.
            let known = self.plan.usage_limit(self.home, &agent).map(|limit| (limit.until, limit.is_assumed));
            let of_error = |error: &Error| Some((error.limit_end()?, error.failure()?.is_assumed));
            let (until, is_assumed) = known.or_else(|| failed.given_up.get(&agent.name).and_then(of_error))?;
            Some(AgentLimit { agent: agent.name, until, is_assumed })
        };
        Ok(self.plan.candidates(role)?.into_iter().filter_map(limit).min_by_key(|limit| limit.until))
    }

    /// The refusal of an attempt by an agent that is at its usage limit. The thread is marked with it.
    fn at_limit(&self, role: &str, limit: &AgentLimit) -> Error {
        let error = Error::usage_limit(limit, "").hints(Error::limit_hints(self.thread.id.as_str()));
        // The mark of the attempt that reached the limit says when that was, and what the agent said.
        let known = marks::get(self.home, &self.thread.id, ThreadMark::Limited);
        let is_known =
            known.is_some_and(|known| known.head == Some(self.thread.head) && known.until == Some(limit.until));
        if !is_known {
            self.mark_error(ThreadMark::Limited, role, &error);
        }
        error
    }
}

/// Why an agent does not try again, after its last error.
fn why(error: &Error) -> String {
    match error.limit_end() {
        Some(until) => agent_limits::at_limit("it", until, error.failure().is_some_and(|failure| failure.is_assumed)),
        None => error.message.clone(),
    }
}

/// The reason for the wait between two attempts of an agent.
fn waiting(agent: &str, at: u64, error: &Error) -> String {
    let why = match error.limit_end() {
        Some(_) => format!("agent `{agent}` is at its usage limit"),
        None => error.message.clone(),
    };
    format!("{why}; retrying at {} UTC", view::time(at))
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
    use std::time::Duration;

    use super::*;

    const NOW: u64 = 1_000_000;

    fn wait(policy: &RetryPolicy, until: Option<u64>, attempts: u32, chance: f64) -> Option<u64> {
        let class = if until.is_some() { FailureClass::UsageLimit } else { FailureClass::Transient };
        retry_at(policy, AttemptFailure::new(class, until), attempts, NOW, chance).map(|at| at - NOW)
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
