//! A node's file: bytes are the node of their hash, or corrupt, and a put of what should be there repairs them.

use std::sync::{Arc, OnceLock};

use json_cas::{
    HashPrefix, HoldGuard, MemoryObjects, Node, NodeDraft, NodeHash, ObjectBackend, ObjectMetadata, ObjectPutOutcome,
    ProblemKind, Store, StoreError, SweepGuard, WalkOptions, bootstrap, cbor,
};
use parking_lot::Mutex;
use serde_json::json;
use uwf_testing::FuzzTarget;

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "node file",
    samples: &[
        b"\xa3\x64type\x6d111ZGV99GA4Z7\x67payload\xa1\x64type\x66string\x69timestamp\x1b\x00\x00\x01\x90\x00\x00\x00\x00",
        b"\xa3\x64type\x6d5KQF6ZKPQ6SJD\x67payload\xa1\x64text\x65hello\x69timestamp\x01",
        b"\xa3\x64type\x6d5KQF6ZKPQ6SJD\x67payload\xa2\x62to\x82\x6d111ZGV99GA4Z7\x6d5KQF6ZKPQ6SJD\x64text\x61x\x69timestamp\x01",
        b"\xbf\x67payload\xa1\x64text\x60\x69timestamp\x19\x00\x00\x64type\x6d5KQF6ZKPQ6SJD\xff",
        b"\xa3\x64type\x6d0000000000000\x67payload\xf6\x69timestamp\x00",
    ],
    words: &[
        "type", "payload", "timestamp", "111ZGV99GA4Z7", "5KQF6ZKPQ6SJD", "text", "to", "\x6d", "\x64", "\x67", "\x69",
        "$ref", "#", "properties", "string", "array", "items", "anyOf",
    ],
    check,
};

/// The place of bytes that are not a node.
const ANYWHERE: NodeHash = NodeHash::literal("0000000000042");

fn check(bytes: &[u8]) {
    let (hash, draft) = match meant(bytes) {
        Some(draft) => (draft.hash(), Some(draft)),
        None => (ANYWHERE, None),
    };
    let store = Store::new(Arc::new(OneOdd { base: base(), odd: Mutex::new((hash, bytes.to_vec())) }));
    read(&store, hash, draft.as_ref());
    let elsewhere = NodeHash::from_u64(hash.as_u64() ^ 1);
    let misplaced = Store::new(Arc::new(OneOdd { base: base(), odd: Mutex::new((elsewhere, bytes.to_vec())) }));
    let found = misplaced.get(elsewhere);
    assert!(matches!(found, Err(StoreError::Corrupt { .. })), "under another name: {found:?}");
}

/// The node that bytes are, if they are one.
fn meant(bytes: &[u8]) -> Option<NodeDraft> {
    let node = cbor::decode(bytes).ok()?;
    let type_hash: NodeHash = node.get("type")?.as_str()?.parse().ok()?;
    let payload = node.get("payload")?;
    let draft = NodeDraft::self_typed(payload.clone()).ok()?;
    if draft.type_hash() == type_hash { Some(draft) } else { NodeDraft::new(type_hash, payload.clone()).ok() }
}

fn read(store: &Store, hash: NodeHash, draft: Option<&NodeDraft>) {
    let report = store.verify(Some(&[hash])).expect("what is wrong with a node is in the report");
    let is_corrupt =
        report.problems.iter().any(|problem| problem.hash == Some(hash) && problem.kind == ProblemKind::Corrupt);
    match store.get(hash) {
        Ok(node) => {
            assert!(!is_corrupt, "{:?}", report.problems);
            let draft = draft.expect("only what is a node is read as one");
            assert_eq!((node.type_hash, cbor::encode(&node.payload).as_deref()), (draft.type_hash(), Ok(draft.cbor())));
            follow(store, hash, &node);
            if store.put(draft).is_ok() {
                let kept = store.get(hash).expect("it is still there");
                assert_eq!(kept.timestamp, node.timestamp, "the first time wins");
            }
        }
        Err(StoreError::Corrupt { reason, .. }) => {
            assert!(is_corrupt && !reason.is_empty());
            if let Some(draft) = draft.filter(|draft| store.put(draft).is_ok()) {
                let node = store.get(hash).expect("a put repairs it");
                assert_eq!(cbor::encode(&node.payload).as_deref(), Ok(draft.cbor()));
            }
        }
        Err(other) => panic!("{other}"),
    }
}

/// References are followed or reported as missing.
fn follow(store: &Store, hash: NodeHash, node: &Node) {
    let _ = store.refs(node);
    for item in store.walk(&[hash], WalkOptions { types: true }) {
        if let Err(error) = item {
            assert!(!error.to_string().is_empty());
        }
    }
}

/// Targets of the odd node.
fn base() -> &'static MemoryObjects {
    static BASE: OnceLock<Arc<MemoryObjects>> = OnceLock::new();
    BASE.get_or_init(|| {
        let objects = Arc::new(MemoryObjects::new());
        let store = Store::new(objects.clone());
        store.put(&bootstrap::draft()).expect("the meta-schema is stored");
        let note = json!({
            "type": "object",
            "properties": {
                "text": { "type": "string" },
                "to": { "type": "array", "items": { "type": "string", "format": "cas_ref" } },
            },
        });
        let hash = store.put_schema(note).expect("the schema is stored");
        assert_eq!(hash.to_string(), "5KQF6ZKPQ6SJD", "samples name it");
        objects
    })
}

/// A store that is as it should be, but for one node.
struct OneOdd {
    base: &'static MemoryObjects,
    odd: Mutex<(NodeHash, Vec<u8>)>,
}

impl OneOdd {
    fn odd(&self) -> (NodeHash, Vec<u8>) {
        self.odd.lock().clone()
    }
}

impl ObjectBackend for OneOdd {
    fn get(&self, hash: NodeHash) -> Result<Option<Vec<u8>>, StoreError> {
        let (odd, bytes) = self.odd();
        if hash == odd { Ok(Some(bytes)) } else { self.base.get(hash) }
    }

    fn contains(&self, hash: NodeHash) -> Result<bool, StoreError> {
        Ok(self.get(hash)?.is_some())
    }

    fn put_all(&self, objects: &[(NodeHash, Vec<u8>)]) -> Result<Vec<ObjectPutOutcome>, StoreError> {
        assert!(objects.is_empty(), "everything that is put here is there");
        Ok(Vec::new())
    }

    fn replace(&self, hash: NodeHash, bytes: &[u8]) -> Result<(), StoreError> {
        *self.odd.lock() = (hash, bytes.to_vec());
        Ok(())
    }

    fn sync(&self, _: &[NodeHash]) -> Result<(), StoreError> {
        Ok(())
    }

    fn list(&self, prefix: Option<&HashPrefix>) -> Result<Vec<NodeHash>, StoreError> {
        let mut hashes = self.base.list(prefix)?;
        hashes.push(self.odd().0);
        hashes.sort_unstable();
        hashes.dedup();
        Ok(hashes)
    }

    fn stored(&self, hash: NodeHash) -> Result<Option<ObjectMetadata>, StoreError> {
        self.base.stored(hash)
    }

    fn refresh(&self, hash: NodeHash) -> Result<bool, StoreError> {
        self.contains(hash)
    }

    fn hold(&self) -> Result<HoldGuard, StoreError> {
        self.base.hold()
    }

    fn sweep(&self) -> Result<SweepGuard, StoreError> {
        self.base.sweep()
    }

    fn remove_all(&self, sweep: &SweepGuard, layers: &[&[NodeHash]]) -> Result<Vec<bool>, StoreError> {
        self.base.remove_all(sweep, layers)
    }
}
