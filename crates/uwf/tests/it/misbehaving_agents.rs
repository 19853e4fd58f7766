//! Agents that do not do as they are told. No orphan survives, nothing late is linked, nobody else is harmed.
//! `docs/internals/reliability.md` lists every kind with its test; those that are not here are in `agents.rs` and `keeper.rs`.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use durable_files::FileLock;
use serde_json::{Value, json};
use uwf_testing::processes::{is_alive, until};
use uwf_testing::{FinishedRun, TestHome, text};

use crate::home;

/// A home whose agent `w` has these settings and runs this script, and a thread.
fn with_agent(settings: &str, script: &str) -> (TestHome, String) {
    let home = home();
    home.script("worker", script);
    home.config(&format!("agents:\n  w: {{ command: worker, {settings} }}\ndefaultAgent: w\nkillGrace: 0.3\n"));
    let thread = home.start_counting(9, "count");
    (home, thread)
}

/// Steps; the head must not move.
fn fails(home: &TestHome, thread: &str, code: i32) -> FinishedRun {
    let before = home.head(thread);
    let ran = home.uwf(&["thread", "step", thread]);
    assert_eq!(ran.code, Some(code), "{ran:?}");
    assert_eq!(home.head(thread), before);
    ran
}

/// The process ids an agent and its descendants wrote into the file `pids`.
fn pids(home: &TestHome) -> Vec<String> {
    let written = fs::read_to_string(home.work().join("pids")).unwrap_or_default();
    written.split_whitespace().map(str::to_owned).collect()
}

fn assert_gone(home: &TestHome, count: usize) {
    let pids = pids(home);
    assert_eq!(pids.len(), count, "{pids:?}");
    for pid in pids {
        assert!(!is_alive(&pid), "{pid} survived");
    }
}

/// Somebody else's process, in a group of its own.
struct Innocent(Child);

impl Innocent {
    fn start() -> Innocent {
        Innocent(Command::new("sleep").arg("600").process_group(0).spawn().unwrap())
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Innocent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn one_that_ignores_sigterm_is_killed() {
    let script = "#!/bin/sh\ntrap '' TERM INT HUP\necho $$ >> pids\nwhile :; do sleep 0.05; done\n";
    let (home, thread) = with_agent("output: json, timeout: 1", script);
    let ran = fails(&home, &thread, 40);
    assert!(ran.stderr.contains("was ended after its timeout of 1 s"), "{ran:?}");
    assert_gone(&home, 1);
    // The same when somebody kills the thread.
    home.config("agents:\n  w: { command: worker, output: json }\ndefaultAgent: w\nkillGrace: 0.3\n");
    let mut window = home.command(&["thread", "step", &thread]).stderr(Stdio::null()).spawn().unwrap();
    until("it is at work", || pids(&home).len() == 2);
    home.json(&["thread", "kill", &thread]);
    window.wait().unwrap();
    assert_gone(&home, 2);
}

/// The grandchild has a session, an environment and descriptors of its own, and would write after the step.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs what only Linux shows of processes")]
fn grandchild_cannot_write_after_step() {
    let script = "#!/bin/sh\ncat > /dev/null\nenv -i PATH=\"$PATH\" setsid sh -c 'echo $$ >> pids; sleep 1; echo late > late; echo late' < /dev/null &\nuntil [ -s pids ]; do sleep 0.02; done\necho '{\"n\": 1}'\n";
    let (home, thread) = with_agent("output: json", script);
    let report = home.json(&["thread", "step", &thread]);
    assert_gone(&home, 1);
    std::thread::sleep(Duration::from_millis(1500));
    assert!(!home.work().join("late").exists());
    assert_eq!(home.head(&thread), Some(text(&report, "head")));
}

/// Forks twice, leads a session of its own, closes all descriptors, forgets its environment, and lets its parent end.
const DAEMON: &str = r#"#!/usr/bin/env python3
import os, sys, time, signal
sys.stdin.read()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for descriptor in range(64):
            try: os.close(descriptor)
            except OSError: pass
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.execve("/bin/sh", ["sh", "-c", "echo $$ > pids.new; mv pids.new pids; while :; do sleep 0.1; done"], {"PATH": os.environ["PATH"]})
    os._exit(0)
os.wait()
while not os.path.exists("pids"): time.sleep(0.02)
if os.path.exists("fail"): sys.exit(9)
print('{"n": 1}')
"#;

#[test]
fn closed_output_without_exit_is_idle() {
    let script =
        "#!/bin/sh\ncat > /dev/null\necho $$ >> pids\necho '{\"n\": 1}'\nexec >&- 2>&-\nwhile :; do sleep 0.05; done\n";
    let (home, thread) = with_agent("output: json, idleTimeout: 1", script);
    let ran = fails(&home, &thread, 40);
    assert!(ran.stderr.contains("it printed nothing for 1 s"), "{ran:?}");
    assert_gone(&home, 1);
}

#[test]
fn closed_output_with_later_exit_is_answer() {
    let script = "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\nexec >&- 2>&-\nsleep 0.5\n";
    let (home, thread) = with_agent("output: json", script);
    assert_eq!(home.json(&["thread", "step", &thread])["role"], "worker");
}

/// A gigabyte, with 400 MB of addresses for each process: nobody reads it into memory. The peaks of keeper and agent
/// process are read when it has been printed.
#[test]
fn output_flood_does_not_exhaust_memory() {
    let script = "#!/bin/sh\ncat > /dev/null\nhead -c 536870912 /dev/zero | tr '\\0' x\nhead -c 536870912 /dev/zero | tr '\\0' y >&2\necho\nread pid rest < \"$UNCAGED_WORKFLOW_STORAGE_ROOT/threads/$UWF_THREAD/lock\"\ncat /proc/$pid/status > keeper\ncat /proc/$PPID/status > process\necho '{\"n\": 7}'\n";
    let (home, thread) = with_agent("output: json", script);
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!("{config}outputCap: 1048576\n"));
    let mut sh = Command::new("sh");
    home.prepare(&mut sh);
    sh.arg("-c").arg("ulimit -v 400000; exec \"$0\" thread step \"$1\"").arg(uwf_testing::uwf_program()).arg(&thread);
    let ran = FinishedRun::from(sh.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for process in ["keeper", "process"] {
        let status = fs::read_to_string(home.work().join(process)).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kilobytes: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
        assert!(kilobytes < 100_000, "the {process} took {kilobytes} kB");
    }
    assert_eq!(home.last_step(&thread)["output"], json!({"n": 7}));
}

/// The payload of a node, changed, stored as another node of its type; its hash.
fn forged(home: &TestHome, hash: &str, change: impl FnOnce(&mut Value)) -> String {
    let node = home.json(&["cas", "get", hash]);
    let mut payload = node["payload"].clone();
    change(&mut payload);
    let file = home.file("forged.json", &payload.to_string());
    text(&home.json(&["cas", "put", &text(&node, "type"), file.to_str().unwrap()]), "hash")
}

#[test]
fn one_that_lies_about_its_step_is_refused() {
    let (home, thread) = with_agent("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    let first = text(&home.json(&["thread", "step", &thread]), "head");
    let second = text(&home.json(&["thread", "step", &thread]), "head");
    let payload = home.json(&["cas", "get", &second])["payload"].clone();
    let string = text(&home.json(&["cas", "put-text", "no output at all"]), "hash");
    let lies = [
        (first.clone(), "its predecessor is none"),
        (second.clone(), "its predecessor is "),
        (forged(&home, &second, |step| step["prev"] = Value::Null), "its predecessor is none"),
        (forged(&home, &second, |step| step["prev"] = json!(first)), "its predecessor is "),
        (
            forged(&home, &second, |step| {
                step["prev"] = json!(second);
                step["role"] = json!("boss");
            }),
            "its role is `boss`",
        ),
        (
            forged(&home, &second, |step| {
                step["prev"] = json!(second);
                step["output"] = json!(string);
            }),
            "its output has type ",
        ),
        (
            forged(&home, &second, |step| {
                step["prev"] = json!(second);
                step["output"] = json!("0000000000001");
            }),
            "its output is not readable",
        ),
        (
            forged(&home, &second, |step| {
                step["prev"] = json!(second);
                step["detail"] = json!("0000000000001");
            }),
            "its detail is not readable",
        ),
        (text(&payload, "start"), "not a StepNode"),
        (text(&payload, "output"), "not a StepNode"),
        (text(&payload, "detail"), "not a StepNode"),
    ];
    for (hash, reason) in lies {
        let liar = home.script("liar", &format!("#!/bin/sh\necho {hash}\n"));
        let ran = home.uwf(&["thread", "step", &thread, "--agent", liar.to_str().unwrap(), "--output", "step"]);
        assert_eq!(ran.code, Some(40), "{reason}: {ran:?}");
        assert!(ran.stderr.contains(reason), "{reason}: {}", ran.stderr);
        assert_eq!(home.head(&thread), Some(second.clone()));
    }
    // What an honest agent of its own stores is accepted, so that the refusals are for their reasons.
    let honest = forged(&home, &second, |step| step["prev"] = json!(second));
    let agent = home.script("honest", &format!("#!/bin/sh\necho {honest}\n"));
    assert_eq!(
        home.json(&["thread", "step", &thread, "--agent", agent.to_str().unwrap(), "--output", "step"])["head"],
        json!(honest)
    );
}

/// Nobody types; an agent that asks gets the end of the input, and has no terminal to ask on.
#[test]
fn one_that_waits_for_input_gets_none() {
    let script = "#!/bin/sh\nread line && exit 8\n(read line < /dev/tty) 2> /dev/null && exit 9\nexit 7\n";
    let (home, thread) = with_agent("output: step", script);
    let ran = fails(&home, &thread, 40);
    assert!(ran.stderr.contains("exited with 7"), "{ran:?}");
    let script = "#!/bin/sh\ncat > /dev/null\nread line && exit 8\n(read line < /dev/tty) 2> /dev/null && exit 9\necho '{\"n\": 1}'\n";
    let (home, thread) = with_agent("output: json", script);
    assert_eq!(home.json(&["thread", "step", &thread])["role"], "worker");
}

/// Bytes of no encoding on both streams, in the middle of the answer and in what is told of a failure.
#[test]
fn invalid_utf8_is_kept_with_replacement_characters() {
    let script = "#!/bin/sh\ncat > /dev/null\nprintf 'a\\377\\000b\\300\\200c\\355\\240\\200\\n' >&2\nprintf '\\376\\377\\n'\nexit 5\n";
    let (home, thread) = with_agent("output: json", script);
    let ran = fails(&home, &thread, 40);
    assert!(ran.stderr.contains("exited with 5"), "{ran:?}");
    let attempt = text(&home.json(&["thread", "show", &thread]), "attempt");
    let node = home.json(&["cas", "get", &attempt]);
    let kept = home.json(&["cas", "get", &text(&node["payload"], "stderr")])["payload"]["text"].clone();
    assert!(kept.as_str().unwrap().starts_with("a\u{fffd}\0b\u{fffd}\u{fffd}c"), "{kept}");
    assert_eq!(home.uwf(&["cas", "verify"]).code, Some(0));
}

/// A thread whose keeper was killed while its agent was at work, and that agent.
fn abandoned() -> (TestHome, String, String) {
    let script =
        "#!/bin/sh\ncat > /dev/null\necho $$ >> pids\nwhile [ ! -e go ]; do sleep 0.02; done\necho '{\"n\": 1}'\n";
    let (home, thread) = with_agent("output: json", script);
    let mut window = home.command(&["thread", "step", &thread]).stderr(Stdio::null()).spawn().unwrap();
    until("it is at work", || pids(&home).len() == 1);
    home.kill_keeper(&thread);
    window.wait().unwrap();
    let agent = pids(&home).remove(0);
    (home, thread, agent)
}

/// Has the record of a dead attempt name, as keeper and as agent, a process that has nothing to do with it.
fn rename_in_record(home: &TestHome, thread: &str, stranger: u32) {
    let path = home.record_file(thread);
    let record = fs::read_to_string(&path).unwrap();
    let lines: Vec<String> = record
        .lines()
        .map(|line| match serde_json::from_str::<Value>(line) {
            Ok(mut line) => {
                for key in ["pid", "keeper"] {
                    if line.get(key).is_some() {
                        line[key] = json!(stranger);
                    }
                }
                line.to_string()
            }
            Err(_) => line.to_owned(),
        })
        .collect();
    assert!(lines.iter().any(|line| line.contains(&format!("\"pid\":{stranger}"))), "{lines:?}");
    fs::write(path, lines.join("\n") + "\n").unwrap();
}

/// Pids are used again. What a record or a lock names may be anybody's process by now.
#[test]
fn a_recycled_pid_is_nobody_to_be_killed() {
    let (home, thread, agent) = abandoned();
    let mut innocent = Innocent::start();
    let stranger = innocent.0.id();
    rename_in_record(&home, &thread, stranger);
    let lock = home.lock_file(&thread);
    fs::write(&lock, format!("{stranger}\n")).unwrap();
    home.json(&["thread", "show", &thread]);
    home.uwf(&["doctor", "--fix", "--offline"]);
    assert!(innocent.lives(), "doctor");
    home.file("go", "");
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!(report["role"], "worker");
    assert!(innocent.lives(), "step");
    assert!(!is_alive(&agent));
    fs::write(&lock, format!("{stranger}\n")).unwrap();
    home.json(&["thread", "kill", &thread]);
    assert!(innocent.lives(), "kill");
}

/// Only while the lock is held does `thread kill` look for a keeper to be told.
#[test]
fn recycled_pid_in_held_lock_gets_no_signal() {
    let (home, thread, agent) = abandoned();
    let mut innocent = Innocent::start();
    rename_in_record(&home, &thread, innocent.0.id());
    let path = home.lock_file(&thread);
    let lock = FileLock::acquire(&path, Duration::ZERO).unwrap().expect("the keeper is dead");
    lock.write_owner(&innocent.0.id().to_string()).unwrap();
    let mut command = home.command(&["thread", "kill", &thread]);
    let mut kill = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the thread is not active any more", || home.head(&thread).is_none());
    // It looks every few milliseconds.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(kill.try_wait().unwrap(), None, "it waits for whoever holds the lock");
    assert!(innocent.lives());
    drop(lock);
    let ran = FinishedRun::from(kill.wait_with_output().unwrap());
    assert_eq!(ran.json()["archived"], true);
    assert!(innocent.lives(), "when the lock was free");
    assert!(!is_alive(&agent), "its agent is found all the same");
}

/// It answers in time, is slow to end, and prints another answer when it is told to go.
#[test]
fn output_after_termination_request_is_not_linked() {
    let script = "#!/bin/sh\ncat > /dev/null\ntrap 'echo \"{\\\"n\\\": 2}\"; exit 0' TERM\necho $$ >> pids\nwhile :; do sleep 0.05; done\n";
    let (home, thread) = with_agent("output: json, timeout: 1", script);
    fails(&home, &thread, 40);
    assert_gone(&home, 1);
    let attempt = text(&home.json(&["thread", "show", &thread]), "attempt");
    let node = home.json(&["cas", "get", &attempt]);
    let raw = home.json(&["cas", "get", &text(&node["payload"], "raw")])["payload"]["text"].clone();
    assert_eq!(raw, "{\"n\": 2}\n", "it is kept all the same");
}

mod with_tools {
    use super::*;

    #[test]
    fn a_daemon_does_not_survive_its_agent() {
        let (home, thread) = with_agent("output: json", DAEMON);
        home.json(&["thread", "step", &thread]);
        assert_gone(&home, 1);
        fs::remove_file(home.work().join("pids")).unwrap();
        home.file("fail", "");
        fails(&home, &thread, 40);
        assert_gone(&home, 1);
    }

    #[test]
    fn agent_exceeding_memory_limit_fails() {
        let script = "#!/bin/sh\ncat > /dev/null\nulimit -v 200000\nexec python3 -c 'x = bytearray(1 << 30); print(\"{\\\"n\\\": 1}\")'\n";
        let (home, thread) = with_agent("output: json", script);
        let ran = fails(&home, &thread, 40);
        assert!(ran.stderr.contains("MemoryError"), "{ran:?}");
    }
}

uwf_testing::also_as_posix!(one_that_ignores_sigterm_is_killed, output_after_termination_request_is_not_linked);
