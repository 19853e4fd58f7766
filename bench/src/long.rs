//! The store of the history figures: one long thread, and others that continue from it at several lengths.

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use crate::error::Result;
use crate::place::{BenchRoot, TrivialAgent};
use crate::seed::{SeededRoot, SeededThread};
use crate::sizes::BenchSizes;

/// What is in the store.
pub struct LongStore {
    /// The long thread's nodes.
    pub line: SeededThread,
    /// A thread that stays as it is, at the end of it.
    pub shown: ThreadId,
    /// A thread whose chain cache is deleted before each step.
    pub uncached: ThreadId,
    /// For each player threads at each length.
    pub players: Vec<LongThreads>,
}

/// Threads of one player.
pub struct LongThreads {
    /// Who plays.
    pub player: TrivialAgent,
    /// At each length, in the order of [`BenchSizes::lengths`].
    pub at: Vec<AtLength>,
}

/// Threads of one player at one length.
pub struct AtLength {
    /// Steps it had in the beginning.
    pub length: usize,
    /// A thread that is stepped again and again: each step is a return of one of two roles.
    pub returning: ThreadId,
    /// Threads whose next role was never played, one for each round.
    pub first_visits: Vec<ThreadId>,
}

/// Threads for first visits beyond one per round: for counting calls, bytes and memory.
const SPARE: usize = 8;

impl LongStore {
    /// Builds it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn build(place: &BenchRoot, sizes: &BenchSizes) -> Result<LongStore> {
        let mut seed = SeededRoot::new(&place.home)?;
        let line = seed.line(sizes.long())?;
        let end = line.steps[sizes.long() - 1];
        let shown = seed.thread(end, &place.workspace, TrivialAgent::Step)?;
        let uncached = seed.thread(end, &place.workspace, TrivialAgent::Step)?;
        seed.warm(&shown)?;
        let mut players = Vec::new();
        for player in TrivialAgent::ALL {
            let at = sizes.lengths.iter().map(|length| at_length(&mut seed, place, &line, *length, player, sizes.runs));
            players.push(LongThreads { player, at: at.collect::<Result<_>>()? });
        }
        seed.fill(sizes.nodes)?;
        seed.finish()?;
        Ok(LongStore { line, shown, uncached, players })
    }

    /// The step in the middle of the long thread.
    pub fn middle(&self) -> NodeHash {
        self.line.steps[self.line.steps.len() / 2]
    }
}

fn at_length(
    seed: &mut SeededRoot<'_>,
    place: &BenchRoot,
    line: &SeededThread,
    length: usize,
    player: TrivialAgent,
    runs: usize,
) -> Result<AtLength> {
    let head = line.steps[length - 1];
    let returning = seed.thread(head, &place.workspace, player)?;
    seed.warm(&returning)?;
    let mut first_visits = Vec::with_capacity(runs + 1 + SPARE);
    for _ in 0..=runs + SPARE {
        let asking = seed.step(line.start, Some(head), "writer", "closer")?;
        let id = seed.thread(asking, &place.workspace, player)?;
        seed.warm_like(&id, &returning)?;
        first_visits.push(id);
    }
    Ok(AtLength { length, returning, first_visits })
}
