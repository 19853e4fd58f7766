//! `thread pause` and `thread resume`: set and clear a mark that every step checks before it begins.

use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::thread::ThreadId;

use crate::attempt::redactor::SecretRedactor;
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::marks::{self, MarkReason, ThreadMark};
use crate::thread::state::{self, ThreadState};
use crate::verbs::step::{ancestors, expected_head};

/// The state of a thread after it was paused or resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PauseReport {
    /// The thread.
    pub thread: ThreadId,
    /// Its current state.
    pub state: ThreadState,
    /// Whether the thread pauses after its running step.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pausing: bool,
}

/// Default reason of a pause.
const NO_REASON: &str = "paused by hand";

/// The reason of a pause while a fork takes over finished branches.
pub(crate) const UNFINISHED_FORK: &str = "`thread fork --redo` did not finish; kill this thread and fork again";

/// Pauses a thread, if it is at the expected head: a running step finishes, but no further step begins. Returns the thread's state, which
/// is `Running` until that step has ended. Pausing again replaces the reason.
///
/// # Errors
/// `Busy` if it is at another head or has ended; without an expected head, `NotFound` if it is not active. `Io`.
pub fn pause(home: &Home, id: &ThreadId, reason: Option<&str>, expected: Option<NodeHash>) -> Result<ThreadState> {
    expected_head::head(home, id, expected)?;
    let why = reason.map(str::trim).filter(|why| !why.is_empty()).unwrap_or(NO_REASON).to_owned();
    let why = SecretRedactor::for_home(home)?.text(&why);
    let reason = MarkReason::without_role(why, crate::root::ids::now_ms());
    let earlier = marks::get(home, id, ThreadMark::Paused);
    put(home, id, Some(&reason))?;
    // The thread may have just ended, and its end may have cleared marks before this one was set.
    stay(home, id, expected, earlier.as_ref())?;
    Ok(state::of_active(home, id, &marks::marks_of_thread(home, id)))
}

/// Resumes a paused thread, if it is at the expected head. Returns its current state and whether it was paused.
///
/// # Errors
/// As [`pause`]; `Usage` for a fork that did not take over all finished branches, because these would be paid for again.
pub fn resume(home: &Home, id: &ThreadId, expected: Option<NodeHash>) -> Result<(ThreadState, bool)> {
    let is_unfinished = |reason: &MarkReason| reason.why == UNFINISHED_FORK;
    if marks::get(home, id, ThreadMark::Paused).as_ref().is_some_and(is_unfinished) {
        return Err(Error::usage(format!("thread {id} is a fork that did not take over all finished branches"))
            .hint(format!("`uwf thread kill {id}` ends it; then fork again")));
    }
    end_pause(home, id, expected)
}

/// Resumes a paused thread, whatever the reason of its pause.
pub(crate) fn end_pause(home: &Home, id: &ThreadId, expected: Option<NodeHash>) -> Result<(ThreadState, bool)> {
    expected_head::head(home, id, expected)?;
    let earlier = marks::get(home, id, ThreadMark::Paused);
    put(home, id, None)?;
    stay(home, id, expected, earlier.as_ref())?;
    ancestors::mark_with_children(home, id);
    Ok((state::of_active(home, id, &marks::marks_of_thread(home, id)), earlier.is_some()))
}

/// Sets or clears the mark.
fn put(home: &Home, id: &ThreadId, reason: Option<&MarkReason>) -> Result<()> {
    match reason {
        Some(reason) => marks::set(home, id, ThreadMark::Paused, reason)?,
        None => marks::clear(home, id, &[ThreadMark::Paused])?,
    }
    marks::sync(home, id, ThreadMark::Paused)
}

/// Checks again that the thread has not moved, since a running step ignores marks. If it has moved, restores the earlier mark, also if
/// the head cannot be read. If it has ended, clears the mark.
fn stay(home: &Home, id: &ThreadId, expected: Option<NodeHash>, earlier: Option<&MarkReason>) -> Result<()> {
    let Err(refused) = expected_head::head(home, id, expected) else { return Ok(()) };
    let is_active = home.heads().read(id.as_str()).map_or(true, |head| head.is_some());
    put(home, id, earlier.filter(|_| is_active))?;
    Err(refused)
}
