//! A machine: a storage root of its own, with a store that it shares.

use serde_json::Value;
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

    pub(crate) fn head(&self, thread: &str) -> String {
        text(&self.json(&["thread", "show", thread]), "head")
    }
}

/// How often an agent was paid.
pub(crate) fn paid(ledger: &std::path::Path) -> usize {
    std::fs::read_to_string(ledger).unwrap_or_default().lines().count()
}
