//! Roles that play others at the same time, when their thread moves to another machine.

use std::process::{Command, Stdio};

use serde_json::json;
use uwf_testing::bucket::BucketServer;
use uwf_testing::processes::until;
use uwf_testing::text;

use crate::machine::{cut_power, paid, two_machines};
use crate::team::{REMOTE, Team};
use crate::worktrees::Hints;

const WORKFLOW: &str = "name: count-all
description: counts every item
roles:
  counter: { goal: Count., meta: { type: object, properties: { n: { type: integer } }, required: [n] } }
  counts: { play: counter, each: '[1..3]', max: 1 }
graph:
  $START: [ { role: counts } ]
  counts: [ { role: $END } ]
";

#[test]
fn group_continues_on_another_machine() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let ledger = dir.path().join("ledger");
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    for machine in [&one, &two] {
        machine
            .home
            .config("agents:\n  paid: { command: paid, output: json }\ndefaultAgent: paid\nstore: { lease: 10s }\n");
        machine.home.file("all.yaml", WORKFLOW);
    }
    one.json(&["store", "init"]);
    one.json(&["workflow", "put", "all.yaml"]);
    let thread = text(&one.json(&["thread", "start", "count-all", "-p", "Count"]), "thread");
    // The first branch is paid for and done, the power fails in the second.
    one.home.script(
        "paid",
        "#!/bin/sh\ncat > /dev/null\necho paid >> \"$LEDGER\"\n[ $(wc -l < \"$LEDGER\") = 1 ] || sleep 60\necho '{\"n\": 1}'\n",
    );
    let step = one.begin_step(&thread, 0, &ledger);
    until("the second branch is paid for", || paid(&ledger) == 2);
    cut_power(&one, step);
    let stepped = two.step_when_free(&thread);
    assert_eq!(stepped["done"], json!(true), "{stepped}");
    assert_eq!(paid(&ledger), 4, "only the branch that was at work is played again");
    let output = two.json(&["thread", "eval", &thread, "$count($last('counts'))"]);
    assert_eq!(output, json!(3));
    assert_eq!(one.json(&["thread", "show", &thread])["state"], json!("completed"));
}

#[test]
fn dry_run_of_group_works_on_another_machine() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    for machine in [&one, &two] {
        machine.home.config("agents:\n  paid: { command: paid, output: json }\ndefaultAgent: paid\n");
    }
    one.home.file("all.yaml", WORKFLOW);
    one.json(&["store", "init"]);
    one.json(&["workflow", "put", "all.yaml"]);
    let thread = text(&one.json(&["thread", "start", "count-all", "-p", "Count woolly sheep"]), "thread");
    let shown = two.json(&["thread", "step", &thread, "--dry-run", "--cwd-if-unknown", "."]);
    let prompt = text(&shown, "prompt");
    assert!(prompt.contains("branch `3`: the prompt of role `counter`") && prompt.contains("woolly"), "{prompt}");
    let refused = two.uwf(&["thread", "step", &thread, "--dry-run"]);
    assert_eq!(refused.code, Some(75), "a dry run keeps no directory: {}", refused.stderr);
}

/// Two machines, a thread of the first whose branches each write a file of their own, and what a branch does; `also` is added to it.
fn in_worktrees(also: &str) -> (Team, String, String) {
    let team = Team::new([REMOTE, REMOTE]);
    let workflow = WORKFLOW
        .replace("roles:\n", "workspace: worktree\nroles:\n")
        .replace("max: 1 }", "max: 1, files: worktree, merge: sequence }");
    for member in &team.members {
        member.machine.home.file("all.yaml", &workflow);
    }
    let anna = &team.members[0];
    anna.machine.json(&["workflow", "put", "all.yaml"]);
    let started = anna.in_clone(&["thread", "start", "count-all", "-p", "Count"]);
    assert_eq!(started.code, Some(0), "{}", started.stderr);
    let thread = text(&started.json(), "thread");
    let work = format!(
        "echo $UWF_ITEM > made-$UWF_ITEM{also}; if [ -n \"$POWER_FAILS\" ] && [ $(wc -l < \"$LEDGER\") = 2 ]; then sleep 60; fi"
    );
    (team, thread, work)
}

#[test]
fn worktrees_of_branches_continue_on_another_machine() {
    let (team, thread, work) = in_worktrees("");
    let (thread, work) = (thread.as_str(), work.as_str());
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    // The files of the first branch are at the remote, the power fails in the second.
    let mut step = anna.machine.command(&["thread", "step", thread]);
    let step = step.env("WORK", work).env("POWER_FAILS", "yes").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    until("the second branch is paid for", || team.paid() == 2);
    cut_power(&anna.machine, step.unwrap());
    let stepped = bert.step_in_clone_when_free(thread, work);
    assert_eq!(stepped["done"], json!(true), "{stepped}");
    assert_eq!(team.paid(), 4, "only the branch that was at work is played again");
    for item in ["1", "2", "3"] {
        assert_eq!(bert.read(thread, &format!("made-{item}")), Some(format!("{item}\n")), "the files of all branches");
    }
    assert_eq!(bert.status(thread), "");
    let tip = team.tip(thread);
    assert_eq!(
        bert.git(&bert.worktree(thread), &["rev-parse", "HEAD^{tree}"]),
        bert.git(&team.remote(), &["rev-parse", &format!("{tip}^{{tree}}")])
    );
}

#[test]
fn conflict_of_branches_is_resolved_on_another_machine() {
    let (team, thread, work) = in_worktrees("; echo $UWF_ITEM > changed");
    let (thread, work) = (thread.as_str(), work.as_str());
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let waits = anna.step(thread, work, &[]);
    assert_eq!(waits.code, Some(20), "{}", waits.stderr);
    assert!(waits.stderr.contains("changed"), "{}", waits.stderr);
    let there = bert.step_in_clone(thread, work);
    assert_eq!(there.code, Some(20), "{}", there.stderr);
    assert_eq!(team.paid(), 3, "no branch is played again");
    for branch in ["2", "3"] {
        let waits = bert.step_in_clone(thread, work);
        assert_eq!(waits.code, Some(20), "{}", waits.stderr);
        assert!(waits.stderr.contains(&format!("branch `{branch}`")), "{}", waits.stderr);
        let command = waits.json_error_hint("git -C ");
        let resolve = format!(
            "{command} || true; cd {}; echo {branch} > changed; git add -A; git commit -qm resolved",
            bert.worktree(thread).display()
        );
        let mut shell = Command::new("sh");
        bert.machine.home.prepare(&mut shell);
        let ran = uwf_testing::FinishedRun::from(shell.args(["-c", &resolve]).output().unwrap());
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.stderr);
    }
    let done = bert.step_in_clone(thread, work);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(team.paid(), 3);
    assert_eq!(bert.read(thread, "changed").as_deref(), Some("3\n"));
    assert_eq!(bert.read(thread, "made-1").as_deref(), Some("1\n"));
}
