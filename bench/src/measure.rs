//! Timing whole processes, one after the other in rounds, so that a slow moment of the machine meets every case alike.

use std::process::Command;
use std::time::Instant;

use crate::error::{Error, Result};

/// What is run once per round: most often one command.
pub struct BenchCase<'c> {
    prepare: Box<dyn FnMut(usize) -> Result<Vec<Command>> + 'c>,
}

impl<'c> BenchCase<'c> {
    /// `prepare` makes ready for round `n` and gives its command. Round 0 is a warm-up and not counted; preparing is
    /// never timed.
    pub fn new(mut prepare: impl FnMut(usize) -> Result<Command> + 'c) -> BenchCase<'c> {
        BenchCase::several(move |round| Ok(vec![prepare(round)?]))
    }

    /// The same with commands that are run one after the other and timed together.
    pub fn several(prepare: impl FnMut(usize) -> Result<Vec<Command>> + 'c) -> BenchCase<'c> {
        BenchCase { prepare: Box::new(prepare) }
    }

    /// The same command every time.
    pub fn always(command: impl Fn() -> Command + 'c) -> BenchCase<'c> {
        BenchCase::new(move |_| Ok(command()))
    }
}

/// A number for each counted round of one case, most often milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundTimes(pub Vec<f64>);

impl RoundTimes {
    /// Half of the rounds are at most this.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Half of the rounds lie between these.
    pub fn quartiles(&self) -> (f64, f64) {
        (self.quantile(0.25), self.quantile(0.75))
    }

    /// This case divided by another one, round by round.
    #[must_use]
    pub fn over(&self, base: &RoundTimes) -> RoundTimes {
        RoundTimes(self.0.iter().zip(&base.0).map(|(time, base)| time / base).collect())
    }

    /// The value a share of the rounds is at most, interpolated; NaN without rounds.
    fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
        let position = share * last as f64;
        let below = position.floor();
        let index = below as usize;
        let above = sorted[(index + 1).min(last)];
        sorted[index] + (above - sorted[index]) * (position - below)
    }
}

/// Runs every case once per round, one round more than counted.
///
/// # Errors
/// When a command fails: its time would mean nothing.
pub fn interleave(runs: usize, mut cases: Vec<BenchCase<'_>>) -> Result<Vec<RoundTimes>> {
    let mut times = vec![RoundTimes(Vec::with_capacity(runs)); cases.len()];
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

/// Milliseconds from the start of the first process to the end of the last.
fn time(commands: &mut [Command]) -> Result<f64> {
    let begun = Instant::now();
    for command in commands {
        run(command)?;
    }
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

/// Runs a command that must succeed. Returns its stdout.
///
/// # Errors
/// When it does not, with what it said.
pub fn run(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().map_err(Error::with_path("start", command.get_program().as_ref()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(Error::Command {
        command: format!("{command:?}"),
        status: output.status.to_string(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::RoundTimes;

    #[test]
    fn medians_and_quartiles_are_interpolated() {
        let times = RoundTimes(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!((times.median(), times.quartiles()), (2.5, (1.75, 3.25)));
        assert_eq!(RoundTimes(vec![7.0]).quartiles(), (7.0, 7.0));
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let (slow, base) = (RoundTimes(vec![4.0, 90.0]), RoundTimes(vec![2.0, 30.0]));
        assert_eq!(slow.over(&base), RoundTimes(vec![2.0, 3.0]));
    }
}
