//! An id that whoever begins a thread has chosen, so that the same request sent twice begins one thread.

use json_cas::Hash;
use uwf_core::thread::ThreadId;

use crate::attempt::settings::Settings;
use crate::error::{Error, Result};
use crate::root::history;
use crate::root::home::Home;
use crate::root::worktree::Worktree;
use crate::thread::load::Thread;

/// What a first request has begun.
pub(crate) struct Begun {
    /// The node it begins at.
    pub(crate) at: Hash,
    /// The worktree it has of its own.
    pub(crate) worktree: Option<Worktree>,
}

/// The thread with this id, active or finished, which must have begun at a node as it is asked for now; `None` when there is
/// none yet.
///
/// # Errors
/// `Usage` when another thread has the id; those of index, history and record.
pub(crate) fn begun(home: &Home, id: &ThreadId, is_it: impl FnOnce(Hash) -> bool) -> Result<Option<Begun>> {
    if home.heads().read(id.as_str())?.is_none() && history::of(home, id)?.is_none() {
        return Ok(None);
    }
    let settings = Settings::load(home, id)?;
    let at = match settings.as_ref().and_then(|settings| settings.begun_at) {
        Some(at) => at,
        // Begun on another machine, or before that was recorded.
        None => Thread::any(home, id)?.start_hash,
    };
    if !is_it(at) {
        return Err(Error::usage(format!("thread id {id} is taken: the thread that has it began otherwise, at {at}"))
            .hint(format!("choose another id; `uwf thread show {id}` shows that thread")));
    }
    Ok(Some(Begun { at, worktree: settings.and_then(|settings| settings.worktree) }))
}
