//! Processor time of a whole step.

use std::fs;
use std::process::Command;

use super::BenchSetup;
use crate::error::{Error, Result};
use crate::long::LongStore;
use crate::measure::run;
use crate::place::BenchRoot;
use crate::row::{Figure, FigureGroup, FigureRow, FigureUnit};

/// Milliseconds of one unit in which the kernel counts processor time. It is coarse, so the runs are added up.
pub(super) const TICK_MS: f64 = 10.0;

/// Fields of `/proc/PID/stat`, counted behind the program's name: times of ended descendants, user and system.
const TIMES: [usize; 2] = [13, 14];

pub(super) fn measure(bench: &BenchSetup<'_>, place: &BenchRoot, long: &LongStore) -> Result<FigureGroup> {
    let mut rows = Vec::new();
    let runs = bench.sizes.runs;
    for played in &long.players {
        let agent = used(runs, played.player.alone(bench.programs))?;
        let step = used(runs, place.step(&played.at[0].returning))?;
        let note = agent.map_or_else(|why| why, |ms| format!("its agent alone {ms:.2} ms"));
        rows.push(
            FigureRow::maybe(format!("a step, output: {}", played.player.output()), FigureUnit::Millis, step)
                .note(note),
        );
    }
    Ok(FigureGroup { title: "Processor time, user and system, all processes".to_owned(), rows })
}

/// Processor time of a command and all below it, milliseconds on average of some runs.
fn used(runs: usize, mut command: Command) -> Result<Figure> {
    let before = of_children()?;
    for _ in 0..runs {
        run(&mut command)?;
    }
    let after = of_children()?;
    Ok(before.and_then(|before| Ok((after? - before) * TICK_MS / runs as f64)))
}

/// Units of processor time of all ended descendants of this process so far.
fn of_children() -> Result<Figure> {
    let path = "/proc/self/stat";
    if !std::path::Path::new(path).exists() {
        return Ok(Err("/proc is missing".to_owned()));
    }
    let stat = fs::read_to_string(path).map_err(Error::with_path("read", path.as_ref()))?;
    // The name of the program, in brackets, may hold blanks; the fields are counted behind it.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let counts: Option<Vec<f64>> = TIMES.iter().map(|at| fields.get(*at)?.parse().ok()).collect();
    Ok(counts.map(|counts| counts.iter().sum()).ok_or_else(|| format!("{path} is not readable")))
}
