//! The directory of a sandbox for its socket and the temporary files of its program.

use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};
use tempfile::TempDir;

/// The name begins with this and the id of the process that made it.
const PREFIX: &str = "uwf-sandbox-";

/// A directory stays for this long if its process was killed. Processes in other containers may share the parent directory, and their ids
/// mean nothing here.
const KEPT: Duration = Duration::from_hours(24);

/// A new directory, which is removed with its value.
pub(super) fn create() -> std::io::Result<TempDir> {
    remove_abandoned(&std::env::temp_dir(), SystemTime::now());
    tempfile::Builder::new().prefix(&format!("{PREFIX}{}-", std::process::id())).tempdir()
}

/// Removes the directories of this user whose processes were killed a day ago or earlier.
fn remove_abandoned(parent: &Path, now: SystemTime) {
    let Ok(entries) = parent.read_dir() else { return };
    for entry in entries.flatten() {
        let (name, meta) = (entry.file_name(), entry.metadata());
        let maker = name.to_str().and_then(maker);
        let is_old = |meta: &std::fs::Metadata| {
            let changed = meta.modified().ok().and_then(|changed| now.duration_since(changed).ok());
            meta.is_dir() && is_mine(meta) && changed.is_some_and(|age| age >= KEPT)
        };
        if maker.is_some_and(has_ended) && meta.is_ok_and(|meta| is_old(&meta)) {
            // Another process may remove it at the same time.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The process that made a directory, from its name.
fn maker(name: &str) -> Option<Pid> {
    let id = name.strip_prefix(PREFIX)?.split_once('-')?.0;
    Pid::from_raw(id.parse().ok()?)
}

fn has_ended(process: Pid) -> bool {
    test_kill_process(process) == Err(Errno::SRCH)
}

fn is_mine(meta: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(meta) == geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_directories_of_ended_processes_go() {
        let parent = tempfile::tempdir().unwrap();
        // No process has the largest id.
        let names = [
            "uwf-sandbox-2147483647-a".to_owned(),
            format!("uwf-sandbox-{}-b", std::process::id()),
            "other".to_owned(),
        ];
        names.iter().for_each(|name| std::fs::create_dir_all(parent.path().join(name).join("tmp")).unwrap());
        let left = || names.clone().map(|name| parent.path().join(name).exists());
        remove_abandoned(parent.path(), SystemTime::now());
        assert_eq!(left(), [true; 3], "a day has not passed");
        remove_abandoned(parent.path(), SystemTime::now() + KEPT + Duration::from_mins(1));
        assert_eq!(left(), [false, true, true]);
    }
}
