//! What each step of a thread with a worktree records of its files, and forks that begin with them.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{TestHome, text};

use crate::fixtures::repository::{git, git_that_first, home_with_repository, real_git, start_in_worktree, uwf_in};
use crate::fixtures::review::{hashes, step};

/// Names of the files in a tree.
fn files_of(home: &TestHome, repo: &Path, tree: &str) -> Vec<String> {
    git(home, repo, &["ls-tree", "-r", "--name-only", tree]).lines().map(str::to_owned).collect()
}

/// Forks, standing in a directory; the new thread, and where it works.
fn fork(home: &TestHome, dir: &Path, args: &[&str]) -> (String, PathBuf) {
    let forked = uwf_in(home, dir, &[&["thread", "fork"], args].concat()).json();
    let thread = text(&forked, "thread");
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(shown["worktree"], forked["worktree"]);
    (thread, PathBuf::from(text(&shown, "workspace")))
}

#[test]
fn steps_record_files_without_touching_index_or_branch() {
    let home = home_with_repository(9);
    let repo = home.work().join("repo");
    fs::write(repo.join("kept.log"), "tracked, though it is ignored\n").unwrap();
    git(&home, &repo, &["add", "-f", "kept.log"]);
    git(&home, &repo, &["commit", "--quiet", "-m", "a log"]);
    let (thread, worktree) = start_in_worktree(&home, &repo);
    fs::write(worktree.join("other.log"), "ignored\n").unwrap();
    fs::write(worktree.join("staged"), "staged\n").unwrap();
    git(&home, &worktree, &["add", "staged"]);
    let index = fs::read(repo.join(".git/worktrees").join(&thread).join("index")).unwrap();
    let first = home.json(&["thread", "step", &thread]);
    let tree = text(&first["files"], "tree");
    let expected = [".gitignore", "README", "count", "kept.log", "staged", "step-1.txt", "sub/file"];
    assert_eq!(files_of(&home, &repo, &tree), expected);
    assert_eq!(fs::read(repo.join(".git/worktrees").join(&thread).join("index")).unwrap(), index);
    assert_eq!(git(&home, &worktree, &["rev-list", "--count", "HEAD"]), "2", "nothing was committed on the branch");
    assert_eq!(git(&home, &worktree, &["diff", "--cached", "--name-only"]), "staged");
    assert_eq!(git(&home, &repo, &["status", "--porcelain"]), "");

    let second = home.json(&["thread", "step", &thread]);
    let commit = text(&second["files"], "commit");
    assert_eq!(git(&home, &repo, &["rev-parse", &format!("{commit}^1")]), text(&first["files"], "commit"));
    let head = text(&second, "head");
    assert_eq!(git(&home, &repo, &["rev-parse", &format!("refs/uwf/{thread}/{head}")]), commit);
    let message = git(&home, &repo, &["show", "--no-patch", "--format=%an: %B", &commit]);
    let base = git(&home, &repo, &["rev-parse", "HEAD"]);
    assert_eq!(
        message,
        format!("uwf: uwf: worker in thread {thread}\n\nUwf-Thread: {thread}\nUwf-Step: {head}\nUwf-Head: {base}")
    );
    git(&home, &repo, &["worktree", "remove", "--force", worktree.to_str().unwrap()]);
    git(&home, &repo, &["branch", "-D", &format!("uwf/{thread}")]);
    git(&home, &repo, &["gc", "--quiet", "--prune=now"]);
    assert_eq!(files_of(&home, &repo, &tree), expected, "it outlives git's own collection of garbage");
    let attempts = home.root().join("threads").join(&thread).join("attempts");
    let left = fs::read_dir(attempts).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir()).count();
    assert_eq!(left, 0, "no index is left");
}

#[test]
fn git_failure_does_not_lose_step() {
    let home = home_with_repository(9);
    let repo = home.work().join("repo");
    let (thread, worktree) = start_in_worktree(&home, &repo);
    git_that_first(&home, "case \"$*\" in *write-tree*) echo 'fatal: no more room' >&2; exit 128;; esac");
    let ran = home.uwf(&["thread", "step", &thread]);
    let why = "cannot record the files: git says: no more room";
    assert_eq!(ran.json()["files"], json!({ "notRecorded": why }));
    assert_eq!(ran.stderr, format!("warning: the step is done, but its files were not recorded: {why}\n"));
    let log = fs::read_to_string(home.root().join("threads").join(&thread).join("log.jsonl")).unwrap();
    assert!(log.contains("W4D8K1ZR"), "{log}");
    let run = home.uwf(&["run", &thread, "--steps", "1"]);
    assert!(run.stderr.contains("its files were not recorded"), "{}", run.stderr);
    real_git(&home);
    let third = home.json(&["thread", "step", &thread]);
    assert_eq!(home.json(&["thread", "show", &thread])["steps"], json!(3));
    let commit = text(&third["files"], "commit");
    let parents = git(&home, &repo, &["show", "--no-patch", "--format=%P", &commit]);
    assert_eq!(parents, git(&home, &repo, &["rev-parse", "HEAD"]), "there are no files before it");
    assert!(worktree.join("step-3.txt").exists());
    let nodes = hashes(&home, &thread);
    assert_snapshot!(home.steady(&home.uwf(&["thread", "fork", &thread, "--from-role", "worker"]).transcript()).replace(&nodes[2], "<step>"), @r"
    exit 69
    --- stderr
    error: the files of thread <id> at <step> were not recorded
    hint: `uwf thread fork <id> --cwd DIR` forks the conversation alone
    ");
}

#[test]
fn unaddable_files_are_left_out_and_reported() {
    let home = home_with_repository(9);
    let repo = home.work().join("repo");
    let (thread, worktree) = start_in_worktree(&home, &repo);
    fs::create_dir(worktree.join("nested")).unwrap();
    git(&home, &worktree.join("nested"), &["init", "--quiet"]);
    let ran = home.uwf(&["thread", "step", &thread]);
    let report = ran.json();
    assert!(text(&report["files"], "leftOut").contains("'nested/' does not have a commit checked out"), "{report}");
    assert!(ran.stderr.starts_with("warning: not all files of the step were recorded: "), "{}", ran.stderr);
    assert!(files_of(&home, &repo, &text(&report["files"], "tree")).contains(&"step-1.txt".to_owned()));
}

/// Git passes over such files without failing: they would go with the worktree, and nothing would say so.
#[test]
fn files_too_deep_are_reported_and_keep_worktree() {
    let home = home_with_repository(9);
    let repo = home.work().join("repo");
    let (thread, worktree) = start_in_worktree(&home, &repo);
    // The shell names directories by their whole paths, so the tree is put together of two that it can name.
    let dig = "n=$(printf 'd%.0s' $(seq 200)); dig() { for i in $(seq 12); do mkdir $n; cd $n; done; }
        top=$(pwd); mkdir below; cd below; dig; echo x > file; cd \"$top\"; dig; mv \"$top/below\" .";
    let mut shell = std::process::Command::new("sh");
    assert!(shell.args(["-c", dig]).current_dir(&worktree).status().unwrap().success());
    let stepped = home.uwf(&["thread", "step", &thread]);
    assert!(stepped.stderr.contains("not all files of the step were recorded"), "{}", stepped.stderr);
    assert!(stepped.stderr.len() < 2_000, "{}", stepped.stderr);
    home.json(&["thread", "kill", &thread]);
    let refused = home.uwf(&["thread", "rm", &thread]);
    assert_eq!(refused.code, Some(64), "{}", refused.stderr);
    assert!(refused.stderr.contains("it has files whose paths are too long for git"), "{}", refused.stderr);
    assert!(worktree.exists());
    home.json(&["thread", "rm", &thread, "--discard"]);
    assert!(!worktree.exists());
}

#[test]
fn adopted_step_of_killed_keeper_gets_its_files() {
    let home = home_with_repository(9);
    let repo = home.work().join("repo");
    let (thread, _) = start_in_worktree(&home, &repo);
    for at in ["add --all", "commit-tree", "update-ref"] {
        git_that_first(&home, &format!("case \"$*\" in *'{at}'*) kill -9 $PPID; exit 1;; esac"));
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(70), "{at}: {ran:?}");
        real_git(&home);
        let report = home.json(&["thread", "step", &thread]);
        assert_eq!(report["adopted"], json!(true), "{at}");
        let (tree, commit) = (text(&report["files"], "tree"), text(&report["files"], "commit"));
        let head = text(&report, "head");
        assert_eq!(git(&home, &repo, &["rev-parse", &format!("refs/uwf/{thread}/{head}")]), commit);
        let steps = home.json(&["thread", "show", &thread])["steps"].clone();
        assert!(files_of(&home, &repo, &tree).contains(&format!("step-{steps}.txt")), "{at}");
    }
    assert_eq!(
        fs::read_to_string(home.root().join("worktrees").join(&thread).join("count")).unwrap(),
        "3\n",
        "paid once"
    );
}

#[test]
fn a_fork_restores_conversation_and_files_together() {
    let home = home_with_repository(9);
    let repo = home.work().join("repo");
    let (thread, worktree) = start_in_worktree(&home, &repo);
    step(&home, &thread, 1);
    fs::remove_file(worktree.join("README")).unwrap();
    fs::write(worktree.join("a.log"), "ignored\n").unwrap();
    step(&home, &thread, 1);
    git(&home, &worktree, &["add", "step-1.txt"]);
    git(&home, &worktree, &["commit", "--quiet", "-m", "the first step"]);
    step(&home, &thread, 1);
    let nodes = hashes(&home, &thread);
    let base = git(&home, &repo, &["rev-parse", "HEAD"]);

    // At a step, from anywhere: its hash leads to the repository.
    for dir in [&repo, &home.work()] {
        let (forked, there) = fork(&home, dir, &[&nodes[2]]);
        let listed = git(&home, &there, &["status", "--porcelain", "--untracked-files=all"]);
        assert_eq!(listed, " D README\n?? count\n?? step-1.txt\n?? step-2.txt");
        assert!(!there.join("a.log").exists() && !there.join("README").exists());
        assert_eq!(git(&home, &there, &["rev-parse", "HEAD"]), base, "the branch begins where it was then");
        assert_eq!(git(&home, &there, &["branch", "--show-current"]), format!("uwf/{forked}"));
        let report = home.json(&["thread", "step", &forked]);
        assert_eq!(home.last_step(&forked)["output"]["n"], json!(3), "it goes on from these files");
        let parents = git(&home, &repo, &["show", "--no-patch", "--format=%P", &text(&report["files"], "commit")]);
        let before = git(&home, &repo, &["rev-parse", &format!("refs/uwf/{thread}/{}", nodes[2])]);
        assert_eq!(parents, format!("{before} {base}"), "its files follow those of the step");
    }
    // A thread, at its head: what was committed meanwhile is in its branch.
    let (_, there) = fork(&home, &repo, &[&thread]);
    assert_eq!(git(&home, &there, &["log", "--format=%s"]), "the first step\nfirst");
    assert_eq!(fs::read_to_string(there.join("count")).unwrap(), "3\n");
    // Before a role, and at the start.
    let (_, there) = fork(&home, &home.work(), &[&thread, "--from-role", "worker"]);
    assert!(there.join("step-2.txt").exists() && !there.join("step-3.txt").exists());
    for (what, more) in [(&nodes[0], None), (&thread, Some("another task"))] {
        let args: Vec<&str> = [what.as_str()].into_iter().chain(more.map(|_| "-p")).chain(more).collect();
        let (forked, there) = fork(&home, &repo, &args);
        assert_eq!(git(&home, &there, &["status", "--porcelain"]), "");
        assert_eq!(home.json(&["thread", "show", &forked])["steps"], json!(0));
    }
    // A fork of a fork, whose steps were recorded by another thread.
    let (forked, _) = fork(&home, &repo, &[&nodes[3]]);
    let (_, there) = fork(&home, &repo, &[&forked, "--from-role", "worker"]);
    assert_eq!(fs::read_to_string(there.join("count")).unwrap(), "2\n");
    assert_eq!(fs::read_to_string(worktree.join("count")).unwrap(), "3\n", "the old thread's files are as they were");
}

#[test]
fn fork_uses_source_location_unless_overridden() {
    let home = home_with_repository(9);
    let repo = home.work().join("repo");
    let (thread, worktree) = start_in_worktree(&home, &repo.join("sub"));
    step(&home, &thread, 1);
    let head = home.head(&thread).unwrap();
    let mut without_git = home.command(&["thread", "fork", &head]);
    let forked = without_git.env("PATH", home.bin_dir()).output().unwrap();
    assert!(forked.status.success(), "{forked:?}");
    for from in [&thread, &head] {
        let (forked, there) = fork(&home, &home.work(), &[from]);
        assert_eq!(there, home.root().join("worktrees").join(forked).join("sub"));
        assert!(there.join("step-1.txt").exists());
    }
    let (_, there) = fork(&home, &repo, &[&thread, "--cwd", "sub"]);
    assert_eq!(there, repo.join("sub"));
    // Its thread, and its worktree, are gone; the files of its steps are not.
    home.json(&["thread", "kill", &thread]);
    home.json(&["thread", "rm", &thread, "--discard"]);
    assert!(!worktree.exists());
    let (_, there) = fork(&home, &repo, &[&head]);
    assert!(there.join("step-1.txt").exists());
    assert_snapshot!(home.steady(&home.uwf(&["thread", "fork", &head, "--format", "text"]).transcript()).replace(&head, "<step>"), @r"
    exit 0
    forked thread <id> at <step>
    works in <dir>/root/worktrees/<id> on branch uwf/<id>
    step it with: uwf thread step <id>
    ");
}

#[test]
fn gc_removes_committed_worktrees_of_ended_threads() {
    let home = home_with_repository(1);
    let repo = home.work().join("repo");
    let (active, _) = start_in_worktree(&home, &repo);
    let (uncommitted, _) = start_in_worktree(&home, &repo);
    let (committed, worktree) = start_in_worktree(&home, &repo);
    for thread in [&uncommitted, &committed] {
        assert_eq!(home.json(&["thread", "step", thread])["done"], json!(true));
    }
    git(&home, &worktree, &["add", "-A"]);
    git(&home, &worktree, &["commit", "--quiet", "-m", "the work"]);
    let there = || {
        let worktrees = home.root().join("worktrees");
        [&active, &uncommitted, &committed].map(|thread| worktrees.join(thread).exists())
    };
    assert_eq!(home.json(&["gc"]).get("removedWorktrees"), None, "they ended just now");
    let dry = home.json(&["gc", "--grace", "0s", "--dry-run"]);
    assert_eq!((&dry["removedWorktrees"], there()), (&json!(1), [true, true, true]));
    let done = home.uwf(&["gc", "--grace", "0s", "--format", "text"]).stdout;
    assert!(done.contains("removed 1 worktree of ended threads: nothing in them is uncommitted\n"), "{done}");
    assert!(done.contains("1 worktree of ended threads kept: something in them is not committed\n"), "{done}");
    assert_eq!(there(), [true, true, false]);
    assert_eq!(git(&home, &repo, &["log", "-1", "--format=%s", &format!("uwf/{committed}")]), "the work");
    let again = home.json(&["gc", "--grace", "0s"]);
    assert_eq!((again.get("removedWorktrees"), &again["keptWorktrees"]), (None, &json!(1)));
    // Without git nobody can tell, and nothing goes.
    let mut without_git = home.command(&["gc", "--grace", "0s"]);
    assert!(without_git.env("PATH", home.bin_dir()).output().unwrap().status.success());
    assert_eq!(there(), [true, true, false]);
}

#[test]
fn worktree_without_unsaved_work_is_removed_with_thread() {
    let home = home_with_repository(1);
    let repo = home.work().join("repo");
    let (thread, worktree) = start_in_worktree(&home, &repo);
    assert_eq!(home.json(&["thread", "step", &thread])["done"], json!(true));
    assert_snapshot!(home.steady(&home.uwf(&["thread", "rm", &thread]).transcript()), @r"
    exit 64
    --- stderr
    error: thread <id> has a worktree, <dir>/root/worktrees/<id>, and it has 2 uncommitted changes
    hint: `uwf thread merge <id>` commits it and merges it into the branch checked out in the current directory
    hint: look at it: git -C <dir>/root/worktrees/<id> status
    hint: `uwf thread rm <id> --discard` removes it nevertheless; commits stay
    ");
    assert!(worktree.join("step-1.txt").exists());
    assert_eq!(home.json(&["thread", "show", &thread])["state"], json!("completed"), "nothing was removed");
    git(&home, &worktree, &["add", "-A"]);
    git(&home, &worktree, &["commit", "--quiet", "-m", "the work"]);
    let branch = format!("uwf/{thread}");
    let tip = git(&home, &worktree, &["rev-parse", "HEAD"]);
    let removed = home.json(&["thread", "rm", &thread]);
    assert_eq!(removed["worktree"], json!({ "dir": worktree, "keptBranch": branch }));
    assert!(!worktree.exists());
    assert_eq!(git(&home, &repo, &["rev-parse", &branch]), tip, "its commit is on no other branch");
    assert!(!git(&home, &repo, &["worktree", "list"]).contains(&thread));

    // A commit that is on no branch would be lost, and one that another has is not.
    let (thread, worktree) = start_in_worktree(&home, &repo);
    home.json(&["thread", "kill", &thread]);
    git(&home, &worktree, &["checkout", "--quiet", "--detach"]);
    git(&home, &worktree, &["commit", "--quiet", "--allow-empty", "-m", "detached"]);
    let told = home.transcript(&["thread", "rm", &thread]);
    assert!(told.contains("and its checked-out commit is not on a branch"), "{told}");
    git(&home, &worktree, &["checkout", "--quiet", &format!("uwf/{thread}")]);
    assert_snapshot!(home.steady(&home.uwf(&["thread", "rm", &thread, "--format", "text"]).transcript()), @r"
    exit 0
    removed thread <id> from the history
    removed its worktree <dir>/root/worktrees/<id>
    ");
    assert_eq!(git(&home, &repo, &["branch", "--list", &format!("uwf/{thread}")]), "");
    let left = fs::read_dir(home.root().join("worktrees")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().path()).collect();
    // `uwf gc` deletes the refs, and then these too.
    assert!(left.len() == 2 && left.iter().all(|path| path.extension().is_some_and(|it| it == "refs")), "{left:?}");

    // Where the directory, or the repository, is gone already.
    let (thread, worktree) = start_in_worktree(&home, &repo);
    home.json(&["thread", "kill", &thread]);
    fs::remove_dir_all(&worktree).unwrap();
    assert_eq!(home.uwf(&["thread", "rm", &thread]).code, Some(0));
    let (thread, worktree) = start_in_worktree(&home, &repo);
    home.json(&["thread", "kill", &thread]);
    fs::remove_dir_all(&repo).unwrap();
    let told = home.transcript(&["thread", "rm", &thread]);
    assert!(told.contains("and its git repository is gone"), "{told}");
    assert_eq!(home.json(&["thread", "rm", &thread, "--discard"])["worktree"], json!({ "dir": worktree }));
    assert_eq!(home.json(&["thread", "list", "--all"]), Value::Array(Vec::new()));
}

#[test]
fn directory_named_by_tampered_record_is_kept() {
    let home = home_with_repository(1);
    let repo = home.work().join("repo");
    let (thread, worktree) = start_in_worktree(&home, &repo);
    home.json(&["run", &thread]);
    let precious = home.work().join("precious");
    fs::create_dir(&precious).unwrap();
    let record = fs::read_to_string(home.record_file(&thread)).unwrap();
    for (was, is) in
        [(worktree.to_str().unwrap(), precious.to_str().unwrap()), (&format!("\"uwf/{thread}\"") as &str, "\"main\"")]
    {
        fs::write(home.record_file(&thread), record.replace(was, is)).unwrap();
        let refused = home.uwf(&["thread", "rm", &thread, "--discard"]);
        assert_eq!(refused.code, Some(65), "{refused:?}");
        assert!(precious.is_dir() && worktree.is_dir());
        git(&home, &repo, &["rev-parse", "--verify", "main"]);
    }
    fs::write(home.record_file(&thread), record).unwrap();
    home.json(&["thread", "rm", &thread, "--discard"]);
    assert!(!worktree.exists());
}

#[test]
fn files_of_removed_thread_disappear_with_nodes() {
    let home = home_with_repository(9);
    let repo = home.work().join("repo");
    let (thread, _) = start_in_worktree(&home, &repo);
    step(&home, &thread, 3);
    let nodes = hashes(&home, &thread);
    let (forked, _) = fork(&home, &repo, &[&nodes[1]]);
    let refs = |thread: &str| -> Vec<String> {
        let below = format!("refs/uwf/{thread}");
        let listed = git(&home, &repo, &["for-each-ref", "--format=%(refname:lstrip=3)", &below]);
        let mut refs: Vec<String> = listed.lines().map(str::to_owned).collect();
        refs.sort_by_key(|node| nodes.iter().position(|known| known == node));
        refs
    };
    let note = home.root().join("worktrees").join(format!("{thread}.refs"));
    let gc = |args: &[&str]| home.json(&[&["gc", "--grace", "0s"], args].concat());
    // As long as a thread is known, active or ended, its files are there.
    home.json(&["thread", "kill", &thread]);
    gc(&[]);
    assert_eq!(refs(&thread), nodes);
    home.json(&["thread", "rm", &thread, "--discard"]);
    assert_eq!((refs(&thread), note.exists()), (nodes.clone(), true), "who has a hash can still fork");
    let dry = gc(&["--dry-run"]);
    assert_eq!((&dry["deletedRefs"], refs(&thread)), (&json!(2), nodes.clone()));
    // Of another storage root's threads in the same repository nothing is known here.
    git(&home, &repo, &["update-ref", "refs/uwf/01ARZ3NDEKTSV4RRFFQ69G5FAV/0000000000001", "HEAD"]);
    assert_eq!(gc(&[])["deletedRefs"], json!(2));
    assert_eq!(refs(&thread), nodes[..2], "what the fork shares stays");
    let (again, there) = fork(&home, &repo, &[&forked]);
    assert!(there.join("step-1.txt").exists(), "and can be forked with its files");
    for thread in [&forked, &again] {
        home.json(&["thread", "kill", thread]);
        home.json(&["thread", "rm", thread, "--discard"]);
    }
    let told = home.uwf(&["gc", "--grace", "0s", "--format", "text"]).stdout;
    assert!(told.contains("removed 4 refs to files of removed threads from git\n"), "{told}");
    let left = git(&home, &repo, &["for-each-ref", "--format=%(refname)", "refs/uwf"]);
    assert_eq!(left, "refs/uwf/01ARZ3NDEKTSV4RRFFQ69G5FAV/0000000000001");
    assert!(!note.exists());
}
