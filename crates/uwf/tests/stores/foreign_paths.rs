//! What another member of a team writes into the shared store or pushes to the git remote, to get at the files of this machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use uwf_testing::FinishedRun;

use crate::team::{Member, REMOTE, Team};

/// Directories out of a worktree, and those in which git keeps its own files.
const OUTSIDE: [&str; 7] = ["..", "../..", "../../.env", "../../../target", "sub/../../..", ".git/hooks", "sub/.git"];

/// What is in the storage root of a machine, without what each step makes: locks and caches.
fn root_of(member: &Member) -> Vec<String> {
    let entries = fs::read_dir(member.machine.home.root()).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !["threads", "cache"].contains(&&**name));
    names.sort();
    names
}

fn rewrite(team: &Team, note: &str, change: impl Fn(&mut Value)) {
    team.server.rewrite("team", &format!("notes/{note}.json"), |text| {
        let mut said: Value = serde_json::from_str(text).unwrap();
        change(&mut said["value"]);
        said.to_string()
    });
}

/// That a machine was asked to work on it, and did nothing.
fn refused(member: &Member, ran: &FinishedRun, code: i32, says: &str, before: &[String]) {
    assert_eq!(ran.code, Some(code), "{}", ran.stderr);
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
    assert_eq!(root_of(member), before, "{}", ran.stderr);
}

#[test]
fn a_note_names_no_directory_outside_the_worktree() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    anna.step(&thread, "echo 1 > one", &[]).json();
    bert.machine.json(&["thread", "list"]);
    let before = root_of(bert);
    let absolute = team.dir.path().to_str().unwrap();
    for inside in OUTSIDE.into_iter().chain([absolute, "/"]) {
        rewrite(&team, &format!("workspace.{thread}"), |note| note["worktree"]["inside"] = json!(inside));
        let ran = bert.step_in_clone(&thread, "echo done > done");
        refused(bert, &ran, 65, "is not a directory inside the worktree", &before);
        let forked = bert.in_clone(&["thread", "fork", &thread]);
        refused(bert, &forked, 65, "is not a directory inside the worktree", &before);
    }
    for base in ["--upload-pack=touch x", "HEAD", "", "refs/heads/main"] {
        rewrite(&team, &format!("workspace.{thread}"), |note| {
            note["worktree"] = json!({ "base": base, "inside": "", "repository": "/x" });
        });
        refused(bert, &bert.step_in_clone(&thread, ":"), 65, "is not the name of a commit", &before);
    }
    bert.machine.json(&["gc"]);
    assert_eq!(team.paid(), 1);
    // Its own machine has the files, and says so again.
    anna.step(&thread, "cat one", &[]).json();
}

#[test]
fn a_commit_names_no_directory_outside_the_worktree() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    let step = anna.step(&thread, "echo 1 > one", &[]).json()["head"].as_str().unwrap().to_owned();
    let (branch, honest) = (format!("refs/heads/uwf/{thread}"), team.tip(&thread));
    let message = anna.git(&team.remote(), &["show", "--no-patch", "--format=%B", &honest]);
    let push = |message: &str| {
        let tree = format!("{honest}^{{tree}}");
        let commit = anna.git(&anna.clone, &["commit-tree", &tree, "-p", &honest, "-m", message]);
        anna.git(&anna.clone, &["push", "--quiet", "--force", "origin", &format!("{commit}:{branch}")]);
        commit
    };
    let before = root_of(bert);
    for inside in OUTSIDE.into_iter().chain(["/"]) {
        push(&format!("{message}\nUwf-Directory: {inside}\n"));
        let ran = bert.step_in_clone(&thread, "echo done > done");
        refused(bert, &ran, 65, "its message names", &before);
        // The same as a ref of the clone, from which a step can be forked.
        let own = format!("refs/uwf/{thread}/{step}");
        bert.git(&bert.clone, &["fetch", "--quiet", "--force", "origin", &format!("{branch}:{own}")]);
        refused(bert, &bert.in_clone(&["thread", "fork", &step]), 65, "its message names", &before);
        bert.git(&bert.clone, &["update-ref", "-d", &own]);
    }
    let other_head = message.replace("Uwf-Head: ", "Uwf-Head: --output=/tmp/");
    push(&other_head);
    refused(bert, &bert.step_in_clone(&thread, ":"), 65, "its message names", &before);
    assert_eq!(team.paid(), 1);
}

#[test]
fn symlink_cannot_lead_agent_out_of_worktree() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("sub");
    let target = team.dir.path().join("target");
    fs::create_dir(&target).unwrap();
    let leave = format!("cd ..; rm -r sub; ln -s {} sub", target.display());
    anna.step(&thread, &leave, &[]).json();
    for (member, ran) in
        [(anna, anna.step(&thread, "touch done", &[])), (bert, bert.step_in_clone(&thread, "touch done"))]
    {
        assert_eq!(ran.code, Some(65), "{}", ran.stderr);
        assert!(ran.stderr.contains("because of a symbolic link"), "{}", ran.stderr);
        assert!(!Path::new(&member.machine.home.work()).join("done").exists());
    }
    assert_eq!((fs::read_dir(&target).unwrap().count(), team.paid()), (0, 1));
    // A link that stays inside is a directory like any other.
    let worktree = anna.worktree(&thread);
    fs::remove_file(worktree.join("sub")).unwrap();
    fs::create_dir(worktree.join("real")).unwrap();
    symlink("real", worktree.join("sub")).unwrap();
    anna.step(&thread, "touch done", &[]).json();
    assert!(worktree.join("real/done").exists());
}

#[test]
fn names_and_numbers_of_other_machines_are_tamed() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    anna.step(&thread, ":", &[]).json();
    let name = format!("\u{1b}[2J\u{1b}]0;x\u{7}evil\n\u{9b}31m{}", "x".repeat(500));
    rewrite(&team, &format!("workspace.{thread}"), |note| note["machine"] = json!(name));
    let ran = bert.step(&thread, ":", &[]);
    assert_eq!(ran.code, Some(75), "{}", ran.stderr);
    assert!(ran.stderr.contains("on machine `evil"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(['\u{1b}', '\u{7}', '\u{9b}']) && ran.stderr.len() < 900, "{:?}", ran.stderr);
    // A claim that would hold for ever, of an attempt that nobody closes.
    rewrite(&team, &format!("attempt.{thread}"), |note| {
        note["lease"] = json!(1_u64 << 63);
        note["elapsed"] = json!(u64::MAX);
        note["machine"] = json!(name);
        note["lines"].as_array_mut().unwrap().retain(|line| line["event"] == "opened");
    });
    for machine in [anna, bert] {
        machine.machine.json(&["gc"]);
        machine.machine.json(&["ps"]);
        machine.machine.json(&["thread", "list"]);
    }
}

#[test]
fn invalid_note_names_are_harmless() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    for kind in ["workspace.", "attempt.", "paused.", ""] {
        for name in ["a b", "\u{2028}", "x/y", &"n".repeat(300)] {
            let known = format!("notes/workspace.{thread}.json");
            team.server.copy("team", &known, &format!("notes/{kind}{name}.json"));
        }
    }
    for member in [anna, bert] {
        for command in [&["gc"][..], &["thread", "list", "--all"], &["ps"], &["recover", "--dry-run"], &["doctor"]] {
            let ran = member.machine.uwf(command);
            assert_eq!(ran.code, Some(0), "{command:?}: {}", ran.stderr);
        }
    }
    anna.step(&thread, ":", &[]).json();
}
