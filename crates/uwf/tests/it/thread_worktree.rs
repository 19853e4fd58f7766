//! `thread start --worktree`: a thread that works in a git worktree of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{TestHome, counting_workflow, text};

use crate::fixtures::repository::{git, home_with_repository, repository, start_in_worktree, uwf_in};

/// What is left of worktrees: in the storage root, in git's list, and among its refs.
fn left(home: &TestHome, repo: &Path) -> (usize, String, String) {
    let dirs = fs::read_dir(home.root().join("worktrees")).map_or(0, Iterator::count);
    let known = git(home, repo, &["worktree", "list", "--porcelain"]).matches("worktree ").count() - 1;
    let admin = fs::read_dir(repo.join(".git/worktrees")).map_or(0, Iterator::count);
    let refs = git(home, repo, &["for-each-ref", "--format=%(refname)", "refs/uwf", "refs/heads/uwf"]);
    (dirs, format!("{known} known, {admin} there"), refs)
}

fn nothing() -> (usize, String, String) {
    (0, "0 known, 0 there".to_owned(), String::new())
}

#[test]
fn thread_works_on_own_branch() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    let (thread, worktree) = start_in_worktree(&home, &repo.join("sub"));
    let shown = home.json(&["thread", "show", &thread]);
    let base = git(&home, &repo, &["rev-parse", "HEAD"]);
    assert_eq!(shown["workspace"], json!(worktree.join("sub")), "it works where one stood");
    assert_eq!(
        shown["worktree"],
        json!({ "dir": worktree, "branch": format!("uwf/{thread}"), "base": base, "repository": repo.join(".git") })
    );
    home.json(&["thread", "step", &thread]);
    assert_eq!(fs::read_to_string(worktree.join("sub/step-1.txt")).unwrap(), "step 1\n");
    assert_eq!(git(&home, &worktree, &["branch", "--show-current"]), format!("uwf/{thread}"));
    assert_eq!(git(&home, &repo, &["status", "--porcelain"]), "", "the person's own working tree is as it was");
    assert_eq!(git(&home, &repo, &["branch", "--show-current"]), "main");

    let text_form =
        uwf_in(&home, &repo, &["thread", "start", "count-rounds", "-p", "x", "--worktree", "--format", "text"]);
    assert_snapshot!(home.steady(&text_form.transcript()), @r"
    exit 0
    started thread <id>
    works in <dir>/root/worktrees/<id> on branch uwf/<id>
    step it with: uwf thread step <id>
    ");
}

#[test]
fn run_in_worktree_warns_of_uncommitted_changes() {
    let home = home_with_repository(1);
    let repo = home.work().join("repo");
    fs::write(repo.join("README"), "changed\n").unwrap();
    fs::write(repo.join("new"), "new\n").unwrap();
    fs::write(repo.join("a.log"), "ignored\n").unwrap();
    let ran = uwf_in(&home, &repo, &["run", "count-rounds", "-p", "x", "--worktree"]);
    assert_eq!(ran.json()["done"], json!(true));
    let commit = &git(&home, &repo, &["rev-parse", "HEAD"])[..7];
    let note = format!("warning: 2 uncommitted changes are not in the worktree: it begins at commit {commit} of");
    assert!(ran.stderr.contains(&note), "{}", ran.stderr);
    assert!(ran.stderr.contains(" on branch uwf/"), "{}", ran.stderr);
    let worktree = home.root().join("worktrees").join(text(&ran.json(), "thread"));
    assert_eq!(fs::read_to_string(worktree.join("README")).unwrap(), "read me\n");
    let thread = text(&ran.json(), "thread");
    assert_snapshot!(home.steady(&uwf_in(&home, &repo, &["run", &thread, "--worktree"]).transcript()), @r"
    exit 64
    --- stderr
    error: --worktree and --no-worktree need --prompt: they belong to a thread's start
    ");
}

#[test]
fn a_workflow_can_have_worktrees_by_default() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!("{config}workspaces: {{ count-rounds: worktree, other: directory, third: null }}\n"));
    let start = |dir: &Path, more: &[&str]| {
        uwf_in(&home, dir, &[&["thread", "start", "count-rounds", "-p", "x"][..], more].concat())
    };
    assert!(start(&repo, &[]).json()["worktree"].is_object());
    assert_eq!(start(&repo, &["--no-worktree"]).json()["worktree"], Value::Null);
    assert_eq!(home.steady(&start(&home.work(), &["--cwd", "repo"]).transcript()).matches("worktrees").count(), 1);
    assert_snapshot!(home.steady(&start(&home.work(), &[]).transcript()), @r"
    exit 64
    --- stderr
    error: <dir>/work is not in a git repository
    hint: a thread gets its worktree from the repository it is started in: `git init` creates one, --cwd DIR names one
    hint: without a worktree, agents work in the directory
    hint: `workspaces.count-rounds` of the configuration asks for a worktree; --no-worktree starts the thread without one
    ");
    home.config(&format!("{config}workspaces: {{ count-rounds: worktre }}\n"));
    assert_snapshot!(home.steady(&start(&repo, &[]).transcript()), @r"
    exit 78
    --- stderr
    error: <dir>/root/config.yaml:5:29: error[bad-value]: `workspaces.count-rounds` is `worktre`; it can be directory or worktree
    hint: did you mean `worktree`?
    ");
}

#[test]
fn a_workflow_file_can_ask_for_worktrees() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    let plain = home.put("count-rounds", &counting_workflow(3));
    let asking = format!("{}workspace: worktree\n", counting_workflow(3));
    let hash = home.put("count-rounds", &asking);
    assert_ne!(hash, plain, "where threads work is a part of the workflow");
    let stored = home.json(&["cas", "get", &hash]);
    assert_eq!((&stored["payload"]["workspace"], &stored["type"]), (&json!("worktree"), &json!("7ACY84ACJ8AT7")));
    let same = home.put("count-rounds", &format!("{}workspace: directory\n", counting_workflow(3)));
    assert_eq!(same, plain, "what holds anyway is not stored");
    home.put("count-rounds", &asking);

    let start = |dir: &Path, args: &[&str]| uwf_in(&home, dir, &[&["thread", "start"], args, &["-p", "x"]].concat());
    for named in ["count-rounds", "../count-rounds.yaml", &hash] {
        assert!(start(&repo, &[named]).json()["worktree"].is_object(), "{named}");
    }
    assert_eq!(start(&repo, &["count-rounds", "--no-worktree"]).json()["worktree"], Value::Null);
    let transcript = home.steady(&start(&home.work(), &["count-rounds"]).transcript());
    assert!(
        transcript.ends_with(
            "hint: workflow `count-rounds` asks for a worktree; --no-worktree starts the thread \
                              without one\n"
        ),
        "{transcript}"
    );
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!("{config}workspaces: {{ count-rounds: directory }}\n"));
    assert_eq!(start(&repo, &["count-rounds"]).json()["worktree"], Value::Null, "the configuration has the last word");
    home.file("wrong.yaml", &asking.replace("workspace: worktree", "workspace: worktres"));
    let transcript = home.transcript(&["workflow", "validate", "wrong.yaml", "--format", "json"]);
    assert!(transcript.contains("`workspace` is `worktres`; it can be directory or worktree"), "{transcript}");
}

#[test]
fn impossible_worktree_creates_no_thread() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    let start = |dir: &Path| {
        home.steady(&uwf_in(&home, dir, &["thread", "start", "count-rounds", "-p", "x", "--worktree"]).transcript())
    };
    assert_snapshot!(start(&home.work()), @r"
    exit 64
    --- stderr
    error: <dir>/work is not in a git repository
    hint: a thread gets its worktree from the repository it is started in: `git init` creates one, --cwd DIR names one
    hint: without a worktree, agents work in the directory
    ");
    let empty = home.work().join("empty");
    fs::create_dir(&empty).unwrap();
    git(&home, &empty, &["init", "--quiet"]);
    assert_snapshot!(start(&empty), @r"
    exit 64
    --- stderr
    error: the git repository <dir>/work/empty has no commit yet
    hint: a worktree begins at a commit: `git commit` the files first
    ");
    git(&home, &home.work(), &["clone", "--quiet", "--bare", "repo", "bare"]);
    assert_snapshot!(start(&home.work().join("bare")), @r"
    exit 64
    --- stderr
    error: <dir>/work/bare is in a git repository without a working tree
    hint: start the thread in a working tree of that repository: create one with `git worktree add DIR`, or name one with --cwd DIR
    ");
    // A branch of that name leaves no room for others below it.
    git(&home, &repo, &["branch", "uwf"]);
    let taken = start(&repo);
    assert!(taken.starts_with("exit 74\n") && taken.contains("cannot make a git worktree: git says: "), "{taken}");
    assert!(taken.contains("'refs/heads/uwf'"), "{taken}");
    git(&home, &repo, &["branch", "-D", "uwf"]);
    assert_eq!(home.json(&["thread", "list"]), json!([]), "no thread was begun");
    assert_eq!(left(&home, &repo), nothing());
    let records = fs::read_dir(home.root().join("threads")).unwrap().count();
    assert_eq!(records, 0, "nor is there a record of one");
    assert_eq!(uwf_in(&home, &repo, &["thread", "start", "count-rounds", "-p", "x", "--worktree"]).code, Some(0));
}

#[test]
fn existing_branch_is_not_discarded() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    git(&home, &repo, &["branch", &format!("uwf/{id}")]);
    let start = ["thread", "start", "count-rounds", "-p", "x", "--worktree", "--id", id];
    let refused = uwf_in(&home, &repo, &start);
    assert_eq!(refused.code, Some(64), "{}", refused.transcript());
    assert!(refused.stderr.contains("already exists") && refused.stderr.contains("branch -m"), "{}", refused.stderr);
    git(&home, &repo, &["branch", "-m", &format!("uwf/{id}"), "kept"]);
    assert_eq!(uwf_in(&home, &repo, &start).code, Some(0));
}

#[test]
fn without_git_only_worktrees_are_missing() {
    let home = home_with_repository(3);
    let start = |more: &[&str]| {
        let args = [&["thread", "start", "count-rounds", "-p", "x"][..], more].concat();
        let mut command = home.command(&args);
        command.current_dir(home.work().join("repo")).env("PATH", home.bin_dir());
        uwf_testing::FinishedRun::from(command.output().unwrap())
    };
    assert_eq!(start(&[]).code, Some(0));
    assert_snapshot!(home.steady(&start(&["--worktree"]).transcript()), @r"
    exit 78
    --- stderr
    error: git is not installed: program `git` is not on PATH
    hint: install it; a thread without a worktree works without git
    ");
}

#[test]
fn start_from_git_hook_uses_right_repository() {
    let home = home_with_repository(3);
    let (repo, other) = (home.work().join("repo"), repository(&home, "other"));
    let mut command = home.command(&["thread", "start", "count-rounds", "-p", "x", "--worktree"]);
    command
        .current_dir(&repo)
        .env("GIT_DIR", other.join(".git"))
        .env("GIT_INDEX_FILE", "index")
        .env("GIT_PREFIX", "x/");
    let started = uwf_testing::FinishedRun::from(command.output().unwrap()).json();
    assert_eq!(started["worktree"]["repository"], json!(repo.join(".git")));
    assert_eq!(left(&home, &other).1, "0 known, 0 there");
}

#[test]
fn no_hook_of_the_repository_is_run() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    let hook = repo.join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(
        &hook,
        format!("#!/bin/sh\ntouch '{}'\nread answer < /dev/tty\nexit 1\n", home.work().join("ran").display()),
    )
    .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    start_in_worktree(&home, &repo);
    assert!(!home.work().join("ran").exists());
}

#[test]
fn a_trusted_configuration_counts_in_the_worktree_too() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    fs::create_dir(repo.join(".workflows")).unwrap();
    let agent =
        "agents:\n  own: { command: sh, args: [-c, 'echo \"{\\\"n\\\": 7}\"'], output: json }\ndefaultAgent: own\n";
    fs::write(repo.join(".workflows/config.yaml"), agent).unwrap();
    git(&home, &repo, &["add", "-A"]);
    git(&home, &repo, &["commit", "--quiet", "-m", "an agent"]);
    let output = |thread: &str| {
        home.json(&["thread", "step", thread]);
        home.last_step(thread)["output"]["n"].clone()
    };
    let (untrusted, _) = start_in_worktree(&home, &repo);
    assert_eq!(output(&untrusted), json!(1), "it is not trusted");
    assert_eq!(uwf_in(&home, &repo, &["config", "trust"]).code, Some(0));
    let (trusted, worktree) = start_in_worktree(&home, &repo);
    assert_eq!(output(&trusted), json!(7));
    fs::write(worktree.join(".workflows/config.yaml"), agent.replace('7', "8")).unwrap();
    assert_eq!(output(&trusted), json!(1), "what an agent writes there is trusted by nobody");
    let (nested, _) = start_in_worktree(&home, &worktree);
    assert_eq!(output(&nested), json!(7), "the worktree of a worktree comes from the same place");
}

#[test]
fn missing_worktree_hints_how_to_restore_it() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    let (thread, worktree) = start_in_worktree(&home, &repo);
    fs::remove_dir_all(&worktree).unwrap();
    let transcript = home.transcript(&["thread", "step", &thread]);
    assert_snapshot!(transcript, @r"
    exit 69
    --- stderr
    error: the worktree <dir>/root/worktrees/<id> of thread <id> is gone
    hint: check its branch out there again: git -C <dir>/work/repo/.git worktree add -f <dir>/root/worktrees/<id> uwf/<id>
    hint: `uwf thread fork <id>` starts a new thread at its newest step
    hint: or let its agents work elsewhere: `uwf thread step <id> --cwd DIR`
    ");
    assert_eq!(home.json(&["thread", "show", &thread])["steps"], json!(0), "no attempt was made");
    let dir = worktree.to_str().unwrap();
    git(&home, &repo, &["worktree", "add", "--quiet", "-f", dir, &format!("uwf/{thread}")]);
    home.json(&["thread", "step", &thread]);
    assert!(worktree.join("step-1.txt").exists());
}

#[test]
fn killed_start_leftovers_and_record_are_removed() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    // Killed before the head: all else is there.
    let (thread, worktree) = start_in_worktree(&home, &repo);
    let record = home.record_file(&thread);
    let text = fs::read_to_string(&record).unwrap();
    let settings = text.lines().find(|line| line.contains("\"settings\"")).unwrap();
    fs::write(&record, format!("\n{settings}\n")).unwrap();
    fs::write(home.root().join("threads.yaml"), "{}\n").unwrap();
    // Killed within git: it has locked the worktree, and not got on to its directory.
    fs::remove_file(worktree.join(".git")).unwrap();
    fs::write(repo.join(".git/worktrees").join(&thread).join("locked"), "initializing").unwrap();
    assert_eq!(left(&home, &repo).0, 2, "the worktree, and where it comes from");
    let old = std::time::SystemTime::now() - std::time::Duration::from_hours(72);
    fs::File::options().append(true).open(&record).unwrap().set_modified(old).unwrap();
    let fixed = home.uwf(&["doctor", "--fix", "--format", "json"]);
    assert!(fixed.stdout.contains("removed the records of 1 thread that never started"), "{}", fixed.stdout);
    assert_eq!(left(&home, &repo), nothing());
    assert!(!record.exists());
    start_in_worktree(&home, &repo);
}
