//! The index: steps, starts and listings with one active thread and with many.

use std::fs;
use std::process::Command;

use uwf_core::thread::ThreadId;

use super::BenchSetup;
use crate::error::Result;
use crate::measure::{BenchCase, interleave};
use crate::place::{BenchRoot, TrivialAgent};
use crate::row::{FigureGroup, FigureRow, FigureUnit};
use crate::seed::SeededRoot;

/// The most a listing of the many threads should take, milliseconds.
const LIST_MS: f64 = 50.0;

/// Steps of each thread whose cost is added up.
const STEPS: usize = 3;

/// A store with some active threads, one of each player among them.
struct IndexedStore {
    place: BenchRoot,
    threads: Vec<(TrivialAgent, ThreadId)>,
}

pub(super) fn measure(bench: &BenchSetup<'_>) -> Result<FigureGroup> {
    let many = indexed(bench, "many", &TrivialAgent::ALL, bench.sizes.active)?;
    let alone: Vec<IndexedStore> = TrivialAgent::ALL
        .iter()
        .map(|player| indexed(bench, &format!("one-{}", player.output()), &[*player], 1))
        .collect::<Result<_>>()?;
    let start_alone = indexed(bench, "one-start", &[TrivialAgent::Step], 1)?;
    let listed = indexed(bench, "listed", &TrivialAgent::ALL, bench.sizes.active)?;
    let spent = stepped(bench, "spent", bench.sizes.active)?;

    let mut cases = Vec::new();
    for (one, (_, thread)) in alone.iter().zip(&many.threads) {
        let (place, first) = (&one.place, &one.threads[0].1);
        cases.push(BenchCase::always(move || place.step(first)));
        cases.push(BenchCase::always(|| many.place.step(thread)));
    }
    cases.push(BenchCase::new(|round| Ok(start(&start_alone.place, round))));
    cases.push(BenchCase::new(|round| Ok(start(&many.place, round))));
    cases.push(BenchCase::always(|| listed.place.uwf(&["thread", "list"])));
    cases.push(BenchCase::new(|_| {
        let _ = fs::remove_file(listed.place.home.active_heads_cache());
        Ok(listed.place.uwf(&["thread", "list"]))
    }));
    cases.push(BenchCase::always(|| spent.uwf(&["thread", "cost"])));
    cases.push(BenchCase::always(|| spent.uwf(&["gc"])));
    cases.push(BenchCase::always(|| listed.place.uwf(&["thread", "ps"])));
    let times = interleave(bench.sizes.runs, cases)?;

    let active = bench.sizes.active;
    let names = ["thread step, output: step", "thread step, output: text", "thread start"];
    let mut rows: Vec<FigureRow> = names
        .iter()
        .zip(times.chunks(2))
        .map(|(name, pair)| {
            let what = format!("{name}: {active} active threads over 1");
            FigureRow::ratio(what, FigureUnit::Times, ("many", &pair[1]), ("one", &pair[0]))
        })
        .collect();
    let each = |median: f64| format!("{:.1} µs a thread", median / active as f64 * 1000.0);
    rows.push(
        FigureRow::millis(format!("thread list of {active} threads"), &times[6])
            .at_most(LIST_MS)
            .note(each(times[6].median())),
    );
    rows.push(
        FigureRow::millis(format!("thread ps with {active} active threads, none at work"), &times[10])
            .note(each(times[10].median())),
    );
    rows.push(FigureRow::millis(format!("thread list of {active} threads, what heads say not remembered"), &times[7]));
    let cost = times[8].median() / active as f64;
    rows.push(
        FigureRow::millis(format!("thread cost of {active} threads"), &times[8])
            .note(format!("{:.0} µs a thread of {STEPS} steps", cost * 1000.0)),
    );
    let read = times[9].median() / active as f64;
    rows.push(
        FigureRow::millis(format!("gc with {active} threads, all in use"), &times[9])
            .note(format!("{:.0} µs a thread of {STEPS} steps", read * 1000.0)),
    );
    Ok(FigureGroup { title: "Active threads".to_owned(), rows })
}

fn indexed(bench: &BenchSetup<'_>, name: &str, players: &[TrivialAgent], active: usize) -> Result<IndexedStore> {
    let place = bench.place(name)?;
    let mut seed = SeededRoot::new(&place.home)?;
    let mut threads = Vec::new();
    for index in 0..active {
        let start = seed.start()?;
        // Those that are stepped lie in the middle of the index.
        let player = index.checked_sub(active / 2).and_then(|index| players.get(index));
        let id = seed.thread(start, &place.workspace, player.copied().unwrap_or(TrivialAgent::Step))?;
        threads.extend(player.map(|player| (*player, id)));
    }
    seed.finish()?;
    Ok(IndexedStore { place, threads })
}

/// A store with so many active threads that have steps.
pub(super) fn stepped(bench: &BenchSetup<'_>, name: &str, active: usize) -> Result<BenchRoot> {
    let place = bench.place(name)?;
    let mut seed = SeededRoot::new(&place.home)?;
    for _ in 0..active {
        let line = seed.line(STEPS)?;
        let head = line.steps.last().copied().unwrap_or(line.start);
        seed.thread(head, &place.workspace, TrivialAgent::Step)?;
    }
    seed.finish()?;
    Ok(place)
}

fn start(place: &BenchRoot, round: usize) -> Command {
    place.uwf(&["thread", "start", "play-roles", "-p", &format!("Task of round {round}.")])
}
