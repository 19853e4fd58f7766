//! Tokens of machines. They are separate from the secret that people log in with: a token only lets a machine offer itself, and a person
//! can't pose as a machine.
//!
//! A gateway stores nothing else. The file has only hashes, so reading it does not allow a connection.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use durable_files::{FileError, FileLock, regular};
use serde::{Deserialize, Serialize};
use uwf_engine::root::home::Home;
use uwf_engine::root::ids;

use super::name::MachineName;
use crate::guard::token::random;

/// The environment variable with a machine's token, on that machine.
pub const MACHINE_TOKEN_VARIABLE: &str = uwf_core::config::GATEWAY_TOKEN;

/// Context for deriving the hash of a token.
const CONTEXT: &str = "uwf 2026-11 token of a machine";

/// Largest file: room for some ten thousand machines.
const MAX_FILE: u64 = 4 << 20;

/// How long to wait for another writer.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Stored data of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredMachineToken {
    /// The hash of the token.
    pub(crate) hash: String,
    /// When it was created, in Unix milliseconds.
    pub made_at: u64,
}

/// The tokens of a storage root.
#[derive(Debug, Clone)]
pub struct MachineTokens {
    file: PathBuf,
    lock: PathBuf,
}

/// Why tokens can't be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// Another process is changing them.
    #[error("another process has been changing {} for too long", .0.display())]
    Busy(PathBuf),
    /// The file has invalid content.
    #[error("{} does not hold tokens of machines: {why}", .file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The error in the content.
        why: String,
    },
    /// Writing or locking the file failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// Reading the file or getting random numbers failed.
    #[error("cannot read {}: {source}", .file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl MachineTokens {
    /// The tokens of a storage root. Reads nothing yet.
    pub fn of_root(home: &Home) -> MachineTokens {
        MachineTokens { file: home.gateway_tokens(), lock: home.gateway_lock() }
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Creates a machine's token. Its previous token becomes invalid.
    pub fn make(&self, name: &MachineName) -> Result<String, TokenError> {
        let token = random().map_err(|source| TokenError::Read { file: "random numbers".into(), source })?;
        let kept = StoredMachineToken { hash: hash(&token), made_at: ids::now_ms() };
        self.update(|all| drop(all.insert(name.to_string(), kept)))?;
        Ok(token)
    }

    /// Makes the token of a machine invalid. Returns whether it had one.
    pub fn revoke(&self, name: &MachineName) -> Result<bool, TokenError> {
        self.update(|all| all.remove(name.as_str()).is_some())
    }

    /// The machines that have a token.
    pub fn all(&self) -> Result<BTreeMap<String, StoredMachineToken>, TokenError> {
        let bytes = match regular::read(&self.file, MAX_FILE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(source) => return Err(TokenError::Read { file: self.file.clone(), source }),
        };
        serde_json::from_slice(&bytes)
            .map_err(|error| TokenError::Damaged { file: self.file.clone(), why: error.to_string() })
    }

    fn update<T>(&self, change: impl FnOnce(&mut BTreeMap<String, StoredMachineToken>) -> T) -> Result<T, TokenError> {
        let _lock = FileLock::acquire(&self.lock, LOCK_WAIT)?.ok_or_else(|| TokenError::Busy(self.file.clone()))?;
        let mut all = self.all()?;
        let result = change(&mut all);
        let text = serde_json::to_string_pretty(&all)
            .map_err(|error| TokenError::Damaged { file: self.file.clone(), why: error.to_string() })?;
        durable_files::replace_private(&self.file, format!("{text}\n").as_bytes())?;
        Ok(result)
    }
}

/// The hash of a token. Tokens are long and random, so a fast hash is enough. Comparing hashes does not reveal by its timing how much of a
/// token is right.
pub(crate) fn hash(token: &str) -> String {
    blake3::Hash::from(blake3::derive_key(CONTEXT, token.as_bytes())).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn token_is_stored_hashed_and_replaced_by_next() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = MachineTokens::of_root(&Home::open(dir.path(), "uwf"));
        let name: MachineName = "laptop".parse().unwrap();
        assert_eq!(tokens.all().unwrap(), BTreeMap::new());
        let first = tokens.make(&name).unwrap();
        let kept = std::fs::read_to_string(tokens.file()).unwrap();
        assert!(!kept.contains(&first) && kept.contains(&hash(&first)), "{kept}");
        assert_eq!(std::fs::metadata(tokens.file()).unwrap().permissions().mode() & 0o777, 0o600);
        let second = tokens.make(&name).unwrap();
        assert_ne!(first, second);
        assert_eq!(tokens.all().unwrap()["laptop"].hash, hash(&second));
        assert!(tokens.revoke(&name).unwrap());
        assert!(!tokens.revoke(&name).unwrap());
        assert_eq!(tokens.all().unwrap(), BTreeMap::new());
    }

    #[test]
    fn unreadable_list_is_error_not_empty() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = MachineTokens::of_root(&Home::open(dir.path(), "uwf"));
        std::fs::write(tokens.file(), "{\"laptop\": 1}").unwrap();
        let name: MachineName = "laptop".parse().unwrap();
        assert!(matches!(tokens.all(), Err(TokenError::Damaged { .. })));
        assert!(tokens.make(&name).is_err());
        assert_eq!(std::fs::read_to_string(tokens.file()).unwrap(), "{\"laptop\": 1}");
    }
}
