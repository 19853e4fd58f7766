//! `uwf recover`: an index that is broken or gone, made anew from what else is known.

use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use durable_files::FileLock;
use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::processes::until;
use uwf_testing::{TestHome, counting_workflow, text};

use crate::fixtures::faults::failing_at;
use crate::home;

const ROUNDS: usize = 3;

/// Two active threads, after one step and after none, and one that has ended.
fn home_with_threads() -> (TestHome, [String; 3]) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho x >> ledger\necho '{\"n\": 1}'\n");
    home.put("count-rounds", &counting_workflow(ROUNDS));
    let threads = ["stepped", "begun", "ended"].map(|prompt| home.start("count-rounds", prompt));
    home.json(&["thread", "step", &threads[0]]);
    home.json(&["run", &threads[2]]);
    (home, threads)
}

/// A text without what differs from run to run: hashes of steps know how long they took.
fn steady(home: &TestHome, text: &str) -> String {
    let is_hash =
        |word: &str| word.len() == 13 && word.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    let mut steady = String::new();
    for word in home.steady(text).split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let end = word.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        let body = &word[..word.len() - end.len()];
        let is_time = body.len() == 16 && body.ends_with('Z') && body.starts_with("20");
        steady += if is_time {
            "<time>"
        } else if is_hash(body) {
            "<hash>"
        } else {
            body
        };
        steady += end;
    }
    steady
}

fn findings(report: &Value) -> Vec<(String, String)> {
    let row = |row: &Value| (text(row, "finding"), row["from"].as_str().unwrap_or_default().to_owned());
    report["threads"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn history_naming_nonexistent_nodes_is_corrected() {
    let (home, [.., ended]) = home_with_threads();
    let history = home.root().join("history.jsonl");
    let right = home.json(&["thread", "show", &ended]);
    for key in ["head", "end"] {
        let hash = text(&right, key);
        let last = if hash.ends_with('Z') { 'Y' } else { 'Z' };
        let line = fs::read_to_string(&history).unwrap();
        fs::write(&history, line.replace(&hash, &format!("{}{last}", &hash[..12]))).unwrap();
        let shown = home.uwf(&["thread", "show", &ended]);
        let is_told = shown.code == Some(65) && shown.stderr.contains("uwf recover");
        assert!(is_told || key == "end", "{shown:?}");
        let report = home.json(&["recover"]);
        assert_eq!(report["threads"][2]["finding"], "archived", "{report}");
        assert_eq!(home.json(&["thread", "show", &ended]), right);
        assert_eq!(home.json(&["recover"])["changed"], false);
    }
}

#[test]
fn a_broken_index_is_made_anew_and_kept() {
    let (home, [stepped, begun, _]) = home_with_threads();
    let index = home.root().join("threads.yaml");
    let right = fs::read_to_string(&index).unwrap();
    let broken = right.replace(&stepped, "?");
    fs::write(&index, &broken).unwrap();
    assert_snapshot!(steady(&home, &home.uwf(&["thread", "step", &stepped]).transcript()), @r"
    exit 65
    --- stderr
    error: cannot read the index <dir>/root/threads.yaml, line 1: `?` cannot be a name
    hint: nothing was changed; repair <dir>/root/threads.yaml or restore it from a backup
    hint: `uwf recover` rebuilds it from the records of the threads; `uwf recover --dry-run` shows how
    ");
    assert_snapshot!(steady(&home, &home.uwf(&["recover", "--dry-run", "--format", "text"]).transcript()), @r"
    exit 0
    ✗ cannot read the index <dir>/root/threads.yaml, line 1: `?` cannot be a name
    <id>  restored at <hash>, from its attempt record
    <dir>/root/threads.yaml would be rewritten; 1 thread as before
    ");
    assert_eq!(fs::read_to_string(&index).unwrap(), broken, "only looked");
    let report = home.json(&["recover"]);
    let of = |finding: &str, from: &str| (finding.to_owned(), from.to_owned());
    assert_eq!(findings(&report), [of("restored", "attempt"), of("kept", "index")]);
    assert_eq!(fs::read_to_string(&index).unwrap(), right);
    assert_eq!(fs::read_to_string(text(&report, "keptAs")).unwrap(), broken);
    assert_snapshot!(steady(&home, &home.uwf(&["recover", "--format", "text"]).transcript()), @r"
    exit 0
    <dir>/root/threads.yaml is correct, with 2 threads
    ");
    fs::remove_file(&index).unwrap();
    assert_eq!(findings(&home.json(&["recover"])), [of("restored", "attempt"), of("restored", "settings")]);
    for thread in [&stepped, &begun] {
        home.json(&["thread", "step", thread]);
    }
}

#[test]
fn index_from_old_backup_is_updated() {
    let (home, [stepped, begun, ended]) = home_with_threads();
    let index = home.root().join("threads.yaml");
    let backup = fs::read_to_string(&index).unwrap();
    home.json(&["thread", "step", &stepped]);
    home.json(&["thread", "kill", &begun]);
    let newer = home.start("count-rounds", "newer");
    let right = fs::read_to_string(&index).unwrap();
    let old_head = text(&home.json(&["thread", "show", &ended]), "head");
    fs::write(&index, format!("{backup}{ended}: \"{old_head}\"\n")).unwrap();
    let doctor = home.uwf(&["doctor", "--offline"]);
    assert!(
        doctor.stdout.contains("1 thread with records on this machine, but in neither index nor history"),
        "{doctor:?}"
    );
    let lost = home.uwf(&["thread", "step", &newer]);
    assert_eq!(lost.code, Some(69));
    assert!(lost.stderr.ends_with("`uwf recover --dry-run` shows them\n"), "{lost:?}");
    assert_snapshot!(steady(&home, &home.uwf(&["recover", "--format", "text"]).transcript()), @r"
    exit 0
    <id>  moved at <hash>, from its attempt record (was <hash>): the index was behind
    <id>  archived at <hash>, from the history: it has ended, according to its line in the history
    <id>  archived at <hash>, from the history: it has ended, according to its line in the history
    <id>  restored at <hash>, from its settings
    <dir>/root/threads.yaml was rewritten; 0 threads as before
    the old index is now <dir>/root/threads.yaml.broken-<time>
    ");
    assert_eq!(fs::read_to_string(&index).unwrap(), right);
}

#[test]
fn thread_with_directory_as_record_is_reported_lost() {
    let (home, [_, begun, _]) = home_with_threads();
    fs::remove_file(home.root().join("threads.yaml")).unwrap();
    fs::remove_file(home.record_file(&begun)).unwrap();
    fs::create_dir(home.record_file(&begun)).unwrap();
    let ran = home.uwf(&["recover"]);
    assert_eq!(ran.code, Some(65), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let found: Vec<String> = findings(&report).into_iter().map(|(finding, _)| finding).collect();
    assert_eq!(found, ["restored", "lost"], "{report}");
    let told = home.uwf(&["doctor"]);
    assert!(told.stdout.contains(&format!("in neither index nor history: {begun}")), "{told:?}");
}

#[test]
fn thread_without_a_known_head_is_reported() {
    let (home, [stepped, begun, _]) = home_with_threads();
    fs::remove_file(home.root().join("threads.yaml")).unwrap();
    fs::write(home.record_file(&begun), "{\"event\":\"settings\"}\n{\"event\":\"begun\"}\n").unwrap();
    let ran = home.uwf(&["recover"]);
    assert_eq!(ran.code, Some(65), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json!([report["threads"][0]["finding"], report["threads"][1]["finding"]]), json!(["restored", "lost"]));
    assert!(home.head(&stepped).is_some(), "the others are found all the same");
}

/// A start or fork that was killed before its thread had a head never printed the thread's id, so `recover` must not restore it.
#[test]
fn unstarted_thread_is_not_restored() {
    let (home, [stepped, ..]) = home_with_threads();
    let record = fs::read_to_string(home.record_file(&stepped)).unwrap();
    let settings = record.lines().find(|line| line.contains("\"event\":\"settings\"")).unwrap();
    let killed = "01M8CFT8XQXC9P07NMHF51659M";
    fs::write(home.record_file(killed), format!("{settings}\n")).unwrap();
    for args in [&["recover"] as &[&str], &["recover", "--dry-run"]] {
        let report = home.json(args);
        assert_eq!(report["changed"], false, "{report}");
        assert!(findings(&report).iter().all(|(finding, _)| finding == "kept"), "{report}");
    }
    assert!(home.head(killed).is_none());
    // Nor where there is no index since nothing ever began.
    let alone = crate::home();
    fs::create_dir_all(alone.root().join("threads")).unwrap();
    fs::write(alone.record_file(killed), format!("{settings}\n")).unwrap();
    assert_eq!(alone.json(&["recover"])["changed"], false);
    // Without its index nobody can tell any more, and nothing is to be lost.
    fs::remove_file(home.root().join("threads.yaml")).unwrap();
    let report = home.json(&["recover"]);
    assert!(report["threads"].as_array().unwrap().iter().any(|row| row["thread"] == killed), "{report}");
}

/// A command that is just beginning a thread has written its record and waits for the index: nothing is damaged.
#[test]
fn thread_being_started_is_left_alone() {
    let (home, _) = home_with_threads();
    for args in [&["recover"] as &[&str], &["recover", "--dry-run"]] {
        let lock = home.root().join("threads.lock");
        let held = FileLock::acquire(&lock, Duration::from_mins(1)).unwrap().expect("nobody has it");
        let before = home.records("").len();
        let begin =
            home.command(&["thread", "start", "count-rounds", "-p", "new"]).stdout(Stdio::piped()).spawn().unwrap();
        until("its record is written", || {
            let records = home.records("");
            records.len() > before && records.iter().all(|record| fs::metadata(record).is_ok_and(|meta| meta.len() > 0))
        });
        let recover = home.command(args).stdout(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        drop(held);
        let [begun, recovered] = [begin, recover].map(|child| child.wait_with_output().unwrap());
        assert_eq!(begun.status.code(), Some(0), "{begun:?}");
        assert_eq!(recovered.status.code(), Some(0), "{recovered:?}");
        let report: Value = serde_json::from_slice(&recovered.stdout).unwrap();
        assert_eq!(report["changed"], false, "{report}");
        assert!(findings(&report).iter().all(|(finding, _)| finding == "kept"), "{report}");
        let thread = text(&serde_json::from_slice(&begun.stdout).unwrap(), "thread");
        assert!(home.head(&thread).is_some());
    }
}

/// Threads that begin, move and end beside it are not damage.
#[test]
fn recover_finds_nothing_in_what_others_are_at() {
    let (home, _) = home_with_threads();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let home = &home;
                scope.spawn(move || {
                    for number in 0..8 {
                        let thread = home.start("count-rounds", &format!("beside {worker} {number}"));
                        let ran = home.uwf(&["run", &thread]);
                        assert_eq!(ran.code, Some(0), "{ran:?}");
                    }
                })
            })
            .collect();
        for args in [&["recover"] as &[&str], &["recover", "--dry-run"]] {
            let (home, is_over) = (&home, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    let report = home.json(args);
                    assert_eq!(report["changed"], false, "{args:?} {report}");
                    assert!(findings(&report).iter().all(|(finding, _)| finding == "kept"), "{args:?} {report}");
                }
            });
        }
        let done: Vec<_> = workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::SeqCst);
        assert!(done.into_iter().all(|done| done.is_ok()), "each began and ended its threads");
    });
}

mod with_tools {
    use super::*;

    /// A file that can't be read right now may be intact, so it is not replaced.
    #[test]
    fn io_errors_are_not_treated_as_damage() {
        let (home, [stepped, ..]) = home_with_threads();
        let index = home.root().join("threads.yaml");
        let head = home.root().join("cas").join(format!("{}.bin", home.head(&stepped).unwrap()));
        let failing = [
            (index.clone(), "openat:error=EIO"),
            (home.record_file(&stepped), "openat:error=EMFILE"),
            (home.record_file(&stepped), "openat:error=EIO"),
            (head, "openat:error=EIO"),
        ];
        fs::write(&index, "damaged\n").unwrap();
        for (path, fault) in failing {
            let ran = failing_at(&home, &path, fault, &["recover"]);
            assert_eq!(ran.code, Some(74), "{} {fault}: {ran:?}", path.display());
            assert!(ran.stderr.contains(&path.display().to_string()), "{fault}: {}", ran.stderr);
            assert_eq!(fs::read_to_string(&index).unwrap(), "damaged\n", "{} {fault}", path.display());
        }
        let restored = ("restored".to_owned(), "attempt".to_owned());
        assert!(findings(&home.json(&["recover"])).contains(&restored));
    }

    /// The state on disk is unknown then: nothing is reported as done, and the thread continues from either head.
    #[test]
    fn unsynced_head_move_is_reported_as_uncertain() {
        let (home, [stepped, ..]) = home_with_threads();
        let before = home.head(&stepped);
        let index = fs::read(home.root().join("threads.yaml")).unwrap();
        let ran = failing_at(&home, &home.root(), "fsync:error=EIO", &["thread", "step", &stepped]);
        assert_eq!(ran.code, Some(74), "{ran:?}");
        assert_snapshot!(steady(&home, &ran.stderr), @r"
    error: the head of thread <id> moved to <hash>, but may move back: cannot sync <dir>/root: Input/output error (os error 5)
    hint: nothing is lost or paid for twice: the next `uwf thread step` continues from either head
    ");
        let after = home.head(&stepped);
        assert_ne!(after, before);
        let paid = || fs::read_to_string(home.work().join("ledger")).unwrap().lines().count();
        let so_far = paid();
        // The power goes: the old index is there again.
        let moved = fs::read(home.root().join("threads.yaml")).unwrap();
        fs::write(home.root().join("threads.yaml"), index).unwrap();
        let report = home.json(&["thread", "step", &stepped]);
        assert_eq!(json!([report["adopted"], report["head"]]), json!([true, after]));
        assert_eq!(paid(), so_far);
        // It does not go.
        fs::write(home.root().join("threads.yaml"), moved).unwrap();
        assert_eq!(home.json(&["thread", "step", &stepped])["done"], true);
        assert_eq!(paid(), so_far + 1);
    }
}
