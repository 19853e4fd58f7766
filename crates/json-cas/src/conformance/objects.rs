//! Required behaviour of [`ObjectBackend`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::error::StoreError;
use crate::hash::NodeHash;
use crate::node::{Node, NodeDraft};
use crate::objects::{ObjectBackend, ObjectMetadata, ObjectPutOutcome};

/// Required precision of an object's age.
const AGE: Duration = Duration::from_secs(2);

/// How long a thread that should wait is watched.
const WATCHED: Duration = Duration::from_millis(50);

/// The clocks of some stores report whole seconds.
const TICK: Duration = Duration::from_millis(1100);

/// More objects than a backend reads at once.
const MANY: u64 = 100;

/// Threads that put at the same time.
const THREADS: u64 = 8;

/// Objects that each thread puts; half of them are the same as the others'.
const EACH: u64 = 20;

/// Runs every case against backends made by `make`.
///
/// # Panics
/// If the backend violates the contract of [`ObjectBackend`].
pub fn objects_suite(make: &dyn Fn() -> Box<dyn ObjectBackend>) {
    objects_suite_of_one_writer(make);
    takes_puts_at_once(&*make());
}

/// The suite for a single writer: two simultaneous puts may both report that they created the object. Some servers for tests look for an
/// object and create it in two steps.
///
/// # Panics
/// If the backend violates the rest of the contract of [`ObjectBackend`].
pub fn objects_suite_of_one_writer(make: &dyn Fn() -> Box<dyn ObjectBackend>) {
    empty(&*make());
    puts_and_gets(&*make());
    gets_many_in_their_order(&*make());
    never_replaces(&*make());
    replaces_when_told(&*make());
    lists_sorted_and_by_prefix(&*make());
    keeps_any_bytes(&*make());
    follows_chains(&*make());
    removes(&*make());
    grows_young_again(&*make());
    sweeps_only_when_nobody_holds(&*make());
}

fn hash(value: u64) -> NodeHash {
    NodeHash::from_u64(value)
}

fn empty(objects: &dyn ObjectBackend) {
    assert_eq!(objects.get(hash(1)).expect("get"), None, "get of nothing");
    assert!(!objects.contains(hash(1)).expect("contains"), "contains nothing");
    assert_eq!(objects.list(None).expect("list"), [], "list of nothing");
    assert_eq!(objects.strays().expect("strays"), [], "strays of nothing");
    assert_eq!(objects.put_all(&[]).expect("put_all"), [], "put of nothing");
    objects.sync(&[]).expect("sync of nothing");
    assert!(
        matches!(objects.sync(&[hash(1)]), Err(StoreError::NotFound { hash: missing }) if missing == hash(1)),
        "sync of what is missing names it"
    );
}

fn puts_and_gets(objects: &dyn ObjectBackend) {
    let batch = [(hash(2), b"two".to_vec()), (hash(1), b"one".to_vec())];
    assert_eq!(
        objects.put_all(&batch).expect("put_all"),
        [ObjectPutOutcome::Published, ObjectPutOutcome::Published],
        "a new batch"
    );
    assert_eq!(objects.get(hash(1)).expect("get"), Some(b"one".to_vec()));
    assert_eq!(objects.get(hash(2)).expect("get"), Some(b"two".to_vec()));
    assert!(objects.contains(hash(1)).expect("contains"));
    objects.sync(&[hash(1), hash(2)]).expect("sync");
    let batch = [(hash(3), b"three".to_vec()), (hash(1), b"one".to_vec()), (hash(3), b"three".to_vec())];
    assert_eq!(
        objects.put_all(&batch).expect("put_all"),
        [ObjectPutOutcome::Published, ObjectPutOutcome::Present, ObjectPutOutcome::Present],
        "a batch of new, old and repeated objects, answered in order"
    );
}

/// A backend that follows chains returns the same as walking back one by one, as far as the chain goes.
fn follows_chains(objects: &dyn ObjectBackend) {
    let mut links: Vec<(NodeHash, Vec<u8>)> = Vec::new();
    for number in 0..5 {
        let prev = links.last().map(|(hash, _)| *hash);
        let payload = json!({ "prev": prev, "number": number });
        let draft = NodeDraft::new(crate::bootstrap::HASH, payload).expect("a draft");
        links.push((draft.hash(), Node::encode(draft.type_hash(), draft.cbor(), number)));
    }
    links.reverse();
    // The oldest link is missing.
    objects.put_all(&links[..4]).expect("put_all");
    for (from, most, expected) in [(0, 2, &links[..2]), (1, 9, &links[1..4]), (3, 1, &links[3..4]), (4, 9, &[])] {
        let given = objects.chain(links[from].0, most).expect("chain");
        assert!(given.is_empty() || given == expected, "{most} of the chain from link {from}");
    }
}

fn gets_many_in_their_order(objects: &dyn ObjectBackend) {
    assert!(objects.get_all(&[]).expect("get_all").is_empty(), "nothing was asked for");
    let there: Vec<(NodeHash, Vec<u8>)> =
        (0..MANY).map(|value| (hash(value), value.to_string().into_bytes())).collect();
    objects.put_all(&there).expect("put_all");
    // Each object twice, the second time in reverse order, and as many missing ones.
    let asked: Vec<NodeHash> = (0..MANY).chain((0..MANY * 2).rev()).map(hash).collect();
    let expected: Vec<Option<Vec<u8>>> = asked
        .iter()
        .map(|hash| there.iter().find(|(other, _)| other == hash).map(|(_, bytes)| bytes.clone()))
        .collect();
    assert!(objects.get_all(&asked).expect("get_all") == expected, "absent and repeated ones, answered in order");
    assert!(objects.get_all(&asked).expect("get_all") == expected, "and once more, from whatever cache");
    assert!(objects.get_all_uncached(&asked).expect("get_all_uncached") == expected, "and from where they are");
    let sizes =
        |stored: Vec<Option<ObjectMetadata>>| stored.into_iter().map(|stored| Some(stored?.bytes)).collect::<Vec<_>>();
    let expected: Vec<Option<u64>> = expected.iter().map(|bytes| Some(bytes.as_ref()?.len() as u64)).collect();
    assert_eq!(sizes(objects.stored_all(&asked).expect("stored_all")), expected, "and their metadata");
}

fn never_replaces(objects: &dyn ObjectBackend) {
    objects.put_all(&[(hash(1), b"first".to_vec())]).expect("put_all");
    let answer = objects.put_all(&[(hash(1), b"second".to_vec())]).expect("put_all");
    assert_eq!(answer, [ObjectPutOutcome::Present], "a put on something else");
    assert_eq!(objects.get(hash(1)).expect("get"), Some(b"first".to_vec()));
}

fn replaces_when_told(objects: &dyn ObjectBackend) {
    objects.put_all(&[(hash(1), b"bad".to_vec())]).expect("put_all");
    objects.replace(hash(1), b"good").expect("replace");
    assert_eq!(objects.get(hash(1)).expect("get"), Some(b"good".to_vec()));
    objects.replace(hash(2), b"new").expect("replace of what is not there");
    assert_eq!(objects.get(hash(2)).expect("get"), Some(b"new".to_vec()));
}

fn lists_sorted_and_by_prefix(objects: &dyn ObjectBackend) {
    let names = ["F000000000000", "0ZK4000000000", "0ZK5000000000", "0ZK4ZZZZZZZZZ"];
    let batch: Vec<(NodeHash, Vec<u8>)> =
        names.iter().map(|name| (name.parse().expect("a hash"), name.as_bytes().to_vec())).collect();
    objects.put_all(&batch).expect("put_all");
    let mut all: Vec<NodeHash> = batch.iter().map(|(hash, _)| *hash).collect();
    all.sort_unstable();
    assert_eq!(objects.list(None).expect("list"), all, "all, sorted");
    let prefix = "0zk4".parse().expect("a prefix");
    assert_eq!(
        objects.list(Some(&prefix)).expect("list"),
        [NodeHash::literal("0ZK4000000000"), NodeHash::literal("0ZK4ZZZZZZZZZ")],
        "those with a prefix, sorted"
    );
    let prefix = "1111".parse().expect("a prefix");
    assert_eq!(objects.list(Some(&prefix)).expect("list"), [], "none");
}

fn keeps_any_bytes(objects: &dyn ObjectBackend) {
    let large: Vec<u8> = (0..1 << 20).map(|index: u32| index.wrapping_mul(31) as u8).collect();
    let batch = [(hash(1), Vec::new()), (hash(u64::MAX), large.clone())];
    objects.put_all(&batch).expect("put_all");
    assert_eq!(objects.get(hash(1)).expect("get"), Some(Vec::new()), "no bytes");
    assert!(objects.get(hash(u64::MAX)).expect("get") == Some(large), "a megabyte");
}

fn takes_puts_at_once(objects: &dyn ObjectBackend) {
    let published: u64 = thread::scope(|scope| {
        let putters: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || put_each(objects, thread))).collect();
        putters.into_iter().map(|putter| putter.join().expect("a putting thread panicked")).sum()
    });
    let distinct = EACH / 2 + THREADS * EACH / 2;
    assert_eq!(published, distinct, "each object is published by exactly one");
    assert_eq!(objects.list(None).expect("list").len() as u64, distinct);
}

fn put_each(objects: &dyn ObjectBackend, thread: u64) -> u64 {
    let mut published = 0;
    for number in 0..EACH {
        let name = match number % 2 {
            0 => hash(number),
            _ => hash((thread + 1) * 1000 + number),
        };
        let bytes = name.to_string().into_bytes();
        let puts = objects.put_all(&[(name, bytes.clone())]).expect("put_all");
        assert_eq!(objects.get(name).expect("get"), Some(bytes), "whole once put");
        published += puts.iter().filter(|put| **put == ObjectPutOutcome::Published).count() as u64;
    }
    published
}

fn removes(objects: &dyn ObjectBackend) {
    objects.put_all(&[(hash(1), b"one".to_vec()), (hash(2), b"two".to_vec())]).expect("put_all");
    let sweep = objects.sweep().expect("sweep");
    assert_eq!(objects.remove_all(&sweep, &[&[hash(1)]]).expect("remove"), [true], "it was there");
    assert_eq!(objects.remove_all(&sweep, &[&[hash(1)], &[hash(3)]]).expect("remove"), [false, false], "it is gone");
    drop(sweep);
    assert_eq!((objects.get(hash(1)).expect("get"), objects.stored(hash(1)).expect("stored")), (None, None));
    assert_eq!(objects.list(None).expect("list"), [hash(2)]);
    let again = objects.put_all(&[(hash(1), b"one".to_vec())]).expect("put_all");
    assert_eq!(again, [ObjectPutOutcome::Published], "a removed node can be put again");
}

fn grows_young_again(objects: &dyn ObjectBackend) {
    assert!(!objects.refresh(hash(1)).expect("refresh"), "refresh of nothing");
    assert_eq!(objects.stored(hash(1)).expect("stored"), None, "stored of nothing");
    let before = SystemTime::now() - AGE;
    objects.put_all(&[(hash(1), b"one".to_vec())]).expect("put_all");
    let ObjectMetadata { bytes, put_at } = objects.stored(hash(1)).expect("stored").expect("it is there");
    assert_eq!(bytes, 3);
    assert!(put_at >= before && put_at <= SystemTime::now() + AGE, "put just now");
    thread::sleep(TICK);
    assert!(objects.refresh(hash(1)).expect("refresh"), "it is there");
    let refreshed = objects.stored(hash(1)).expect("stored").expect("it is there").put_at;
    assert!(refreshed > put_at, "it is younger than before");
    assert_eq!(objects.get(hash(1)).expect("get"), Some(b"one".to_vec()), "and the same");
}

fn sweeps_only_when_nobody_holds(objects: &dyn ObjectBackend) {
    let first = objects.hold().expect("hold");
    let second = objects.hold().expect("a holder may hold again");
    drop(first);
    let (swept, held) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            let sweep = objects.sweep().expect("sweep");
            swept.store(true, Ordering::SeqCst);
            thread::sleep(WATCHED);
            assert!(!held.load(Ordering::SeqCst), "a sweep excludes holds");
            drop(sweep);
        });
        thread::sleep(WATCHED);
        assert!(!swept.load(Ordering::SeqCst), "a sweep waits for all holders");
        drop(second);
        while !swept.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let hold = objects.hold().expect("hold");
        held.store(true, Ordering::SeqCst);
        drop(hold);
    });
}
