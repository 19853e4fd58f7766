//! Roles at the same time.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::BenchSetup;
use crate::error::{Error, Result};
use crate::measure::{BenchCase, interleave};
use crate::place::BenchRoot;
use crate::row::{FigureGroup, FigureRow, FigureUnit};

/// Seconds that a slow agent takes.
const SLOW: u32 = 2;

/// Most a group of five slow agents may take, as a multiple of a group of one.
const FIVE_OVER_ONE: f64 = 1.3;

/// Rounds of the slow agents; each takes seconds.
const SLOW_ROUNDS: usize = 3;

pub(super) fn measure(bench: &BenchSetup<'_>) -> Result<FigureGroup> {
    let place = bench.place("groups")?;
    let slow = format!("sh -c 'sleep {SLOW}; echo done'");
    let quick = "sh -c 'echo done'".to_owned();
    let [five, one, eight, many] = [5, 1, 8, 64].map(|count| group(&place, count));
    let (five, one, eight, many, chain) = (five?, one?, eight?, many?, chain(&place, 8)?);
    let rounds = bench.sizes.runs.min(SLOW_ROUNDS);
    let times = interleave(
        rounds,
        vec![BenchCase::always(|| run(&place, &five, &slow)), BenchCase::always(|| run(&place, &one, &slow))],
    )?;
    let what = format!("five agents of {SLOW} s at once, over one");
    let at_once =
        FigureRow::ratio(what, FigureUnit::Times, ("five", &times[0]), ("one", &times[1])).at_most(FIVE_OVER_ONE);
    let times = interleave(
        bench.sizes.runs.min(10),
        vec![
            BenchCase::always(|| run(&place, &eight, &quick)),
            BenchCase::always(|| run(&place, &chain, &quick)),
            BenchCase::always(|| run(&place, &many, &quick)),
        ],
    )?;
    let rows = vec![
        at_once,
        FigureRow::ratio("a group of 8, over 8 steps", FigureUnit::Times, ("group", &times[0]), ("steps", &times[1])),
        FigureRow::millis("a group of 64, and the step after it", &times[2]),
    ];
    Ok(FigureGroup { title: "Roles at the same time".to_owned(), rows })
}

fn run(place: &BenchRoot, workflow: &PathBuf, agent: &str) -> Command {
    let mut command = place.uwf(&["run"]);
    command.arg(workflow).args(["-p", "go", "--no-ask", "--agent", agent]);
    command
}

/// A workflow with a group of so many branches, and a step after it.
fn group(place: &BenchRoot, count: usize) -> Result<PathBuf> {
    write(
        place,
        &format!("group-{count}"),
        &format!(
            "  worker: {{ goal: Work. }}\n  work: {{ play: worker, each: \"[1..{count}]\", max: {count} }}\n  last: {{ goal: Sum up. }}\n\
             graph:\n  $START: [ {{ role: work }} ]\n  work: [ {{ role: last }} ]\n  last: [ {{ role: $END }} ]\n"
        ),
    )
}

/// A workflow with so many steps, and one after them.
fn chain(place: &BenchRoot, count: usize) -> Result<PathBuf> {
    let roles: String = (0..=count).map(|at| format!("  r{at}: {{ goal: Work. }}\n")).collect();
    let graph: String = (0..count).map(|at| format!("  r{at}: [ {{ role: r{} }} ]\n", at + 1)).collect();
    write(
        place,
        &format!("chain-{count}"),
        &format!("{roles}graph:\n  $START: [ {{ role: r0 }} ]\n{graph}  r{count}: [ {{ role: $END }} ]\n"),
    )
}

fn write(place: &BenchRoot, name: &str, body: &str) -> Result<PathBuf> {
    let file = place.workspace.join(format!("{name}.yaml"));
    let text = format!("name: {name}\ndescription: measured\nroles:\n{body}");
    fs::write(&file, text).map_err(Error::with_path("write", &file))?;
    Ok(file)
}
