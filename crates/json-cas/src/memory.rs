//! Both doors in memory, for tests and for hashing without storing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::hash::{Hash, HashPrefix};
use crate::heads::{Head, Heads, HeadsError, Swap, Version, check_name, check_record, record_name};
use crate::objects::{Objects, Put};
use crate::store::StoreError;

/// Objects that last as long as the value.
#[derive(Debug, Default)]
pub struct MemoryObjects {
    objects: Mutex<BTreeMap<Hash, Vec<u8>>>,
}

/// A map stays whole when a thread panics between two calls, so a poisoned lock is no reason to
/// stop.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryObjects {
    /// An empty store.
    pub fn new() -> MemoryObjects {
        MemoryObjects::default()
    }
}

impl Objects for MemoryObjects {
    fn get(&self, hash: Hash) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(lock(&self.objects).get(&hash).cloned())
    }

    fn contains(&self, hash: Hash) -> Result<bool, StoreError> {
        Ok(lock(&self.objects).contains_key(&hash))
    }

    fn put_all(&self, objects: &[(Hash, Vec<u8>)]) -> Result<Vec<Put>, StoreError> {
        let mut stored = lock(&self.objects);
        Ok(objects
            .iter()
            .map(|(hash, bytes)| match stored.contains_key(hash) {
                true => Put::Present,
                false => {
                    stored.insert(*hash, bytes.clone());
                    Put::Published
                }
            })
            .collect())
    }

    fn replace(&self, hash: Hash, bytes: &[u8]) -> Result<(), StoreError> {
        lock(&self.objects).insert(hash, bytes.to_vec());
        Ok(())
    }

    fn sync(&self, hashes: &[Hash]) -> Result<(), StoreError> {
        let stored = lock(&self.objects);
        match hashes.iter().find(|hash| !stored.contains_key(hash)) {
            Some(hash) => Err(StoreError::NotFound { hash: *hash }),
            None => Ok(()),
        }
    }

    fn list(&self, prefix: Option<&HashPrefix>) -> Result<Vec<Hash>, StoreError> {
        let stored = lock(&self.objects);
        Ok(match prefix {
            Some(prefix) => stored.range(prefix.range()).map(|(hash, _)| *hash).collect(),
            None => stored.keys().copied().collect(),
        })
    }
}

/// Heads that last as long as the value.
#[derive(Debug, Default)]
pub struct MemoryHeads {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Name → hash and the number of the swap that put it there.
    names: BTreeMap<String, (Hash, u64)>,
    journal: Vec<Value>,
    swaps: u64,
}

impl MemoryHeads {
    /// No names.
    pub fn new() -> MemoryHeads {
        MemoryHeads::default()
    }
}

impl State {
    fn head(&self, name: &str) -> Option<Head> {
        self.names.get(name).map(|(hash, swap)| Head { hash: *hash, version: Version::new(swap.to_string()) })
    }

    fn retired(&self, name: &str) -> Option<&Value> {
        self.journal.iter().rev().find(|record| record_name(record) == Some(name))
    }
}

impl Heads for MemoryHeads {
    fn read(&self, name: &str) -> Result<Option<Head>, HeadsError> {
        check_name(name)?;
        Ok(lock(&self.state).head(name))
    }

    fn list(&self) -> Result<Vec<(String, Hash)>, HeadsError> {
        let state = lock(&self.state);
        Ok(state.names.iter().map(|(name, (hash, _))| (name.clone(), *hash)).collect())
    }

    fn swap(&self, name: &str, expected: Option<&Version>, new: Hash) -> Result<Swap, HeadsError> {
        check_name(name)?;
        let mut state = lock(&self.state);
        let current = state.head(name);
        if current.as_ref().map(|head| &head.version) != expected {
            return Ok(Swap::Moved(current));
        }
        if expected.is_none() && state.retired(name).is_some() {
            return Err(HeadsError::Finished { name: name.to_owned() });
        }
        state.swaps += 1;
        let swap = state.swaps;
        state.names.insert(name.to_owned(), (new, swap));
        Ok(Swap::Done)
    }

    fn retire(&self, name: &str, expected: &Version, record: &Value) -> Result<Swap, HeadsError> {
        check_name(name)?;
        check_record(name, record)?;
        let mut state = lock(&self.state);
        let current = state.head(name);
        if current.as_ref().map(|head| &head.version) != Some(expected) {
            return Ok(Swap::Moved(current));
        }
        state.journal.push(record.clone());
        state.names.remove(name);
        Ok(Swap::Done)
    }

    fn forget(&self, name: &str) -> Result<bool, HeadsError> {
        check_name(name)?;
        let mut state = lock(&self.state);
        let before = state.journal.len();
        state.journal.retain(|record| record_name(record) != Some(name));
        Ok(state.journal.len() < before)
    }

    fn journal(&self) -> Result<Vec<Value>, HeadsError> {
        Ok(lock(&self.state).journal.clone())
    }

    fn retired(&self, name: &str) -> Result<Option<Value>, HeadsError> {
        check_name(name)?;
        Ok(lock(&self.state).retired(name).cloned())
    }
}
