//! A storage root that several people use: what one makes the others must reach, or be told at once whose it is.
//!
//! A root is set up for a group by whoever makes its directory writable for it (`chmod g+ws`). Then the output files of
//! attempts are for that group too; in any other root they are for nobody but their owner.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::Access;
use uwf_core::thread::ThreadId;

use crate::error::{Error, Result};
use crate::ownership::owner;
use crate::root::home::Home;
use crate::root::lock;

/// Mode of a directory of output files, which may hold secrets: for nobody but their owner.
const PRIVATE_MODE: u32 = 0o700;

/// The same where the root is a group's.
const GROUP_MODE: u32 = 0o770;

/// The group may write.
const GROUP_WRITES: u32 = 0o020;

/// What is made in the directory belongs to its group.
const GROUP_STAYS: u32 = 0o2000;

/// How a root is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// With nobody.
    Private,
    /// With a group.
    Group,
    /// With a group, but what one person makes does not belong to it.
    HalfGroup,
}

/// How the root is shared; one that is not there is not.
pub fn of(home: &Home) -> Sharing {
    match home.root().metadata().map(|meta| meta.permissions().mode()) {
        Ok(mode) if mode & GROUP_WRITES == 0 => Sharing::Private,
        Ok(mode) if mode & GROUP_STAYS == 0 => Sharing::HalfGroup,
        Ok(_) => Sharing::Group,
        Err(_) => Sharing::Private,
    }
}

/// Mode of the directory of an attempt's output files.
pub(crate) fn output_dir_mode(home: &Home) -> u32 {
    match of(home) {
        Sharing::Private => PRIVATE_MODE,
        Sharing::Group | Sharing::HalfGroup => GROUP_MODE,
    }
}

/// Refuses what somebody else's thread would keep from being done: before anything is changed.
///
/// # Errors
/// `Io` when its files cannot be reached, `Busy` when a process of somebody else is at work on it; both say whose.
pub(crate) fn check(home: &Home, thread: &ThreadId) -> Result<()> {
    for dir in [home.thread_dir(thread), home.attempts_dir(thread)] {
        let all = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
        if rustix::fs::access(&dir, all).is_err_and(|errno| errno == rustix::io::Errno::ACCESS) {
            return Err(Error::io(format!("{} cannot be used: it belongs to {}", dir.display(), owner(&dir)))
                .hint("`uwf doctor` says how a storage root is shared with a group"));
        }
    }
    let me = rustix::process::geteuid();
    if me.is_root() || !lock::is_held(home, thread)? {
        return Ok(());
    }
    let holder = durable_files::FileLock::owner(&home.thread_lock(thread))?;
    let process = holder.as_deref().map(str::trim).filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()));
    let process = process.map(|pid| Path::new("/proc").join(pid)).filter(|process| process.exists());
    match process {
        Some(process) if process.metadata().is_ok_and(|meta| meta.uid() != me.as_raw()) => {
            Err(Error::busy(format!("thread {thread} is being stepped by {}", owner(&process)))
                .hint("only they can end it, or wait until the step has ended"))
        }
        Some(_) | None => Ok(()),
    }
}
