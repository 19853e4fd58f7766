//! Processor time: what the kit adds to an agent's own, and what a whole step takes; and the page faults of a step, of
//! which a good part of that time is.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use uwf_core::thread::ThreadId;
use uwf_engine::attempt::{agents, recorded};

use super::Bench;
use crate::error::{Error, Result};
use crate::long::Long;
use crate::measure::run;
use crate::place::{Place, Player};
use crate::programs::clean;
use crate::row::{Figure, Group, Row, Unit};

/// The most the kit should add to what its agent uses, milliseconds.
const ADDED_MS: f64 = 5.0;

/// The kernel tells processor times in hundredths of a second, so many runs are added up.
const RUNS: usize = 50;

/// Milliseconds of one unit the kernel tells.
const TICK_MS: f64 = 10.0;

/// Fields of `/proc/PID/stat`, counted behind the program's name: times of ended descendants, user and system.
const TIMES: [usize; 2] = [13, 14];

/// Their page faults, without and with reading from the disk.
const FAULTS: [usize; 2] = [8, 10];

pub(super) fn measure(bench: &Bench<'_>, place: &Place, long: &Long) -> Result<Group> {
    let mut rows = Vec::new();
    let runs = bench.sizes.runs.min(RUNS);
    for played in &long.players {
        let thread = &played.at[0].returning;
        let output = played.player.output();
        let agent = used(runs, alone(bench, played.player), || Ok(()))?;
        let step = used(runs, place.step(thread), || Ok(()))?;
        let record = Record::read(place, thread)?;
        let process = used(runs, agent_process(place, thread)?, || record.rewind())?;
        record.restore()?;
        let beyond = |whole: &Figure| whole.clone().and_then(|whole| Ok(whole - agent.clone()?));
        let told = |figure: &Figure| figure.clone().map_or_else(|why| why, |ms| format!("{ms:.2} ms"));
        let what = format!("processor time the kit adds to its agent's, output: {output}");
        rows.push(Row::maybe(what, Unit::Millis, beyond(&process)).at_most(ADDED_MS).note(format!(
            "agent process {}, agent alone {}; {runs} runs each",
            told(&process),
            told(&agent)
        )));
        let what = format!("processor time of a whole step beyond its agent's, output: {output}");
        rows.push(Row::maybe(what, Unit::Millis, beyond(&step)).note(format!("step {}, all processes", told(&step))));
        let faults = counted(FAULTS, runs, place.step(thread), || Ok(()))?;
        rows.push(Row::maybe(format!("page faults of a whole step, output: {output}"), Unit::Faults, faults));
    }
    Ok(Group { title: "Processor time".to_owned(), rows })
}

/// The record of a thread's newest attempt, which an agent process adds lines to.
struct Record {
    path: PathBuf,
    text: String,
}

impl Record {
    fn read(place: &Place, thread: &ThreadId) -> Result<Record> {
        let path = place.home.record_file(thread);
        let text = fs::read_to_string(&path).map_err(Error::at("read", &path))?;
        Ok(Record { path, text })
    }

    /// What stands in it when the agent process is started, so that each run finds the same.
    fn rewind(&self) -> Result<()> {
        let opened = self.text.lines().rfind(|line| line.contains(r#""event":"opened""#)).unwrap_or_default();
        fs::write(&self.path, format!("\n{opened}\n")).map_err(Error::at("write", &self.path))
    }

    fn restore(&self) -> Result<()> {
        fs::write(&self.path, &self.text).map_err(Error::at("write", &self.path))
    }
}

/// The agent process of a thread's newest attempt, as a keeper starts it. It may be run again and again: nobody links
/// what it stores.
fn agent_process(place: &Place, thread: &ThreadId) -> Result<Command> {
    let home = &place.home;
    let attempt =
        recorded::read(home, thread)?.ok_or_else(|| Error::Unexpected(format!("thread {thread} has no attempt")))?;
    let opened = attempt.opened;
    let (program, args) = opened
        .command_line(home.bin())
        .split_first()
        .map_or_else(|| (String::new(), Vec::new()), |(program, args)| (program.clone(), args.to_vec()));
    let mut command = Command::new(program);
    clean(&mut command);
    command
        .args(args)
        .envs(agents::protocol_variables(home, thread.as_str(), &opened.role, &opened.attempt))
        .current_dir(&opened.workspace);
    Ok(command)
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

/// Processor time of a command and all below it, user and system, milliseconds a run; what prepares a run does not count.
fn used(runs: usize, command: Command, prepare: impl Fn() -> Result<()>) -> Result<Figure> {
    Ok(counted(TIMES, runs, command, prepare)?.map(|ticks| ticks * TICK_MS))
}

/// What the kernel counts of a command and all below it, on average of some runs.
fn counted(fields: [usize; 2], runs: usize, mut command: Command, prepare: impl Fn() -> Result<()>) -> Result<Figure> {
    let before = of_children(fields)?;
    for _ in 0..runs {
        prepare()?;
        run(&mut command)?;
    }
    let after = of_children(fields)?;
    Ok(before.and_then(|before| Ok((after? - before) / runs as f64)))
}

/// The sum of what the kernel has counted of all ended descendants of this process so far.
fn of_children(fields: [usize; 2]) -> Result<Figure> {
    let path = "/proc/self/stat";
    if !std::path::Path::new(path).exists() {
        return Ok(Err("there is no /proc".to_owned()));
    }
    let stat = fs::read_to_string(path).map_err(Error::at("read", path.as_ref()))?;
    // The name of the program, in brackets, may hold blanks; the fields are counted behind it.
    let told: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let counts: Option<Vec<f64>> = fields.iter().map(|at| told.get(*at)?.parse().ok()).collect();
    Ok(counts.map(|counts| counts.iter().sum()).ok_or_else(|| format!("{path} is not readable")))
}
