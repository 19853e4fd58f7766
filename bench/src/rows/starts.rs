//! The cost of starting processes: the program alone, a step, which is three processes, and the steps of one `uwf run`.

use std::path::{Path, PathBuf};

use uwf_core::thread::ThreadId;

use super::{BenchSetup, groups};
use crate::error::Result;
use crate::git::GitRepository;
use crate::measure::{BenchCase, RoundTimes, interleave};
use crate::place::{BenchRoot, TrivialAgent};
use crate::row::{FigureGroup, FigureRow, FigureUnit};
use crate::seed::SeededRoot;

/// Most milliseconds of `uwf --version`.
const START_MS: f64 = 2.2;

/// Most that a text step may take, as a multiple of `git add` and `git commit`.
const STEP_OVER_GIT: f64 = 1.5;

/// Most milliseconds of a step of `uwf run`, without its agent.
const RUN_MS: f64 = 10.0;

/// Steps that a thread has before it is measured, if the sizes are full.
const LENGTHS: [usize; 2] = [10, 300];

/// Steps of a measured run, which begins with the start of its thread.
const STEPS: usize = 10;

/// A program on threads of its own.
struct ProgramCase {
    /// Its name in the rows.
    name: &'static str,
    place: BenchRoot,
    /// A thread of each length.
    threads: Vec<ThreadId>,
    /// A workflow of so many steps.
    chain: PathBuf,
}

pub(super) fn measure(bench: &BenchSetup<'_>) -> Result<FigureGroup> {
    let lengths = LENGTHS.map(|length| length.min(bench.sizes.long()));
    let mut programs = vec![program(bench, "released", &bench.programs.uwf, lengths)?];
    if let Some(installed) = &bench.programs.installed {
        programs.push(program(bench, "installed", installed, lengths)?);
    }
    let repository = GitRepository::init(&bench.dir.join("git-starts"))?;
    let mut cases = vec![
        BenchCase::several(|round| repository.new_text(round)),
        BenchCase::always(|| TrivialAgent::Text.alone(bench.programs)),
    ];
    for ProgramCase { place, threads, chain, .. } in &programs {
        cases.push(BenchCase::always(move || place.uwf(&["--version"])));
        cases.extend(threads.iter().map(|thread| BenchCase::always(move || place.step(thread))));
        cases.push(BenchCase::always(move || {
            let mut run = place.uwf(&["run", "-p", "go", "--agent", TrivialAgent::Text.alias()]);
            run.arg(chain);
            run
        }));
    }
    let times = interleave(bench.sizes.runs, cases)?;
    let (git, agent) = (&times[0], &times[1]);
    let mut rows = Vec::new();
    for (ProgramCase { name, .. }, times) in programs.iter().zip(times[2..].chunks(lengths.len() + 2)) {
        rows.push(FigureRow::millis(format!("uwf --version, {name}"), &times[0]).at_most(START_MS));
        for (length, step) in lengths.iter().zip(&times[1..]) {
            let what = format!("text step after {length} steps, {name}, over git add and git commit");
            rows.push(FigureRow::ratio(what, FigureUnit::Times, ("step", step), ("git", git)).at_most(STEP_OVER_GIT));
        }
        let beside = beside_agent(&times[lengths.len() + 1], agent);
        rows.push(FigureRow::millis(format!("a step of uwf run, {name}, beside its agent"), &beside).at_most(RUN_MS));
    }
    Ok(FigureGroup { title: "Starts of processes".to_owned(), rows })
}

/// A store with threads of these lengths for a program.
fn program(bench: &BenchSetup<'_>, name: &'static str, uwf: &Path, lengths: [usize; 2]) -> Result<ProgramCase> {
    let place = bench.place(&format!("starts-{name}"))?.with_program(uwf);
    let mut seed = SeededRoot::new(&place.home)?;
    let mut threads = Vec::new();
    for length in lengths {
        let line = seed.line(length)?;
        let thread = seed.thread(line.steps[length - 1], &place.workspace, TrivialAgent::Text)?;
        seed.warm(&thread)?;
        threads.push(thread);
    }
    seed.finish()?;
    // The last step of a chain ends it.
    let chain = groups::chain(&place, STEPS - 1)?;
    Ok(ProgramCase { name, place, threads, chain })
}

/// Milliseconds that each step of a run takes beside its agent.
fn beside_agent(run: &RoundTimes, agent: &RoundTimes) -> RoundTimes {
    RoundTimes(run.0.iter().zip(&agent.0).map(|(run, agent)| run / STEPS as f64 - agent).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_is_subtracted_from_each_step() {
        let (run, agent) = (RoundTimes(vec![100.0, 80.0]), RoundTimes(vec![2.0, 3.0]));
        assert_eq!(beside_agent(&run, &agent), RoundTimes(vec![8.0, 5.0]));
    }
}
