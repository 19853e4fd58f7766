//! Running many cases of one scenario, and saying how many there were.
//!
//! A sample is the cases whose names have the smallest hashes with the seed. So it is the same at every run, and nearly
//! the same on a machine that makes a few system calls more: those come in among the others, and change no choice but
//! theirs.

use std::collections::BTreeMap;

use fastrand::Rng;

use crate::scenario::{Play, Scenario};
use crate::strace::{self, Case, Effect, Place};

/// Cases of a scenario in a sample.
const SAMPLE: usize = 16;

/// The sample that is taken when nobody asks for another.
const USUAL_SEED: u64 = 1;

/// Variable that asks for all cases.
const LONG: &str = "UWF_LONG";

/// Variable that asks for another sample: any number.
const SEED: &str = "UWF_SEED";

/// Variable that asks for one case.
const ONE: &str = "UWF_CASE";

/// Variable that asks for a sample of another size.
const CASES: &str = "UWF_CASES";

/// One campaign: a scenario, what is done to it, and what has to hold.
pub(crate) struct Campaign {
    /// `kill` or `fault`.
    pub(crate) name: &'static str,
    /// What happens at a place.
    pub(crate) effects: fn(&Place) -> Vec<Effect>,
    /// Runs one case on a root that was put back; gives what came of it in a word.
    pub(crate) case: fn(&Play, &Case, &mut Rng) -> Result<String, String>,
}

impl Campaign {
    /// Runs the cases, all or a sample of them, and says how many.
    ///
    /// # Panics
    /// When one does not hold; the message says how to repeat it.
    pub(crate) fn run(&self, scenario: &Scenario) {
        let seed = std::env::var(SEED).map_or(USUAL_SEED, |seed| seed.parse().expect("a seed is a number"));
        let play = scenario.play();
        let drawn = |case: &Case| drawn(seed, self.name, scenario.name, case);
        let cases = choose(self.cases(scenario, &play), &drawn);
        let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
        let mut failures = Vec::new();
        for case in &cases {
            play.stage.reset();
            match (self.case)(&play, case, &mut Rng::with_seed(drawn(case))) {
                Ok(outcome) => *outcomes.entry(outcome).or_default() += 1,
                Err(failure) => {
                    let told = format!("{SEED}={seed} {ONE}='{case}': {failure}");
                    // All cases take long: whoever watches learns of the first at once.
                    println!("{told}");
                    failures.push(told);
                }
            }
        }
        println!("{} {}: seed {seed}, {} cases, {outcomes:?}", self.name, scenario.name, cases.len());
        assert!(failures.is_empty(), "{} of {} cases\n{}", failures.len(), cases.len(), failures.join("\n"));
    }

    /// Every case there is.
    fn cases(&self, scenario: &Scenario, play: &Play) -> Vec<Case> {
        let mut cases = Vec::new();
        for target in scenario.targets {
            play.stage.reset();
            let counts = strace::count(&play.stage, &play.args, *target);
            for (call, count) in counts {
                // One more than there are: that one has to survive, or the count was too low.
                for number in 1..=count + 1 {
                    let place = Place { target: *target, call: call.clone(), number };
                    let effects = (self.effects)(&place).into_iter();
                    cases.extend(effects.map(|effect| Case { place: place.clone(), effect }));
                }
            }
        }
        cases
    }
}

/// The cases that are asked for.
fn choose(mut cases: Vec<Case>, drawn: &dyn Fn(&Case) -> u64) -> Vec<Case> {
    if let Ok(one) = std::env::var(ONE) {
        cases.retain(|case| case.to_string() == one);
        return cases;
    }
    if std::env::var_os(LONG).is_some_and(|long| !long.is_empty()) {
        return cases;
    }
    cases.sort_by_cached_key(drawn);
    cases.truncate(std::env::var(CASES).map_or(SAMPLE, |size| size.parse().expect("a size is a number")));
    cases
}

/// The number a case draws: it decides what is in a sample, and what a case leaves to chance.
fn drawn(seed: u64, campaign: &str, scenario: &str, case: &Case) -> u64 {
    json_cas::xxh64(format!("{seed} {campaign} {scenario} {case}").as_bytes()).as_u64()
}
