//! `thread pause` and `thread resume`.

use std::fs;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::TestHome;

use crate::fixtures::faults::failing_at;
use crate::fixtures::mocked::mocked;
use crate::transcript;

fn counting() -> (TestHome, String) {
    mocked(
        3,
        "worker:
  - { reply: { n: 1 }, repeat: true }
",
    )
}

#[test]
fn paused_thread_is_not_stepped_until_resumed() {
    let (home, thread) = counting();
    home.json(&["thread", "step", &thread]);
    assert_snapshot!(transcript(&home, &["thread", "pause", &thread, "--reason", "lunch"]), @r#"
    exit 0
    {"thread":"<id>","state":"paused"}
    "#);
    assert_snapshot!(transcript(&home, &["thread", "step", &thread]), @r"
    exit 20
    --- stderr
    waiting: thread <id> is paused: lunch
    hint: `uwf thread resume <id>` resumes it
    ");
    assert_eq!(home.uwf(&["thread", "run", &thread]).code, Some(20));
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(json!([shown["state"], shown["why"], shown["steps"]]), json!(["paused", "lunch", 1]));
    assert_snapshot!(transcript(&home, &["thread", "resume", &thread]), @r#"
    exit 0
    {"thread":"<id>","state":"active"}
    "#);
    assert_snapshot!(transcript(&home, &["thread", "resume", &thread, "--format", "text"]), @r"
    exit 0
    thread <id> is active
    --- stderr
    warning: thread <id> was not paused
    ");
    assert_eq!(home.json(&["run", &thread])["done"], true);
    assert_snapshot!(transcript(&home, &["thread", "pause", &thread]), @"
    exit 69
    --- stderr
    error: thread <id> has ended
    hint: `uwf thread show <id>` shows how
    hint: `uwf thread fork <id>` starts a new thread after its last step
    ");
    assert_eq!(home.uwf(&["thread", "resume", &thread]).code, Some(69));
    assert!(fs::read_dir(home.root().join("marks")).unwrap().next().is_none());
}

#[test]
fn a_running_step_ends_as_it_would() {
    let (home, thread) = counting();
    home.script("slow", "#!/bin/sh\ntouch began\nwhile [ ! -e go ]; do sleep 0.02; done\necho '{\"n\": 7}'\n");
    home.config("agents: { slow: { command: slow, output: json } }\ndefaultAgent: slow\n");
    let running = home.command(&["run", &thread]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !home.work().join("began").exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the agent never started");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_snapshot!(transcript(&home, &["thread", "pause", &thread]), @r#"
    exit 0
    {"thread":"<id>","state":"running","pausing":true}
    "#);
    let listed = home.uwf(&["thread", "list", "--format", "text"]).stdout;
    assert!(listed.contains("running, then paused"), "{listed}");
    assert_eq!(home.json(&["thread", "list"])[0]["pausing"], json!(true));
    let shown = home.uwf(&["thread", "show", &thread, "--format", "text"]).stdout;
    assert!(
        shown.contains("state:     running, then paused\n") && shown.contains("why:       paused by hand\n"),
        "{shown}"
    );
    let page = home.uwf(&["thread", "read", &thread]).stdout;
    assert!(page.contains("running, then paused") && page.contains("Then it pauses: paused by hand"), "{page}");
    let again = home.uwf(&["thread", "pause", &thread, "--format", "text"]).stdout;
    assert!(again.ends_with("is running; it pauses once this step has ended\n"), "{again}");
    fs::write(home.work().join("go"), "").unwrap();
    assert_eq!(running.wait_with_output().unwrap().status.code(), Some(20));
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(json!([shown["state"], shown["steps"]]), json!(["paused", 1]));
}

mod with_tools {
    use super::*;

    /// Somebody wanted it to stay where it is.
    #[test]
    fn unreadable_pause_mark_prevents_step() {
        let (home, thread) = counting();
        home.json(&["thread", "pause", &thread]);
        let mark = home.root().join("marks").join(format!("{thread}.paused"));
        let before = home.head(&thread);
        let ran = failing_at(&home, &mark, "openat:error=EIO", &["thread", "step", &thread]);
        let told = format!("error: cannot read {}: Input/output error (os error 5)\n", mark.display());
        assert_eq!((ran.code, ran.stderr), (Some(74), told));
        assert_eq!(home.head(&thread), before);
    }
}
