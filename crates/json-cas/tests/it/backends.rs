//! Both backends against the suites that every backend must pass.

use json_cas::conformance::{heads_suite, objects_suite};
use json_cas::{FsHeads, FsObjects, HeadsFiles, MemoryHeads, MemoryObjects, Objects};
use std::cell::Cell;
use tempfile::TempDir;

#[test]
fn objects_in_memory_pass_the_conformance_suite() {
    objects_suite(&|| Box::new(MemoryObjects::new()) as Box<dyn Objects>);
}

#[test]
fn heads_in_memory_pass_the_conformance_suite() {
    heads_suite(&MemoryHeads::new);
}

#[test]
fn objects_in_files_pass_the_conformance_suite() {
    let root = TempDir::new().unwrap();
    let made = Cell::new(0);
    objects_suite(&|| {
        made.set(made.get() + 1);
        // Two levels that do not exist: the first put makes them.
        Box::new(FsObjects::new(root.path().join(made.get().to_string()).join("cas"))) as Box<dyn Objects>
    });
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
