//! Which states of the disk are tried: of few pending changes every combination, of many the extremes, each change
//! alone, each but one, and a sample.

use std::collections::HashSet;

use fastrand::Rng;

use crate::disk::{Disk, Fate, Tree};

/// Pending changes up to which every combination of "there" and "lost" is tried.
const ALL_COMBINATIONS: usize = 5;

/// Random combinations tried at a crash point with more.
const SAMPLED: usize = 24;

/// A disk after a crash.
pub(crate) struct State {
    /// In front of which operation the system stopped.
    pub(crate) crash: usize,
    /// What is on the disk.
    pub(crate) tree: Tree,
}

/// Every different state that is to be tried, and how many combinations they stand for.
pub(crate) fn states(disk: &Disk, rng: &mut Rng) -> (Vec<State>, usize) {
    let mut seen = HashSet::new();
    let mut states = Vec::new();
    let mut combinations = 0;
    for crash in 0..=disk.length {
        let pending = disk.pending(crash);
        for fates in fates(&pending, rng) {
            combinations += 1;
            let tree = disk.crashed(crash, &fates);
            // The same files are another state when more was promised by then.
            if seen.insert((tree.clone(), disk.said(crash), disk.is_durable(crash, FINISHED))) {
                states.push(State { crash, tree });
            }
        }
    }
    (states, combinations)
}

/// What a record says of an output that must not be paid for again.
pub(crate) const FINISHED: &str = r#""event":"finished""#;

fn fates(pending: &[Option<usize>], rng: &mut Rng) -> Vec<Vec<Fate>> {
    let of_all = |fate: &dyn Fn(&Option<usize>) -> Fate| pending.iter().map(fate).collect::<Vec<Fate>>();
    let mut all = vec![
        of_all(&|_| Fate::Whole),
        of_all(&|_| Fate::Lost),
        of_all(&|write| if write.is_some() { Fate::Lost } else { Fate::Whole }),
        of_all(&|write| if write.is_some() { Fate::Zeros } else { Fate::Whole }),
        of_all(&|write| if write.is_some() { Fate::Whole } else { Fate::Lost }),
    ];
    let torn: Vec<Fate> = pending.iter().map(|write| write.map_or(Fate::Whole, |len| torn(len, rng))).collect();
    all.push(torn);
    if pending.len() <= ALL_COMBINATIONS {
        for bits in 0..1_usize << pending.len() {
            let fates = pending.iter().enumerate().map(|(at, write)| match (bits >> at & 1, write) {
                (1, _) => Fate::Whole,
                (_, None) => Fate::Lost,
                (_, Some(len)) => broken(*len, rng),
            });
            all.push(fates.collect());
        }
        return all;
    }
    for at in 0..pending.len() {
        let mut alone = of_all(&|_| Fate::Lost);
        alone[at] = Fate::Whole;
        let mut missing = of_all(&|_| Fate::Whole);
        missing[at] = pending[at].map_or(Fate::Lost, |len| broken(len, rng));
        all.extend([alone, missing]);
    }
    for _ in 0..SAMPLED {
        let share = rng.f64();
        let fate = |write: &Option<usize>| match write {
            _ if rng.f64() < share => Fate::Whole,
            None => Fate::Lost,
            Some(len) => broken(*len, rng),
        };
        all.push(pending.iter().map(fate).collect());
    }
    all
}

fn broken(len: usize, rng: &mut Rng) -> Fate {
    match rng.u8(0..3) {
        0 => Fate::Lost,
        1 => Fate::Zeros,
        _ => torn(len, rng),
    }
}

fn torn(len: usize, rng: &mut Rng) -> Fate {
    Fate::Torn(rng.usize(0..=len))
}
