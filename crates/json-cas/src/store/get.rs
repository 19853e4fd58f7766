//! Reads nodes and their types.

use std::sync::Arc;

use super::{CachedType, Store};
use crate::bootstrap;
use crate::error::StoreError;
use crate::hash::NodeHash;
use crate::node::Node;
use crate::schema::{CompiledSchema, ReferenceFinder};

impl Store {
    /// The node `hash`, checked against its hash.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]. [`StoreError::Corrupt`]: putting the same content again repairs it. [`StoreError::Io`] if the backend
    /// fails: try again.
    pub fn get(&self, hash: NodeHash) -> Result<Node, StoreError> {
        self.try_get(hash)?.ok_or(StoreError::NotFound { hash })
    }

    /// The node `hash`, checked against its hash, or `None` if it is missing.
    ///
    /// # Errors
    /// Like [`Store::get`], except for a missing node.
    pub fn try_get(&self, hash: NodeHash) -> Result<Option<Node>, StoreError> {
        Ok(self.try_get_encoded(hash)?.map(|(node, _)| node))
    }

    /// The node `hash`, checked against its hash, with the canonical CBOR of its payload, from which digests are computed.
    pub fn get_encoded(&self, hash: NodeHash) -> Result<(Node, Vec<u8>), StoreError> {
        self.try_get_encoded(hash)?.ok_or(StoreError::NotFound { hash })
    }

    /// Nodes in the order of `hashes`, each like [`Store::try_get`]. Many are read at once, and all of them are in memory: request
    /// [`READ_AT_ONCE`](crate::READ_AT_ONCE) at most.
    ///
    /// # Errors
    /// [`StoreError::Remote`] if a remote store does not answer. Errors of single nodes are among the results.
    pub fn try_get_all(&self, hashes: &[NodeHash]) -> Result<Vec<Result<Option<Node>, StoreError>>, StoreError> {
        Ok(decode_all(hashes, read_all(hashes, |all| self.objects.get_all(all), |one| self.objects.get(one))?))
    }

    /// Like [`Store::try_get_all`], but reads the nodes as stored. It bypasses caches, which may have nodes that are lost.
    pub fn try_get_all_uncached(
        &self,
        hashes: &[NodeHash],
    ) -> Result<Vec<Result<Option<Node>, StoreError>>, StoreError> {
        let (all, one) = (|all: &[NodeHash]| self.objects.get_all_uncached(all), |one| self.objects.get_uncached(one));
        Ok(decode_all(hashes, read_all(hashes, all, one)?))
    }

    fn try_get_encoded(&self, hash: NodeHash) -> Result<Option<(Node, Vec<u8>)>, StoreError> {
        let Some(bytes) = self.objects.get(hash)? else { return Ok(None) };
        decode(hash, &bytes).map(Some)
    }

    /// Whether something is stored as `hash`. It is not read.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the backend fails: try again.
    pub fn has(&self, hash: NodeHash) -> Result<bool, StoreError> {
        self.objects.contains(hash)
    }

    /// The schema node `type_hash`, compiled. It is cached for the life of the store value.
    ///
    /// # Errors
    /// [`StoreError::UnknownType`] if it is missing: put the schema first. [`StoreError::NotASchema`] and [`StoreError::BadSchema`]: use
    /// another node as the type. Otherwise like [`Store::get`].
    pub fn schema(&self, type_hash: NodeHash) -> Result<Arc<CompiledSchema>, StoreError> {
        if let Some(CachedType::Compiled(schema)) = self.types.lock().get(&type_hash) {
            return Ok(schema.clone());
        }
        let references = self.references(type_hash)?;
        let schema = Arc::new(CompiledSchema::compile_stored(references)?);
        self.types.lock().insert(type_hash, CachedType::Compiled(schema.clone()));
        Ok(schema)
    }

    /// The schema node `type_hash`, read but not compiled. References need no more.
    pub(super) fn references(&self, type_hash: NodeHash) -> Result<Arc<ReferenceFinder>, StoreError> {
        match self.types.lock().get(&type_hash) {
            Some(CachedType::Read(references)) => return Ok(references.clone()),
            Some(CachedType::Compiled(schema)) => return Ok(schema.references().clone()),
            None => {}
        }
        let schema = match self.try_get(type_hash)? {
            Some(node) if self.is_schema(type_hash, &node)? => node.payload,
            Some(_) => return Err(StoreError::NotASchema { type_hash }),
            None if type_hash == bootstrap::HASH => bootstrap::draft().payload().clone(),
            None => (self.known)(type_hash).ok_or(StoreError::UnknownType { type_hash })?,
        };
        let references = Arc::new(ReferenceFinder::new(schema));
        self.types.lock().insert(type_hash, CachedType::Read(references.clone()));
        Ok(references)
    }

    /// Whether a type is not stored but known: see [`Store::with_known`].
    pub(super) fn is_stand_in(&self, type_hash: NodeHash) -> Result<bool, StoreError> {
        Ok((self.known)(type_hash).is_some() && !self.has(type_hash)?)
    }

    /// Whether a node is a schema: its type is a meta-schema, and a meta-schema is a node that is its own type. Other writers of the
    /// format have other meta-schemas.
    ///
    /// # Errors
    /// Like [`Store::get`]; but if only the type is missing, the node is not a schema.
    pub fn is_schema(&self, hash: NodeHash, node: &Node) -> Result<bool, StoreError> {
        if node.type_hash == bootstrap::HASH || node.type_hash == hash {
            return Ok(true);
        }
        Ok(self.try_get(node.type_hash)?.is_some_and(|meta| meta.type_hash == node.type_hash))
    }
}

fn decode(hash: NodeHash, bytes: &[u8]) -> Result<(Node, Vec<u8>), StoreError> {
    Node::decode(hash, bytes).map_err(|unfit| StoreError::Corrupt { hash, reason: unfit.to_string() })
}

fn decode_all(hashes: &[NodeHash], read: Vec<Read>) -> Vec<Result<Option<Node>, StoreError>> {
    let decoded = |(hash, bytes): (&NodeHash, Read)| match bytes? {
        Some(bytes) => decode(*hash, &bytes).map(|(node, _)| Some(node)),
        None => Ok(None),
    };
    hashes.iter().zip(read).map(decoded).collect()
}

/// The result of reading one object.
pub(super) type Read = Result<Option<Vec<u8>>, StoreError>;

/// Reads objects at once. If that fails because of a single object, reads each separately, to find out which one.
///
/// # Errors
/// [`StoreError::Remote`], because there is no point in asking a silent store for each object.
pub(super) fn read_all(
    hashes: &[NodeHash],
    all: impl FnOnce(&[NodeHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError>,
    one: impl FnMut(NodeHash) -> Read,
) -> Result<Vec<Read>, StoreError> {
    match all(hashes) {
        Ok(read) => Ok(read.into_iter().map(Ok).collect()),
        Err(error @ StoreError::Remote(_)) => Err(error),
        Err(_) => Ok(hashes.iter().copied().map(one).collect()),
    }
}
