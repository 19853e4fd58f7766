//! One file per object in a flat directory, and packs of many objects in a subdirectory.
//!
//! An object may have its own file, be in a pack, or both; then either may be read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use durable_files::regular::{self, MAX_OBJECT, RegularFileError};
use durable_files::{FileError, FileLock, LockMode, TEMP_PREFIX};

use crate::error::StoreError;
use crate::hash::{HashPrefix, NodeHash};
use crate::objects::{
    HoldGuard, ObjectBackend, ObjectMetadata, ObjectPutOutcome, ReclaimScope, StrayEntry, SweepGuard,
};
use crate::pack::{self, DamagedPack, PackSet};

/// How long a hold waits for a sweep, and a sweep for holders. A sweep locks the directory for a few seconds at most, unless its process
/// is suspended.
const WAIT: Duration = Duration::from_secs(10);

/// File name extension of objects, after the hash.
const EXTENSION: &str = ".bin";

/// Subdirectory of the packs.
const PACKS: &str = "packs";

/// Most objects that may be removed and still be in packs. If there are more, packs are rewritten at once: their hashes take half of what
/// the list of packs can hold.
const MOST_GONE: usize = 500_000;

/// Objects as files `<hash>.bin` in one directory, and in packs, `packs/<name>.pack`.
#[derive(Debug, Clone)]
pub struct FsObjects {
    dir: PathBuf,
    packs: Arc<PackSet>,
    /// Whether the last object that was read came from a pack. The objects it references are most likely there as well, so the files are
    /// not tried first.
    from_pack: Arc<AtomicBool>,
}

impl FsObjects {
    /// The objects in `dir`. Does no I/O; the first put creates the directory.
    pub fn new(dir: impl Into<PathBuf>) -> FsObjects {
        let dir = dir.into();
        FsObjects { packs: Arc::new(PackSet::new(dir.join(PACKS))), from_pack: Arc::default(), dir }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file of an object, whether or not it exists.
    pub fn path(&self, hash: NodeHash) -> PathBuf {
        self.dir.join(file_name(hash))
    }

    pub(super) fn packs(&self) -> &PackSet {
        &self.packs
    }

    /// The bytes in an object's file.
    pub(super) fn read_file(&self, hash: NodeHash) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(hash);
        match regular::read(&path, MAX_OBJECT) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::failed_to("read", &path)(error).into()),
        }
    }

    fn has_file(&self, hash: NodeHash) -> Result<bool, StoreError> {
        let path = self.path(hash);
        Ok(fs::exists(&path).map_err(FileError::failed_to("look at", &path))?)
    }

    /// Hashes of all files, optionally only with a prefix, in no particular order.
    pub(super) fn files(&self, prefix: Option<&HashPrefix>) -> Result<Vec<NodeHash>, StoreError> {
        let mut hashes: Vec<NodeHash> = self.names()?.iter().filter_map(|name| hash_of(name)).collect();
        hashes.retain(|hash| prefix.is_none_or(|prefix| prefix.matches(*hash)));
        Ok(hashes)
    }

    /// Whether an object may be in a pack. `true` as well if a damaged pack makes that uncertain.
    fn may_be_packed(&self, hash: NodeHash) -> Result<bool, StoreError> {
        match self.packs.find(hash) {
            Ok(found) => Ok(found.is_some()),
            Err(StoreError::Corrupt { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn remove_file(&self, hash: NodeHash) -> Result<bool, StoreError> {
        let path = self.path(hash);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(FileError::failed_to("remove", &path)(error).into()),
        }
    }

    /// Locks the directory: shared for holders, exclusive for sweepers.
    fn lock(&self, access: LockMode, wait: Duration) -> Result<FileLock, StoreError> {
        let busy = || StoreError::Busy {
            path: self.dir.clone(),
            waited_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        };
        FileLock::acquire_dir(&self.dir, access, wait)?.ok_or_else(busy)
    }

    /// File names in the directory, without temporary files.
    fn names(&self) -> Result<Vec<String>, FileError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(FileError::failed_to("list", &self.dir)(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(FileError::failed_to("list", &self.dir))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with(TEMP_PREFIX) {
                names.push(name);
            }
        }
        Ok(names)
    }
}

impl FsObjects {
    /// All objects, optionally only with a prefix, and the packs that can't be read.
    fn listed(&self, prefix: Option<&HashPrefix>) -> Result<(Vec<NodeHash>, Vec<DamagedPack>), StoreError> {
        loop {
            let view = self.packs.view()?;
            let mut hashes = self.files(prefix)?;
            let packed = self.packs.list(&view, prefix)?;
            hashes.extend(packed.hashes);
            // An object that moved meanwhile may have been seen in neither place.
            if !self.packs.have_changed(&view)? {
                hashes.sort_unstable();
                hashes.dedup();
                return Ok((hashes, packed.damaged));
            }
        }
    }

    /// All readable objects, sorted, and the packs that are missing or have a damaged index. The objects in the other packs are not checked.
    pub fn list_with_damage(&self) -> Result<(Vec<NodeHash>, Vec<DamagedPack>), StoreError> {
        self.listed(None)
    }
}

impl ObjectBackend for FsObjects {
    fn get(&self, hash: NodeHash) -> Result<Option<Vec<u8>>, StoreError> {
        if self.from_pack.load(Ordering::Relaxed)
            && let Ok(Some(found)) = self.packs.find(hash)
            && let Ok(bytes) = self.packs.read(&found)
        {
            return Ok(Some(bytes));
        }
        let file = self.read_file(hash)?;
        self.from_pack.store(file.is_none(), Ordering::Relaxed);
        if file.is_some() {
            return Ok(file);
        }
        let packs = self.packs.view()?;
        match packs.find(hash)? {
            Some(found) => self.packs.read(&found).map(Some),
            // It may have been moved out of a pack between the two looks.
            None if packs.is_used() => self.read_file(hash),
            None => Ok(None),
        }
    }

    fn contains(&self, hash: NodeHash) -> Result<bool, StoreError> {
        if self.has_file(hash)? {
            return Ok(true);
        }
        let packs = self.packs.view()?;
        Ok(packs.find(hash)?.is_some() || (packs.is_used() && self.has_file(hash)?))
    }

    fn put_all(&self, objects: &[(NodeHash, Vec<u8>)]) -> Result<Vec<ObjectPutOutcome>, StoreError> {
        let mut files = Vec::with_capacity(objects.len());
        let mut puts = vec![ObjectPutOutcome::Present; objects.len()];
        let mut new = Vec::with_capacity(objects.len());
        for (index, (hash, bytes)) in objects.iter().enumerate() {
            if bytes.len() as u64 > MAX_OBJECT {
                let refused = RegularFileError::TooLarge { limit: MAX_OBJECT };
                return Err(FileError::failed_to("write", &self.path(*hash))(refused.into()).into());
            }
            // If a damaged pack makes that uncertain, write a file.
            match self.packs.find(*hash) {
                Ok(Some(_)) => {}
                Ok(None) | Err(StoreError::Corrupt { .. }) => {
                    files.push((PathBuf::from(file_name(*hash)), bytes.as_slice()));
                    new.push(index);
                }
                Err(error) => return Err(error),
            }
        }
        let published = durable_files::publish_all(&self.dir, &files)?;
        for (index, is_new) in new.into_iter().zip(published) {
            puts[index] = if is_new { ObjectPutOutcome::Published } else { ObjectPutOutcome::Present };
        }
        Ok(puts)
    }

    fn replace(&self, hash: NodeHash, bytes: &[u8]) -> Result<(), StoreError> {
        // A link among the objects may point to another object, which must not be overwritten.
        Ok(durable_files::replace_itself(&self.path(hash), bytes)?)
    }

    fn sync(&self, hashes: &[NodeHash]) -> Result<(), StoreError> {
        for hash in hashes {
            match durable_files::sync_file(&self.path(*hash)) {
                Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
                    // Packs are durable before they count.
                    if !self.contains(*hash)? {
                        return Err(StoreError::NotFound { hash: *hash });
                    }
                }
                other => other?,
            }
        }
        match durable_files::sync_dir(&self.dir) {
            Err(error) if hashes.is_empty() && error.source.kind() == io::ErrorKind::NotFound => Ok(()),
            other => Ok(other?),
        }
    }

    fn list(&self, prefix: Option<&HashPrefix>) -> Result<Vec<NodeHash>, StoreError> {
        let (hashes, damaged) = self.listed(prefix)?;
        match damaged.into_iter().next() {
            Some(DamagedPack { path, reason }) => Err(StoreError::DamagedPack { path, reason }),
            None => Ok(hashes),
        }
    }

    fn list_readable(&self) -> Result<Vec<NodeHash>, StoreError> {
        Ok(self.listed(None)?.0)
    }

    fn stored(&self, hash: NodeHash) -> Result<Option<ObjectMetadata>, StoreError> {
        let path = self.path(hash);
        let look = || fs::symlink_metadata(&path).and_then(|meta| Ok((meta.len(), meta.modified()?)));
        let file = || match look() {
            Ok((bytes, put_at)) => Ok(Some(ObjectMetadata { bytes, put_at })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::from(FileError::failed_to("look at", &path)(error))),
        };
        if let Some(stored) = file()? {
            return Ok(Some(stored));
        }
        let packs = self.packs.view()?;
        match packs.find(hash)? {
            Some(found) => {
                let put_at = self.packs.put_at(&found.entry)?;
                Ok(Some(ObjectMetadata { bytes: u64::from(found.entry.len), put_at }))
            }
            None if packs.is_used() => file(),
            None => Ok(None),
        }
    }

    fn refresh(&self, hash: NodeHash) -> Result<bool, StoreError> {
        let path = self.path(hash);
        match durable_files::touch(&path) {
            Ok(false) => {}
            // On a read-only file system, nothing can be removed either.
            Err(error) if error.source.kind() == io::ErrorKind::ReadOnlyFilesystem => return self.contains(hash),
            // The file belongs to another user, and only its owner may touch it. Our own file with the same content is just as young.
            Err(error) if error.source.kind() == io::ErrorKind::PermissionDenied => match self.read_file(hash)? {
                Some(bytes) => return self.replace(hash, &bytes).map(|()| true),
                None => return self.contains(hash),
            },
            other => return Ok(other?),
        }
        let packs = self.packs.view()?;
        match packs.find(hash)? {
            None => Ok(packs.is_used() && durable_files::touch(&path)?),
            Some(_) => match self.packs.make_young(hash) {
                Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::ReadOnlyFilesystem => Ok(true),
                other => other.map(|()| true),
            },
        }
    }

    fn hold(&self) -> Result<HoldGuard, StoreError> {
        Ok(HoldGuard::new(self.lock(LockMode::Shared, WAIT)?))
    }

    fn sweep(&self) -> Result<SweepGuard, StoreError> {
        Ok(SweepGuard::new(self.lock(LockMode::Exclusive, WAIT)?))
    }

    fn remove_all(&self, _sweep: &SweepGuard, layers: &[&[NodeHash]]) -> Result<Vec<bool>, StoreError> {
        let hashes = layers.concat();
        let lock = if self.packs.are_used()? { Some(self.packs.lock()?) } else { None };
        lock.as_ref().map_or(Ok(()), |lock| self.packs.adopt(lock))?;
        let packed = hashes.iter().map(|hash| self.may_be_packed(*hash)).collect::<Result<Vec<bool>, _>>()?;
        let mut removed = Vec::with_capacity(hashes.len());
        // Objects in packs are removed all at once, so remove everything that precedes them first.
        for run in packed.chunk_by(PartialEq::eq) {
            let some = &hashes[removed.len()..removed.len() + run.len()];
            if let Some(lock) = lock.as_ref().filter(|_| run[0]) {
                self.packs.remove(lock, some)?;
            }
            for hash in some {
                removed.push(self.remove_file(*hash)? || run[0]);
            }
        }
        drop(lock);
        if self.packs.view()?.gone().len() > MOST_GONE {
            pack::reclaim(&self.packs, ReclaimScope::Worthwhile)?;
        }
        Ok(removed)
    }

    fn reclaim(&self, extent: ReclaimScope<'_>) -> Result<(), StoreError> {
        pack::reclaim(&self.packs, extent)
    }

    fn strays(&self) -> Result<Vec<StrayEntry>, StoreError> {
        let mut names = self.names()?;
        names.retain(|name| hash_of(name).is_none() && name != PACKS);
        names.sort_unstable();
        let unnamed = names.into_iter().map(|name| StrayEntry { name, reason: format!("not named <hash>{EXTENSION}") });
        let damaged = self.listed(None)?.1.into_iter().map(|DamagedPack { path, reason }| StrayEntry {
            name: format!("{PACKS}/{}", path.file_name().unwrap_or_default().to_string_lossy()),
            reason,
        });
        Ok(unnamed.chain(self.packs.strays()?).chain(damaged).collect())
    }
}

fn file_name(hash: NodeHash) -> String {
    format!("{hash}{EXTENSION}")
}

/// The hash in a file name. Only the exact spelling counts, because no other file name is tried for a hash.
fn hash_of(name: &str) -> Option<NodeHash> {
    let text = name.strip_suffix(EXTENSION)?;
    let hash: NodeHash = text.parse().ok()?;
    (hash.to_ascii() == text.as_bytes()).then_some(hash)
}
