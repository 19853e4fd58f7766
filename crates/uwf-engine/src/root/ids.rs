//! New ids: threads and attempts are standard ULIDs, monotonic within a process.

use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use ulid::Ulid;
use uwf_core::thread::ThreadId;

/// The newest id of this process.
static NEWEST: Mutex<Option<Ulid>> = Mutex::new(None);

/// Unix milliseconds now.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A new ULID, greater than all earlier ones of this process, whatever the clock does.
pub(crate) fn new_ulid() -> Ulid {
    let mut newest = NEWEST.lock();
    let made = after(*newest, now_ms());
    *newest = Some(made);
    made
}

fn after(newest: Option<Ulid>, now_ms: u64) -> Ulid {
    // Adding one fails only after 2^80 ids in one millisecond; then a new random id is as good.
    let next = newest.filter(|newest| newest.timestamp_ms() >= now_ms).and_then(|newest| newest.increment().ok());
    next.unwrap_or_else(|| Ulid::from_parts(now_ms, random()))
}

/// At least the 80 random bits of a ULID. Don't continue on a system without random bits.
fn random() -> u128 {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    u128::from_le_bytes(bytes)
}

/// How far the clock of the machine that made an id may be ahead of this one.
const CLOCK_SKEW_MS: u64 = 24 * 60 * 60 * 1000;

/// When a thread was started, in Unix milliseconds, from its id. `None` when the id is not a ULID, or was not made from
/// a clock: a time in the future means nothing.
pub fn started_at(thread: &ThreadId) -> Option<u64> {
    thread.time_ms().filter(|time| is_plausible(*time))
}

/// Whether a time in Unix milliseconds is not in the future, as far as clocks agree.
pub(crate) fn is_plausible(time: u64) -> bool {
    time <= now_ms().saturating_add(CLOCK_SKEW_MS)
}

/// Id for a new thread.
pub fn new_thread_id() -> ThreadId {
    ThreadId::from(new_ulid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow() {
        let ids: Vec<Ulid> = (0..1000).map(|_| new_ulid()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn ids_grow_whatever_the_clock_does() {
        let ten_years = 10 * 365 * 24 * 60 * 60 * 1000;
        let now = now_ms();
        let mut newest = None;
        for clock in [now, now, now + 1, now - 1, now - ten_years, now, now + ten_years, now, 0, now + ten_years] {
            let made = after(newest, clock);
            assert!(newest < Some(made), "at {clock}");
            newest = Some(made);
        }
    }
}
