//! Looking at agents at work: what pages cost beside one with many turns.

use std::fs;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use uwf_core::node::TokenCounts;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::live_trace::LiveTraceWriter;
use uwf_engine::attempt::recorded::AttemptOutputFiles;
use uwf_engine::attempt::turns::{AgentToolCall, AgentTurn};
use uwf_engine::views::ps::{self, RunningMemory, RunningStep};

use super::BenchSetup;
use super::pages::PageServer;
use crate::error::{Error, Result};
use crate::measure::{RoundTimes, run};
use crate::place::{BenchRoot, TrivialAgent};
use crate::row::{FigureGroup, FigureRow, FigureUnit};
use crate::seed::SeededRoot;

/// Bytes of a tool's result.
const RESULT: usize = 16 << 10;

/// The most memory the server should have, in millions of bytes.
const SERVER_MB: f64 = 60.0;

/// The most processor time it should take for a page, milliseconds.
const PAGE_MS: f64 = 50.0;

/// The most times as long a page should take with many turns as with one.
const GROWTH: f64 = 1.5;

/// How long an agent may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn measure(bench: &BenchSetup<'_>) -> Result<FigureGroup> {
    let (turns, runs) = (bench.sizes.turns, bench.sizes.runs);
    let [short, long] = [("one-turn", 1), ("many-turns", turns)];
    let [short, long] = [WorkingAgent::start(bench, short.0, short.1)?, WorkingAgent::start(bench, long.0, long.1)?];
    let servers = [PageServer::start(&short.place)?, PageServer::start(&long.place)?];
    let mut rows = Vec::new();
    for (name, path) in [("the first page", "/"), ("/api/running", "/api/running")] {
        let [mut one, mut many] = [RoundTimes(Vec::new()), RoundTimes(Vec::new())];
        let before = servers[1].processor_ms()?;
        for _ in 0..runs {
            one.0.extend(servers[0].times(path, 1)?.0);
            many.0.extend(servers[1].times(path, 1)?.0);
        }
        // Each of these asks twice.
        let used = (servers[1].processor_ms()? - before) / (2 * runs) as f64;
        let what = format!("{name}, an agent of {turns} turns over one of 1 turn");
        rows.push(FigureRow::ratio(what, FigureUnit::Times, ("many", &many), ("one", &one)).at_most(GROWTH));
        let what = format!("{name}, {turns} turns: processor time of the server");
        rows.push(FigureRow::new(what, FigureUnit::Millis, used).at_most(PAGE_MS));
    }
    let what = format!("the server beside an agent of {turns} turns, its most memory");
    rows.push(FigureRow::new(what, FigureUnit::Megabytes, servers[1].peak_bytes()? / 1e6).at_most(SERVER_MB));
    Ok(FigureGroup { title: "An agent at work, 16 KB for each turn".to_owned(), rows })
}

/// A thread with an agent at work, which is ended with the value.
struct WorkingAgent {
    place: BenchRoot,
    thread: ThreadId,
    step: Child,
}

impl WorkingAgent {
    /// An agent that has made so many turns and makes no more.
    fn start(bench: &BenchSetup<'_>, name: &str, turns: usize) -> Result<WorkingAgent> {
        let place = bench.place(name)?;
        let config = place.home.root().join("config.yaml");
        let waiter = "defaultAgent: waiter\nagents:\n  waiter: { command: sleep, args: ['3600'], output: text }\n";
        fs::write(&config, waiter).map_err(Error::with_path("write", &config))?;
        let mut seed = SeededRoot::new(&place.home)?;
        let start = seed.start()?;
        let thread = seed.thread(start, &place.workspace, TrivialAgent::Text)?;
        seed.finish()?;
        let mut step = place.uwf(&["thread", "step", "--agent", "waiter", thread.as_str()]);
        let step = step.stdout(Stdio::null()).stderr(Stdio::null());
        let step = step.spawn().map_err(Error::with_path("start", "uwf thread step".as_ref()))?;
        let working = WorkingAgent { place, thread, step };
        let files =
            AttemptOutputFiles::paths_of_attempt(&working.place.home, &working.thread, &working.running()?.attempt);
        write(&files, turns).map_err(|error| Error::Unexpected(error.to_string()))?;
        Ok(working)
    }

    /// Waits until the agent works.
    fn running(&self) -> Result<RunningStep> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let steps = ps::ps(&self.place.home, &mut RunningMemory::default());
            let steps = steps.map_err(|error| Error::Unexpected(error.to_string()))?;
            if let Some(step) = steps.into_iter().find(|step| step.pid.is_some()) {
                return Ok(step);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(Error::Unexpected("the agent did not start".to_owned()))
    }
}

impl Drop for WorkingAgent {
    fn drop(&mut self) {
        let _ = run(&mut self.place.uwf(&["thread", "kill", self.thread.as_str()]));
        let _ = self.step.wait();
    }
}

/// Writes the trace of an agent that sends a model all that was said before at each turn, as `uwf-react` does.
fn write(files: &AttemptOutputFiles, turns: usize) -> uwf_engine::error::Result<()> {
    let mut writer = LiveTraceWriter::begin(files)?;
    let mut said: Vec<Arc<str>> = vec!["the task".into()];
    for turn in 1..=turns {
        let line = format!("what turn {turn} found\n");
        let result = line.repeat(RESULT / line.len());
        let (name, arguments) = ("shell".to_owned(), format!("{{\"command\":\"cat file-{turn}\"}}"));
        let call = AgentToolCall { name, arguments, result: result.clone(), duration_ms: 3 };
        let tokens = Some(TokenCounts { input: Some(10), output: Some(1), ..TokenCounts::default() });
        let output = format!("I look at file {turn}.");
        writer.turn(&AgentTurn {
            output: output.clone(),
            tool_calls: vec![call],
            tokens,
            ..AgentTurn::asked(said.clone())
        })?;
        said.extend([output.into(), result.into()]);
    }
    Ok(())
}
