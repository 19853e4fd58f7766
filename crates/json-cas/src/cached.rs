//! Objects in a remote store, cached in a directory of this machine.

mod known;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use durable_files::regular;
use parking_lot::Mutex;

use self::known::{PresentObjectsFile, There};
use crate::error::StoreError;
use crate::hash::{HashPrefix, NodeHash, xxh64};
use crate::objects::{
    HoldGuard, ObjectBackend, ObjectMetadata, ObjectPutOutcome, ReclaimScope, StrayEntry, SweepGuard,
};

/// Bytes of the checksum at the end of each file.
const SUM: usize = 8;

/// How often an object is requested if each answer is garbled in another way.
const ASKED: usize = 3;

/// Delay after the second garbled answer. The first retry has no delay, because it usually shows that the stored bytes are damaged.
const PAUSE: Duration = Duration::from_millis(100);

/// A cache for the objects of another backend. Each object is read from the backend once.
///
/// An object never changes, so its cached bytes stay right. Whether the object still exists does not stay right, because objects are
/// removed. So the directory answers only [`ObjectBackend::get`], while holders remember what exists since the last sweep. A cache file that is
/// damaged, unwritable or missing costs one call of the backend and nothing else.
///
/// Objects are checked when they arrive, so that a garbled answer never stays in the cache.
pub struct CachedObjects {
    behind: Arc<dyn ObjectBackend>,
    dir: PathBuf,
    is_object: fn(NodeHash, &[u8]) -> bool,
    sure: Arc<PresentObjects>,
}

/// Objects that are known to exist in the backend during a hold, when nothing can be removed.
#[derive(Default)]
struct PresentObjects {
    held: Mutex<HoldState>,
}

/// All holds of this process share one hold of the backend.
#[derive(Default)]
struct HoldState {
    holders: usize,
    behind: Option<HoldGuard>,
    there: There,
    /// The knowledge of other processes of this machine, if it still applies.
    known: Option<PresentObjectsFile>,
}

impl PresentObjects {
    /// Remembers that objects exist, and when they were put if that is known.
    fn learn(&self, objects: impl IntoIterator<Item = (NodeHash, Option<SystemTime>)>) {
        let mut held = self.held.lock();
        if held.holders == 0 {
            return;
        }
        let is_new = |(hash, put_at): &(NodeHash, Option<SystemTime>)| match held.there.get(hash) {
            None => true,
            Some(known) => put_at.is_some() && known != put_at,
        };
        let new: Vec<_> = objects.into_iter().filter(is_new).collect();
        held.there.extend(new.iter().copied());
        if let Some(known) = held.known.as_ref().filter(|_| !new.is_empty()) {
            known.add(&new);
        }
    }

    fn knows(&self, hash: NodeHash) -> bool {
        self.held.lock().there.contains_key(&hash)
    }

    fn put_at(&self, hash: NodeHash) -> Option<SystemTime> {
        self.held.lock().there.get(&hash).copied().flatten()
    }
}

/// One hold. When the last one ends, the knowledge is dropped.
struct CacheHold(Arc<PresentObjects>);

impl Drop for CacheHold {
    fn drop(&mut self) {
        let mut held = self.0.held.lock();
        held.holders -= 1;
        if held.holders == 0 {
            *held = HoldState::default();
        }
    }
}

impl CachedObjects {
    /// The objects of `behind`, cached in the files of a directory, which need not exist yet. `is_object` says whether bytes are the
    /// object of a hash: for nodes, use [`Node::has_hash`](crate::Node::has_hash).
    pub fn new(
        behind: Arc<dyn ObjectBackend>,
        dir: impl Into<PathBuf>,
        is_object: fn(NodeHash, &[u8]) -> bool,
    ) -> CachedObjects {
        CachedObjects { behind, dir: dir.into(), is_object, sure: Arc::default() }
    }

    /// Each subdirectory has about 1/512 of the objects.
    fn path(&self, hash: NodeHash) -> PathBuf {
        let name = hash.to_string();
        self.dir.join(&name[..2]).join(name)
    }

    /// The cached object. Checked, because programs that don't check what they read may have cached other bytes.
    fn cached(&self, hash: NodeHash) -> Option<Vec<u8>> {
        let bytes = self.copy(hash)?;
        let is_object = (self.is_object)(hash, &bytes);
        if !is_object {
            self.drop_cached(hash);
        }
        is_object.then_some(bytes)
    }

    /// Returns the cached bytes of a hash without checking them.
    fn copy(&self, hash: NodeHash) -> Option<Vec<u8>> {
        let mut bytes = regular::read(&self.path(hash), regular::MAX_LIST).ok()?;
        let sum: [u8; SUM] = bytes.split_off(bytes.len().checked_sub(SUM)?).try_into().ok()?;
        (xxh64(&bytes).as_u64() == u64::from_le_bytes(sum)).then_some(bytes)
    }

    /// Caches bytes, if possible.
    fn keep(&self, hash: NodeHash, bytes: &[u8]) {
        let path = self.path(hash);
        let _ = path.parent().map_or(Ok(()), |dir| written(dir, &path, bytes));
    }

    fn drop_cached(&self, hash: NodeHash) {
        let _ = fs::remove_file(self.path(hash));
    }

    /// Checks the bytes in `first` against their hash, and reads them again if they differ. Two equal answers are the stored bytes, which
    /// the caller finds damaged. Different answers were garbled on the way.
    ///
    /// # Errors
    /// [`StoreError::Garbled`], and errors of the backend.
    fn arrived(&self, hash: NodeHash, first: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, StoreError> {
        let mut garbled: Vec<Vec<u8>> = Vec::new();
        let mut answer = first;
        loop {
            match answer {
                Some(bytes) if !(self.is_object)(hash, &bytes) && !garbled.contains(&bytes) => garbled.push(bytes),
                answer => return Ok(answer),
            }
            if garbled.len() == ASKED {
                return Err(StoreError::Garbled { hash, asked: ASKED });
            }
            if garbled.len() > 1 {
                thread::sleep(PAUSE);
            }
            answer = self.behind.get_uncached(hash)?;
        }
    }

    /// Caches an object that arrived and returns whether it is sound. An object that is damaged in the store is not cached.
    fn keep_arrived(&self, hash: NodeHash, bytes: &[u8]) -> bool {
        let is_object = (self.is_object)(hash, bytes);
        if is_object {
            self.keep(hash, bytes);
        }
        is_object
    }
}

/// Neither atomic nor durable: the checksum shows whether the file is complete.
fn written(dir: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut file = bytes.to_vec();
    file.extend(xxh64(bytes).as_u64().to_le_bytes());
    regular::write(path, &file)
}

impl ObjectBackend for CachedObjects {
    fn get(&self, hash: NodeHash) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(bytes) = self.cached(hash) {
            return Ok(Some(bytes));
        }
        let bytes = self.arrived(hash, self.behind.get(hash)?)?;
        if let Some(bytes) = &bytes {
            self.keep_arrived(hash, bytes);
            self.sure.learn([(hash, None)]);
        }
        Ok(bytes)
    }

    fn get_uncached(&self, hash: NodeHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.arrived(hash, self.behind.get_uncached(hash)?)
    }

    /// Empty if the first object is already cached.
    fn chain(&self, from: NodeHash, most: usize) -> Result<Vec<(NodeHash, Vec<u8>)>, StoreError> {
        if self.cached(from).is_some() {
            return Ok(Vec::new());
        }
        let mut chain = self.behind.chain(from, most)?;
        // The caller requests the objects that are left out here.
        chain.retain(|(hash, bytes)| self.keep_arrived(*hash, bytes));
        self.sure.learn(chain.iter().map(|(hash, _)| (*hash, None)));
        Ok(chain)
    }

    fn get_all(&self, hashes: &[NodeHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let mut all: Vec<Option<Vec<u8>>> = hashes.iter().map(|hash| self.cached(*hash)).collect();
        let lacking: Vec<NodeHash> =
            hashes.iter().zip(&all).filter(|(_, here)| here.is_none()).map(|(hash, _)| *hash).collect();
        let mut read = self.behind.get_all(&lacking)?.into_iter();
        let mut found = Vec::new();
        for (hash, here) in hashes.iter().zip(&mut all).filter(|(_, here)| here.is_none()) {
            *here = self.arrived(*hash, read.next().flatten())?;
            if let Some(bytes) = here {
                self.keep_arrived(*hash, bytes);
                found.push((*hash, None));
            }
        }
        self.sure.learn(found);
        Ok(all)
    }

    fn get_all_uncached(&self, hashes: &[NodeHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let all = self.behind.get_all_uncached(hashes)?;
        hashes.iter().zip(all).map(|(hash, first)| self.arrived(*hash, first)).collect()
    }

    fn contains(&self, hash: NodeHash) -> Result<bool, StoreError> {
        if self.sure.knows(hash) {
            return Ok(true);
        }
        let is_there = self.behind.contains(hash)?;
        self.sure.learn(is_there.then_some((hash, None)));
        Ok(is_there)
    }

    fn put_all(&self, objects: &[(NodeHash, Vec<u8>)]) -> Result<Vec<ObjectPutOutcome>, StoreError> {
        // The caller compares the stored bytes, and finds them in the cache.
        let is_here = |hash: NodeHash| self.sure.knows(hash) && self.cached(hash).is_some();
        let are_here: Vec<bool> = objects.iter().map(|(hash, _)| is_here(*hash)).collect();
        let new = objects.iter().zip(&are_here).filter(|(_, is_here)| !**is_here);
        let new: Vec<_> = new.map(|(object, _)| object.clone()).collect();
        let puts = self.behind.put_all(&new)?;
        for ((hash, bytes), put) in new.iter().zip(&puts) {
            match put {
                ObjectPutOutcome::Published => self.keep(*hash, bytes),
                // The stored bytes may differ, and the caller is about to look.
                ObjectPutOutcome::Present => self.drop_cached(*hash),
            }
        }
        let now = SystemTime::now();
        let learned = |((hash, _), put): (&(NodeHash, _), &ObjectPutOutcome)| {
            (*hash, (*put == ObjectPutOutcome::Published).then_some(now))
        };
        self.sure.learn(new.iter().zip(&puts).map(learned));
        let mut puts = puts.into_iter();
        let put = |is_here| if is_here { None } else { puts.next() };
        Ok(are_here.into_iter().map(put).map(|put| put.unwrap_or(ObjectPutOutcome::Present)).collect())
    }

    fn is_far(&self) -> bool {
        self.behind.is_far()
    }

    fn replace(&self, hash: NodeHash, bytes: &[u8]) -> Result<(), StoreError> {
        self.drop_cached(hash);
        self.behind.replace(hash, bytes)
    }

    fn sync(&self, hashes: &[NodeHash]) -> Result<(), StoreError> {
        let unsure: Vec<NodeHash> = hashes.iter().copied().filter(|hash| !self.sure.knows(*hash)).collect();
        self.behind.sync(&unsure)?;
        self.sure.learn(unsure.into_iter().map(|hash| (hash, None)));
        Ok(())
    }

    fn list(&self, prefix: Option<&HashPrefix>) -> Result<Vec<NodeHash>, StoreError> {
        self.behind.list(prefix)
    }

    fn list_readable(&self) -> Result<Vec<NodeHash>, StoreError> {
        self.behind.list_readable()
    }

    fn stored(&self, hash: NodeHash) -> Result<Option<ObjectMetadata>, StoreError> {
        Ok(self.stored_all(&[hash])?.pop().flatten())
    }

    fn stored_all(&self, hashes: &[NodeHash]) -> Result<Vec<Option<ObjectMetadata>>, StoreError> {
        // Another machine may have refreshed an object since, which is harmless.
        let known = |hash: &NodeHash| {
            let (put_at, bytes) = (self.sure.put_at(*hash)?, self.cached(*hash)?);
            Some(ObjectMetadata { bytes: bytes.len() as u64, put_at })
        };
        let mut all: Vec<Option<ObjectMetadata>> = hashes.iter().map(known).collect();
        let lacking: Vec<usize> = (0..all.len()).filter(|index| all[*index].is_none()).collect();
        let asked: Vec<NodeHash> = lacking.iter().map(|index| hashes[*index]).collect();
        let found = self.behind.stored_all(&asked)?;
        let there = asked.iter().zip(&found).filter_map(|(hash, stored)| Some((*hash, Some((*stored)?.put_at))));
        self.sure.learn(there);
        lacking.into_iter().zip(found).for_each(|(index, stored)| all[index] = stored);
        Ok(all)
    }

    fn refresh(&self, hash: NodeHash) -> Result<bool, StoreError> {
        let is_there = self.behind.refresh(hash)?;
        self.sure.learn(is_there.then(|| (hash, Some(SystemTime::now()))));
        Ok(is_there)
    }

    fn hold(&self) -> Result<HoldGuard, StoreError> {
        let mut held = self.sure.held.lock();
        if held.behind.is_none() {
            let behind = self.behind.hold()?;
            held.known = behind.era().map(|era| PresentObjectsFile::open_for_era(&self.dir, era));
            held.there = held.known.as_ref().map(PresentObjectsFile::read).unwrap_or_default();
            held.behind = Some(behind);
        }
        held.holders += 1;
        Ok(HoldGuard::new(CacheHold(Arc::clone(&self.sure))))
    }

    fn sweep(&self) -> Result<SweepGuard, StoreError> {
        self.behind.sweep()
    }

    fn remove_all(&self, sweep: &SweepGuard, layers: &[&[NodeHash]]) -> Result<Vec<bool>, StoreError> {
        let removed = self.behind.remove_all(sweep, layers)?;
        layers.iter().copied().flatten().for_each(|hash| self.drop_cached(*hash));
        Ok(removed)
    }

    fn reclaim(&self, extent: ReclaimScope<'_>) -> Result<(), StoreError> {
        self.behind.reclaim(extent)
    }

    fn drop_garbled_copies(&self, hashes: &[NodeHash]) -> Vec<NodeHash> {
        let is_garbled = |hash: &NodeHash| self.copy(*hash).is_some_and(|bytes| !(self.is_object)(*hash, &bytes));
        let garbled: Vec<NodeHash> = hashes.iter().copied().filter(is_garbled).collect();
        garbled.iter().for_each(|hash| self.drop_cached(*hash));
        garbled
    }

    fn strays(&self) -> Result<Vec<StrayEntry>, StoreError> {
        self.behind.strays()
    }
}
