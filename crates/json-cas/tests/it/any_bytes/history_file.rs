//! The journal of ended names: whole lines count, whatever stands around them, and none is lost by a change.

use std::fs;

use json_cas::{FsHeads, HeadBackend, HeadsFiles, JournalRecords, NodeHash, RemovalJournal, SwapOutcome, check_name};
use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_testing::{FuzzTarget, dir_in_memory};

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "history.jsonl",
    samples: &[
        b"{\"thread\":\"a\",\"head\":\"0000000000001\",\"completedAt\":1,\"status\":\"completed\"}\n{\"thread\":\"b\",\"workflow\":null,\"head\":\"0000000000002\",\"completedAt\":2}\n",
        b"{\"thread\":\"a\",\"n\":1}\n\n{\"thread\":\"a\",\"n\":2}\r\n{\"thread\":\"kept\",\"of\":\"a\"}",
        b"not json\n[1]\n{\"thread\":7}\n{\"thread\":\"b\",\"note\":{\"thread\":\"a\"}}\n{\"thread\":\"a",
        b"",
    ],
    words: &["{\"thread\":\"a\"}", "\"thread\"", "\"a\"", "\"b\"", "\"zz\"", ":", ",", "{", "}", "\n", "\r", "null", "1e999", "\\u0061", "\0"],
    check,
};

/// Names that are looked up one by one.
const LOOKED_UP: usize = 20;

thread_local! {
    /// One directory for all inputs: it is emptied before each.
    static DIR: TempDir = dir_in_memory();
}

fn check(bytes: &[u8]) {
    DIR.with(|dir| {
        let file = |name: &str| dir.path().join(name);
        fs::write(file("threads.yaml"), "active: \"0000000000001\"\n").expect("the index can be written");
        fs::write(file("history.jsonl"), bytes).expect("the journal can be written");
        let heads = FsHeads::new(HeadsFiles {
            index: file("threads.yaml"),
            journal: file("history.jsonl"),
            lock: file("lock"),
            name_key: "thread".to_owned(),
        });
        let JournalRecords { readable: records, problems } =
            heads.records().expect("a journal is readable whatever is in it");
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
        let torn = lines - records.len() - problems.len();
        assert!(torn <= 1, "{torn} lines are neither read nor told");
        look_up(&heads, &records, bytes);
        if !is_of(&records, "active") {
            add(&heads, &records, "active");
        }
    });
}

fn name(record: &Value) -> &str {
    record["thread"].as_str().expect("a record has a name")
}

fn is_of(records: &[Value], wanted: &str) -> bool {
    records.iter().any(|record| name(record) == wanted)
}

/// The newest record of a name is found. Names are written plainly by everybody, so one written with escapes is not.
fn look_up(heads: &FsHeads, records: &[Value], bytes: &[u8]) {
    if bytes.contains(&b'\\') {
        return;
    }
    for wanted in records.iter().map(name).filter(|name| check_name(name).is_ok()).take(LOOKED_UP) {
        let newest = records.iter().rfind(|record| name(record) == wanted);
        assert_eq!(heads.newest(wanted).expect("readable").as_ref(), newest);
    }
    assert_eq!(heads.newest("no-such-name").expect("readable"), None);
}

/// A name that ends adds its record and takes none away; forgotten, it takes only its own.
fn add(heads: &FsHeads, records: &[Value], ending: &str) {
    let record = json!({ "thread": ending, "head": NodeHash::from_u64(1) });
    let version = heads.read(ending).expect("readable").expect("it has not ended").version;
    assert_eq!(heads.remove(ending, &version, &record).expect("it ends"), SwapOutcome::Done);
    let after = heads.records().expect("readable").readable;
    assert_eq!(after.last(), Some(&record));
    // A last line that was torn may be whole now, that of the new record may not be one with it.
    assert!(after.len() > records.len() && after[..records.len()] == *records, "{records:?} {after:?}");
    assert_eq!(heads.read(ending).expect("readable"), None);
    assert_eq!(heads.forget(&[ending]).expect("forgotten"), 1);
    assert_eq!(heads.records().expect("readable").readable, after[..after.len() - 1]);
}
