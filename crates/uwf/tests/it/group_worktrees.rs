//! Groups whose branches have worktrees of their own: how they begin, and how their changes come together.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use uwf_testing::{FinishedRun, TestHome};

use crate::fixtures::group_in_repository::{
    branch_with, follow_hint, home_with_group, prompt_of, runs, script, start_before_group, thread_of, worktree_of,
};
use crate::fixtures::repository::{git, git_that_first, real_git, uwf_in};

/// A plan, three changes that are merged one after the other, and a decision.
const FIXES: &str = "name: panel
description: three changes at once
workspace: worktree
roles:
  planner: { goal: You plan. }
  one: { goal: You change the first part. }
  two: { goal: You change the second part. }
  three: { goal: You change the third part. }
  fixes: { play: [ one, two, three ], files: worktree, merge: sequence }
  judge: { goal: You decide. }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: fixes } ]
  fixes: [ { role: judge } ]
  judge: [ { role: $END } ]
";

/// A home with that workflow. The plan is an uncommitted file; the second branch commits its change.
fn fixes() -> (TestHome, PathBuf) {
    let (home, repo) = home_with_group(FIXES);
    script(&home, "planner", "echo planned > plan.txt; echo 'Look at it.'");
    script(&home, "judge", "echo 'Ship it.'");
    script(&home, "one", "cat plan.txt; test ! -e two.txt || exit 9; echo one > one.txt; echo done");
    script(&home, "two", "echo two > two.txt; git add two.txt; git commit -qm 'by two'; echo done");
    script(&home, "three", "rm sub/file; echo done");
    (home, repo)
}

/// Lets two branches change the same line.
fn disagree(home: &TestHome) {
    script(home, "one", "echo one > README; echo done");
    script(home, "two", "echo two > README; echo done");
}

fn run(home: &TestHome, repo: &Path) -> FinishedRun {
    uwf_in(home, repo, &["run", "panel", "-p", "Fix it."])
}

const ALL: [&str; 5] = ["judge", "one", "planner", "three", "two"];

#[test]
fn changes_of_branches_are_merged_in_order() {
    let (home, repo) = fixes();
    let seen = home.work().join("scripts/seen");
    script(&home, "judge", &format!("ls > {}; echo ok", seen.display()));
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let worktree = worktree_of(&home, &thread);
    for (file, content) in
        [("one.txt", "one\n"), ("two.txt", "two\n"), ("plan.txt", "planned\n"), ("README", "read me\n")]
    {
        assert_eq!(fs::read_to_string(worktree.join(file)).unwrap(), content, "{file}");
    }
    assert!(!worktree.join("sub/file").exists(), "a deletion is a change");
    assert_eq!(git(&home, &worktree, &["status", "--porcelain"]), "");
    let titles = git(&home, &worktree, &["log", "--first-parent", "--format=%s"]);
    let merges: Vec<&str> = titles.lines().filter_map(|title| title.split(": ").nth(1)).collect();
    let expected = [
        "branch three of group fixes",
        "branch two of group fixes",
        "branch one of group fixes",
        "files before group fixes",
    ];
    assert_eq!(merges, expected, "{titles}");
    assert!(git(&home, &worktree, &["log", "--format=%s"]).contains("by two"));
    assert_eq!(runs(&home), ALL);
    assert_eq!(git(&home, &repo, &["status", "--porcelain"]), "");
    let merged = uwf_in(&home, &repo, &["thread", "merge", &thread]);
    assert_eq!(merged.code, Some(0), "{}", merged.transcript());
    assert!(repo.join("one.txt").exists() && repo.join("two.txt").exists());
    let collected = home.uwf(&["gc", "--grace", "0s"]);
    assert_eq!(collected.code, Some(0), "{}", collected.transcript());
    let left = git(&home, &repo, &["worktree", "list"]);
    assert_eq!(left.lines().count(), 1, "worktrees without unsaved work are removed: {left}");
}

#[test]
fn branch_prompt_lists_files_of_earlier_steps() {
    let (home, repo) = fixes();
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let base = git(&home, &repo, &["rev-parse", "main"]);
    let prompt = prompt_of(&home, "two");
    let section = prompt.split("# Workspace\n\n").nth(1).unwrap();
    assert!(
        section.contains(
            "Files that previous steps changed, with the roles that changed them:\n\n- `plan.txt` (planner)\n"
        ),
        "{section}"
    );
    assert!(
        section.contains(&format!("The work began at commit `{0}`. `git diff {0}` shows", &base[..12])),
        "{section}"
    );
    assert!(!section.contains(&thread_of(&ran)), "its git branch is its own: {section}");
    let after = prompt_of(&home, "judge");
    assert!(after.contains("- `plan.txt` (planner)\n") && after.contains("- `one.txt`"), "{after}");
}

#[test]
fn conflict_waits_until_a_person_merged() {
    let (home, repo) = fixes();
    disagree(&home);
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    for part in ["branch `two`", "README", "merged before: `one`", "continues with `three`"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let thread = thread_of(&ran);
    let worktree = worktree_of(&home, &thread);
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "waiting");
    assert_eq!(fs::read_to_string(worktree.join("README")).unwrap(), "one\n", "nothing is half merged");
    assert_eq!(git(&home, &worktree, &["status", "--porcelain"]), "");
    let branch = branch_with(&home, &repo, &thread, "README", "two\n");
    let mut merge = Command::new("git");
    home.prepare(&mut merge);
    merge.args(["merge", &branch]).current_dir(&worktree).output().unwrap();
    let unfinished = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(unfinished.code, Some(20), "{}", unfinished.transcript());
    assert!(
        unfinished.stderr.contains("a merge is under way") && unfinished.stderr.contains("README"),
        "{}",
        unfinished.stderr
    );
    fs::write(worktree.join("README"), "one and two\n").unwrap();
    git(&home, &worktree, &["commit", "--quiet", "-am", "Both"]);
    let ran = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(fs::read_to_string(worktree.join("README")).unwrap(), "one and two\n");
    assert!(!worktree.join("sub/file").exists(), "the third branch was merged after it");
    assert_eq!(runs(&home), ALL, "no branch ran again");
}

#[test]
fn nothing_is_merged_into_another_git_branch() {
    let (home, repo) = fixes();
    disagree(&home);
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let worktree = worktree_of(&home, &thread);
    git(&home, &worktree, &["checkout", "--quiet", "-b", "aside", "HEAD~1"]);
    let aside = git(&home, &worktree, &["rev-parse", "aside"]);
    let refused = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(refused.code, Some(20), "{}", refused.transcript());
    assert!(refused.stderr.contains("git branch aside is checked out"), "{}", refused.stderr);
    assert_eq!(git(&home, &worktree, &["rev-parse", "aside"]), aside);
    follow_hint(&home, &refused, "switch");
    let conflict = uwf_in(&home, &repo, &["run", &thread]);
    follow_hint(&home, &conflict, "-s ours");
    let ran = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ALL, "no branch ran again");
}

#[test]
fn group_begins_only_on_branch_of_its_thread() {
    let (home, repo) = fixes();
    script(&home, "planner", "git checkout -q -b aside; echo planned > plan.txt; echo 'Look at it.'");
    let refused = run(&home, &repo);
    assert_eq!(refused.code, Some(20), "{}", refused.transcript());
    assert!(refused.stderr.contains("git branch aside is checked out"), "{}", refused.stderr);
    assert_eq!(runs(&home), ["planner"], "no branch is paid for");
    follow_hint(&home, &refused, "switch");
    let ran = uwf_in(&home, &repo, &["run", &thread_of(&refused)]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ALL);
}

#[test]
fn repository_in_a_branch_waits_for_a_person() {
    for way in ["keep", "move", "leave out"] {
        let (home, repo) = fixes();
        script(
            &home,
            "two",
            "git init -q lib; cd lib; echo two > f; git add f; git commit -qm x; cd ..; git add -A; git commit -qm two; echo done",
        );
        let ran = run(&home, &repo);
        assert_eq!(ran.code, Some(20), "{}", ran.transcript());
        let thread = thread_of(&ran);
        assert!(ran.stderr.contains("lib is a git repository in the worktree of branch `two`"), "{}", ran.stderr);
        let again = uwf_in(&home, &repo, &["run", &thread]);
        assert_eq!(again.code, Some(20), "it is still there: {}", again.transcript());
        let dir = ran.stderr.split("remove ").nth(1).and_then(|hint| hint.split("/lib/.git").next()).unwrap();
        let dir = Path::new(dir);
        match way {
            "keep" => {
                fs::remove_dir_all(dir.join("lib/.git")).unwrap();
                git(&home, dir, &["rm", "-q", "--cached", "lib"]);
            }
            "move" => fs::rename(dir.join("lib"), home.work().join("lib")).unwrap(),
            _ => {
                let branch = git(&home, dir, &["symbolic-ref", "--short", "HEAD"]);
                let ours = ["merge", "-q", "-s", "ours", "-m", "Leave changes out", &branch];
                git(&home, &worktree_of(&home, &thread), &ours);
            }
        }
        if way != "leave out" {
            git(&home, dir, &["add", "-A"]);
            git(&home, dir, &["commit", "-qm", "by hand"]);
        }
        let ran = uwf_in(&home, &repo, &["run", &thread]);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
        assert_eq!(worktree_of(&home, &thread).join("lib/f").exists(), way == "keep");
        assert_eq!(runs(&home), ALL, "no branch runs again");
    }
}

#[test]
fn files_git_cannot_add_wait_for_person() {
    let (home, repo) = fixes();
    script(&home, "two", "git init -q lib; echo two > lib/f; echo done");
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    assert!(ran.stderr.contains("out of the merge: 'lib/' does not have a commit"), "{}", ran.stderr);
    let thread = thread_of(&ran);
    let dir = ran.stderr.split("elsewhere from ").nth(1).and_then(|hint| hint.lines().next()).unwrap();
    let dir = Path::new(dir);
    fs::remove_dir_all(dir.join("lib/.git")).unwrap();
    git(&home, dir, &["add", "-A"]);
    git(&home, dir, &["commit", "-qm", "by hand"]);
    let ran = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(fs::read_to_string(worktree_of(&home, &thread).join("lib/f")).unwrap(), "two\n");
    assert_eq!(runs(&home), ALL, "no branch runs again");
}

#[test]
fn files_on_branch_without_commit_are_merged() {
    let (home, repo) = fixes();
    script(&home, "two", "git checkout -q --orphan other; echo two > two.txt; echo done");
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let worktree = worktree_of(&home, &thread_of(&ran));
    assert!(["one.txt", "two.txt", "plan.txt", "README"].iter().all(|file| worktree.join(file).exists()));
}

#[test]
fn branch_with_another_history_waits_for_person() {
    for rewrite in [
        "git checkout -q --orphan other; echo two > two.txt; git add -A; git commit -qm other",
        "git add -A; git commit -qm x; git reset -q --hard HEAD~2; echo two > two.txt",
    ] {
        let (home, repo) = fixes();
        git(&home, &repo, &["commit", "-q", "--allow-empty", "-m", "one more"]);
        script(&home, "two", &format!("{rewrite}; echo done"));
        let mut ran = run(&home, &repo);
        assert_eq!(ran.code, Some(20), "{rewrite}: {}", ran.transcript());
        assert!(ran.stderr.contains("branch `two`"), "{rewrite}: {}", ran.stderr);
        let thread = thread_of(&ran);
        // Another branch is checked out, and its commit is on none of uwf.
        if ran.stderr.contains("has moved since its last step") {
            follow_hint(&home, &ran, "branch -f");
            ran = uwf_in(&home, &repo, &["run", &thread]);
        }
        assert!(ran.stderr.contains("has dropped commits that the group began with"), "{rewrite}: {}", ran.stderr);
        follow_hint(&home, &ran, "-s ours");
        let ran = uwf_in(&home, &repo, &["run", &thread]);
        assert_eq!(ran.code, Some(0), "{rewrite}: {}", ran.transcript());
        assert_eq!(runs(&home), ALL, "{rewrite}: no branch runs again");
    }
}

#[test]
fn conflicting_branch_can_be_left_out() {
    let (home, repo) = fixes();
    disagree(&home);
    let ran = run(&home, &repo);
    follow_hint(&home, &ran, "-s ours");
    let thread = thread_of(&ran);
    let ran = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(fs::read_to_string(worktree_of(&home, &thread).join("README")).unwrap(), "one\n");
}

#[test]
fn changes_made_meanwhile_are_not_overwritten() {
    let (home, repo) = fixes();
    disagree(&home);
    let ran = run(&home, &repo);
    let thread = thread_of(&ran);
    let worktree = worktree_of(&home, &thread);
    fs::write(worktree.join("mine"), "by hand\n").unwrap();
    let branch = branch_with(&home, &repo, &thread, "README", "two\n");
    git(&home, &repo, &["branch", "-f", "elsewhere", "main"]);
    let waiting = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(waiting.code, Some(20), "{}", waiting.transcript());
    assert!(waiting.stderr.contains("uncommitted changes") && waiting.stderr.contains("mine"), "{}", waiting.stderr);
    git(&home, &worktree, &["add", "-A"]);
    git(&home, &worktree, &["commit", "--quiet", "-m", "mine"]);
    follow_hint(&home, &ran, "-s ours");
    // The last branch gets a commit, and another person moves it away.
    let third = third_branch(&home, &repo, &thread);
    assert_ne!(third, branch);
    let of_third = worktree_of(&home, third.strip_prefix("uwf/").unwrap());
    let tip = git(&home, &repo, &["rev-parse", &third]);
    git(&home, &of_third, &["reset", "--quiet", "--hard", "main"]);
    fs::write(of_third.join("other"), "other\n").unwrap();
    git(&home, &of_third, &["add", "-A"]);
    git(&home, &of_third, &["commit", "--quiet", "-m", "other"]);
    let moved = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(moved.code, Some(20), "{}", moved.transcript());
    assert!(
        moved.stderr.contains("has moved since its last step") && moved.stderr.contains(&third),
        "{}",
        moved.stderr
    );
    git(&home, &of_third, &["reset", "--quiet", "--hard", &tip]);
    fs::write(of_third.join("more"), "more\n").unwrap();
    git(&home, &of_third, &["add", "-A"]);
    git(&home, &of_third, &["commit", "--quiet", "-m", "more"]);
    let ran = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert!(worktree.join("mine").exists() && worktree.join("more").exists() && !worktree.join("other").exists());
    assert_eq!(runs(&home), ALL);
}

/// The branch whose committed change is the removal of `sub/file`.
fn third_branch(home: &TestHome, repo: &Path, thread: &str) -> String {
    let all = git(home, repo, &["for-each-ref", "--format=%(refname:short)", "refs/heads/uwf/"]);
    let third = all.lines().find(|branch| {
        !branch.ends_with(thread) && !git(home, repo, &["ls-tree", "-r", "--name-only", branch]).contains("sub/file")
    });
    third.unwrap().to_owned()
}

#[test]
fn recorded_changes_survive_their_worktrees() {
    let (home, repo) = fixes();
    script(&home, "two", "exit 3");
    let failed = run(&home, &repo);
    assert_eq!(failed.code, Some(40), "{}", failed.transcript());
    let thread = thread_of(&failed);
    let worktrees = || fs::read_dir(home.root().join("worktrees")).unwrap().map(|entry| entry.unwrap().path());
    let of_one = worktrees().find(|dir| dir.join("one.txt").exists()).unwrap();
    let of_three = worktrees().find(|dir| dir.is_dir() && !dir.join("sub/file").exists()).unwrap();
    fs::remove_dir_all(of_one).unwrap();
    git(&home, &of_three, &["checkout", "--quiet", "--", "."]);
    script(&home, "two", "echo two > two.txt; echo done");
    let retried = uwf_in(&home, &repo, &["thread", "retry", &thread]);
    assert_eq!(retried.code, Some(0), "{}", retried.transcript());
    let worktree = worktree_of(&home, &thread);
    assert!(worktree.join("one.txt").exists() && worktree.join("two.txt").exists());
    assert!(!worktree.join("sub/file").exists(), "a deletion that was undone by hand is still recorded");
}

#[test]
fn reset_commit_is_merged_from_the_record() {
    let (home, repo) = fixes();
    disagree(&home);
    let ran = run(&home, &repo);
    let thread = thread_of(&ran);
    let third = third_branch(&home, &repo, &thread);
    let of_third = worktree_of(&home, third.strip_prefix("uwf/").unwrap());
    git(&home, &of_third, &["reset", "--quiet", "--hard", "HEAD~1"]);
    follow_hint(&home, &ran, "-s ours");
    let ran = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert!(!worktree_of(&home, &thread).join("sub/file").exists());
    assert_eq!(runs(&home), ALL);
}

#[test]
fn no_stash_and_no_octopus() {
    let (home, repo) = fixes();
    disagree(&home);
    let calls = home.work().join("scripts/git-calls");
    git_that_first(&home, &format!("echo \"$*\" >> {}", calls.display()));
    let ran = run(&home, &repo);
    let thread = thread_of(&ran);
    script(&home, "two", "true");
    follow_hint(&home, &ran, "-s ours");
    let before = fs::read_to_string(&calls).unwrap();
    assert_eq!(uwf_in(&home, &repo, &["run", &thread]).code, Some(0));
    let calls = fs::read_to_string(&calls).unwrap();
    assert!(before.contains("merge-tree --write-tree") && calls.len() > before.len());
    let of_uwf = calls.lines().filter(|call| !call.contains("-s ours"));
    let forbidden = |call: &&str| call.split(' ').any(|word| word == "stash" || word == "merge");
    assert_eq!(of_uwf.filter(forbidden).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn old_git_is_named_and_costs_no_branch() {
    let (home, repo) = fixes();
    git_that_first(&home, "case \"$*\" in *merge-tree*) echo 'usage: git merge-tree' >&2; exit 129;; esac");
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    assert!(ran.stderr.contains("git 2.38"), "{}", ran.stderr);
    real_git(&home);
    let thread = thread_of(&ran);
    assert_eq!(uwf_in(&home, &repo, &["thread", "retry", &thread]).code, Some(0));
    assert_eq!(runs(&home), ["one", "planner", "three", "two"]);
}

#[test]
fn unmerged_branches_are_named_in_the_next_prompt() {
    let (home, repo) = fixes();
    home.put("panel", &FIXES.replace(", merge: sequence", ""));
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let worktree = worktree_of(&home, &thread);
    assert!(!worktree.join("one.txt").exists() && worktree.join("sub/file").exists(), "nothing was merged");
    let prompt = prompt_of(&home, "judge");
    let first = branch_with(&home, &repo, &thread, "one.txt", "one\n");
    let second = branch_with(&home, &repo, &thread, "two.txt", "two\n");
    for line in [format!("- `one`: `{first}`"), format!("- `two`: `{second}`")] {
        assert!(prompt.contains(&line), "{line}: {prompt}");
    }
    assert_eq!(
        git(&home, &worktree, &["diff", "--name-only", &format!("HEAD...{first}")]),
        "one.txt",
        "only its own change"
    );
}

#[test]
fn failing_worktree_costs_no_branch_twice() {
    let (home, repo) = fixes();
    home.put("panel", &FIXES.replace("files: worktree", "max: 1, files: worktree"));
    let thread = start_before_group(&home, &repo);
    let count = home.work().join("scripts/count");
    let fail = format!(
        "case \"$*\" in *\"worktree add\"*) echo x >> {0}; test $(wc -l < {0}) -ne 2 || {{ echo 'fatal: no room' >&2; exit 128; }};; esac",
        count.display()
    );
    git_that_first(&home, &fail);
    let failed = uwf_in(&home, &repo, &["thread", "step", &thread]);
    assert!(matches!(failed.code, Some(40 | 74)), "{}", failed.transcript());
    assert!(failed.stderr.contains("cannot make a git worktree: git says: no room"), "{}", failed.stderr);
    real_git(&home);
    let again = uwf_in(&home, &repo, &["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert_eq!(runs(&home), ["one", "planner", "three", "two"]);
}

#[test]
fn group_with_worktrees_needs_a_worktree() {
    let (home, repo) = fixes();
    let refused = uwf_in(&home, &repo, &["run", "panel", "-p", "x", "--no-worktree"]);
    assert_eq!(refused.code, Some(64), "{}", refused.transcript());
    assert!(refused.stderr.contains("group `fixes` has `files: worktree`"), "{}", refused.stderr);
    assert_eq!(home.json(&["thread", "list"]), json!([]));
    let file = home.file("panel.yaml", &FIXES.replace("workspace: worktree\n", ""));
    let warned = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
    assert_eq!(warned.code, Some(0), "{}", warned.transcript());
    assert!(warned.stdout.contains("`workspace: worktree`"), "{}", warned.transcript());
    let file = home.file("panel.yaml", FIXES);
    assert_eq!(home.uwf(&["workflow", "validate", "--strict", file.to_str().unwrap()]).code, Some(0));
}

#[test]
fn branches_of_branches_have_worktrees_too() {
    let (home, repo) = fixes();
    home.put(
        "panel",
        &FIXES.replace(
            "  fixes: { play: [ one, two, three ]",
            "  pair: { play: [ one, two ], files: worktree, merge: sequence }\n  fixes: { play: [ pair, three ]",
        ),
    );
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let worktree = worktree_of(&home, &thread_of(&ran));
    assert!(
        worktree.join("one.txt").exists() && worktree.join("two.txt").exists() && !worktree.join("sub/file").exists()
    );
    assert_eq!(runs(&home), ALL);
}

#[test]
fn two_steps_at_once_play_branches_once() {
    let (home, repo) = fixes();
    let thread = start_before_group(&home, &repo);
    let steps: Vec<_> = (0..2).map(|_| home.command(&["thread", "step", &thread]).spawn().unwrap()).collect();
    let codes: Vec<Option<i32>> = steps.into_iter().map(|mut step| step.wait().unwrap().code()).collect();
    assert!(codes.contains(&Some(0)), "{codes:?}");
    let ran = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ALL);
}

#[test]
fn worktrees_of_branches_are_set_up() {
    let (home, repo) = fixes();
    fs::write(repo.join("key.log"), "key\n").unwrap();
    fs::write(repo.join(".worktreeinclude"), "key.log\n").unwrap();
    script(&home, "one", "test -e key.log && echo one > one.txt; echo done");
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert!(worktree_of(&home, &thread_of(&ran)).join("one.txt").exists(), "the branch had no key.log");
}

#[test]
fn killed_start_of_a_branch_is_repeated() {
    for is_before in [true, false] {
        let (home, repo) = fixes();
        home.put("panel", &FIXES.replace("files: worktree", "max: 1, files: worktree"));
        let thread = start_before_group(&home, &repo);
        let count = home.work().join("scripts/count");
        let real = uwf_engine::attempt::program::find("git").unwrap();
        let first = if is_before { String::new() } else { format!("{} \"$@\";", real.display()) };
        git_that_first(
            &home,
            &format!(
                "case \"$*\" in *\"worktree add\"*) echo x >> {0}; if test $(wc -l < {0}) -eq 2; then {first} kill -9 $PPID; exit 1; fi;; esac",
                count.display()
            ),
        );
        let killed = uwf_in(&home, &repo, &["thread", "step", &thread]);
        assert_ne!(killed.code, Some(0), "{}", killed.transcript());
        real_git(&home);
        let ran = uwf_in(&home, &repo, &["thread", "retry", &thread]);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
        assert_eq!(runs(&home), ["one", "planner", "three", "two"]);
        let worktree = worktree_of(&home, &thread);
        assert!(worktree.join("one.txt").exists() && worktree.join("two.txt").exists());
    }
}

/// A fix for each finding of a plan.
const EACH: &str = "name: panel
description: a fix for each finding
workspace: worktree
roles:
  planner:
    goal: You list findings.
    meta: { type: object, properties: { findings: { type: array, maxItems: 9, items: { type: string } } }, required: [findings] }
  fixer: { goal: You fix one., meta: { type: object, properties: { done: { type: boolean } }, required: [done] } }
  fixes: { play: fixer, each: \"$last('planner').findings\", files: worktree, merge: sequence, mayFail: true }
  judge: { goal: You decide. }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: fixes } ]
  fixes: [ { role: judge } ]
  judge: [ { role: $END } ]
";

#[test]
fn failed_items_are_not_merged() {
    let (home, repo) = home_with_group(EACH);
    script(&home, "planner", "printf -- '---\nfindings: [a, b, c]\n---\n'");
    script(
        &home,
        "fixer",
        "echo $UWF_ITEM > $UWF_ITEM.txt; test $UWF_ITEM != b || exit 3; printf -- '---\ndone: true\n---\n'",
    );
    script(&home, "judge", "echo ok");
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let worktree = worktree_of(&home, &thread_of(&ran));
    assert!(worktree.join("a.txt").exists() && worktree.join("c.txt").exists() && !worktree.join("b.txt").exists());
    assert_eq!(runs(&home), ["fixer", "fixer", "fixer", "judge", "planner"]);
}

/// Three drafts in worktrees, and a judge that picks one.
const DRAFTS: &str = "name: panel
description: the best of three drafts
workspace: worktree
roles:
  planner: { goal: You plan. }
  writer: { goal: You write., meta: { type: object, properties: { words: { type: integer } }, required: [words] } }
  judge: { goal: You choose., meta: { type: object, properties: { winner: { type: integer } }, required: [winner] } }
  drafts: { play: writer, copies: 3, pick: judge, files: worktree }
  last: { goal: You finish. }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: drafts } ]
  drafts: [ { role: last } ]
  last: [ { role: $END } ]
";

fn drafts() -> (TestHome, PathBuf) {
    let (home, repo) = home_with_group(DRAFTS);
    script(&home, "planner", "echo planned > plan.txt; echo 'Write it.'");
    script(&home, "writer", "echo $UWF_BRANCH > draft.txt; printf -- '---\nwords: 1\n---\n'");
    script(&home, "judge", "printf -- '---\nwinner: 2\n---\n'");
    script(&home, "last", "cat draft.txt");
    (home, repo)
}

#[test]
fn thread_gets_files_of_the_winner() {
    let (home, repo) = drafts();
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let worktree = worktree_of(&home, &thread);
    assert_eq!(fs::read_to_string(worktree.join("draft.txt")).unwrap(), "drafts.2\n");
    assert!(worktree.join("plan.txt").exists());
    assert_eq!(git(&home, &worktree, &["status", "--porcelain"]), "");
    let seen = prompt_of(&home, "judge");
    for number in ["1", "2", "3"] {
        let branch = branch_with(&home, &repo, &thread, "draft.txt", &format!("drafts.{number}\n"));
        assert!(seen.contains(&format!("- `{number}`: `{branch}`")), "{seen}");
    }
}

#[test]
fn person_merges_winner_with_commits_made_meanwhile() {
    let (home, repo) = drafts();
    let thread = start_before_group(&home, &repo);
    let worktree = worktree_of(&home, &thread);
    script(
        &home,
        "judge",
        &format!(
            "cd {} && echo mine > mine && git add mine && git commit -qm mine; printf -- '---\nwinner: 3\n---\n'",
            worktree.display()
        ),
    );
    let waiting = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(waiting.code, Some(20), "{}", waiting.transcript());
    follow_hint(&home, &waiting, " merge uwf/");
    let ran = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(fs::read_to_string(worktree.join("draft.txt")).unwrap(), "drafts.3\n");
    assert!(worktree.join("mine").exists());
    assert_eq!(runs(&home), ["judge", "last", "planner", "writer", "writer", "writer"]);
}

#[test]
fn killed_branch_starts_again_beside_its_commits() {
    let (home, repo) = fixes();
    let ready = home.work().join("scripts/ready");
    let commit = "echo half > half.txt; git add half.txt; git commit -qm half";
    script(&home, "two", &format!("test -e {0} && exit 0; {commit}; touch {0}; sleep 60", ready.display()));
    let thread = start_before_group(&home, &repo);
    let mut step =
        home.command(&["thread", "step", &thread]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !ready.exists() {
        assert!(begun.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(20));
    }
    let branch = branch_with(&home, &repo, &thread, "half.txt", "half\n");
    let killed = branch.strip_prefix("uwf/").unwrap();
    assert_eq!(home.uwf(&["thread", "kill", killed]).code, Some(0));
    assert_eq!(step.wait().unwrap().code(), Some(40));
    script(&home, "two", "echo two > two.txt; echo done");
    assert_eq!(home.uwf(&["thread", "rm", killed, "--discard"]).code, Some(0));
    let failed = uwf_in(&home, &repo, &["thread", "retry", &thread]);
    assert_eq!(failed.code, Some(40), "{}", failed.transcript());
    let hint = failed.stderr.lines().find(|line| line.contains("branch -m")).unwrap();
    assert!(hint.contains(&branch), "{hint}");
    git(&home, &repo, &["branch", "-m", &branch, "half"]);
    let again = uwf_in(&home, &repo, &["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert_eq!(git(&home, &repo, &["show", "half:half.txt"]), "half");
    assert!(worktree_of(&home, &thread).join("two.txt").exists());
    assert_eq!(runs(&home), ["one", "planner", "three", "two", "two"]);
}

/// Lets git fail after the first branch has ended: once, or until the file is removed that this returns.
fn git_failing_after_first_branch(home: &TestHome, once: &str) -> PathBuf {
    let armed = home.work().join("scripts/armed");
    script(home, "one", &format!("echo one > one.txt; echo done; touch {}", armed.display()));
    git_that_first(
        home,
        &format!("if test -e {0}; then {once} echo 'fatal: no room' >&2; exit 128; fi", armed.display()),
    );
    armed
}

#[test]
fn files_git_failed_to_record_are_recorded_later() {
    let (home, repo) = fixes();
    home.put("panel", &FIXES.replace("files: worktree", "max: 1, files: worktree"));
    let thread = start_before_group(&home, &repo);
    let armed = home.work().join("scripts/armed");
    git_failing_after_first_branch(&home, &format!("rm {};", armed.display()));
    let ran = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(fs::read_to_string(worktree_of(&home, &thread).join("one.txt")).unwrap(), "one\n");
    assert_eq!(runs(&home), ALL);
}

#[test]
fn group_continues_when_git_works_again() {
    let (home, repo) = fixes();
    home.put("panel", &FIXES.replace("files: worktree", "max: 1, files: worktree"));
    let thread = start_before_group(&home, &repo);
    let armed = git_failing_after_first_branch(&home, "");
    let failed = uwf_in(&home, &repo, &["run", &thread]);
    assert!(failed.stderr.contains("no room"), "{}", failed.transcript());
    fs::remove_file(armed).unwrap();
    real_git(&home);
    let again = uwf_in(&home, &repo, &["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert_eq!(fs::read_to_string(worktree_of(&home, &thread).join("one.txt")).unwrap(), "one\n");
    assert_eq!(runs(&home), ["one", "planner", "three", "two"]);
}

/// See `./test --campaigns`.
mod campaigns {
    use super::*;

    #[test]
    fn killed_merge_is_completed_by_the_next_step() {
        let (home, repo) = fixes();
        home.put("panel", &FIXES.replace("files: worktree", "max: 1, files: worktree"));
        let armed = home.work().join("scripts/armed");
        script(&home, "three", &format!("rm sub/file; echo done; touch {}", armed.display()));
        let thread = start_before_group(&home, &repo);
        let before = home.snapshot();
        for point in
            ["/merging-", "read-tree --reset -u", "uwf: files of a group HEAD", "update-ref --stdin", "merge-tree"]
        {
            for is_before in [true, false] {
                home.restore(&before);
                let real = uwf_engine::attempt::program::find("git").unwrap();
                let agent_alone = (String::new(), "$PPID");
                let with_keeper = (format!("{} \"$@\";", real.display()), "$(cut -d' ' -f4 /proc/$PPID/stat) $PPID");
                let (first, victims) = if is_before { agent_alone } else { with_keeper };
                // The third branch has ended when git is called for a merge.
                git_that_first(
                    &home,
                    &format!(
                        "case \"$*\" in *\"{point}\"*) if test -e {0}; then rm {0}; {first} kill -9 {victims}; exit 1; fi;; esac",
                        armed.display()
                    ),
                );
                let killed = uwf_in(&home, &repo, &["thread", "step", &thread]);
                assert_ne!(killed.code, Some(0), "{point}: {}", killed.transcript());
                assert!(!armed.exists(), "{point} was not reached");
                real_git(&home);
                let again = if is_before { "retry" } else { "step" };
                let ran = uwf_in(&home, &repo, &["thread", again, &thread]);
                assert_eq!(ran.code, Some(0), "{point}: {}", ran.transcript());
                let worktree = worktree_of(&home, &thread);
                assert!(
                    worktree.join("one.txt").exists()
                        && worktree.join("two.txt").exists()
                        && !worktree.join("sub/file").exists(),
                    "{point}"
                );
                assert_eq!(git(&home, &worktree, &["status", "--porcelain"]), "", "{point}");
                assert_eq!(runs(&home), ["one", "planner", "three", "two"], "{point}");
            }
        }
    }
}
