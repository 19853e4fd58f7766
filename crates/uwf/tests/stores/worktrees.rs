//! A thread's worktree goes with it from machine to machine, by way of a git remote.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use uwf_testing::{FinishedRun, text};

use crate::team::{CONFIG, Member, REMOTE, Team};

#[test]
fn files_travel_with_thread_between_machines() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, started) = anna.start("sub");
    assert_eq!(started.stderr, "");
    let first = anna.step(
        &thread,
        "echo made > made; echo new > ../changed; rm ../deleted; echo '#!/bin/sh' > ../run; chmod +x ../run; echo no > ../own.log",
        &[],
    );
    assert_eq!((first.code, &*first.stderr), (Some(0), ""), "{}", first.stdout);
    assert_eq!(first.json()["files"]["pushedTo"], "origin");
    assert_eq!(team.tip(&thread), text(&first.json()["files"], "commit"));
    let status = anna.status(&thread);
    assert_eq!(status, " M changed\n D deleted\n?? run\n?? sub/made");

    // The agent of the other machine works where the first one did, sees what that left, and continues with it.
    let second = bert.step_in_clone(
        &thread,
        "echo more >> made; rm ../run; git add -A; git commit -qm 'by bert'; echo loose > loose",
    );
    assert_eq!((second.code, &*second.stderr), (Some(0), ""), "{}", second.stdout);
    assert_eq!(bert.read(&thread, "sub/made").as_deref(), Some("made\nmore\n"));
    assert_eq!(bert.read(&thread, "changed").as_deref(), Some("new\n"));
    assert_eq!((bert.read(&thread, "deleted"), bert.read(&thread, "own.log")), (None, None), "ignored files stay");
    assert_eq!(bert.status(&thread), "?? sub/loose");
    assert_eq!(bert.git(&bert.clone, &["status", "--porcelain"]), "", "the clone is as it was");

    let third = anna.step(&thread, "cat made; echo third > third", &[]);
    assert_eq!((third.code, &*third.stderr), (Some(0), ""), "{}", third.stdout);
    assert_eq!(anna.read(&thread, "sub/made").as_deref(), Some("made\nmore\n"));
    assert_eq!(anna.read(&thread, "run"), None, "what was deleted there is deleted here");
    assert_eq!(anna.read(&thread, "own.log").as_deref(), Some("no\n"), "what git ignores is left alone");
    assert_eq!(anna.status(&thread), "?? sub/loose\n?? sub/third");
    assert_eq!(
        anna.git(&anna.worktree(&thread), &["log", "-1", "--format=%s %D"]),
        format!("by bert HEAD -> uwf/{thread}")
    );
    assert_eq!(
        anna.git(&anna.clone, &["for-each-ref", &format!("refs/uwf/{thread}/before-*")]),
        "",
        "nothing was put aside"
    );
    assert_eq!(team.paid(), 3);

    // The directory is known by now; a worker says it with each step.
    assert_eq!(bert.step_in_clone(&thread, "cat third").code, Some(0));
    assert_eq!(bert.step(&thread, "cat third", &[]).code, Some(0));
    assert_eq!(anna.git(&team.remote(), &["log", "--format=%s", "main"]), "first", "no other branch moves");
}

#[test]
fn arriving_worktree_is_set_up() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    anna.step(&thread, "echo made > made", &[]).json();
    fs::write(bert.clone.join(".worktreeinclude"), "own.log\n").unwrap();
    fs::write(bert.clone.join("own.log"), "of bert\n").unwrap();
    let second = bert.step_in_clone(&thread, "cat made own.log");
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    assert_eq!(second.json()["setup"]["copied"], json!(["own.log"]));
    assert_eq!(bert.read(&thread, "own.log").as_deref(), Some("of bert\n"));
}

#[test]
fn executables_symlinks_and_working_directory_travel_too() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    anna.step(&thread, "printf '#!/bin/sh\\necho ran' > tool; chmod +x tool; ln -s tool link", &[]).json();
    bert.step_in_clone(&thread, "./link > out").json();
    assert_eq!(bert.read(&thread, "out").as_deref(), Some("ran\n"));
    let mode = fs::metadata(bert.worktree(&thread).join("tool")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    let (thread, _) = anna.start("sub");
    // Nobody has stepped it yet: what it begins with was pushed as it began.
    bert.step_in_clone(&thread, "cat kept").json();
    let shown = bert.machine.json(&["thread", "show", &thread]);
    assert_eq!(shown["workspace"], json!(bert.worktree(&thread).join("sub")));
    assert_eq!(shown["worktree"]["base"], json!(anna.git(&anna.clone, &["rev-parse", "HEAD"])));
}

#[test]
fn failed_push_keeps_step_and_is_retried() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    let hook = team.remote().join("hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\necho no room >&2\nexit 1\n").unwrap();
    fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    let first = anna.step(&thread, "echo 1 > one", &[]);
    assert_eq!(first.code, Some(0));
    assert!(first.stderr.starts_with("warning: the step is done, but its files were not pushed"), "{}", first.stderr);
    assert!(first.stderr.contains("no room"), "{}", first.stderr);
    assert!(text(&first.json()["files"], "notPushed").contains("pre-receive hook declined"), "{}", first.stdout);

    // Nobody is paid for work on old files.
    let refused = bert.step_in_clone(&thread, "echo 2 > two");
    assert_eq!(refused.code, Some(75), "{}", refused.stderr);
    assert!(refused.stderr.contains("on machine `anna`"), "{}", refused.stderr);
    assert!(refused.stderr.contains("not at `origin`"), "{}", refused.stderr);
    assert_eq!(team.paid(), 1);

    // What the error says to do helps.
    fs::remove_file(&hook).unwrap();
    let command = refused.json_error_hint("git -C ");
    let mut push = Command::new("sh");
    anna.machine.home.prepare(&mut push);
    assert!(push.arg("-c").arg(&command).output().unwrap().status.success(), "{command}");
    assert_eq!(bert.step_in_clone(&thread, "cat one; echo 2 > two").code, Some(0));

    // So does the next step on the same machine.
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(bert.step(&thread, "echo 3 > three", &[]).code, Some(0));
    assert_eq!(anna.step(&thread, "cat three", &[]).code, Some(75));
    fs::remove_file(&hook).unwrap();
    assert_eq!(bert.step(&thread, "echo 4 > four", &[]).stderr, "");
    assert_eq!(anna.step(&thread, "cat two three four", &[]).code, Some(0));
    assert_eq!(team.paid(), 5);
}

#[test]
fn a_remote_that_is_gone_is_named() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    anna.step(&thread, "echo 1 > one", &[]).json();
    let aside = team.dir.path().join("aside");
    fs::rename(team.remote(), &aside).unwrap();
    let refused = bert.step_in_clone(&thread, ":");
    assert_eq!(refused.code, Some(75), "{}", refused.stderr);
    assert!(refused.stderr.contains("cannot fetch from `origin`"), "{}", refused.stderr);
    let stands = anna.step(&thread, "echo 2 > two", &[]);
    assert_eq!(stands.code, Some(0));
    assert!(text(&stands.json()["files"], "notPushed").contains("remote.git"), "{}", stands.stdout);
    let (other, started) = anna.start("");
    assert!(started.stderr.contains("the thread has begun, but its files were not pushed"), "{}", started.stderr);
    fs::rename(aside, team.remote()).unwrap();
    anna.step(&other, ":", &[]).json();
    bert.step_in_clone(&other, ":").json();
    assert_eq!(team.paid(), 4);
}

#[test]
fn keeper_killed_after_push_blocks_nothing() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    // Once the files are at the remote, its keeper dies: the head has not moved.
    let git = uwf_engine::attempt::program::find("git").expect("git is installed");
    let kill =
        format!("#!/bin/sh\n{} \"$@\" || exit\ncase \"$*\" in *porcelain*) kill -9 $PPID;; esac\n", git.display());
    anna.machine.home.script("git", &kill);
    let killed = anna.step(&thread, "echo anna > who", &[]);
    assert_eq!(killed.code, Some(70), "{}", killed.stderr);
    fs::remove_file(anna.machine.home.bin_dir().join("git")).unwrap();
    let abandoned = team.tip(&thread);
    // The other machine takes the step over with its files, and nobody is paid again.
    let adopted = bert.step_in_clone_when_free(&thread, "exit 1");
    assert_eq!(adopted["adopted"], json!(true), "{adopted}");
    assert_eq!((bert.read(&thread, "who").as_deref(), team.paid()), (Some("anna\n"), 1));
    bert.git(&team.remote(), &["merge-base", "--is-ancestor", &abandoned, &team.tip(&thread)]);
    let back = anna.step(&thread, "cat who", &[]);
    assert_eq!((back.code, &*back.stderr), (Some(0), ""), "{}", back.stdout);

    // Where the claim is lost, too, the other machine does the step itself, on the files that the head has.
    anna.machine.home.script("git", &kill);
    assert_eq!(anna.step(&thread, "echo lost > lost", &[]).code, Some(70));
    fs::remove_file(anna.machine.home.bin_dir().join("git")).unwrap();
    let abandoned = team.tip(&thread);
    team.server.remove("team", &format!("notes/attempt.{thread}.json"));
    let other = bert.step(&thread, "test ! -e lost; echo bert > who; echo x > only-here", &[]);
    assert_eq!((other.code, &*other.stderr), (Some(0), ""), "{}", other.stdout);
    bert.git(&team.remote(), &["merge-base", "--is-ancestor", &abandoned, &team.tip(&thread)]);
    // Both may have come to the same node: then the files are those of the machine whose step counts.
    let head = bert.machine.head(&thread);
    anna.git(&anna.clone, &["update-ref", &format!("refs/uwf/{thread}/{head}"), &abandoned]);
    // Back there the files are those of the head, and what was recorded of the lost step is still in the repository.
    let back = anna.step(&thread, "cat only-here", &[]);
    assert_eq!((back.code, &*back.stderr), (Some(0), ""), "{}", back.stdout);
    assert_eq!(anna.read(&thread, "who").as_deref(), Some("bert\n"));
    assert_eq!(anna.git(&anna.clone, &["show", &format!("{abandoned}:lost")]), "lost");
    assert_eq!(team.paid(), 5);

    // On the same machine the step is taken over, with the commit that is at the remote.
    anna.machine.home.script("git", &kill);
    assert_eq!(anna.step(&thread, "echo again > again", &[]).code, Some(70));
    fs::remove_file(anna.machine.home.bin_dir().join("git")).unwrap();
    let pushed = team.tip(&thread);
    let taken = anna.step(&thread, "exit 1", &[]).json();
    assert_eq!((&taken["adopted"], &taken["files"]["commit"]), (&json!(true), &json!(pushed)));
    assert_eq!(team.tip(&thread), pushed);
    assert_eq!(team.paid(), 6);
}

#[test]
fn unrecorded_files_are_set_aside_before_update() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    anna.step(&thread, "echo 1 > one", &[]).json();
    bert.step_in_clone(&thread, "echo 2 > two").json();
    fs::write(anna.worktree(&thread).join("mine"), "by hand\n").unwrap();
    anna.step(&thread, "test ! -e mine; cat two", &[]).json();
    let kept = anna.git(&anna.clone, &["for-each-ref", "--format=%(refname)", &format!("refs/uwf/{thread}/before-*")]);
    assert_eq!(anna.git(&anna.clone, &["show", &format!("{kept}:mine")]), "by hand");

    // A commit that only this machine has is for its author to bring along.
    bert.step(&thread, "echo 4 > four", &[]).json();
    let worktree = anna.worktree(&thread);
    anna.git(&worktree, &["commit", "--quiet", "--allow-empty", "-m", "by hand"]);
    let refused = anna.step(&thread, "cat four", &[]);
    assert_eq!(refused.code, Some(64), "{}", refused.stderr);
    assert!(
        refused.stderr.contains(&format!("uwf/{thread} in {} has commits", worktree.display())),
        "{}",
        refused.stderr
    );
    let shown = refused.json_error_hint("git -C ");
    assert!(shown.ends_with("branch NAME"), "{shown}");
    anna.git(&worktree, &["branch", "mine"]);
    anna.git(&worktree, &["reset", "--quiet", "--hard", "HEAD^"]);
    anna.step(&thread, "cat four", &[]).json();
    assert_eq!(team.paid(), 5);
}

#[test]
fn branch_pushed_by_others_is_never_overwritten() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    anna.step(&thread, "echo 1 > one", &[]).json();
    let branch = format!("uwf/{thread}");
    bert.git(&bert.clone, &["fetch", "--quiet", "origin", &branch]);
    bert.git(&bert.clone, &["checkout", "--quiet", "--detach", "FETCH_HEAD"]);
    bert.git(&bert.clone, &["commit", "--quiet", "--allow-empty", "-m", "by a person"]);
    bert.git(&bert.clone, &["push", "--quiet", "origin", &format!("HEAD:refs/heads/{branch}")]);
    let theirs = team.tip(&thread);
    let stands = anna.step(&thread, "echo 2 > two", &[]);
    assert_eq!(stands.code, Some(0));
    let why = text(&stands.json()["files"], "notPushed");
    assert_eq!(why, format!("branch {branch} of `origin` has commits that uwf did not push"));
    assert_eq!(team.tip(&thread), theirs);
}

#[test]
fn thread_without_remote_names_its_machine() {
    let team = Team::new(["", "", REMOTE]);
    let [anna, bert, carl] = &team.members[..] else { panic!("three machines") };
    let (thread, _) = anna.start("sub");
    anna.step(&thread, "echo 1 > one", &[]).json();
    let refused = bert.step(&thread, ":", &[]);
    assert_eq!(refused.code, Some(75), "{}", refused.stderr);
    let place = anna.worktree(&thread).join("sub");
    let says = format!("thread {thread} works in {} on machine `anna`", place.display());
    assert!(refused.stderr.contains(&says), "{}", refused.stderr);
    assert_eq!(bert.machine.uwf(&["thread", "step", &thread, "--dry-run"]).code, Some(75));
    assert_eq!(bert.machine.json(&["thread", "show", &thread])["steps"], 1, "whoever only looks may");

    // One that would fetch them finds no branch.
    let missing = carl.step_in_clone(&thread, ":");
    assert_eq!(missing.code, Some(75), "{}", missing.stderr);
    assert!(missing.stderr.contains("on machine `anna`"), "{}", missing.stderr);

    // A thread without a worktree says so, and works in the given directory.
    let plain = anna.machine.start();
    let refused = bert.step(&plain, ":", &[]);
    let says = format!("thread {plain} works in {} on machine `anna`", anna.machine.home.work().display());
    assert!(refused.stderr.contains(&says), "{}", refused.stderr);
    bert.machine.step(&plain);
    let refused = carl.step(&plain, ":", &[]);
    assert!(refused.stderr.contains("on machine `bert`"), "{}", refused.stderr);

    // Once it continued elsewhere, its old worktree is not used.
    bert.step_in_clone(&thread, ":").json();
    let refused = anna.step(&thread, ":", &[]);
    assert_eq!(refused.code, Some(75), "{}", refused.stderr);
    assert!(refused.stderr.contains("on machine `bert`"), "{}", refused.stderr);
    assert_eq!(team.paid(), 3);
}

#[test]
fn person_answers_on_other_machine_with_files() {
    let asked = format!("{REMOTE}agentOverrides: {{ count-rounds: {{ worker: human }} }}\n");
    let team = Team::new([REMOTE, &asked]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let config = format!("{CONFIG}{asked}").replacen("agents:\n", "agents:\n  human: { command: uwf-human }\n", 1);
    bert.machine.home.config(&config);
    let (thread, _) = anna.start("");
    anna.step(&thread, "echo 1 > one", &[]).json();
    let answer = ["thread", "answer", &thread, "--data", "{\"n\": 5}"];
    let refused = bert.machine.uwf(&answer);
    assert_eq!(refused.code, Some(75), "{}", refused.stderr);
    let clone = bert.clone.to_str().unwrap();
    let answered = bert.machine.json(&[&answer[..], &["--cwd", clone]].concat());
    assert_eq!(answered["files"]["pushedTo"], "origin");
    assert_eq!(bert.read(&thread, "one").as_deref(), Some("1\n"));
    fs::write(bert.worktree(&thread).join("noted"), "by bert\n").unwrap();
    bert.machine.json(&answer);
    anna.step(&thread, "cat one noted", &[]).json();
    assert_eq!(team.paid(), 2);
}

#[test]
fn thread_shows_which_machine_has_it() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("sub");
    let shown = bert.machine.json(&["thread", "show", &thread]);
    assert_eq!(shown["worksOn"]["machine"], "anna");
    let text = bert.machine.uwf(&["thread", "show", &thread, "--format", "text"]).stdout;
    assert!(text.contains(&format!("works on:  anna, in {}", anna.worktree(&thread).join("sub").display())), "{text}");
    anna.machine.json(&["thread", "kill", &thread]);
    anna.machine.json(&["thread", "rm", &thread, "--discard"]);
    assert_eq!(anna.machine.later(0, &["thread", "list", "--all"]), json!([]));
}

#[test]
fn files_that_another_machine_made_are_compared_here() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    for work in ["echo one > made", "echo two > made"] {
        assert_eq!(anna.step(&thread, work, &[]).code, Some(0));
    }
    let compared = |member: &Member, dir: &Path| -> FinishedRun {
        let mut diff = member.machine.command(&["thread", "diff", &thread, "--files", "--format", "json"]);
        diff.current_dir(dir).output().unwrap().into()
    };
    let there = compared(anna, &anna.clone).json()["files"].clone();
    assert_eq!(there["changed"][0]["path"], json!("made"), "{there}");
    assert_eq!(compared(bert, &bert.clone).json()["files"], there);
    // Where no repository is, none can have them.
    let nowhere = compared(bert, &bert.machine.home.work());
    assert_eq!(nowhere.code, Some(69), "{}", nowhere.stderr);
    assert!(nowhere.stderr.contains("run this in the repository"), "{}", nowhere.stderr);
    // One that has worked on the thread fetches what the other did after that.
    assert_eq!(bert.step_in_clone(&thread, "echo three > made").code, Some(0));
    assert_eq!(anna.step(&thread, "echo four > made", &[]).code, Some(0));
    assert_eq!(compared(bert, &bert.machine.home.work()).json()["files"], compared(anna, &anna.clone).json()["files"]);
}

#[test]
fn fork_takes_files_along_and_travels() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    anna.step(&thread, "echo 1 > one", &[]).json();
    anna.step(&thread, "echo 2 > two", &[]).json();
    let fork = text(&anna.machine.json(&["thread", "fork", &thread, "--from-role", "worker"]), "thread");
    bert.step_in_clone(&fork, "cat one; test ! -e two; echo 3 > three").json();
    anna.step(&fork, "cat one three", &[]).json();
    anna.step(&thread, "cat two; test ! -e three", &[]).json();
    // What the other machine did since can be forked here, too.
    bert.step_in_clone(&thread, "echo 4 > four").json();
    let fork = text(&anna.machine.json(&["thread", "fork", &thread]), "thread");
    assert_eq!(anna.read(&fork, "four").as_deref(), Some("4\n"));
}

#[test]
fn a_merge_brings_in_what_another_machine_did() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    anna.step(&thread, "echo 1 > one; git add -A; git commit -qm one", &[]).json();
    bert.step_in_clone(&thread, "echo 2 > two").json();
    bert.machine.json(&["thread", "kill", &thread]);
    let args = ["thread", "merge", &thread];
    let merged: FinishedRun = anna.machine.command(&args).current_dir(&anna.clone).output().unwrap().into();
    assert_eq!(merged.json()["committed"], 1);
    assert_eq!(fs::read_to_string(anna.clone.join("two")).unwrap(), "2\n");
    assert_eq!(anna.git(&anna.clone, &["log", "--format=%s", "-3"]), "count\none\nfirst");
}

#[test]
fn a_directory_that_is_no_clone_is_refused() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    let refused = bert.step(&thread, ":", &["--cwd", bert.machine.home.work().to_str().unwrap()]);
    assert_eq!(refused.code, Some(64), "{}", refused.stderr);
    assert!(refused.stderr.contains("is not in a git repository"), "{}", refused.stderr);
    assert_eq!(bert.step(&thread, ":", &[]).code, Some(75), "nothing was kept of it");
    assert_eq!(team.paid(), 0);
}

#[test]
fn thread_without_its_files_does_not_move() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    anna.step(&thread, "echo 1 > one", &[]).json();
    // The remote is away for a moment.
    let (remote, away) = (team.remote(), team.dir.path().join("away"));
    fs::rename(&remote, &away).unwrap();
    assert_eq!(bert.step_in_clone(&thread, "touch done").code, Some(75));
    fs::rename(&away, &remote).unwrap();
    // Another directory is no reason to continue without the files: neither one that is no clone nor one of another repository.
    let work = bert.machine.home.work();
    let other = work.join("other");
    bert.git(&work, &["init", "--quiet", "other"]);
    bert.git(&other, &["commit", "--quiet", "--allow-empty", "-m", "other"]);
    for (dir, code) in [(&work, 64), (&other, 75)] {
        let refused = bert.step(&thread, "touch done", &["--cwd", dir.to_str().unwrap()]);
        assert_eq!(refused.code, Some(code), "{}", refused.stderr);
        assert!(!dir.join("done").exists());
    }
    assert_eq!(bert.machine.json(&["thread", "show", &thread])["worksOn"]["machine"], "anna");
    anna.step(&thread, "cat one", &[]).json();
    // A second clone does as well as the first; from then on the worktree is where it works.
    bert.git(&work, &["clone", "--quiet", remote.to_str().unwrap(), "second"]);
    let second = work.join("second");
    bert.step(&thread, "cat one; echo 2 > two", &["--cwd", second.to_str().unwrap()]).json();
    assert_eq!(bert.git(&second, &["status", "--porcelain"]), "");
    let refused = bert.step(&thread, "touch done", &["--cwd", work.to_str().unwrap()]);
    assert_eq!(refused.code, Some(64), "{}", refused.stderr);
    assert!(refused.stderr.contains("has files in its worktree"), "{}", refused.stderr);
    assert!(!work.join("done").exists());
    anna.step(&thread, "cat one two", &[]).json();
    assert_eq!(team.paid(), 4);
}

#[test]
fn new_machine_forks_thread_with_its_files() {
    let team = Team::new([REMOTE, REMOTE, ""]);
    let [anna, bert, carl] = &team.members[..] else { panic!("three machines") };
    let (thread, _) = anna.start("sub");
    anna.step(&thread, "echo 1 > one", &[]).json();
    let forked = bert.in_clone(&["thread", "fork", &thread]).json();
    let fork = text(&forked, "thread");
    assert_eq!(bert.read(&fork, "sub/one").as_deref(), Some("1\n"));
    bert.step(&fork, "cat one; echo 2 > two", &[]).json();
    anna.step_in_clone(&fork, "cat two").json();
    // Where the files can't come from, it says so.
    let refused = carl.in_clone(&["thread", "fork", &thread]);
    assert_eq!(refused.code, Some(75), "{}", refused.stderr);
    assert!(refused.stderr.contains("has its files on machine `anna`"), "{}", refused.stderr);
    let elsewhere: FinishedRun = bert.machine.uwf(&["thread", "fork", &thread]);
    assert_eq!(elsewhere.code, Some(64), "{}", elsewhere.stderr);
    // Someone who names a directory wants that one.
    let plain = carl.in_clone(&["thread", "fork", &thread, "--cwd", "."]).json();
    assert!(plain.get("worktree").is_none_or(Value::is_null), "{plain}");
}

#[test]
fn new_machine_merges_files_of_thread() {
    let team = Team::new([REMOTE, REMOTE, ""]);
    let [anna, bert, carl] = &team.members[..] else { panic!("three machines") };
    let (thread, _) = anna.start("");
    anna.step(&thread, "echo 1 > one; git add -A; git commit -qm one; echo 2 > two", &[]).json();
    let refused = carl.in_clone(&["thread", "merge", &thread]);
    assert_eq!(refused.code, Some(75), "{}", refused.stderr);
    assert!(refused.stderr.contains("has its files on machine `anna`"), "{}", refused.stderr);
    let merged = bert.in_clone(&["thread", "merge", &thread]).json();
    assert_eq!(merged["committed"], 1);
    assert_eq!(bert.git(&bert.clone, &["log", "--format=%s", "-3"]), "count\none\nfirst");
    assert_eq!(fs::read_to_string(bert.clone.join("two")).unwrap(), "2\n");
    // A merge is not a step: the thread continues where it was.
    anna.step(&thread, "cat two", &[]).json();
    assert_eq!(team.paid(), 2);
}

#[test]
fn interrupted_file_transfer_is_repeated() {
    let team = Team::new([REMOTE, REMOTE]);
    let [anna, bert] = &team.members[..] else { panic!("two machines") };
    let (thread, _) = anna.start("");
    anna.step(&thread, "echo 1 > one; rm deleted", &[]).json();
    let git = uwf_engine::attempt::program::find("git").expect("git is installed");
    let die_at = |what: &str| {
        format!("#!/bin/sh\ncase \"$*\" in *'{what}'*) kill -9 $PPID; exit 1;; esac\nexec {} \"$@\"\n", git.display())
    };
    for what in ["fetch", "worktree add", "read-tree --reset -u", "update-ref refs/uwf/"] {
        bert.machine.home.script("git", &die_at(what));
        let killed = bert.step_in_clone(&thread, ":");
        assert_eq!(killed.code, Some(70), "{what}: {}", killed.stderr);
    }
    fs::remove_file(bert.machine.home.bin_dir().join("git")).unwrap();
    bert.step_in_clone(&thread, "test ! -e deleted; cat one; echo 2 > two").json();
    assert_eq!(bert.status(&thread), " D deleted\n?? one\n?? two");
    for what in ["add --all", "read-tree --reset -u", "symbolic-ref", "read-tree --reset"] {
        anna.machine.home.script("git", &die_at(what));
        let killed = anna.step(&thread, ":", &[]);
        assert_eq!(killed.code, Some(70), "{what}: {}", killed.stderr);
    }
    fs::remove_file(anna.machine.home.bin_dir().join("git")).unwrap();
    anna.step(&thread, "cat one two", &[]).json();
    assert_eq!(anna.status(&thread), " D deleted\n?? one\n?? two");
    assert_eq!(team.paid(), 3);
}

pub(crate) trait Hints {
    /// What the hint of an error names between backquotes or after a colon, from this text on.
    fn json_error_hint(&self, from: &str) -> String;
}

impl Hints for FinishedRun {
    fn json_error_hint(&self, from: &str) -> String {
        let error: Value = self.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).next_back().unwrap();
        let hints = error["error"]["hints"].as_array().unwrap().iter().filter_map(Value::as_str);
        let found = hints.filter_map(|hint| hint.split_once(from)).next().expect("a hint has it").1;
        format!("{from}{}", found.split('`').next().unwrap())
    }
}
