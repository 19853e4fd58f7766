//! `thread pause` and `thread resume`: a mark that every step looks at before it begins.

use uwf_core::thread::ThreadId;

use crate::attempt::environment::Redactor;
use crate::error::Result;
use crate::root::home::Home;
use crate::root::marks::{self, Mark, Reason};
use crate::root::missing_thread;
use crate::thread::state::{self, State};

/// Why a thread is paused when nobody says.
const NO_REASON: &str = "paused by hand";

/// Pauses a thread: a step that is running ends as it would, no further one begins. Returns its state, which is
/// `Running` until that step has ended. Paused again, a thread has the newer reason.
///
/// # Errors
/// `NotFound` when it is not active, `Io`.
pub fn pause(home: &Home, id: &ThreadId, reason: Option<&str>) -> Result<State> {
    refuse_ended(home, id)?;
    let why = reason.map(str::trim).filter(|why| !why.is_empty()).unwrap_or(NO_REASON).to_owned();
    let why = Redactor::of(home)?.text(&why);
    let reason = Reason { role: None, why, since: crate::root::ids::now_ms(), asks: None };
    marks::set(home, id, Mark::Paused, &reason)?;
    marks::sync(home, id, Mark::Paused)?;
    // It may have ended in this moment, and its end may have looked for marks before this one was there.
    if let Err(ended) = refuse_ended(home, id) {
        marks::clear(home, id, &[Mark::Paused])?;
        return Err(ended);
    }
    Ok(state::of_active(home, id, &marks::of(home, id)))
}

/// Lets a paused thread go on. Returns its state now and whether it was paused.
///
/// # Errors
/// `NotFound` when it is not active, `Io`.
pub fn resume(home: &Home, id: &ThreadId) -> Result<(State, bool)> {
    refuse_ended(home, id)?;
    let was_paused = marks::get(home, id, Mark::Paused).is_some();
    marks::clear(home, id, &[Mark::Paused])?;
    marks::sync(home, id, Mark::Paused)?;
    Ok((state::of_active(home, id, &marks::of(home, id)), was_paused))
}

fn refuse_ended(home: &Home, id: &ThreadId) -> Result<()> {
    Ok(home.heads().read(id.as_str())?.map(drop).ok_or_else(|| missing_thread::not_active(home, id))?)
}
