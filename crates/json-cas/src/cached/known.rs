//! Which objects exist in the backend of a cache since the last sweep, for the next process that holds.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use durable_files::regular;

use crate::hash::{NodeHash, xxh64};

/// Existing objects, and when each was put if known.
pub(super) type There = HashMap<NodeHash, Option<SystemTime>>;

/// Bytes of an entry: a hash, and the Unix seconds at which it was put, or zero.
const ENTRY: usize = 16;

/// Largest file that is read. A larger file is restarted; looking an object up again costs one request.
const MOST: u64 = 1 << 20;

/// A file of entries, to which any number of processes append. If an object has two entries, the later one counts.
///
/// Each object existed when its entry was added, so the file need not be durable. Garbage from a half-written entry after a crash is the
/// hash of a node only with a probability of 2^-64.
pub(super) struct PresentObjectsFile {
    file: PathBuf,
}

impl PresentObjectsFile {
    /// The knowledge of one era: see [`HoldGuard::era`](crate::HoldGuard::era). Knowledge of other eras is useless, so their files are removed.
    pub(super) fn open_for_era(dir: &Path, era: &str) -> PresentObjectsFile {
        let dir = dir.join("known");
        let name = xxh64(era.as_bytes()).to_string();
        let file = dir.join(&name);
        if !file.exists() {
            let others = fs::read_dir(&dir).into_iter().flatten().flatten();
            others.for_each(|other| drop(fs::remove_file(other.path())));
        }
        PresentObjectsFile { file }
    }

    /// All entries; empty if the file can't be read.
    pub(super) fn read(&self) -> There {
        let Ok(bytes) = regular::read(&self.file, MOST) else {
            let _ = fs::remove_file(&self.file);
            return There::new();
        };
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        let entry = |bytes: &[u8]| {
            let (hash, put) = bytes.split_at(ENTRY / 2);
            let put_at = UNIX_EPOCH.checked_add(Duration::from_secs(number(put))).filter(|at| *at > UNIX_EPOCH);
            (NodeHash::from_u64(number(hash)), put_at)
        };
        bytes.chunks_exact(ENTRY).map(entry).collect()
    }

    /// Appends entries, if possible.
    pub(super) fn add(&self, new: &[(NodeHash, Option<SystemTime>)]) {
        let seconds = |at: SystemTime| at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let entry = |(hash, put_at): &(NodeHash, Option<SystemTime>)| {
            [hash.as_u64().to_le_bytes(), put_at.map_or(0, seconds).to_le_bytes()].concat()
        };
        let _ = self.write(&new.iter().flat_map(entry).collect::<Vec<u8>>());
    }

    fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.parent().map_or(Ok(()), fs::create_dir_all)?;
        // In one call, so that concurrent appends don't mix.
        regular::open_with(OpenOptions::new().create(true).append(true), &self.file)?.write_all(bytes)
    }
}
