//! How often somebody may try a secret.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::failure::Failure;

/// Wrong secrets that one address may try within [`WINDOW`].
const MOST: usize = 5;

/// How long a wrong attempt counts.
const WINDOW: Duration = Duration::from_mins(1);

/// Addresses that are remembered. When there are more, the oldest attempts are forgotten.
const ADDRESSES: usize = 10_000;

/// Wrong attempts, by where they came from.
#[derive(Default)]
pub(crate) struct Attempts {
    failed: Mutex<HashMap<Option<IpAddr>, Vec<Instant>>>,
}

impl Attempts {
    /// How long an address has to wait before it may try again; `None` when it may now.
    pub(crate) fn must_wait(&self, from: Option<IpAddr>) -> Option<Duration> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let recent: Vec<&Instant> = failed.get(&from)?.iter().filter(|at| at.elapsed() < WINDOW).collect();
        let first = recent.len().checked_sub(MOST).and_then(|index| recent.get(index))?;
        Some(WINDOW.saturating_sub(first.elapsed()))
    }

    /// Notes a wrong attempt.
    pub(crate) fn failed(&self, from: Option<IpAddr>) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.len() >= ADDRESSES {
            failed.retain(|_, attempts| attempts.last().is_some_and(|at| at.elapsed() < WINDOW));
        }
        if failed.len() >= ADDRESSES {
            failed.clear();
        }
        let attempts = failed.entry(from).or_default();
        attempts.retain(|at| at.elapsed() < WINDOW);
        attempts.push(Instant::now());
    }
}

/// What somebody gets who has to wait.
pub(crate) fn too_many(wait: Duration) -> Response {
    let seconds = wait.as_secs().max(1);
    let why = format!("too many wrong secrets came from there; try again in {seconds} s");
    ([(header::RETRY_AFTER, seconds.to_string())], Failure::new(StatusCode::TOO_MANY_REQUESTS, why)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sixth_attempt_has_to_wait_and_others_need_not() {
        let attempts = Attempts::default();
        let [one, other] = [Some("192.0.2.1".parse().unwrap()), Some("192.0.2.2".parse().unwrap())];
        for _ in 0..MOST {
            assert_eq!(attempts.must_wait(one), None);
            attempts.failed(one);
        }
        assert!(attempts.must_wait(one).is_some_and(|wait| wait > Duration::from_secs(50)));
        assert_eq!(attempts.must_wait(other), None);
    }
}
