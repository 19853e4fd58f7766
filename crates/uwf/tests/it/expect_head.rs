//! `--expect-head`: a command runs only for the head that the caller saw, and only once, however often it is sent. What the verbs do
//! about it is tested in `crates/uwf-engine/tests/it/expected_head.rs`.

use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;
use uwf_testing::{TestHome, text};

use crate::home;

/// A worker that leaves a line for each time it runs.
const WORKER: &str = "#!/bin/sh\necho ran >> runs\necho '{\"n\": 1}'\n";

fn counting(rounds: usize) -> (TestHome, String, String) {
    let home = home();
    home.worker("output: json", WORKER);
    let thread = home.start_counting(rounds, "count");
    let head = home.head(&thread).unwrap();
    (home, thread, head)
}

fn runs(home: &TestHome) -> usize {
    std::fs::read_to_string(home.work().join("runs")).map_or(0, |text| text.lines().count())
}

fn code(home: &TestHome, args: &[&str], head: &str) -> Option<i32> {
    home.uwf(&[args, &["--expect-head", head]].concat()).code
}

#[test]
fn a_step_that_is_sent_again_is_refused() {
    let (home, thread, head) = counting(3);
    let step = ["thread", "step", &thread];
    assert_eq!(code(&home, &step, &head), Some(0));
    let now = home.head(&thread);
    assert_eq!(code(&home, &step, &head), Some(75));
    assert_eq!(code(&home, &[&step[..], &["--dry-run"]].concat(), &head), Some(75));
    assert_eq!((runs(&home), home.head(&thread)), (1, now.clone()));
    let transcript = home.transcript(&["thread", "step", &thread, "--expect-head", &head, "--format", "text"]);
    assert_snapshot!(transcript.replace(&now.unwrap(), "<now>").replace(&head, "<then>"), @r"
    exit 75
    --- stderr
    thread <id>: count
    error: thread <id> has moved on: its head is <now>, not <then>
    hint: nothing was changed; `uwf thread show <id>` shows its state
    ");
}

#[test]
fn concurrent_steps_run_once() {
    let (home, thread, head) = counting(9);
    home.worker("output: json", &WORKER.replace("runs\n", "runs\nsleep 0.3\n"));
    let mut sent: Vec<_> = (0..4)
        .map(|_| {
            let mut step = home.command(&["thread", "step", &thread, "--expect-head", &head]);
            step.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let mut codes: Vec<_> = sent.iter_mut().map(|step| step.wait().unwrap().code()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(75), Some(75), Some(75)]);
    assert_eq!((runs(&home), home.json(&["thread", "show", &thread])["steps"].as_u64()), (1, Some(1)));
}

#[test]
fn run_continues_from_head_and_starts_once() {
    let (home, thread, head) = counting(2);
    assert_eq!(code(&home, &["run", &thread, "--steps", "1"], &head), Some(30));
    for more in [&[][..], &["--until", "worker"], &["--agent", "sh"]] {
        assert_eq!(code(&home, &[&["run", &thread], more].concat(), &head), Some(75), "{more:?}");
    }
    assert_eq!(runs(&home), 1);
    let head = home.head(&thread).unwrap();
    assert_eq!(code(&home, &["run", &thread], &head), Some(0), "all steps, not only the one at that head");
    let last = text(&home.json(&["thread", "show", &thread]), "head");
    assert_eq!(code(&home, &["run", &thread], &head), Some(75), "it has ended since");
    let done = home.json(&["run", &thread, "--expect-head", &last]);
    assert_eq!((&done["done"], runs(&home)), (&Value::Bool(true), 2), "it is as it was asked to be");
    assert_eq!(code(&home, &["thread", "step", &thread], &last), Some(75), "there is no step to be done");
    assert_eq!(code(&home, &["run", "count-rounds", "-p", "count"], &last), Some(64), "a new thread has no head");
}

#[test]
fn change_for_another_head_is_rejected() {
    let (home, thread, head) = counting(3);
    home.json(&["thread", "step", &thread]);
    let before = home.json(&["thread", "show", &thread]);
    for command in ["retry", "answer -m yes", "kill", "pause", "resume", "limit --steps 7", "label --set a=b"] {
        let mut words = command.split(' ');
        let args: Vec<&str> = ["thread", words.next().unwrap(), &thread].into_iter().chain(words).collect();
        let ran = home.uwf(&[&args[..], &["--expect-head", &head]].concat());
        assert_eq!(ran.code, Some(75), "{ran:?}");
        assert!(ran.stderr.contains("has moved on"), "{ran:?}");
    }
    assert_eq!(home.json(&["thread", "show", &thread]), before);
    assert!(home.json(&["thread", "limit", &thread])["limits"].get("maxSteps").is_none_or(|limit| *limit != 7));
    let now = home.head(&thread).unwrap();
    assert_eq!(code(&home, &["thread", "limit", &thread, "--steps", "+7"], &now), Some(64), "twice it were 14");
    for _ in 0..2 {
        assert_eq!(home.json(&["thread", "kill", &thread, "--expect-head", &now])["archived"], true);
    }
}

#[test]
fn step_expecting_another_attempt_is_rejected() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho ran >> runs\nexit 3\n");
    let thread = home.start_counting(3, "count");
    let head = home.head(&thread).unwrap();
    let sent = |command: &[&str], attempt: &str| {
        home.uwf(&[command, &["--expect-head", &head, "--expect-attempt", attempt]].concat()).code
    };
    let last = || home.json(&["thread", "show", &thread])["lastAttempt"].clone();
    assert_eq!(last(), Value::Null);
    let step = ["thread", "step", &thread];
    assert_eq!((sent(&step, "none"), runs(&home)), (Some(40), 1));
    let first = last().as_str().unwrap().to_owned();
    for command in
        ["thread step", "thread step --dry-run", "thread retry", "run", "run --agent sh", "run --until worker"]
    {
        let mut words: Vec<&str> = command.split(' ').collect();
        words.push(&thread);
        assert_eq!((sent(&words, "none"), runs(&home)), (Some(75), 1), "{command}");
    }
    assert_eq!((sent(&["thread", "retry", &thread], &first), runs(&home)), (Some(40), 2));
    assert_eq!((sent(&step, &first), runs(&home)), (Some(75), 2));
    assert_eq!((sent(&["run", &thread], last().as_str().unwrap()), runs(&home)), (Some(40), 3));
    assert_eq!(home.uwf(&[&step[..], &["--expect-attempt", "none"]].concat()).code, Some(64), "of which head?");
    assert_eq!(sent(&step, "7Q2M"), Some(64));
}
