//! What every [`Heads`] must do.

use std::thread;

use serde_json::{Value, json};

use crate::hash::Hash;
use crate::heads::{Head, Heads, HeadsError, Swap, Version};

/// Threads that move heads at the same time.
const THREADS: u64 = 8;

/// Moves of one shared name that each of them makes, and names of its own that it creates.
const EACH: u64 = 25;

/// Runs every case against backends made by `make`.
///
/// # Panics
/// When the backend does not do what [`Heads`] says.
pub fn heads_suite(make: &dyn Fn() -> Box<dyn Heads>) {
    empty(&*make());
    creates_once(&*make());
    moves_by_version(&*make());
    retires(&*make());
    tells_records_of_names_apart(&*make());
    refuses_bad_names(&*make());
    lists_sorted(&*make());
    loses_no_move(&*make());
    ends_once(&*make());
}

fn hash(value: u64) -> Hash {
    Hash::from_u64(value)
}

fn head(heads: &dyn Heads, name: &str) -> Head {
    heads.read(name).expect("read").expect("the name exists")
}

fn create(heads: &dyn Heads, name: &str, to: Hash) {
    assert_eq!(heads.swap(name, None, to).expect("swap"), Swap::Done, "creation of {name}");
}

fn record(name: &str) -> Value {
    json!({"thread": name, "status": "completed"})
}

fn empty(heads: &dyn Heads) {
    assert_eq!(heads.read("a").expect("read"), None);
    assert_eq!(heads.list().expect("list"), []);
    assert_eq!(heads.journal().expect("journal"), Vec::<Value>::new());
    assert_eq!(heads.retired("a").expect("retired"), None);
    let version = Version::new("never made");
    assert_eq!(
        heads.swap("a", Some(&version), hash(1)).expect("swap"),
        Swap::Moved(None),
        "a move of what does not exist"
    );
    assert_eq!(
        heads.retire("a", &version, &record("a")).expect("retire"),
        Swap::Moved(None),
        "the end of what does not exist"
    );
    assert_eq!(heads.journal().expect("journal"), Vec::<Value>::new(), "nothing was recorded");
}

fn creates_once(heads: &dyn Heads) {
    create(heads, "a", hash(1));
    let there = head(heads, "a");
    assert_eq!(there.hash, hash(1));
    assert_eq!(heads.swap("a", None, hash(2)).expect("swap"), Swap::Moved(Some(there)), "a second creation");
    assert_eq!(head(heads, "a").hash, hash(1), "it changed nothing");
}

fn moves_by_version(heads: &dyn Heads) {
    create(heads, "a", hash(1));
    let first = head(heads, "a");
    let moved = heads.swap("a", Some(&first.version), hash(2)).expect("swap");
    assert_eq!(moved, Swap::Done);
    let second = head(heads, "a");
    assert_eq!(second.hash, hash(2));
    assert_eq!(
        heads.swap("a", Some(&first.version), hash(3)).expect("swap"),
        Swap::Moved(Some(second.clone())),
        "a move from where it no longer is"
    );
    assert_eq!(head(heads, "a"), second, "it changed nothing");
}

fn retires(heads: &dyn Heads) {
    create(heads, "a", hash(1));
    create(heads, "b", hash(2));
    let stale = head(heads, "a").version;
    assert_eq!(heads.swap("a", Some(&stale), hash(3)).expect("swap"), Swap::Done);
    let now = head(heads, "a");
    assert_eq!(
        heads.retire("a", &stale, &record("a")).expect("retire"),
        Swap::Moved(Some(now.clone())),
        "the end of a name that moved"
    );
    assert_eq!(heads.retire("a", &now.version, &record("a")).expect("retire"), Swap::Done);
    assert_eq!(heads.read("a").expect("read"), None);
    assert_eq!(heads.list().expect("list"), [("b".to_owned(), hash(2))]);
    assert_eq!(heads.retired("a").expect("retired"), Some(record("a")));
    assert_eq!(heads.retired("b").expect("retired"), None);
    assert_eq!(heads.journal().expect("journal"), [record("a")]);
    assert_eq!(
        heads.swap("a", Some(&now.version), hash(4)).expect("swap"),
        Swap::Moved(None),
        "an ended name does not come back to life"
    );
    assert!(
        matches!(heads.swap("a", None, hash(4)), Err(HeadsError::Finished { name }) if name == "a"),
        "nor can it be created again"
    );
    let not_its_own = heads.retire("b", &head(heads, "b").version, &record("a"));
    assert!(matches!(not_its_own, Err(HeadsError::BadRecord { name }) if name == "b"), "a record of another name");
    let no_object = heads.retire("b", &head(heads, "b").version, &json!("b"));
    assert!(matches!(no_object, Err(HeadsError::BadRecord { .. })), "a record that is no object");
    assert_eq!(head(heads, "b").hash, hash(2), "it changed nothing");
}

fn tells_records_of_names_apart(heads: &dyn Heads) {
    let mentions = json!({"thread": "abc", "forkedFrom": "ab", "note": "line\nbreak, \"ab\", é"});
    for (name, record) in [("abc", mentions.clone()), ("ab", record("ab"))] {
        create(heads, name, hash(1));
        let version = head(heads, name).version;
        assert_eq!(heads.retire(name, &version, &record).expect("retire"), Swap::Done);
    }
    assert_eq!(heads.journal().expect("journal"), [mentions.clone(), record("ab")], "oldest first");
    assert_eq!(heads.retired("ab").expect("retired"), Some(record("ab")));
    assert_eq!(heads.retired("abc").expect("retired"), Some(mentions));
    assert_eq!(heads.retired("a").expect("retired"), None);
    assert_eq!(heads.journal_problems().expect("journal_problems"), Vec::<String>::new());
}

fn refuses_bad_names(heads: &dyn Heads) {
    let too_long = "x".repeat(129);
    for name in ["", "a b", "a\"", "a\n", "ä", "a/b", "a:", &too_long] {
        let is_bad = |error: &HeadsError| matches!(error, HeadsError::BadName { .. });
        assert!(heads.read(name).is_err_and(|e| is_bad(&e)), "read {name:?}");
        assert!(heads.retired(name).is_err_and(|e| is_bad(&e)), "retired {name:?}");
        assert!(heads.swap(name, None, hash(1)).is_err_and(|e| is_bad(&e)), "swap {name:?}");
        let version = Version::new("1");
        let retired = heads.retire(name, &version, &record(name));
        assert!(retired.is_err_and(|e| is_bad(&e)), "retire {name:?}");
    }
    let longest = "y".repeat(128);
    for name in ["0", "-", "A.b_c-9", &longest] {
        create(heads, name, hash(1));
        assert_eq!(head(heads, name).hash, hash(1), "{name:?}");
    }
}

fn lists_sorted(heads: &dyn Heads) {
    for (name, value) in [("m", 1), ("Z", 2), ("a.1", 3), ("a", 4), ("a-1", 5)] {
        create(heads, name, hash(value));
    }
    let sorted = [("Z", 2), ("a", 4), ("a-1", 5), ("a.1", 3), ("m", 1)];
    let expected: Vec<(String, Hash)> = sorted.iter().map(|(name, value)| ((*name).to_owned(), hash(*value))).collect();
    assert_eq!(heads.list().expect("list"), expected);
}

/// Each thread moves a shared name on by one, again and again, and creates names of its own.
fn loses_no_move(heads: &dyn Heads) {
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

fn move_on(heads: &dyn Heads, name: &str) {
    loop {
        let now = head(heads, name);
        let next = hash(now.hash.as_u64() + 1);
        match heads.swap(name, Some(&now.version), next).expect("swap") {
            Swap::Done => return,
            Swap::Moved(other) => assert_ne!(other, Some(now), "refused although it had not moved"),
        }
    }
}

/// Of several that end a name at once, one does.
fn ends_once(heads: &dyn Heads) {
    create(heads, "a", hash(1));
    let version = &head(heads, "a").version;
    let done: usize = thread::scope(|scope| {
        let enders: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(move || heads.retire("a", version, &record("a")).expect("retire")))
            .collect();
        enders
            .into_iter()
            .map(|ender| ender.join().expect("an ending thread panicked"))
            .filter(|swap| *swap == Swap::Done)
            .count()
    });
    assert_eq!(done, 1);
    assert_eq!(heads.journal().expect("journal"), [record("a")]);
}
