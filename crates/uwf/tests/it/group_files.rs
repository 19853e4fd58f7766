//! The files of groups whose branches work in the worktree of their thread: whether they only read is checked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use uwf_testing::{FinishedRun, TestHome};

use crate::fixtures::group_in_repository::{
    follow_hint, home_with_group, runs, script, start_before_group, thread_of, worktree_of,
};
use crate::fixtures::repository::{git, uwf_in};

/// A plan, two reviewers at once, and a decision.
const PANEL: &str = "name: panel
description: two reviewers at once
roles:
  planner: { goal: You say what to review. }
  security: { goal: You look for holes., meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] } }
  tests: { goal: You judge the tests., meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] } }
  reviews: { play: [ security, tests ] }
  judge: { goal: You decide. }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: reviews } ]
  reviews: [ { role: judge } ]
  judge: [ { role: $END } ]
";

/// What a reviewer answers.
const APPROVE: &str = "printf -- '---\\napproved: true\\n---\\nFine.\\n'";

/// A home with the panel, in which every role answers.
fn panel() -> (TestHome, PathBuf) {
    let (home, repo) = home_with_group(PANEL);
    script(&home, "planner", "echo planned > plan.txt; echo 'Look at it.'");
    for role in ["security", "tests"] {
        script(&home, role, APPROVE);
    }
    script(&home, "judge", "echo 'Ship it.'");
    (home, repo)
}

fn run_in_worktree(home: &TestHome, repo: &Path) -> FinishedRun {
    uwf_in(home, repo, &["run", "panel", "-p", "Review it.", "--worktree"])
}

#[test]
fn branches_that_only_read_pass() {
    let (home, repo) = panel();
    let ran = run_in_worktree(&home, &repo);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["judge", "planner", "security", "tests"]);
}

#[test]
fn changed_files_fail_group_and_can_be_restored() {
    let (home, repo) = panel();
    script(&home, "tests", &format!("echo more >> README; echo new > added; rm sub/file; {APPROVE}"));
    let ran = run_in_worktree(&home, &repo);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    for part in ["`files: read`", "`reviews`", "README, added, sub/file"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("plan.txt"), "{}", ran.stderr);
    let thread = thread_of(&ran);
    let worktree = worktree_of(&home, &thread);
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "stuck");
    let changed =
        git(&home, &repo, &["for-each-ref", "--format=%(objectname)", &format!("refs/uwf/{thread}/changed-*")]);
    assert_eq!(git(&home, &repo, &["show", &format!("{changed}:added")]), "new");
    follow_hint(&home, &ran, "read-tree");
    assert_eq!(fs::read_to_string(worktree.join("README")).unwrap(), "read me\n");
    assert!(
        !worktree.join("added").exists() && worktree.join("sub/file").exists() && worktree.join("plan.txt").exists()
    );
    let again = uwf_in(&home, &repo, &["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert_eq!(runs(&home), ["planner", "security", "tests"], "nothing is paid twice");
    assert_eq!(uwf_in(&home, &repo, &["run", &thread]).code, Some(0));
}

#[test]
fn changed_files_of_group_can_be_kept() {
    let (home, repo) = panel();
    script(&home, "tests", &format!("echo new > added; {APPROVE}"));
    let ran = run_in_worktree(&home, &repo);
    let thread = thread_of(&ran);
    let again = uwf_in(&home, &repo, &["thread", "retry", &thread]);
    assert_eq!(again.code, Some(40), "the check does not forget: {}", again.transcript());
    follow_hint(&home, &ran, "update-ref");
    let again = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert!(worktree_of(&home, &thread).join("added").exists());
    assert_eq!(runs(&home), ["judge", "planner", "security", "tests"]);
}

#[test]
fn branches_that_only_read_move_no_checkout() {
    for (moves, now) in [
        ("git checkout -q -b other", "branch other at "),
        ("git checkout -q --detach", "no git branch at "),
        ("git add -A; git commit -qm 'the plan'", "branch uwf/"),
        ("git checkout -q --orphan empty", "branch empty, which has no commit"),
    ] {
        let (home, repo) = panel();
        script(&home, "tests", &format!("{moves}; {APPROVE}"));
        let ran = run_in_worktree(&home, &repo);
        assert_eq!(ran.code, Some(40), "{moves}: {}", ran.transcript());
        let thread = thread_of(&ran);
        assert!(
            ran.stderr.contains("the checkout moved from ") && ran.stderr.contains(&format!("to {now}")),
            "{}",
            ran.stderr
        );
        follow_hint(&home, &ran, "symbolic-ref");
        let worktree = worktree_of(&home, &thread);
        assert_eq!(git(&home, &worktree, &["symbolic-ref", "--short", "HEAD"]), format!("uwf/{thread}"));
        assert!(worktree.join("plan.txt").exists());
        let again = uwf_in(&home, &repo, &["run", &thread]);
        assert_eq!(again.code, Some(0), "{moves}: {}", again.transcript());
        assert_eq!(runs(&home), ["judge", "planner", "security", "tests"], "nothing is paid twice");
    }
}

#[test]
fn files_that_git_cannot_add_are_changes() {
    let (home, repo) = panel();
    script(&home, "tests", &format!("git init -q lib; echo lib > lib/f; {APPROVE}"));
    let ran = run_in_worktree(&home, &repo);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("'lib/' does not have a commit checked out"), "{}", ran.stderr);
    let thread = thread_of(&ran);
    fs::remove_dir_all(worktree_of(&home, &thread).join("lib")).unwrap();
    let again = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert_eq!(runs(&home), ["judge", "planner", "security", "tests"]);
}

#[test]
fn branch_that_changed_files_alone_is_named() {
    let (home, repo) = panel();
    home.put("panel", &PANEL.replace("{ play:", "{ max: 1, play:"));
    script(
        &home,
        "security",
        &format!("i=0; while [ $i -lt 30 ]; do echo $i > file-$i; i=$((i + 1)); done; {APPROVE}"),
    );
    let ran = run_in_worktree(&home, &repo);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("branch `security`") && !ran.stderr.contains("branch `tests`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("and 20 more"), "{}", ran.stderr);
}

#[test]
fn crash_does_not_hide_changed_files() {
    let (home, repo) = panel();
    let wait = "test -e $0.waited || { touch here; echo new > added; until test -e $0.waited; do sleep 0.1; done; }";
    let waited = home.work().join("scripts/waited");
    script(&home, "tests", &format!("{}; {APPROVE}", wait.replace("$0.waited", waited.to_str().unwrap())));
    let thread = start_before_group(&home, &repo);
    let mut step = home.command(&["thread", "step", &thread]).spawn().unwrap();
    let worktree = worktree_of(&home, &thread);
    let begun = Instant::now();
    while !worktree.join("added").exists() {
        assert!(begun.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(20));
    }
    fs::write(&waited, "").unwrap();
    home.kill_keeper(&thread);
    step.wait().unwrap();
    for pid in fs::read_dir(home.root().join("threads")).unwrap().flatten() {
        let lock = pid.path().join("lock");
        if let Ok(pid) = fs::read_to_string(lock) {
            // The keeper of the branch that sleeps; the others have ended.
            let _ = Command::new("kill").args(["-9", pid.trim()]).status();
        }
    }
    let again = uwf_in(&home, &repo, &["thread", "step", &thread]);
    assert_eq!(again.code, Some(40), "{}", again.transcript());
    assert!(again.stderr.contains("added"), "{}", again.stderr);
}

#[test]
fn unchecked_group_says_so_once() {
    let (home, repo) = panel();
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let note = "without a worktree, uwf can't check that the branches of group `reviews` only read files";
    assert_eq!(ran.stderr.matches(note).count(), 1, "{}", ran.stderr);
    let outside = home.uwf(&["thread", "start", "panel", "-p", "x"]);
    let note = format!(
        "{} is not in a git repository, so uwf cannot check that the branches of group `reviews` only read files",
        home.work().display()
    );
    assert_eq!(outside.stderr.matches(&note).count(), 1, "{}", outside.stderr);
    home.put("panel", &PANEL.replace("{ play:", "{ max: 1, files: shared, play:"));
    let shared = uwf_in(&home, &repo, &["thread", "start", "panel", "-p", "x"]);
    assert!(!shared.stderr.contains("only read files"), "{}", shared.stderr);
    let commands = "name: panel\nroles:\n  tests: { run: \"true\" }\n  lint: { run: \"true\" }\n  reviews: { play: [ tests, lint ] }\ngraph:\n  $START: [ { role: reviews } ]\n  reviews: [ { role: $END } ]\n";
    home.put("panel", commands);
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "x"]);
    assert!(ran.code == Some(0) && !ran.stderr.contains("only read files"), "{}", ran.transcript());
    assert_eq!(json!(runs(&home)), json!(["judge", "planner", "security", "tests"]));
}

#[test]
fn shared_files_are_changed_one_after_the_other() {
    let (home, repo) = panel();
    home.put("panel", &PANEL.replace("{ play:", "{ max: 1, files: shared, play:"));
    script(&home, "security", &format!("echo security > README; {APPROVE}"));
    script(&home, "tests", &format!("grep -q security README && echo tests >> README; {APPROVE}"));
    let ran = run_in_worktree(&home, &repo);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let worktree = worktree_of(&home, &thread_of(&ran));
    assert_eq!(fs::read_to_string(worktree.join("README")).unwrap(), "security\ntests\n");
}
