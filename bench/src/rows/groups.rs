//! Roles at the same time.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::BenchSetup;
use crate::error::{Error, Result};
use crate::measure::{self, BenchCase, interleave};
use crate::place::BenchRoot;
use crate::row::{FigureGroup, FigureRow, FigureUnit};

/// Seconds that a slow agent takes.
const SLOW: u32 = 2;

/// Branches of a small group, and of a large one.
const FEW: usize = 8;
const MANY: usize = 64;

/// Most a group of five slow agents may take, as a multiple of a group of one.
const FIVE_OVER_ONE: f64 = 1.3;

/// Rounds of the slow agents; each takes seconds.
const SLOW_ROUNDS: usize = 3;

pub(super) fn measure(bench: &BenchSetup<'_>) -> Result<FigureGroup> {
    let place = bench.place("groups")?;
    let slow = format!("sh -c 'sleep {SLOW}; echo done'");
    let quick = "sh -c 'echo done'".to_owned();
    let [five, one, eight, many] = [5, 1, FEW, MANY].map(|count| group(&place, count));
    let (five, one, eight, many) = (five?, one?, eight?, many?);
    let (short, long) = (chain(&place, FEW)?, chain(&place, MANY)?);
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
            BenchCase::always(|| run(&place, &short, &quick)),
            BenchCase::always(|| run(&place, &many, &quick)),
            BenchCase::always(|| run(&place, &long, &quick)),
        ],
    )?;
    let ratio = |what: String, of, over| FigureRow::ratio(what, FigureUnit::Times, of, over);
    let rows = vec![
        at_once,
        ratio(format!("a group of {FEW}, over {FEW} steps"), ("group", &times[0]), ("steps", &times[1])),
        ratio(format!("a group of {MANY}, over {MANY} steps"), ("group", &times[2]), ("steps", &times[3])),
        ratio(format!("a group of {MANY}, over a group of {FEW}"), ("many", &times[2]), ("few", &times[0])),
        prompts(bench, &place, [&eight, &many, &long])?,
    ];
    Ok(FigureGroup { title: "Roles at the same time".to_owned(), rows })
}

/// The prompt of the role after a group, over the prompt after as many steps. Each answer has 1 KB.
fn prompts(bench: &BenchSetup<'_>, place: &BenchRoot, [few, many, steps]: [&PathBuf; 3]) -> Result<FigureRow> {
    let agent = "sh -c 'printf %01000d 0'";
    let [few, many] = [few, many].map(|workflow| thread_before_last(place, workflow, agent, 1));
    let (few, many, steps) = (few?, many?, thread_before_last(place, steps, agent, MANY)?);
    let prompt = |thread: &str| place.uwf(&["thread", "step", thread, "--dry-run"]);
    let times = interleave(
        bench.sizes.runs,
        vec![
            BenchCase::always(|| prompt(&many)),
            BenchCase::always(|| prompt(&steps)),
            BenchCase::always(|| prompt(&few)),
        ],
    )?;
    let what = format!("the prompt after a group of {MANY}, over one after {MANY} steps");
    let note = format!("after a group of {FEW}: {:.1} ms", times[2].median());
    Ok(FigureRow::ratio(what, FigureUnit::Times, ("group", &times[0]), ("steps", &times[1])).note(note))
}

/// A thread after so many steps of a workflow.
fn thread_before_last(place: &BenchRoot, workflow: &PathBuf, agent: &str, steps: usize) -> Result<String> {
    let mut start = place.uwf(&["thread", "start"]);
    start.arg(workflow).args(["-p", "go", "--agent", agent, "--format", "json"]);
    let printed = measure::run(&mut start)?;
    let report: Value = serde_json::from_slice(&printed).unwrap_or_default();
    let thread = report["thread"].as_str().map(str::to_owned);
    let thread = thread.ok_or_else(|| Error::Unexpected("`uwf thread start` printed no thread".to_owned()))?;
    for _ in 0..steps {
        measure::run(&mut place.uwf(&["thread", "step", &thread]))?;
    }
    Ok(thread)
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
pub(super) fn chain(place: &BenchRoot, count: usize) -> Result<PathBuf> {
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
