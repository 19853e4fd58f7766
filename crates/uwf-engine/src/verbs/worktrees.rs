//! Removing the worktree of a thread that does not need it any more.

use uwf_core::thread::ThreadId;

use crate::attempt::error::AttemptError;
use crate::attempt::settings::Settings;
use crate::attempt::worktree::{self, Removed};
use crate::error::{Result, VerbError};
use crate::root::home::Home;

/// Removes the worktree of a thread that has ended, if it has one and nothing in it would be lost: all is committed, on some
/// branch. With `discard` it goes whatever is in it. Its branch goes too, if another one has all its commits. The caller holds the
/// thread's lock.
///
/// # Errors
/// `Usage` when something would be lost: nothing was removed then. `Io`, those of git.
pub(crate) fn remove(home: &Home, id: &ThreadId, discard: bool) -> Result<Option<Removed>> {
    let settings = match Settings::load(home, id) {
        // Of damaged settings nobody can tell which worktree they were about.
        Err(AttemptError::Settings { .. }) => None,
        settings => settings?,
    };
    let Some(worktree) = settings.and_then(|settings| settings.worktree) else { return Ok(None) };
    let unsaved = if discard { None } else { worktree::unsaved(&worktree)? };
    match unsaved {
        Some(unsaved) => Err(VerbError::Unsaved { thread: id.clone(), dir: worktree.dir, unsaved }.into()),
        None => Ok(Some(worktree::remove_saved(home, id, &worktree)?)),
    }
}
