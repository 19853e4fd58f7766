//! `uwf pack`: the nodes of ended threads go into packs, and nobody who reads them notices.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{TestHome, numbered, text};

use crate::fixtures::faults::with_fault;
use crate::fixtures::notes::{file_of, put_text};
use crate::fixtures::review::{reviewing_home, step};
use crate::{home, transcript};

/// Node files.
fn files(home: &TestHome) -> BTreeSet<String> {
    let entries = fs::read_dir(home.root().join("cas")).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".bin")).collect()
}

fn packs(home: &TestHome) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.root().join("cas/packs")).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "pack")).collect()
}

fn ended(home: &TestHome, prompt: &str) -> String {
    let thread = home.start("review-text", prompt);
    fs::remove_file(home.work().join("seen")).ok();
    step(home, &thread, 4);
    thread
}

/// What commands say of a thread and of the store, with nothing in it that depends on the time.
fn everything(home: &TestHome, thread: &str) -> Vec<Value> {
    let head = text(&home.json(&["thread", "show", thread]), "head");
    let commands: [&[&str]; 11] = [
        &["thread", "list", "--all"],
        &["thread", "show", thread],
        &["thread", "steps", thread],
        &["thread", "verify", thread],
        &["thread", "cost", thread],
        &["thread", "why", thread],
        &["cas", "verify"],
        &["cas", "list"],
        &["cas", "get", &head],
        &["cas", "walk", &head],
        &["cas", "has", &head[..6]],
    ];
    let mut said: Vec<Value> = commands.iter().map(|args| home.json(args)).collect();
    said.push(json!(home.uwf(&["thread", "read", thread, "--format", "text"]).stdout));
    said.push(json!(home.uwf(&["thread", "step-details", &head]).stdout));
    said
}

#[test]
fn every_command_reads_a_packed_thread_as_before() {
    let home = reviewing_home();
    let (packed, other) = (ended(&home, "one task"), ended(&home, "another task"));
    let killed = home.start("review-text", "a third task");
    home.json(&["thread", "step", &killed]);
    home.json(&["thread", "kill", &killed]);
    let open = home.start("review-text", "a fourth task");
    home.json(&["thread", "step", &open]);
    let before: Vec<_> = [&packed, &other, &killed, &open].map(|thread| everything(&home, thread)).to_vec();
    let loose = files(&home);
    let dry = home.json(&["pack", "--dry-run"]);
    assert_eq!((files(&home), packs(&home).len(), &dry["dryRun"]), (loose.clone(), 0, &json!(true)));
    let done = home.json(&["pack"]);
    for key in ["packedThreads", "packedNodes", "leftNodes", "bytesBefore", "bytesAfter", "diskBefore"] {
        assert_eq!(done[key], dry[key], "{key}");
    }
    let left = files(&home);
    assert_eq!((&done["packedThreads"], &done["leftNodes"], &done["packs"]), (&json!(3), &json!(0), &json!(1)));
    assert_eq!(done["packedNodes"], json!(loose.len() - left.len()));
    assert!(left.is_subset(&loose) && loose.len() - left.len() > 30, "{done}");
    assert!(done["diskAfter"].as_u64().unwrap() * 5 < done["diskBefore"].as_u64().unwrap(), "{done}");
    let after: Vec<_> = [&packed, &other, &killed, &open].map(|thread| everything(&home, thread)).to_vec();
    for (before, after) in before.iter().flatten().zip(after.iter().flatten()) {
        assert_eq!(before, after);
    }
    // Caches know it from the files; without them everything is read from the pack.
    home.json(&["cas", "reindex"]);
    assert_eq!(everything(&home, &packed), before[0]);
    let again = home.json(&["pack"]);
    assert_eq!((&again["packedThreads"], &again["packedNodes"], &again["packs"]), (&json!(0), &json!(0), &json!(1)));
}

#[test]
fn threads_continue_from_packed_nodes_without_rewriting_them() {
    let home = reviewing_home();
    let packed = ended(&home, "the same task");
    home.json(&["pack"]);
    let there = files(&home);
    // Everything but the records of its own is there already.
    fs::remove_file(home.work().join("seen")).unwrap();
    let same = home.start("review-text", "the same task");
    assert_eq!(files(&home), there, "a start stores nothing new");
    step(&home, &same, 2);
    let steps = home.json(&["thread", "steps", &packed]);
    let forked = text(&home.json(&["thread", "fork", &text(&steps["steps"][2], "hash")]), "thread");
    step(&home, &forked, 2);
    assert_eq!(home.json(&["thread", "verify", &forked])["verdict"], "intact");
    assert_eq!(home.json(&["cas", "verify"])["problems"], json!([]));
    // Texts of prompts that were stored beforehand, and that no step had.
    home.json(&["gc", "--grace", "0s"]);
    let done = home.json(&["pack"]);
    assert_eq!(done["leftNodes"], 0, "{done}");
    // Steps that took as long as those before them are the same nodes, and were in the pack already.
    let head = text(&home.json(&["thread", "show", &forked]), "head");
    assert!(!files(&home).iter().any(|file| file.contains(&head)), "{done}");
    assert_eq!(home.json(&["thread", "verify", &forked])["verdict"], "intact");
}

#[test]
fn gc_removes_nodes_of_removed_thread_from_packs() {
    let home = reviewing_home();
    let (gone, kept) = (ended(&home, "one task"), ended(&home, "another task"));
    home.json(&["pack"]);
    let [before] = packs(&home).try_into().unwrap();
    let size = fs::metadata(&before).unwrap().len();
    let (nodes, mine) = (home.json(&["cas", "list"]), everything(&home, &kept));
    let head = text(&home.json(&["thread", "show", &gone]), "head");
    home.json(&["thread", "rm", &gone]);
    assert_eq!(home.json(&["gc"])["deletedEntries"], json!(0), "they are young");
    let dry = home.json(&["gc", "--grace", "0s", "--dry-run"]);
    let done = home.json(&["gc", "--grace", "0s"]);
    assert_eq!((&done["deletedEntries"], &done["bytes"]), (&dry["deletedEntries"], &dry["bytes"]));
    assert!(done["deletedEntries"].as_u64().unwrap() > 5, "{done}");
    let [after] = packs(&home).try_into().unwrap();
    assert!(after != before && fs::metadata(&after).unwrap().len() < size, "the room is given back");
    assert_eq!(home.uwf(&["cas", "get", &head]).code, Some(69));
    assert!(home.json(&["cas", "list"]).to_string().len() < nodes.to_string().len());
    assert_eq!(home.json(&["cas", "verify"])["problems"], json!([]));
    assert_eq!(home.json(&["thread", "verify", &kept])["verdict"], "intact");
    assert_eq!(everything(&home, &kept)[2], mine[2]);
    home.json(&["thread", "rm", &kept]);
    home.json(&["gc", "--grace", "0s"]);
    assert_eq!(packs(&home).len(), 0, "nothing of the pack is needed");
    assert_eq!(home.json(&["cas", "verify"])["problems"], json!([]));
}

#[test]
fn rm_removes_single_node_from_pack() {
    let home = reviewing_home();
    let thread = ended(&home, "one task");
    home.json(&["pack"]);
    let history = fs::read_to_string(home.root().join("history.jsonl")).unwrap();
    let line: Value = serde_json::from_str(history.trim()).unwrap();
    let end = text(&line, "end");
    assert_snapshot!(transcript(&home, &["cas", "rm", &end]), @"
    exit 64
    --- stderr
    error: node #1 is in use: the history of thread <id> references it
    hint: nothing was removed
    ");
    home.json(&["thread", "rm", &thread]);
    let before = packs(&home);
    assert_eq!(home.json(&["cas", "rm", &end])["removed"], json!(end));
    assert!(packs(&home).len() == 1 && packs(&home) != before, "the pack is another one");
    assert_eq!(home.uwf(&["cas", "rm", &end]).code, Some(69));
    let list = fs::read_to_string(home.root().join("cas/packs/current")).unwrap();
    assert!(!list.contains("gone"), "{list}");
    assert_eq!(home.json(&["cas", "verify"])["problems"], json!([]));
}

#[test]
fn older_than_packs_only_old_threads() {
    let home = reviewing_home();
    let old = ended(&home, "one task");
    ended(&home, "another task");
    let history = home.root().join("history.jsonl");
    let text = fs::read_to_string(&history).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines[0]["completedAt"] = json!(1_600_000_000_000_u64);
    fs::write(&history, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let done = home.json(&["pack", "--older-than", "7d"]);
    assert_eq!(done["packedThreads"], json!(1));
    assert_eq!(home.json(&["thread", "verify", &old])["verdict"], "intact");
    assert_eq!(home.json(&["pack", "--older-than", "7d"])["packedThreads"], json!(0));
    let told = home.transcript(&["pack", "--format", "text"]);
    assert!(told.starts_with("exit 0\npacked ") && told.contains(" of 1 thread: "), "{told}");
    assert!(told.ends_with("there is 1 pack\n"), "two small ones became one: {told}");
}

#[test]
fn undo_restores_original_files() {
    let home = reviewing_home();
    let thread = ended(&home, "one task");
    let contents = |home: &TestHome| -> Vec<(String, Vec<u8>)> {
        files(home)
            .into_iter()
            .map(|name| (name.clone(), fs::read(home.root().join("cas").join(name)).unwrap()))
            .collect()
    };
    let before = contents(&home);
    let done = home.json(&["pack"]);
    ended(&home, "another task");
    home.json(&["pack"]);
    let undone = home.json(&["pack", "--undo"]);
    assert!(undone["unpackedNodes"].as_u64() > done["packedNodes"].as_u64(), "{undone}");
    let after = contents(&home);
    assert!(before.iter().all(|file| after.contains(file)), "byte by byte, the time of the first put included");
    assert_eq!(
        (packs(&home).len(), home.json(&["thread", "verify", &thread])["verdict"].clone()),
        (0, json!("intact"))
    );
    assert_snapshot!(home.transcript(&["pack", "--undo", "--format", "text"]), @"
    exit 0
    wrote 0 nodes, 0 bytes, as files; removed 0 packs
    ");
}

#[test]
fn corrupt_node_is_left_unpacked() {
    let home = reviewing_home();
    let thread = ended(&home, "one task");
    let detail = text(&home.last_detail(&thread), "hash");
    let sound = fs::read(file_of(&home, &detail)).unwrap();
    fs::write(file_of(&home, &detail), "rubbish").unwrap();
    let done = home.json(&["pack"]);
    assert_eq!((&done["packedThreads"], &done["leftNodes"]), (&json!(1), &json!(1)), "{done}");
    assert_eq!(fs::read(file_of(&home, &detail)).unwrap(), b"rubbish");
    fs::write(file_of(&home, &detail), sound).unwrap();
    assert_eq!(home.json(&["thread", "verify", &thread])["verdict"], "intact");
}

/// Changes one byte of the only pack.
fn damage(home: &TestHome, at: impl Fn(usize) -> usize) -> Vec<u8> {
    let [path] = packs(home).try_into().unwrap();
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[at(whole.len())] ^= 0x10;
    fs::write(&path, damaged).unwrap();
    whole
}

#[test]
fn damage_is_named_and_other_threads_continue() {
    let home = reviewing_home();
    let thread = ended(&home, "one task");
    home.json(&["pack"]);
    let whole = damage(&home, |_| 200);
    let head =
        text(&serde_json::from_str(&fs::read_to_string(home.root().join("history.jsonl")).unwrap()).unwrap(), "head");
    let pack = packs(&home).pop().unwrap().file_stem().unwrap().to_string_lossy().into_owned();
    let clear = |told: String| numbered(&told.replace(&pack, "NAME"));
    assert_snapshot!(clear(home.transcript(&["cas", "get", &head])), @"
    exit 65
    --- stderr
    error: node #1 is corrupt: the pack <dir>/root/cas/packs/NAME.pack is damaged: the block at 16 has another checksum
    hint: `uwf cas verify #1` checks it; putting the same content again repairs it
    ");
    let verified = home.uwf(&["cas", "verify", &head]);
    assert!(verified.code != Some(0) && verified.stdout.contains("has another checksum"), "{verified:?}");
    // What is being worked on does without.
    let open = home.start("review-text", "another task");
    fs::remove_file(home.work().join("seen")).ok();
    step(&home, &open, 4);
    assert_eq!(home.json(&["thread", "verify", &open])["verdict"], "intact");
    let ran = home.uwf(&["gc", "--grace", "0s"]);
    assert!(ran.code == Some(65) && ran.stderr.contains("nothing was removed"), "{ran:?}");
    let ran = home.uwf(&["pack", "--undo"]);
    assert!(ran.code == Some(65) && packs(&home).len() == 1, "{ran:?}");
    assert!(ran.stdout.contains("has another checksum"), "{ran:?}");
    // Restored, everything is as before.
    let path = packs(&home).pop().unwrap();
    fs::write(&path, &whole).unwrap();
    assert_eq!(home.json(&["thread", "verify", &thread])["verdict"], "intact");
    // Without its foot, its contents are unknown.
    damage(&home, |len| len - 3);
    assert_snapshot!(clear(home.transcript(&["cas", "list"])), @"
    exit 65
    --- stderr
    error: the pack <dir>/root/cas/packs/NAME.pack is damaged: its foot has another checksum
    hint: restore that file from a backup; nodes that are not in it can be read and stored all the same
    hint: without a backup, `uwf pack --forget NAME` keeps the nodes that can be read and gives up the rest
    ");
    let another = home.start("review-text", "a third task");
    home.json(&["thread", "step", &another]);
    fs::write(&path, &whole).unwrap();
    assert_eq!(home.json(&["cas", "verify"])["problems"], json!([]));
    assert_eq!(home.json(&["pack"])["packedThreads"], json!(1));
}

#[test]
fn put_refreshes_and_repairs_packed_node() {
    let home = reviewing_home();
    let thread = ended(&home, "one task");
    let detail = text(&home.last_detail(&thread), "hash");
    let raw = text(&home.json(&["cas", "get", &detail])["payload"], "raw");
    let content = text(&home.json(&["cas", "get", &raw])["payload"], "text");
    let long_ago = SystemTime::now() - Duration::from_hours(48);
    for name in files(&home) {
        let file = fs::File::options().write(true).open(home.root().join("cas").join(name)).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    home.json(&["pack"]);
    home.json(&["thread", "rm", &thread]);
    assert_eq!(put_text(&home, &content), raw);
    assert!(home.json(&["gc"])["deletedEntries"].as_u64().unwrap() > 5);
    assert_eq!(home.uwf(&["cas", "get", &raw]).code, Some(0), "somebody has just put it");
    assert!(!file_of(&home, &raw).exists(), "it is in the pack");
    damage(&home, |_| 40);
    assert_eq!(home.uwf(&["cas", "get", &raw]).code, Some(65));
    assert_eq!(put_text(&home, &content), raw);
    assert!(file_of(&home, &raw).exists() && home.uwf(&["cas", "get", &raw]).code == Some(0), "repaired");
}

#[test]
fn odd_requests_of_pack() {
    let home = home();
    assert_snapshot!(home.transcript(&["pack", "--older-than", "soon"]), @"
    exit 64
    --- stderr
    error: invalid value 'soon' for '--older-than <DURATION>': a duration is a number with a unit: 90s, 15m, 24h, 7d
    ");
    assert_eq!(home.uwf(&["pack", "--undo", "--dry-run"]).code, Some(64));
    assert_snapshot!(home.transcript(&["pack", "--format", "text"]), @"
    exit 0
    packed 0 nodes of 0 threads
    there are 0 packs
    ");
    assert!(!home.root().join("cas").exists(), "where nothing is, nothing is made");
    put_text(&home, "a text");
    assert_eq!(home.json(&["pack"])["packedNodes"], json!(0));
    assert_eq!(home.json(&["pack", "--undo"])["unpackedNodes"], json!(0));
    fs::remove_dir_all(home.root()).unwrap();
    assert_eq!(home.json(&["pack"])["packs"], json!(0));
}

#[test]
fn damaged_pack_does_not_block_pack_or_gc() {
    let home = reviewing_home();
    let lost = ended(&home, "one task");
    home.json(&["pack"]);
    let [damaged] = packs(&home).try_into().unwrap();
    damage(&home, |_| 200);
    let sound = ended(&home, "another task");
    assert_eq!(home.json(&["pack"])["packedThreads"], 1);
    assert_eq!(packs(&home).len(), 2, "the damaged one is not made one with the other");
    home.json(&["thread", "rm", &lost]);
    let collected = home.uwf(&["gc", "--grace", "0s"]);
    assert_eq!(collected.code, Some(0), "{}", collected.transcript());
    assert!(packs(&home).contains(&damaged), "whoever has a backup may restore it");
    assert_eq!(home.json(&["thread", "verify", &sound])["verdict"], "intact");
}

/// The report of a command that found something wrong.
fn bad(home: &TestHome, args: &[&str]) -> Value {
    let ran = home.uwf(args);
    assert_eq!(ran.code, Some(65), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// The name of the only pack.
fn pack_name(home: &TestHome) -> String {
    let [path] = packs(home).try_into().unwrap();
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

#[test]
fn forget_gives_up_damaged_pack() {
    let home = reviewing_home();
    // Two blocks, so that one can be read without the other.
    let big: String = (0..18_000).map(|number| format!("{number} ")).collect();
    let threads = [ended(&home, "one task"), ended(&home, &big)];
    home.json(&["pack"]);
    let name = pack_name(&home);
    let refused = home.uwf(&["pack", "--forget", &name]);
    assert!(refused.code == Some(64) && refused.stderr.contains("is whole"), "{refused:?}");
    assert_eq!(home.uwf(&["pack", "--forget", "0000000000000"]).code, Some(69));
    damage(&home, |_| 200);
    let verified = bad(&home, &["cas", "verify"]);
    let lost = verified["problems"].as_array().unwrap().iter().filter(|it| it["kind"] == "corrupt").count();
    assert!(lost > 0 && verified["checked"].as_u64().unwrap() > 0, "{verified}");
    let undone = bad(&home, &["pack", "--undo"]);
    assert_eq!(undone["unreadable"].as_array().unwrap().len(), lost, "{undone}");
    let forgotten = home.json(&["pack", "--forget", &name]);
    assert_eq!(forgotten["unreadable"].as_array().unwrap().len(), lost, "{forgotten}");
    assert!(std::path::Path::new(forgotten["movedTo"].as_str().unwrap()).exists() && packs(&home).is_empty());
    let kinds: BTreeSet<String> = bad(&home, &["cas", "verify"])["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| text(problem, "kind"))
        .collect();
    assert_eq!(kinds, BTreeSet::from(["missing".to_owned()]));
    for thread in &threads {
        home.json(&["thread", "rm", thread]);
    }
    assert!(home.json(&["gc", "--grace", "0s"])["deletedEntries"].is_u64());
    assert_eq!(home.json(&["cas", "verify"])["problems"], json!([]));
}

#[test]
fn doctor_and_verify_report_missing_or_unreadable_pack() {
    let home = reviewing_home();
    ended(&home, "one task");
    home.json(&["pack"]);
    let (name, [path]) = (pack_name(&home), packs(&home).try_into().unwrap());
    let whole = damage(&home, |len| len - 3);
    for reason in ["its foot has another checksum", "it is missing"] {
        let told = home.uwf(&["doctor", "--format", "text"]).stdout;
        let hint = format!("`uwf pack --forget {name}` gives it up");
        assert!(told.contains(reason) && told.contains(&hint), "{told}");
        let verified = bad(&home, &["cas", "verify"]);
        let named = verified["problems"].as_array().unwrap().iter().any(|it| it["reason"] == json!(reason));
        assert!(named, "{verified}");
        let undone = bad(&home, &["pack", "--undo"]);
        assert_eq!(undone["damagedPacks"][0]["reason"], json!(reason));
        let _ = fs::remove_file(&path);
    }
    fs::write(&path, whole).unwrap();
    assert_eq!(home.json(&["cas", "verify"])["problems"], json!([]));
    fs::remove_file(&path).unwrap();
    assert_eq!(home.json(&["pack", "--forget", &name]).get("movedTo"), None);
    assert!(!home.uwf(&["doctor"]).stdout.contains("it is missing"));
}

/// A pack, or a list of packs, as a newer uwf might write it: both say their version under a checksum.
fn of_version_2(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(lines) = bytes.strip_prefix(b"json-cas packs 1\n") {
        let lines = String::from_utf8_lossy(lines).into_owned();
        let text = format!("json-cas packs 2\n{}", lines.split("sum ").next().unwrap());
        return format!("{text}sum {}\n", json_cas::xxh64(text.as_bytes())).into_bytes();
    }
    let foot = bytes.len() - 64;
    (bytes[8], bytes[foot + 8]) = (2, 2);
    let sum = json_cas::xxh64(&bytes[foot..foot + 56]).as_u64();
    bytes[foot + 56..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// An older uwf beside a newer one must not be told to throw away what the newer one wrote.
#[test]
fn packs_from_newer_uwf_are_reported_and_unchanged() {
    let home = reviewing_home();
    let thread = ended(&home, "one task");
    home.json(&["pack"]);
    let (name, [pack]) = (pack_name(&home), packs(&home).try_into().unwrap());
    let list = home.root().join("cas/packs/current");
    for path in [&pack, &list] {
        let before = fs::read(path).unwrap();
        let bytes = of_version_2(before.clone());
        fs::write(path, &bytes).unwrap();
        let commands: [&[&str]; 8] = [
            &["thread", "read", &thread],
            &["cas", "verify"],
            &["cas", "list"],
            &["gc"],
            &["pack"],
            &["pack", "--undo"],
            &["pack", "--forget", &name],
            &["doctor"],
        ];
        for command in commands {
            let ran = home.uwf(command);
            let told = ran.transcript();
            assert_ne!(ran.code, Some(0), "{command:?}: {told}");
            assert!(
                told.contains("has format 2, which is newer than this version of uwf reads"),
                "{command:?}: {told}"
            );
            assert!(!told.contains("damaged:") && !told.contains("--forget"), "{command:?}: {told}");
        }
        assert_eq!(fs::read(path).unwrap(), bytes, "nothing was done to it");
        fs::write(path, before).unwrap();
    }
    home.json(&["thread", "read", &thread, "--format", "json"]);
}

/// Kinds of problems in the store, with how many there are of each.
fn problems(home: &TestHome) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for problem in bad(home, &["cas", "verify"])["problems"].as_array().unwrap() {
        *found.entry(text(problem, "kind")).or_default() += 1;
    }
    found
}

mod with_tools {
    use super::*;

    #[test]
    fn full_disk_prevents_neither_deletion_nor_report() {
        let mut not_reclaimed = 0;
        for write in 1..=4 {
            let home = reviewing_home();
            let removed = ended(&home, "one task");
            let kept = ended(&home, "another task");
            home.json(&["pack"]);
            home.json(&["thread", "rm", &removed]);
            put_text(&home, "nobody needs this");
            // The list of packs is written, and then a pack in the place of the one there is.
            let ran = with_fault(&home, &format!("write:error=ENOSPC:when={write}"), &["gc", "--grace", "0s"]);
            if ran.code == Some(0) {
                let report: Value = serde_json::from_str(&ran.stdout).unwrap();
                assert!(report["deletedEntries"].as_u64().unwrap() > 5, "{report}");
                let why = report["notReclaimed"].as_str().unwrap_or_default();
                not_reclaimed += usize::from(why.contains("No space left"));
            } else {
                assert!(ran.code == Some(74) && ran.stderr.contains("No space left"), "{ran:?}");
            }
            let again = home.json(&["gc", "--grace", "0s"]);
            assert_eq!(again.get("notReclaimed"), None);
            assert_eq!(home.json(&["cas", "verify"])["problems"], json!([]));
            assert_eq!(home.json(&["thread", "verify", &kept])["verdict"], "intact");
        }
        assert!(not_reclaimed > 0, "one of the writes is that of a pack");
    }

    #[test]
    fn forget_survives_kill_and_full_disk() {
        let big: String = (0..18_000).map(|number| format!("{number} ")).collect();
        let faults = [
            "fsync:signal=SIGKILL:when=99",
            "fsync:signal=SIGKILL:when=1",
            "fsync:signal=SIGKILL:when=3",
            "rename:signal=SIGKILL:when=1",
            "renameat:signal=SIGKILL:when=1",
            "renameat:error=ENOSPC:when=1",
            "write:error=ENOSPC:when=1",
            "write:error=ENOSPC:when=3",
            "fsync:error=EIO:when=2",
        ];
        let mut ends = BTreeSet::new();
        let mut interrupted = 0;
        for fault in faults {
            let home = reviewing_home();
            ended(&home, "one task");
            ended(&home, &big);
            home.json(&["pack"]);
            let name = pack_name(&home);
            damage(&home, |_| 200);
            let ran = with_fault(&home, fault, &["pack", "--forget", &name]);
            interrupted += usize::from(ran.code != Some(0));
            let again = home.uwf(&["pack", "--forget", &name]);
            // It was given up, and only the report was not told, or it is given up now.
            assert!(matches!(again.code, Some(0 | 69)), "{fault}: {ran:?} {again:?}");
            assert!(packs(&home).is_empty(), "{fault}");
            ends.insert((problems(&home), files(&home).len()));
        }
        assert_eq!(ends.len(), 1, "whatever happened, it came to the same: {ends:?}");
        assert!(interrupted >= 4, "{interrupted}");
    }
}
