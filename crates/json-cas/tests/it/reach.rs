//! What is reachable, and the order in which the rest can go.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use json_cas::{
    MemoryObjects, MissingNodePolicy, NodeDraft, NodeHash, ObjectBackend, READ_AT_ONCE, Store, StoreError, bootstrap,
};
use parking_lot::Mutex;
use serde_json::json;

use crate::hooked::Hooked;

fn note(store: &Store) -> NodeHash {
    let to = json!({ "type": "array", "items": { "type": "string", "format": "cas_ref" } });
    let schema = json!({ "title": "note", "type": "object", "properties": { "text": {}, "to": to } });
    store.put_schema(schema).unwrap()
}

fn put(store: &Store, note: NodeHash, text: &str, to: &[NodeHash]) -> NodeHash {
    store.put(&NodeDraft::new(note, json!({ "text": text, "to": to })).unwrap()).unwrap()
}

#[test]
fn types_are_reached_and_unreferenced_nodes_are_not() {
    let store = Store::memory();
    let note = note(&store);
    let below = put(&store, note, "below", &[]);
    let root = put(&store, note, "root", &[below]);
    let other = put(&store, note, "other", &[below]);
    let mut reached = store.reach();
    reached.add(root, MissingNodePolicy::Fails).unwrap();
    assert_eq!(
        [root, below, note, bootstrap::HASH, other].map(|hash| reached.has(hash)),
        [true, true, true, true, false]
    );
    assert_eq!(reached.len(), 4);
}

#[test]
fn missing_or_corrupt_nodes_are_reported() {
    let objects = Arc::new(MemoryObjects::new());
    let store = Store::new(objects.clone());
    let note = note(&store);
    let below = put(&store, note, "below", &[]);
    let root = put(&store, note, "root", &[below]);
    let sweep = objects.sweep().unwrap();
    objects.remove_all(&sweep, &[&[below]]).unwrap();
    let error = store.reach().add(root, MissingNodePolicy::Fails).unwrap_err();
    assert!(matches!(error, StoreError::Dangling { hash, parent } if (hash, parent) == (below, root)), "{error}");
    let error = store.reach().add(below, MissingNodePolicy::Fails).unwrap_err();
    assert!(matches!(error, StoreError::NotFound { hash } if hash == below), "{error}");
    store.reach().add(root, MissingNodePolicy::IsFine).unwrap();
    store.reach().add(below, MissingNodePolicy::IsFine).unwrap();
    objects.replace(below, b"rubbish").unwrap();
    for missing in [MissingNodePolicy::Fails, MissingNodePolicy::IsFine] {
        let error = store.reach().add(root, missing).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { hash, .. } if hash == below), "{error}");
    }
}

#[test]
fn many_roots_are_read_in_batches_without_repeats() {
    let batches = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&batches);
    let store = Store::new(Arc::new(Hooked::before_read(MemoryObjects::new(), move |hashes: &[NodeHash]| {
        seen.lock().push(hashes.to_vec());
    })));
    let note = note(&store);
    let shared = put(&store, note, "shared", &[]);
    let chain = |number: usize| {
        let first = put(&store, note, &format!("first {number}"), &[shared]);
        put(&store, note, &format!("second {number}"), &[first])
    };
    let roots: Vec<NodeHash> = (0..1000).map(chain).collect();
    let mut reached = store.reach();
    let mut told = 0;
    reached.add_all(&roots, MissingNodePolicy::Fails, &mut |reached| told = reached).unwrap();
    // Two for each root, the shared one, the type and the type of that.
    assert_eq!((reached.len(), told), (2003, 2003));
    let batches = batches.lock();
    let read: Vec<NodeHash> = batches.concat();
    assert_eq!(read.len(), 2003, "each once");
    assert!(batches.iter().all(|batch| batch.len() <= READ_AT_ONCE), "no more than are to be in memory");
    assert!(batches.len() < 20, "{} batches", batches.len());
}

#[test]
fn unreadable_node_is_reported_with_its_root() {
    let objects = Arc::new(MemoryObjects::new());
    let store = Store::new(objects.clone());
    let note = note(&store);
    let below = put(&store, note, "below", &[]);
    let [whole, broken] = [("whole", vec![]), ("broken", vec![below])].map(|(text, to)| put(&store, note, text, &to));
    let sweep = objects.sweep().unwrap();
    objects.remove_all(&sweep, &[&[below]]).unwrap();
    let stopped = store.reach().add_all(&[whole, broken], MissingNodePolicy::Fails, &mut |_| ()).unwrap_err();
    assert_eq!(stopped.root, broken);
    assert!(matches!(stopped.source, StoreError::Dangling { hash, .. } if hash == below), "{}", stopped.source);
}

#[test]
fn removal_order_never_leaves_dangling_references() {
    let objects = Arc::new(MemoryObjects::new());
    let store = Store::new(objects.clone());
    let note = note(&store);
    let mut nodes = vec![note, bootstrap::HASH];
    for index in 0..40_usize {
        let to: Vec<NodeHash> = nodes.iter().skip(2).step_by(index % 5 + 1).copied().collect();
        nodes.push(put(&store, note, &index.to_string(), &to));
    }
    let layers = store.layers(&nodes).unwrap();
    assert_eq!(layers.nodes().len(), nodes.len());
    let sweep = objects.sweep().unwrap();
    // Within a layer in any order.
    let backwards = layers.slices().into_iter().flat_map(|layer| layer.iter().rev());
    for hash in backwards {
        assert_eq!(objects.remove_all(&sweep, &[&[*hash]]).unwrap(), [true]);
        let problems = Store::new(objects.clone()).verify(None).unwrap().problems;
        assert_eq!(problems, [], "without {hash}");
    }
}

#[test]
fn putting_existing_node_resets_its_age() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_fs(dir.path());
    let note = note(&store);
    let hash = put(&store, note, "text", &[]);
    let path = dir.path().join(format!("{hash}.bin"));
    let long_ago = SystemTime::now() - Duration::from_hours(1000);
    fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    let age = || store.objects().stored(hash).unwrap().unwrap().put_at.elapsed().unwrap_or_default();
    assert!(age() > Duration::from_hours(900));
    let before = fs::read(&path).unwrap();
    put(&store, note, "text", &[]);
    assert!(age() < Duration::from_mins(1));
    assert_eq!(fs::read(&path).unwrap(), before, "its first timestamp is kept");
}
