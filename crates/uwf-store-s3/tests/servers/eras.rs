//! What is known without asking: what was there since the last sweep.

use std::path::Path;
use std::sync::Arc;

use json_cas::{CachedObjects, NodeHash, ObjectBackend, ObjectPutOutcome, StoreError};
use uwf_store_s3::S3Store;
use uwf_testing::bucket::{BucketServer, BucketTraffic};

fn hash(value: u64) -> NodeHash {
    NodeHash::from_u64(value)
}

/// A process of a machine, whose cache is there. It has used the store before.
fn process(server: &BucketServer, cache: &Path) -> CachedObjects {
    let store = S3Store::open_with(&server.url("store"), server.variables("store")).unwrap();
    store.contains(hash(99)).unwrap();
    CachedObjects::new(Arc::new(store), cache, |_, _| true)
}

/// What was asked of nodes since the last call.
fn of_nodes(server: &BucketServer) -> BucketTraffic {
    server.take().remove("nodes").unwrap_or_default()
}

#[test]
fn machine_rechecks_node_only_after_sweep() {
    let server = BucketServer::start();
    let (here, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert!(S3Store::open_with(&server.url("store"), server.variables("store")).unwrap().init().unwrap());
    let (first, second) = (process(&server, here.path()), process(&server, here.path()));
    let held = first.hold().unwrap();
    assert_eq!(first.put_all(&[(hash(1), b"one".to_vec())]).unwrap(), [ObjectPutOutcome::Published]);
    drop(held);
    server.take();

    // Another process of the machine.
    let held = second.hold().unwrap();
    assert!(second.contains(hash(1)).unwrap());
    second.sync(&[hash(1)]).unwrap();
    assert_eq!(second.put_all(&[(hash(1), b"one".to_vec())]).unwrap(), [ObjectPutOutcome::Present]);
    assert_eq!(second.stored(hash(1)).unwrap().unwrap().bytes, 3);
    assert_eq!(of_nodes(&server), BucketTraffic::default(), "it is known to be there");
    drop(held);
    assert!(second.contains(hash(1)).unwrap());
    assert_eq!(of_nodes(&server).head, 1, "who does not hold looks");

    // Another machine.
    let other = process(&server, elsewhere.path());
    server.take();
    let held = other.hold().unwrap();
    assert!(other.contains(hash(1)).unwrap());
    assert_eq!(of_nodes(&server).head, 1, "another machine looks itself");
    drop(held);
    let sweep = other.sweep().unwrap();
    assert_eq!(other.remove_all(&sweep, &[&[hash(1)]]).unwrap(), [true]);
    drop(sweep);

    let held = second.hold().unwrap();
    assert!(!second.contains(hash(1)).unwrap(), "it was removed meanwhile");
    assert!(matches!(second.sync(&[hash(1)]), Err(StoreError::NotFound { .. })));
    assert_eq!(second.put_all(&[(hash(1), b"one".to_vec())]).unwrap(), [ObjectPutOutcome::Published]);
    drop(held);
}

#[test]
fn recreated_store_counts_as_new() {
    let server = BucketServer::start();
    let cache = tempfile::tempdir().unwrap();
    let make = || S3Store::open_with(&server.url("store"), server.variables("store")).unwrap().init().unwrap();
    assert!(make());
    let before = process(&server, cache.path());
    let held = before.hold().unwrap();
    before.put_all(&[(hash(1), b"one".to_vec())]).unwrap();
    drop(held);
    server.empty();
    // Its age is told in seconds.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert!(make());
    let after = process(&server, cache.path());
    let held = after.hold().unwrap();
    assert!(!after.contains(hash(1)).unwrap());
    drop(held);
}
