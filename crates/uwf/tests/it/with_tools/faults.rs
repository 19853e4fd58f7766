//! Full disks and damaged files: one clear error, the documented exit code, nothing lost.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use uwf_testing::{FinishedRun, TestHome, counting_workflow, text};

use crate::fixtures::faults::{failing_at, with_fault};
use crate::home;

fn counting_home() -> (TestHome, String) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho x >> ledger\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(3, "count");
    (home, thread)
}

#[test]
fn full_disk_is_reported_and_store_unchanged() {
    let home = home();
    let file = home.file("count-rounds.yaml", &counting_workflow(3));
    let args = ["workflow", "put", file.to_str().unwrap()];
    let ran = with_fault(&home, "fsync:error=ENOSPC", &args);
    assert_eq!(ran.code, Some(74), "{ran:?}");
    assert!(ran.stderr.contains("No space left on device"), "{}", ran.stderr);
    assert!(
        ran.stderr.ends_with("hint: free some space, then run the same command again: nothing was lost\n"),
        "{}",
        ran.stderr
    );
    assert_eq!(home.json(&["workflow", "list"]), json!([]));
    let left: Vec<_> = fs::read_dir(home.root().join("cas"))
        .map(|dir| dir.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    assert_eq!(left, Vec::<std::path::PathBuf>::new(), "temporary files are gone");
    home.json(&args);
}

/// What was done stays done, but who reads the report must not take an empty one for it.
#[test]
fn unwritable_report_fails_the_command() {
    let (home, thread) = counting_home();
    let commands = [
        &["cas", "put", "content", r#"{"text": "kept"}"#] as &[&str],
        &["cas", "list"],
        &["thread", "list", "--format", "text"],
        &["thread", "step", &thread],
        &["thread", "kill", &thread],
        &["config", "list", "--format", "yaml"],
        &["--help"],
        &["--version"],
    ];
    for args in commands {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = FinishedRun::from(home.command(args).stdout(full).output().unwrap());
        let told = "error: cannot write the report: No space left on device (os error 28)\n";
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(74), told), "{args:?}");
    }
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(json!([shown["steps"], shown["state"]]), json!([1, "killed"]));
}

#[test]
fn put_succeeds_when_os_threads_are_exhausted() {
    let home = home();
    let file = home.file("count-rounds.yaml", &counting_workflow(3));
    let ran = with_fault(&home, "clone,clone3:error=EAGAIN", &["workflow", "put", file.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(home.json(&["cas", "verify"])["problems"], json!([]));
}

#[test]
fn agent_output_survives_a_full_disk() {
    let (home, thread) = counting_home();
    let before = home.head(&thread);
    let ran = with_fault(&home, "fsync:error=ENOSPC", &["thread", "step", &thread]);
    assert_eq!(ran.code, Some(74), "{ran:?}");
    assert_eq!(home.head(&thread), before);
    let report = home.json(&["thread", "step", &thread]);
    let step = home.json(&["cas", "get", &text(&report, "head")]);
    let detail = home.json(&["cas", "get", &text(&step["payload"], "detail")]);
    let attempt = home.json(&["cas", "get", detail["payload"]["attempts"][0].as_str().unwrap()]);
    let raw = home.json(&["cas", "get", &text(&attempt["payload"], "raw")]);
    assert_eq!(raw["payload"]["text"], "{\"n\": 1}\n");
    assert_eq!(json!([report["adopted"], report["alias"]]), json!([true, "w"]), "its answer was read again");
    assert_eq!(fs::read_to_string(home.work().join("ledger")).unwrap(), "x\n", "the agent was not paid again");
}

/// Whether the file that has the answer is of this boot decides if it is read; that must be known, not guessed.
#[test]
fn unreadable_boot_id_prevents_second_payment() {
    let (home, thread) = counting_home();
    let unread = || {
        let boot_id = Path::new("/proc/sys/kernel/random/boot_id");
        failing_at(&home, boot_id, "openat:error=EIO:when=1", &["thread", "step", &thread])
    };
    let paid = || fs::read_to_string(home.work().join("ledger")).unwrap_or_default();
    let told = "error: cannot read /proc/sys/kernel/random/boot_id: Input/output error (os error 5)\n";
    let ran = unread();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(74), told), "an attempt names the boot it is of");
    assert_eq!(paid(), "");
    assert_eq!(with_fault(&home, "fsync:error=ENOSPC", &["thread", "step", &thread]).code, Some(74));
    let ran = unread();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(74), told));
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!((report["adopted"].as_bool(), paid().as_str()), (Some(true), "x\n"));
}

/// Nothing of it is needed any more, so its end does not fail; whoever meets the thread next removes them.
#[test]
fn leftover_marks_are_removed_by_next_command() {
    let (home, thread) = counting_home();
    home.json(&["thread", "step", &thread]);
    home.json(&["thread", "step", &thread]);
    let last = with_fault(&home, "?unlink,unlinkat:error=EIO", &["thread", "step", &thread]);
    assert_eq!(last.json()["done"], true);
    let marks = || fs::read_dir(home.root().join("marks")).unwrap().count();
    assert_eq!(marks(), 1, "what marks an open attempt");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(69));
    assert_eq!(marks(), 0);
}

#[test]
fn requested_agent_runs_despite_kept_answer() {
    let (home, thread) = counting_home();
    assert_eq!(with_fault(&home, "fsync:error=ENOSPC", &["thread", "step", &thread]).code, Some(74));
    let report = home.json(&["thread", "step", &thread, "--agent", "w"]);
    assert_eq!(report["adopted"], serde_json::Value::Null);
    assert_eq!(fs::read_to_string(home.work().join("ledger")).unwrap(), "x\nx\n");
}

#[test]
fn unlinked_result_is_adopted_by_next_step() {
    let (home, thread) = counting_home();
    let before = home.head(&thread);
    // Nodes are published by another call (renameat2); `renameat` is what the index is replaced by.
    let ran = with_fault(&home, "renameat:error=ENOSPC", &["thread", "step", &thread]);
    assert_eq!(ran.code, Some(74), "{ran:?}");
    assert!(ran.stderr.contains("the next `uwf thread step` takes its result over"), "{}", ran.stderr);
    assert_eq!(home.head(&thread), before);
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!(json!([report["adopted"], report["role"]]), json!([true, "worker"]));
    let ledger = fs::read_to_string(home.work().join("ledger")).unwrap();
    assert_eq!(ledger, "x\n", "the agent was not run again");
}

#[test]
fn corrupt_head_is_reported_only_for_its_thread() {
    let (home, thread) = counting_home();
    let other = home.start("count-rounds", "another");
    home.json(&["thread", "step", &thread]);
    let head = home.head(&thread).unwrap();
    let file = home.root().join("cas").join(format!("{head}.bin"));
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x20;
    fs::write(&file, bytes).unwrap();
    for args in [["thread", "step", &thread], ["thread", "show", &thread]] {
        let ran = home.uwf(&args);
        assert_eq!(ran.code, Some(65), "{ran:?}");
        assert!(ran.stderr.starts_with(&format!("error: node {head} is corrupt: ")), "{}", ran.stderr);
    }
    let rows = home.json(&["thread", "list"]);
    let states: Vec<(&str, &str)> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["thread"].as_str().unwrap(), row["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, [(other.as_str(), "active"), (thread.as_str(), "corrupt")]);
    assert_eq!(home.uwf(&["thread", "step", &other]).code, Some(0));
}

#[test]
fn a_type_that_was_lost_is_stored_again() {
    let (home, thread) = counting_home();
    for own in uwf_core::node::OWN_TYPES {
        fs::remove_file(home.root().join("cas").join(format!("{}.bin", own.hash))).unwrap();
        home.json(&["thread", "step", &thread, "--dry-run"]);
        assert_eq!(
            home.uwf(&["thread", "start", "count-rounds", "-p", "x"]).code,
            Some(0),
            "without {}",
            own.kind.title()
        );
        assert_eq!(home.json(&["cas", "verify"])["problems"], json!([]), "after {}", own.kind.title());
    }
    assert_eq!(home.json(&["thread", "step", &thread])["role"], "worker");
}

/// A thread one step before its end, in a root where another has ended.
fn before_its_end() -> (TestHome, String) {
    let (home, thread) = counting_home();
    let other = home.start("count-rounds", "another");
    home.json(&["thread", "kill", &other]);
    home.json(&["thread", "step", &thread]);
    home.json(&["thread", "step", &thread]);
    (home, thread)
}

/// The end of a thread must be durable before it is acted on.
#[test]
fn an_end_that_cannot_be_synced_is_none() {
    let (home, thread) = before_its_end();
    let history = home.root().join("history.jsonl");
    let before = fs::read(&history).unwrap();
    let step = failing_at(&home, &history, "fsync:error=EIO:when=1", &["thread", "step", &thread]).json();
    let why = format!("cannot sync {}: Input/output error (os error 5)", history.display());
    assert_eq!(json!([step["done"], step["next"]]), json!([false, { "error": why }]));
    assert_eq!(fs::read(&history).unwrap(), before);
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
}

#[test]
fn thread_has_ended_once_history_records_it() {
    let (home, thread) = before_its_end();
    // The head is moved first, then the thread is dropped.
    let ran = with_fault(&home, "renameat:error=EIO:when=2", &["thread", "step", &thread]);
    assert_eq!(ran.json()["done"], true);
    let index = || fs::read_to_string(home.root().join("threads.yaml")).unwrap();
    assert!(index().contains(&thread), "it was not dropped");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(69));
    home.start("count-rounds", "a third");
    assert!(!index().contains(&thread), "whoever takes the lock next completes that");
}

#[test]
fn failed_start_leaves_no_records() {
    let (home, thread) = counting_home();
    // What is synced: task, StartNode and their directory, the new index, settings, the directory of the settings. The next
    // is the directory of the index, which has the thread by then.
    let syncs = (1..=6).map(|number| format!("fsync:error=ENOSPC:when={number}"));
    for (number, fault) in syncs.chain(["renameat:error=ENOSPC:when=1".to_owned()]).enumerate() {
        let ran = with_fault(&home, &fault, &["thread", "start", "count-rounds", "-p", &format!("another {number}")]);
        assert_eq!(ran.code, Some(74), "{fault} {ran:?}");
        assert_eq!(home.records(""), home.records(&thread), "{fault}");
    }
}

#[test]
fn unreadable_index_is_error_not_empty() {
    let (home, thread) = counting_home();
    let index = home.root().join("threads.yaml");
    for damage in ["", "{", "- a\n- b\n", "01M8: 5: 6\n", "\0\0\0\0"] {
        fs::write(&index, damage).unwrap();
        for args in [
            &["thread", "list"] as &[&str],
            &["thread", "step", &thread],
            &["thread", "start", "count-rounds", "-p", "x"],
        ] {
            let ran = home.uwf(args);
            assert_eq!(ran.code, Some(65), "{damage:?} {args:?} {ran:?}");
            assert!(ran.stderr.contains("threads.yaml"), "{}", ran.stderr);
        }
        assert_eq!(fs::read_to_string(&index).unwrap(), damage, "left as it was");
    }
}

#[test]
fn unreadable_registry_or_config_names_its_location() {
    let (home, thread) = counting_home();
    home.config("agents: [\n");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(78), "{ran:?}");
    assert!(ran.stderr.contains("config.yaml:"), "{}", ran.stderr);
    home.config("agnts: {}\n");
    let ran = home.uwf(&["thread", "start", "count-rounds", "-p", "x"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("config.yaml:1:1: warning") && ran.stderr.contains("agnts"), "{}", ran.stderr);
    fs::write(home.root().join("registry.yaml"), "count-rounds: [\n").unwrap();
    let ran = home.uwf(&["thread", "start", "count-rounds", "-p", "x"]);
    assert_eq!(ran.code, Some(65));
    assert!(ran.stderr.contains("registry.yaml is not readable"), "{}", ran.stderr);
}

/// Steps while no node can be published, then again on a disk with room: what is there now, and how often the agent worked.
fn stepped_after_a_full_disk(home: &TestHome, thread: &str) -> (serde_json::Value, String) {
    let full = home.command(&["thread", "step", thread]);
    let mut command = Command::new("strace");
    home.prepare(&mut command);
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=renameat2:error=ENOSPC"]);
    let ran: FinishedRun =
        command.arg(full.get_program()).args(full.get_args()).output().expect("strace is installed").into();
    assert_eq!(ran.code, Some(74), "{ran:?}");
    let report = home.json(&["thread", "step", thread]);
    assert_eq!(report["adopted"], true, "{report}");
    let output = home.json(&["thread", "eval", thread, "steps[-1].output"]);
    (output, fs::read_to_string(home.work().join("ledger")).unwrap_or_default())
}

#[test]
fn unstored_submission_is_read_by_next_step() {
    let (home, thread) = counting_home();
    home.script(
        "worker",
        "#!/bin/sh\necho x >> ledger\necho 'I counted.' > said\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 7}' --raw said\n",
    );
    home.config("agents:\n  w: { command: worker }\ndefaultAgent: w\n");
    assert_eq!(stepped_after_a_full_disk(&home, &thread), (json!({ "n": 7 }), "x\n".to_owned()));
    let session = home.last_detail(&thread);
    assert_eq!([&session["raw"], &session["extractedBy"]], [&json!("I counted.\n"), &json!("submit")]);
}

/// An agent that hands its value in by the tool, with a server that is run by this command line, and says nothing.
fn by_tool(server: &str) -> String {
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "submit", "arguments": { "n": 7 } },
    });
    format!(
        "#!/bin/sh\ncat > /dev/null\necho x >> ledger\nprintf '%s\\n' '{call}' | {server} \"$UWF_BIN\" agent mcp \"$UWF_THREAD\" \"$UWF_ROLE\" > heard\n"
    )
}

#[test]
fn accepted_tool_value_survives_store_failure() {
    let (home, thread) = counting_home();
    home.script("worker", &by_tool(""));
    home.config("agents:\n  w: { command: worker, output: text }\ndefaultAgent: w\n");
    assert_eq!(stepped_after_a_full_disk(&home, &thread), (json!({ "n": 7 }), "x\n".to_owned()));
    assert!(fs::read_to_string(home.work().join("heard")).unwrap().contains("accepted: "));
}

#[test]
fn unsaved_value_is_not_accepted() {
    let (home, thread) = counting_home();
    let calls = [
        "fsync:error=ENOSPC:when=1",
        "fsync:error=ENOSPC:when=2",
        "write:error=ENOSPC:when=1",
        "renameat:error=ENOSPC",
    ];
    home.config("agents:\n  w: { command: worker, output: text }\ndefaultAgent: w\n");
    for fault in calls {
        home.script("worker", &by_tool(&format!("strace -qq -f -o /dev/null -e inject={fault}")));
        home.uwf(&["thread", "step", &thread]);
        let heard = fs::read_to_string(home.work().join("heard")).unwrap();
        assert!(!heard.contains("accepted: ") && heard.contains("\"isError\":true"), "{fault}: {heard}");
    }
}
