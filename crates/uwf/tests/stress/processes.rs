//! The processes of a stage: which there are, what each is, and killing them.

use std::path::Path;

use rustix::process::{Pid, Signal};
use uwf_testing::processes::of_home;

/// What a process is to uwf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// A command somebody gave.
    Window,
    /// What performs a step.
    Keeper,
    /// `uwf agent …`: uwf as an agent process, or called by an agent.
    Agent,
    /// A program of an agent.
    Program,
}

/// A process that lives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) part: Part,
}

impl Process {
    /// Sends it a signal. It may have ended by itself at this moment, which is as good.
    pub(crate) fn signal(self, signal: Signal) {
        let _ = rustix::process::kill_process(self.pid, signal);
    }
}

/// Live processes that have `home` as their `HOME`.
pub(crate) fn of(home: &Path) -> Vec<Process> {
    of_home(home).iter().filter_map(|(pid, command)| process(*pid, command)).collect()
}

fn process(pid: i32, command: &[String]) -> Option<Process> {
    // A process that is ending has no command line any more.
    let is_uwf = Path::new(command.first()?).file_name().is_some_and(|name| name == "uwf");
    let part = match (is_uwf, command.get(1).map(String::as_str)) {
        (true, Some("agent")) => Part::Agent,
        (true, Some(uwf_engine::attempt::keeper::KEEPER_ARGUMENT)) => Part::Keeper,
        (true, _) => Part::Window,
        (false, _) => Part::Program,
    };
    Some(Process { pid: Pid::from_raw(pid)?, part })
}
