//! New ids: threads and attempts are standard ULIDs, monotonic within a process.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use ulid::{Generator, Ulid};
use uwf_core::thread::ThreadId;

static GENERATOR: Mutex<Option<Generator>> = Mutex::new(None);

/// Unix milliseconds now.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A new ULID, greater than every one this process made before, whatever the clock does.
pub fn new_ulid() -> Ulid {
    let mut guard = GENERATOR.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let generator = guard.get_or_insert_with(Generator::new);
    // It fails only when 2^80 ids of one millisecond are used up; a fresh random one is as good then.
    generator.generate().unwrap_or_else(|_| Ulid::generate())
}

/// How far the clock of the machine that made an id may be ahead of ours.
const CLOCK_SKEW_MS: u64 = 24 * 60 * 60 * 1000;

/// Unix milliseconds a thread was started at, from its id; `None` when that is no ULID, or one that was not made from a
/// clock: a time to come tells nobody anything.
pub fn started_at(thread: &ThreadId) -> Option<u64> {
    thread.time_ms().filter(|time| *time <= now_ms().saturating_add(CLOCK_SKEW_MS))
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
}
