//! macOS: libproc, sysctl, and unique ids of processes, which survive the death of a parent.

mod system_calls;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use self::system_calls::{
    bsd_info, device_and_inode, memory, open_files, preallocate, punch, signals, sysctl_text, unique_ids, words,
};
use crate::{HostSystem, ProcessEntry, ProcessTable, SignalMasks};

/// Most files that a process may open, whatever its hard limit says (`OPEN_MAX`).
const OPEN_MAX: u64 = 10_240;

/// Flag of a local file system (`MNT_LOCAL`).
const LOCAL: u32 = libc::MNT_LOCAL.cast_unsigned();

pub(crate) struct MacHost;

impl HostSystem for MacHost {
    fn name(&self) -> &'static str {
        "macOS"
    }

    fn weaknesses(&self) -> &'static [&'static str] {
        &[
            "agents: uwf finds the processes of an agent by parentage, process group and variables, but not one that left its group after its \
             parent ended",
            "crashes: if a process outlives its keeper and can't be ended, the thread is busy until you end the process",
            "keys: a process of uwf can't close its memory to other processes of the same user",
        ]
    }

    fn link_opener(&self) -> &'static str {
        "open"
    }

    fn boot_id(&self) -> io::Result<Option<String>> {
        sysctl_text(c"kern.bootsessionuuid").map(Some)
    }

    fn signal_masks(&self) -> Option<SignalMasks> {
        Some(signals())
    }

    fn is_alive(&self, pid: u32) -> bool {
        bsd_info(pid).is_some()
    }

    fn processes(&self) -> Option<ProcessTable> {
        let pids = system_calls::all_processes()?;
        let live = |pid: u32| {
            let info = bsd_info(pid)?;
            let ids = unique_ids(pid)?;
            let (birth, birth_parent) = (ids.own, Some(ids.parent_at_birth));
            Some((pid, ProcessEntry { parent: info.pbsi_ppid, group: info.pbsi_pgid, birth, birth_parent }))
        };
        Some(ProcessTable(pids.into_iter().filter_map(live).collect::<BTreeMap<u32, ProcessEntry>>()))
    }

    fn birth(&self, pid: u32) -> Option<u64> {
        bsd_info(pid)?;
        unique_ids(pid).map(|ids| ids.own)
    }

    fn user_of(&self, pid: u32) -> Option<u32> {
        bsd_info(pid).map(|info| info.pbsi_uid)
    }

    fn arguments(&self, pid: u32) -> Vec<Vec<u8>> {
        words(pid).arguments
    }

    /// Programs that the system protects show none.
    fn environment(&self, pid: u32) -> Vec<Vec<u8>> {
        words(pid).environment
    }

    fn shows_open_files(&self) -> bool {
        true
    }

    fn has_open(&self, pid: u32, path: &Path) -> io::Result<Option<bool>> {
        let meta = std::fs::metadata(path)?;
        let Some(files) = open_files(pid)? else { return Ok(Some(false)) };
        // The system shows devices with 32 bits.
        let wanted = (u32::try_from(meta.dev() & 0xFFFF_FFFF).unwrap_or_default(), meta.ino());
        Ok(Some(files.into_iter().any(|file| device_and_inode(pid, file) == Some(wanted))))
    }

    fn punch_hole(&self, file: &File, from: u64, length: u64) {
        // APFS frees whole blocks only.
        let block = file.metadata().map_or(1, |meta| meta.blksize()).max(1);
        let begin = from.next_multiple_of(block);
        let end = (from + length) / block * block;
        if begin < end {
            punch(file.as_raw_fd(), begin, end - begin);
        }
    }

    fn reserve_space(&self, file: &File, length: u64) -> io::Result<()> {
        match preallocate(file.as_raw_fd(), length) {
            Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(error),
            // Other file systems can't.
            _ => Ok(()),
        }
    }

    /// `RLIMIT_AS` is set but not enforced here.
    fn limit_memory(&self, _: u64) {}

    fn memory_used(&self, pid: u32) -> Option<u64> {
        memory(pid)
    }

    fn most_open_files(&self, hard: Option<u64>) -> u64 {
        hard.unwrap_or(OPEN_MAX).min(OPEN_MAX)
    }

    fn network_file_system(&self, path: &Path) -> io::Result<Option<String>> {
        let found = rustix::fs::statfs(path)?;
        let name = found.f_fstypename.iter().take_while(|byte| **byte != 0).map(|byte| byte.cast_unsigned());
        let name = String::from_utf8_lossy(&name.collect::<Vec<u8>>()).into_owned();
        Ok((found.f_flags & LOCAL == 0).then_some(name))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn process_is_described() {
        let own = std::process::id();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--list", "--format", "terse"]).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let pid = child.id();
        let entry = MacHost.processes().unwrap().0[&own];
        assert_eq!(Some(entry.birth), MacHost.birth(own));
        assert_eq!(MacHost.user_of(own), Some(rustix::process::geteuid().as_raw()));
        assert!(MacHost.is_alive(own) && !MacHost.arguments(own).is_empty() && MacHost.memory_used(own).is_some());
        child.wait().unwrap();
        assert!(!MacHost.is_alive(pid) && MacHost.birth(pid).is_none());
    }

    #[test]
    fn child_names_the_unique_id_of_its_parent() {
        let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let entry = MacHost.processes().unwrap().0[&child.id()];
        assert_eq!((entry.parent, entry.birth_parent), (std::process::id(), MacHost.birth(std::process::id())));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
