//! One step: in a new store, and at several lengths of history.

use std::fs;

use uwf_core::thread::ThreadId;
use uwf_engine::thread::load::Thread;

use super::BenchSetup;
use crate::error::{Error, Result};
use crate::git::GitRepository;
use crate::long::LongStore;
use crate::measure::{BenchCase, RoundTimes, interleave};
use crate::place::{BenchRoot, TrivialAgent};
use crate::row::{FigureGroup, FigureRow, FigureUnit};
use crate::seed::{SeededRoot, sync_disk};

/// The most a step of `output: text` should take, in times of its floor.
const TEXT_OVER_FLOOR: f64 = 3.0;

/// The most it should take, in times of `git add` and `git commit` of as much text.
const TEXT_OVER_GIT: f64 = 1.5;

/// The most a step in a long thread should take of one in a short thread.
const FLAT: f64 = 1.3;

/// Times of all cases of one player.
struct StepTimes {
    player: TrivialAgent,
    floor: RoundTimes,
    fresh: RoundTimes,
    returns: Vec<RoundTimes>,
    first_visits: Vec<RoundTimes>,
}

/// Everything in one series of rounds, so that any two cases can be compared.
pub(super) fn measure(bench: &BenchSetup<'_>, place: &BenchRoot, long: &LongStore) -> Result<[FigureGroup; 2]> {
    let floor_dir = bench.dir.join("floor");
    fs::create_dir_all(&floor_dir).map_err(Error::with_path("create", &floor_dir))?;
    let fresh: Vec<(BenchRoot, ThreadId)> =
        TrivialAgent::ALL.into_iter().map(|player| fresh(bench, player)).collect::<Result<_>>()?;
    let repository = GitRepository::init(&bench.dir.join("git"))?;
    let mut cases = vec![BenchCase::several(|round| repository.new_text(round))];
    for (played, (fresh, thread)) in long.players.iter().zip(&fresh) {
        let floor_dir = &floor_dir;
        cases.push(BenchCase::always(move || played.player.floor(bench.programs, floor_dir)));
        cases.push(BenchCase::always(move || fresh.step(thread)));
        cases.extend(played.at.iter().map(|at| BenchCase::always(move || place.step(&at.returning))));
        cases.extend(played.at.iter().map(|at| BenchCase::new(move |round| Ok(place.step(&at.first_visits[round])))));
    }
    cases.push(BenchCase::new(|_| {
        let cache = place.home.chain_file(&long.uncached);
        let _ = fs::remove_file(&cache);
        sync_disk(place.home.root())?;
        Ok(place.step(&long.uncached))
    }));
    let mut times = interleave(bench.sizes.runs, cases)?.into_iter();
    let lengths = bench.sizes.lengths.len();
    let mut next = || times.next().unwrap_or(RoundTimes(Vec::new()));
    let git = next();
    let mut all = Vec::new();
    for played in &long.players {
        all.push(StepTimes {
            player: played.player,
            floor: next(),
            fresh: next(),
            returns: (0..lengths).map(|_| next()).collect(),
            first_visits: (0..lengths).map(|_| next()).collect(),
        });
    }
    let rebuilt = next();
    check(bench, place, long)?;
    Ok([one_step(&all, &git), history(bench, &all, &rebuilt)])
}

/// A store with one thread and nothing else.
fn fresh(bench: &BenchSetup<'_>, player: TrivialAgent) -> Result<(BenchRoot, ThreadId)> {
    let place = bench.place(&format!("fresh-{}", player.output()))?;
    let mut seed = SeededRoot::new(&place.home)?;
    let start = seed.start()?;
    let thread = seed.thread(start, &place.workspace, player)?;
    seed.finish()?;
    Ok((place, thread))
}

fn one_step(all: &[StepTimes], git: &RoundTimes) -> FigureGroup {
    let mut rows = Vec::new();
    for played in all {
        let what = format!("thread step, output: {}", played.player.output());
        rows.push(over_floor(what.clone(), played, &played.fresh));
        if played.player == TrivialAgent::Text {
            let what = format!("{what}, over git add and git commit");
            rows.push(
                FigureRow::ratio(what, FigureUnit::Times, ("step", &played.fresh), ("git", git)).at_most(TEXT_OVER_GIT),
            );
        }
    }
    FigureGroup { title: "One step, a store with one thread".to_owned(), rows }
}

fn over_floor(what: String, played: &StepTimes, step: &RoundTimes) -> FigureRow {
    let row = FigureRow::ratio(what, FigureUnit::Floor, ("step", step), ("floor", &played.floor));
    if played.player == TrivialAgent::Text { row.at_most(TEXT_OVER_FLOOR) } else { row }
}

fn history(bench: &BenchSetup<'_>, all: &[StepTimes], rebuilt: &RoundTimes) -> FigureGroup {
    let lengths = bench.sizes.lengths;
    let [short, _, long] = lengths;
    let mut rows = Vec::new();
    for played in all {
        let output = played.player.output();
        let kinds = [("a role's return", &played.returns), ("a role's first visit", &played.first_visits)];
        for (kind, times) in kinds {
            for (length, times) in lengths.iter().zip(times) {
                let what = format!("{output}, {kind} after {length} steps");
                rows.push(over_floor(what, played, times));
            }
            let what = format!("{output}, {kind}: {long} over {short}");
            rows.push(
                FigureRow::ratio(what, FigureUnit::Times, ("long", &times[2]), ("short", &times[0])).at_most(FLAT),
            );
        }
    }
    if let Some(step) = all.first() {
        let what = format!("step, {long} steps, chain cache deleted");
        rows.push(FigureRow::ratio(what, FigureUnit::Floor, ("step", rebuilt), ("floor", &step.floor)));
    }
    FigureGroup { title: format!("One step, by length of history, a store of {} nodes", bench.sizes.nodes), rows }
}

/// What was timed is what was meant.
fn check(bench: &BenchSetup<'_>, place: &BenchRoot, long: &LongStore) -> Result<()> {
    for at in long.players.iter().flat_map(|played| &played.at) {
        let grown = Thread::any(&place.home, &at.returning)?.chain()?.len();
        if grown != at.length + bench.sizes.runs + 1 {
            return Err(Error::Unexpected(format!(
                "a thread of {} steps has {grown} after {} rounds",
                at.length, bench.sizes.runs
            )));
        }
        for thread in &at.first_visits[..=bench.sizes.runs] {
            let thread = Thread::any(&place.home, thread)?;
            if thread.position() != "closer" {
                return Err(Error::Unexpected(format!("a first visit was of `{}`", thread.position())));
            }
        }
    }
    Ok(())
}
