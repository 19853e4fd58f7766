//! A new worktree works at once: files of `.worktreeinclude`, and the commands of `worktree.prepare`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::processes::signal;
use uwf_testing::{FinishedRun, TestHome, text};

use crate::fixtures::group_in_repository::{home_with_group, script, start_before_group, thread_of};
use crate::fixtures::repository::{git, home_with_repository, repository, start_in_worktree, uwf_in};

/// The configuration of the writer, with `worktree`.
fn configure(home: &TestHome, worktree: &str) {
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    let agents: Vec<&str> = config.lines().filter(|line| !line.starts_with("worktree")).collect();
    home.config(&format!("{}\nkillGrace: 1\n{worktree}\n", agents.join("\n").replace("\nkillGrace: 1", "")));
}

/// A repository with files that it ignores: `.env`, `local` and `a.log`.
fn ignoring(home: &TestHome, name: &str) -> std::path::PathBuf {
    let repo = repository(home, name);
    fs::write(repo.join(".gitignore"), "*.log\n.env\nlocal/\n/README.local\n").unwrap();
    git(home, &repo, &["commit", "--quiet", "-am", "ignore more"]);
    fs::write(repo.join(".env"), "KEY=1\n").unwrap();
    fs::create_dir_all(repo.join("local/deep")).unwrap();
    fs::write(repo.join("local/deep/settings"), "set\n").unwrap();
    fs::write(repo.join("a.log"), "not named\n").unwrap();
    fs::write(repo.join("untracked"), "not ignored\n").unwrap();
    fs::write(repo.join(".worktreeinclude"), "# for worktrees\n.env\nlocal/\nuntracked\nREADME\n").unwrap();
    repo
}

#[test]
fn ignored_files_that_match_are_copied_once() {
    let home = home_with_repository(3);
    let repo = ignoring(&home, "ignoring");
    let (thread, worktree) = start_in_worktree(&home, &repo);
    let step = uwf_in(&home, &repo, &["thread", "step", &thread]);
    assert_eq!(step.code, Some(0), "{}", step.transcript());
    assert_eq!(step.json()["setup"]["copied"], json!([".env", "local/deep/settings"]));
    assert!(step.stderr.contains("copied .env, local/deep/settings from "), "{}", step.stderr);
    assert_eq!(fs::read_to_string(worktree.join(".env")).unwrap(), "KEY=1\n");
    assert_eq!(fs::read_to_string(worktree.join("local/deep/settings")).unwrap(), "set\n");
    for absent in ["a.log", "untracked"] {
        assert!(!worktree.join(absent).exists(), "{absent}");
    }
    let recorded = git(&home, &repo, &["ls-tree", "-r", "--name-only", text(&step.json()["files"], "tree").as_str()]);
    assert!(!recorded.contains(".env"), "ignored files are not recorded: {recorded}");
    fs::remove_file(worktree.join(".env")).unwrap();
    let again = home.json(&["thread", "step", &thread]);
    assert_eq!(again["setup"], Value::Null, "a worktree is set up once");
    assert!(!worktree.join(".env").exists());
}

#[test]
fn copies_never_leave_the_repository() {
    let home = home_with_repository(3);
    let repo = ignoring(&home, "ignoring");
    let outside = home.file("secret", "outside\n");
    symlink(&outside, repo.join("local/absolute")).unwrap();
    symlink("../../secret", repo.join("local/relative")).unwrap();
    symlink("deep/settings", repo.join("local/inner")).unwrap();
    symlink(home.work(), repo.join("local/dir")).unwrap();
    let (thread, worktree) = start_in_worktree(&home, &repo);
    let step = uwf_in(&home, &repo, &["thread", "step", &thread]);
    assert_eq!(step.json()["setup"]["copied"], json!([".env", "local/deep/settings", "local/inner"]));
    for path in ["local/absolute", "local/relative", "local/dir"] {
        assert!(step.stderr.contains(path), "{path}: {}", step.stderr);
        assert!(fs::symlink_metadata(worktree.join(path)).is_err(), "{path}");
    }
    assert!(step.stderr.contains("a symbolic link out of the repository"), "{}", step.stderr);
    assert_eq!(fs::read_to_string(worktree.join("local/inner")).unwrap(), "set\n");
}

#[test]
fn copies_never_follow_links_of_the_commit() {
    let home = home_with_repository(3);
    let repo = ignoring(&home, "ignoring");
    let outside = home.work().join("outside");
    fs::create_dir(&outside).unwrap();
    // The commit that the worktree begins at has a link in place of the directory.
    fs::rename(repo.join("local"), repo.join("kept")).unwrap();
    symlink(&outside, repo.join("local")).unwrap();
    git(&home, &repo, &["add", "-f", "local"]);
    git(&home, &repo, &["commit", "--quiet", "-m", "a link"]);
    fs::remove_file(repo.join("local")).unwrap();
    fs::rename(repo.join("kept"), repo.join("local")).unwrap();
    let (thread, _) = start_in_worktree(&home, &repo);
    let step = uwf_in(&home, &repo, &["thread", "step", &thread]);
    assert_eq!(step.code, Some(0), "{}", step.transcript());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{}", step.transcript());
}

#[test]
fn files_that_git_would_record_are_not_copied() {
    let home = home_with_repository(3);
    let repo = ignoring(&home, "ignoring");
    // Ignored here by a change that is not committed, so not in the worktree.
    fs::write(repo.join(".gitignore"), "*.log\n.env\nlocal/\nprivate.key\n").unwrap();
    fs::write(repo.join("private.key"), "k\n").unwrap();
    fs::write(repo.join(".worktreeinclude"), "private.key\n.env\n").unwrap();
    let (thread, worktree) = start_in_worktree(&home, &repo);
    let step = uwf_in(&home, &repo, &["thread", "step", &thread]);
    assert_eq!(step.json()["setup"]["copied"], json!([".env"]));
    assert!(!worktree.join("private.key").exists());
    assert!(step.stderr.contains("private.key: git does not ignore it in the worktree"), "{}", step.stderr);
}

#[test]
fn too_many_files_to_copy_cost_no_agent() {
    let home = home_with_repository(3);
    let repo = ignoring(&home, "ignoring");
    for number in 0..5_001 {
        fs::write(repo.join(format!("local/{number}")), "").unwrap();
    }
    let (thread, worktree) = start_in_worktree(&home, &repo);
    let step = uwf_in(&home, &repo, &["thread", "step", &thread]);
    assert_eq!(step.code, Some(78), "{}", step.transcript());
    assert!(step.stderr.contains(".worktreeinclude") && step.stderr.contains("5003 files"), "{}", step.stderr);
    assert!(step.stderr.contains("worktree.prepare"), "{}", step.stderr);
    assert!(!worktree.join("step-1.txt").exists() && !worktree.join(".env").exists());
    fs::write(repo.join(".worktreeinclude"), ".env\n").unwrap();
    let again = uwf_in(&home, &repo, &["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert!(worktree.join(".env").exists());
}

#[test]
fn files_that_are_too_large_are_refused() {
    let home = home_with_repository(3);
    let repo = ignoring(&home, "ignoring");
    let large = fs::File::create(repo.join("local/large")).unwrap();
    large.set_len(513 << 20).unwrap();
    let (thread, _) = start_in_worktree(&home, &repo);
    let step = uwf_in(&home, &repo, &["thread", "step", &thread]);
    assert_eq!(step.code, Some(78), "{}", step.transcript());
    assert!(step.stderr.contains("513 MiB") && step.stderr.contains("512 MiB"), "{}", step.stderr);
}

#[test]
fn prepare_runs_before_the_first_agent_only() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    configure(
        &home,
        "worktree: { prepare: ['test ! -e sub/step-1.txt && echo made >> made', 'pwd >> made; echo printed; echo \"to stderr\" >&2'] }",
    );
    let (thread, worktree) = start_in_worktree(&home, &repo.join("sub"));
    let step = uwf_in(&home, &repo, &["thread", "step", &thread]);
    assert_eq!(step.code, Some(0), "{}", step.transcript());
    let made = format!("made\n{}\n", worktree.display());
    assert_eq!(fs::read_to_string(worktree.join("made")).unwrap(), made, "they run at the top of the worktree");
    let setup = &step.json()["setup"];
    assert_eq!(setup["prepared"].as_array().map(Vec::len), Some(2));
    let output = fs::read_to_string(text(setup, "output")).unwrap();
    assert!(output.contains("printed\n") && output.contains("to stderr\n"), "{output}");
    home.json(&["thread", "step", &thread]);
    assert_eq!(fs::read_to_string(worktree.join("made")).unwrap(), made);
    let fork = text(&home.json(&["thread", "fork", &thread]), "thread");
    let forked = home.root().join("worktrees").join(&fork);
    let failed = uwf_in(&home, &repo, &["thread", "step", &fork]);
    assert_eq!(failed.code, Some(78), "a fork's worktree is new, and has sub/step-1.txt: {}", failed.transcript());
    assert!(!forked.join("sub/step-3.txt").exists());
}

#[test]
fn failing_prepare_names_tail_and_output() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    configure(&home, "worktree: { prepare: ['echo one; echo two >&2; exit 3', 'touch never'] }");
    let (thread, worktree) = start_in_worktree(&home, &repo);
    let step = uwf_in(&home, &repo, &["thread", "step", &thread]);
    assert_eq!(step.code, Some(78), "{}", step.transcript());
    for part in [
        "`echo one; echo two >&2; exit 3`",
        "exited with 3",
        "two",
        "worktree.prepare",
        "prepare.log",
        "uwf thread retry",
    ] {
        assert!(step.stderr.contains(part), "{part}: {}", step.stderr);
    }
    assert!(!worktree.join("never").exists() && !worktree.join("step-1.txt").exists(), "no agent was paid");
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "stuck");
    configure(&home, "worktree: { prepare: ['touch mended'] }");
    let again = uwf_in(&home, &repo, &["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert!(worktree.join("mended").exists() && worktree.join("step-1.txt").exists());
}

#[test]
fn prepare_gets_no_secret() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    configure(&home, "secrets: [PAID_KEY]\nworktree: { prepare: ['echo \"got:$PAID_KEY:$PLAIN:$UWF_THREAD\"'] }");
    let (thread, _) = start_in_worktree(&home, &repo);
    let mut step = home.command(&["thread", "step", &thread]);
    step.current_dir(&repo).env("PAID_KEY", "sk-0123456789").env("PLAIN", "plain");
    let report = FinishedRun::from(step.output().unwrap()).json();
    let output = fs::read_to_string(text(&report["setup"], "output")).unwrap();
    assert_eq!(output, "got::plain:\n");
}

#[test]
fn prepare_is_timed_out() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    configure(&home, "worktree: { prepare: ['sleep 60'], prepareTimeout: 1s }");
    let (thread, _) = start_in_worktree(&home, &repo);
    let begun = Instant::now();
    let step = uwf_in(&home, &repo, &["thread", "step", &thread]);
    assert_eq!(step.code, Some(78), "{}", step.transcript());
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert!(step.stderr.contains("timeout of 1 s") && step.stderr.contains("prepareTimeout"), "{}", step.stderr);
}

/// Waits for a file.
fn wait_for(path: &Path) {
    let begun = Instant::now();
    while !path.exists() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{} did not come", path.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the process named in a file is alive, and not only waiting to be reaped.
fn is_alive(pid: &Path) -> bool {
    uwf_testing::processes::is_alive(fs::read_to_string(pid).unwrap().trim())
}

#[test]
fn kill_of_the_thread_ends_prepare() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    configure(&home, "worktree: { prepare: ['echo $$ > pid.new; mv pid.new pid; sleep 60'] }");
    let (thread, worktree) = start_in_worktree(&home, &repo);
    let mut step = home.command(&["thread", "step", &thread]).spawn().unwrap();
    wait_for(&worktree.join("pid"));
    assert_eq!(home.uwf(&["thread", "kill", &thread]).code, Some(0));
    step.wait().unwrap();
    assert!(!is_alive(&worktree.join("pid")), "the command still runs");
    assert!(!worktree.join("step-1.txt").exists());
}

#[test]
fn prepare_runs_again_after_a_crash() {
    let home = home_with_repository(3);
    let repo = ignoring(&home, "ignoring");
    configure(
        &home,
        "worktree: { prepare: ['echo run >> runs; test -e second && exit 0; touch second; echo $$ > pid.new; mv pid.new pid; sleep 60'] }",
    );
    let (thread, worktree) = start_in_worktree(&home, &repo);
    let mut step = home.command(&["thread", "step", &thread]).spawn().unwrap();
    wait_for(&worktree.join("pid"));
    signal(&home.recorded(&thread, "opened")["keeper"], "KILL");
    step.wait().unwrap();
    let again = uwf_in(&home, &repo, &["thread", "step", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert_eq!(fs::read_to_string(worktree.join("runs")).unwrap(), "run\nrun\n");
    assert!(!is_alive(&worktree.join("pid")), "the command of the killed step still runs");
    assert!(worktree.join("step-1.txt").exists() && worktree.join(".env").exists());
}

#[test]
fn projects_prepare_only_once_trusted() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    fs::create_dir(repo.join(".workflows")).unwrap();
    fs::write(repo.join(".workflows/config.yaml"), "worktree: { prepare: ['touch from-project'] }\n").unwrap();
    git(&home, &repo, &["add", "-A"]);
    git(&home, &repo, &["commit", "--quiet", "-m", "a project"]);
    let (thread, worktree) = start_in_worktree(&home, &repo);
    assert_eq!(uwf_in(&home, &repo, &["thread", "step", &thread]).code, Some(0));
    assert!(!worktree.join("from-project").exists(), "it is not trusted");
    let trusted = uwf_in(&home, &repo, &["config", "trust", "."]);
    assert_eq!(trusted.code, Some(0), "{}", trusted.transcript());
    let (thread, worktree) = start_in_worktree(&home, &repo);
    assert_eq!(uwf_in(&home, &repo, &["thread", "step", &thread]).code, Some(0));
    assert!(worktree.join("from-project").exists());
    // A worktree has the committed file, which is another one than the trusted file now.
    fs::write(repo.join(".workflows/config.yaml"), "worktree: { prepare: ['touch newer'] }\n").unwrap();
    assert_eq!(uwf_in(&home, &repo, &["config", "trust", "."]).code, Some(0));
    let (thread, worktree) = start_in_worktree(&home, &repo);
    let step = uwf_in(&home, &repo, &["thread", "step", &thread]);
    assert_eq!(step.code, Some(0), "{}", step.transcript());
    assert!(step.stderr.contains("commit the version that you trusted"), "{}", step.stderr);
    assert!(!worktree.join("newer").exists() && !worktree.join("from-project").exists());
    fs::write(repo.join(".workflows/config.yaml"), "worktree: { remote: origin }\n").unwrap();
    let refused = uwf_in(&home, &repo, &["config", "trust", "."]);
    assert_eq!(refused.code, Some(78), "{}", refused.transcript());
    assert!(refused.stderr.contains("a project cannot set `worktree.remote`"), "{}", refused.stderr);
}

#[test]
fn worktrees_made_again_are_set_up_again() {
    let home = home_with_repository(3);
    let repo = ignoring(&home, "ignoring");
    let (thread, worktree) = start_in_worktree(&home, &repo);
    home.json(&["thread", "step", &thread]);
    fs::remove_dir_all(&worktree).unwrap();
    git(&home, &repo, &["worktree", "add", "-f", worktree.to_str().unwrap(), &format!("uwf/{thread}")]);
    let step = home.json(&["thread", "step", &thread]);
    assert_eq!(step["setup"]["copied"], json!([".env", "local/deep/settings"]));
}

/// A decision after two changes, each in a worktree of its own.
const FIXES: &str = "name: panel
workspace: worktree
roles:
  one: { goal: x }
  two: { goal: x }
  fixes: { play: [ one, two ], files: worktree, merge: sequence }
graph:
  $START: [ { role: fixes } ]
  fixes: [ { role: $END } ]
";

#[test]
fn setup_of_branches_is_said_once() {
    for (workflow, path) in [
        (FIXES.to_owned(), "fixes"),
        (
            FIXES
                .replace("  fixes: {", "  pair: { play: [ one, two ] }\n  fixes: {")
                .replace("play: [ one, two ], files", "play: [ pair ], files"),
            "fixes",
        ),
    ] {
        let (home, repo) = home_with_group(&workflow);
        fs::write(repo.join(".gitignore"), ".env\n").unwrap();
        fs::write(repo.join(".worktreeinclude"), ".env\n").unwrap();
        git(&home, &repo, &["add", ".gitignore"]);
        git(&home, &repo, &["commit", "--quiet", "-m", "ignore"]);
        fs::write(repo.join(".env"), "KEY=1\n").unwrap();
        configure(&home, "worktree: { prepare: ['echo printed'] }");
        script(&home, "one", "cat .env > /dev/null; echo done");
        script(&home, "two", "echo done; exit 9");
        let ran = uwf_in(&home, &repo, &["run", "panel", "-p", "x"]);
        assert_eq!(ran.code, Some(40), "{}", ran.transcript());
        let worktrees = if workflow == FIXES { "2 worktrees" } else { "1 worktree" };
        let copied = format!("{path}: copied .env from {} into {worktrees}\n", repo.display());
        let prepared = format!("{path}: prepared {worktrees} with `echo printed`, output in ");
        for line in [&copied, &prepared] {
            assert_eq!(ran.stderr.matches(line).count(), 1, "{line}: {}", ran.stderr);
        }
        script(&home, "two", "echo done");
        let again = uwf_in(&home, &repo, &["run", &thread_of(&ran)]);
        assert_eq!(again.code, Some(0), "{}", again.transcript());
        assert!(!again.stderr.contains("copied .env from"), "{}", again.stderr);
        let started = uwf_in(&home, &repo, &["thread", "start", "panel", "-p", "x"]).json();
        let stepped = uwf_in(&home, &repo, &["thread", "step", &text(&started, "thread")]);
        assert_eq!(stepped.code, Some(0), "{}", stepped.transcript());
        assert_eq!(stepped.stderr.matches(&copied).count(), 1, "{}", stepped.stderr);
    }
}

/// A plan, then two changes in worktrees of their own.
const PREPARED: &str = "name: panel
workspace: worktree
roles:
  planner: { goal: x }
  one: { goal: x }
  two: { goal: x }
  fixes: { play: [ one, two ], files: worktree, merge: sequence }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: fixes } ]
  fixes: [ { role: $END } ]
";

#[test]
fn failed_prepare_of_branches_has_one_line() {
    let (home, repo) = home_with_group(PREPARED);
    script(&home, "planner", "echo 'a plan'");
    let thread = start_before_group(&home, &repo);
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!("{config}worktree: {{ prepare: ['echo no lockfile >&2; exit 3'] }}\n"));
    let ran = uwf_in(&home, &repo, &["run", &thread]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let said = &ran.stderr[ran.stderr.find("error: ").unwrap()..];
    let line = "error: branches `fixes.one` and `fixes.two` are stuck: `echo no lockfile >&2; exit 3`, which prepares the worktree";
    assert!(said.starts_with(line), "{said}");
    assert_eq!(said.matches("\n  no lockfile\n").count(), 1, "{said}");
    let hints: Vec<&str> = said.lines().filter(|line| line.starts_with("hint: ")).collect();
    assert!(hints.len() == 3 && hints[1].contains("prepare.log"), "{said}");
    assert!(hints[2].contains(&format!("uwf thread retry {thread}")), "{said}");
}
