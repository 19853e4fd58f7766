//! What was found behind a cache since the last sweep, for the next process that holds.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use durable_files::regular;

use crate::hash::{Hash, xxh64};

/// When each object was put, as far as that is known.
pub(super) type There = HashMap<Hash, Option<SystemTime>>;

/// Bytes of an entry: a hash, and the Unix seconds of its put, or zero.
const ENTRY: usize = 16;

/// Largest file that is read. One that has grown further is begun anew: looking again costs a request each.
const MOST: u64 = 1 << 20;

/// A file of entries, added to by any number of processes. Of two about one object the later one counts.
///
/// Each was behind when it was added, so that nothing must be durable. What a crash leaves half written is no hash of a node,
/// but by a chance of one to 2^64.
pub(super) struct Known {
    file: PathBuf,
}

impl Known {
    /// What is known of an era: see [`Hold::era`](crate::Hold::era). What was known of others is of no use any more.
    pub(super) fn of(dir: &Path, era: &str) -> Known {
        let dir = dir.join("known");
        let name = xxh64(era.as_bytes()).to_string();
        let file = dir.join(&name);
        if !file.exists() {
            let others = fs::read_dir(&dir).into_iter().flatten().flatten();
            others.for_each(|other| drop(fs::remove_file(other.path())));
        }
        Known { file }
    }

    /// All of it; nothing when it cannot be read.
    pub(super) fn read(&self) -> There {
        let Ok(bytes) = regular::read(&self.file, MOST) else {
            let _ = fs::remove_file(&self.file);
            return There::new();
        };
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        let entry = |bytes: &[u8]| {
            let (hash, put) = bytes.split_at(ENTRY / 2);
            let put_at = UNIX_EPOCH.checked_add(Duration::from_secs(number(put))).filter(|at| *at > UNIX_EPOCH);
            (Hash::from_u64(number(hash)), put_at)
        };
        bytes.chunks_exact(ENTRY).map(entry).collect()
    }

    /// Adds to it, if that is possible.
    pub(super) fn add(&self, new: &[(Hash, Option<SystemTime>)]) {
        let seconds = |at: SystemTime| at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let entry = |(hash, put_at): &(Hash, Option<SystemTime>)| {
            [hash.as_u64().to_le_bytes(), put_at.map_or(0, seconds).to_le_bytes()].concat()
        };
        let _ = self.write(&new.iter().flat_map(entry).collect::<Vec<u8>>());
    }

    fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.parent().map_or(Ok(()), fs::create_dir_all)?;
        // In one call, so that what several add at once is not mixed.
        regular::open_with(OpenOptions::new().create(true).append(true), &self.file)?.write_all(bytes)
    }
}
