//! Nodes that the store has lost, and this machine has in its cache.

use std::collections::HashSet;

use json_cas::{Hash, ProblemKind};

use crate::error::Result;
use crate::root::home::Home;

/// What a head leads to.
pub(super) enum Below {
    /// All of it is in the store.
    Whole,
    /// What is missing or damaged there is in the cache of this machine, as far as that can be told before it is put back.
    Cached,
    /// This is neither in the store nor here.
    Lacks(Hash),
}

/// Looks at all nodes below a head as they are in the store: a cache would hide what is gone.
///
/// # Errors
/// Those of the store.
pub(super) fn below(home: &Home, head: Hash) -> Result<Below> {
    let lacking = lacking(home, head)?;
    for hash in &lacking {
        if cached(home, *hash)?.is_none() {
            return Ok(Below::Lacks(*hash));
        }
    }
    Ok(if lacking.is_empty() { Below::Whole } else { Below::Cached })
}

/// Puts back what a head lacks; how many nodes that were, or the one that is nowhere.
///
/// # Errors
/// Those of the store.
pub(super) fn put_back(home: &Home, head: Hash) -> Result<std::result::Result<usize, Hash>> {
    let mut done = HashSet::new();
    // What is below a node that is missing is known when that is back.
    loop {
        let lacking = lacking(home, head)?;
        if lacking.is_empty() {
            return Ok(Ok(done.len()));
        }
        for hash in lacking {
            let bytes = cached(home, hash)?;
            let Some(bytes) = bytes.filter(|_| done.insert(hash)) else { return Ok(Err(hash)) };
            home.store().objects().replace(hash, &bytes)?;
        }
    }
}

fn lacking(home: &Home, head: Hash) -> Result<Vec<Hash>> {
    let problems = home.store().verify(Some(&[head]))?.problems.into_iter();
    let lacking = problems.filter(|problem| matches!(problem.kind, ProblemKind::Missing | ProblemKind::Corrupt));
    Ok(lacking.filter_map(|problem| problem.hash).collect())
}

/// The bytes of a node that the cache has, if they are those of that node.
fn cached(home: &Home, hash: Hash) -> Result<Option<Vec<u8>>> {
    match home.store().try_get(hash) {
        Ok(Some(_)) => Ok(home.store().objects().get(hash)?),
        Err(error) if error.is_of_the_moment() => Err(error.into()),
        Ok(None) | Err(_) => Ok(None),
    }
}
