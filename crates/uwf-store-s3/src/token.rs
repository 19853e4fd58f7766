//! Texts that are written once in the world.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use json_cas::Hash;

/// 64 random bits as 13 symbols.
pub(crate) fn unique() -> String {
    static MADE: AtomicU64 = AtomicU64::new(0);
    // Its keys come from the random numbers of the system; those of fastrand from the time and the thread, which two machines may
    // have in common.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(MADE.fetch_add(1, Ordering::Relaxed));
    Hash::from_u64(hasher.finish()).to_string()
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
