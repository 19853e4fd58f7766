//! A disk that is completely full: a file system of its own, of four megabytes.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome, text};

use crate::fixtures::answering::with_worker;
use crate::fixtures::hooks::{COUNTING, TRIAGE, home_with_hooks, opened};

/// Runs commands of a shell with the storage root on a disk of its own.
fn on_small_disk(home: &TestHome, commands: &str) -> FinishedRun {
    let (root, saved) = (home.root(), home.work().join("saved"));
    let script = format!(
        "set -e; cp -r {root} {saved}; mount -t tmpfs -o size=4m,mode=700 tmpfs {root}; cp -r {saved}/. {root}; set +e; {commands}",
        root = root.display(),
        saved = saved.display()
    );
    let mut shell = Command::new("unshare");
    home.prepare(&mut shell);
    shell
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .current_dir(home.work())
        .output()
        .unwrap()
        .into()
}

fn paid(home: &TestHome) -> usize {
    fs::read_to_string(home.work().join("ledger")).unwrap_or_default().lines().count()
}

/// The room for it was reserved before its agent began.
#[test]
fn answer_survives_disk_filled_during_attempt() {
    for output in ["text", "json"] {
        let script = "#!/bin/sh\ncat > /dev/null\necho x >> ledger\ndd if=/dev/zero of=\"$FILL\" bs=1k 2>/dev/null\necho '{\"n\": 1}'\n";
        let (home, thread) = with_worker(3, &format!("output: {output}"), "");
        home.script("worker", &script.replace("$FILL", home.root().join("fill").to_str().unwrap()));
        let uwf = uwf_testing::uwf_program();
        let ran = on_small_disk(
            &home,
            &format!(
                "{uwf} thread step {thread}; {uwf} thread step {thread}; rm {}/fill; {uwf} thread show {thread}",
                home.root().display()
            ),
        );
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
        let steps =
            ran.stdout.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()).next_back();
        assert_eq!(steps.unwrap()["steps"], 1, "{}", ran.transcript());
        assert_eq!(paid(&home), 1, "{}", ran.transcript());
    }
}

/// Without that room nothing is paid.
#[test]
fn agent_does_not_start_without_room_for_answer() {
    let (home, thread) =
        with_worker(3, "output: json", "#!/bin/sh\ncat > /dev/null\necho x >> ledger\necho '{\"n\": 1}'\n");
    let (uwf, root) = (uwf_testing::uwf_program(), home.root());
    let fill = format!("dd if=/dev/zero of={0}/fill bs=1k 2>/dev/null; truncate -s -100K {0}/fill", root.display());
    let ran = on_small_disk(&home, &format!("{fill}; {uwf} thread step {thread}"));
    assert_eq!(ran.code, Some(74), "{}", ran.transcript());
    assert!(ran.stderr.contains("reserve space for an answer"), "{}", ran.transcript());
    assert_eq!(paid(&home), 0);
}

/// The sender gets an error, and its next delivery starts the thread.
#[test]
fn delivery_without_room_starts_nothing_until_repeated() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let delivery = json!({ "delivery": "d-1", "headers": { "x-github-event": "issues" }, "payload": opened(42, "x") });
    home.file("delivery.json", &delivery.to_string());
    let (uwf, root) = (uwf_testing::uwf_program(), home.root());
    let ran = on_small_disk(
        &home,
        &format!(
            "dd if=/dev/zero of={root}/fill bs=1k 2>/dev/null; {uwf} hook deliver triage < delivery.json; echo code $?; rm {root}/fill; \
             {uwf} thread list --all; {uwf} hook deliver triage < delivery.json; {uwf} hook deliver triage < delivery.json; {uwf} thread list --all",
            root = root.display()
        ),
    );
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let [failed, code, none, first, second, listed] = lines[..] else { panic!("{}", ran.transcript()) };
    assert!(failed.contains("\"exitCode\":74"), "{failed}");
    assert_eq!((code, none), ("code 74", "[]"));
    let status = |line: &str| text(&serde_json::from_str(line).unwrap(), "status");
    assert_eq!((status(first), status(second)), ("started".to_owned(), "already started".to_owned()));
    assert_eq!(serde_json::from_str::<Value>(listed).unwrap().as_array().map(Vec::len), Some(1), "{listed}");
}
