//! Processor time of a step: what uwf adds to the agent's own.

use std::fs;
use std::process::Command;

use super::Bench;
use crate::error::{Error, Result};
use crate::long::Long;
use crate::measure::run;
use crate::place::{Place, Player, clean};
use crate::row::{Figure, Group, Row, Unit};

/// The most a step should add to what its agent uses, milliseconds.
const ADDED_MS: f64 = 5.0;

/// The kernel tells processor times in hundredths of a second, so many runs are added up.
const RUNS: usize = 50;

/// Milliseconds of one unit the kernel tells.
const TICK_MS: f64 = 10.0;

pub(super) fn measure(bench: &Bench<'_>, place: &Place, long: &Long) -> Result<Group> {
    let mut rows = Vec::new();
    for played in &long.players {
        let (step, agent) = (place.step(&played.at[0].returning), alone(bench, played.player));
        let runs = bench.sizes.runs.min(RUNS);
        let (step, agent) = (used(runs, step)?, used(runs, agent)?);
        let added = step.clone().and_then(|step| Ok(step - agent.clone()?));
        let what = format!("processor time a step adds to its agent's, output: {}", played.player.output());
        let told = |figure: Figure| figure.map_or_else(|why| why, |ms| format!("{ms:.2} ms"));
        rows.push(Row::maybe(what, Unit::Millis, added).at_most(ADDED_MS).note(format!(
            "step {}, agent {}; all processes, {runs} runs each",
            told(step),
            told(agent)
        )));
    }
    Ok(Group { title: "Processor time".to_owned(), rows })
}

/// The agent's program on its own.
fn alone(bench: &Bench<'_>, player: Player) -> Command {
    let (name, arg) = match player {
        Player::Step => ("trivial-agent", "--bare"),
        Player::Text => ("trivial-command", "writer"),
    };
    let mut command = Command::new(bench.programs.own(name));
    clean(&mut command);
    command.arg(arg);
    command
}

/// Processor time of a command and all below it, user and system, milliseconds a run.
fn used(runs: usize, mut command: Command) -> Result<Figure> {
    let before = of_children()?;
    for _ in 0..runs {
        run(&mut command)?;
    }
    let after = of_children()?;
    Ok(before.and_then(|before| Ok((after? - before) * TICK_MS / runs as f64)))
}

/// Processor time of all ended descendants of this process so far, ticks.
fn of_children() -> Result<Figure> {
    let path = "/proc/self/stat";
    if !std::path::Path::new(path).exists() {
        return Ok(Err("there is no /proc".to_owned()));
    }
    let stat = fs::read_to_string(path).map_err(Error::at("read", path.as_ref()))?;
    // The name of the program, in brackets, may hold blanks; the fields are counted behind it.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: Option<Vec<f64>> = [13, 14].iter().map(|at| fields.get(*at)?.parse().ok()).collect();
    Ok(ticks.map(|ticks| ticks.iter().sum()).ok_or_else(|| format!("{path} is not readable")))
}
