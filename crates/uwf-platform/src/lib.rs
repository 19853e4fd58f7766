//! This is a separate crate because only it knows which operating system it runs on: every other crate asks [`host`].
//!
#![doc = include_str!("../README.md")]

mod arguments;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod posix;
mod process;
mod short_directory;

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};
use rustix::time::{ClockId, Timespec, clock_gettime};

pub use process::{ProcessEntry, ProcessTable, SignalMasks};
pub use short_directory::ShortDirectory;

/// Variable that chooses an implementation; its only value is [`POSIX`].
pub const PLATFORM_VARIABLE: &str = "UWF_PLATFORM";

/// Value of [`PLATFORM_VARIABLE`] for plain POSIX.
pub const POSIX: &str = "posix";

/// The system that this process runs on, or the one that [`PLATFORM_VARIABLE`] names.
pub fn host() -> &'static dyn HostSystem {
    static CHOSEN: OnceLock<&'static dyn HostSystem> = OnceLock::new();
    *CHOSEN.get_or_init(|| match std::env::var(PLATFORM_VARIABLE) {
        Ok(chosen) if chosen == POSIX => &posix::PosixHost,
        _ => native(),
    })
}

#[cfg(target_os = "linux")]
fn native() -> &'static dyn HostSystem {
    &linux::LinuxHost
}

#[cfg(target_os = "macos")]
fn native() -> &'static dyn HostSystem {
    &macos::MacHost
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn native() -> &'static dyn HostSystem {
    &posix::PosixHost
}

/// Services that differ between systems. The default of each method is what POSIX promises.
///
/// A method that cannot answer says so (`None`, or an error). It never guesses: callers then trust less.
pub trait HostSystem: Sync {
    /// Name for people.
    fn name(&self) -> &'static str;

    /// Promises that uwf keeps on Linux and not here, a sentence each.
    fn weaknesses(&self) -> &'static [&'static str];

    /// Program that opens a link in the person's browser.
    fn link_opener(&self) -> &'static str {
        "xdg-open"
    }

    /// Identifier of this boot; `None` on a system without one.
    ///
    /// # Errors
    /// When it cannot be read now.
    fn boot_id(&self) -> io::Result<Option<String>> {
        Ok(None)
    }

    /// Makes this process the parent that inherits orphaned descendants.
    fn become_subreaper(&self) {}

    /// Closes the memory, environment and descriptors of this process to other processes of the user.
    fn close_to_others(&self) {}

    /// The signals that this process ignores or catches; `None` if the system does not say it.
    fn signal_masks(&self) -> Option<SignalMasks> {
        None
    }

    /// Whether a process is alive. A zombie may count as alive.
    fn is_alive(&self, pid: u32) -> bool {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        // Another user's process cannot be signalled.
        pid.is_some_and(|pid| matches!(rustix::process::test_kill_process(pid), Ok(()) | Err(Errno::PERM)))
    }

    /// All live processes; `None` if they cannot be listed.
    fn processes(&self) -> Option<ProcessTable> {
        None
    }

    /// A number that no other process with this id has in this boot; `None` if the process is gone, or on a system without such numbers.
    fn birth(&self, _pid: u32) -> Option<u64> {
        None
    }

    /// User id of a live process; `None` if it is gone or unknown.
    fn user_of(&self, _pid: u32) -> Option<u32> {
        None
    }

    /// Command line of a process, a word each; empty if unknown.
    fn arguments(&self, _pid: u32) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// Whether every process of this user shows the environment that it was started with.
    fn shows_environments(&self) -> bool {
        false
    }

    /// Environment that a process was started with, as `NAME=value`; empty if unknown.
    fn environment(&self, _pid: u32) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// Whether [`HostSystem::has_open`] has an answer.
    fn shows_open_files(&self) -> bool {
        false
    }

    /// Whether a process has a file open, under any name; `None` on a system that does not say.
    ///
    /// # Errors
    /// When it cannot be determined: the process may belong to another user.
    fn has_open(&self, _pid: u32, _path: &Path) -> io::Result<Option<bool>> {
        Ok(None)
    }

    /// Frees a range of a file, whose size stays. A file system without holes keeps the bytes.
    fn punch_hole(&self, _file: &File, _from: u64, _length: u64) {}

    /// Reserves disk space for a file without changing its length. Does nothing on systems and file systems that can't.
    ///
    /// # Errors
    /// When the disk is too full.
    fn reserve_space(&self, _file: &File, _length: u64) -> io::Result<()> {
        Ok(())
    }

    /// Asks the system to start writing a file to disk: only a hint.
    fn begin_writing(&self, _file: &File) {}

    /// An empty file that no other process can find.
    ///
    /// # Errors
    /// When it cannot be created.
    fn unnamed_file(&self) -> io::Result<File> {
        tempfile::tempfile()
    }

    /// Opens a path relative to a directory, which no link can leave; `None` if the system has no such call.
    fn open_beneath(
        &self,
        _dir: BorrowedFd<'_>,
        _path: &Path,
        _flags: OFlags,
        _mode: Mode,
    ) -> Option<Result<OwnedFd, Errno>> {
        None
    }

    /// A path to a directory that is short enough for sockets in it.
    ///
    /// # Errors
    /// When the directory is missing, or a link cannot be created.
    fn short_directory(&self, dir: &Path) -> io::Result<ShortDirectory> {
        ShortDirectory::link(dir)
    }

    /// The clock of leases: it can't be set, and counts sleep if the system has such a clock.
    fn lease_clock(&self) -> Timespec {
        clock_gettime(ClockId::Monotonic)
    }

    /// Limits the memory of this process, as far as the system can. [`HostSystem::memory_used`] has the rest.
    fn limit_memory(&self, bytes: u64) {
        // If the limit cannot be set, the deadline of the caller still holds.
        let _ = rustix::process::setrlimit(Resource::As, Rlimit { current: Some(bytes), maximum: Some(bytes) });
    }

    /// Memory of another process, where [`HostSystem::limit_memory`] has no effect; `None` elsewhere.
    fn memory_used(&self, _pid: u32) -> Option<u64> {
        None
    }

    /// The highest limit of open files that a process can set below the hard limit.
    fn most_open_files(&self, hard: Option<u64>) -> u64 {
        hard.unwrap_or(process::MOST_OPEN_FILES)
    }

    /// Name of the network file system of a path; `None` for a local one, or where this is unknown.
    ///
    /// # Errors
    /// When the path cannot be read.
    fn network_file_system(&self, _path: &Path) -> io::Result<Option<String>> {
        Ok(None)
    }
}

/// Promises of every system that is more than POSIX.
#[cfg(all(test, any(target_os = "linux", target_os = "macos")))]
mod tests {
    use super::*;

    #[test]
    fn open_files_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        let _open = File::create(&one).unwrap();
        std::fs::write(&other, "").unwrap();
        let own = std::process::id();
        assert_eq!(native().has_open(own, &one).unwrap(), Some(true));
        assert_eq!(native().has_open(own, &other).unwrap(), Some(false));
        assert_eq!(native().has_open(u32::MAX, &other).unwrap(), Some(false));
        assert!(native().has_open(own, &dir.path().join("none")).is_err());
    }

    #[test]
    fn boot_is_identified() {
        let id = native().boot_id().unwrap().unwrap();
        assert!(id.len() == 36 && native().boot_id().unwrap() == Some(id));
    }
}
