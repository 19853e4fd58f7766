//! Deciding the next role, in process: a plain condition, and one that looks at the whole history.

use std::time::Instant;

use uwf_core::moderator::{Condition, Edge, History, Moderator, Progress};
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::moderate;

use super::Bench;
use crate::error::{Error, Result};
use crate::long::Long;
use crate::measure::Times;
use crate::place::Place;
use crate::row::{Group, Row, Unit};

/// The most a plain condition should take, microseconds.
const PLAIN_MICROS: f64 = 1000.0;

/// A condition that reads the last step.
const PLAIN: &str = "steps[-1].output.next = \"reviewer\"";

/// One that only needs the number of steps, and one that needs every output.
const COUNT: &str = "$count(steps) > 5";
const EVERY: &str = "$count(steps[output.n > 5]) > 5";

pub(super) fn measure(bench: &Bench<'_>, place: &Place, long: &Long) -> Result<Group> {
    let length = bench.sizes.long();
    let rounds = bench.sizes.runs * 10;
    let plain = decide(place, long, PLAIN, rounds)?;
    let first = Times(plain.0[..1].to_vec());
    let rows = vec![
        Row::new(format!("`{PLAIN}`, compiled and decided"), Unit::Micros, plain.median()).at_most(PLAIN_MICROS),
        Row::new("the same, the first in a process", Unit::Micros, first.median()).at_most(PLAIN_MICROS),
        Row::new(
            format!("`{COUNT}` at {length} steps, compiled and decided"),
            Unit::Micros,
            decide(place, long, COUNT, rounds)?.median(),
        ),
        Row::new(
            "the same with reading the thread, cached",
            Unit::Micros,
            from_disk(place, long, COUNT, bench.sizes.runs)?.median(),
        ),
        Row::new(
            format!("`{EVERY}` at {length} steps, compiled and decided"),
            Unit::Micros,
            decide(place, long, EVERY, bench.sizes.runs)?.median(),
        ),
        Row::new(
            "the same with reading the thread, cached",
            Unit::Micros,
            from_disk(place, long, EVERY, bench.sizes.runs.min(5))?.median(),
        ),
    ];
    Ok(Group { title: "Routing, in process".to_owned(), rows })
}

/// Compiling and deciding on a history that is loaded.
fn decide(place: &Place, long: &Long, expression: &str, rounds: usize) -> Result<Times> {
    let thread = Thread::any(&place.home, &long.shown)?;
    let history = history(&thread, expression)?;
    timed(rounds, || route(expression, &history))
}

/// The same from the thread's id on: head, chain, nodes.
fn from_disk(place: &Place, long: &Long, expression: &str, rounds: usize) -> Result<Times> {
    timed(rounds, || {
        let thread = Thread::any(&place.home, &long.shown)?;
        route(expression, &history(&thread, expression)?)
    })
}

fn timed(rounds: usize, mut work: impl FnMut() -> Result<()>) -> Result<Times> {
    let mut micros = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let begun = Instant::now();
        work()?;
        micros.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    Ok(Times(micros))
}

fn history(thread: &Thread<'_>, expression: &str) -> Result<History> {
    Ok(moderate::history(thread, compile(expression)?.reads())?)
}

fn route(expression: &str, history: &History) -> Result<()> {
    let edges = vec![
        Edge { role: "reviewer".to_owned(), condition: Some(("it".to_owned(), compile(expression)?)) },
        Edge { role: "writer".to_owned(), condition: None },
    ];
    match Moderator::new(edges).decide(history) {
        Ok(Progress::Decided(_)) => Ok(()),
        Ok(Progress::Evaluate { .. }) => Err(Error::Unexpected(format!("`{expression}` is not plain"))),
        Err(error) => Err(Error::Unexpected(error.to_string())),
    }
}

fn compile(expression: &str) -> Result<Condition> {
    Condition::compile(expression).map_err(|error| Error::Unexpected(error.to_string()))
}
