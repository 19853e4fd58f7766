//! A clock that is wrong, jumps or stands still. Locks, ids and the order of what happened do not depend on it.
//!
//! libfaketime, preloaded, gives a process and all it starts the time that a test wants.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use uwf_testing::processes::{is_alive, until};
use uwf_testing::{FinishedRun, TestHome, counting_workflow, text};

use crate::home;

const FUTURE: &str = "@2036-03-01 12:00:00";

const PAST: &str = "@2016-03-01 12:00:00";

/// As long as a process lives no time passes.
const STILL: &str = "2026-03-01 12:00:00";

/// Milliseconds of a year; a leap day does not matter here.
const YEAR_MS: u64 = 365 * 24 * 60 * 60 * 1000;

/// The library, wherever this system keeps it.
fn library() -> PathBuf {
    let places = ["/usr/lib", "/usr/lib64", "/usr/local/lib"];
    let candidates = places.iter().flat_map(|place| {
        let below = fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path().join("faketime"));
        below.chain([PathBuf::from(place).join("faketime")])
    });
    candidates
        .map(|dir| dir.join("libfaketime.so.1"))
        .find(|library| library.exists())
        .expect("libfaketime is installed (the package `faketime`)")
}

/// Removes what libfaketime left of processes that were killed: a process that gets the same id would not start, and an
/// id returns within minutes where there are only 32,768.
fn sweep() {
    let is_of_dead = |entry: &fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.contains("faketime_").then(|| name.rsplit('_').next()?.parse().ok()).flatten();
        owner.is_some_and(|owner: u32| !is_alive(owner))
    };
    let left = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    for entry in left.filter(is_of_dead) {
        // Another test may have been faster.
        let _ = fs::remove_file(entry.path());
    }
}

/// `uwf` at another time, with everything it starts. Only the time of day is another: nothing sets back the clock that
/// counts from the start of the machine, nor the times the file system writes down.
fn at(home: &TestHome, time: &str, args: &[&str]) -> Command {
    sweep();
    let mut command = home.command(args);
    command
        .env("LD_PRELOAD", library())
        .env("FAKETIME", time)
        .env("TZ", "UTC")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("DONT_FAKE_MONOTONIC", "1")
        .env("NO_FAKE_STAT", "1");
    command
}

fn run(home: &TestHome, time: &str, args: &[&str]) -> FinishedRun {
    at(home, time, args).output().unwrap().into()
}

fn json_at(home: &TestHome, time: &str, args: &[&str]) -> Value {
    run(home, time, args).json()
}

/// A home whose agent writes down which year it is.
fn counting(agent: &str) -> TestHome {
    let home = home();
    home.script("worker", agent);
    home.config("agents:\n  w: { command: worker, output: json }\n  person: { command: uwf-human }\ndefaultAgent: w\nkillGrace: 1\n");
    home.put("count-rounds", &counting_workflow(4));
    home
}

const YEARS: &str = "#!/bin/sh\ncat > /dev/null\ndate -u +%Y >> years\necho '{\"n\": 1}'\n";

/// Waits for the file `go`; says its pid before.
const WAITING: &str =
    "#!/bin/sh\ncat > /dev/null\necho $$ >> pids\nwhile [ ! -e go ]; do sleep 0.02; done\necho '{\"n\": 1}'\n";

fn states(home: &TestHome, time: &str) -> Vec<(String, String)> {
    let listed = json_at(home, time, &["thread", "list", "--all"]);
    listed.as_array().unwrap().iter().map(|thread| (text(thread, "thread"), text(thread, "state"))).collect()
}

#[test]
fn thread_completes_while_clock_jumps_decades() {
    let home = counting(YEARS);
    let thread = text(&json_at(&home, FUTURE, &["thread", "start", "count-rounds", "-p", "count"]), "thread");
    let steps = [FUTURE, PAST, FUTURE, PAST].map(|time| json_at(&home, time, &["thread", "step", &thread]));
    assert_eq!(
        steps.each_ref().map(|step| step["done"].clone()),
        [json!(false), json!(false), json!(false), json!(true)]
    );
    // Window, keeper, agent process and agent were all there.
    assert_eq!(fs::read_to_string(home.work().join("years")).unwrap(), "2036\n2016\n2036\n2016\n");
    let heads: Vec<String> = steps.iter().map(|step| text(step, "head")).collect();
    assert_eq!(heads.iter().collect::<BTreeSet<_>>().len(), 4);
    for time in [PAST, FUTURE] {
        let told = json_at(&home, time, &["thread", "steps", &thread]);
        assert_eq!(json_at(&home, time, &["thread", "show", &thread])["steps"], 4, "{told}");
        assert_eq!(states(&home, time), [(thread.clone(), "completed".to_owned())]);
        assert_eq!(run(&home, time, &["thread", "read", &thread]).code, Some(0));
        assert_eq!(run(&home, time, &["cas", "verify"]).code, Some(0));
    }
    // The order of the chain is that of its links, whatever the timestamps say.
    let mut at = heads[3].clone();
    for head in heads.iter().rev() {
        assert_eq!(&at, head);
        at = home.json(&["cas", "get", head])["payload"]["prev"].as_str().unwrap_or_default().to_owned();
    }
    assert_eq!(at, "");
}

#[test]
fn thread_continues_hours_after_usage_limit() {
    let home = counting(
        "#!/bin/sh\ncat > /dev/null\necho run >> runs\n[ -e late ] && exec echo '{\"n\": 1}'\necho 'limit reached, resets 3pm (Europe/Berlin)' >&2\nexit 1\n",
    );
    let (noon, before, after) = ("@2026-11-28 12:00:00", "@2026-11-28 13:59:00", "@2026-11-28 14:00:01");
    let thread = text(&json_at(&home, noon, &["thread", "start", "count-rounds", "-p", "count"]), "thread");
    let refused = |time: &str| {
        let ran = run(&home, time, &["thread", "step", &thread]);
        assert_eq!(ran.code, Some(30), "{}", ran.transcript());
        assert!(ran.stderr.contains("at its usage limit until 2026-11-28 14:00:00 UTC"), "{}", ran.stderr);
    };
    refused(noon);
    home.file("late", "");
    refused(before);
    assert_eq!(json_at(&home, after, &["run", "--all"])[0]["exitCode"], 0);
    assert_eq!(fs::read_to_string(home.work().join("runs")).unwrap().lines().count(), 5, "one failed, four rounds");
}

#[test]
fn fork_kill_answer_and_pause_ignore_clock() {
    let home = counting(YEARS);
    let start = |time: &str| text(&json_at(&home, time, &["thread", "start", "count-rounds", "-p", "count"]), "thread");
    let (old, new) = (start(PAST), start(FUTURE));
    let head = text(&json_at(&home, FUTURE, &["thread", "step", &old]), "head");
    let fork = text(&json_at(&home, PAST, &["thread", "fork", &head]), "thread");
    assert_eq!(json_at(&home, FUTURE, &["thread", "step", &fork])["role"], "worker");
    let waiting = run(&home, FUTURE, &["thread", "step", &new, "--agent", "person"]);
    assert_eq!(waiting.code, Some(20), "{waiting:?}");
    let file = home.file("answer.json", "{\"n\": 5}");
    let answered = run(&home, PAST, &["thread", "answer", &new, "--file", file.to_str().unwrap()]);
    assert_eq!(answered.code, Some(0), "{answered:?}");
    json_at(&home, FUTURE, &["thread", "pause", &old]);
    assert_eq!(run(&home, PAST, &["thread", "step", &old]).code, Some(20));
    json_at(&home, PAST, &["thread", "resume", &old]);
    assert_eq!(json_at(&home, FUTURE, &["thread", "step", &old])["role"], "worker");
    json_at(&home, PAST, &["thread", "kill", &fork]);
    let found: BTreeSet<(String, String)> = states(&home, PAST).into_iter().collect();
    let expected = [(old, "active"), (new, "active"), (fork, "killed")].map(|(id, state)| (id, state.to_owned()));
    assert_eq!(found, BTreeSet::from(expected));
}

/// "Running" is a lock, and who is alive is asked of the system: a keeper from the future is as busy as any.
#[test]
fn locks_show_who_is_at_work() {
    let home = counting(WAITING);
    let thread = home.start("count-rounds", "count");
    let mut window = at(&home, FUTURE, &["thread", "step", &thread]).stdout(Stdio::null()).spawn().unwrap();
    until("the agent is at work", || home.work().join("pids").exists());
    for time in [PAST, FUTURE] {
        assert_eq!(run(&home, time, &["thread", "step", &thread]).code, Some(75));
        assert_eq!(json_at(&home, time, &["thread", "show", &thread])["state"], "running");
        let orphans = run(&home, time, &["doctor", "--fix", "--offline"]);
        assert!(orphans.stdout.contains("no orphaned agents"), "{orphans:?}");
    }
    home.file("go", "");
    assert_eq!(window.wait().unwrap().code(), Some(0));
    assert_eq!(json_at(&home, PAST, &["thread", "show", &thread])["steps"], 1);
}

/// The keeper dies in 2036; what it left is found, ended or taken over in 2016, and the index made anew.
#[test]
fn crash_leftovers_are_cleaned_despite_clock_change() {
    for (time, later) in [(FUTURE, PAST), (PAST, FUTURE)] {
        let home = counting(WAITING);
        let thread = text(&json_at(&home, time, &["thread", "start", "count-rounds", "-p", "count"]), "thread");
        let mut window = at(&home, time, &["thread", "step", &thread]).stderr(Stdio::null()).spawn().unwrap();
        let pids = || fs::read_to_string(home.work().join("pids")).unwrap_or_default();
        until("the agent is at work", || pids().ends_with('\n'));
        home.kill_keeper(&thread);
        window.wait().unwrap();
        let orphan = pids().trim().to_owned();
        assert!(is_alive(&orphan));
        let found = run(&home, later, &["doctor", "--offline"]);
        assert!(found.stdout.contains("outlived their keeper"), "{found:?}");
        run(&home, later, &["doctor", "--offline", "--fix"]);
        assert!(!is_alive(&orphan));
        home.file("go", "");
        assert_eq!(json_at(&home, later, &["thread", "step", &thread])["role"], "worker");
        let head = home.head(&thread);
        fs::remove_file(home.root().join("threads.yaml")).unwrap();
        let recovered = run(&home, time, &["recover"]);
        assert_eq!(recovered.code, Some(0), "{recovered:?}");
        assert_eq!(home.head(&thread), head);
        assert_eq!(json_at(&home, later, &["thread", "step", &thread])["role"], "worker");
    }
}

/// While no time passes, ids still differ; in one process they grow as well.
#[test]
fn ids_are_unique_when_the_clock_stands_still() {
    let home = counting(YEARS);
    let starts: Vec<_> = (0..16)
        .map(|_| {
            let mut start = at(&home, STILL, &["thread", "start", "count-rounds", "-p", "the same"]);
            start.stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let ids: BTreeSet<String> = starts
        .into_iter()
        .map(|start| text(&FinishedRun::from(start.wait_with_output().unwrap()).json(), "thread"))
        .collect();
    assert_eq!(ids.len(), 16);
    let times: BTreeSet<&str> = ids.iter().map(|id| &id[..10]).collect();
    assert_eq!(times.len(), 1, "they are of one millisecond: {times:?}");
    // Every attempt of a run has an id of its own, though all are of one millisecond.
    let thread = ids.iter().next().unwrap();
    assert_eq!(json_at(&home, STILL, &["thread", "run", thread])["done"], true);
    let record = fs::read_to_string(home.record_file(thread)).unwrap();
    let attempts: BTreeSet<String> = record
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line["event"] == "opened")
        .map(|line| text(&line, "attempt"))
        .collect();
    assert_eq!(attempts.len(), 4, "{attempts:?}");
}

/// A time to come tells nobody when a thread began; one long past does.
#[test]
fn future_start_time_is_not_shown() {
    let home = counting(YEARS);
    let thread = text(&json_at(&home, FUTURE, &["thread", "start", "count-rounds", "-p", "count"]), "thread");
    let started = |time: &str| json_at(&home, time, &["thread", "list"])[0]["startedAt"].clone();
    assert_eq!(started(PAST), Value::Null);
    let told = started(FUTURE).as_u64().unwrap();
    assert!(told > 66 * YEAR_MS && told < 67 * YEAR_MS, "{told}");
    assert_eq!(home.head(&thread).map(|head| head.len()), Some(13));
}

/// A temporary file may be one that is about to be published. One that is an hour old is nobody's; so is one that is an
/// hour ahead, which a clock that was set back since has left.
#[test]
fn old_and_future_temporary_files_are_leftovers() {
    let home = counting(YEARS);
    let file = home.root().join("cas/.tmp-x");
    let doctor = |time: &str| {
        let report = run(&home, time, &["doctor", "--offline"]);
        report.stdout + &report.stderr
    };
    let is_leftover = |report: &String| report.contains("1 old temporary file");
    fs::write(&file, "half a node").unwrap();
    let now: String = String::from_utf8(Command::new("date").args(["-u", "+@%F %T"]).output().unwrap().stdout).unwrap();
    let reports = [now.trim(), FUTURE, PAST].map(doctor);
    assert_eq!(reports.each_ref().map(is_leftover), [false, true, true], "{reports:#?}");
    let swept = json_at(&home, PAST, &["cas", "reindex"]);
    assert_eq!(swept["tempFiles"], 1, "{swept}");
    assert!(!file.exists());
}
