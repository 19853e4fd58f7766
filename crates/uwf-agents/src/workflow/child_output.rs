//! Copies the output of the child thread's agent to stderr. The parent's keeper ends an agent that is silent for too long, and people who
//! watch the parent want to see progress.

use std::io::Write;
use std::time::{Duration, Instant};

use rustix::process::{Pid, getppid};
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agent_process::last_line;
use uwf_engine::attempt::recorded::{self, AttemptOutputFiles};
use uwf_engine::root::home::Home;

/// Time between two reads of the agent's output, shorter than any sensible `idleTimeout`.
const PACE: Duration = Duration::from_millis(500);

/// Characters passed on of a line.
const SHOWN: usize = 200;

/// Exit code of a process whose keeper has exited; no process reads it.
const ABANDONED: i32 = 143;

/// Passes on signs of life of one child thread.
pub(crate) struct ChildOutputRelay<'h> {
    home: &'h Home,
    child: &'h ThreadId,
    keeper: Option<Pid>,
    next: Instant,
    size: u64,
}

impl<'h> ChildOutputRelay<'h> {
    pub(crate) fn new(home: &'h Home, child: &'h ThreadId) -> ChildOutputRelay<'h> {
        ChildOutputRelay { home, child, keeper: getppid(), next: Instant::now(), size: 0 }
    }

    /// Prints a line on stderr.
    pub(crate) fn print_line(&self, line: &str) {
        // stderr is a file; if the disk is full, the step has other problems.
        let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
    }

    /// Passes on new output of the child's agent. Called about ten times a second.
    pub(crate) fn relay_new_output(&mut self) {
        self.leave_when_abandoned();
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + PACE;
        let Ok(Some(attempt)) = recorded::read(self.home, self.child) else { return };
        let opened = &attempt.opened;
        let files = AttemptOutputFiles::paths_of_attempt(self.home, self.child, &opened.attempt);
        let files = [files.raw, files.out, files.err];
        let size = files.iter().map(|path| path.metadata().map_or(0, |meta| meta.len())).sum();
        if size == self.size {
            return;
        }
        self.size = size;
        let line = files.iter().find_map(|path| last_line(path)).unwrap_or_default();
        let line: String = line.chars().take(SHOWN).collect();
        self.print_line(&format!("{} by {}: {line}", opened.role, opened.agent.name));
    }

    /// Exits if the keeper has died, which leaves this process without a purpose. The child's step has its own keeper and is paid for, so
    /// it continues, and the parent's next step waits for it. A stop signal to this process would stop the child as well.
    fn leave_when_abandoned(&self) {
        if getppid() != self.keeper {
            std::process::exit(ABANDONED);
        }
    }
}
