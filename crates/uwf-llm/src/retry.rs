//! When to retry, and how long to wait before.

use std::time::{Duration, SystemTime};

use crate::error::Error;

/// Limits of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryLimits {
    /// Most attempts, the first included; 0 counts as 1.
    pub attempts: u32,
    /// Wait before the second attempt. It doubles before each further one.
    pub first_wait: Duration,
    /// Limit of our own waits.
    pub longest_wait: Duration,
    /// Longest wait that the provider may ask for (`Retry-After`). If it asks for a longer one, a retry would fail.
    pub longest_retry_after: Duration,
}

impl Default for RetryLimits {
    /// 4 attempts, waits of about 1, 2 and 4 seconds, and at most 2 minutes if the provider asks for a wait.
    fn default() -> RetryLimits {
        let seconds = Duration::from_secs;
        RetryLimits {
            attempts: 4,
            first_wait: seconds(1),
            longest_wait: seconds(30),
            longest_retry_after: seconds(120),
        }
    }
}

/// A failed attempt that is retried, to be shown or logged.
#[derive(Debug, Clone, Copy)]
pub struct RetryNotice<'a> {
    /// Number of the failed attempt, from 1.
    pub attempt: u32,
    /// Most attempts.
    pub of: u32,
    /// Wait before the next attempt.
    pub wait: Duration,
    /// Why it failed.
    pub error: &'a Error,
}

impl RetryLimits {
    /// A single attempt.
    pub fn never() -> RetryLimits {
        RetryLimits { attempts: 1, ..RetryLimits::default() }
    }

    /// The wait before the next attempt, or `None` to stop. `attempt` is the failed one, from 1. `chance` is a random number from 0 to 1
    /// that keeps many clients from retrying at the same moment.
    pub fn wait(&self, error: &Error, attempt: u32, chance: f64) -> Option<Duration> {
        if attempt >= self.attempts || !error.is_transient() {
            return None;
        }
        if let Error::Status { limits, .. } = error
            && let Some(asked) = limits.retry_after
        {
            return Some(asked).filter(|asked| *asked <= self.longest_retry_after);
        }
        let doubled = self.first_wait.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
        Some(doubled.min(self.longest_wait).mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0))
    }
}

/// Parses a `Retry-After` header: seconds, or a date (RFC 9110, 10.2.3). A past date means no wait.
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    // Some servers send fractions, which the standard does not have.
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}
