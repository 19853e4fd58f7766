//! How often a step waits for the disk, counted by strace.

use std::fs;
use std::process::Command;

use super::BenchSetup;
use crate::error::{Error, Result};
use crate::long::LongStore;
use crate::measure::run;
use crate::place::{BenchRoot, TrivialAgent};
use crate::row::{Figure, FigureGroup, FigureRow, FigureUnit};
use crate::seed::SeededRoot;

/// The most calls a step should make.
const TARGET: f64 = 10.0;

/// Calls that wait for the disk.
const CALLS: [&str; 6] = ["fsync", "fdatasync", "sync_file_range", "syncfs", "msync", "sync"];

pub(super) fn measure(bench: &BenchSetup<'_>, place: &BenchRoot, long: &LongStore) -> Result<FigureGroup> {
    let mut rows = Vec::new();
    for played in &long.players {
        let output = played.player.output();
        let fresh = bench.place(&format!("calls-{output}"))?;
        let mut seed = SeededRoot::new(&fresh.home)?;
        let start = seed.start()?;
        let id = seed.thread(start, &fresh.workspace, played.player)?;
        seed.finish()?;
        rows.push(row(bench, format!("output: {output}, first step of a thread"), fresh.step(&id))?.at_most(TARGET));
        for (length, at) in bench.sizes.lengths.iter().zip(&played.at) {
            let what = format!("output: {output}, return after {length} steps");
            rows.push(row(bench, what, place.step(&at.returning))?.at_most(TARGET));
        }
        let (length, spare) = (bench.sizes.long(), &played.at[2].first_visits[bench.sizes.runs + 2]);
        rows.push(
            row(bench, format!("output: {output}, first visit after {length} steps"), place.step(spare))?
                .at_most(TARGET),
        );
    }
    let start = bench.place("calls-start")?;
    SeededRoot::new(&start.home)?.finish()?;
    run(&mut start.uwf(&["thread", "start", "play-roles", "-p", "Warm up."]))?;
    let command = start.uwf(&["thread", "start", "play-roles", "-p", "Count."]);
    rows.push(row(bench, "thread start".to_owned(), command)?);
    let fork = place.uwf(&["thread", "fork", &long.middle().to_string()]);
    rows.push(row(bench, "thread fork".to_owned(), fork)?);
    let floor_dir = bench.dir.join("floor");
    rows.push(row(bench, "the floor".to_owned(), TrivialAgent::Step.floor(bench.programs, &floor_dir))?);
    Ok(FigureGroup { title: "Calls that wait for the disk, by strace".to_owned(), rows })
}

fn row(bench: &BenchSetup<'_>, what: String, command: Command) -> Result<FigureRow> {
    Ok(FigureRow::maybe(what, FigureUnit::Calls, count(bench, &command)?))
}

/// Runs a command under strace; `Err` inside when strace cannot be used here.
fn count(bench: &BenchSetup<'_>, command: &Command) -> Result<Figure> {
    let log = bench.dir.join("strace.log");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", &format!("trace={}", CALLS.join(",")), "-o"]).arg(&log);
    strace.arg(command.get_program()).args(command.get_args()).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            strace.env(name, value);
        }
    }
    if let Some(dir) = command.get_current_dir() {
        strace.current_dir(dir);
    }
    match strace.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => return Ok(Err(format!("strace failed: {}", String::from_utf8_lossy(&output.stderr).trim()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Err("strace is not installed".to_owned()));
        }
        Err(error) => return Ok(Err(format!("strace cannot be started: {error}"))),
    }
    let text = fs::read_to_string(&log).map_err(Error::with_path("read", &log))?;
    Ok(Ok(text.lines().filter(|line| is_call(line)).count() as f64))
}

/// Whether a line of the log begins a call: `PID fsync(3…`, not its `<... fsync resumed>`.
fn is_call(line: &str) -> bool {
    let call = line.split_once(' ').map_or(line, |(_, call)| call.trim_start());
    CALLS.iter().any(|name| call.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')))
}

#[cfg(test)]
mod tests {
    use super::is_call;

    #[test]
    fn a_call_counts_once() {
        assert!(is_call("31736 fsync(3) = 0"));
        assert!(is_call("31736 fdatasync(3 <unfinished ...>"));
        assert!(!is_call("31736 <... fdatasync resumed>) = 0"));
        assert!(!is_call("31736 --- SIGCHLD {si_signo=SIGCHLD} ---"));
    }
}
