//! Retries after temporary failures.

use std::thread;
use std::time::{Duration, Instant};

use crate::fault::PostgresFailure;

/// Retries end after this time: a restarted server is back by now, or needs a person to look after it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pause after the first attempt; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Retries until an attempt succeeds or a retry is useless. A failure comes with the number of attempts.
pub(crate) fn persist<T>(mut attempt: impl FnMut() -> Result<T, PostgresFailure>) -> Result<T, (PostgresFailure, u32)> {
    let begun = Instant::now();
    let mut tries = 1;
    loop {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(failure) if !failure.passes() || is_over(tries, begun.elapsed()) => {
                return Err((failure, tries));
            }
            Err(_) => thread::sleep(pause(tries)),
        }
        tries += 1;
    }
}

/// There is always a second attempt: the connection of the first one may have been dead for a long time, but a new one is not.
fn is_over(tries: u32, elapsed: Duration) -> bool {
    tries > 1 && elapsed > PATIENCE
}

/// Between half and all of the current pause, so that conflicting callers don't conflict again.
fn pause(tries: u32) -> Duration {
    let due = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(tries - 1)).min(LONGEST_PAUSE);
    due.mul_f64(0.5 + fastrand::f64() / 2.0)
}
