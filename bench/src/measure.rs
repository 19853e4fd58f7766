//! Timing whole processes, one after the other in rounds, so that a slow moment of the machine meets every case alike.

use std::process::Command;
use std::time::Instant;

use crate::error::{Error, Result};

/// One command that is run once per round.
pub struct Case<'c> {
    /// Name in the table.
    pub name: String,
    /// Prepares round `n` (the first is a warm-up and not counted) and gives the command. Not timed.
    pub prepare: Box<dyn FnMut(usize) -> Result<Command> + 'c>,
}

/// Milliseconds of each counted round of one case.
#[derive(Debug, Clone)]
pub struct Times(pub Vec<f64>);

impl Times {
    /// Half of the rounds took at most this long.
    pub fn median(&self) -> f64 {
        median(&self.0)
    }

    /// Median over the rounds of this case's time divided by another's of the same round.
    pub fn over(&self, base: &Times) -> f64 {
        median(&self.0.iter().zip(&base.0).map(|(time, base)| time / base).collect::<Vec<_>>())
    }
}

/// The middle of some numbers, NaN of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        len if len % 2 == 0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

/// Runs every case once per round, one round more than counted.
pub fn interleave(runs: usize, cases: &mut [Case<'_>]) -> Result<Vec<Times>> {
    let mut times = vec![Times(Vec::with_capacity(runs)); cases.len()];
    for round in 0..=runs {
        for (case, times) in cases.iter_mut().zip(&mut times) {
            let took = time(&mut (case.prepare)(round)?)?;
            if round > 0 {
                times.0.push(took);
            }
        }
    }
    Ok(times)
}

/// Milliseconds one command takes from its start to its end.
pub fn time(command: &mut Command) -> Result<f64> {
    let begun = Instant::now();
    run(command)?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

/// Runs a command that must succeed. Returns its stdout.
pub fn run(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().map_err(Error::at("start", command.get_program().as_ref()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(Error::Command {
        command: format!("{command:?}"),
        status: output.status.to_string(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
