//! `cas rm`: removes one node that nothing references.

use json_cas::{NodeHash, READ_AT_ONCE, ReclaimScope, StoreError};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::verbs::gc::{self, GcReachability};

/// A node that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemovedNode {
    /// Its hash.
    pub hash: NodeHash,
    /// Its size.
    pub bytes: u64,
}

/// Removes a node of any age, unless something references it. A reference from an unused node counts as well: a store in which a node lacks
/// another is damaged.
///
/// # Errors
/// `NotFound` when the node does not exist, `Usage` when something references it. As for [`gc::collect`] when the references can't be read.
pub fn remove(home: &Home, hash: NodeHash) -> Result<RemovedNode> {
    let objects = home.store().objects();
    let not_found = StoreError::NotFound { hash };
    if !home.store().has(hash)? {
        return Err(not_found.into());
    }
    let _lock = gc::lock(home)?;
    let mut marked = GcReachability::new(home);
    refuse_reached(&mut marked, hash)?;
    if let Some(referrer) = referrer(home, hash)? {
        return Err(Error::usage(format!("node {referrer} refers to node {hash}")).hint(format!(
            "nothing was removed; neither is in use: `uwf cas rm {referrer}` first, or `uwf gc` removes both"
        )));
    }
    // Another process may have added a reference meanwhile.
    let sweep = objects.sweep()?;
    refuse_reached(&mut marked, hash)?;
    let Some(stored) = objects.stored(hash)? else { return Err(not_found.into()) };
    objects.remove_all(&sweep, &[&[hash]])?;
    drop(sweep);
    // A pack still holds the bytes of a removed node, and the person may want to get rid of them.
    objects.reclaim(ReclaimScope::These(&[hash]))?;
    Ok(RemovedNode { hash, bytes: stored.bytes })
}

fn refuse_reached(marked: &mut GcReachability<'_>, hash: NodeHash) -> Result<()> {
    marked.root_of(hash)?.map_or(Ok(()), |root| {
        Err(Error::usage(format!("node {hash} is in use: {root} references it")).hint("nothing was removed"))
    })
}

/// A node that references this one, or has it as its type. An unreadable node references nothing.
fn referrer(home: &Home, hash: NodeHash) -> Result<Option<NodeHash>> {
    let store = home.store();
    for some in store.objects().list(None)?.chunks(READ_AT_ONCE) {
        for (other, node) in some.iter().zip(store.try_get_all(some)?) {
            let node = match node {
                Err(error) if error.is_of_the_moment() => return Err(error.into()),
                Err(_) | Ok(None) => continue,
                Ok(Some(node)) => node,
            };
            let refers = node.type_hash == hash || store.refs(&node).is_ok_and(|refs| refs.contains(&hash));
            if refers && *other != hash {
                return Ok(Some(*other));
            }
        }
    }
    Ok(None)
}
