//! Machines that share a store and a git remote, for tests of worktrees that travel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use uwf_testing::bucket::BucketServer;
use uwf_testing::{FinishedRun, counting_workflow, text};

use crate::machine::{LEASE, Machine, paid};

/// Does what the test says, and is paid for it.
const AGENT: &str =
    "#!/bin/sh\ncat > /dev/null\necho paid >> \"$LEDGER\"\nsh -e -c \"${WORK:-:}\" || exit 1\necho '{\"n\": 1}'\n";

pub(crate) const CONFIG: &str =
    "agents:\n  paid: { command: paid, output: json }\ndefaultAgent: paid\nstore: { lease: 10s }\n";

pub(crate) const REMOTE: &str = "worktree: { remote: origin }\n";

/// A machine with a clone of the repository.
pub(crate) struct Member {
    pub(crate) machine: Machine,
    pub(crate) clone: PathBuf,
}

/// Machines with a store and a git remote in common.
pub(crate) struct Team {
    pub(crate) dir: TempDir,
    pub(crate) server: BucketServer,
    pub(crate) members: Vec<Member>,
}

impl Team {
    pub(crate) fn new<const N: usize>(configs: [&str; N]) -> Team {
        let (dir, server) = (TempDir::new().unwrap(), BucketServer::start());
        let remote = dir.path().join("remote.git");
        let members = configs.iter().zip(["anna", "bert", "carl"]).map(|(config, name)| {
            let mut variables = server.variables("team");
            variables.push(("UWF_MACHINE".to_owned(), name.to_owned()));
            let machine = Machine::new(variables, &dir.path().join("ledger"));
            machine.home.script("paid", AGENT);
            machine.home.config(&format!("{CONFIG}{config}"));
            machine.home.file("count.yaml", &counting_workflow(9));
            let identity = "[user]\n\tname = A Person\n\temail = a@example.org\n";
            fs::write(machine.home.root().parent().unwrap().join(".gitconfig"), identity).unwrap();
            Member { clone: machine.home.work().join("repo"), machine }
        });
        let team = Team { members: members.collect(), server, dir };
        let first = &team.members[0];
        first.git(team.dir.path(), &["init", "--quiet", "--bare", "--initial-branch=main", remote.to_str().unwrap()]);
        for member in &team.members {
            member.git(&member.machine.home.work(), &["clone", "--quiet", remote.to_str().unwrap(), "repo"]);
            if member.clone == first.clone {
                for (name, content) in
                    [("sub/kept", "kept\n"), ("changed", "old\n"), ("deleted", "x\n"), (".gitignore", "*.log\n")]
                {
                    let path = first.clone.join(name);
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, content).unwrap();
                }
                first.git(&first.clone, &["add", "-A"]);
                first.git(&first.clone, &["commit", "--quiet", "-m", "first"]);
                first.git(&first.clone, &["push", "--quiet", "origin", "HEAD:main"]);
            }
        }
        first.machine.json(&["store", "init"]);
        first.machine.json(&["workflow", "put", "count.yaml"]);
        team
    }

    pub(crate) fn remote(&self) -> PathBuf {
        self.dir.path().join("remote.git")
    }

    pub(crate) fn paid(&self) -> usize {
        paid(&self.dir.path().join("ledger"))
    }

    /// The commit of a thread's branch at the remote.
    pub(crate) fn tip(&self, thread: &str) -> String {
        self.members[0].git(&self.remote(), &["rev-parse", &format!("refs/heads/uwf/{thread}")])
    }
}

impl Member {
    pub(crate) fn git(&self, dir: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        self.machine.home.prepare(&mut command);
        let ran = FinishedRun::from(command.args(args).current_dir(dir).output().unwrap());
        assert_eq!(ran.code, Some(0), "git {args:?}: {}", ran.stderr);
        ran.stdout.trim_end().to_owned()
    }

    /// Starts a thread in a worktree, standing in a directory of the clone.
    pub(crate) fn start(&self, inside: &str) -> (String, FinishedRun) {
        let args = ["thread", "start", "count-rounds", "-p", "count", "--worktree"];
        let ran: FinishedRun =
            self.machine.command(&args).current_dir(self.clone.join(inside)).output().unwrap().into();
        (text(&ran.json(), "thread"), ran)
    }

    /// A step whose agent runs a shell script.
    pub(crate) fn step(&self, thread: &str, work: &str, args: &[&str]) -> FinishedRun {
        let mut command = self.machine.command(&[&["thread", "step", thread], args].concat());
        command.env("WORK", work).output().unwrap().into()
    }

    /// The same with the clone as the place to continue from.
    pub(crate) fn step_in_clone(&self, thread: &str, work: &str) -> FinishedRun {
        self.step(thread, work, &["--cwd", self.clone.to_str().unwrap()])
    }

    /// The same once no other machine is believed to be at work.
    pub(crate) fn step_in_clone_when_free(&self, thread: &str, work: &str) -> Value {
        let begun = Instant::now();
        loop {
            let stepped = self.step_in_clone(thread, work);
            if stepped.code == Some(0) {
                return stepped.json();
            }
            assert_eq!(stepped.code, Some(75), "{}", stepped.stderr);
            assert!(begun.elapsed() < LEASE * 6, "the lease never ends: {}", stepped.stderr);
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// A command in the clone.
    pub(crate) fn in_clone(&self, args: &[&str]) -> FinishedRun {
        self.machine.command(args).current_dir(&self.clone).output().unwrap().into()
    }

    pub(crate) fn worktree(&self, thread: &str) -> PathBuf {
        self.machine.home.root().join("worktrees").join(thread)
    }

    pub(crate) fn read(&self, thread: &str, path: &str) -> Option<String> {
        fs::read_to_string(self.worktree(thread).join(path)).ok()
    }

    /// What `git status` says of a worktree.
    pub(crate) fn status(&self, thread: &str) -> String {
        self.git(&self.worktree(thread), &["status", "--porcelain", "--untracked-files=all"])
    }
}
