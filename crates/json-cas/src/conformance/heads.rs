//! Required behaviour of [`HeadBackend`] with a [`RemovalJournal`].

use std::thread;

use serde_json::{Value, json};

use crate::hash::NodeHash;
use crate::heads::{Head, HeadBackend, HeadsError, NameVersion, SwapOutcome};
use crate::journal::{JournalRecords, RemovalJournal};

/// Threads that move heads at the same time.
const THREADS: u64 = 8;

/// Moves of one shared name, and new names of its own, that each thread makes.
const EACH: u64 = 25;

/// Runs every case against backends made by `make`.
///
/// # Panics
/// If the backend violates the contract of [`HeadBackend`] or [`RemovalJournal`].
pub fn heads_suite<H: HeadBackend + RemovalJournal>(make: &dyn Fn() -> H) {
    empty(&make());
    creates_once(&make());
    moves_by_version(&make());
    removes(&make());
    keeps_records_of_names_apart(&make());
    refuses_bad_names(&make());
    forgets(&make());
    lists_sorted(&make());
    surveys_what_is_whole(&make());
    loses_no_move(&make());
    removes_once(&make());
}

trait JournaledHeads: HeadBackend + RemovalJournal {}

impl<H: HeadBackend + RemovalJournal> JournaledHeads for H {}

fn hash(value: u64) -> NodeHash {
    NodeHash::from_u64(value)
}

fn head(heads: &dyn JournaledHeads, name: &str) -> Head {
    heads.read(name).expect("read").expect("the name exists")
}

fn create(heads: &dyn JournaledHeads, name: &str, to: NodeHash) {
    assert_eq!(heads.create(name, to).expect("create"), SwapOutcome::Done, "creation of {name}");
}

fn readable(heads: &dyn JournaledHeads) -> Vec<Value> {
    let JournalRecords { readable, problems } = heads.records().expect("records");
    assert_eq!(problems, Vec::<String>::new());
    readable
}

/// A record that a backend with the name key `name` can store.
fn record(name: &str) -> Value {
    json!({"name": name, "status": "completed"})
}

fn empty(heads: &dyn JournaledHeads) {
    assert_eq!(heads.read("a").expect("read"), None);
    assert_eq!(heads.list().expect("list"), []);
    assert_eq!(readable(heads), Vec::<Value>::new());
    assert_eq!(heads.newest("a").expect("newest"), None);
    let version = NameVersion::new("never made");
    assert_eq!(
        heads.swap("a", &version, hash(1)).expect("swap"),
        SwapOutcome::Moved(None),
        "a move of what does not exist"
    );
    assert_eq!(
        heads.remove("a", &version, &record("a")).expect("remove"),
        SwapOutcome::Moved(None),
        "the end of what does not exist"
    );
    assert_eq!(readable(heads), Vec::<Value>::new(), "nothing was recorded");
}

fn creates_once(heads: &dyn JournaledHeads) {
    create(heads, "a", hash(1));
    let there = head(heads, "a");
    assert_eq!(there.hash, hash(1));
    assert_eq!(heads.create("a", hash(2)).expect("create"), SwapOutcome::Moved(Some(there)), "a second creation");
    assert_eq!(head(heads, "a").hash, hash(1), "it changed nothing");
}

fn moves_by_version(heads: &dyn JournaledHeads) {
    create(heads, "a", hash(1));
    let first = head(heads, "a");
    let moved = heads.swap("a", &first.version, hash(2)).expect("swap");
    assert_eq!(moved, SwapOutcome::Done);
    let second = head(heads, "a");
    assert_eq!(second.hash, hash(2));
    assert_eq!(
        heads.swap("a", &first.version, hash(3)).expect("swap"),
        SwapOutcome::Moved(Some(second.clone())),
        "a move from where it no longer is"
    );
    assert_eq!(head(heads, "a"), second, "it changed nothing");
}

fn removes(heads: &dyn JournaledHeads) {
    create(heads, "a", hash(1));
    create(heads, "b", hash(2));
    let stale = head(heads, "a").version;
    assert_eq!(heads.swap("a", &stale, hash(3)).expect("swap"), SwapOutcome::Done);
    let now = head(heads, "a");
    assert_eq!(
        heads.remove("a", &stale, &record("a")).expect("remove"),
        SwapOutcome::Moved(Some(now.clone())),
        "the end of a name that moved"
    );
    assert_eq!(heads.remove("a", &now.version, &record("a")).expect("remove"), SwapOutcome::Done);
    assert_eq!(heads.read("a").expect("read"), None);
    assert_eq!(heads.list().expect("list"), [("b".to_owned(), hash(2))]);
    assert_eq!(heads.newest("a").expect("newest"), Some(record("a")));
    assert_eq!(heads.newest("b").expect("newest"), None);
    assert_eq!(readable(heads), [record("a")]);
    assert_eq!(
        heads.swap("a", &now.version, hash(4)).expect("swap"),
        SwapOutcome::Moved(None),
        "a removed name does not come back to life"
    );
    assert!(
        matches!(heads.create("a", hash(4)), Err(HeadsError::Removed { name }) if name == "a"),
        "nor can it be created again"
    );
    assert_eq!(head(heads, "b").hash, hash(2), "it changed nothing");
}

fn keeps_records_of_names_apart(heads: &dyn JournaledHeads) {
    let mentions = json!({"name": "abc", "from": "ab", "note": "line\nbreak, \"ab\", é"});
    for (name, record) in [("abc", mentions.clone()), ("ab", record("ab"))] {
        create(heads, name, hash(1));
        let version = head(heads, name).version;
        assert_eq!(heads.remove(name, &version, &record).expect("remove"), SwapOutcome::Done);
    }
    assert_eq!(readable(heads), [mentions.clone(), record("ab")], "oldest first");
    assert_eq!(heads.newest("ab").expect("newest"), Some(record("ab")));
    assert_eq!(heads.newest("abc").expect("newest"), Some(mentions));
    assert_eq!(heads.newest("a").expect("newest"), None);
}

fn forgets(heads: &dyn JournaledHeads) {
    for name in ["a", "b", "c", "d"] {
        create(heads, name, hash(1));
        let version = head(heads, name).version;
        assert_eq!(heads.remove(name, &version, &record(name)).expect("remove"), SwapOutcome::Done);
    }
    assert_eq!(heads.forget(&[]).expect("forget"), 0, "nothing to forget");
    assert_eq!(heads.forget(&["c", "a", "never", "d", "c"]).expect("forget"), 3, "each name counts once");
    assert_eq!(heads.forget(&["a"]).expect("forget"), 0, "there is nothing left to forget");
    assert_eq!((heads.newest("a").expect("newest"), readable(heads)), (None, vec![record("b")]));
    create(heads, "a", hash(2));
    assert_eq!(head(heads, "a").hash, hash(2), "a forgotten name is a new one");
}

fn refuses_bad_names(heads: &dyn JournaledHeads) {
    let too_long = "x".repeat(129);
    for name in ["", "a b", "a\"", "a\n", "ä", "a/b", "a:", &too_long] {
        let is_bad = |error: &HeadsError| matches!(error, HeadsError::BadName { .. });
        assert!(heads.read(name).is_err_and(|e| is_bad(&e)), "read {name:?}");
        assert!(heads.newest(name).is_err_and(|e| is_bad(&e)), "newest {name:?}");
        assert!(heads.create(name, hash(1)).is_err_and(|e| is_bad(&e)), "create {name:?}");
        let version = NameVersion::new("1");
        let removed = heads.remove(name, &version, &record(name));
        assert!(removed.is_err_and(|e| is_bad(&e)), "remove {name:?}");
    }
    let longest = "y".repeat(128);
    for name in ["0", "-", "A.b_c-9", &longest] {
        create(heads, name, hash(1));
        assert_eq!(head(heads, name).hash, hash(1), "{name:?}");
    }
}

fn lists_sorted(heads: &dyn JournaledHeads) {
    for (name, value) in [("m", 1), ("Z", 2), ("a.1", 3), ("a", 4), ("a-1", 5)] {
        create(heads, name, hash(value));
    }
    let sorted = [("Z", 2), ("a", 4), ("a-1", 5), ("a.1", 3), ("m", 1)];
    let expected: Vec<(String, NodeHash)> =
        sorted.iter().map(|(name, value)| ((*name).to_owned(), hash(*value))).collect();
    assert_eq!(heads.list().expect("list"), expected);
}

fn surveys_what_is_whole(heads: &dyn JournaledHeads) {
    create(heads, "b", hash(2));
    create(heads, "a", hash(1));
    let surveyed = heads.survey().expect("survey");
    assert_eq!(surveyed, [("a".to_owned(), Ok(hash(1))), ("b".to_owned(), Ok(hash(2)))], "as a list");
    let seen = head(heads, "a").version;
    assert_eq!(
        heads.mend("a", &seen, hash(3)).expect("mend"),
        SwapOutcome::Done,
        "a whole name is mended as it is swapped"
    );
    let moved = heads.mend("a", &seen, hash(4)).expect("mend");
    assert!(matches!(moved, SwapOutcome::Moved(Some(now)) if now.hash == hash(3)), "against what was seen only");
}

/// Each thread repeatedly moves a shared name by one and creates names of its own.
fn loses_no_move(heads: &dyn JournaledHeads) {
    create(heads, "shared", hash(0));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for number in 0..EACH {
                    create(heads, &format!("own-{thread}-{number}"), hash(thread));
                    move_on(heads, "shared");
                }
            });
        }
    });
    assert_eq!(head(heads, "shared").hash, hash(THREADS * EACH), "moves made");
    assert_eq!(heads.list().expect("list").len() as u64, THREADS * EACH + 1, "names created");
}

fn move_on(heads: &dyn JournaledHeads, name: &str) {
    loop {
        let now = head(heads, name);
        let next = hash(now.hash.as_u64() + 1);
        match heads.swap(name, &now.version, next).expect("swap") {
            SwapOutcome::Done => return,
            SwapOutcome::Moved(other) => assert_ne!(other, Some(now), "refused although it had not moved"),
        }
    }
}

/// If several threads remove a name at once, exactly one succeeds.
fn removes_once(heads: &dyn JournaledHeads) {
    create(heads, "a", hash(1));
    let version = &head(heads, "a").version;
    let done: usize = thread::scope(|scope| {
        let removers: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(move || heads.remove("a", version, &record("a")).expect("remove")))
            .collect();
        removers
            .into_iter()
            .map(|remover| remover.join().expect("a removing thread panicked"))
            .filter(|swap| *swap == SwapOutcome::Done)
            .count()
    });
    assert_eq!(done, 1);
    assert_eq!(readable(heads), [record("a")]);
}
