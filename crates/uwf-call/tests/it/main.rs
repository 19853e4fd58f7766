//! Calls of a program that behaves as `uwf` does: a real process, real files.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use uwf_call::{UwfCall, UwfCallEnd};
use uwf_testing::TestHome;

fn home() -> TestHome {
    TestHome::new("/bin/sh")
}

fn call(home: &TestHome, script: &str) -> UwfCall {
    UwfCall::new(Path::new("/bin/sh"), home.work(), ["-c", script])
}

#[test]
fn report_is_the_last_value() {
    let home = home();
    let script = "cat; echo; echo '{\"done\": true}'; echo talk >&2; exit 20";
    let outcome = UwfCall { input: "{\"done\": false}".to_owned(), ..call(&home, script) }.run(None).unwrap();
    assert_eq!(
        (outcome.end, outcome.is_news(), outcome.report()),
        (UwfCallEnd::Code(20), true, json!({ "done": true }))
    );
    assert_eq!(outcome.stderr, "talk\n");
    let failed = call(&home, "exit 64").run(None).unwrap();
    assert_eq!((failed.code(), failed.is_news(), failed.report()), (Some(64), false, json!(null)));
}

#[test]
fn command_continues_after_the_limit() {
    let home = home();
    let begun = Instant::now();
    let outcome = call(&home, "echo begun; sleep 1; touch ended").run(Some(Duration::from_millis(100))).unwrap();
    assert_eq!((outcome.end, outcome.stdout.as_str(), outcome.is_news()), (UwfCallEnd::Running, "begun\n", false));
    assert!(begun.elapsed() < Duration::from_millis(900));
    while !home.work().join("ended").exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it was ended");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn signal_is_no_exit_code() {
    let outcome = call(&home(), "kill -KILL $$").run(None).unwrap();
    assert_eq!((outcome.end, outcome.code(), outcome.is_news()), (UwfCallEnd::Signal, None, false));
}

#[test]
fn environment_and_process_group_are_its_own() {
    let home = home();
    let script = "echo \"$ROOT ${CARGO_PKG_NAME-none} $(pwd -P)\"; cut -d ' ' -f 5 /proc/$$/stat; echo $$";
    let mut call = call(&home, script).variable("ROOT", "/srv");
    call.removed.push("CARGO_PKG_NAME".into());
    let outcome = call.run(None).unwrap();
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    let work = home.work().canonicalize().unwrap();
    assert_eq!(lines[0], format!("/srv none {}", work.display()));
    assert_eq!(lines[1], lines[2], "a group of its own");
}
