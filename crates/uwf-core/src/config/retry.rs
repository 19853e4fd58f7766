//! When an agent tries again after a failed attempt.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::failure_class::FailureClass;

/// Longest wait between two attempts of a step. A usage limit that lasts longer stops the step instead.
pub const LONGEST_RETRY_WAIT: Duration = Duration::from_mins(10);

/// Most attempts of an agent in a step.
pub(super) const MAX_ATTEMPTS: u32 = 20;

/// Attempts, if `retry` does not say how many.
const USUAL_ATTEMPTS: u32 = 3;

/// The wait before the second attempt, if `retry` does not say how long.
pub const USUAL_RETRY_WAIT: Duration = Duration::from_secs(10);

/// `retry` of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// `attempts`: most attempts in a step, the first included.
    pub attempts: u32,
    /// `wait`: the wait before the second attempt. It doubles before each further one.
    pub wait: Duration,
    /// `on`: the classes of failures that are followed by another attempt.
    pub on: BTreeSet<FailureClass>,
}

impl Default for RetryPolicy {
    /// A single attempt.
    fn default() -> RetryPolicy {
        RetryPolicy { attempts: 1, wait: Duration::ZERO, on: BTreeSet::new() }
    }
}

impl RetryPolicy {
    /// A policy with the usual values for what is not given.
    pub(super) fn with_defaults(
        attempts: Option<u32>,
        wait: Option<Duration>,
        on: Option<Vec<FailureClass>>,
    ) -> RetryPolicy {
        let usual = || vec![FailureClass::Transient, FailureClass::UsageLimit];
        RetryPolicy {
            attempts: attempts.unwrap_or(USUAL_ATTEMPTS),
            wait: wait.unwrap_or(USUAL_RETRY_WAIT),
            on: on.unwrap_or_else(usual).into_iter().collect(),
        }
    }
}
