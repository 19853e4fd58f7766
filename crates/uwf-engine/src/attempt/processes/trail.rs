//! The evidence by which the processes of an attempt are found.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use durable_files::FileLock;
use uwf_platform::{ProcessTable, host};

use crate::attempt::recorded::{AttemptOutputFiles, RecordedAttempt};
use crate::root::home::Home;

/// Times that the lock on the output is tried: other processes look at it, for a moment each.
const LOCK_TRIES: u32 = 50;

/// Time between two tries.
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// Locks the file that becomes the stderr of an agent, on a system that does not recognize its processes otherwise. The lock lasts until no
/// process has this descriptor, so it shows whether a process of the attempt is alive, and no restart of the machine leaves it behind.
pub(crate) fn hold_output(stderr: &File) {
    if host().shows_environments() {
        return;
    }
    for _ in 0..LOCK_TRIES {
        match stderr.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            // A file system without locks has other evidence, or none.
            Ok(()) | Err(std::fs::TryLockError::Error(_)) => return,
        }
    }
}

/// An attempt, and where its processes may be.
#[derive(Debug, Clone)]
pub(crate) struct AttemptTrail {
    attempt: String,
    /// The agent's process group, and its birth.
    group: Option<(u32, Option<u64>)>,
    /// The file that its processes lock, if the group is only recorded: its number may belong to another group meanwhile.
    output: Option<PathBuf>,
}

impl AttemptTrail {
    /// The trail of an attempt whose agent this process has just started.
    pub(crate) fn of_child(attempt: &str, group: u32) -> AttemptTrail {
        AttemptTrail { attempt: attempt.to_owned(), group: Some((group, host().birth(group))), output: None }
    }

    /// The trail of an attempt whose id alone is known.
    pub(crate) fn of_id(attempt: &str) -> AttemptTrail {
        AttemptTrail { attempt: attempt.to_owned(), group: None, output: None }
    }

    /// The trail of a recorded attempt, whose keeper may be dead.
    pub(crate) fn of_record(home: &Home, attempt: &RecordedAttempt) -> AttemptTrail {
        let opened = &attempt.opened;
        let group = attempt.started.as_ref().map(|started| (started.pid, started.birth));
        let output = match group {
            Some(_) => AttemptOutputFiles::paths_of_attempt(home, &opened.thread, &opened.attempt).err,
            // Only commands that set up its worktree may be alive.
            None => home.prepare_output(&opened.thread),
        };
        AttemptTrail { attempt: opened.attempt.clone(), group, output: Some(output) }
    }

    /// The id of the attempt.
    pub(crate) fn attempt(&self) -> &str {
        &self.attempt
    }

    /// The agent's process group, if it certainly belongs to the attempt. On a system that shows environments, the processes of a recorded
    /// group are found one by one.
    pub(crate) fn group(&self) -> Option<u32> {
        let (group, birth) = self.group?;
        if self.output.is_none() {
            return Some(group);
        }
        if host().shows_environments() {
            return None;
        }
        let belongs = match (birth, host().birth(group)) {
            (Some(then), Some(now)) => then == now,
            // A number is not used again while its group exists, and the lock shows that a process of the attempt is alive.
            _ => self.is_output_held(),
        };
        belongs.then_some(group)
    }

    /// Whether a process of the attempt holds its output, on a system that does not recognize it otherwise.
    pub(crate) fn is_output_held(&self) -> bool {
        // Without an answer, assume a living process.
        let is_held = |output: &PathBuf| FileLock::is_held(output).unwrap_or(true);
        !host().shows_environments() && self.output.as_ref().is_some_and(is_held)
    }

    /// The file that living processes of the attempt hold.
    pub(crate) fn output(&self) -> Option<&PathBuf> {
        self.output.as_ref()
    }

    /// Processes in its group, or created by the leader of the group, on a system that does not recognize them by their environment.
    pub(crate) fn members(&self, table: &ProcessTable) -> BTreeSet<u32> {
        match self.group {
            Some((group, Some(birth))) if !host().shows_environments() => table.of_group(group, birth),
            _ => BTreeSet::new(),
        }
    }
}
