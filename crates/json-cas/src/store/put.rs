//! Writes nodes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;

use super::{CachedType, Store};
use crate::bootstrap;
use crate::error::StoreError;
use crate::hash::NodeHash;
use crate::node::{Node, NodeBytesError, NodeDraft};
use crate::objects::ObjectPutOutcome;
use crate::schema::{CompiledSchema, ReferenceFinder, refuse_bad};

/// A remote object up to this age is young enough for programs that do not hold, and is not refreshed. Refreshing takes two more calls,
/// and removal from a shared store spares nodes that are less than weeks old.
const YOUNG: Duration = Duration::from_hours(24);

/// The state of a draft's hash in the store.
enum DraftState {
    Nothing,
    Same,
    Corrupt,
}

impl Store {
    /// Stores one node; see [`Store::put_all`].
    pub fn put(&self, draft: &NodeDraft) -> Result<NodeHash, StoreError> {
        self.put_all(std::slice::from_ref(draft))?;
        Ok(draft.hash())
    }

    /// Stores nodes durably, as one batch with one directory sync. Types are looked up in the batch first, then in the store. Nothing is
    /// written unless every payload fits its type.
    ///
    /// An existing node is left unchanged, including its first timestamp, and becomes young again
    /// ([`ObjectBackend::refresh`](crate::ObjectBackend::refresh)). A corrupt node is repaired.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] with all violations, [`StoreError::BadSchema`], [`StoreError::NotASchema`]: correct the draft.
    /// [`StoreError::UnknownType`]: put the schema first, or in the same batch. [`StoreError::Collision`]: other content has this hash, so
    /// this content can't be stored as it is. [`StoreError::Io`]: some of the nodes may be stored, which is harmless; put the same batch
    /// again.
    pub fn put_all(&self, drafts: &[NodeDraft]) -> Result<Vec<NodeHash>, StoreError> {
        let bootstrap = self.bootstrap_for(drafts);
        let batch = DraftBatch::new(bootstrap.iter().chain(drafts))?;
        let mut compiled = HashMap::new();
        // Everything found from here on, including types, must not be removed before the whole batch is stored.
        let _hold = self.objects.hold()?;
        for draft in &batch.order {
            self.check(draft, &batch, &mut compiled)?;
        }
        self.write(&batch)?;
        let mut types = self.types.lock();
        for (hash, schema) in compiled {
            types.insert(hash, CachedType::Compiled(schema));
        }
        Ok(drafts.iter().map(NodeDraft::hash).collect())
    }

    /// Stores a JSON Schema as a node.
    pub fn put_schema(&self, schema: Value) -> Result<NodeHash, StoreError> {
        self.put(&Store::schema_draft(schema)?)
    }

    /// The node of a JSON Schema, after checking that it is one, references nothing outside itself and stays within the limits of
    /// [`crate::schema::check`].
    ///
    /// # Errors
    /// [`StoreError::BadSchema`] with every error of the schema; [`StoreError::Cbor`] if it is nested too deeply.
    pub fn schema_draft(schema: Value) -> Result<NodeDraft, StoreError> {
        refuse_bad(&schema)?;
        Ok(NodeDraft::new(bootstrap::HASH, schema)?.trusted())
    }

    /// The meta-schema node, if any draft is a schema: it is stored together with the first schema.
    fn bootstrap_for(&self, drafts: &[NodeDraft]) -> Option<NodeDraft> {
        drafts.iter().any(|draft| draft.type_hash() == bootstrap::HASH).then(bootstrap::draft)
    }

    fn check(
        &self,
        draft: &NodeDraft,
        batch: &DraftBatch<'_>,
        compiled: &mut HashMap<NodeHash, Arc<CompiledSchema>>,
    ) -> Result<(), StoreError> {
        let type_hash = draft.type_hash();
        if draft.is_trusted() && !cfg!(debug_assertions) {
            return self.require_type(type_hash, batch);
        }
        if type_hash == bootstrap::HASH {
            return match draft.hash() == bootstrap::HASH || draft.is_trusted() {
                true => Ok(()),
                false => Ok(refuse_bad(draft.payload())?),
            };
        }
        if draft.hash() == type_hash {
            refuse_bad(draft.payload())?;
        }
        let schema = match compiled.get(&type_hash) {
            Some(schema) => schema.clone(),
            None => {
                let schema = self.type_of(type_hash, batch)?;
                compiled.insert(type_hash, schema.clone());
                schema
            }
        };
        refuse_invalid(type_hash, &schema, draft.payload())?;
        if self.is_meta_schema(type_hash, batch)? {
            refuse_bad(draft.payload())?;
        }
        Ok(())
    }

    fn type_of(&self, type_hash: NodeHash, batch: &DraftBatch<'_>) -> Result<Arc<CompiledSchema>, StoreError> {
        let Some(draft) = batch.get(type_hash) else {
            // It may have been removed since it was read.
            if self.objects.is_far() && !self.objects.contains(type_hash)? {
                return Err(StoreError::UnknownType { type_hash });
            }
            return self.schema(type_hash);
        };
        if !self.is_meta_schema(draft.type_hash(), batch)? {
            return Err(StoreError::NotASchema { type_hash });
        }
        let references = ReferenceFinder::new(draft.payload().clone());
        Ok(Arc::new(CompiledSchema::compile_stored(Arc::new(references))?))
    }

    /// Whether nodes of this type are schemas.
    fn is_meta_schema(&self, type_hash: NodeHash, batch: &DraftBatch<'_>) -> Result<bool, StoreError> {
        if type_hash == bootstrap::HASH {
            return Ok(true);
        }
        match batch.get(type_hash) {
            Some(draft) => Ok(draft.type_hash() == type_hash),
            None => Ok(self.try_get(type_hash)?.is_some_and(|node| node.type_hash == type_hash)),
        }
    }

    fn require_type(&self, type_hash: NodeHash, batch: &DraftBatch<'_>) -> Result<(), StoreError> {
        let is_known = !self.objects.is_far() && self.types.lock().contains_key(&type_hash);
        let is_there = batch.get(type_hash).is_some() || is_known || self.objects.contains(type_hash)?;
        if is_there { Ok(()) } else { Err(StoreError::UnknownType { type_hash }) }
    }

    fn write(&self, batch: &DraftBatch<'_>) -> Result<(), StoreError> {
        let now = (self.clock)();
        let bytes = |draft: &NodeDraft| Node::encode(draft.type_hash(), draft.cbor(), now);
        let mut fresh = Vec::new();
        for draft in &batch.order {
            if self.objects.is_far() {
                fresh.push((draft.hash(), bytes(draft)));
                continue;
            }
            match self.stored(draft)? {
                DraftState::Same if self.objects.refresh(draft.hash())? => {}
                DraftState::Same | DraftState::Nothing => fresh.push((draft.hash(), bytes(draft))),
                DraftState::Corrupt => self.objects.replace(draft.hash(), &bytes(draft))?,
            }
        }
        let puts = self.objects.put_all(&fresh)?;
        for ((hash, bytes), put) in fresh.iter().zip(puts) {
            // The node existed, or another process published it meanwhile: check that it is the same node.
            let found = match put {
                ObjectPutOutcome::Published => None,
                ObjectPutOutcome::Present => batch.get(*hash),
            };
            match found.map(|draft| self.stored(draft)).transpose()? {
                None => {}
                Some(DraftState::Same) if !self.objects.is_far() || self.grows_young(*hash, now)? => {}
                Some(DraftState::Same | DraftState::Nothing | DraftState::Corrupt) => {
                    self.objects.replace(*hash, bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Refreshes an object that was put some time ago; `false` if it is gone.
    fn grows_young(&self, hash: NodeHash, now_ms: u64) -> Result<bool, StoreError> {
        let Some(stored) = self.objects.stored(hash)? else { return Ok(false) };
        let put_at = stored.put_at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        if u128::from(now_ms).saturating_sub(put_at) < YOUNG.as_millis() {
            return Ok(true);
        }
        self.objects.refresh(hash)
    }

    fn stored(&self, draft: &NodeDraft) -> Result<DraftState, StoreError> {
        let hash = draft.hash();
        let bytes = match self.objects.get(hash) {
            // The backend can't read its own bytes.
            Err(StoreError::Corrupt { .. }) => return Ok(DraftState::Corrupt),
            Ok(None) => return Ok(DraftState::Nothing),
            other => other?.unwrap_or_default(),
        };
        match Node::decode(hash, &bytes) {
            Ok((node, cbor)) if node.type_hash == draft.type_hash() && cbor == draft.cbor() => Ok(DraftState::Same),
            Ok(_) => Err(StoreError::Collision { hash }),
            Err(NodeBytesError::Unreadable(_) | NodeBytesError::OtherHash(_)) => Ok(DraftState::Corrupt),
        }
    }
}

/// Drafts by hash, without duplicates, in the given order.
struct DraftBatch<'d> {
    order: Vec<&'d NodeDraft>,
    by_hash: HashMap<NodeHash, &'d NodeDraft>,
}

impl<'d> DraftBatch<'d> {
    fn new(drafts: impl Iterator<Item = &'d NodeDraft>) -> Result<DraftBatch<'d>, StoreError> {
        let mut batch = DraftBatch { order: Vec::new(), by_hash: HashMap::new() };
        for draft in drafts {
            match batch.by_hash.get(&draft.hash()) {
                None => {
                    batch.by_hash.insert(draft.hash(), draft);
                    batch.order.push(draft);
                }
                Some(other) if other.type_hash() == draft.type_hash() && other.cbor() == draft.cbor() => {}
                Some(_) => return Err(StoreError::Collision { hash: draft.hash() }),
            }
        }
        Ok(batch)
    }

    fn get(&self, hash: NodeHash) -> Option<&'d NodeDraft> {
        self.by_hash.get(&hash).copied()
    }
}

fn refuse_invalid(type_hash: NodeHash, schema: &CompiledSchema, payload: &Value) -> Result<(), StoreError> {
    if schema.is_valid(payload) {
        return Ok(());
    }
    Err(StoreError::Invalid {
        type_hash,
        title: schema.title().map_or_else(|| type_hash.to_string(), str::to_owned),
        violations: schema.violations(payload),
    })
}
