//! Both backends against the suites that every backend must pass.

use json_cas::conformance::{heads_suite, notes_suite, objects_suite};
use json_cas::{
    CachedObjects, FsHeads, FsObjects, HeadsFiles, MemoryHeads, MemoryNotes, MemoryObjects, Node, NodeHash,
    ObjectBackend, Store, xxh64,
};
use serde_json::json;
use std::cell::Cell;
use std::fs;
use std::sync::Arc;
use tempfile::TempDir;

/// For objects that are any bytes.
const ANY: fn(NodeHash, &[u8]) -> bool = |_, _| true;

#[test]
fn objects_in_memory_pass_the_conformance_suite() {
    objects_suite(&|| Box::new(MemoryObjects::new()) as Box<dyn ObjectBackend>);
}

#[test]
fn heads_in_memory_pass_the_conformance_suite() {
    heads_suite(&MemoryHeads::new);
    notes_suite(&MemoryNotes::new);
}

#[test]
fn objects_in_files_pass_the_conformance_suite() {
    let root = TempDir::new().unwrap();
    let made = Cell::new(0);
    objects_suite(&|| {
        made.set(made.get() + 1);
        // Two levels that do not exist: the first put makes them.
        Box::new(FsObjects::new(root.path().join(made.get().to_string()).join("cas"))) as Box<dyn ObjectBackend>
    });
}

#[test]
fn cached_objects_pass_conformance_suite() {
    let root = TempDir::new().unwrap();
    let made = Cell::new(0);
    objects_suite(&|| {
        made.set(made.get() + 1);
        let dir = root.path().join(made.get().to_string());
        Box::new(CachedObjects::new(Arc::new(MemoryObjects::new()), dir, ANY)) as Box<dyn ObjectBackend>
    });
}

#[test]
fn reads_come_from_cache_unless_it_is_damaged() {
    let root = TempDir::new().unwrap();
    let hash = json_cas::NodeHash::from_u64(1);
    let behind = Arc::new(MemoryObjects::new());
    behind.put_all(&[(hash, b"one".to_vec())]).unwrap();
    let cached = CachedObjects::new(behind.clone(), root.path(), ANY);
    assert_eq!(cached.get(hash).unwrap(), Some(b"one".to_vec()));
    behind.remove_all(&behind.sweep().unwrap(), &[&[hash]]).unwrap();
    assert_eq!(cached.get(hash).unwrap(), Some(b"one".to_vec()), "an object does not change");
    assert!(!cached.contains(hash).unwrap(), "but it may be gone");

    let name = hash.to_string();
    let file = root.path().join(&name[..2]).join(&name);
    for damage in [&b"onetwo"[..], b"", b"one\0\0\0\0\0\0\0\0"] {
        fs::write(&file, damage).unwrap();
        assert_eq!(cached.get(hash).unwrap(), None, "what is damaged is read behind");
    }
    behind.put_all(&[(hash, b"one".to_vec())]).unwrap();
    assert_eq!(cached.get(hash).unwrap(), Some(b"one".to_vec()));
    fs::remove_dir_all(root.path()).unwrap();
    fs::write(root.path(), "no directory").unwrap();
    assert_eq!(cached.get(hash).unwrap(), Some(b"one".to_vec()), "a cache that cannot be written costs nothing else");
    fs::remove_file(root.path()).unwrap();
    fs::create_dir(root.path()).unwrap();
}

#[test]
fn damaged_source_node_is_returned_but_not_cached() {
    let root = TempDir::new().unwrap();
    let behind = Arc::new(MemoryObjects::new());
    let store = Store::new(behind.clone());
    let [sound, spoiled] = ["one", "two"].map(|title| store.put_schema(json!({"title": title})).unwrap());
    behind.replace(spoiled, b"rubbish").unwrap();
    let cached = CachedObjects::new(behind.clone(), root.path(), Node::has_hash);
    let whole = behind.get(sound).unwrap();
    assert_eq!(cached.get(spoiled).unwrap(), Some(b"rubbish".to_vec()), "whoever repairs it has to see it");
    assert_eq!(cached.get_all(&[sound, spoiled]).unwrap(), [whole.clone(), Some(b"rubbish".to_vec())]);
    let file = |hash: NodeHash| root.path().join(&hash.to_string()[..2]).join(hash.to_string());
    assert!(file(sound).exists() && !file(spoiled).exists());

    // As an earlier program kept what it had not checked.
    fs::rename(file(sound), file(sound).with_extension("sound")).unwrap();
    let garbled = [&b"rubbish"[..], &xxh64(b"rubbish").as_u64().to_le_bytes()].concat();
    fs::write(file(sound), &garbled).unwrap();
    assert_eq!(cached.get(sound).unwrap(), whole, "it is read behind");
    assert_ne!(fs::read(file(sound)).unwrap(), garbled, "and kept");
    fs::write(file(sound), &garbled).unwrap();
    assert_eq!(cached.drop_garbled_copies(&[sound, spoiled]), [sound]);
    assert!(!file(sound).exists());
}

#[test]
fn holder_checks_existence_only_once() {
    let root = TempDir::new().unwrap();
    let hash = json_cas::NodeHash::from_u64(1);
    let behind = Arc::new(MemoryObjects::new());
    let cached = CachedObjects::new(behind.clone(), root.path(), ANY);
    let hold = cached.hold().unwrap();
    cached.put_all(&[(hash, b"one".to_vec())]).unwrap();
    assert!(cached.contains(hash).unwrap());
    drop(hold);
    behind.remove_all(&behind.sweep().unwrap(), &[&[hash]]).unwrap();
    let hold = cached.hold().unwrap();
    assert!(!cached.contains(hash).unwrap(), "what was known before may have been removed between two holds");
    drop(hold);
}

#[test]
fn heads_in_files_pass_the_conformance_suite() {
    let root = TempDir::new().unwrap();
    let made = Cell::new(0);
    heads_suite(&|| {
        made.set(made.get() + 1);
        let dir = root.path().join(made.get().to_string());
        FsHeads::new(HeadsFiles {
            index: dir.join("index.yaml"),
            journal: dir.join("journal.jsonl"),
            lock: dir.join("index.lock"),
            name_key: "name".to_owned(),
        })
    });
}
