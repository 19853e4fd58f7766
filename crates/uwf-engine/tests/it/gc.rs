//! A collection whose every deletion takes so long that it needs several sweeps: everybody else waits during each.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use json_cas::{
    HashPrefix, HoldGuard, MemoryHeads, MemoryObjects, NodeDraft, NodeHash, ObjectBackend, ObjectMetadata,
    ObjectPutOutcome, StoreError, SweepGuard,
};
use serde_json::{Value, json};
use uwf_engine::root::home::Home;
use uwf_engine::verbs::gc::{self, GcRequest};
use uwf_testing::dir_in_memory;

/// More nodes than are removed in two sweeps.
const NODES: usize = 600;

/// Nodes in memory.
#[derive(Default)]
struct Slow {
    inner: MemoryObjects,
    /// Nodes of which it was asked when they were put.
    asked: AtomicUsize,
    sweeps: AtomicUsize,
    /// The one that somebody puts again after the first sweep.
    put_again: OnceLock<NodeHash>,
}

impl ObjectBackend for Slow {
    fn get(&self, hash: NodeHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.get(hash)
    }

    fn contains(&self, hash: NodeHash) -> Result<bool, StoreError> {
        self.inner.contains(hash)
    }

    fn put_all(&self, objects: &[(NodeHash, Vec<u8>)]) -> Result<Vec<ObjectPutOutcome>, StoreError> {
        self.inner.put_all(objects)
    }

    fn replace(&self, hash: NodeHash, bytes: &[u8]) -> Result<(), StoreError> {
        self.inner.replace(hash, bytes)
    }

    fn sync(&self, hashes: &[NodeHash]) -> Result<(), StoreError> {
        self.inner.sync(hashes)
    }

    fn list(&self, prefix: Option<&HashPrefix>) -> Result<Vec<NodeHash>, StoreError> {
        self.inner.list(prefix)
    }

    fn stored(&self, hash: NodeHash) -> Result<Option<ObjectMetadata>, StoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.inner.stored(hash)
    }

    fn refresh(&self, hash: NodeHash) -> Result<bool, StoreError> {
        self.inner.refresh(hash)
    }

    fn hold(&self) -> Result<HoldGuard, StoreError> {
        self.inner.hold()
    }

    fn sweep(&self) -> Result<SweepGuard, StoreError> {
        let sweeps = self.sweeps.fetch_add(1, Ordering::Relaxed);
        if let Some(hash) = self.put_again.get().filter(|_| sweeps == 1) {
            assert!(self.inner.refresh(*hash)?, "it is removed already");
        }
        self.inner.sweep()
    }

    fn remove_all(&self, sweep: &SweepGuard, layers: &[&[NodeHash]]) -> Result<Vec<bool>, StoreError> {
        // As long as a sweep may take.
        std::thread::sleep(Duration::from_secs(1));
        self.inner.remove_all(sweep, layers)
    }
}

/// A storage root with so many nodes, and three of which each refers to the next one, the last one to none.
fn with_nodes(dir: &std::path::Path) -> (Home, Arc<Slow>, [NodeHash; 3]) {
    let (slow, root) = (Arc::<Slow>::default(), dir.join("root"));
    std::fs::create_dir_all(&root).unwrap();
    let home = Home::over(root, "/there/is/no/uwf", slow.clone(), Arc::<MemoryHeads>::default());
    let store = home.store();
    let number = store.put_schema(json!({ "title": "number", "type": "number" })).unwrap();
    let referring = store.put_schema(json!({ "title": "referring", "type": "string", "format": "cas_ref" })).unwrap();
    let put = |of: NodeHash, payload: Value| store.put(&NodeDraft::new(of, payload).unwrap()).unwrap();
    for value in 0..NODES {
        put(number, json!(value));
    }
    let third = put(number, json!(0.5));
    let second = put(referring, json!(third.to_string()));
    let first = put(referring, json!(second.to_string()));
    (home, slow, [first, second, third])
}

fn collect(home: &Home) -> gc::GcSummary {
    gc::collect(home, GcRequest { grace: Duration::ZERO, dry_run: false }, &mut |_| ()).unwrap()
}

#[test]
fn sweep_requests_no_more_than_it_removes() {
    let dir = dir_in_memory();
    let (home, slow, chain) = with_nodes(dir.path());
    let there = home.store().objects().list(None).unwrap().len();
    let collected = collect(&home);
    assert!(collected.deleted_entries >= NODES + chain.len(), "{collected:?}");
    let (asked, sweeps) = (slow.asked.load(Ordering::Relaxed), slow.sweeps.load(Ordering::Relaxed));
    assert!(sweeps >= 3, "{sweeps} sweeps");
    // Once before the first sweep, and once before it is removed.
    assert!(asked <= 2 * there, "it asked for {asked} nodes, and there are {there}");
}

#[test]
fn node_put_between_sweeps_stays_with_its_references() {
    let dir = dir_in_memory();
    let (home, slow, [first, second, third]) = with_nodes(dir.path());
    slow.put_again.set(second).unwrap();
    collect(&home);
    let there = |hash: NodeHash| home.store().objects().contains(hash).unwrap();
    assert_eq!([first, second, third].map(there), [false, true, true]);
    home.store().get(second).unwrap();
}
