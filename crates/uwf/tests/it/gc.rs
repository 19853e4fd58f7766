//! `uwf gc` and `uwf cas rm`: what nothing leads to goes, what anything leads to stays.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome, numbered, text};

use crate::fixtures::notes::{file_of, note, put_text};
use crate::fixtures::review::{reviewing_home, step};
use crate::{home, transcript};

const NOW: &[&str] = &["gc", "--grace", "0s"];

fn nodes(home: &TestHome) -> BTreeSet<String> {
    let entries = fs::read_dir(home.root().join("cas")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Makes every node as old as if it had been put two days ago.
fn age(home: &TestHome) {
    let long_ago = SystemTime::now() - Duration::from_hours(48);
    for name in nodes(home) {
        let file = fs::File::options().write(true).open(home.root().join("cas").join(name)).unwrap();
        file.set_modified(long_ago).unwrap();
    }
}

fn counts(report: &Value) -> [Value; 3] {
    ["scannedThreads", "deletedEntries", "youngEntries"].map(|key| report[key].clone())
}

fn ended(home: &TestHome, prompt: &str) -> String {
    let thread = home.start("review-text", prompt);
    fs::remove_file(home.work().join("seen")).ok();
    step(home, &thread, 4);
    thread
}

#[test]
fn only_nodes_of_removed_thread_are_deleted() {
    let home = reviewing_home();
    let (gone, kept) = (ended(&home, "one task"), ended(&home, "another task"));
    let open = home.start("review-text", "a third task");
    home.json(&["thread", "step", &open]);
    // Texts of prompts that were stored beforehand, and that no step had: each step stores what it has.
    home.json(NOW);
    assert_eq!(counts(&home.json(NOW)), [json!(3), json!(0), json!(0)], "everything is in use");
    let before = nodes(&home);
    home.json(&["thread", "rm", &gone]);
    let dry = home.json(&["gc", "--grace", "0s", "--dry-run"]);
    assert_eq!((nodes(&home), &dry["dryRun"]), (before.clone(), &json!(true)), "it was only counted");
    let done = home.json(NOW);
    assert_eq!(counts(&done)[..2], [json!(2), dry["deletedEntries"].clone()]);
    assert_eq!(done["bytes"], dry["bytes"]);
    let after = nodes(&home);
    let deleted = before.len() - after.len();
    assert!(deleted > 0 && after.is_subset(&before), "{done}");
    assert_eq!((done["deletedEntries"].clone(), done["activeRefs"].clone()), (json!(deleted), json!(after.len())));
    assert_eq!(home.json(&["cas", "verify"])["problems"], json!([]));
    assert_eq!(home.uwf(&["thread", "verify", &kept]).code, Some(0));
    step(&home, &open, 1);
    let told = home.transcript(&["cas", "gc", "--grace", "0s", "--format", "text"]);
    let used = home.json(NOW)["activeRefs"].clone();
    let expected =
        format!("exit 0\nremoved 0 nodes, 0 bytes\n{used} nodes in use by 2 threads and names of workflows\n");
    assert_eq!(told, expected);
}

#[test]
fn concurrent_runs_delete_each_node_once() {
    let home = reviewing_home();
    let (gone, kept) = (ended(&home, "one task"), ended(&home, "another task"));
    home.json(NOW);
    let before = nodes(&home).len();
    home.json(&["thread", "rm", &gone]);
    let begin = |args: &[&str]| home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let several: Vec<Child> = (0..4).map(|_| begin(NOW)).collect();
    let removed: u64 = several
        .into_iter()
        .map(|gc| {
            let ran: FinishedRun = gc.wait_with_output().unwrap().into();
            ran.json()["deletedEntries"].as_u64().unwrap()
        })
        .sum();
    assert_eq!(removed as usize, before - nodes(&home).len());
    assert!(removed > 0);
    assert_eq!(home.json(&["cas", "verify"])["problems"], json!([]));
    assert_eq!(home.uwf(&["thread", "verify", &kept]).code, Some(0));
}

#[test]
fn young_nodes_and_their_references_are_kept() {
    let home = home();
    let [schema, on, noted] = note(&home);
    let lonely = put_text(&home, "nobody needs this");
    assert_eq!(counts(&home.json(&["gc"])), [json!(0), json!(0), json!(4)]);
    age(&home);
    // The note is put again: it is young, and leads to a text and a type that are old.
    home.json(&["cas", "put", &schema, &format!("{{\"on\":\"{on}\",\"stars\":5}}")]);
    let report = home.json(&["gc"]);
    assert_eq!(counts(&report), [json!(0), json!(1), json!(3)]);
    let there = [&schema, &on, &noted, &lonely].map(|hash| file_of(&home, hash).exists());
    assert_eq!(there, [true, true, true, false]);
    assert_eq!(counts(&home.json(NOW)), [json!(0), json!(3), json!(0)]);
    assert_eq!(home.json(&["cas", "verify"])["problems"], json!([]), "uwf's own types stay");
}

#[test]
fn names_history_records_and_config_reference_nodes() {
    let home = reviewing_home();
    let first = text(&home.json(&["workflow", "show", "review-text"]), "hash");
    let changed = crate::fixtures::review::WORKFLOW.replace("a writer and a reviewer", "two roles");
    home.put("review-text", &changed);
    let broken = home.start("review-text", "fails");
    assert_eq!(home.uwf(&["thread", "step", &broken, "--agent", "broken"]).code, Some(40));
    let configured = put_text(&home, "the configuration names it");
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!("# {configured}\n{config}"));
    home.json(NOW);
    // The failed attempt, to which only the record leads yet, becomes part of the next step.
    step(&home, &broken, 1);
    assert_eq!(uwf_testing::failed_attempts(&home.last_detail(&broken)), 1);
    assert_eq!(text(&home.json(&["workflow", "rollback", "review-text"]), "hash"), first);
    assert_snapshot!(home.transcript(&["cas", "rm", &configured]), @"
    exit 64
    --- stderr
    error: node DEHJEA6FZ288P is in use: the configuration references it
    hint: nothing was removed
    ");
    assert_snapshot!(transcript(&home, &["cas", "rm", &first]), @"
    exit 64
    --- stderr
    error: node #1 is in use: workflow `review-text` references it
    hint: nothing was removed
    ");
    assert_snapshot!(transcript(&home, &["cas", "rm", &home.head(&broken).unwrap()]), @"
    exit 64
    --- stderr
    error: node #1 is in use: the head of thread <id> references it
    hint: nothing was removed
    ");
}

#[test]
fn nodes_stored_by_running_agent_are_kept() {
    let home = home();
    let agent = r#"#!/bin/sh
"$UWF_BIN" cas put-text 'stored while it works' > stored
echo "$UWF_ATTEMPT" > working
while [ ! -e go ]; do sleep 0.02; done
exec "$UWF_BIN" agent submit "$1" "$2" --data '{"n": 1}'
"#;
    home.script("worker", agent);
    home.config("agents: { w: { command: worker } }\ndefaultAgent: w\n");
    home.put("count-rounds", &uwf_testing::counting_workflow(1));
    let lonely = put_text(&home, "nobody needs this");
    age(&home);
    let thread = home.start("count-rounds", "count");
    let window = home.command(&["thread", "step", &thread]).stdout(std::process::Stdio::null()).spawn().unwrap();
    uwf_testing::processes::until("an agent at work", || home.work().join("working").exists());
    let report = home.json(NOW);
    assert_eq!(report["openThread"], json!(thread), "{report}");
    assert!(!file_of(&home, &lonely).exists(), "what is older than the attempt goes");
    let stored: Value = serde_json::from_str(&fs::read_to_string(home.work().join("stored")).unwrap()).unwrap();
    assert!(file_of(&home, &text(&stored, "hash")).exists());
    home.file("go", "");
    assert!(window.wait_with_output().unwrap().status.success());
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
    home.json(NOW);
    assert!(!file_of(&home, &text(&stored, "hash")).exists(), "the attempt is over, and its step does without");
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
}

/// Takes something away, sees that `gc` stops before it removes anything, and puts it back.
fn stops(home: &TestHome, path: &std::path::Path, damage: Option<&str>, code: i32) -> String {
    let before = fs::read(path).ok();
    match damage {
        Some(text) => fs::write(path, text).unwrap(),
        None => fs::remove_file(path).unwrap(),
    }
    let there = nodes(home);
    let ran = home.uwf(NOW);
    assert_eq!((ran.code, nodes(home)), (Some(code), there), "{ran:?}");
    let told = home.transcript(NOW);
    match before {
        Some(bytes) => fs::write(path, bytes).unwrap(),
        None => fs::remove_file(path).unwrap(),
    }
    numbered(&told)
}

#[test]
fn unreadable_data_prevents_deletion() {
    let home = reviewing_home();
    let lonely = put_text(&home, "nobody needs this");
    let done = ended(&home, "a task");
    let open = home.start("review-text", "a task");
    let head = home.head(&open).unwrap();
    let root = home.root();
    assert_snapshot!(stops(&home, &file_of(&home, &head), None, 65), @"
    exit 65
    --- stderr
    error: cannot follow the head of thread <id>: node #1 does not exist; nothing was removed
    hint: if the nodes are lost for good: `uwf thread kill <id>`, then `uwf thread rm <id>`
    ");
    let detail = home.last_detail(&done);
    assert_snapshot!(stops(&home, &file_of(&home, &text(&detail, "hash")), Some("rubbish"), 65), @"
    exit 65
    --- stderr
    error: cannot follow the history of thread <id>: node #1 is corrupt: not CBOR of a JSON value at byte 1, in the root: the bytes end too early; nothing was removed
    hint: `uwf cas verify #1` checks it; putting the same content again repairs it
    hint: if the nodes are lost for good: `uwf thread rm <id>`
    ");
    assert_snapshot!(stops(&home, &root.join("threads.yaml"), Some("rubbish\n"), 65), @"
    exit 65
    --- stderr
    error: cannot read the index <dir>/root/threads.yaml, line 1: a map of names to hashes is expected
    hint: nothing was changed; repair <dir>/root/threads.yaml or restore it from a backup
    hint: `uwf recover` rebuilds it from the records of the threads; `uwf recover --dry-run` shows how
    ");
    assert_snapshot!(stops(&home, &root.join("registry.yaml"), Some("- rubbish\n"), 65), @"
    exit 65
    --- stderr
    error: <dir>/root/registry.yaml is not readable: line 1 column 1: a mapping of names is expected
    hint: repair it or restore it from a backup; the workflows themselves are safe in the store
    ");
    assert_snapshot!(stops(&home, &root.join("registry.yaml"), None, 65), @"
    exit 65
    --- stderr
    error: cannot find out which workflows have names: <dir>/root/registry.yaml is gone; nothing was removed
    hint: restore it from a backup
    hint: or register a workflow again: `uwf workflow put FILE`
    ");
    let history = fs::read_to_string(root.join("history.jsonl")).unwrap();
    let damaged = format!("{{\"threat\":\"7Q2M\"\n{history}");
    assert_snapshot!(stops(&home, &root.join("history.jsonl"), Some(&damaged), 65), @"
    exit 65
    --- stderr
    error: cannot find out which threads have ended: <dir>/root/history.jsonl, line 1: not JSON: EOF while parsing an object; nothing was removed
    hint: repair that line or restore the file from a backup; `uwf recover` may know more
    ");
    let torn = format!("{history}{{\"thread\":\"{open}\",\"workfl\n{{\"thread\":\"01K\n");
    fs::write(root.join("history.jsonl"), torn).unwrap();
    home.json(NOW);
    assert!(!file_of(&home, &lonely).exists(), "lines that crashes tore are of threads that are known");
}

#[test]
fn a_record_that_cannot_be_read_stops_it() {
    let home = reviewing_home();
    let lonely = put_text(&home, "nobody needs this");
    let open = home.start("review-text", "a task");
    let record = home.record_file(&open);
    let away = home.work().join("away");
    fs::rename(&record, &away).unwrap();
    fs::create_dir(&record).unwrap();
    let there = nodes(&home);
    assert_eq!(home.uwf(NOW).code, Some(74));
    assert_eq!(nodes(&home), there);
    fs::remove_dir(&record).unwrap();
    fs::rename(&away, &record).unwrap();
    home.json(NOW);
    assert!(!file_of(&home, &lonely).exists());
}

#[test]
fn rm_removes_unreferenced_nodes_one_by_one() {
    let home = home();
    let [schema, on, noted] = note(&home);
    assert_snapshot!(home.transcript(&["cas", "rm", &on]), @"
    exit 64
    --- stderr
    error: node 12HBH7P84TFRV refers to node DWSHB3MZK7GWH
    hint: nothing was removed; neither is in use: `uwf cas rm 12HBH7P84TFRV` first, or `uwf gc` removes both
    ");
    assert_snapshot!(home.transcript(&["cas", "rm", &schema]), @"
    exit 64
    --- stderr
    error: node 12HBH7P84TFRV refers to node 0M2XXNNYATED9
    hint: nothing was removed; neither is in use: `uwf cas rm 12HBH7P84TFRV` first, or `uwf gc` removes both
    ");
    assert_snapshot!(home.transcript(&["cas", "rm", "AGENT"]), @"
    exit 69
    --- stderr
    error: no node's hash begins with AGENT
    ");
    for node in [&noted, &on, &schema] {
        assert_eq!(home.json(&["cas", "rm", &node[..8]])["removed"], json!(node));
        assert!(!file_of(&home, node).exists());
        assert_eq!(home.json(&["cas", "verify"])["problems"], json!([]));
    }
    assert_snapshot!(home.transcript(&["cas", "rm", &noted]), @"
    exit 69
    --- stderr
    error: node 12HBH7P84TFRV does not exist
    ");
    let corrupt = put_text(&home, "text");
    fs::write(file_of(&home, &corrupt), "rubbish").unwrap();
    assert_snapshot!(home.transcript(&["cas", "rm", &corrupt, "--format", "text"]), @"
    exit 0
    removed node 4TBEJHJV545RY, 7 bytes
    ");
    let own = text(&home.json(&["cas", "get", &put_text(&home, "text")]), "type");
    assert_snapshot!(home.transcript(&["cas", "rm", &own]), @"
    exit 64
    --- stderr
    error: node FXEFD3A3K4P94 is in use: uwf itself references it
    hint: nothing was removed
    ");
}

#[test]
fn odd_requests_of_gc() {
    let home = home();
    assert_snapshot!(home.transcript(&["gc", "--grace", "soon"]), @"
    exit 64
    --- stderr
    error: invalid value 'soon' for '--grace <DURATION>': a duration is a number with a unit: 90s, 15m, 24h, 7d
    ");
    // A root with nothing in it, and none at all.
    assert_eq!(counts(&home.json(NOW)), [json!(0), json!(0), json!(0)]);
    fs::remove_dir_all(home.root()).unwrap();
    assert_eq!(counts(&home.json(NOW)), [json!(0), json!(0), json!(0)]);
}
