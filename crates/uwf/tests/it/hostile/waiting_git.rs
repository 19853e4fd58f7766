//! A git that never comes to its end, whatever it waits for.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use uwf_testing::TestHome;
use uwf_testing::processes::{is_alive, signal, until};

use crate::fixtures::repository::{git_that_first, home_with_repository, real_git, start_in_worktree, uwf_in};

/// How long it may take until git is gone, which ignores TERM here, on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(4);

/// A git that waits for ever in its calls with such arguments, with a child of its own that ignores TERM. Both write their ids.
fn git_that_waits(home: &TestHome, in_calls: &str) -> PathBuf {
    let pids = home.work().join("pids");
    let line = format!(
        "case \"$*\" in {in_calls}) echo $$ >> '{pids}'; (trap '' TERM; sh -c 'echo $PPID >> \"{pids}\"; sleep 60'; sleep 60) & wait;; esac",
        pids = pids.display()
    );
    git_that_first(home, &line);
    pids
}

/// Waits until git waits; the ids of its processes.
fn waiting(pids: &Path) -> Vec<String> {
    let read = || fs::read_to_string(pids).unwrap_or_default();
    until("git waits", || read().lines().count() == 2);
    read().lines().map(str::to_owned).collect()
}

fn are_gone(pids: &[String]) -> bool {
    pids.iter().all(|pid| !is_alive(pid))
}

fn begin(home: &TestHome, dir: &Path, args: &[&str]) -> Child {
    home.command(args).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("uwf starts")
}

/// A thread in a worktree whose step waits for git, once its agent has answered.
fn recording() -> (TestHome, PathBuf, String, Child, Vec<String>) {
    let home = home_with_repository(9);
    let repo = home.work().join("repo");
    let (thread, _) = start_in_worktree(&home, &repo);
    let pids = git_that_waits(&home, "*' add --all '*");
    let window = begin(&home, &repo, &["thread", "step", &thread]);
    let waiting = waiting(&pids);
    (home, repo, thread, window, waiting)
}

/// The next step takes over what the agent had answered, and records its files.
fn is_taken_over(home: &TestHome, thread: &str) {
    real_git(home);
    let next = home.json(&["thread", "step", thread]);
    assert_eq!(next["adopted"], true, "{next}");
    assert!(next["files"]["tree"].is_string(), "{next}");
    assert_eq!(home.json(&["thread", "show", thread])["steps"], 1);
}

#[test]
fn ctrl_c_ends_git_that_records_files() {
    let (home, _, thread, mut window, pids) = recording();
    let told = Instant::now();
    signal(window.id(), "INT");
    assert_eq!(window.wait().unwrap().code(), Some(130));
    assert!(told.elapsed() < AT_ONCE, "{:?}", told.elapsed());
    until("git is gone", || are_gone(&pids));
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "active");
    is_taken_over(&home, &thread);
}

#[test]
fn kill_ends_git_that_records_files() {
    let (home, repo, thread, mut window, pids) = recording();
    let told = Instant::now();
    let killed = uwf_in(&home, &repo, &["thread", "kill", &thread]);
    assert_eq!(killed.code, Some(0), "{killed:?}");
    assert!(told.elapsed() < AT_ONCE, "{:?}", told.elapsed());
    until("git is gone", || are_gone(&pids));
    assert!(!window.wait().unwrap().success());
    real_git(&home);
    let collected = home.json(&["gc", "--grace", "0s"]);
    assert!(collected["openThread"].is_null(), "no attempt is open: {collected}");
}

#[test]
fn a_step_ends_git_of_a_killed_keeper() {
    let (home, _, thread, mut window, pids) = recording();
    home.kill_keeper(&thread);
    window.wait().unwrap();
    assert!(!are_gone(&pids));
    is_taken_over(&home, &thread);
    until("git is gone", || are_gone(&pids));
}

#[test]
fn git_has_the_time_of_the_agent() {
    let home = home_with_repository(9);
    home.config("agents:\n  w: { command: worker, output: json, timeout: 6s }\ndefaultAgent: w\nkillGrace: 1\n");
    let repo = home.work().join("repo");
    let (thread, _) = start_in_worktree(&home, &repo);
    let pids = git_that_waits(&home, "*' add --all '*");
    let begun = Instant::now();
    let report = home.json(&["thread", "step", &thread]);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let waiting = waiting(&pids);
    until("git is gone", || are_gone(&waiting));
    let why = report["files"]["notRecorded"].as_str().unwrap_or_else(|| panic!("{report}"));
    assert!(why.starts_with("git was ended after "), "{why}");
    assert_eq!(home.json(&["thread", "show", &thread])["steps"], 1, "the step was paid for");
}

#[test]
fn ctrl_c_ends_git_that_makes_a_worktree() {
    let home = home_with_repository(9);
    let repo = home.work().join("repo");
    let pids = git_that_waits(&home, "*' worktree add '*");
    for args in [
        &["thread", "start", "count-rounds", "-p", "count", "--worktree"][..],
        &["run", "count-rounds", "-p", "count", "--worktree"],
    ] {
        let mut starting = begin(&home, &repo, args);
        let waiting = waiting(&pids);
        signal(starting.id(), "INT");
        let status = starting.wait().unwrap();
        assert!(status.signal() == Some(2) || status.code() == Some(130), "{args:?}: {status}");
        until("git is gone", || are_gone(&waiting));
        fs::remove_file(&pids).unwrap();
    }
    real_git(&home);
    assert_eq!(home.json(&["thread", "list"]), serde_json::json!([]));
}

#[test]
fn signal_ends_git_merge_and_its_children() {
    let home = home_with_repository(9);
    let repo = home.work().join("repo");
    let (thread, _) = start_in_worktree(&home, &repo);
    home.json(&["thread", "step", &thread]);
    let pids = git_that_waits(&home, "*' merge --no-edit '*");
    let mut merging = begin(&home, &repo, &["thread", "merge", &thread]);
    let waiting = waiting(&pids);
    signal(merging.id(), "TERM");
    assert_eq!(merging.wait().unwrap().code(), Some(143));
    until("git is gone", || are_gone(&waiting));
    real_git(&home);
    assert_eq!(uwf_in(&home, &repo, &["thread", "merge", &thread]).json()["how"], "fast-forward");
}

#[test]
fn gc_waits_for_git_without_its_lock() {
    let home = home_with_repository(1);
    let repo = home.work().join("repo");
    let (thread, worktree) = start_in_worktree(&home, &repo);
    home.json(&["thread", "step", &thread]);
    assert!(worktree.exists());
    let pids = git_that_waits(&home, "*' status '*");
    let mut collecting = begin(&home, &repo, &["gc", "--grace", "0s"]);
    let waiting = waiting(&pids);
    let begun = Instant::now();
    let node = home.json(&["cas", "put-text", "a text"])["hash"].as_str().unwrap().to_owned();
    for args in [&["pack"][..], &["cas", "rm", &node]] {
        let done = home.uwf(args);
        assert_eq!(done.code, Some(0), "{args:?}: {done:?}");
    }
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    signal(collecting.id(), "INT");
    assert_eq!(collecting.wait().unwrap().signal(), Some(2));
    until("git is gone", || are_gone(&waiting));
    real_git(&home);
    assert_eq!(home.uwf(&["gc"]).code, Some(0));
}
