//! Hashes as people type them.

use super::Store;
use crate::error::StoreError;
use crate::hash::{HashPrefix, NodeHash};

/// Number of candidates reported for an ambiguous prefix.
const MAX_MATCHES: usize = 5;

impl Store {
    /// The hash that `text` means: either a full hash, which is not looked up, or a prefix of at least 4 symbols that matches exactly one
    /// stored node.
    ///
    /// # Errors
    /// [`StoreError::BadHash`] if no hash can begin with the text. [`StoreError::NoSuchPrefix`]. [`StoreError::AmbiguousPrefix`] with the
    /// first candidates: ask for more symbols. [`StoreError::Io`] if the backend fails: try again.
    pub fn resolve_prefix(&self, text: &str) -> Result<NodeHash, StoreError> {
        if text.len() == NodeHash::LEN {
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
