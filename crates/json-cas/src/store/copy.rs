//! Copies nodes to another store.

use super::Store;
use crate::error::StoreError;
use crate::hash::NodeHash;
use crate::node::{Node, NodeBytesError};
use crate::objects::ObjectPutOutcome;

/// Nodes per batch.
const BATCH: usize = 64;

/// Statistics of a copy.
#[derive(Debug, Copy, Clone, Default, Eq, PartialEq)]
pub struct NodeCopyStats {
    /// Nodes that were missing and are now stored.
    pub new: usize,
    /// Nodes that already existed with the same type and payload.
    pub present: usize,
    /// Size of the new nodes, in bytes.
    pub bytes: u64,
}

impl Store {
    /// Copies nodes to another store, with their timestamps. Each node is checked against its hash first. Existing nodes are compared: a
    /// node with other content is never taken for the same.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] and [`StoreError::Corrupt`] of this store; [`StoreError::Collision`] if the other store has something else
    /// under the hash, which is left unchanged. Other errors of both stores: some of the nodes may then be copied, which is harmless; copy
    /// them again.
    pub fn copy_to(&self, to: &Store, nodes: &[NodeHash]) -> Result<NodeCopyStats, StoreError> {
        let mut copied = NodeCopyStats::default();
        for hashes in nodes.chunks(BATCH) {
            let batch = self.checked_bytes(hashes)?;
            for ((hash, bytes), put) in batch.iter().zip(to.objects.put_all(&batch)?) {
                match put {
                    ObjectPutOutcome::Published => {
                        copied.new += 1;
                        copied.bytes += bytes.len() as u64;
                    }
                    ObjectPutOutcome::Present => {
                        to.compare(*hash, bytes)?;
                        copied.present += 1;
                    }
                }
            }
        }
        Ok(copied)
    }

    fn checked_bytes(&self, hashes: &[NodeHash]) -> Result<Vec<(NodeHash, Vec<u8>)>, StoreError> {
        let checked = |(hash, bytes): (&NodeHash, Option<Vec<u8>>)| {
            let bytes = bytes.ok_or(StoreError::NotFound { hash: *hash })?;
            match Node::decode(*hash, &bytes) {
                Ok(_) => Ok((*hash, bytes)),
                Err(unfit) => Err(StoreError::Corrupt { hash: *hash, reason: unfit.to_string() }),
            }
        };
        hashes.iter().zip(self.objects.get_all(hashes)?).map(checked).collect()
    }

    /// Checks that these bytes and the stored ones are the same node. Timestamps may differ.
    fn compare(&self, hash: NodeHash, bytes: &[u8]) -> Result<(), StoreError> {
        let same = |stored: &[u8]| match (Node::decode(hash, stored), Node::decode(hash, bytes)) {
            (Ok((stored, stored_cbor)), Ok((node, cbor))) => {
                Ok(stored.type_hash == node.type_hash && stored_cbor == cbor)
            }
            (Err(unfit), _) | (_, Err(unfit)) => Err(unfit),
        };
        match self.objects.get(hash)?.as_deref().map(same) {
            Some(Ok(true)) => {
                self.objects.refresh(hash)?;
                Ok(())
            }
            Some(Ok(false)) => Err(StoreError::Collision { hash }),
            // The node is damaged in the other store, or was removed at this moment.
            Some(Err(NodeBytesError::Unreadable(_) | NodeBytesError::OtherHash(_))) | None => {
                self.objects.replace(hash, bytes)
            }
        }
    }
}
