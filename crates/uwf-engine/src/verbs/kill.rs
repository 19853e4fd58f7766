//! `thread kill`: out of the index first, so that no later swap can succeed; then the agent.

use std::time::{Duration, Instant};

use json_cas::Hash;
use rustix::process::Signal;
use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::config::Happening;
use uwf_core::node::EndStatus;
use uwf_core::thread::ThreadId;

use crate::attempt::{leftover, processes, recorded};
use crate::error::{Error, ErrorKind, Result};
use crate::root::history::{self, Finished};
use crate::root::home::Home;
use crate::root::{lock, sharing};
use crate::thread::load::Thread;
use crate::verbs::{child_threads, end, expected_head, notify, otel};

/// Beyond the agent's own grace: time for the keeper to store what the agent printed.
const KEEPER_MARGIN: Duration = Duration::from_secs(10);

/// Tries to drop a thread whose head keeps moving. Each try takes a millisecond, a step far longer.
const TRIES: usize = 50;

/// What became of a thread that was killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KillReport {
    /// The thread.
    pub thread: ThreadId,
    /// Whether it is in the history.
    pub archived: bool,
}

/// Kills a thread and its child threads, if it is at the head that is expected. Returns its thread-end node, `None` when its own
/// nodes are not readable. When this returns, its agent is gone. One that was killed at that head is as it was asked to be.
///
/// # Errors
/// `Busy` when it is at another head or has ended otherwise; without an expectation `NotFound` when it is not active; of one that
/// was killed before by a command that did not come to its end, the agent is gone then, too. Others after which the thread has
/// ended say so.
pub fn kill(home: &Home, id: &ThreadId, expected: Option<Hash>) -> Result<Option<Hash>> {
    sharing::check(home, id)?;
    let before = otel::Before::of_killed(home, id);
    let dropped = drop_from_index(home, id, expected);
    if dropped.is_err()
        && let Some(line) = killed_at(home, id, expected)?
    {
        end_all(home, id)?;
        return Ok(line.end);
    }
    match &dropped {
        Err(error) if error.kind != ErrorKind::NotFound || !was_killed(home, id)? => return dropped,
        _ => end_all(home, id)?,
    }
    if dropped.is_ok() {
        notify::tell(home, id, Happening::Ended);
        before.send(home, id);
    }
    dropped
}

/// Ends what still works for a thread that is not active any more.
fn end_all(home: &Home, id: &ThreadId) -> Result<()> {
    let end = || {
        kill_children(home, &child_threads::active_elsewhere(home, id)?)?;
        kill_children(home, &child_threads::active(home, id)?)?;
        let grace = home.config().map_or(uwf_core::config::DEFAULT_KILL_GRACE, |config| config.limits.kill_grace);
        end_agent(home, id, grace)?;
        // One that was about to begin.
        kill_children(home, &child_threads::active(home, id)?)
    };
    end().map_err(|error: Error| {
        error.hint("the thread has ended; the same command again ends what is left of its agent")
    })
}

/// The line of a thread that was killed at the head that is expected.
fn killed_at(home: &Home, id: &ThreadId, expected: Option<Hash>) -> Result<Option<Finished>> {
    let Some(expected) = expected else { return Ok(None) };
    let is_it = |line: &Finished| line.status == EndStatus::Killed && line.head == expected;
    Ok(history::of(home, id)?.filter(is_it))
}

fn was_killed(home: &Home, id: &ThreadId) -> Result<bool> {
    Ok(history::of(home, id)?.is_some_and(|line| line.status == EndStatus::Killed))
}

/// Children end as their parent does, each with its own record.
fn kill_children(home: &Home, children: &[ThreadId]) -> Result<()> {
    for child in children {
        match kill(home, child, None) {
            // It came to its end by itself.
            Err(error) if error.kind == ErrorKind::NotFound => {}
            other => drop(other?),
        }
    }
    Ok(())
}

fn drop_from_index(home: &Home, id: &ThreadId, expected: Option<Hash>) -> Result<Option<Hash>> {
    let mut tries = 0;
    loop {
        tries += 1;
        let head = expected_head::head(home, id, expected)?;
        let ended = match Thread::at(home, id.clone(), head.hash) {
            Ok(thread) => end::kill(&thread, &head).map(Some),
            // A broken thread must not be active for ever.
            Err(broken) if matches!(broken.kind, ErrorKind::Data | ErrorKind::NotFound) => {
                end::kill_unreadable(home, id, &head).map(|()| None)
            }
            Err(other) => Err(other),
        };
        match ended {
            Err(moved) if moved.kind == ErrorKind::Busy && tries < TRIES => {}
            other => return other,
        }
    }
}

fn end_agent(home: &Home, id: &ThreadId, grace: Duration) -> Result<()> {
    let deadline = Instant::now() + grace + KEEPER_MARGIN;
    let mut told = None;
    let is_held = || lock::is_held(home, id);
    while is_held()? && Instant::now() < deadline {
        let keeper = lock::keeper_of(home, id)?;
        if keeper != told
            && let Some(pid) = keeper
        {
            told = keeper;
            // It may end by itself at this moment, which is as good.
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    if is_held()?
        && let Some(keeper) = lock::keeper_of(home, id)?
    {
        let _ = rustix::process::kill_process(keeper, Signal::KILL);
    }
    let left = recorded::read(home, id)?.filter(|attempt| attempt.closed.is_none());
    match &left {
        Some(attempt) => {
            leftover::end_survivors(attempt, grace)?;
            processes::children_left();
        }
        // Nor is there a lock to be made for a thread that another machine runs.
        None if !is_held()? => return Ok(()),
        None => {}
    }
    let Some(_lock) = lock::take_within(home, id, lock::BUSY_WAIT)? else {
        return Err(Error::busy(format!(
            "the lock of thread {id} is still held, by a process that could not be ended"
        )));
    };
    match left {
        Some(attempt) if attempt.finished.is_none() => {
            leftover::fail(home, &attempt, None, "the thread was killed")?;
        }
        Some(_) | None => {}
    }
    Ok(())
}
