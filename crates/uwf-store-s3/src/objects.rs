//! Nodes: one object for each, written once.

use std::collections::HashSet;
use std::time::SystemTime;

use json_cas::{
    HashPrefix, HoldGuard, Node, NodeHash, ObjectBackend, ObjectMetadata, ObjectPutOutcome, RemoteError, StoreError,
    StrayEntry, SweepGuard,
};

use crate::bucket::{BucketWriteOutcome, ListedObject, StoreBucket};
use crate::leases;
use crate::parallel::{NODES_AT_ONCE, READS_AT_ONCE, each};
use crate::store::S3Store;

const NODES: &str = "nodes/";

/// How often refreshing an object is repeated because others replace it meanwhile.
const ROUNDS: usize = 8;

/// How often an object is read to refresh it, if each answer is garbled in another way.
const ASKED: usize = 3;

fn key(hash: NodeHash) -> String {
    format!("{NODES}{hash}")
}

/// The common beginning of all hashes with a prefix.
fn begin(prefix: &HashPrefix) -> String {
    let range = prefix.range();
    let (low, high) = (range.start().to_ascii(), range.end().to_ascii());
    let common = low.iter().zip(high).take_while(|(low, high)| **low == *high);
    common.map(|(symbol, _)| char::from(*symbol)).collect()
}

fn hash_in(listed: &ListedObject) -> Option<NodeHash> {
    let name = listed.key.strip_prefix(NODES)?;
    // Another spelling of a hash is not a node: a listing would find it, but a read would not.
    name.parse().ok().filter(|hash: &NodeHash| hash.to_string() == name)
}

/// The time on this machine's clock that is as long ago as `modified` is on the server's.
fn by_our_clock(bucket: &StoreBucket, modified: SystemTime) -> SystemTime {
    let age = bucket.transport.server_now().map(|now| now.duration_since(modified).unwrap_or_default());
    age.and_then(|age| SystemTime::now().checked_sub(age)).unwrap_or(modified)
}

impl ObjectBackend for S3Store {
    fn get(&self, hash: NodeHash) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.ready()?.get(&key(hash))?.map(|found| found.bytes))
    }

    fn get_all(&self, hashes: &[NodeHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let bucket = self.ready()?;
        let found = each(hashes, READS_AT_ONCE, |hash| bucket.get(&key(*hash)))?;
        Ok(found.into_iter().map(|found| Some(found?.bytes)).collect())
    }

    fn get_all_uncached(&self, hashes: &[NodeHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.get_all(hashes)
    }

    fn contains(&self, hash: NodeHash) -> Result<bool, StoreError> {
        Ok(self.ready()?.look_at(&key(hash))?.is_some())
    }

    fn put_all(&self, objects: &[(NodeHash, Vec<u8>)]) -> Result<Vec<ObjectPutOutcome>, StoreError> {
        let bucket = self.ready()?;
        let mut met = HashSet::new();
        let objects: Vec<(NodeHash, &[u8], bool)> =
            objects.iter().map(|(hash, bytes)| (*hash, &**bytes, met.insert(*hash))).collect();
        let puts = each(&objects, NODES_AT_ONCE, |(hash, bytes, is_first)| {
            if !is_first {
                return Ok(ObjectPutOutcome::Present);
            }
            // After an attempt without an answer, this call may have published the node but learn that it was present. The caller then
            // compares the stored bytes, which are the same.
            Ok::<ObjectPutOutcome, RemoteError>(match bucket.create(&key(*hash), bytes)? {
                BucketWriteOutcome::Done { .. } => ObjectPutOutcome::Published,
                BucketWriteOutcome::Refused { .. } => ObjectPutOutcome::Present,
            })
        })?;
        Ok(puts)
    }

    fn is_far(&self) -> bool {
        true
    }

    fn replace(&self, hash: NodeHash, bytes: &[u8]) -> Result<(), StoreError> {
        self.ready()?.overwrite(&key(hash), bytes)?;
        Ok(())
    }

    fn sync(&self, hashes: &[NodeHash]) -> Result<(), StoreError> {
        let bucket = self.ready()?;
        // An object that the server reports is durable.
        let there = each(hashes, NODES_AT_ONCE, |hash| bucket.look_at(&key(*hash)))?;
        match hashes.iter().zip(there).find(|(_, there)| there.is_none()) {
            Some((hash, _)) => Err(StoreError::NotFound { hash: *hash }),
            None => Ok(()),
        }
    }

    fn list(&self, prefix: Option<&HashPrefix>) -> Result<Vec<NodeHash>, StoreError> {
        let begin = format!("{NODES}{}", prefix.map(begin).unwrap_or_default());
        let listed = self.ready()?.list(&begin)?;
        Ok(listed.iter().filter_map(hash_in).collect())
    }

    fn stored(&self, hash: NodeHash) -> Result<Option<ObjectMetadata>, StoreError> {
        Ok(self.stored_all(&[hash])?.pop().flatten())
    }

    fn stored_all(&self, hashes: &[NodeHash]) -> Result<Vec<Option<ObjectMetadata>>, StoreError> {
        let bucket = self.ready()?;
        let found = each(hashes, READS_AT_ONCE, |hash| bucket.look_at(&key(*hash)))?;
        let stored =
            |found: ListedObject| ObjectMetadata { bytes: found.size, put_at: by_our_clock(&bucket, found.modified) };
        Ok(found.into_iter().map(|found| found.map(stored)).collect())
    }

    fn refresh(&self, hash: NodeHash) -> Result<bool, StoreError> {
        let bucket = self.ready()?;
        let mut garbled: Vec<Vec<u8>> = Vec::new();
        for _ in 0..ROUNDS {
            let Some(found) = bucket.get(&key(hash))? else { return Ok(false) };
            // The bytes are written back, so an answer that was corrupted on the way would damage the object for all machines. Two equal
            // answers are what is stored, which may be damaged or not a node.
            if !Node::has_hash(hash, &found.bytes) && !garbled.contains(&found.bytes) {
                garbled.push(found.bytes);
                if garbled.len() == ASKED {
                    return Err(StoreError::Garbled { hash, asked: ASKED });
                }
                continue;
            }
            if let BucketWriteOutcome::Done { .. } = bucket.update(&key(hash), &found.tag, &found.bytes)? {
                return Ok(true);
            }
        }
        // Others replaced it so often in this moment that it is young.
        Ok(true)
    }

    fn hold(&self) -> Result<HoldGuard, StoreError> {
        self.inner.leases.hold(&self.ready()?)
    }

    fn sweep(&self) -> Result<SweepGuard, StoreError> {
        self.inner.leases.sweep(&self.ready()?)
    }

    fn remove_all(&self, _sweep: &SweepGuard, layers: &[&[NodeHash]]) -> Result<Vec<bool>, StoreError> {
        let bucket = self.ready()?;
        let remove = |hash: &NodeHash| {
            let is_there = bucket.look_at(&key(*hash))?.is_some();
            if is_there && !bucket.delete_while(&key(*hash), || self.inner.leases.is_still_swept())? {
                return Err(StoreError::SweepEnded { path: leases::place(&bucket) });
            }
            Ok::<bool, StoreError>(is_there)
        };
        let mut were_there = Vec::new();
        for layer in layers {
            were_there.extend(each(layer, READS_AT_ONCE, remove)?);
        }
        Ok(were_there)
    }

    fn strays(&self) -> Result<Vec<StrayEntry>, StoreError> {
        let listed = self.ready()?.list(NODES)?;
        let strays = listed.into_iter().filter(|object| hash_in(object).is_none());
        Ok(strays.map(|object| StrayEntry { name: object.key, reason: "its name is not a hash".to_owned() }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_of_hashes_is_one_of_keys() {
        for text in ["0ZK4", "0zk4a", "F000000000000"] {
            let prefix: HashPrefix = text.parse().unwrap();
            assert_eq!(begin(&prefix), text.to_uppercase());
        }
    }
}
