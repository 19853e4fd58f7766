//! Immutable bytes by hash.

use std::any::Any;
use std::fmt;
use std::time::SystemTime;

use crate::error::StoreError;
use crate::hash::{HashPrefix, NodeHash};

/// Objects to request at once when reading many: enough to keep a remote store busy, and few enough to keep in memory if each has a
/// megabyte.
pub const READ_AT_ONCE: usize = 256;

/// The outcome for one object of a batch.
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
pub enum ObjectPutOutcome {
    /// The object did not exist and was stored.
    Published,
    /// Something is already stored under its hash and was left alone. The caller must compare it.
    Present,
}

/// Metadata of an object.
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
pub struct ObjectMetadata {
    /// The size.
    pub bytes: u64,
    /// When the object was last put, or found by a put.
    pub put_at: SystemTime,
}

/// How much disk space to reclaim: see [`ObjectBackend::reclaim`].
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
pub enum ReclaimScope<'h> {
    /// Only clean up after killed processes, so that their leftovers stop taking space.
    Nothing,
    /// Reclaim what is worth the effort.
    Worthwhile,
    /// Reclaim the space of these objects, whatever the effort: afterwards their bytes are no longer on the disk.
    These(&'h [NodeHash]),
}

/// While this value lives, no object is removed: see [`ObjectBackend::hold`].
#[must_use]
pub struct HoldGuard {
    _held: Box<dyn Any + Send + Sync>,
    era: Option<String>,
}

impl HoldGuard {
    /// For backends: wraps a value that is released when the hold is dropped.
    pub fn new(held: impl Any + Send + Sync) -> HoldGuard {
        HoldGuard { _held: Box::new(held), era: None }
    }

    /// For backends that can detect sweeps between two holds: the same hold with its [era](HoldGuard::era).
    pub fn in_era(self, era: Option<String>) -> HoldGuard {
        HoldGuard { era, ..self }
    }

    /// A text that two holds share only if no sweep happened between them, so that objects which existed under one hold exist under the
    /// other. `None` if the backend can't detect sweeps.
    pub fn era(&self) -> Option<&str> {
        self.era.as_deref()
    }
}

impl fmt::Debug for HoldGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hold")
    }
}

/// While this value lives, no process holds, and only its owner removes objects: see [`ObjectBackend::sweep`].
#[must_use]
pub struct SweepGuard {
    _held: Box<dyn Any + Send + Sync>,
}

impl SweepGuard {
    /// For backends: wraps a value that is released when the sweep is dropped.
    pub fn new(held: impl Any + Send + Sync) -> SweepGuard {
        SweepGuard { _held: Box::new(held) }
    }
}

impl fmt::Debug for SweepGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sweep")
    }
}

/// Something among the objects that is not an object.
#[derive(Debug, Clone, Eq, PartialEq)]
pub struct StrayEntry {
    /// Its name or address in the backend.
    pub name: String,
    /// The problem.
    pub reason: String,
}

/// Immutable bytes by hash. Backends don't interpret the bytes. [`crate::Store`] is the typed access to a backend, [`crate::conformance`]
/// its test.
pub trait ObjectBackend: Send + Sync {
    /// The bytes of an object, or `None` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the backend fails, which is never reported as a missing object: try again.
    fn get(&self, hash: NodeHash) -> Result<Option<Vec<u8>>, StoreError>;

    /// Like [`ObjectBackend::get`], but bypasses any cache.
    fn get_uncached(&self, hash: NodeHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.get(hash)
    }

    /// An object and its predecessors in the [chain](crate::Node::predecessor), at most `most` in total. For callers that are about to
    /// walk back, if the backend can follow a chain in one call. Other backends return an empty list, and the caller reads the objects one
    /// by one.
    fn chain(&self, from: NodeHash, most: usize) -> Result<Vec<(NodeHash, Vec<u8>)>, StoreError> {
        let _ = (from, most);
        Ok(Vec::new())
    }

    /// The bytes of these objects in the order of `hashes`, `None` for each missing one. A remote store is asked for many at a time. All
    /// results are in memory at once: [`READ_AT_ONCE`] is a good number.
    ///
    /// # Errors
    /// Like [`ObjectBackend::get`], for the first object that can't be read.
    fn get_all(&self, hashes: &[NodeHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        hashes.iter().map(|hash| self.get(*hash)).collect()
    }

    /// Like [`ObjectBackend::get_all`], but bypasses any cache.
    fn get_all_uncached(&self, hashes: &[NodeHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        hashes.iter().map(|hash| self.get_uncached(*hash)).collect()
    }

    /// Whether any bytes are stored under `hash`.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the backend fails.
    fn contains(&self, hash: NodeHash) -> Result<bool, StoreError>;

    /// Stores a batch durably and returns the outcomes in the order of `objects`. When this returns, the whole batch survives a power cut,
    /// including `Present` objects that another caller of `put_all` published. (For objects of programs that don't sync, see
    /// [`ObjectBackend::sync`].) Never replaces an object. If a batch has two equal hashes, the second one is `Present`. An empty batch only
    /// makes earlier published objects durable.
    ///
    /// # Errors
    /// [`StoreError::Io`]; some of the objects may then be stored, which is harmless: put the same batch again.
    fn put_all(&self, objects: &[(NodeHash, Vec<u8>)]) -> Result<Vec<ObjectPutOutcome>, StoreError>;

    /// Whether a call takes much longer than the work in it, as over a network. Then callers put objects at once, without first checking
    /// whether they exist.
    fn is_far(&self) -> bool {
        false
    }

    /// Replaces a corrupt object, or stores it if it doesn't exist. Durable.
    ///
    /// # Errors
    /// [`StoreError::Io`]; the old bytes are untouched, so the call can be repeated.
    fn replace(&self, hash: NodeHash, bytes: &[u8]) -> Result<(), StoreError>;

    /// Makes objects durable that other programs wrote.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] for the first missing object: its writer must put it. [`StoreError::Io`].
    fn sync(&self, hashes: &[NodeHash]) -> Result<(), StoreError>;

    /// The hashes of all objects, optionally only with a prefix, sorted.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the backend fails.
    fn list(&self, prefix: Option<&HashPrefix>) -> Result<Vec<NodeHash>, StoreError>;

    /// Like [`ObjectBackend::list`], but skips damaged parts of the store, whose objects are unknown. [`ObjectBackend::strays`] names those parts.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the backend fails.
    fn list_readable(&self) -> Result<Vec<NodeHash>, StoreError> {
        self.list(None)
    }

    /// Metadata of an object, or `None` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the backend fails.
    fn stored(&self, hash: NodeHash) -> Result<Option<ObjectMetadata>, StoreError>;

    /// Metadata of many objects, in the order of `hashes`. A remote store is asked for many at a time.
    fn stored_all(&self, hashes: &[NodeHash]) -> Result<Vec<Option<ObjectMetadata>>, StoreError> {
        hashes.iter().map(|hash| self.stored(*hash)).collect()
    }

    /// Makes an object as young as if it had just been put; `false` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the backend fails.
    fn refresh(&self, hash: NodeHash) -> Result<bool, StoreError>;

    /// Prevents removals by any process until the value is dropped. Hold from before you put or find a node until a reference to it is
    /// stored: a sweeper then sees the references as they were before or after that. Any number of callers may hold, and a holder may hold
    /// again.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if a sweep takes too long: try again. [`StoreError::Io`].
    fn hold(&self) -> Result<HoldGuard, StoreError>;

    /// Waits until no process holds, and prevents new holds until the value is dropped.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if others hold or sweep for too long: try again. [`StoreError::Io`].
    fn sweep(&self) -> Result<SweepGuard, StoreError>;

    /// Removes objects layer by layer ([`Store::layers`](crate::Store::layers)). Whenever this ends early, no object of a layer is gone
    /// while an object of an earlier layer exists. Returns for each object, in order, whether it existed. The caller must have checked,
    /// after the sweep began, that the objects are unreferenced. After a power cut, removed objects may exist again.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the backend fails, [`StoreError::Busy`] if others lock it for too long, [`StoreError::SweepEnded`]. Some
    /// objects may then be removed.
    fn remove_all(&self, sweep: &SweepGuard, layers: &[&[NodeHash]]) -> Result<Vec<bool>, StoreError>;

    /// Reclaims the space of removed objects, if the backend does not do that at once. Readers don't notice.
    ///
    /// # Errors
    /// Like [`ObjectBackend::remove_all`]; [`StoreError::Corrupt`] and [`StoreError::DamagedPack`] if remaining objects can't be read: then
    /// nothing is changed.
    fn reclaim(&self, extent: ReclaimScope<'_>) -> Result<(), StoreError> {
        let _ = extent;
        Ok(())
    }

    /// Removes damaged copies of these objects from a local cache. Returns their hashes. Does nothing without a cache.
    fn drop_garbled_copies(&self, hashes: &[NodeHash]) -> Vec<NodeHash> {
        let _ = hashes;
        Vec::new()
    }

    /// Things among the objects that are not objects, for a report. Only backends that other programs can write into have any.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the backend fails.
    fn strays(&self) -> Result<Vec<StrayEntry>, StoreError> {
        Ok(Vec::new())
    }
}
