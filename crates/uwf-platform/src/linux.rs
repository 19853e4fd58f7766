//! Linux: `/proc`, child subreapers, and its own system calls.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Advice, FallocateFlags, MemfdFlags, Mode, OFlags, ResolveFlags, fadvise, fallocate};
use rustix::io::Errno;
use rustix::process::DumpableBehavior;
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::{HostSystem, ProcessEntry, ProcessTable, ShortDirectory, SignalMasks};

/// Time limit for a process to begin a program or to end. The kernel needs that long only under extreme load.
const CHANGE_WAIT: Duration = Duration::from_millis(200);

/// Bit for the kernel's own threads in the flags of `/proc/PID/stat` (`PF_KTHREAD`). They have no environment.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Times a lookup is repeated because directories were renamed meanwhile.
const MAX_RACES: usize = 16;

/// Network file systems: `f_type` of statfs(2), name.
const NETWORK_FILE_SYSTEMS: [(u64, &str); 9] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x0102_1997, "9P"),
    (0x6573_5546, "FUSE"),
    (0x0BD0_0BD0, "Lustre"),
    (0x00C3_6400, "Ceph"),
    (0x5346_414F, "AFS"),
];

pub(crate) struct LinuxHost;

impl HostSystem for LinuxHost {
    fn name(&self) -> &'static str {
        "Linux"
    }

    fn weaknesses(&self) -> &'static [&'static str] {
        &[]
    }

    fn boot_id(&self) -> io::Result<Option<String>> {
        let path = "/proc/sys/kernel/random/boot_id";
        match std::fs::read_to_string(path) {
            Ok(id) => Ok(Some(id.trim().to_owned())),
            // A container without /proc.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io::Error::new(error.kind(), format!("cannot read {path}: {error}"))),
        }
    }

    fn become_subreaper(&self) {
        // It fails only on kernels before 3.4; then orphans are still found by their environment.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }

    fn close_to_others(&self) {
        // This cannot fail for the process itself. If it does, the process stays as open as before.
        let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }

    fn signal_masks(&self) -> Option<SignalMasks> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let bits = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            u64::from_str_radix(line.trim(), 16).ok()
        };
        Some(SignalMasks { ignored: bits("SigIgn:")?, caught: bits("SigCgt:")? })
    }

    fn is_alive(&self, pid: u32) -> bool {
        stat(pid).is_some_and(|fields| !is_dead(&fields[0]))
    }

    fn processes(&self) -> Option<ProcessTable> {
        let entries = std::fs::read_dir("/proc").ok()?;
        let live = |name: &str| {
            let pid: u32 = name.parse().ok()?;
            let fields = stat(pid).filter(|fields| !is_dead(&fields[0]))?;
            let number = |field: usize| fields.get(field)?.parse().ok();
            let (parent, group, birth) = (number(1)?, number(2)?, fields.get(BIRTH)?.parse().ok()?);
            Some((pid, ProcessEntry { parent, group, birth, birth_parent: None }))
        };
        let table: BTreeMap<u32, ProcessEntry> =
            entries.flatten().filter_map(|entry| live(entry.file_name().to_str()?)).collect();
        // A container without /proc has an empty directory there.
        (!table.is_empty()).then_some(ProcessTable(table))
    }

    fn birth(&self, pid: u32) -> Option<u64> {
        let fields = stat(pid).filter(|fields| !is_dead(&fields[0]))?;
        fields.get(BIRTH)?.parse().ok()
    }

    fn user_of(&self, pid: u32) -> Option<u32> {
        Some(std::fs::metadata(format!("/proc/{pid}")).ok()?.uid())
    }

    fn arguments(&self, pid: u32) -> Vec<Vec<u8>> {
        words(&read(pid, "cmdline").unwrap_or_default())
    }

    fn shows_environments(&self) -> bool {
        true
    }

    /// While a process begins a program (`execve`) or ends, the kernel shows an empty environment and command line,
    /// although the process is still active. Without the wait, uwf would overlook an agent that was just started, and pay
    /// another one for the same step. Or it would take a keeper for dead that still holds its thread's lock.
    fn environment(&self, pid: u32) -> Vec<Vec<u8>> {
        let deadline = Instant::now() + CHANGE_WAIT;
        loop {
            let Ok(environment) = read(pid, "environ") else { return Vec::new() };
            let is_changing =
                || environment.is_empty() && read(pid, "cmdline").is_ok_and(|words| words.is_empty()) && lives(pid);
            if !is_changing() || Instant::now() >= deadline {
                return words(&environment);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn shows_open_files(&self) -> bool {
        true
    }

    fn has_open(&self, pid: u32, path: &Path) -> io::Result<Option<bool>> {
        let identity = |path: &Path| std::fs::metadata(path).map(|meta| (meta.dev(), meta.ino()));
        let with_path =
            |path: &Path, error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let wanted = identity(path).map_err(|error| with_path(path, error))?;
        let dir = PathBuf::from(format!("/proc/{pid}/fd"));
        let open = match std::fs::read_dir(&dir) {
            // It has ended.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(false)),
            other => other.map_err(|error| with_path(&dir, error))?,
        };
        let mut unread = Ok(Some(false));
        for descriptor in open {
            match descriptor.and_then(|descriptor| identity(&descriptor.path())) {
                Ok(found) if found == wanted => return Ok(Some(true)),
                Ok(_) => {}
                // Closed meanwhile, or the process has ended.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                // It may be another file, on a disk that is gone.
                Err(error) => unread = Err(with_path(&dir, error)),
            }
        }
        unread
    }

    fn punch_hole(&self, file: &File, from: u64, length: u64) {
        // Readers skip the range in any case.
        let _ = fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, from, length);
    }

    fn reserve_space(&self, file: &File, length: u64) -> io::Result<()> {
        match fallocate(file, FallocateFlags::KEEP_SIZE, 0, length) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::SPIPE | Errno::NODEV) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn begin_writing(&self, file: &File) {
        // Linux starts writing dirty pages that are declared unneeded. It drops only whole pages from its cache, so a length of one byte
        // drops nothing.
        let _ = fadvise(file, 0, NonZeroU64::new(1), Advice::DontNeed);
    }

    fn unnamed_file(&self) -> io::Result<File> {
        Ok(File::from(rustix::fs::memfd_create("prompt", MemfdFlags::CLOEXEC)?))
    }

    fn open_beneath(
        &self,
        dir: BorrowedFd<'_>,
        path: &Path,
        flags: OFlags,
        mode: Mode,
    ) -> Option<Result<OwnedFd, Errno>> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..MAX_RACES {
            match rustix::fs::openat2(dir, path, flags, mode, resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                // An old kernel, or a sandbox without this system call.
                Err(Errno::NOSYS | Errno::PERM) => return None,
                other => return Some(other),
            }
        }
        Some(Err(Errno::AGAIN))
    }

    fn short_directory(&self, dir: &Path) -> io::Result<ShortDirectory> {
        ShortDirectory::open(dir, |open| PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd())))
    }

    fn lease_clock(&self) -> Timespec {
        // Includes sleep, because other machines don't wait for this one to wake up.
        clock_gettime(ClockId::Boottime)
    }

    fn network_file_system(&self, path: &Path) -> io::Result<Option<String>> {
        let found = rustix::fs::statfs(path)?;
        // The type's width and sign differ between platforms; the numbers fit into 32 bits.
        let kind = found.f_type as u64 & 0xFFFF_FFFF;
        let known = NETWORK_FILE_SYSTEMS.iter().find(|(number, _)| *number == kind);
        Ok(known.map(|(_, name)| (*name).to_owned()))
    }
}

/// Position of the start time, in ticks since boot, after the command name in `/proc/PID/stat`.
const BIRTH: usize = 19;

fn read(pid: u32, file: &str) -> io::Result<Vec<u8>> {
    std::fs::read(format!("/proc/{pid}/{file}"))
}

fn words(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
    // Each word ends with a zero.
    words.pop_if(|last| last.is_empty());
    words
}

/// Whether a process is neither dead nor a kernel thread.
fn lives(pid: u32) -> bool {
    // After the command name: state, parent, group, session, terminal, its group, flags.
    let flags = |fields: &[String]| fields.get(6)?.parse::<u64>().ok();
    stat(pid)
        .is_some_and(|fields| !is_dead(&fields[0]) && flags(&fields).is_some_and(|flags| flags & KERNEL_THREAD == 0))
}

/// Zombies are dead and wait for a parent other than this process.
fn is_dead(state: &str) -> bool {
    matches!(state, "Z" | "X")
}

/// The fields of `/proc/PID/stat` after the command name, beginning with the state. Never empty.
fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name in parentheses may contain anything; the fields after the last `)` are clean.
    let fields: Vec<String> = stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect();
    (!fields.is_empty()).then_some(fields)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn process_is_described() {
        let mut command = Command::new("sh");
        command.args(["-c", "read line", "sh", ""]).env_clear().env("A", "1").stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (own, pid) = (std::process::id(), child.id());
        assert!(LinuxHost.environment(pid).contains(&b"A=1".to_vec()));
        assert_eq!(LinuxHost.arguments(pid).last(), Some(&Vec::new()));
        let entry = LinuxHost.processes().unwrap().0[&pid];
        assert_eq!((entry.parent, Some(entry.birth)), (own, LinuxHost.birth(pid)));
        assert_eq!(LinuxHost.user_of(pid), Some(rustix::process::geteuid().as_raw()));
        assert!(LinuxHost.is_alive(pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!LinuxHost.is_alive(pid) && LinuxHost.birth(pid).is_none() && LinuxHost.environment(pid).is_empty());
    }
}
