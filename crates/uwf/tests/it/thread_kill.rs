//! `uwf thread kill`: a thread ends, and with it whatever its agent runs.

use std::process::Stdio;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::processes::{is_alive, until};

use crate::fixtures::faults::failing_at;
use crate::fixtures::review::{damage, reviewing_home, step};
use crate::transcript;

#[test]
fn killed_thread_is_in_history_and_forkable() {
    let home = reviewing_home();
    let thread = home.start("review-text", "x");
    step(&home, &thread, 1);
    assert_snapshot!(transcript(&home, &["thread", "kill", &thread]), @r#"
    exit 0
    {"thread":"<id>","archived":true,"task":"x"}
    "#);
    assert_eq!(home.json(&["thread", "list"]), json!([]));
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(json!([shown["done"], shown["state"], shown["steps"]]), json!([true, "killed", 1]));
    assert_snapshot!(transcript(&home, &["thread", "step", &thread]), @"
    exit 69
    --- stderr
    error: thread <id> was killed
    hint: `uwf thread show <id>` shows how
    hint: `uwf thread fork <id>` starts a new thread after its last step
    ");
    assert_snapshot!(transcript(&home, &["thread", "kill", &thread]), @"
    exit 69
    --- stderr
    error: thread <id> was killed
    hint: `uwf thread show <id>` shows how
    hint: `uwf thread fork <id>` starts a new thread after its last step
    ");
    assert_eq!(home.uwf(&["thread", "fork", &thread]).code, Some(0));
}

#[test]
fn kill_and_rm_print_text_reports() {
    let home = reviewing_home();
    let thread = home.start("review-text", "x");
    assert_snapshot!(transcript(&home, &["thread", "kill", &thread, "--format", "text"]), @r"
    exit 0
    killed thread <id>; `uwf thread list --all` still lists it
    --- stderr
    thread <id>: x
    ");
    assert_snapshot!(transcript(&home, &["thread", "rm", &thread, "--format", "text"]), @r"
    exit 0
    removed thread <id> from the history
    ");
}

#[test]
fn kill_ends_agent_and_its_child_processes() {
    let home = reviewing_home();
    home.script("writer", "#!/bin/sh\necho $$ > pid\n(trap '' TERM; sleep 300) &\necho $! > child\nsleep 300\n");
    let thread = home.start("review-text", "x");
    let mut stepper = home.command(&["thread", "step", &thread]).stdout(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !home.work().join("child").exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the agent never started");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::fs::write(
        home.root().join("config.yaml"),
        format!("killGrace: 1\n{}", std::fs::read_to_string(home.root().join("config.yaml")).unwrap()),
    )
    .unwrap();
    assert_eq!(home.json(&["thread", "kill", &thread]), json!({"thread": thread, "archived": true, "task": "x"}));
    for file in ["pid", "child"] {
        let pid = std::fs::read_to_string(home.work().join(file)).unwrap();
        assert!(!is_alive(pid.trim()), "{file} is still alive");
    }
    assert!(!stepper.wait().unwrap().success());
    assert_eq!(home.json(&["thread", "show", &thread])["state"], json!("killed"));
}

/// The command line of the window need not have the thread's id in it.
#[test]
fn kill_finds_keeper_however_thread_was_named() {
    let home = reviewing_home();
    home.script("writer", "#!/bin/sh\necho $UWF_THREAD > begun.new\nmv begun.new begun\nexec sleep 300\n");
    let (one, other) = (home.start("review-text", "x"), home.start("review-text", "x"));
    let commands =
        [vec!["thread", "step", &one[18..]], vec!["run", &other[18..]], vec!["run", "review-text", "-p", "y"]];
    for command in commands {
        let mut window = home.command(&command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = home.work().join("begun");
        until("the agent works", || begun.exists());
        let thread = std::fs::read_to_string(&begun).unwrap();
        std::fs::remove_file(&begun).unwrap();
        assert_eq!(home.uwf(&["thread", "kill", thread.trim()]).code, Some(0));
        assert_eq!(window.wait().unwrap().code(), Some(11), "{command:?}");
        let log = home.uwf(&["log", thread.trim(), "--format", "text"]).stdout;
        // Without the request, the keeper would find an agent that died of a signal.
        assert!(log.contains("was terminated on request"), "{command:?}: {log}");
    }
}

#[test]
fn a_broken_thread_can_be_ended_and_removed() {
    let home = reviewing_home();
    let thread = home.start("review-text", "x");
    step(&home, &thread, 1);
    damage(&home, &home.head(&thread).unwrap());
    assert_snapshot!(transcript(&home, &["thread", "kill", &thread]), @r#"
    exit 0
    {"thread":"<id>","archived":true}
    --- stderr
    warning: the thread's nodes are not readable, so the history records only the kill
    "#);
    assert_snapshot!(transcript(&home, &["thread", "list", "--all"]), @r##"
    exit 0
    [{"thread":"<id>","workflow":null,"head":"#1","state":"killed","role":null,"startedAt":<ms>,"changedAt":<ms>,"outcome":"killed"}]
    "##);
    assert_eq!(home.uwf(&["thread", "rm", &thread]).code, Some(0));
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]));

    let missing = home.start("review-text", "a task of its own");
    std::fs::remove_file(home.root().join("cas").join(format!("{}.bin", home.head(&missing).unwrap()))).unwrap();
    assert_eq!(home.uwf(&["thread", "kill", &missing]).code, Some(0));
}

#[test]
fn threads_that_do_not_exist_are_not_found() {
    let home = reviewing_home();
    assert_snapshot!(transcript(&home, &["thread", "kill", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"]), @"
    exit 69
    --- stderr
    error: thread <id> does not exist
    hint: `uwf thread list --all` lists every thread
    ");
    assert_snapshot!(transcript(&home, &["thread", "kill", "ZZZZ"]), @r"
    exit 69
    --- stderr
    error: no thread begins or ends with `ZZZZ`
    hint: `uwf thread list --all` lists every thread
    ");
    assert_snapshot!(transcript(&home, &["thread", "rm", "ZZZ"]), @r"
    exit 64
    --- stderr
    error: `ZZZ` is not a thread id; give at least 4 symbols of the start or the end of one
    ");
    assert_snapshot!(transcript(&home, &["thread", "kill"]), @"
    exit 64
    --- stderr
    error: the following required arguments were not provided: <THREAD>...
    hint: usage: uwf thread kill <THREAD>...
    ");
}

mod with_tools {
    use super::*;

    /// Whether somebody is at work is not guessed; the thread has ended by then, and the next `thread kill` meets its agent.
    #[test]
    fn kill_retried_after_lookup_failure_ends_agent() {
        let home = reviewing_home();
        home.script("writer", "#!/bin/sh\necho $$ > pid.new\nmv pid.new pid\nexec sleep 300\n");
        let thread = home.start("review-text", "x");
        let mut window =
            home.command(&["thread", "step", &thread]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("the agent works", || home.work().join("pid").exists());
        let agent = std::fs::read_to_string(home.work().join("pid")).unwrap();
        let lock = home.lock_file(&thread);
        let ran = failing_at(&home, &lock, "openat:error=EIO", &["thread", "kill", &thread]);
        let told = format!(
            "error: cannot open {}: Input/output error (os error 5)\n\
         hint: the thread has ended; run the same command again to end the rest of its agent\n",
            lock.display()
        );
        assert_eq!((ran.code, ran.stderr), (Some(74), told));
        assert!(is_alive(agent.trim()));
        assert_eq!(home.json(&["thread", "show", &thread])["state"], json!("killed"));
        assert_eq!(home.uwf(&["thread", "kill", &thread]).code, Some(69), "it is not active any more");
        assert!(!is_alive(agent.trim()));
        assert!(!window.wait().unwrap().success());
    }
}

uwf_testing::also_as_posix!(kill_ends_agent_and_its_child_processes, kill_finds_keeper_however_thread_was_named);
