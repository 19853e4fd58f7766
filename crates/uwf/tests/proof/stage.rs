//! A storage root that is put back to how it was before each case, and the processes that work on it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use uwf_engine::root::home::Home;
use uwf_testing::TestHome;
use uwf_testing::processes::of_home;

/// How long processes of a case may take to come to their end by themselves.
const SETTLE: Duration = Duration::from_secs(20);

/// Files that any git directory may have.
const KEPT_BY_GIT: [&str; 17] = [
    "COMMIT_EDITMSG",
    "HEAD",
    "ORIG_HEAD",
    "branches",
    "config",
    "description",
    "gc.pid",
    "hooks",
    "index",
    "info",
    "logs",
    "objects",
    "packed-refs",
    "refs",
    "shallow",
    "uwf-merge.lock",
    "worktrees",
];

/// A home whose state can be restored. It stays at one path, since a thread's settings name its workspace.
pub(crate) struct Stage {
    home: TestHome,
}

impl Stage {
    /// A stage for a home that was built and is kept as it is now.
    pub(crate) fn of(home: TestHome) -> Stage {
        let stage = Stage { home };
        fs::create_dir(stage.pristine()).unwrap();
        stage.copy(&stage.dir(), &stage.pristine());
        stage
    }

    /// The home.
    pub(crate) fn home(&self) -> &TestHome {
        &self.home
    }

    /// The home as the engine sees it: what a check reads needs no process.
    pub(crate) fn engine(&self) -> Home {
        Home::open(self.home.root(), "uwf")
    }

    /// Directory of everything that belongs to the stage.
    pub(crate) fn dir(&self) -> PathBuf {
        self.home.root().parent().unwrap().to_owned()
    }

    /// Puts root and working directory back to how they were.
    pub(crate) fn reset(&self) {
        self.end_processes();
        for dir in [self.home.root(), self.home.work()] {
            fs::remove_dir_all(dir).unwrap();
        }
        self.copy(&self.pristine(), &self.dir());
    }

    /// What agents were paid for: a line with the attempt each time one begins.
    pub(crate) fn ledger(&self) -> String {
        fs::read_to_string(self.home.work().join("ledger")).unwrap_or_default()
    }

    /// The same before any case.
    pub(crate) fn ledger_before(&self) -> String {
        fs::read_to_string(self.pristine().join("work/ledger")).unwrap_or_default()
    }

    /// Waits until no process of this stage is left: whether that came to be.
    pub(crate) fn settles(&self) -> bool {
        let deadline = Instant::now() + SETTLE;
        while !self.processes().is_empty() {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// What the working directory and its repository say of what is checked out: files, index, the commits' texts and trees, and what
    /// git or uwf leave while they merge.
    pub(crate) fn checkout(&self) -> String {
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            self.home.prepare(&mut command);
            let ran = command.args(["--no-optional-locks"]).args(args).output().expect("git is installed");
            format!("git {}: {}\n{}{}", args.join(" "), ran.status, text(&ran.stdout), text(&ran.stderr))
        };
        let left = fs::read_dir(self.home.work().join(".git")).unwrap().map(|entry| entry.unwrap().file_name());
        let mut left: Vec<String> = left.map(|name| name.to_string_lossy().into_owned()).collect();
        left.retain(|name| !KEPT_BY_GIT.contains(&name.as_str()));
        left.sort_unstable();
        let mut subjects: Vec<String> = git(&["log", "--format=%s"]).lines().map(str::to_owned).collect();
        subjects.sort_unstable();
        [
            git(&["status", "--porcelain", "--branch", "--untracked-files=all"]),
            git(&["rev-parse", "HEAD^{tree}"]),
            git(&["diff"]),
            subjects.join("\n"),
            left.join("\n"),
        ]
        .join("\n")
    }

    /// Live processes that were started with this stage's environment, and what they are.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        of_home(&self.dir()).into_iter().map(|(pid, words)| (pid, words.join(" "))).collect()
    }

    /// Whether a program that plays a role is at work.
    pub(crate) fn has_agents(&self) -> bool {
        let program = self.home.bin_dir().display().to_string();
        self.processes().iter().any(|(_, command)| command.contains(&program))
    }

    /// Ends whatever a case left running.
    fn end_processes(&self) {
        for (pid, _) in self.processes() {
            let _ = rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
    }

    fn pristine(&self) -> PathBuf {
        self.dir().join("pristine")
    }

    fn copy(&self, from: &std::path::Path, to: &std::path::Path) {
        let mut command = Command::new("cp");
        command.arg("-a").args(["root", "work"].map(|name| from.join(name))).arg(to);
        assert!(command.status().unwrap().success());
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.end_processes();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
