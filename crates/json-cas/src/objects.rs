//! Immutable bytes by hash.

use std::any::Any;
use std::fmt;
use std::time::SystemTime;

use crate::error::StoreError;
use crate::hash::{Hash, HashPrefix};

/// Objects that whoever reads many asks for at once: enough to keep a store far away busy, and few enough to have in memory when
/// each has a megabyte.
pub const READ_AT_ONCE: usize = 256;

/// What became of an object in a batch.
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
pub enum Put {
    /// It was not there and is now.
    Published,
    /// Something is stored under its hash already and was left alone. Whether that is the same
    /// is the caller's question.
    Present,
}

/// What is known of an object without reading it.
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
pub struct Stored {
    /// Its size.
    pub bytes: u64,
    /// When it was put the last time, or found by a put.
    pub put_at: SystemTime,
}

/// How much room is to be given back: see [`Objects::reclaim`].
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
pub enum Reclaim<'h> {
    /// Nothing: only what somebody left behind who was killed is put right, so that it takes no more room.
    Nothing,
    /// What is worth the effort.
    Worthwhile,
    /// That of these objects, whatever the effort: afterwards their bytes are on the disk no more.
    These(&'h [Hash]),
}

/// As long as this lives nothing is removed: see [`Objects::hold`].
#[must_use]
pub struct Hold {
    _held: Box<dyn Any + Send + Sync>,
    era: Option<String>,
}

impl Hold {
    /// For backends: what is let go when the hold is dropped.
    pub fn new(held: impl Any + Send + Sync) -> Hold {
        Hold { _held: Box::new(held), era: None }
    }

    /// For backends that can tell whether somebody swept between two holds: the same, with its [era](Hold::era).
    pub fn in_era(self, era: Option<String>) -> Hold {
        Hold { era, ..self }
    }

    /// A text that two holds have in common only if nobody swept between them, so that what was there under the one is there
    /// under the other. `None` where nobody can tell.
    pub fn era(&self) -> Option<&str> {
        self.era.as_deref()
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hold")
    }
}

/// As long as this lives nobody holds, and its owner alone removes: see [`Objects::sweep`].
#[must_use]
pub struct Sweep {
    _held: Box<dyn Any + Send + Sync>,
}

impl Sweep {
    /// For backends: what is let go when the sweep is dropped.
    pub fn new(held: impl Any + Send + Sync) -> Sweep {
        Sweep { _held: Box::new(held) }
    }
}

impl fmt::Debug for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sweep")
    }
}

/// Something among the objects that is not an object.
#[derive(Debug, Clone, Eq, PartialEq)]
pub struct Stray {
    /// Its name or address in the backend.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Immutable bytes by hash. A backend knows nothing of what the bytes mean; [`crate::Store`] is
/// the typed access to it, [`crate::conformance`] the test of it.
pub trait Objects: Send + Sync {
    /// The bytes of an object, or `None` when there are none.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the backend fails, which is never taken for a missing object: try again.
    fn get(&self, hash: Hash) -> Result<Option<Vec<u8>>, StoreError>;

    /// The same from where the objects really are: a cache in front is not asked.
    ///
    /// # Errors
    /// As of [`Objects::get`].
    fn get_uncached(&self, hash: Hash) -> Result<Option<Vec<u8>>, StoreError> {
        self.get(hash)
    }

    /// An object, the one before it in its [chain](crate::Node::predecessor), and so on, at most so many: for who is about to walk
    /// back, where a backend can follow a chain in one call. Others give none, and whoever walks gets one object after the other.
    ///
    /// # Errors
    /// As of [`Objects::get`].
    fn chain(&self, from: Hash, most: usize) -> Result<Vec<(Hash, Vec<u8>)>, StoreError> {
        let _ = (from, most);
        Ok(Vec::new())
    }

    /// The bytes of these objects in the order of `hashes`, `None` for each that is missing. A store far away is asked for many at
    /// a time. All of it is in memory at once: [`READ_AT_ONCE`] is a good number.
    ///
    /// # Errors
    /// As of [`Objects::get`], for the first that cannot be read.
    fn get_all(&self, hashes: &[Hash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        hashes.iter().map(|hash| self.get(*hash)).collect()
    }

    /// The same from where the objects really are, as [`Objects::get_uncached`].
    ///
    /// # Errors
    /// As of [`Objects::get_all`].
    fn get_all_uncached(&self, hashes: &[Hash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        hashes.iter().map(|hash| self.get_uncached(*hash)).collect()
    }

    /// Whether bytes are stored under `hash`, whatever they are.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the backend fails.
    fn contains(&self, hash: Hash) -> Result<bool, StoreError>;

    /// Stores a batch durably: when this returns, all of it can be found again after a power cut,
    /// also what another caller of `put_all` published and is found `Present`. (What programs
    /// wrote that do not sync is a matter for [`Objects::sync`].) Never replaces; the answers are
    /// in the order of `objects`, and of two equal hashes in one batch the second is `Present`.
    /// An empty batch makes only what was published before durable.
    ///
    /// # Errors
    /// [`StoreError::Io`]; some of the objects may be stored then, which does no harm: put the same batch again.
    fn put_all(&self, objects: &[(Hash, Vec<u8>)]) -> Result<Vec<Put>, StoreError>;

    /// Whether each call takes much longer than what is done in it, as over a network. Then what may be there is put at once,
    /// instead of looked for first.
    fn is_far(&self) -> bool {
        false
    }

    /// Replaces an object that was found corrupt, or stores it if there is none. Durable.
    ///
    /// # Errors
    /// [`StoreError::Io`]; the old bytes are untouched, so the call can be made again.
    fn replace(&self, hash: Hash, bytes: &[u8]) -> Result<(), StoreError>;

    /// Makes objects that somebody else wrote durable.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] for the first one that is missing: its writer must put it. [`StoreError::Io`].
    fn sync(&self, hashes: &[Hash]) -> Result<(), StoreError>;

    /// The hashes of all objects, or of those with a prefix, sorted.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the backend fails.
    fn list(&self, prefix: Option<&HashPrefix>) -> Result<Vec<Hash>, StoreError>;

    /// The same where a part of the store is damaged, without what nobody can tell of: [`Objects::strays`] names those parts.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the backend fails.
    fn list_readable(&self) -> Result<Vec<Hash>, StoreError> {
        self.list(None)
    }

    /// What is known of an object without reading it, or `None` when there is none.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the backend fails.
    fn stored(&self, hash: Hash) -> Result<Option<Stored>, StoreError>;

    /// The same of many, in their order. A store far away is asked for many at a time.
    ///
    /// # Errors
    /// As of [`Objects::stored`].
    fn stored_all(&self, hashes: &[Hash]) -> Result<Vec<Option<Stored>>, StoreError> {
        hashes.iter().map(|hash| self.stored(*hash)).collect()
    }

    /// Makes an object as young as if it had been put just now; `false` if there is none.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the backend fails.
    fn refresh(&self, hash: Hash) -> Result<bool, StoreError>;

    /// Holds off every removal, by any process, until the value is dropped. Whoever puts or finds a node and then lets something
    /// lead to it holds meanwhile; whoever sweeps sees what led where either before or after. Any number may hold, also one
    /// that does already.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when somebody sweeps for too long: try again. [`StoreError::Io`].
    fn hold(&self) -> Result<Hold, StoreError>;

    /// Waits until nobody holds, and keeps others from it until the value is dropped.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when others hold or sweep for too long: try again. [`StoreError::Io`].
    fn sweep(&self) -> Result<Sweep, StoreError>;

    /// Removes objects layer after layer ([`Store::layers`](crate::Store::layers)): whenever this ends early, nothing of a layer is
    /// gone while something of one before it is there. Says of each, in their order, whether it was there. That nothing leads to
    /// them is the caller's business, who has looked since the sweep began. After a power cut they may be there again.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the backend fails, [`StoreError::Busy`] when others keep it for too long,
    /// [`StoreError::SweepEnded`]. Some may be removed then.
    fn remove_all(&self, sweep: &Sweep, layers: &[&[Hash]]) -> Result<Vec<bool>, StoreError>;

    /// Gives back the room of objects that were removed, where a backend does not do that at once. Nobody who reads notices.
    ///
    /// # Errors
    /// As of [`Objects::remove_all`]; [`StoreError::Corrupt`] and [`StoreError::DamagedPack`] when what stays cannot be read:
    /// everything is left as it is then.
    fn reclaim(&self, extent: Reclaim<'_>) -> Result<(), StoreError> {
        let _ = extent;
        Ok(())
    }

    /// Removes damaged copies of these objects from a local cache. Returns their hashes. Does nothing without a cache.
    fn drop_garbled_copies(&self, hashes: &[Hash]) -> Vec<Hash> {
        let _ = hashes;
        Vec::new()
    }

    /// What lies among the objects and is not one, for a report. Only a backend that other programs can write into has any.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the backend fails.
    fn strays(&self) -> Result<Vec<Stray>, StoreError> {
        Ok(Vec::new())
    }
}
