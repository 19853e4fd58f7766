//! A long sweep: it lets others continue in between, and removes many nodes at once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use json_cas::{NodeHash, ObjectBackend};
use uwf_store_s3::S3Store;
use uwf_testing::bucket::BucketServer;

fn hash(value: u64) -> NodeHash {
    NodeHash::from_u64(value)
}

/// A machine's view of the store, which the first one makes.
fn machine(server: &BucketServer) -> S3Store {
    let store = S3Store::open_with(&server.url("store"), server.variables("store")).unwrap();
    store.init().unwrap();
    store
}

#[test]
fn continuous_sweeping_does_not_starve_others() {
    let server = BucketServer::start();
    let (collector, other) = (machine(&server), machine(&server));
    server.slow(Duration::from_millis(40));
    let (sweeps, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) && sweeps.load(Ordering::Relaxed) < 60 {
                let sweep = collector.sweep().unwrap();
                sweeps.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(500));
                drop(sweep);
                // As `gc` does.
                thread::sleep(Duration::from_millis(30));
            }
        });
        let waits = (0..5).map(|_| {
            thread::sleep(Duration::from_millis(400));
            let before = sweeps.load(Ordering::Relaxed);
            drop(other.hold().unwrap());
            sweeps.load(Ordering::Relaxed) - before
        });
        let most = waits.max().unwrap();
        is_over.store(true, Ordering::Relaxed);
        assert!(most <= 2, "somebody waited while {most} sweeps began");
    });
}

#[test]
fn layers_are_removed_sequentially_and_their_nodes_concurrently() {
    let server = BucketServer::start();
    let store = machine(&server);
    let nodes: Vec<NodeHash> = (0..400).map(hash).collect();
    let objects: Vec<(NodeHash, Vec<u8>)> = nodes.iter().map(|hash| (*hash, b"node".to_vec())).collect();
    store.put_all(&objects).unwrap();
    let (first, second) = nodes.split_at(200);
    let sweep = store.sweep().unwrap();
    server.slow(Duration::from_millis(20));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let seen = scope.spawn(|| {
            let watcher = machine(&server);
            while !is_over.load(Ordering::Relaxed) {
                let there = watcher.list(None).unwrap();
                let has_first = there.iter().any(|hash| first.contains(hash));
                let gone = second.iter().filter(|hash| !there.contains(hash)).count();
                assert!(!has_first || gone == 0, "{gone} of the second layer are gone before the first is");
            }
        });
        assert_eq!(store.remove_all(&sweep, &[first, second]).unwrap(), [true; 400]);
        is_over.store(true, Ordering::Relaxed);
        seen.join().unwrap();
    });
    assert_eq!(store.list(None).unwrap(), []);
}
