//! The store of the history figures: one long thread, and others that continue from it at several lengths.

use json_cas::Hash;
use uwf_core::thread::ThreadId;

use crate::error::Result;
use crate::place::{Place, Player};
use crate::seed::{Line, Seed};
use crate::sizes::Sizes;

/// What is in the store.
pub struct Long {
    /// The long thread's nodes.
    pub line: Line,
    /// A thread that stays as it is, at the end of it.
    pub shown: ThreadId,
    /// A thread whose chain cache is deleted before each step.
    pub uncached: ThreadId,
    /// For each player threads at each length.
    pub players: Vec<Played>,
}

/// Threads of one player.
pub struct Played {
    /// Who plays.
    pub player: Player,
    /// At each length, in the order of [`Sizes::lengths`].
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

impl Long {
    /// Builds it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn build(place: &Place, sizes: &Sizes) -> Result<Long> {
        let mut seed = Seed::new(&place.home)?;
        let line = seed.line(sizes.long())?;
        let end = line.steps[sizes.long() - 1];
        let shown = seed.thread(end, &place.workspace, Player::Step)?;
        let uncached = seed.thread(end, &place.workspace, Player::Step)?;
        seed.warm(&shown)?;
        let mut players = Vec::new();
        for player in Player::ALL {
            let at = sizes.lengths.iter().map(|length| at_length(&mut seed, place, &line, *length, player, sizes.runs));
            players.push(Played { player, at: at.collect::<Result<_>>()? });
        }
        seed.fill(sizes.nodes)?;
        seed.finish()?;
        Ok(Long { line, shown, uncached, players })
    }

    /// The step in the middle of the long thread.
    pub fn middle(&self) -> Hash {
        self.line.steps[self.line.steps.len() / 2]
    }
}

fn at_length(
    seed: &mut Seed<'_>,
    place: &Place,
    line: &Line,
    length: usize,
    player: Player,
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
