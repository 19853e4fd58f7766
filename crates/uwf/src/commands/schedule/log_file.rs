//! The file with the output of the runs that cron starts. Each run adds to it; a file that has grown too large becomes the older one.

use std::fs::OpenOptions;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::fstat;
use uwf_engine::root::ids;

use crate::printer::CommandPrinter;
use crate::table;

/// Bytes of the file from which on its content moves to the older file.
const MAX_BYTES: u64 = 1 << 20;

/// The file.
pub(super) fn path(root: &Path, schedule: &str) -> PathBuf {
    root.join(format!("schedule-{schedule}.log"))
}

/// The file with the output of earlier runs.
pub(super) fn older(root: &Path, schedule: &str) -> PathBuf {
    root.join(format!("schedule-{schedule}.log.1"))
}

/// Begins the output of a run with its time, if stdout is the file. A fault of the file must not stop the run.
pub(super) fn begin(printer: &CommandPrinter, root: &Path, schedule: &str) {
    let path = path(root, schedule);
    let (Ok(stdout), Ok(file)) = (fstat(std::io::stdout()), path.metadata()) else { return };
    if (stdout.st_dev, stdout.st_ino) != (file.dev(), file.ino()) {
        return;
    }
    if file.len() > MAX_BYTES {
        // The file stays open in this process and its agents, so its content moves instead of its name.
        let moved = std::fs::copy(&path, older(root, schedule));
        if let (Ok(_), Ok(open)) = (moved, OpenOptions::new().write(true).open(&path)) {
            let _ = open.set_len(0);
        }
    }
    printer.talk(&format!("--- {} UTC", table::time(ids::now_ms())));
}
