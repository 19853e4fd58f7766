//! Checks of the files in the storage root.

use std::path::Path;
use std::time::{Duration, Instant};

use durable_files::FileLock;
use json_cas::{DamagedPack, NodeHash};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use uwf_core::thread::ThreadId;
use uwf_platform::host;

use super::{DoctorFinding, DoctorMode, RootExam, StoredNodes, counted};
use crate::error::{AtPath, Error, Result};
use crate::root::env_file;
use crate::root::home::Home;
use crate::root::lock;
use crate::root::sharing::{self, RootSharing};

/// Age from which on a temporary file is abandoned: no write takes that long.
pub(super) const LEFTOVER_AGE: Duration = Duration::from_hours(1);

/// How long a lock of the whole root may be held: writers need milliseconds.
const LONG_HOLD: Duration = Duration::from_secs(1);

/// Files of nodes that are measured; more are estimated.
const MEASURED: usize = 10_000;

/// Free bytes below which the next agent's output may not fit.
const LITTLE_SPACE: u64 = 256 << 20;

/// Whether the root exists, is writable, and is on a local disk.
pub(super) fn root(RootExam { home, mode, .. }: &RootExam<'_>) -> Result<Vec<DoctorFinding>> {
    let root = home.root();
    if !home.exists()? {
        let message =
            format!("{} does not exist yet; the first command that stores something makes it", root.display());
        return Ok(vec![DoctorFinding::ok("storage", message)]);
    }
    let how = match writable(root, *mode) {
        Ok(how) => how,
        Err(error) => return Ok(vec![DoctorFinding::of_error("storage", &Error::file("write to", root, error))]),
    };
    let space = rustix::fs::statvfs(root).map_err(std::io::Error::from).path_context("look at", root)?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let message = format!("{} {how}, {} free", root.display(), bytes(free));
    let network = host().network_file_system(root).path_context("look at", root)?;
    let place = match (network, free < LITTLE_SPACE) {
        (Some(name), _) => {
            DoctorFinding::warn("storage", format!("{} is on a network file system ({name})", root.display()))
                .hint("locks and syncs may not hold there; a local disk is safer")
        }
        (None, true) => {
            DoctorFinding::warn("storage", message).hint("free some space: an agent's output is stored whole")
        }
        (None, false) => DoctorFinding::ok("storage", message),
    };
    let half = sharing::sharing_of_root(home) == RootSharing::HalfGroup;
    let shared = DoctorFinding::warn(
        "sharing",
        format!("{} is writable for a group, but new files in it do not belong to the group", root.display()),
    )
    .hint(format!("`find {} -type d -exec chmod g+ws {{}} +`, and `umask 002` for each person", root.display()));
    Ok([place].into_iter().chain(half.then_some(shared)).collect())
}

/// How uwf knows that the root is writable. Only an attempt to write shows a full disk, for example.
fn writable(root: &Path, mode: DoctorMode) -> std::io::Result<&'static str> {
    match mode {
        DoctorMode::Read => {
            accessat(CWD, root, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?;
            Ok("may be written, by its permissions (not tried)")
        }
        DoctorMode::Tell | DoctorMode::Apply => {
            // It has no name: `leftovers`, which runs beside this check, would count it where the clock is wrong. The
            // error of tempfile names its path itself.
            tempfile::tempfile_in(root).map_err(|error| std::io::Error::from(error.kind()))?;
            Ok("can be written")
        }
    }
}

/// Whether uwf can read `.env`, and whether others can.
pub(super) fn env_file(RootExam { home, mode, .. }: &RootExam<'_>) -> Result<Vec<DoctorFinding>> {
    let path = home.env_file();
    if !path.exists() {
        return Ok(vec![DoctorFinding::ok("env-file", ".env does not exist; keys come from the environment")]);
    }
    let entries = env_file::read(&path)?.len();
    let summary = format!("{} has {}", path.display(), counted(entries, "entry"));
    if !env_file::is_open_to_others(&path)? {
        return Ok(vec![DoctorFinding::ok("env-file", format!("{summary} and is readable by its owner only"))]);
    }
    match mode {
        DoctorMode::Apply => {
            env_file::protect(&path)?;
            Ok(vec![DoctorFinding::ok(
                "env-file",
                format!("{summary}; it was open to others, now it is readable by its owner only"),
            )])
        }
        DoctorMode::Read | DoctorMode::Tell => Ok(vec![
            DoctorFinding::warn("env-file", format!("{summary} and is open to others"))
                .hint("`uwf doctor --fix` or the next step restricts it to its owner (0600)"),
        ]),
    }
}

/// Number and size of the nodes, and whether packs are readable.
pub(super) fn store(exam: &RootExam<'_>) -> Result<Vec<DoctorFinding>> {
    let stored = exam.stored()?;
    let StoredNodes { nodes, damaged } = &*stored;
    let size = size(exam.home, nodes);
    let mut findings = vec![match nodes.len() {
        0 => DoctorFinding::ok("store", "no node is stored yet"),
        count => DoctorFinding::ok("store", format!("{}{size}", counted(count, "node"))),
    }];
    findings.extend(damaged.iter().map(|DamagedPack { path, reason }| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        DoctorFinding::fail("packs", format!("the pack {}: {reason}", path.display())).hint(format!(
            "restore it from a backup; without a backup, `uwf pack --forget {name}` gives it up, and `uwf cas verify` \
             shows what is lost"
        ))
    }));
    Ok(findings)
}

/// The size of the nodes in files and packs; empty if they are stored elsewhere. The size of many files is estimated from some of them:
/// hashes are a random order.
fn size(home: &Home, nodes: &[NodeHash]) -> String {
    let Ok(files) = home.files() else { return String::new() };
    let packs = std::fs::read_dir(home.packs_dir()).into_iter().flatten().flatten();
    let packs = packs.filter_map(|file| file.metadata().ok()).filter(std::fs::Metadata::is_file);
    let packed: u64 = packs.map(|pack| pack.len()).sum();
    let stride = nodes.len().div_ceil(MEASURED).max(1);
    // A node in a pack has no file.
    let measured = nodes.iter().step_by(stride).filter_map(|node| files.path(*node).metadata().ok());
    let size = packed + measured.map(|file| file.len()).sum::<u64>() * stride as u64;
    format!(", {}{}", if stride > 1 { "about " } else { "" }, bytes(size))
}

/// Temporary files of dead processes.
pub(super) fn leftovers(RootExam { home, mode, .. }: &RootExam<'_>) -> Result<Vec<DoctorFinding>> {
    let dirs = home.dirs_with_temporary_files();
    let dirs: Vec<_> = dirs.iter().filter(|dir| dir.is_dir()).collect();
    if *mode == DoctorMode::Apply {
        let mut removed = 0;
        for dir in &dirs {
            removed += durable_files::remove_leftovers(dir, LEFTOVER_AGE)?;
        }
        let summary =
            if removed == 0 { "no old temporary files".to_owned() } else { format!("removed {}", old(removed)) };
        return Ok(vec![DoctorFinding::ok("leftovers", summary)]);
    }
    let mut found = 0;
    for dir in &dirs {
        found += durable_files::leftovers(dir, LEFTOVER_AGE)?.len();
    }
    Ok(vec![match found {
        0 => DoctorFinding::ok("leftovers", "no old temporary files"),
        some => DoctorFinding::warn("leftovers", format!("{} left by dead processes", old(some)))
            .hint("`uwf doctor --fix` removes them"),
    }])
}

/// Locks that a process holds for too long. The system frees the locks of a dead process, so the holder is alive and hangs. A thread's
/// keeper may hold the lock of its thread.
pub(super) fn locks(RootExam { home, .. }: &RootExam<'_>) -> Result<Vec<DoctorFinding>> {
    let mut findings = Vec::new();
    for path in [home.heads_lock(), home.registry_lock(), home.config_lock()] {
        if lasts(|| FileLock::is_held(&path).map_err(Error::from))? {
            findings.push(kept(&path, ""));
        }
    }
    for thread in thread_ids(home) {
        // Another user's process can't be inspected, and may well be a keeper.
        let is_no_keeper = || lock::keeper_of(home, &thread).is_ok_and(|keeper| keeper.is_none());
        if lasts(|| Ok(lock::is_held(home, &thread)? && is_no_keeper()))? {
            findings.push(kept(&home.thread_lock(&thread), ", and not by a keeper of that thread"));
        }
    }
    Ok(if findings.is_empty() { vec![DoctorFinding::ok("locks", "no stale locks")] } else { findings })
}

/// Whether a condition lasts longer than any writer needs.
fn lasts(is_so: impl Fn() -> Result<bool>) -> Result<bool> {
    let begun = Instant::now();
    while is_so()? {
        if begun.elapsed() > LONG_HOLD {
            return Ok(true);
        }
        std::thread::sleep(LONG_HOLD / 50);
    }
    Ok(false)
}

fn kept(path: &Path, by: &str) -> DoctorFinding {
    let message = format!("{} has been held for more than {} s{by}", path.display(), LONG_HOLD.as_secs());
    DoctorFinding::warn("locks", message).hint(format!("`fuser {}` shows by which process", path.display()))
}

/// Threads that have a directory, including ended ones.
pub(super) fn thread_ids(home: &Home) -> impl Iterator<Item = ThreadId> {
    let entries = std::fs::read_dir(home.threads_dir()).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn old(count: usize) -> String {
    counted(count, "old temporary file")
}

/// `5.2 MB`.
fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "kB", "MB", "GB", "TB"];
    let mut size = count as f64;
    let mut unit = 0;
    while size >= 1000.0 && unit + 1 < UNITS.len() {
        size /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} bytes") } else { format!("{size:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (count, told) in
            [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (5_240_000, "5.2 MB"), (u64::MAX, "18446744.1 TB")]
        {
            assert_eq!(bytes(count), told);
        }
    }
}
