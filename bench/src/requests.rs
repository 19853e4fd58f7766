//! What commands ask of a bucket as the number of threads grows: real processes and real keys, against a bucket in memory that
//! counts. What is computed from that for more threads than can be run here is in [`shape`].

pub mod population;
pub mod shape;
pub mod table;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use uwf_testing::bucket::{BucketServer, BucketTraffic};

use crate::error::{Error, Result};
use crate::place::BenchRoot;
use crate::programs::ProgramPaths;

/// The store in the bucket.
const STORE: &str = "team";

/// The workflow of all threads.
const WORKFLOW: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/workflow.yaml");

/// Up to so many threads everything is collected, too: it reads each node once, and keeps it in a file.
const COLLECTED_UP_TO: usize = 10_000;

/// The commands that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedCommand {
    /// `thread start`.
    Start,
    /// `thread step` by an agent of `output: text`, the third of its thread.
    Step,
    /// `thread kill`, which ends a thread as its last step does.
    End,
    /// `thread show`.
    Show,
    /// `thread list` on a machine that has seen none of them.
    FirstList,
    /// The same again.
    List,
    /// `thread list --all` again: the history, too.
    ListAll,
    /// `gc` on a machine that has read none of the nodes.
    FirstGc,
    /// The same again.
    Gc,
}

impl CountedCommand {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            CountedCommand::Start => "`thread start`",
            CountedCommand::Step => "`thread step`, text agent",
            CountedCommand::End => "`thread kill`",
            CountedCommand::Show => "`thread show`",
            CountedCommand::FirstList => "`thread list`, first on a machine",
            CountedCommand::List => "`thread list`, again",
            CountedCommand::ListAll => "`thread list --all`, again",
            CountedCommand::FirstGc => "`gc`, first on a machine",
            CountedCommand::Gc => "`gc`, again",
        }
    }
}

/// What one command asked for.
#[derive(Debug, Clone, Copy)]
pub struct CommandRequests {
    /// The command.
    pub operation: CountedCommand,
    /// Its requests.
    pub asked: BucketTraffic,
    /// How long it took here, where a request takes almost no time.
    pub took: Duration,
}

/// A store of so many threads, and what commands asked of it.
#[derive(Debug, Clone)]
pub struct StoreMeasurement {
    /// Threads, active and ended.
    pub threads: usize,
    /// Nodes there were before anything was counted.
    pub nodes: u64,
    /// How long it took to make them.
    pub made_in: Duration,
    /// A row for each command.
    pub rows: Vec<CommandRequests>,
}

/// Makes a store of so many threads and counts what commands ask of it.
///
/// # Errors
/// When a command fails.
pub fn measure(programs: &ProgramPaths, dir: &Path, threads: usize) -> Result<StoreMeasurement> {
    let server = BucketServer::start();
    let begun = Instant::now();
    population::make(&server, STORE, &dir.join("seed"), threads)?;
    let made_in = begun.elapsed();
    let nodes = server.kept(STORE, "nodes").objects;
    let machine = Machine { server: &server, place: BenchRoot::new(&dir.join("machine"), programs)? };
    let thread = machine.settled()?;
    let mut rows = vec![
        machine.row(CountedCommand::Start, &["thread", "start", "play-roles", "-p", "One more task"])?,
        machine.row(CountedCommand::Step, &step(&thread))?,
        machine.row(CountedCommand::Show, &["thread", "show", &thread])?,
        machine.row(CountedCommand::FirstList, &["thread", "list"])?,
        machine.row(CountedCommand::List, &["thread", "list"])?,
    ];
    machine.uwf(&["thread", "list", "--all"])?;
    rows.push(machine.row(CountedCommand::ListAll, &["thread", "list", "--all"])?);
    rows.push(machine.row(CountedCommand::End, &["thread", "kill", &thread])?);
    if threads <= COLLECTED_UP_TO {
        let collector = Machine { server: &server, place: BenchRoot::new(&dir.join("collector"), programs)? };
        rows.push(collector.row(CountedCommand::FirstGc, &["gc"])?);
        rows.push(collector.row(CountedCommand::Gc, &["gc"])?);
    }
    Ok(StoreMeasurement { threads, nodes, made_in, rows })
}

fn step(thread: &str) -> [&str; 5] {
    ["thread", "step", thread, "--agent", "texter"]
}

/// A machine that uses the store.
struct Machine<'s> {
    server: &'s BucketServer,
    place: BenchRoot,
}

impl Machine<'_> {
    fn uwf(&self, args: &[&str]) -> Result<Value> {
        let mut command = self.place.uwf(args);
        let output = command
            .envs(self.server.variables(STORE))
            .output()
            .map_err(Error::with_path("start", self.place.home.bin()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Error::Seed(format!("uwf {}: {said}", args.join(" "))));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| Error::Seed(error.to_string()))
    }

    /// A thread that this machine has stepped twice, so that it knows types, agent and store.
    fn settled(&self) -> Result<String> {
        self.uwf(&["workflow", "put", WORKFLOW])?;
        let started = self.uwf(&["thread", "start", "play-roles", "-p", "A task"])?;
        let thread = started["thread"].as_str().unwrap_or_default().to_owned();
        for _ in 0..2 {
            self.uwf(&step(&thread))?;
        }
        Ok(thread)
    }

    fn row(&self, operation: CountedCommand, args: &[&str]) -> Result<CommandRequests> {
        self.server.take();
        let begun = Instant::now();
        self.uwf(args)?;
        Ok(CommandRequests { operation, asked: self.server.take_all(), took: begun.elapsed() })
    }
}
