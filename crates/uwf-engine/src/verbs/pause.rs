//! `thread pause` and `thread resume`: a mark that every step looks at before it begins.

use json_cas::Hash;
use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::thread::ThreadId;

use crate::attempt::redactor::Redactor;
use crate::error::Result;
use crate::root::home::Home;
use crate::root::marks::{self, Mark, Reason};
use crate::thread::state::{self, State};
use crate::verbs::expected_head;

/// The state of a thread after it was paused or resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PauseReport {
    /// The thread.
    pub thread: ThreadId,
    /// What it is doing.
    pub state: State,
    /// Whether no further step begins once the one that is running has ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pausing: bool,
}

/// Why a thread is paused when nobody says.
const NO_REASON: &str = "paused by hand";

/// Pauses a thread, if it is at the head that is expected: a step that is running ends as it would, no further one begins.
/// Returns its state, which is `Running` until that step has ended. Paused again, a thread has the newer reason.
///
/// # Errors
/// `Busy` when it is at another head or has ended; without an expectation `NotFound` when it is not active. `Io`.
pub fn pause(home: &Home, id: &ThreadId, reason: Option<&str>, expected: Option<Hash>) -> Result<State> {
    expected_head::head(home, id, expected)?;
    let why = reason.map(str::trim).filter(|why| !why.is_empty()).unwrap_or(NO_REASON).to_owned();
    let why = Redactor::of(home)?.text(&why);
    let reason = Reason { role: None, why, since: crate::root::ids::now_ms(), head: None, asks: None };
    let earlier = marks::get(home, id, Mark::Paused);
    put(home, id, Some(&reason))?;
    // It may have ended in this moment, and its end may have looked for marks before this one was there.
    stay(home, id, expected, earlier.as_ref())?;
    Ok(state::of_active(home, id, &marks::of(home, id)))
}

/// Lets a paused thread continue, if it is at the head that is expected. Returns its state now and whether it was paused.
///
/// # Errors
/// As [`pause`].
pub fn resume(home: &Home, id: &ThreadId, expected: Option<Hash>) -> Result<(State, bool)> {
    expected_head::head(home, id, expected)?;
    let earlier = marks::get(home, id, Mark::Paused);
    put(home, id, None)?;
    stay(home, id, expected, earlier.as_ref())?;
    Ok((state::of_active(home, id, &marks::of(home, id)), earlier.is_some()))
}

/// Sets the mark, or takes it away.
fn put(home: &Home, id: &ThreadId, reason: Option<&Reason>) -> Result<()> {
    match reason {
        Some(reason) => marks::set(home, id, Mark::Paused, reason)?,
        None => marks::clear(home, id, &[Mark::Paused])?,
    }
    marks::sync(home, id, Mark::Paused)
}

/// Looks once more whether the thread is where it was, since whoever steps it takes no notice of marks meanwhile. What was
/// there before is put back for a thread that has moved on, also if that cannot be read, and nothing for one that has ended.
fn stay(home: &Home, id: &ThreadId, expected: Option<Hash>, earlier: Option<&Reason>) -> Result<()> {
    let Err(refused) = expected_head::head(home, id, expected) else { return Ok(()) };
    let is_active = home.heads().read(id.as_str()).map_or(true, |head| head.is_some());
    put(home, id, earlier.filter(|_| is_active))?;
    Err(refused)
}
