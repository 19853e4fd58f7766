//! Thread ids that the caller chooses, so that a request sent twice begins one thread.

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use crate::attempt::settings::ThreadSettings;
use crate::error::{Error, Result};
use crate::root::history;
use crate::root::home::Home;
use crate::root::worktree::Worktree;
use crate::thread::load::Thread;

/// The start of a thread that an earlier request began.
pub(crate) struct EarlierStart {
    /// The node it begins at.
    pub(crate) at: NodeHash,
    /// Its own worktree, if it has one.
    pub(crate) worktree: Option<Worktree>,
}

/// The start of the active or finished thread with this id; `None` if the thread does not exist yet. It must have begun at a node that
/// `is_it` accepts.
///
/// # Errors
/// `Usage` when another thread has the id; errors of index, history and record.
pub(crate) fn begun(home: &Home, id: &ThreadId, is_it: impl FnOnce(NodeHash) -> bool) -> Result<Option<EarlierStart>> {
    if home.heads().read(id.as_str())?.is_none() && history::newest_line(home, id)?.is_none() {
        return Ok(None);
    }
    let settings = ThreadSettings::load(home, id)?;
    let at = match settings.as_ref().and_then(|settings| settings.begun_at) {
        Some(at) => at,
        // The thread began on another machine, or before uwf recorded where threads begin.
        None => Thread::any(home, id)?.start_hash,
    };
    if !is_it(at) {
        return Err(Error::usage(format!(
            "thread id {id} is taken: the thread with this id has a different start, {at}"
        ))
        .hint(format!("choose another id; `uwf thread show {id}` shows that thread")));
    }
    Ok(Some(EarlierStart { at, worktree: settings.and_then(|settings| settings.worktree) }))
}
