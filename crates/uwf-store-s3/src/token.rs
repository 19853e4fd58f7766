//! Globally unique texts.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use json_cas::NodeHash;

/// 64 random bits as 13 symbols.
pub(crate) fn unique() -> String {
    static MADE: AtomicU64 = AtomicU64::new(0);
    // RandomState gets its keys from the system's random numbers. fastrand derives them from the time and the thread, which can be the
    // same on two machines.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(MADE.fetch_add(1, Ordering::Relaxed));
    NodeHash::from_u64(hasher.finish()).to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn no_two_are_the_same() {
        let many: BTreeSet<String> = (0..10_000).map(|_| super::unique()).collect();
        assert_eq!(many.len(), 10_000);
    }
}
