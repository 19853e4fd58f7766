//! The number of requests that this process has sent to stores over a network.

use std::sync::atomic::{AtomicU64, Ordering};

static ANSWERED: AtomicU64 = AtomicU64::new(0);
static FAILED: AtomicU64 = AtomicU64::new(0);

/// Requests of this process, retries included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreRequestCounts {
    /// Requests with an answer, also if an object was missing or another writer was first.
    pub answered: u64,
    /// Requests without an answer, or whose answer was an error of the store.
    pub failed: u64,
}

/// The requests so far.
#[must_use]
pub fn store_requests() -> StoreRequestCounts {
    StoreRequestCounts { answered: ANSWERED.load(Ordering::Relaxed), failed: FAILED.load(Ordering::Relaxed) }
}

/// Counts a request; for clients of stores.
pub fn count_store_request(is_answered: bool) {
    let count = if is_answered { &ANSWERED } else { &FAILED };
    count.fetch_add(1, Ordering::Relaxed);
}
