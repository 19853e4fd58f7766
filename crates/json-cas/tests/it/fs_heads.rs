//! Heads in files: other people's files, crashes and other processes.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use durable_files::FileLock;
use json_cas::{FsHeads, HeadBackend, HeadsError, HeadsFiles, NodeHash, RemovalJournal, SwapOutcome};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Home {
    dir: TempDir,
    heads: FsHeads,
}

impl Home {
    fn new() -> Home {
        let dir = TempDir::new().unwrap();
        let heads = heads_in(dir.path().to_owned());
        Home { dir, heads }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn read(&self, name: &str) -> Option<NodeHash> {
        self.heads.read(name).unwrap().map(|head| head.hash)
    }

    fn swap(&self, name: &str, new: NodeHash) -> SwapOutcome {
        match self.heads.read(name).unwrap() {
            Some(head) => self.heads.swap(name, &head.version, new).unwrap(),
            None => self.heads.create(name, new).unwrap(),
        }
    }

    fn remove(&self, name: &str, record: &Value) -> SwapOutcome {
        let version = self.heads.read(name).unwrap().unwrap().version;
        self.heads.remove(name, &version, record).unwrap()
    }
}

fn heads_in(dir: PathBuf) -> FsHeads {
    FsHeads::new(HeadsFiles {
        index: dir.join("index.yaml"),
        journal: dir.join("journal.jsonl"),
        lock: dir.join("index.lock"),
        name_key: "name".to_owned(),
    })
}

const A: NodeHash = NodeHash::literal("0000000000001");
const B: NodeHash = NodeHash::literal("1234567890123");

#[test]
fn writes_quoted_sorted_lines() {
    let home = Home::new();
    assert_eq!(home.swap("b", B), SwapOutcome::Done);
    assert_eq!(home.swap("a", A), SwapOutcome::Done);
    assert_eq!(home.text("index.yaml"), "a: \"0000000000001\"\nb: \"1234567890123\"\n");
    assert_eq!(home.remove("a", &json!({"name": "a", "n": 1})), SwapOutcome::Done);
    assert_eq!(home.remove("b", &json!({"name": "b"})), SwapOutcome::Done);
    assert_eq!(home.text("index.yaml"), "{}\n");
    assert_eq!(home.text("journal.jsonl"), "{\"name\":\"a\",\"n\":1}\n{\"name\":\"b\"}\n");
    assert_eq!(home.heads.list().unwrap(), []);
    assert!(home.path("index.lock").exists(), "the lock file is never unlinked");
}

/// Heads that YAML readers would take for numbers stay what they are (digits only; digits and E).
#[test]
fn reads_indexes_that_others_wrote() {
    let digits = NodeHash::literal("1234567890123");
    let exponent = NodeHash::literal("12345678901E5");
    for text in [
        "b: 12345678901E5\na: 1234567890123\n",
        "{a: 1234567890123, 'b': \"12345678901E5\"}",
        "# mine\r\na: \"1234567890123\"\r\nb: '12345678901E5'\r\n",
        "---\na: !!str 1234567890123\nb: 12345678901e5 # lower case\n...\n",
    ] {
        let home = Home::new();
        home.write("index.yaml", text);
        assert_eq!((home.read("a"), home.read("b"), home.read("c")), (Some(digits), Some(exponent), None), "{text}");
        let list = home.heads.list().unwrap();
        assert_eq!(list, [("a".to_owned(), digits), ("b".to_owned(), exponent)], "{text}");
        assert_eq!(home.swap("b", A), SwapOutcome::Done);
        assert_eq!(home.text("index.yaml"), "a: \"1234567890123\"\nb: \"0000000000001\"\n", "{text}");
    }
}

#[test]
fn unreadable_index_fails_every_operation_and_stays_unchanged() {
    for bytes in [&b""[..], b"\n", b"\0\0\0\0", b"- a\n", b"a: [\n", b"\xff\xfe", b"a: \"123\"\n", b"null\n"] {
        let home = Home::new();
        home.write("index.yaml", bytes);
        let unreadable = |error: HeadsError| match error {
            HeadsError::Unreadable { path, .. } => assert_eq!(path, home.path("index.yaml")),
            other => panic!("{bytes:?}: {other}"),
        };
        unreadable(home.heads.read("b").unwrap_err());
        unreadable(home.heads.list().unwrap_err());
        unreadable(home.heads.create("b", A).unwrap_err());
        let version = json_cas::NameVersion::new("x");
        unreadable(home.heads.remove("b", &version, &json!({"name": "b"})).unwrap_err());
        assert_eq!(fs::read(home.path("index.yaml")).unwrap(), bytes);
        assert!(!home.path("journal.jsonl").exists());
    }
}

#[test]
fn missing_index_fails_once_it_existed() {
    let home = Home::new();
    assert_eq!(home.heads.list().unwrap(), [], "there never was one");
    assert_eq!(home.swap("a", A), SwapOutcome::Done);
    let index = home.path("index.yaml");
    fs::remove_file(&index).unwrap();
    let gone = |result: Result<SwapOutcome, HeadsError>| {
        let told = format!("cannot read the index {}: the file is gone, although the index existed", index.display());
        assert_eq!(result.unwrap_err().to_string(), told);
    };
    gone(home.heads.create("b", A));
    gone(home.heads.list().map(|_| SwapOutcome::Done));
    std::os::unix::fs::symlink(home.path("nowhere"), &index).unwrap();
    gone(home.heads.read("a").map(|_| SwapOutcome::Done));
}

#[test]
fn rebuild_replaces_broken_index_and_keeps_old_one() {
    let home = Home::new();
    let broken = format!("a: \"{A}\"\nb: \"{B}\"\n\0\0\0\0");
    home.write("index.yaml", &broken);
    let salvaged = home.heads.salvage();
    assert_eq!(salvaged.entries, [("a".to_owned(), A), ("b".to_owned(), B)]);
    assert!(matches!(salvaged.fault, Some(HeadsError::Unreadable { .. })));
    let wanted = [("b".to_owned(), A), ("c".to_owned(), B)];
    assert!(home.heads.rebuild(&home.heads.hold().unwrap(), &salvaged, &wanted, &[], ".broken-1").unwrap());
    assert_eq!(home.heads.list().unwrap(), wanted);
    assert_eq!(home.text("index.yaml.broken-1"), broken);
    assert!(
        !home.heads.rebuild(&home.heads.hold().unwrap(), &salvaged, &[], &[], ".broken-1").unwrap(),
        "it has changed since"
    );
    assert_eq!(home.heads.list().unwrap(), wanted);
    fs::remove_file(home.path("index.yaml")).unwrap();
    fs::create_dir(home.path("index.yaml")).unwrap();
    std::os::unix::fs::symlink(home.path("nowhere"), home.path("journal.jsonl")).unwrap();
    assert!(home.heads.journal_is_no_file());
    let salvaged = home.heads.salvage();
    assert!(
        home.heads
            .rebuild(&home.heads.hold().unwrap(), &salvaged, &wanted, &[json!({"name": "a"})], ".broken-2")
            .unwrap()
    );
    assert_eq!(home.text("journal.jsonl"), "{\"name\":\"a\"}\n");
    assert!(home.path("index.yaml.broken-2").is_dir());
    assert_eq!(home.heads.list().unwrap(), wanted);
}

#[test]
fn interrupted_drop_counts_and_completes_on_next_change() {
    let home = Home::new();
    for name in ["a", "b"] {
        assert_eq!(home.swap(name, A), SwapOutcome::Done);
    }
    let version = home.heads.read("a").unwrap().unwrap().version;
    // The process died after the record and before the drop.
    home.write("journal.jsonl", "{\"name\":\"a\",\"status\":\"completed\"}\n");
    assert_eq!((home.read("a"), home.read("b")), (None, Some(A)));
    assert_eq!(home.heads.list().unwrap(), [("b".to_owned(), A)]);
    assert!(home.text("index.yaml").contains("a: "), "reading changes nothing");
    assert_eq!(home.swap("b", B), SwapOutcome::Done);
    assert_eq!(home.text("index.yaml"), "b: \"1234567890123\"\n");

    // The same when the next change is one that is refused.
    home.write("index.yaml", "a: \"0000000000001\"\nb: \"1234567890123\"\n");
    assert_eq!(home.heads.swap("a", &version, B).unwrap(), SwapOutcome::Moved(None));
    assert_eq!(home.text("index.yaml"), "b: \"1234567890123\"\n");
    let again = json!({"name": "a", "status": "killed"});
    assert_eq!(home.heads.remove("a", &version, &again).unwrap(), SwapOutcome::Moved(None));
    assert!(matches!(home.heads.create("a", B), Err(HeadsError::Removed { .. })));
    assert_eq!(home.heads.newest("a").unwrap(), Some(json!({"name": "a", "status": "completed"})));
}

#[test]
fn a_torn_record_did_not_happen() {
    let home = Home::new();
    for name in ["a", "b"] {
        assert_eq!(home.swap(name, A), SwapOutcome::Done);
    }
    home.write("journal.jsonl", "{\"name\":\"old\"}\n{\"name\":\"a\",\"stat");
    assert_eq!(home.read("a"), Some(A));
    assert_eq!(home.heads.records().unwrap().readable, [json!({"name": "old"})]);
    assert_eq!(home.heads.records().unwrap().problems, Vec::<String>::new());
    assert_eq!(home.heads.newest("a").unwrap(), None);
    assert_eq!(home.remove("b", &json!({"name": "b"})), SwapOutcome::Done);
    assert_eq!(home.text("journal.jsonl"), "{\"name\":\"old\"}\n{\"name\":\"a\",\"stat\n{\"name\":\"b\"}\n");
    assert_eq!(home.heads.records().unwrap().readable, [json!({"name": "old"}), json!({"name": "b"})]);
    assert_eq!(home.heads.records().unwrap().problems, ["line 2: not JSON: EOF while parsing a string"]);
    assert_eq!(home.read("a"), Some(A), "and its thread goes on");
}

#[test]
fn record_without_matching_name_removes_nothing() {
    let home = Home::new();
    assert_eq!(home.swap("a", A), SwapOutcome::Done);
    let version = home.heads.read("a").unwrap().unwrap().version;
    for record in [json!({"name": "b"}), json!({"names": "a"}), json!("a")] {
        let error = home.heads.remove("a", &version, &record).unwrap_err();
        assert_eq!(error.to_string(), "cannot remove a: its record is not an object with `name: a`");
    }
    assert_eq!((home.read("a"), home.path("journal.jsonl").exists()), (Some(A), false));
}

/// The crash took only the line break: the record is whole, and the next append will end it.
#[test]
fn a_record_without_its_line_break_did_happen() {
    let home = Home::new();
    assert_eq!(home.swap("a", A), SwapOutcome::Done);
    home.write("journal.jsonl", "{\"name\":\"a\"}");
    assert_eq!(home.read("a"), None);
    assert_eq!(home.heads.records().unwrap().readable, [json!({"name": "a"})]);
    assert_eq!(home.heads.newest("a").unwrap(), Some(json!({"name": "a"})));
    assert_eq!(home.swap("b", A), SwapOutcome::Done);
    assert_eq!(home.remove("b", &json!({"name": "b"})), SwapOutcome::Done);
    assert_eq!(home.text("journal.jsonl"), "{\"name\":\"a\"}\n{\"name\":\"b\"}\n");
    assert_eq!(home.text("index.yaml"), "{}\n");
}

#[test]
fn records_may_exceed_tail_buffer() {
    let home = Home::new();
    let record = |name: &str| json!({"name": name, "summary": "x".repeat(40_000)});
    for name in ["a", "b"] {
        assert_eq!(home.swap(name, A), SwapOutcome::Done);
    }
    assert_eq!(home.remove("a", &record("a")), SwapOutcome::Done);
    let index = home.text("index.yaml");
    assert_eq!(home.remove("b", &record("b")), SwapOutcome::Done);
    home.write("index.yaml", index);
    assert_eq!(home.read("b"), None, "found although the record is ten times the usual read");
    assert_eq!(home.swap("c", A), SwapOutcome::Done);
    assert_eq!(home.text("index.yaml"), "c: \"0000000000001\"\n");
    assert_eq!(home.heads.newest("a").unwrap(), Some(record("a")));
}

#[test]
fn waits_for_the_lock_but_not_for_ever() {
    let home = Home::new();
    let held = FileLock::acquire(&home.path("index.lock"), Duration::ZERO).unwrap();
    let impatient = home.heads.clone().with_lock_wait(Duration::from_millis(20));
    let error = impatient.create("a", A).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{} stayed locked by another process for 20 ms", home.path("index.lock").display())
    );
    assert_eq!(home.read("a"), None, "reading does not wait");
    drop(held);
    assert_eq!(impatient.create("a", A).unwrap(), SwapOutcome::Done);
}

#[test]
fn a_failing_disk_loses_nothing() {
    let home = Home::new();
    assert_eq!(home.swap("a", A), SwapOutcome::Done);
    let before = home.text("index.yaml");
    // A directory in the place of the journal: no record can be written.
    fs::create_dir(home.path("journal.jsonl")).unwrap();
    let version = json_cas::NameVersion::new(A.to_string());
    let error = home.heads.remove("a", &version, &json!({"name": "a"})).unwrap_err();
    assert!(matches!(error, HeadsError::Io { .. }) && !error.is_disk_full(), "{error}");
    assert_eq!(home.text("index.yaml"), before);
}

const WORKER_DIR: &str = "JSON_CAS_TEST_WORKER_DIR";
const WORKER: &str = "JSON_CAS_TEST_WORKER";
const WORKERS: usize = 8;
const MOVES: u64 = 25;

/// The work of one process: create, move a shared name, end every second name.
fn work(dir: PathBuf, worker: &str) {
    let heads = heads_in(dir);
    for number in 0..MOVES {
        let own = format!("own-{worker}-{number}");
        assert_eq!(heads.create(&own, A).unwrap(), SwapOutcome::Done);
        loop {
            let now = heads.read("shared").unwrap().unwrap();
            let next = NodeHash::from_u64(now.hash.as_u64() + 1);
            if heads.swap("shared", &now.version, next).unwrap() == SwapOutcome::Done {
                break;
            }
        }
        if number % 2 == 0 {
            let version = heads.read(&own).unwrap().unwrap().version;
            let record = json!({"name": own, "worker": worker});
            assert_eq!(heads.remove(&own, &version, &record).unwrap(), SwapOutcome::Done);
        }
    }
}

/// Runs itself eight times over, each a process of its own.
#[test]
fn processes_lose_nothing() {
    if let (Ok(dir), Ok(worker)) = (std::env::var(WORKER_DIR), std::env::var(WORKER)) {
        return work(PathBuf::from(dir), &worker);
    }
    let home = Home::new();
    assert_eq!(home.swap("shared", NodeHash::from_u64(0)), SwapOutcome::Done);
    let children: Vec<_> = (0..WORKERS)
        .map(|worker| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "fs_heads::processes_lose_nothing"])
                .env(WORKER_DIR, home.dir.path())
                .env(WORKER, worker.to_string())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let total = WORKERS as u64 * MOVES;
    assert_eq!(home.read("shared"), Some(NodeHash::from_u64(total)), "moves of the shared name");
    let ended = WORKERS as u64 * MOVES.div_ceil(2);
    assert_eq!(home.heads.records().unwrap().readable.len() as u64, ended);
    assert_eq!(home.heads.list().unwrap().len() as u64, total - ended + 1);
    assert_eq!(home.heads.records().unwrap().problems, Vec::<String>::new());
    let mut names: Vec<String> =
        fs::read_dir(home.dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["index.lock", "index.yaml", "journal.jsonl"], "no temporary files");
}
