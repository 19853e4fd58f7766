//! `uwf thread rm`: an ended thread leaves the history, its nodes stay.

use std::collections::BTreeSet;
use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_engine::root::ids;
use uwf_testing::{TestHome, counting_workflow, text};

use crate::fixtures::review::{hashes, reviewing_home, step};
use crate::{home, transcript};

#[test]
fn removed_thread_leaves_history_but_keeps_nodes() {
    let home = reviewing_home();
    let thread = home.start("review-text", "x");
    step(&home, &thread, 1);
    assert_snapshot!(transcript(&home, &["thread", "rm", &thread]), @r"
    exit 64
    --- stderr
    error: thread <id> is active
    hint: `uwf thread kill <id>` ends it first
    ");
    home.json(&["thread", "kill", &thread]);
    let nodes = hashes(&home, &thread);
    let stored = std::fs::read_dir(home.root().join("cas")).unwrap().count();
    assert_snapshot!(transcript(&home, &["thread", "rm", &thread]), @r#"
    exit 0
    {"thread":"<id>","archived":false}
    "#);
    assert_eq!(std::fs::read_dir(home.root().join("cas")).unwrap().count(), stored);
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]));
    assert!(home.records(&thread).is_empty());
    assert_snapshot!(transcript(&home, &["thread", "rm", &thread]), @r"
    exit 69
    --- stderr
    error: thread <id> does not exist
    hint: `uwf thread list --all` lists every thread
    ");
    assert_eq!(home.uwf(&["thread", "fork", &nodes[1]]).code, Some(0));
}

/// Three threads that ended, and one that is active. The first ended 100 days ago, the second too, killed, the third just now.
fn old_threads() -> (TestHome, [String; 4]) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    home.put("count-rounds", &counting_workflow(1));
    let threads = [(); 4].map(|()| home.start("count-rounds", "count"));
    home.json(&["thread", "step", &threads[0]]);
    home.json(&["thread", "kill", &threads[1]]);
    home.json(&["thread", "step", &threads[2]]);
    let history = home.root().join("history.jsonl");
    let long_ago = ids::now_ms() - 100 * 24 * 3_600_000;
    let old = fs::read_to_string(&history)
        .unwrap()
        .lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            if line["thread"] != threads[2].as_str() {
                line["completedAt"] = json!(long_ago);
            }
            format!("{line}\n")
        })
        .collect::<String>();
    fs::write(&history, old).unwrap();
    (home, threads)
}

fn left(home: &TestHome) -> BTreeSet<String> {
    home.json(&["thread", "list", "--all"]).as_array().unwrap().iter().map(|row| text(row, "thread")).collect()
}

#[test]
fn old_threads_are_removed_except_active_ones() {
    let (home, threads) = old_threads();
    let all = left(&home);
    let args = ["thread", "rm", "--older-than", "90d"];
    let dry = home.json(&[&args[..], &["--dry-run"]].concat());
    let named: Vec<&str> =
        dry["removed"].as_array().unwrap().iter().map(|row| row["thread"].as_str().unwrap()).collect();
    assert_eq!((named, &dry["dryRun"]), (vec![threads[0].as_str(), &threads[1]], &json!(true)));
    assert_eq!(left(&home), all);
    assert_snapshot!(transcript(&home, &["thread", "rm", "--older-than", "90d", "--state", "completed", "--format", "text"]), @"
    exit 0
    removed <id>  completed <time>
    removed 1 thread
    ");
    assert_eq!(left(&home), threads[1..].iter().cloned().collect());
    let report = home.json(&args);
    assert_eq!(
        (report["removed"][0]["thread"].clone(), report["removed"][0]["status"].clone()),
        (json!(threads[1]), json!("killed"))
    );
    assert_eq!(left(&home), threads[2..].iter().cloned().collect());
    assert!(home.records(&threads[0]).is_empty() && home.records(&threads[1]).is_empty());
    let again = json!({ "dryRun": false, "removed": [], "kept": [] });
    assert_eq!(home.json(&args), again);
    // However new they are, and still no active one.
    home.json(&["thread", "rm", "--older-than", "0s"]);
    assert_eq!(left(&home), [threads[3].clone()].into());
}

#[test]
fn child_thread_stays_while_parent_is_active() {
    let (home, threads) = old_threads();
    let record = home.record_file(&threads[0]);
    let line = fs::read_to_string(&record).unwrap();
    let of_child = |parent: &str| {
        line.replacen("{\"event\":\"settings\",", &format!("{{\"event\":\"settings\",\"parent\":\"{parent}\","), 1)
    };
    fs::write(&record, of_child(&threads[3])).unwrap();
    let args = ["thread", "rm", "--older-than", "90d"];
    let report = home.json(&args);
    assert_eq!(
        report["kept"],
        json!([{ "thread": threads[0], "why": format!("its parent {} is active", threads[3]) }])
    );
    assert!(left(&home).contains(&threads[0]));
    home.json(&["thread", "kill", &threads[3]]);
    assert_eq!(home.json(&args)["removed"][0]["thread"], json!(threads[0]));
}

#[test]
fn locked_thread_is_reported_and_others_removed() {
    let (home, threads) = old_threads();
    let lock = home.lock_file(&threads[0]);
    let held = fs::File::open(lock).unwrap();
    held.lock().unwrap();
    let ran = home.uwf(&["thread", "rm", "--older-than", "90d"]);
    assert_eq!(ran.code, Some(75));
    assert!(ran.stderr.starts_with(&format!("error: thread {} was not removed: ", threads[0])), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["kept"][0]["thread"], json!(threads[0]));
    assert_eq!(left(&home), [&threads[0], &threads[2], &threads[3]].map(Clone::clone).into());
    held.unlock().unwrap();
    home.json(&["thread", "rm", "--older-than", "90d"]);
    assert!(!left(&home).contains(&threads[0]));
}

#[test]
fn odd_requests_to_remove_many_threads() {
    let (home, _) = old_threads();
    for args in
        [&["--state", "completed"][..], &["--dry-run"], &["@", "--older-than", "1d"], &["--older-than", "old"], &[]]
    {
        let ran = home.uwf(&[&["thread", "rm"], args].concat());
        assert_eq!(ran.code, Some(64), "{args:?}: {ran:?}");
    }
    assert_eq!(home.uwf(&["thread", "rm", "--older-than", "1d", "--state", "stuck"]).code, Some(64));
}

#[test]
fn dry_run_shows_single_thread_before_removal() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(1, "x");
    home.json(&["thread", "step", &thread]);
    for which in [&thread[..], "@", "--last"] {
        let ran = home.uwf(&["thread", "rm", which, "--state", "killed"]);
        assert_eq!(ran.code, Some(64), "{}", ran.transcript());
        assert_eq!(home.json(&["thread", "rm", which, "--dry-run"]), json!({ "thread": thread, "dryRun": true }));
    }
    let text = home.uwf(&["thread", "rm", &thread, "--dry-run", "--format", "text"]).stdout;
    assert_eq!(text, format!("would remove thread {thread} from the history\n"));
    let active = home.start("count-rounds", "y");
    assert_eq!(home.uwf(&["thread", "rm", &active, "--dry-run"]).code, Some(64), "as without it");
    let conflict = home.uwf(&["thread", "step", &active, "--dry-run", "--reextract"]);
    assert!(conflict.stderr.contains("leave out the other one"), "{}", conflict.transcript());
    let alone = home.uwf(&["thread", "rm", "--dry-run"]);
    assert!(alone.code == Some(64) && alone.stderr.contains("--older-than 90d --dry-run"), "{}", alone.transcript());
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "completed");
}
