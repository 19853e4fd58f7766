//! A storage root with workers.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use uwf_testing::bucket::BucketServer;
use uwf_testing::processes::{signal, until};
use uwf_testing::{FinishedRun, TestHome, counting_workflow, text};

use crate::server::Server;

/// Notes its worker and its process for each run, and answers with something that could be recognised.
const PAID: &str = "#!/bin/sh\ncat > /dev/null\necho \"$WORKER $$\" >> \"$LEDGER\"\nsleep ${AGENT_SLEEPS:-0}\n\
    echo '{\"n\": 1, \"words\": \"woolly secret\"}'\n";

/// A storage root, and where its threads run.
pub(crate) struct Place {
    pub(crate) home: TestHome,
    address: String,
    variables: Vec<(String, String)>,
}

/// A worker, killed when the value is dropped.
pub(crate) struct Worker {
    pub(crate) process: Child,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Worker {
    /// Tells it to end.
    pub(crate) fn terminate(&self) {
        signal(self.process.id(), "TERM");
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }
}

impl Place {
    pub(crate) fn new(server: &Server) -> Place {
        Place::sharing(server, Vec::new())
    }

    /// One of several whose variables name a store that they share.
    pub(crate) fn sharing(server: &Server, variables: Vec<(String, String)>) -> Place {
        let home = TestHome::new(uwf_testing::uwf_program());
        home.script("paid", PAID);
        home.config("agents:\n  paid: { command: paid, output: json }\ndefaultAgent: paid\n");
        Place { home, address: server.address(), variables }
    }

    /// Places with these names as machines that share a store.
    pub(crate) fn machines<const N: usize>(server: &Server, bucket: &BucketServer, names: [&str; N]) -> [Place; N] {
        let places = names.map(|name| {
            let own = ("UWF_MACHINE".to_owned(), name.to_owned());
            Place::sharing(server, bucket.variables("team").into_iter().chain([own]).collect())
        });
        places[0].json(&["store", "init"]);
        places
    }

    /// Output of git in the working directory of this machine.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        self.home.prepare(&mut command);
        let done = command.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(args).output().unwrap();
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// Makes a repository with one commit where it works, and pushes it to a new remote.
    pub(crate) fn push_to(&self, remote: &str) {
        self.git(&["init", "--quiet", "--bare", remote]);
        self.git(&["init", "--quiet"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
        self.git(&["push", "--quiet", remote, "HEAD:refs/heads/main"]);
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command.env("TEMPORAL_ADDRESS", &self.address).env("LEDGER", self.ledger());
        command.envs(self.variables.iter().cloned());
        command
    }

    pub(crate) fn uwf(&self, args: &[&str]) -> FinishedRun {
        self.command(args).output().unwrap().into()
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        self.uwf(args).json()
    }

    /// A worker with this name, whose agents take so many seconds.
    pub(crate) fn worker(&self, name: &str, seconds: usize, args: &[&str]) -> Worker {
        let mut command = self.command(&["worker", "--engine", "temporal"]);
        command.args(args).env("WORKER", name).env("AGENT_SLEEPS", seconds.to_string());
        let log = std::fs::File::create(self.home.work().join(format!("{name}.log"))).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Worker { process: command.spawn().unwrap() }
    }

    /// What a worker said.
    pub(crate) fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.work().join(format!("{name}.log"))).unwrap_or_default()
    }

    /// Starts a thread of so many rounds.
    pub(crate) fn start(&self, rounds: usize) -> String {
        self.home.file("count-rounds.yaml", &counting_workflow(rounds));
        self.json(&["workflow", "put", "count-rounds.yaml"]);
        text(&self.json(&["thread", "start", "count-rounds", "-p", "Count woolly sheep"]), "thread")
    }

    /// Gives a thread to the workers.
    pub(crate) fn detach(&self, thread: &str) {
        self.json(&["thread", "run", "--on", "temporal", "--detach", thread]);
    }

    /// The same, and looks at it again after so short a time when it stands still.
    pub(crate) fn detach_looking_again(&self, thread: &str, after: &str) {
        self.json(&["thread", "run", "--on", "temporal", "--detach", "--look-again", after, thread]);
    }

    /// A command that does not know where the server is.
    pub(crate) fn unaware(&self, args: &[&str]) -> FinishedRun {
        self.command(args).env_remove("TEMPORAL_ADDRESS").output().unwrap().into()
    }

    pub(crate) fn state(&self, thread: &str) -> String {
        text(&self.json(&["thread", "show", thread]), "state")
    }

    pub(crate) fn until_state(&self, thread: &str, state: &str) {
        until(&format!("thread {thread} is {state}"), || self.state(thread) == state);
    }

    /// Whose agents ran: the names of workers.
    pub(crate) fn paid(&self) -> Vec<String> {
        self.runs().into_iter().map(|(worker, _)| worker).collect()
    }

    /// The agents that ran: worker and process.
    pub(crate) fn runs(&self) -> Vec<(String, String)> {
        let ledger = std::fs::read_to_string(self.ledger()).unwrap_or_default();
        let run = |line: &str| line.split_once(' ').map(|(worker, pid)| (worker.to_owned(), pid.to_owned()));
        ledger.lines().filter_map(run).collect()
    }

    pub(crate) fn until_paid(&self, times: usize) {
        until("agents ran", || self.paid().len() >= times);
    }

    fn ledger(&self) -> PathBuf {
        self.home.work().join("ledger")
    }
}
