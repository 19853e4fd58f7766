//! On a system with only the services of POSIX, uwf trusts less, and says so.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use durable_files::FileLock;
use serde_json::json;
use uwf_testing::platforms::as_posix;
use uwf_testing::processes::{is_alive, signal, until};
use uwf_testing::{FinishedRun, TestHome};

use crate::home;

/// A home for POSIX whose agent runs a script, with a thread.
fn posix_home(script: &str) -> (TestHome, String) {
    let home = as_posix(home);
    home.worker("output: json", script);
    home.config("agents:\n  w: { command: worker, output: json }\ndefaultAgent: w\nkillGrace: 0.3\n");
    let thread = home.start_counting(9, "count");
    (home, thread)
}

/// Begins a step and kills its keeper while the agent is at work. The agent writes the ids of its processes into files.
fn begin_without_keeper(home: &TestHome, thread: &str, files: &[&str]) {
    let mut window = home.command(&["thread", "step", thread]).stderr(Stdio::null()).spawn().unwrap();
    for file in files {
        until("it is at work", || !process_in(home, file).is_empty());
    }
    home.kill_keeper(thread);
    window.wait().unwrap();
}

fn process_in(home: &TestHome, file: &str) -> String {
    fs::read_to_string(home.work().join(file)).unwrap_or_default().trim().to_owned()
}

/// Messages of one check of `uwf doctor`.
fn found(home: &TestHome, args: &[&str], check: &str) -> Vec<String> {
    let ran = home.uwf(&[&["doctor", "--offline", "--format", "json"], args].concat());
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let findings = report["checks"].as_array().unwrap().iter().filter(|finding| finding["check"] == check);
    findings.map(|finding| finding["message"].as_str().unwrap().to_owned()).collect()
}

const WAITING: &str =
    "#!/bin/sh\ncat > /dev/null\necho $$ > agent\nwhile [ ! -e go ]; do sleep 0.02; done\necho '{\"n\": 1}'\n";

#[test]
fn answers_are_durable_where_boots_are_unknown() {
    for is_posix in [true, false] {
        let script = "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n";
        let (home, thread) = posix_home(script);
        let mut command = home.command(&["thread", "step", &thread]);
        if !is_posix {
            command.env_remove("UWF_PLATFORM");
        }
        assert!(command.status().unwrap().success());
        assert_eq!(home.recorded(&thread, "opened")["bootId"] == "", is_posix);
        assert_eq!(home.recorded(&thread, "answered")["durable"] == json!(true), is_posix);
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs setsid")]
fn process_outside_its_group_blocks_the_thread() {
    let script = "#!/bin/sh\ncat > /dev/null\nif ! [ -e again ]; then setsid sh -c 'echo $$ > away; exec sleep 300' & fi\necho $$ > agent\nwait\necho '{\"n\": 1}'\n";
    let (home, thread) = posix_home(script);
    begin_without_keeper(&home, &thread, &["away", "agent"]);
    let (agent, away) = (process_in(&home, "agent"), process_in(&home, "away"));
    home.file("again", "");
    let refused = home.uwf(&["thread", "step", &thread]);
    assert_eq!(refused.code, Some(75), "{}", refused.transcript());
    assert!(refused.stderr.contains("could not be ended"), "{}", refused.stderr);
    let file = refused.stderr.split('`').nth(1).and_then(|hint| hint.strip_prefix("fuser ")).unwrap().to_owned();
    assert!(std::path::Path::new(&file).is_file(), "{}", refused.stderr);
    assert!(!is_alive(&agent) && is_alive(&away), "its group was ended, and no second agent began");
    assert!(found(&home, &["--fix"], "orphans")[0].contains("could not be ended"));
    signal(&away, "KILL");
    until("it is gone", || !is_alive(&away));
    let stepped = home.uwf(&["thread", "step", &thread]);
    assert_eq!(stepped.code, Some(0), "{}", stepped.transcript());
}

#[test]
fn doctor_finds_orphans_and_weaknesses() {
    let (home, thread) = posix_home(WAITING);
    assert_eq!(found(&home, &[], "orphans"), ["no orphaned agents"]);
    begin_without_keeper(&home, &thread, &["agent"]);
    let agent = process_in(&home, "agent");
    let expected = format!("processes of 1 attempt outlived their keeper (thread {thread})");
    assert_eq!(found(&home, &[], "orphans"), [expected]);
    assert!(is_alive(&agent));
    assert_eq!(found(&home, &["--fix"], "orphans"), [format!("ended the processes of thread {thread}")]);
    assert!(!is_alive(&agent));
    let said = found(&home, &[], "platform");
    assert!(said[0] == "POSIX" && said.iter().any(|line| line.contains("left the group")), "{said:?}");
    assert!(found(&crate::home(), &[], "platform").is_empty() || cfg!(not(target_os = "linux")));
}

/// An unrelated process in its own group.
struct Bystander(Child);

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn kill_signals_only_the_holder_of_the_lock() {
    let (home, thread) = posix_home(WAITING);
    let mut bystander = Bystander(Command::new("sleep").arg("600").spawn().unwrap());
    let path = home.lock_file(&thread);
    let lock = FileLock::acquire(&path, Duration::ZERO).unwrap().unwrap();
    lock.write_owner(&bystander.0.id().to_string()).unwrap();
    let mut kill = home.command(&["thread", "kill", &thread]).stdout(Stdio::piped()).spawn().unwrap();
    until("the thread is not active any more", || home.head(&thread).is_none());
    std::thread::sleep(Duration::from_millis(500));
    assert!(kill.try_wait().unwrap().is_none() && bystander.0.try_wait().unwrap().is_none());
    drop(lock);
    assert_eq!(FinishedRun::from(kill.wait_with_output().unwrap()).json()["archived"], true);
}
