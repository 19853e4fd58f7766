//! Immutable bytes by hash.

use crate::error::StoreError;
use crate::hash::{Hash, HashPrefix};

/// What became of an object in a batch.
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
pub enum Put {
    /// It was not there and is now.
    Published,
    /// Something is stored under its hash already and was left alone. Whether that is the same
    /// is the caller's question.
    Present,
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

    /// Replaces an object that was found corrupt, or stores it if there is none. Durable.
    ///
    /// # Errors
    /// [`StoreError::Io`]; the old bytes are untouched, so the call can be made again.
    fn replace(&self, hash: Hash, bytes: &[u8]) -> Result<(), StoreError>;

    /// Makes objects that somebody else wrote durable.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] for the first one that is missing: whoever wrote it has to put it. [`StoreError::Io`].
    fn sync(&self, hashes: &[Hash]) -> Result<(), StoreError>;

    /// The hashes of all objects, or of those with a prefix, sorted.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the backend fails.
    fn list(&self, prefix: Option<&HashPrefix>) -> Result<Vec<Hash>, StoreError>;

    /// What lies among the objects and is not one, for a report. Only a backend that other programs can write into has any.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the backend fails.
    fn strays(&self) -> Result<Vec<Stray>, StoreError> {
        Ok(Vec::new())
    }
}
