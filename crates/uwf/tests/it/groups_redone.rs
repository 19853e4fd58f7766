//! Groups after a fork, and branches that are played again.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use uwf_testing::{TestHome, text};

use crate::fixtures::child_threads::child_of;
use crate::fixtures::group_in_repository::{
    branch_with, follow_hint, home_with_group, prompt_of, runs, script, thread_of, worktree_of,
};
use crate::fixtures::repository::{git, uwf_in};
use crate::{fixtures::group_runs, home};

/// A plan, two changes of files, and a decision.
const FIXES: &str = "name: panel
description: two changes at once
workspace: worktree
roles:
  planner: { goal: You plan. }
  one: { goal: You change the first part. }
  two: { goal: You change the second part. }
  fixes: { play: [ one, two ], files: worktree, merge: sequence }
  judge: { goal: You decide. }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: fixes } ]
  fixes: [ { role: judge } ]
  judge: [ { role: $END } ]
";

/// A home with that workflow. The plan is an uncommitted file, which the first branch changes.
fn fixes(workflow: &str) -> (TestHome, PathBuf) {
    let (home, repo) = home_with_group(workflow);
    script(&home, "planner", "echo planned > plan.txt; echo 'Look at it.'");
    script(&home, "judge", "echo 'Ship it.'");
    script(&home, "one", "echo by one >> plan.txt; echo one > one.txt; echo done");
    script(&home, "two", "echo two > two.txt; git add two.txt; git commit -qm 'by two'; echo done");
    (home, repo)
}

#[test]
fn redone_branch_changes_only_its_own_files() {
    let (home, repo) = fixes(FIXES);
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    script(&home, "two", "test ! -e one.txt || exit 9; echo again > two.txt; echo done");
    fs::remove_file(home.work().join("scripts/runs")).unwrap();
    let fork = text(&uwf_in(&home, &repo, &["thread", "fork", &thread, "--redo", "fixes.two"]).json(), "thread");
    let ran = uwf_in(&home, &repo, &["run", &fork]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["judge", "two"]);
    let read = |thread: &str, file: &str| fs::read_to_string(worktree_of(&home, thread).join(file)).unwrap();
    for (file, content) in [("plan.txt", "planned\nby one\n"), ("one.txt", "one\n"), ("two.txt", "again\n")] {
        assert_eq!(read(&fork, file), content, "{file}");
    }
    assert_eq!(read(&thread, "two.txt"), "two\n", "the old line stays");
    assert_eq!(git(&home, &worktree_of(&home, &fork), &["status", "--porcelain"]), "");
    for id in [&thread, &fork] {
        assert_eq!(home.uwf(&["thread", "verify", id]).code, Some(0));
    }
    let refused = uwf_in(&home, &repo, &["thread", "fork", &thread, "--redo", "fixes.two", "--cwd", "."]);
    assert!(refused.code == Some(64) && refused.stderr.contains("no worktree"), "{}", refused.transcript());
}

#[test]
fn redone_copy_competes_with_the_others() {
    let workflow = FIXES.replace(
        "fixes: { play: [ one, two ], files: worktree, merge: sequence }",
        "fixes: { play: one, copies: 2, pick: \"$count(steps)\", files: worktree }",
    );
    let (home, repo) = fixes(&workflow);
    script(&home, "one", "echo $UWF_BRANCH > one.txt; echo done");
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    script(&home, "one", "echo again > one.txt; echo done");
    let fork = text(&uwf_in(&home, &repo, &["thread", "fork", &thread, "--redo", "fixes.1"]).json(), "thread");
    let ran = uwf_in(&home, &repo, &["run", &fork]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home).iter().filter(|run| *run == "one").count(), 3);
    assert_eq!(fs::read_to_string(worktree_of(&home, &fork).join("one.txt")).unwrap(), "fixes.2\n");
}

#[test]
fn fork_after_group_names_its_git_branches() {
    let (home, repo) = fixes(&FIXES.replace(", merge: sequence", ""));
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let fork = uwf_in(&home, &repo, &["thread", "fork", &thread, "--from-role", "judge"]).json();
    fs::remove_file(home.work().join("scripts/prompt-judge")).unwrap();
    let ran = uwf_in(&home, &repo, &["run", &text(&fork, "thread")]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let branch = branch_with(&home, &repo, &thread, "one.txt", "one\n");
    let prompt = prompt_of(&home, "judge");
    assert!(prompt.contains(&format!("- `one`: `{branch}`")), "{prompt}");
}

#[test]
fn retry_of_a_waiting_merge_names_the_files() {
    let (home, repo) = fixes(FIXES);
    script(&home, "one", "echo one > README; echo done");
    script(&home, "two", "echo two > README; echo done");
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let again = uwf_in(&home, &repo, &["thread", "retry", &thread]);
    assert_eq!(again.code, Some(20), "{}", again.transcript());
    assert!(again.stderr.contains("README") && !again.stderr.contains("thread answer"), "{}", again.stderr);
    assert!(again.stderr.contains(&format!("then `uwf run {thread}` continues")), "{}", again.stderr);
    follow_hint(&home, &again, "-s ours");
    let again = uwf_in(&home, &repo, &["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert_eq!(runs(&home), ["one", "planner", "two"], "no branch ran again");
}

/// The workflow in which a role resolves conflicts, and branches that change the same line.
fn conflicts() -> (TestHome, PathBuf) {
    let (home, repo) = fixes(
        &FIXES
            .replace("merge: sequence }", "merge: sequence, resolve: merger }")
            .replace("  judge: {", "  merger: { goal: You resolve conflicts. }\n  judge: {"),
    );
    script(&home, "one", "echo one > README; echo done");
    script(&home, "two", "echo two > README; echo done");
    (home, repo)
}

/// The script of the role that resolves conflicts, which finds the git branch in its prompt.
fn merges(home: &TestHome, lines: &str) {
    let prompt = home.work().join("scripts/prompt-merger");
    let find = format!("branch=$(sed -n 's/^Run `git merge \\([^`]*\\)` in.*/\\1/p' {} | head -n 1)", prompt.display());
    script(home, "merger", &format!("{find}\n{lines}"));
}

#[test]
fn role_resolves_conflicts_of_a_merge() {
    let (home, repo) = conflicts();
    merges(&home, "git merge -q $branch >&2; echo 'one and two' > README; git commit -qam Both; echo 'I kept both.'");
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    assert_eq!(fs::read_to_string(worktree_of(&home, &thread).join("README")).unwrap(), "one and two\n");
    assert_eq!(runs(&home), ["judge", "merger", "one", "planner", "two"]);
    assert!(prompt_of(&home, "merger").contains("- `README`"), "{}", prompt_of(&home, "merger"));
    assert!(prompt_of(&home, "judge").contains("I kept both."), "{}", prompt_of(&home, "judge"));
    let output = home.json(&["thread", "eval", &thread, "$last('fixes')"]);
    assert_eq!(output, json!({"one": "done", "two": "done"}));
    assert_eq!(home.json(&["thread", "eval", &thread, "$branches('fixes').name"]), json!(["one", "two"]));
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
    let cost = home.json(&["thread", "cost", &thread, "--by", "role"]);
    assert!(cost.to_string().contains("merger"), "its work counts: {cost}");
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn command_resolves_conflicts_of_a_merge() {
    let (home, repo) = fixes(
        &FIXES
            .replace("merge: sequence }", "merge: sequence, resolve: merger }")
            .replace("  judge: {", "  merger: { run: 'git merge -q -X ours \"$UWF_ITEM\"' }\n  judge: {"),
    );
    script(&home, "one", "echo one > README; echo done");
    script(&home, "two", "echo two > README; echo two > new; echo done");
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let dir = worktree_of(&home, &thread_of(&ran));
    let read = |file: &str| fs::read_to_string(dir.join(file)).unwrap();
    assert_eq!([read("README"), read("new")], ["one\n", "two\n"]);
}

#[test]
fn conflict_left_by_role_waits_for_person() {
    let (home, repo) = conflicts();
    script(&home, "merger", "echo 'I cannot decide.'");
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    assert!(ran.stderr.contains("README"), "{}", ran.stderr);
    follow_hint(&home, &ran, "-s ours");
    let ran = uwf_in(&home, &repo, &["run", &thread_of(&ran)]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["judge", "merger", "one", "planner", "two"]);
}

#[test]
fn only_failed_resolver_is_played_again() {
    let (home, repo) = conflicts();
    script(&home, "merger", "exit 3");
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("branch `fixes.merger-two`"), "{}", ran.stderr);
    let thread = thread_of(&ran);
    merges(&home, "git merge -q -s ours -m Ours $branch >&2; echo ok");
    let again = uwf_in(&home, &repo, &["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert_eq!(runs(&home), ["merger", "merger", "one", "planner", "two"]);
}

#[test]
fn show_lists_the_branch_of_a_resolver() {
    let (home, repo) = conflicts();
    script(&home, "merger", "exit 3");
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let branches_of = |thread: &str| {
        let shown = home.json(&["thread", "show", thread]);
        let listed = shown["group"]["branches"].as_array().unwrap().iter();
        listed.map(|branch| json!([branch["branch"], branch["role"], branch["state"]])).collect::<Vec<_>>()
    };
    let branches = || branches_of(&thread);
    let merger = |state: &str| json!(["fixes.merger-two", "merger", state]);
    assert_eq!(branches()[2..], [merger("stuck")]);
    assert_eq!(branches_of(&child_of(&home, &thread)), branches(), "the group's own thread lists it as well");
    let shown = home.uwf(&["thread", "show", &thread, "--format", "text"]).stdout;
    assert!(shown.contains("fixes.merger-two"), "{shown}");
    merges(&home, "git merge -q -s ours -m Ours $branch >&2; echo ok");
    assert_eq!(uwf_in(&home, &repo, &["thread", "retry", &thread]).code, Some(0));
    assert_eq!(branches()[2..], [merger("completed")]);
}

#[test]
fn failed_resolver_needs_no_action_after_its_group() {
    let (home, repo) = conflicts();
    script(&home, "merger", "exit 3");
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
    let thread = thread_of(&ran);
    let prompt = prompt_of(&home, "merger");
    let branch = prompt.split("Run `git merge ").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
    git(&home, &worktree_of(&home, &thread), &["merge", "-q", "-s", "ours", "-m", "Ours", branch]);
    let ran = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(home.json(&["thread", "list"]), json!([]));
    assert_eq!(home.json(&["thread", "list", "--state", "stuck"]), json!([]));
}

#[test]
fn misplaced_resolvers_are_refused() {
    let home = home();
    for (from, to, why) in [
        (", merge: sequence }", ", resolve: judge }", "`resolve` needs `merge: sequence`"),
        ("merge: sequence }", "merge: sequence, resolve: jugde }", "did you mean `judge`?"),
        ("merge: sequence }", "merge: sequence, resolve: fixes }", "the role `fixes` plays itself"),
        (
            "judge: { goal: You decide. }",
            "judge: { goal: x, resolve: one }",
            "`resolve` belongs only to a role with `play`",
        ),
    ] {
        let file = home.file("panel.yaml", &FIXES.replace(from, to));
        let refused = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
        assert_eq!(refused.code, Some(65), "{to}: {}", refused.transcript());
        assert!(refused.stdout.contains(why), "{to}: {}", refused.transcript());
    }
}

#[test]
fn branch_of_nested_group_is_redone() {
    let home = home();
    home.put(
        "nested",
        "name: nested
description: x
roles:
  a: { goal: x }
  b: { goal: x }
  c: { goal: x }
  pair: { play: [ a, b ] }
  all: { play: [ pair, c ] }
graph:
  $START: [ { role: all } ]
  all: [ { role: $END } ]
",
    );
    let note = |says: &str| {
        home.script("worker", &format!("#!/bin/sh\ncat > /dev/null\necho $UWF_ROLE >> runs\necho {says} $UWF_ROLE\n"));
    };
    note("first");
    home.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\nkillGrace: 1\n");
    let ran = home.uwf(&["run", "nested", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    note("second");
    fs::remove_file(home.work().join("runs")).unwrap();
    let fork = text(&home.json(&["thread", "fork", &thread, "--redo", "all.pair.b"]), "thread");
    let ran = home.uwf(&["run", &fork]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(group_runs::runs(&home), ["b"]);
    let output = home.json(&["thread", "eval", &fork, "$last('all')"]);
    assert_eq!(output, json!({"pair": {"a": "first a", "b": "second b"}, "c": "first c"}));
    let whole = text(&home.json(&["thread", "fork", &thread, "--redo", "all.pair"]), "thread");
    assert_eq!(home.uwf(&["run", &whole]).code, Some(0));
    assert_eq!(group_runs::runs(&home), ["a", "b", "b"]);
    let refused = home.uwf(&["thread", "fork", &thread, "--redo", "all.pair.z"]);
    assert!(refused.code == Some(64) && refused.stderr.contains("its branches: a, b"), "{}", refused.transcript());
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn branch_named_like_resolver_hides_no_role() {
    let (home, repo) = conflicts();
    let panel = fs::read_to_string(home.work().join("panel.yaml")).unwrap();
    home.put(
        "panel",
        &panel
            .replace("play: [ one, two ]", "play: [ one, two, merger-two ]")
            .replace("  merger: {", "  merger-two: { goal: You change nothing. }\n  merger: {"),
    );
    script(&home, "merger-two", "echo nothing");
    merges(&home, "git merge -q $branch >&2; echo both > README; git commit -qam Both; echo 'I kept both.'");
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["judge", "merger", "merger-two", "one", "planner", "two"]);
    let output = home.json(&["thread", "eval", &thread_of(&ran), "$last('fixes')"]);
    assert_eq!(output, json!({"one": "done", "two": "done", "merger-two": "nothing"}));
}

#[test]
fn resolver_that_failed_within_a_merge_is_repeated() {
    for left in ["", "git merge --abort; echo rest > rest.txt; "] {
        let (home, repo) = conflicts();
        merges(&home, &format!("git merge -q $branch >&2; {left}exit 3"));
        let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
        assert_eq!(ran.code, Some(40), "{}", ran.transcript());
        let thread = thread_of(&ran);
        merges(
            &home,
            "git merge -q $branch >&2; echo both > README; git add -A; git commit -qm Both; echo 'I kept both.'",
        );
        let again = uwf_in(&home, &repo, &["thread", "retry", &thread]);
        assert_eq!(again.code, Some(0), "{left}: {}", again.transcript());
        assert_eq!(fs::read_to_string(worktree_of(&home, &thread).join("README")).unwrap(), "both\n");
        assert_eq!(runs(&home), ["merger", "merger", "one", "planner", "two"]);
        assert!(prompt_of(&home, "merger").contains("If a merge is already in progress"));
    }
}

/// A resolver that commits the markers of a conflict. If `resolves`, it resolves the conflict in its second round.
fn commits_markers(home: &TestHome, resolves: &str) {
    let prompt = home.work().join("scripts/prompt-merger");
    merges(
        home,
        &format!(
            "if grep -q 'still has conflict markers' {}; then {resolves}; echo 'Again.'; else git merge -q $branch >&2; git commit -qam Both; echo 'I kept both.'; fi",
            prompt.display()
        ),
    );
}

#[test]
fn resolver_prompt_names_committed_markers() {
    let (home, repo) = conflicts();
    script(&home, "one", "echo one > README; printf 'A title\\n=======\\n<<<<<<< shown\\n' > guide.txt; echo done");
    commits_markers(&home, "echo both > README; git commit -qam 'Without markers'");
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    assert_eq!(fs::read_to_string(worktree_of(&home, &thread).join("README")).unwrap(), "both\n");
    assert_eq!(runs(&home), ["judge", "merger", "merger", "one", "planner", "two"]);
    let prompt = prompt_of(&home, "merger");
    assert!(prompt.contains("- `README`") && !prompt.contains("guide.txt"), "only files that conflicted: {prompt}");
    let output = home.json(&["thread", "eval", &thread, "$last('fixes')"]);
    assert_eq!(output, json!({"one": "done", "two": "done"}));
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
    let rows = home.json(&["thread", "list", "--all"]);
    let mut rounds: Vec<&str> = rows.as_array().unwrap().iter().filter_map(|row| row["branch"].as_str()).collect();
    rounds.retain(|branch| branch.contains("merger"));
    rounds.sort_unstable();
    assert_eq!(rounds, ["fixes.merger-two", "fixes.merger-two-2"]);
}

#[test]
fn markers_left_by_role_wait_for_person() {
    let (home, repo) = conflicts();
    commits_markers(&home, "true");
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    assert!(ran.stderr.contains("conflict markers") && ran.stderr.contains("README"), "{}", ran.stderr);
    let thread = thread_of(&ran);
    let worktree = worktree_of(&home, &thread);
    fs::write(worktree.join("README"), "both\n").unwrap();
    git(&home, &worktree, &["commit", "--quiet", "-am", "Both"]);
    let ran = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["judge", "merger", "merger", "one", "planner", "two"]);
}

#[test]
fn resolver_that_drops_a_branch_waits_for_person() {
    for undo in ["reset --hard", "-s ours"] {
        let (home, repo) = conflicts();
        merges(&home, "git reset -q --hard HEAD~1; git merge -q $branch >&2; echo 'I kept one side.'");
        let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
        assert_eq!(ran.code, Some(20), "{}", ran.transcript());
        assert!(ran.stderr.contains("the changes of branch `one`"), "{}", ran.stderr);
        let thread = thread_of(&ran);
        let again = uwf_in(&home, &repo, &["run", &thread]);
        assert_eq!(again.code, Some(20), "a second attempt does not accept it: {}", again.transcript());
        assert!(again.stderr.contains("the changes of branch `one`"), "{}", again.stderr);
        if undo == "-s ours" {
            let before = again.stderr.split("no longer has commit ").nth(1).and_then(|rest| rest.split(',').next());
            let worktree = worktree_of(&home, &thread);
            git(&home, &worktree, &["merge", "--quiet", "-s", "ours", "-m", "Both", before.unwrap()]);
        } else {
            follow_hint(&home, &again, undo);
            let conflict = uwf_in(&home, &repo, &["run", &thread]);
            assert_eq!(conflict.code, Some(20), "{}", conflict.transcript());
            follow_hint(&home, &conflict, "-s ours");
        }
        let ran = uwf_in(&home, &repo, &["run", &thread]);
        assert_eq!(ran.code, Some(0), "{undo}: {}", ran.transcript());
        assert_eq!(runs(&home), ["judge", "merger", "one", "planner", "two"], "{undo}");
    }
}

#[test]
fn resolver_on_another_git_branch_waits_for_person() {
    let (home, repo) = conflicts();
    merges(
        &home,
        "git checkout -q -b aside; git merge -q $branch >&2; echo both > README; git commit -qam Both; echo 'I kept both.'",
    );
    let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "Fix it."]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    assert!(ran.stderr.contains("git branch aside is checked out"), "{}", ran.stderr);
    let thread = thread_of(&ran);
    follow_hint(&home, &ran, "switch");
    git(&home, &worktree_of(&home, &thread), &["merge", "--quiet", "aside"]);
    let ran = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(fs::read_to_string(worktree_of(&home, &thread).join("README")).unwrap(), "both\n");
    assert_eq!(runs(&home), ["judge", "merger", "one", "planner", "two"]);
}
