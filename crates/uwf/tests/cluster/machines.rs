//! A machine: a network namespace, a storage root, a name and a clock of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use uwf_testing::{FinishedRun, TestHome, text};

use crate::ledger::{AGENT, Ledger};
use crate::network::{command_on, processes_on};
use crate::proxy::Proxy;
use crate::servers::{Temporal, store_variables};

/// The lease is longer than a cable is out, by so much that there is time for a renewal: so that costs no agent.
const CONFIG: &str =
    "agents:\n  paid: { command: paid, output: json }\ndefaultAgent: paid\nkillGrace: 1\nstore: { lease: 2m }\n";

/// How long a worker that was told to end, and all it has started, may take.
const LAST_WORDS: Duration = Duration::from_secs(40);

/// How the agents of a worker work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Maximum number of agents at once.
    pub(crate) agents: usize,
    /// Seconds that each works at least.
    pub(crate) seconds: usize,
    /// By how many seconds, less one, some work longer.
    pub(crate) spread: usize,
}

pub(crate) struct Machine {
    pub(crate) name: &'static str,
    home: TestHome,
    variables: Vec<(&'static str, OsString)>,
    worker: Option<Child>,
}

impl Machine {
    /// A machine whose clock is some minutes ahead.
    pub(crate) fn new(name: &'static str, ledger: &Ledger, minutes_ahead: u32) -> Machine {
        let home = TestHome::new(uwf_testing::uwf_program());
        home.script("paid", AGENT);
        home.config(CONFIG);
        let mut variables: Vec<(&str, OsString)> = vec![
            ("LEDGER", ledger.path().into()),
            ("UWF_MACHINE", name.into()),
            ("TEMPORAL_ADDRESS", Temporal::address().into()),
        ];
        variables.extend(store_variables(&Proxy::endpoint()).into_iter().map(|(name, value)| (name, value.into())));
        if minutes_ahead > 0 {
            variables.extend([
                ("LD_PRELOAD", faketime().into()),
                ("FAKETIME", format!("+{minutes_ahead}m").into()),
                // What counts from the start of the machine is no clock that anybody sets.
                ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
                ("DONT_FAKE_MONOTONIC", "1".into()),
                ("NO_FAKE_STAT", "1".into()),
            ]);
        }
        Machine { name, home, variables, worker: None }
    }

    fn prepare(&self, mut command: Command) -> Command {
        self.home.prepare(&mut command);
        command.envs(self.variables.iter().cloned());
        command
    }

    /// What `uwf` reports on the hub, which has the network that no cable is pulled from.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut command = self.prepare(Command::new(uwf_testing::uwf_program()));
        FinishedRun::from(command.args(args).output().unwrap()).json()
    }

    /// Starts a thread; returns its id.
    pub(crate) fn start(&self, task: &str) -> String {
        text(&self.json(&["thread", "start", "develop", "-p", task]), "thread")
    }

    /// Starts the worker.
    pub(crate) fn work(&mut self, pace: Pace) {
        let mut command = self.prepare(command_on(self.name, uwf_testing::uwf_program()));
        command.args(["worker", "--engine", "temporal", "--drain", "30s", "--max-agents", &pace.agents.to_string()]);
        command.env("AGENT_SECONDS", pace.seconds.to_string()).env("AGENT_SPREAD", pace.spread.to_string());
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.log()).unwrap();
        self.worker = Some(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
    }

    /// What its workers said.
    pub(crate) fn log(&self) -> PathBuf {
        self.home.work().join("worker.log")
    }

    /// Kills the worker; what it has started continues.
    pub(crate) fn kill_worker(&mut self) {
        if let Some(mut worker) = self.worker.take() {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }

    /// Kills whatever runs on the machine, as a power cut does.
    pub(crate) fn power_off(&mut self) {
        self.kill_worker();
        // A process that is killed may have started another one a moment before.
        loop {
            let alive = self.processes();
            if alive.is_empty() {
                return;
            }
            for pid in alive.into_iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
                // It may have ended just now.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    /// Tells the worker to end, and waits for it. What it left running, with the words of its command lines.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        if let Some(mut worker) = self.worker.take() {
            kill_process(Pid::from_child(&worker), Signal::TERM).unwrap();
            let ended = worker.wait().unwrap();
            assert!(ended.success(), "the worker of {} ended with {ended}: {}", self.name, self.log().display());
        }
        let begun = Instant::now();
        while !self.processes().is_empty() && begun.elapsed() < LAST_WORDS {
            std::thread::sleep(Duration::from_millis(100));
        }
        self.processes().into_iter().map(|pid| format!("{} {pid}: {}", self.name, command_line(pid))).collect()
    }

    fn processes(&self) -> Vec<u32> {
        processes_on(self.name)
    }

    /// Attempts whose answers, or what there is of them, lie on this machine.
    pub(crate) fn answers(&self) -> Vec<String> {
        let threads = std::fs::read_dir(self.home.root().join("threads")).into_iter().flatten().flatten();
        let dirs = threads.filter_map(|thread| std::fs::read_dir(thread.path().join("attempts")).ok());
        let files = dirs.flatten().flatten().map(|file| file.path());
        let of_answer = |file: PathBuf| {
            let has_text = file.metadata().is_ok_and(|metadata| metadata.len() > 0);
            let name = file.file_name()?.to_str()?.strip_suffix(".raw")?.to_owned();
            has_text.then_some(name)
        };
        files.filter_map(of_answer).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill_worker();
    }
}

fn command_line(pid: u32) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// The library that gives a process another time, wherever this system keeps it.
fn faketime() -> PathBuf {
    let dirs = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|dir| dir.path().join("faketime"));
    let found = dirs.chain([Path::new("/usr/lib/faketime").to_owned()]).map(|dir| dir.join("libfaketimeMT.so.1"));
    found.into_iter().find(|library| library.exists()).expect("libfaketime is installed (the package `faketime`)")
}
