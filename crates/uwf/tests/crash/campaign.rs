//! How much is tried, and how to try it again.

use fastrand::Rng;
use uwf_testing::campaign::{SEED, asked_seed, is_long};

/// The sample that is taken when nobody asks for another.
const USUAL_SEED: u64 = 1;

/// One suite of cases.
pub(crate) struct Campaign {
    name: &'static str,
    seed: u64,
    /// The source of every choice.
    pub(crate) rng: Rng,
}

impl Campaign {
    /// A suite with the seed asked for, else always the same, which is said.
    pub(crate) fn new(name: &'static str) -> Campaign {
        let seed = asked_seed().unwrap_or(USUAL_SEED);
        eprintln!("{name}: {SEED}={seed}");
        Campaign { name, seed, rng: Rng::with_seed(seed) }
    }

    /// As many of the cases as there is time for, in random order.
    pub(crate) fn sample<T>(&mut self, mut cases: Vec<T>, short: usize) -> Vec<T> {
        self.rng.shuffle(&mut cases);
        if !is_long() {
            cases.truncate(short);
        }
        cases
    }

    /// What to run to see a failure again.
    pub(crate) fn again(&self) -> String {
        let long = if is_long() { "UWF_LONG=1 " } else { "" };
        format!("{long}{SEED}={} ./test --campaigns {}", self.seed, self.name)
    }
}
