//! Running many cases of one scenario, and saying how many there were.
//!
//! A sample is the cases whose names have the smallest hashes with the seed. So it is the same at every run, and nearly
//! the same on a machine that makes a few system calls more: those come in among the others, and change no choice but
//! theirs.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use uwf_testing::campaign::{SEED, asked_seed, is_long};

use crate::scenario::{Play, Scenario};
use crate::strace::{self, Case, Effect, Place};

/// The sample that is taken when nobody asks for another.
const USUAL_SEED: u64 = 1;

/// Most calls of a process beyond those that were counted: it waits for others now and then.
const MAX_BEYOND: usize = 40;

/// Variable that asks for one case.
const ONE: &str = "UWF_CASE";

/// Variable that asks for a sample of another size.
const CASES: &str = "UWF_CASES";

/// One campaign: a scenario, what is done to it, and what must hold.
pub(crate) struct Campaign {
    /// `kill`, `fault` or `unread`.
    pub(crate) name: &'static str,
    /// Calls at which something happens.
    pub(crate) calls: &'static [&'static str],
    /// What happens at a place.
    pub(crate) effects: fn(&Place) -> Vec<Effect>,
    /// Runs one case on a root that was put back.
    pub(crate) case: fn(&Play, &Case, &mut Rng) -> Result<Outcome, String>,
}

/// What came of a case after which everything holds that has to.
pub(crate) struct Outcome {
    /// In a word.
    pub(crate) word: String,
    /// Whether its call was reached.
    pub(crate) was_hit: bool,
}

/// What came of all cases.
#[derive(Default)]
struct Tally {
    tried: usize,
    hit: usize,
    outcomes: BTreeMap<String, usize>,
    failures: Vec<String>,
    /// Processes that should have been hit, and those that were.
    meant: BTreeSet<&'static str>,
    met: BTreeSet<&'static str>,
}

impl Campaign {
    /// Runs the cases, all or a sample of them, and says how many.
    ///
    /// # Panics
    /// When one does not hold, the message says how to repeat it; and when nothing was tried that can be relied upon.
    pub(crate) fn run(&self, scenario: &'static Scenario) {
        let seed = asked_seed().unwrap_or(USUAL_SEED);
        let play = scenario.play();
        let drawn = |case: &Case| drawn(seed, self.name, scenario.name, case);
        let one = std::env::var(ONE).ok();
        let cases = match &one {
            Some(one) => self.cases(&play, MAX_BEYOND).into_iter().filter(|case| case.to_string() == *one).collect(),
            None => choose(self.cases(&play, 1), scenario.sample, &drawn),
        };
        assert!(!cases.is_empty(), "there is no case {}", one.unwrap_or_default());
        let mut tally = Tally::default();
        for case in &cases {
            let mut case = case.clone();
            // The call after the last must be survived, or the count was too low and others are left untried.
            while self.is_hit(&play, &case, seed, drawn(&case), &mut tally) && case.place.is_beyond() && one.is_none() {
                case.place.number += 1;
                let Place { number, counted, .. } = case.place;
                assert!(
                    number <= counted + MAX_BEYOND,
                    "{counted} calls were counted, and no last one is found: {case}"
                );
            }
        }
        let Tally { tried, hit, outcomes, failures, meant, met } = tally;
        println!("{} {}: seed {seed}, {tried} cases, {hit} of them hit, {outcomes:?}", self.name, scenario.name);
        assert!(failures.is_empty(), "{} of {tried} cases\n{}", failures.len(), failures.join("\n"));
        let missed: Vec<_> = meant.difference(&met).collect();
        assert!(missed.is_empty(), "of {missed:?} not one call was hit");
        // One that is asked for by its name may be the call after the last.
        assert!(hit > 0 || (one.is_some() && meant.is_empty()), "not one call was hit");
    }

    /// Runs one case; whether its call was reached.
    fn is_hit(&self, play: &Play, case: &Case, seed: u64, drawn: u64, tally: &mut Tally) -> bool {
        let process = case.place.target.name();
        tally.tried += 1;
        if !case.place.is_beyond() {
            tally.meant.insert(process);
        }
        play.reset();
        match (self.case)(play, case, &mut Rng::with_seed(drawn)) {
            Ok(Outcome { word, was_hit }) => {
                *tally.outcomes.entry(word).or_default() += 1;
                if was_hit {
                    tally.hit += 1;
                    tally.met.insert(process);
                }
                was_hit
            }
            Err(failure) => {
                let told = format!("{SEED}={seed} {ONE}='{case}': {failure}");
                // All cases take long: whoever watches learns of the first at once.
                println!("{told}");
                tally.failures.push(told);
                tally.met.insert(process);
                false
            }
        }
    }

    /// Every case there is, with so many calls beyond those that were counted.
    fn cases(&self, play: &Play, beyond: usize) -> Vec<Case> {
        let mut cases = Vec::new();
        for (target, _) in play.scenario.targets {
            play.reset();
            for (call, numbers) in strace::count(&play.stage, &play.args, *target, self.calls) {
                let counted = *numbers.end();
                for number in *numbers.start()..=counted + beyond {
                    let place = Place { target: *target, call: call.clone(), number, counted };
                    let effects = (self.effects)(&place).into_iter();
                    cases.extend(effects.map(|effect| Case { place: place.clone(), effect }));
                }
            }
        }
        cases
    }
}

/// The cases that are asked for: all, or a sample that has of each process one that it must survive.
fn choose(mut cases: Vec<Case>, sample: usize, drawn: &dyn Fn(&Case) -> u64) -> Vec<Case> {
    if is_long() {
        return cases;
    }
    cases.sort_by_cached_key(drawn);
    let size = std::env::var(CASES).map_or(sample, |size| size.parse().expect("a size is a number"));
    let (beyond, mut cases): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|case| case.place.is_beyond());
    cases.truncate(size);
    for case in beyond {
        if !cases.iter().any(|known| known.place.is_beyond() && known.place.target == case.place.target) {
            cases.push(case);
        }
    }
    cases
}

/// The number a case draws: it decides what is in a sample, and what a case leaves to chance.
fn drawn(seed: u64, campaign: &str, scenario: &str, case: &Case) -> u64 {
    json_cas::xxh64(format!("{seed} {campaign} {scenario} {case}").as_bytes()).as_u64()
}
