//! A machine: a storage root of its own, with a store that it shares.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use uwf_testing::processes::{of_home, until};
use uwf_testing::server::TestServer;
use uwf_testing::{FinishedRun, TestHome, counting_workflow, text};

/// Counts what is paid for: a line for each run.
const PAID: &str = "#!/bin/sh\ncat > /dev/null\necho paid >> \"$LEDGER\"\nsleep ${AGENT_SLEEPS:-0}\n\
     while test -n \"$AGENT_AWAITS\" && ! test -e \"$AGENT_AWAITS\"; do sleep 0.1; done\necho '{\"n\": 1}'\n";

/// The lease of each machine, which is the shortest there is.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

pub(crate) struct Machine {
    pub(crate) home: TestHome,
    variables: Vec<(String, String)>,
}

impl Machine {
    /// A machine with the agent `paid`, which notes each run in a file of the test.
    pub(crate) fn new(variables: Vec<(String, String)>, ledger: &std::path::Path) -> Machine {
        let home = TestHome::new(uwf_testing::uwf_program());
        home.script("paid", PAID);
        home.config("agents:\n  paid: { command: paid, output: json }\ndefaultAgent: paid\nstore: { lease: 10s }\n");
        home.file("count.yaml", &counting_workflow(3));
        let ledger = ("LEDGER".to_owned(), ledger.to_str().unwrap().to_owned());
        Machine { home, variables: variables.into_iter().chain([ledger]).collect() }
    }

    pub(crate) fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.home.command(args);
        command.envs(self.variables.iter().cloned());
        command
    }

    /// A dashboard on this machine.
    pub(crate) fn serve(&self) -> TestServer {
        let variables: Vec<(&str, &str)> =
            self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        TestServer::start_with(&self.home, &[], &variables)
    }

    pub(crate) fn uwf(&self, args: &[&str]) -> FinishedRun {
        self.command(args).output().unwrap().into()
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        self.uwf(args).json()
    }

    /// The same so many days later.
    pub(crate) fn later(&self, days: usize, args: &[&str]) -> Value {
        let uwf = self.command(args);
        let mut command = std::process::Command::new("faketime");
        self.home.prepare(&mut command);
        command
            .envs(self.variables.iter().cloned())
            .arg("-f")
            .arg(format!("+{days}d"))
            .arg(uwf.get_program())
            .args(args);
        FinishedRun::from(command.output().unwrap()).json()
    }

    /// Makes the store ready and puts the workflow; starts a thread of three rounds.
    pub(crate) fn begin(&self) -> String {
        self.json(&["store", "init"]);
        self.json(&["workflow", "put", "count.yaml"]);
        self.start()
    }

    pub(crate) fn start(&self) -> String {
        text(&self.json(&["thread", "start", "count-rounds", "-p", "Count sheep"]), "thread")
    }

    /// A step, in this machine's directory.
    pub(crate) fn step(&self, thread: &str) -> Value {
        self.json(&["thread", "step", thread, "--cwd", self.home.work().to_str().unwrap()])
    }

    /// The same, whatever comes of it.
    pub(crate) fn try_step(&self, thread: &str) -> FinishedRun {
        self.uwf(&["thread", "step", thread, "--cwd", self.home.work().to_str().unwrap()])
    }

    /// The same once no other machine is at work on it, which is after its lease if it is gone.
    pub(crate) fn step_when_free(&self, thread: &str) -> Value {
        let begun = Instant::now();
        loop {
            let stepped = self.try_step(thread);
            if stepped.code == Some(0) {
                return stepped.json();
            }
            assert_eq!(stepped.code, Some(75), "{}", stepped.stderr);
            assert!(begun.elapsed() < LEASE * 6, "the lease of the other machine never ends: {}", stepped.stderr);
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// All that failed attempts printed which this machine has kept.
    pub(crate) fn kept_outputs(&self) -> String {
        let attempts = self.json(&["cas", "list", "--type", "attempt"]);
        let raw = |node: &Value| {
            let attempt = self.json(&["cas", "get", node["hash"].as_str().unwrap()]);
            self.uwf(&["cas", "get", attempt["payload"]["raw"].as_str().unwrap()]).stdout
        };
        attempts.as_array().unwrap().iter().map(raw).collect()
    }

    /// Begins a step whose agent takes so many seconds, and waits until it is at work.
    pub(crate) fn begin_step(&self, thread: &str, seconds: usize, ledger: &std::path::Path) -> std::process::Child {
        self.begin_step_with(thread, ("AGENT_SLEEPS", seconds.to_string().as_ref()), ledger)
    }

    /// The same with an agent that answers once a file exists.
    pub(crate) fn begin_step_until(&self, thread: &str, file: &Path, ledger: &Path) -> std::process::Child {
        self.begin_step_with(thread, ("AGENT_AWAITS", file.as_os_str()), ledger)
    }

    fn begin_step_with(&self, thread: &str, variable: (&str, &OsStr), ledger: &Path) -> std::process::Child {
        let before = paid(ledger);
        let mut command = self.command(&["thread", "step", thread]);
        command.env(variable.0, variable.1).stdout(Stdio::piped()).stderr(Stdio::piped());
        let step = command.spawn().unwrap();
        until("the agent is at work", || paid(ledger) > before);
        step
    }

    /// Empties the cache of nodes, but for these.
    pub(crate) fn forget_nodes_but(&self, kept: &[String]) {
        let stores = std::fs::read_dir(self.home.root().join("cache/nodes")).unwrap();
        let dirs = stores.flat_map(|store| std::fs::read_dir(store.unwrap().path()).unwrap());
        let files = dirs.flat_map(|dir| std::fs::read_dir(dir.unwrap().path()).unwrap()).map(Result::unwrap);
        let mut found = 0;
        for file in files {
            match kept.iter().any(|hash| file.file_name() == **hash) {
                true => found += 1,
                false => std::fs::remove_file(file.path()).unwrap(),
            }
        }
        assert_eq!(found, kept.len(), "these are in the cache");
    }

    pub(crate) fn head(&self, thread: &str) -> String {
        text(&self.json(&["thread", "show", thread]), "head")
    }
}

/// A machine that goes by a name.
pub(crate) fn machine(name: &str, mut variables: Vec<(String, String)>, dir: &Path) -> Machine {
    variables.push(("UWF_MACHINE".to_owned(), name.to_owned()));
    Machine::new(variables, &dir.join("ledger"))
}

pub(crate) fn two_machines(variables: &[(String, String)], dir: &Path) -> [Machine; 2] {
    ["anvil", "bellows"].map(|name| machine(name, variables.to_vec(), dir))
}

/// Ends every process of a machine at once, as when its power fails.
pub(crate) fn cut_power(machine: &Machine, mut window: Child) {
    for (pid, _) in of_home(machine.home.root().parent().unwrap()) {
        let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
    let _ = window.wait();
}

/// How often an agent was paid.
pub(crate) fn paid(ledger: &std::path::Path) -> usize {
    std::fs::read_to_string(ledger).unwrap_or_default().lines().count()
}
