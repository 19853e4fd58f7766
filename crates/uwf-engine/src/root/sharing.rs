//! A storage root that several people use. Each must be able to use the others' files, or learn at once whose they are.
//!
//! A root is set up for a group by making its directory writable for the group (`chmod g+ws`). Then the group can also
//! use the output files of attempts; in any other root only their owner can.

use std::os::unix::fs::PermissionsExt;

use rustix::fs::Access;
use uwf_core::thread::ThreadId;
use uwf_platform::host;

use crate::error::{Error, Result};
use crate::ownership::{name_of_user, owner};
use crate::root::home::Home;
use crate::root::lock;

/// Mode of a directory for output files, which may contain secrets: only for the owner.
const PRIVATE_MODE: u32 = 0o700;

/// The same mode for a root that a group shares.
const GROUP_MODE: u32 = 0o770;

/// The group may write.
const GROUP_WRITES: u32 = 0o020;

/// New files in the directory belong to its group.
const GROUP_STAYS: u32 = 0o2000;

/// How a root is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RootSharing {
    /// Not shared.
    Private,
    /// Shared with a group.
    Group,
    /// Shared with a group, but new files don't belong to the group.
    HalfGroup,
}

/// How the root is shared; a missing root is not shared.
pub(crate) fn sharing_of_root(home: &Home) -> RootSharing {
    match home.root().metadata().map(|meta| meta.permissions().mode()) {
        Ok(mode) if mode & GROUP_WRITES == 0 => RootSharing::Private,
        Ok(mode) if mode & GROUP_STAYS == 0 => RootSharing::HalfGroup,
        Ok(_) => RootSharing::Group,
        Err(_) => RootSharing::Private,
    }
}

/// Mode of the directory of an attempt's output files.
pub(crate) fn output_dir_mode(home: &Home) -> u32 {
    match sharing_of_root(home) {
        RootSharing::Private => PRIVATE_MODE,
        RootSharing::Group | RootSharing::HalfGroup => GROUP_MODE,
    }
}

/// Checks that another user's thread does not prevent an operation, before anything is changed.
///
/// # Errors
/// `Io` when its files are not accessible, `Busy` when another user's process is stepping it; both name the user.
pub(crate) fn check(home: &Home, thread: &ThreadId) -> Result<()> {
    for dir in [home.thread_dir(thread), home.attempts_dir(thread)] {
        let all = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
        if rustix::fs::access(&dir, all).is_err_and(|errno| errno == rustix::io::Errno::ACCESS) {
            return Err(Error::io(format!("{} cannot be used: it belongs to {}", dir.display(), owner(&dir)))
                .hint("`uwf doctor` shows how to share a storage root with a group"));
        }
    }
    let me = rustix::process::geteuid();
    if me.is_root() || !lock::is_held(home, thread)? {
        return Ok(());
    }
    let holder = durable_files::FileLock::owner(&home.thread_lock(thread))?;
    let user = holder.and_then(|pid| host().user_of(pid.trim().parse().ok()?));
    match user {
        Some(user) if user != me.as_raw() => {
            Err(Error::busy(format!("thread {thread} is being stepped by {}", name_of_user(user)))
                .hint("only they can end it, or wait until the step has ended"))
        }
        Some(_) | None => Ok(()),
    }
}
