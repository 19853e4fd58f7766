//! Killing processes now and then, while a test continues.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;
use rustix::process::Signal;

use crate::processes::{Part, Process};
use crate::stage::Stage;

/// How often and how hard.
pub(crate) struct Strikes {
    /// Milliseconds between two strikes.
    pub(crate) pause: Range<u64>,
    /// Most processes one strike kills.
    pub(crate) most: usize,
    /// Whether windows are killed too; not where a test kills its own.
    pub(crate) windows: bool,
}

/// Sets a flag when it goes, also when that is because of a panic.
pub(crate) struct Over<'f>(pub(crate) &'f AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Strikes {
    /// Does `play` while processes of the stage are killed; tells how many of each kind were.
    pub(crate) fn during<T>(
        &self,
        stage: &Stage,
        mut random: Rng,
        play: impl FnOnce() -> T,
    ) -> (T, BTreeMap<Part, usize>) {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let struck = scope.spawn(|| {
                let mut struck = BTreeMap::new();
                while !is_over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(random.u64(self.pause.clone())));
                    self.strike(stage, &mut random, &mut struck);
                }
                struck
            });
            let over = Over(&is_over);
            let played = play();
            drop(over);
            (played, struck.join().unwrap())
        })
    }

    /// Each blow falls on a part of uwf first, then on one of its processes: of windows there are many more than of agents.
    fn strike(&self, stage: &Stage, random: &mut Rng, struck: &mut BTreeMap<Part, usize>) {
        let mut parts: BTreeMap<Part, Vec<Process>> = BTreeMap::new();
        for process in stage.processes().into_iter().filter(|process| self.windows || process.part != Part::Window) {
            parts.entry(process.part).or_default().push(process);
        }
        for _ in 0..random.usize(1..=self.most) {
            let Some((part, processes)) = random.choice(parts.iter_mut()) else { return };
            if !processes.is_empty() {
                processes.swap_remove(random.usize(0..processes.len())).signal(Signal::KILL);
                *struck.entry(*part).or_default() += 1;
            }
        }
    }
}
