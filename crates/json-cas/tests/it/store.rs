//! Putting, getting and finding nodes.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use json_cas::{FsObjects, MemoryObjects, Node, NodeDraft, NodeHash, Store, StoreError, bootstrap};
use json_cas::{ObjectBackend, ObjectPutOutcome};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hooked::Hooked;

/// A clock that says 1000, 1001, … for every thread of tests together.
fn ticking() -> u64 {
    static NOW: AtomicU64 = AtomicU64::new(1000);
    NOW.fetch_add(1, Ordering::Relaxed)
}

pub(crate) fn text_schema() -> Value {
    json!({"title": "text", "type": "string"})
}

fn draft(type_hash: NodeHash, payload: Value) -> NodeDraft {
    NodeDraft::new(type_hash, payload).unwrap()
}

fn file(dir: &Path, hash: NodeHash) -> std::path::PathBuf {
    dir.join(format!("{hash}.bin"))
}

#[test]
fn first_put_makes_everything_and_wins() {
    let dir = TempDir::new().unwrap();
    let cas = dir.path().join("new/cas");
    let store = Store::open_fs(&cas).with_clock(ticking);
    assert!(!cas.exists(), "opening makes nothing");
    let text = store.put_schema(text_schema()).unwrap();
    let hash = store.put(&draft(text, json!("hello"))).unwrap();
    let node = store.get(hash).unwrap();
    assert_eq!(node, Node { type_hash: text, payload: json!("hello"), timestamp: node.timestamp });
    assert_eq!(store.put(&draft(text, json!("hello"))).unwrap(), hash);
    assert_eq!(store.get(hash).unwrap(), node, "the first timestamp stays");
    assert_eq!(store.get(text).unwrap().type_hash, bootstrap::HASH);
    assert_eq!(store.get(bootstrap::HASH).unwrap().type_hash, bootstrap::HASH);
    let mut names: Vec<String> =
        fs::read_dir(&cas).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let mut expected = [hash, text, bootstrap::HASH].map(|hash| format!("{hash}.bin"));
    expected.sort();
    assert_eq!(names, expected, "three nodes and nothing else");
    assert!(store.has(hash).unwrap() && !store.has(NodeHash::from_u64(1)).unwrap());
    assert_eq!(store.try_get(NodeHash::from_u64(1)).unwrap(), None);
    assert_eq!(store.get(NodeHash::from_u64(1)).unwrap_err().to_string(), "node 0000000000001 does not exist");
}

#[test]
fn bytes_of_a_node_are_the_pinned_format() {
    let objects = Arc::new(MemoryObjects::new());
    let store = Store::new(objects.clone()).with_clock(|| 1_700_000_000_000);
    let text = store.put_schema(json!({"type": "string"})).unwrap();
    let hash = store.put(&draft(text, json!("hi"))).unwrap();
    let mut expected = b"\xa3\x64type\x6d".to_vec();
    expected.extend_from_slice(text.to_string().as_bytes());
    expected.extend_from_slice(b"\x67payload\x62hi\x69timestamp\x1b\x00\x00\x01\x8b\xcf\xe5\x68\x00");
    assert_eq!(objects.get(hash).unwrap().unwrap(), expected);
}

/// Another writer keeps the keys in another order and the time as a float.
#[test]
fn reads_nodes_as_other_writers_keep_them() {
    let store = Store::memory();
    let text = store.put_schema(text_schema()).unwrap();
    let node = draft(text, json!("hi"));
    let mut bytes = b"\xbf\x69timestamp\xfb\x42\x78\xbc\xfe\x56\x80\x00\x00\x67payload\x62hi\x64type\x78\x0d".to_vec();
    bytes.extend_from_slice(text.to_string().as_bytes());
    bytes.push(0xff);
    store.objects().put_all(&[(node.hash(), bytes.clone())]).unwrap();
    let expected = Node { type_hash: text, payload: json!("hi"), timestamp: 1_700_000_000_000 };
    assert_eq!(store.get(node.hash()).unwrap(), expected);
    assert_eq!(store.put(&node).unwrap(), node.hash());
    assert_eq!(store.objects().get(node.hash()).unwrap().unwrap(), bytes, "it is the same node");
}

#[test]
fn batch_may_list_types_in_any_order() {
    let store = Store::memory();
    let schema = Store::schema_draft(text_schema()).unwrap();
    let node = draft(schema.hash(), json!("hello"));
    let hashes = store.put_all(&[node.clone(), schema.clone(), node.clone()]).unwrap();
    assert_eq!(hashes, [node.hash(), schema.hash(), node.hash()]);
    assert_eq!(store.get(node.hash()).unwrap().payload, json!("hello"));
    assert_eq!(store.get(schema.hash()).unwrap().payload, text_schema());
}

#[test]
fn batch_with_invalid_payload_writes_nothing() {
    let store = Store::memory();
    let schema = Store::schema_draft(text_schema()).unwrap();
    let batch = [schema.clone(), draft(schema.hash(), json!("fits")), draft(schema.hash(), json!(5))];
    let error = store.put_all(&batch).unwrap_err();
    assert_eq!(error.to_string(), "the payload is not a valid text: expected a string, found 5");
    assert_eq!(store.objects().list(None).unwrap(), []);
    // A schema that was only compiled does not count as stored.
    let error = store.put(&draft(schema.hash(), json!("fits"))).unwrap_err();
    assert_eq!(error.to_string(), format!("type {} is not in the store", schema.hash()));
}

#[test]
fn types_must_be_schemas() {
    let store = Store::memory();
    let text = store.put_schema(text_schema()).unwrap();
    let hello = store.put(&draft(text, json!("hello"))).unwrap();
    let error = store.put(&draft(hello, json!(1))).unwrap_err();
    assert_eq!(error.to_string(), format!("node {hello} is not a schema and cannot be a type"));
    let error = store.put_schema(json!({"$ref": "https://example.org/s"})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "bad schema: /$ref: `https://example.org/s` is outside this schema; copy what it names into `$defs`"
    );
    let error = store.put(&draft(bootstrap::HASH, json!("no schema"))).unwrap_err();
    assert_eq!(error.to_string(), "bad schema: a schema is an object, true or false, not a string");
}

#[test]
fn trusted_payloads_skip_schema_only_in_release_builds() {
    let store = Store::memory();
    let text = store.put_schema(text_schema()).unwrap();
    let put = store.put(&draft(text, json!(5)).trusted());
    assert_eq!(put.is_err(), cfg!(debug_assertions), "{put:?}");
    store.put(&draft(text, json!("fine")).trusted()).unwrap();
    let unknown = store.put(&draft(NodeHash::from_u64(7), json!(1)).trusted()).unwrap_err();
    assert_eq!(unknown.to_string(), "type 0000000000007 is not in the store");
}

#[test]
fn foreign_meta_schemas_type_schemas_too() {
    let store = Store::memory();
    let meta = NodeDraft::self_typed(json!({"type": ["object", "boolean"], "title": "theirs"})).unwrap();
    assert_eq!(meta.hash(), meta.type_hash());
    let schema = draft(meta.hash(), text_schema());
    let node = draft(schema.hash(), json!("hello"));
    store.put_all(&[node.clone(), schema.clone(), meta.clone()]).unwrap();
    assert_eq!(store.get(meta.hash()).unwrap().type_hash, meta.hash());
    assert!(!store.has(bootstrap::HASH).unwrap(), "ours is not needed");
    let again = Store::new(Arc::new(copy_of(&store)));
    again.put(&draft(schema.hash(), json!("more"))).unwrap();
    let error = again.put(&draft(meta.hash(), json!({"type": "strng"}))).unwrap_err();
    assert_eq!(error.to_string(), "bad schema: /type: `strng` is not a type; did you mean `string`?");
    assert_eq!(again.verify(None).unwrap().problems, []);
}

fn copy_of(store: &Store) -> MemoryObjects {
    let copy = MemoryObjects::new();
    for hash in store.objects().list(None).unwrap() {
        let bytes = store.objects().get(hash).unwrap().unwrap();
        copy.put_all(&[(hash, bytes)]).unwrap();
    }
    copy
}

#[test]
fn corrupt_node_is_reported_and_repaired_by_put() {
    let dir = TempDir::new().unwrap();
    let store = Store::open_fs(dir.path());
    let text = store.put_schema(text_schema()).unwrap();
    let hello = draft(text, json!("hello"));
    let other = store.put(&draft(text, json!("other"))).unwrap();
    let hash = store.put(&hello).unwrap();
    let path = file(dir.path(), hash);
    let whole = fs::read(&path).unwrap();
    // One bit of the payload flips: the bytes are then another node.
    let jello = draft(text, json!("jello")).hash();
    let at = whole.windows(5).position(|window| window == b"hello").unwrap();
    let mut flipped = whole.clone();
    flipped[at] ^= 2;
    for (bytes, reason) in [
        (Vec::new(), "the file is empty"),
        (whole[..20].to_vec(), "not CBOR of a JSON value at byte 20, in the root: the bytes end too early"),
        (b"\xa1\x64type\x6d0000000000000".to_vec(), "no `payload`"),
        (b"\x01".to_vec(), "not a map of type, payload and timestamp"),
        (fs::read(file(dir.path(), other)).unwrap(), &format!("the content has hash {other}")),
        (flipped, &format!("the content has hash {jello}")),
    ] {
        fs::write(&path, &bytes).unwrap();
        let error = store.get(hash).unwrap_err();
        assert_eq!(error.to_string(), format!("node {hash} is corrupt: {reason}"));
        assert_eq!(store.put(&hello).unwrap(), hash);
        assert_eq!(store.get(hash).unwrap().payload, json!("hello"));
    }
}

/// Two texts whose nodes of one type have one hash. XXH64 is no defence against this: in each of
/// its four lanes one word can be made to undo the change of the word before it.
pub(crate) fn colliding_texts(type_hash: NodeHash) -> [String; 2] {
    const P1: u64 = 0x9E37_79B1_85EB_CA87;
    const P2: u64 = 0xC2B2_AE3D_27D4_EB4F;
    let first = "a".repeat(100);
    let hashed = |text: &str| {
        let mut bytes = type_hash.to_ascii().to_vec();
        bytes.extend_from_slice(&[0x78, 100]);
        bytes.extend_from_slice(text.as_bytes());
        bytes
    };
    let input = hashed(&first);
    let word = |at: usize| u64::from_le_bytes(input[at..at + 8].try_into().unwrap());
    let round = |acc: u64, word: u64| acc.wrapping_add(word.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1);
    // The inverse of an odd number modulo 2^64, by Newton's method.
    let inverse = (0..6).fold(P2, |x, _| x.wrapping_mul(2u64.wrapping_sub(P2.wrapping_mul(x))));
    let before = round(P1.wrapping_add(P2), word(0));
    let after = round(before, word(32));
    // Lane 0 holds the bytes 32..40 and 64..72 of the input: 17..25 and 49..57 of the text.
    for try_ in 1u64.. {
        let letters: [u8; 8] = std::array::from_fn(|i| b'a' + (try_ / 26u64.pow(i as u32) % 26) as u8);
        let changed = round(before, u64::from_le_bytes(letters));
        let undo = word(64).wrapping_add(after.wrapping_sub(changed).wrapping_mul(inverse));
        let undo = undo.to_le_bytes();
        if undo.iter().all(|byte| (b' '..=b'~').contains(byte)) && letters != *b"aaaaaaaa" {
            let mut second = first.clone().into_bytes();
            second[17..25].copy_from_slice(&letters);
            second[49..57].copy_from_slice(&undo);
            return [first, String::from_utf8(second).unwrap()];
        }
    }
    unreachable!("the loop has no end")
}

#[test]
fn a_collision_is_an_error_and_changes_nothing() {
    let dir = TempDir::new().unwrap();
    let store = Store::open_fs(dir.path());
    let text = store.put_schema(text_schema()).unwrap();
    let [one, two] = colliding_texts(text).map(|payload| draft(text, json!(payload)));
    assert_ne!(one.payload(), two.payload());
    assert_eq!(one.hash(), two.hash(), "a real collision");
    let expected = format!("hash collision: another node is already stored as {}", one.hash());
    let error = store.put_all(&[one.clone(), two.clone()]).unwrap_err();
    assert_eq!(error.to_string(), expected, "within a batch");
    assert!(!store.has(one.hash()).unwrap());
    store.put(&one).unwrap();
    let error = store.put(&two).unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert_eq!(store.get(one.hash()).unwrap().payload, *one.payload());
}

#[test]
fn a_put_that_comes_second_still_compares() {
    let other = Store::memory();
    let text = other.put_schema(text_schema()).unwrap();
    let [one, two] = colliding_texts(text).map(|payload| draft(text, json!(payload)));
    other.put(&one).unwrap();
    let theirs = other.objects().get(one.hash()).unwrap().unwrap();
    let racing = |bytes: Vec<u8>| {
        let inner = copy_of(&other);
        let without = MemoryObjects::new();
        for hash in [text, bootstrap::HASH] {
            without.put_all(&[(hash, inner.get(hash).unwrap().unwrap())]).unwrap();
        }
        // Another process publishes between the look and the put.
        let meanwhile = vec![(one.hash(), bytes)];
        Store::new(Arc::new(Hooked::before_put(without, move |inner, _| drop(inner.put_all(&meanwhile).unwrap()))))
    };
    let store = racing(theirs.clone());
    assert_eq!(store.put(&one).unwrap(), one.hash());
    assert_eq!(store.objects().get(one.hash()).unwrap().unwrap(), theirs, "theirs was first");
    let error = racing(theirs).put(&two).unwrap_err();
    assert!(matches!(error, StoreError::Collision { hash } if hash == one.hash()), "{error}");
    let store = racing(b"half writ".to_vec());
    store.put(&one).unwrap();
    assert_eq!(store.get(one.hash()).unwrap().payload, *one.payload(), "rubbish is repaired");
}

#[test]
fn batch_is_written_once_with_only_new_nodes() {
    let counted = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let counter = Arc::clone(&counted);
    let store = Store::new(Arc::new(Hooked::before_put(MemoryObjects::new(), move |_, batch| {
        counter.0.fetch_add(1, Ordering::Relaxed);
        counter.1.fetch_add(batch.len(), Ordering::Relaxed);
    })));
    let schema = Store::schema_draft(text_schema()).unwrap();
    let node = |text: &str| draft(schema.hash(), json!(text));
    store.put_all(&[schema.clone(), node("a"), node("b"), node("a")]).unwrap();
    let counts = || (counted.0.load(Ordering::Relaxed), counted.1.load(Ordering::Relaxed));
    assert_eq!(counts(), (1, 4), "meta-schema, schema, a, b");
    store.put_all(&[node("b"), node("c")]).unwrap();
    assert_eq!(counts(), (2, 5));
    store.put(&node("a")).unwrap();
    assert_eq!(counts(), (3, 5), "an empty batch makes what others published durable");
}

#[test]
fn prefixes_resolve_when_they_are_unique() {
    let objects = MemoryObjects::new();
    let names = [
        "0ZK4000000000",
        "0ZK4000000001",
        "0ZK5000000000",
        "0ZK40000000ZZ",
        "0ZK400000ZZZZ",
        "0ZK4ZZZZZZZZZ",
        "0ZK4ZZZZZZZZY",
    ];
    for name in names {
        objects.put_all(&[(name.parse().unwrap(), Vec::new())]).unwrap();
    }
    let store = Store::new(Arc::new(objects));
    assert_eq!(store.resolve_prefix("0zk5").unwrap(), NodeHash::literal("0ZK5000000000"));
    assert_eq!(store.resolve_prefix("0ZK400000Z").unwrap(), NodeHash::literal("0ZK400000ZZZZ"));
    assert_eq!(
        store.resolve_prefix("ABCD000000000").unwrap(),
        NodeHash::literal("ABCD000000000"),
        "a full hash is not looked for"
    );
    let message = |text: &str| store.resolve_prefix(text).unwrap_err().to_string();
    assert_eq!(message("abcd"), "no node's hash begins with ABCD");
    assert_eq!(
        message("0zk4zzzzzzzz"),
        "0ZK4ZZZZZZZZ is the beginning of more than one hash: 0ZK4ZZZZZZZZY, 0ZK4ZZZZZZZZZ"
    );
    assert_eq!(
        message("0ZK4"),
        "0ZK4 is the beginning of more than one hash: 0ZK4000000000, 0ZK4000000001, \
         0ZK40000000ZZ, 0ZK400000ZZZZ, 0ZK4ZZZZZZZZY, …"
    );
    assert_eq!(message("0ZK"), "`0ZK` is not a hash: give at least 4 symbols");
    assert_eq!(message("start!"), "`start!` is not a hash: the first symbol of a hash is 0-9 or A-F");
}

#[test]
fn errors_of_the_disk_name_the_file() {
    let dir = TempDir::new().unwrap();
    let blocked = dir.path().join("file");
    fs::write(&blocked, "in the way").unwrap();
    let store = Store::open_fs(blocked.join("cas"));
    let error = store.put_schema(text_schema()).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    assert!(!error.is_disk_full());
    let error = store.get(NodeHash::from_u64(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot read {}: Not a directory (os error 20)", blocked.join("cas/0000000000001.bin").display()),
        "not reported as a missing node"
    );
    let cas = dir.path().join("cas");
    fs::create_dir_all(file(&cas, NodeHash::from_u64(1))).unwrap();
    let error = Store::open_fs(&cas).get(NodeHash::from_u64(1)).unwrap_err();
    assert!(error.to_string().starts_with("cannot read "), "{error}");
}

#[test]
fn a_failed_put_leaves_no_temporary_file() {
    let dir = TempDir::new().unwrap();
    let objects = FsObjects::new(dir.path());
    let hash = NodeHash::from_u64(1);
    fs::create_dir(objects.path(hash)).unwrap();
    let puts = objects.put_all(&[(hash, b"x".to_vec())]).unwrap();
    assert_eq!(puts, [ObjectPutOutcome::Present]);
    objects.replace(hash, b"x").unwrap_err();
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [objects.path(hash)]);
}

#[test]
fn batch_may_exceed_open_file_limit() {
    let dir = TempDir::new().unwrap();
    let objects = FsObjects::new(dir.path());
    let batch: Vec<(NodeHash, Vec<u8>)> =
        (0..150).map(|n| (NodeHash::from_u64(n), n.to_string().into_bytes())).collect();
    assert_eq!(objects.put_all(&batch[100..120]).unwrap(), [ObjectPutOutcome::Published; 20]);
    let puts = objects.put_all(&batch).unwrap();
    let present: Vec<usize> = (0..150).filter(|n| puts[*n] == ObjectPutOutcome::Present).collect();
    assert_eq!(present, (100..120).collect::<Vec<_>>());
    assert_eq!(objects.list(None).unwrap().len(), 150);
}

#[test]
fn strays_and_temporary_files_are_no_nodes() {
    let dir = TempDir::new().unwrap();
    let store = Store::open_fs(dir.path());
    let text = store.put_schema(text_schema()).unwrap();
    for name in ["notes.txt", ".tmp-abc", "0zk4000000000.bin", "0ZK4.bin"] {
        fs::write(dir.path().join(name), "x").unwrap();
    }
    let mut expected = [text, bootstrap::HASH];
    expected.sort();
    assert_eq!(store.objects().list(None).unwrap(), expected);
    let strays: Vec<String> = store.objects().strays().unwrap().into_iter().map(|stray| stray.name).collect();
    assert_eq!(strays, ["0ZK4.bin", "0zk4000000000.bin", "notes.txt"]);
}

#[test]
fn many_threads_may_put_the_same_nodes() {
    let dir = TempDir::new().unwrap();
    let store = Store::open_fs(dir.path());
    let text = Store::schema_draft(text_schema()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let mine = Store::open_fs(dir.path());
            let text = text.clone();
            scope.spawn(move || {
                for number in 0..20 {
                    let node = draft(text.hash(), json!(format!("text {number}")));
                    let hashes = mine.put_all(&[text.clone(), node]).unwrap();
                    assert_eq!(mine.get(hashes[1]).unwrap().payload, json!(format!("text {number}")));
                }
            });
        }
    });
    let report = store.verify(None).unwrap();
    assert_eq!((report.checked, report.problems), (22, Vec::new()));
}

/// A process that was stopped in a sweep keeps others waiting for ten seconds and no longer.
#[test]
fn wait_for_stalled_sweep_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let (stopped, other) = (FsObjects::new(dir.path()), FsObjects::new(dir.path()));
    let _sweep = stopped.sweep().unwrap();
    assert!(matches!(other.hold(), Err(StoreError::Busy { waited_ms: 10_000, .. })));
}
