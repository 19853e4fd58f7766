//! Hashes as people type them.

use super::Store;
use crate::error::StoreError;
use crate::hash::{Hash, HashPrefix};

/// Candidates named when a prefix is ambiguous.
const MAX_MATCHES: usize = 5;

impl Store {
    /// The hash that `text` means: a full hash, taken as it is without looking, or the beginning
    /// of exactly one stored node's hash, at least 4 symbols.
    ///
    /// # Errors
    /// [`StoreError::BadHash`] for a text that no hash can begin with. [`StoreError::NoSuchPrefix`]. [`StoreError::AmbiguousPrefix`]
    /// with the first candidates: ask for more symbols. [`StoreError::Io`] when the backend fails: try again.
    pub fn resolve_prefix(&self, text: &str) -> Result<Hash, StoreError> {
        if text.len() == Hash::LEN {
            return Ok(text.parse()?);
        }
        let prefix: HashPrefix = text.parse()?;
        let mut matches = self.objects.list(Some(&prefix))?;
        let more = matches.len() > MAX_MATCHES;
        matches.truncate(MAX_MATCHES);
        let prefix = text.to_ascii_uppercase();
        match matches[..] {
            [] => Err(StoreError::NoSuchPrefix { prefix }),
            [hash] => Ok(hash),
            _ => Err(StoreError::AmbiguousPrefix { prefix, matches, more }),
        }
    }
}
