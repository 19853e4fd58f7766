//! `thread kill`: removes the thread from the index first, so that no later swap can succeed, and then ends its agent.

use std::time::{Duration, Instant};

use json_cas::NodeHash;
use rustix::process::Signal;
use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::config::NotifyEvent;
use uwf_core::node::EndStatus;
use uwf_core::outcome;
use uwf_core::thread::ThreadId;

use crate::attempt::processes::AttemptTrail;
use crate::attempt::recorded::{self, RecordedAttempt};
use crate::attempt::{child_threads, leftover, processes};
use crate::error::{Error, ErrorKind, Result};
use crate::root::history::{self, HistoryLine};
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::root::{lock, sharing};
use crate::thread::ending::ThreadEnding;
use crate::thread::load::Thread;
use crate::verbs::step::{ancestors, end, expected_head};
use crate::verbs::{notify, otel};

/// Time beyond the agent's own grace in which the keeper can store the agent's output.
const KEEPER_MARGIN: Duration = Duration::from_secs(10);

/// How often to try to end a thread whose head keeps moving. One try takes a millisecond, a step far longer.
const TRIES: usize = 50;

/// Why an attempt or a branch failed whose thread was killed.
pub const WAS_KILLED: &str = "it was killed";

/// Result of killing a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KillReport {
    /// The thread.
    pub thread: ThreadId,
    /// Whether it is in the history.
    pub archived: bool,
    /// The beginning of its task; absent if it is not readable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// Kills a thread and its child threads, if the thread is at the expected head. Its agent is gone when this returns. Returns the thread-end
/// node, or `None` if the thread's own nodes are unreadable. Succeeds as well if the thread was already killed at that head.
///
/// # Errors
/// `Busy` when the thread is at another head, or has ended in another way. Without an expected head, `NotFound` when the thread is not
/// active; if an earlier command killed it without finishing, its agent is gone then as well. Other errors say so if the thread has ended.
pub fn kill(home: &Home, id: &ThreadId, expected: Option<NodeHash>) -> Result<Option<NodeHash>> {
    end_by(home, id, expected, &ThreadEnding::killed())
}

/// Ends the thread of a failed branch and its child threads, because its group continues without it.
///
/// # Errors
/// As [`kill`].
pub fn give_up_branch(home: &Home, id: &ThreadId, why: &str) -> Result<()> {
    end_by(home, id, None, &ThreadEnding::failed_branch(why)).map(drop)
}

fn end_by(home: &Home, id: &ThreadId, expected: Option<NodeHash>, ending: &ThreadEnding) -> Result<Option<NodeHash>> {
    sharing::check(home, id)?;
    let before = otel::OtelBaseline::of_killed(home, id);
    let dropped = drop_from_index(home, id, expected, ending);
    if dropped.is_err()
        && let Some(line) = killed_at(home, id, expected)?
    {
        end_all(home, id, ending)?;
        return Ok(line.end);
    }
    match &dropped {
        Err(error) if error.kind != ErrorKind::NotFound || !was_killed(home, id)? => return dropped,
        _ => end_all(home, id, ending)?,
    }
    if dropped.is_ok() {
        ancestors::mark_again(home, id, ancestors::ChildChange::Killed);
        notify::spawn_notifier(home, id, NotifyEvent::Ended);
        before.send(home, id);
    }
    dropped
}

/// Ends all processes of a thread that is no longer active.
fn end_all(home: &Home, id: &ThreadId, ending: &ThreadEnding) -> Result<()> {
    let end = || {
        kill_children(home, &child_threads::active_at_end(home, id)?, ending)?;
        kill_children(home, &child_threads::active(home, id)?, ending)?;
        let grace = home.config().map_or(uwf_core::config::DEFAULT_KILL_GRACE, |config| config.limits.kill_grace);
        end_agent(home, id, grace)?;
        // A child may have begun meanwhile.
        kill_children(home, &child_threads::active(home, id)?, ending)
    };
    end().map_err(|error: Error| {
        error.hint("the thread has ended; run the same command again to end the rest of its agent")
    })
}

/// The history line of a thread that was killed at the expected head.
fn killed_at(home: &Home, id: &ThreadId, expected: Option<NodeHash>) -> Result<Option<HistoryLine>> {
    let Some(expected) = expected else { return Ok(None) };
    let is_it = |line: &HistoryLine| line.status == EndStatus::Killed && line.head == expected;
    Ok(history::newest_line(home, id)?.filter(is_it))
}

fn was_killed(home: &Home, id: &ThreadId) -> Result<bool> {
    Ok(history::newest_line(home, id)?.is_some_and(|line| line.status == EndStatus::Killed))
}

/// Kills the child threads at work that a thread has left: its head has moved, so their agents would be paid for nothing. Those that have
/// stopped stay, so that a person can continue them.
pub(crate) fn kill_left_children(home: &Home, id: &ThreadId) -> Result<()> {
    let children = child_threads::active(home, id)?;
    if children.is_empty() {
        // Most threads have none, and in a shared store the head is a request.
        return Ok(());
    }
    let head = home.heads().read(id.as_str())?.map(|head| head.hash);
    for child in children {
        let is_needed = || Thread::active(home, &child).is_ok_and(|(child, _)| child.start.parent == head);
        if is_at_work(home, &child)? && !(head.is_some() && is_needed()) {
            kill_children(home, &[child], &ThreadEnding::killed())?;
        }
    }
    Ok(())
}

/// Whether a process works for a thread or for one of its child threads.
fn is_at_work(home: &Home, id: &ThreadId) -> Result<bool> {
    let mut open = vec![id.clone()];
    while let Some(thread) = open.pop() {
        let has_agent = |attempt: RecordedAttempt| {
            attempt.closed.is_none() && processes::has_survivors(&AttemptTrail::of_record(home, &attempt))
        };
        if lock::is_held(home, &thread)? || recorded::read(home, &thread)?.is_some_and(has_agent) {
            return Ok(true);
        }
        open.extend(child_threads::active(home, &thread)?);
    }
    Ok(false)
}

/// Kills child threads, each with its own record. Below a failed branch, those that had stopped have failed, each for its own reason if it
/// has one.
fn kill_children(home: &Home, children: &[ThreadId], above: &ThreadEnding) -> Result<()> {
    for child in children {
        let ending = match marks::get(home, child, ThreadMark::Stuck) {
            _ if above.outcome != outcome::FAILED => ThreadEnding::killed(),
            Some(reason) => ThreadEnding::failed_branch(&reason.why),
            None if is_at_work(home, child)? => ThreadEnding::killed(),
            None => above.clone(),
        };
        match end_by(home, child, None, &ending) {
            // The child ended by itself.
            Err(error) if error.kind == ErrorKind::NotFound => {}
            other => drop(other?),
        }
    }
    Ok(())
}

fn drop_from_index(
    home: &Home,
    id: &ThreadId,
    expected: Option<NodeHash>,
    ending: &ThreadEnding,
) -> Result<Option<NodeHash>> {
    let mut tries = 0;
    loop {
        tries += 1;
        let head = expected_head::head(home, id, expected)?;
        let ended = match Thread::load_at(home, id.clone(), head.hash) {
            Ok(thread) => end::end(&thread, &head, ending.clone(), None, None).map(Some),
            // A damaged thread must not stay active forever.
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
    let mut signalled = None;
    let is_held = || lock::is_held(home, id);
    while is_held()? && Instant::now() < deadline {
        let keeper = lock::keeper_of(home, id)?;
        if keeper != signalled
            && let Some(pid) = keeper
        {
            signalled = keeper;
            // The keeper may end by itself at this moment, which is fine.
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
            leftover::end_survivors(home, attempt, grace)?;
            processes::children_left();
        }
        // Don't create a lock for a thread that another machine runs.
        None if !is_held()? => return Ok(()),
        None => {}
    }
    let Some(_lock) = lock::take_within(home, id, lock::BUSY_WAIT)? else {
        return Err(Error::busy(format!("a process that could not be ended still holds the lock of thread {id}")));
    };
    match left {
        Some(attempt) if attempt.finished.is_none() => {
            leftover::fail(home, &attempt, None, WAS_KILLED, None)?;
        }
        Some(_) | None => {}
    }
    Ok(())
}
