//! Required behaviour of [`NoteBackend`].

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::heads::{HeadsError, NameVersion};
use crate::notes::{NoteBackend, NoteWriteCondition, NoteWritten, StoredNote};

/// Threads that write one note at the same time.
const THREADS: u64 = 8;

/// Increments by each thread.
const EACH: u64 = 25;

/// Longer than any case takes.
const SOON: Duration = Duration::from_mins(2);

/// Runs every case against backends made by `make`.
///
/// # Panics
/// If the backend violates the contract of [`NoteBackend`].
pub fn notes_suite<N: NoteBackend>(make: &dyn Fn() -> N) {
    writes_what_is_expected(&make());
    tells_the_age(&make());
    lists_by_beginning(&make());
    refuses_bad_names(&make());
    keeps_any_json(&make());
    loses_no_write(&make());
    begins_once(&make());
}

fn note(notes: &dyn NoteBackend, name: &str) -> StoredNote {
    notes.note(name).expect("read").expect("the note exists")
}

fn write(notes: &dyn NoteBackend, name: &str, expected: NoteWriteCondition<'_>, value: &Value) -> NameVersion {
    match notes.write_note(name, expected, value).expect("write") {
        NoteWritten::Done(version) => version,
        NoteWritten::Moved(now) => panic!("{name} was expected to be {expected:?} and is {now:?}"),
    }
}

fn names(notes: &dyn NoteBackend, begin: &str) -> Vec<String> {
    notes.notes(begin).expect("list").into_iter().map(|listed| listed.name).collect()
}

fn writes_what_is_expected(notes: &dyn NoteBackend) {
    assert_eq!(notes.note("a").expect("read"), None);
    assert_eq!(
        notes.write_note("a", NoteWriteCondition::At(&NameVersion::new("1")), &json!(1)).expect("write"),
        NoteWritten::Moved(None)
    );
    let first = write(notes, "a", NoteWriteCondition::Nothing, &json!({"n": 1}));
    let read = note(notes, "a");
    assert_eq!((&read.value, &read.version), (&json!({"n": 1}), &first));
    let refused = notes.write_note("a", NoteWriteCondition::Nothing, &json!({"n": 2})).expect("write");
    assert!(matches!(&refused, NoteWritten::Moved(Some(now)) if now.version == first), "{refused:?}");
    let second = write(notes, "a", NoteWriteCondition::At(&first), &json!({"n": 2}));
    assert_ne!(first, second);
    let stale = notes.write_note("a", NoteWriteCondition::At(&first), &json!({"n": 3})).expect("write");
    assert!(matches!(&stale, NoteWritten::Moved(Some(now)) if now.value == json!({"n": 2})), "{stale:?}");
    write(notes, "a", NoteWriteCondition::Anything, &json!({"n": 4}));
    write(notes, "b", NoteWriteCondition::Anything, &json!({"n": 5}));
    notes.remove_note("a").expect("remove");
    notes.remove_note("a").expect("remove what is not there");
    assert_eq!(notes.note("a").expect("read"), None);
    assert_eq!(
        notes.write_note("a", NoteWriteCondition::At(&second), &json!({"n": 6})).expect("write"),
        NoteWritten::Moved(None)
    );
    assert_eq!(note(notes, "b").value, json!({"n": 5}));
    write(notes, "a", NoteWriteCondition::Nothing, &json!({"n": 7}));
}

fn tells_the_age(notes: &dyn NoteBackend) {
    let first = write(notes, "a", NoteWriteCondition::Nothing, &json!({"n": 1}));
    // Longer than the error that an age may have.
    thread::sleep(Duration::from_secs(3));
    let old = note(notes, "a").age;
    assert!(old >= Duration::from_secs(3) && old < SOON, "{old:?}");
    write(notes, "a", NoteWriteCondition::At(&first), &json!({"n": 2}));
    let young = note(notes, "a").age;
    assert!(young < old, "written again and {young:?} old, {old:?} before");
    let listed = notes.notes("").expect("list");
    assert!(listed.len() == 1 && listed[0].age < old, "{listed:?}, {old:?} before it was written again");
}

fn lists_by_beginning(notes: &dyn NoteBackend) {
    assert_eq!(names(notes, ""), [""; 0]);
    for name in ["ab.x", "a", "ab", "b.y", "ab.a", "abc"] {
        write(notes, name, NoteWriteCondition::Nothing, &json!({"of": name}));
    }
    assert_eq!(names(notes, ""), ["a", "ab", "ab.a", "ab.x", "abc", "b.y"]);
    assert_eq!(names(notes, "ab."), ["ab.a", "ab.x"]);
    assert_eq!(names(notes, "ab"), ["ab", "ab.a", "ab.x", "abc"]);
    assert_eq!(names(notes, "c"), [""; 0]);
    let wanted = ["b.y", "gone", "a"].map(str::to_owned);
    let read = notes.read_notes(&wanted).expect("read several");
    let read: Vec<_> = read.iter().map(|(name, note)| (name.as_str(), &note.value)).collect();
    assert_eq!(read, [("b.y", &json!({"of": "b.y"})), ("a", &json!({"of": "a"}))]);
    let version = |name: &str| {
        let listed = notes.notes(name).expect("list").into_iter();
        listed.filter(|listed| listed.name == name).map(|listed| listed.version).next()
    };
    let (before, other) = (version("abc"), version("b.y"));
    write(notes, "abc", NoteWriteCondition::Anything, &json!({"of": "abc"}));
    assert_ne!(version("abc"), before, "each write gives it another version in a list");
    assert_eq!(version("b.y"), other, "and only the written one");
    // Wildcards of patterns are ordinary symbols here.
    write(notes, "a_c", NoteWriteCondition::Nothing, &json!({}));
    assert_eq!(names(notes, "a_"), ["a_c"]);
}

fn refuses_bad_names(notes: &dyn NoteBackend) {
    let is_bad = |error: &HeadsError| matches!(error, HeadsError::BadName { .. });
    for name in ["", "a/b", "a b", "ä", &"n".repeat(129)] {
        assert!(notes.note(name).is_err_and(|error| is_bad(&error)), "{name}");
        assert!(
            notes.write_note(name, NoteWriteCondition::Anything, &json!(1)).is_err_and(|error| is_bad(&error)),
            "{name}"
        );
        assert!(notes.remove_note(name).is_err_and(|error| is_bad(&error)), "{name}");
    }
    assert!(notes.notes("a/").is_err_and(|error| is_bad(&error)));
}

fn keeps_any_json(notes: &dyn NoteBackend) {
    let long = "x".repeat(100_000);
    for value in
        [json!(null), json!({"text": "ä\n\"'\\ %_ \u{1f600}", "list": [1, 2.5, -3, true, null]}), json!({"long": long})]
    {
        write(notes, "a", NoteWriteCondition::Anything, &value);
        assert_eq!(note(notes, "a").value, value);
    }
}

fn loses_no_write(notes: &dyn NoteBackend) {
    write(notes, "count", NoteWriteCondition::Nothing, &json!({"count": 0, "by": "nobody"}));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for turn in 0..EACH {
                    count_up(notes, &format!("{thread}/{turn}"));
                }
            });
        }
    });
    assert_eq!(note(notes, "count").value["count"], json!(THREADS * EACH));
}

fn count_up(notes: &dyn NoteBackend, by: &str) {
    loop {
        let before = note(notes, "count");
        let count = before.value["count"].as_u64().expect("a number") + 1;
        let value = json!({"count": count, "by": by});
        let written = notes.write_note("count", NoteWriteCondition::At(&before.version), &value).expect("write");
        if matches!(written, NoteWritten::Done(_)) {
            return;
        }
    }
}

fn begins_once(notes: &dyn NoteBackend) {
    for round in 0..EACH {
        let name = format!("round-{round}");
        let begin = |thread: u64| {
            let written = notes.write_note(&name, NoteWriteCondition::Nothing, &json!({"by": thread})).expect("write");
            matches!(written, NoteWritten::Done(_)).then_some(thread)
        };
        let winners: Vec<u64> = thread::scope(|scope| {
            let begun: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || begin(thread))).collect();
            begun.into_iter().filter_map(|thread| thread.join().expect("no panic")).collect()
        });
        let [winner] = *winners else { panic!("{name}: {winners:?} began it") };
        assert_eq!(note(notes, &name).value, json!({"by": winner}));
    }
}
