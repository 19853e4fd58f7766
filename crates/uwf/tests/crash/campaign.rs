//! How much is tried, and how to try it again.

use fastrand::Rng;

/// Set to anything but nothing: everything is tried.
const LONG: &str = "UWF_LONG";

/// Asks for another sample: any number.
const SEED: &str = "UWF_SEED";

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
        let asked = std::env::var(SEED).ok().map(|seed| seed.parse().expect("UWF_SEED is a number"));
        let seed = asked.unwrap_or(USUAL_SEED);
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
        format!("{long}{SEED}={} ./test {}", self.seed, self.name)
    }
}

/// Whether everything is to be tried.
pub(crate) fn is_long() -> bool {
    std::env::var_os(LONG).is_some_and(|long| !long.is_empty())
}
