//! The processes of a stage: which there are, what each is, and killing them.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal};

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
    let marker = format!("HOME={}", home.display());
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?, &marker)).collect()
}

fn process(raw: i32, marker: &str) -> Option<Process> {
    let environment = fs::read(format!("/proc/{raw}/environ")).ok()?;
    if !environment.split(|byte| *byte == 0).any(|variable| variable == marker.as_bytes()) {
        return None;
    }
    let command = fs::read(format!("/proc/{raw}/cmdline")).ok()?;
    let command: Vec<&[u8]> = command.split(|byte| *byte == 0).collect();
    let pid = Pid::from_raw(raw)?;
    let is_uwf = Path::new(std::str::from_utf8(command[0]).ok()?).file_name().is_some_and(|name| name == "uwf");
    let part = match (is_uwf, command.get(1)) {
        (true, Some(group)) if *group == b"agent" => Part::Agent,
        (true, Some(first)) if *first == uwf_engine::attempt::keeper::KEEPER_ARGUMENT.as_bytes() => Part::Keeper,
        (true, _) => Part::Window,
        (false, _) => Part::Program,
    };
    Some(Process { pid, part })
}
