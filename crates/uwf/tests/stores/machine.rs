//! A machine: a storage root of its own, with a store that it shares.

use std::process::Stdio;

use serde_json::Value;

use uwf_testing::processes::until;
use uwf_testing::{Ran, TestHome, counting_workflow, text};

/// Counts what is paid for: a line for each run.
const PAID: &str =
    "#!/bin/sh\ncat > /dev/null\necho paid >> \"$LEDGER\"\nsleep ${AGENT_SLEEPS:-0}\necho '{\"n\": 1}'\n";

pub(crate) struct Machine {
    pub(crate) home: TestHome,
    variables: Vec<(String, String)>,
}

impl Machine {
    /// A machine with the agent `paid`, which notes each run in a file of the test.
    pub(crate) fn new(variables: Vec<(String, String)>, ledger: &std::path::Path) -> Machine {
        let home = TestHome::new(env!("CARGO_BIN_EXE_uwf"));
        home.script("paid", PAID);
        home.config("agents:\n  paid: { command: paid, output: json }\ndefaultAgent: paid\n");
        home.file("count.yaml", &counting_workflow(3));
        let ledger = ("LEDGER".to_owned(), ledger.to_str().unwrap().to_owned());
        Machine { home, variables: variables.into_iter().chain([ledger]).collect() }
    }

    pub(crate) fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.home.command(args);
        command.envs(self.variables.iter().cloned());
        command
    }

    pub(crate) fn uwf(&self, args: &[&str]) -> Ran {
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
        Ran::from(command.output().unwrap()).json()
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

    /// Begins a step whose agent takes so many seconds, and waits until it is at work.
    pub(crate) fn begin_step(&self, thread: &str, seconds: usize, ledger: &std::path::Path) -> std::process::Child {
        let before = paid(ledger);
        let mut command = self.command(&["thread", "step", thread]);
        command.env("AGENT_SLEEPS", seconds.to_string()).stdout(Stdio::piped()).stderr(Stdio::piped());
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

/// How often an agent was paid.
pub(crate) fn paid(ledger: &std::path::Path) -> usize {
    std::fs::read_to_string(ledger).unwrap_or_default().lines().count()
}
