//! Running many cases of one scenario, and saying how many there were.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use fastrand::Rng;

use crate::scenario::{Play, Scenario};
use crate::strace::{self, Case, Effect, Place};

/// Cases of a scenario in a sample.
const SAMPLE: usize = 5;

/// Variable that asks for all cases.
const LONG: &str = "UWF_LONG";

/// Variable that repeats a sample.
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
        let seed = std::env::var(SEED).ok().map_or_else(new_seed, |seed| seed.parse().expect("a seed is a number"));
        let mut random = Rng::with_seed(seed);
        let play = scenario.play();
        let cases = self.choose(self.cases(scenario, &play), &mut random);
        let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
        let mut failures = Vec::new();
        for case in &cases {
            play.stage.reset();
            match (self.case)(&play, case, &mut random) {
                Ok(outcome) => *outcomes.entry(outcome).or_default() += 1,
                Err(failure) => failures.push(format!("{SEED}={seed} {ONE}='{case}': {failure}")),
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

    fn choose(&self, mut cases: Vec<Case>, random: &mut Rng) -> Vec<Case> {
        if let Ok(one) = std::env::var(ONE) {
            cases.retain(|case| case.to_string() == one);
            return cases;
        }
        if std::env::var_os(LONG).is_some_and(|long| !long.is_empty()) {
            return cases;
        }
        random.shuffle(&mut cases);
        cases.truncate(std::env::var(CASES).map_or(SAMPLE, |size| size.parse().expect("a size is a number")));
        cases
    }
}

fn new_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    u64::from(now.subsec_nanos())
}
