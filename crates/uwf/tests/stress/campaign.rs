//! How much is tried, and how to try it again.

use std::time::{SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use uwf_testing::campaign::{SEED, asked_seed, is_long};

/// Seed of a plain run: that must not be red by chance.
const PLAIN_SEED: u64 = 20_261_122;

/// One test whose choices are random.
pub(crate) struct Campaign {
    name: &'static str,
    /// Where every choice comes from.
    pub(crate) seed: u64,
}

impl Campaign {
    /// A test with the seed asked for; without one a plain run has always the same, a long run a new one.
    pub(crate) fn new(name: &'static str) -> Campaign {
        let seed = asked_seed().unwrap_or_else(|| if is_long() { new_seed() } else { PLAIN_SEED });
        println!("{name}: {SEED}={seed}{}", if is_long() { " UWF_LONG=1" } else { "" });
        Campaign { name, seed }
    }

    /// A source of choices for one of several processes; each has its own.
    pub(crate) fn random(&self, stream: u64) -> Rng {
        Rng::with_seed(self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(stream))
    }

    /// Says what was done.
    pub(crate) fn tell(&self, what: impl std::fmt::Display) {
        println!("{}: {what}", self.name);
    }
}

/// The size for this run.
pub(crate) fn size<T>(short: T, long: T) -> T {
    if is_long() { long } else { short }
}

fn new_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    u64::from(now.subsec_nanos())
}
