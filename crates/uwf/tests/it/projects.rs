//! Threads of a project: `@` and `--here` in a git repository, in a directory with `.workflows`, and outside of both.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;
use uwf_testing::{FinishedRun, TestHome, text};

use crate::fixtures::repository::{git, home_with_repository, repository};

/// Runs a command in a directory below the workspace.
fn run_in(home: &TestHome, dir: &str, args: &[&str]) -> FinishedRun {
    home.command(args).current_dir(home.work().join(dir)).output().unwrap().into()
}

fn start_in(home: &TestHome, dir: &str) -> String {
    text(&run_in(home, dir, &["thread", "start", "count-rounds", "-p", dir]).json(), "thread")
}

/// A home with two projects, and a directory that is in none.
fn two_projects() -> (TestHome, [String; 2]) {
    let home = home_with_repository(1);
    repository(&home, "shop");
    for dir in ["blog/.workflows", "empty/.git", "elsewhere"] {
        fs::create_dir_all(home.work().join(dir)).unwrap();
    }
    let threads = ["shop", "blog"].map(|dir| start_in(&home, dir));
    (home, threads)
}

fn threads(listed: &FinishedRun) -> Vec<String> {
    let Value::Array(rows) = listed.json() else { panic!("{listed:?}") };
    rows.iter().map(|row| text(row, "thread")).collect()
}

#[test]
fn newest_thread_is_of_the_project() {
    let (home, [shop, blog]) = two_projects();
    let newest = |dir: &str| text(&run_in(&home, dir, &["thread", "show", "@"]).json(), "thread");
    assert_eq!(newest("shop"), shop);
    assert_eq!(newest("shop/sub"), shop);
    assert_eq!(newest("blog"), blog);
    assert_eq!(newest("elsewhere"), blog, "outside of a project, it is the newest of the machine");
    let missing = run_in(&home, "shop", &["thread", "show", "@2"]);
    assert_eq!(missing.code, Some(69), "{missing:?}");
    assert!(missing.stderr.contains("has only one thread"), "{missing:?}");
    let none = run_in(&home, "empty", &["thread", "show", "@"]);
    assert!(none.stderr.contains("has no thread") && none.stderr.contains("uwf thread list --all"), "{none:?}");
}

#[test]
fn listing_here_has_only_threads_of_the_project() {
    let (home, [shop, blog]) = two_projects();
    let here = |dir: &str| threads(&run_in(&home, dir, &["thread", "list", "--here"]));
    assert_eq!(here("shop/sub"), [shop]);
    assert_eq!(here("blog"), [blog]);
    assert_eq!(threads(&run_in(&home, "shop", &["thread", "list"])).len(), 2, "without the option, all are listed");
    let outside = run_in(&home, "elsewhere", &["thread", "list", "--here"]);
    assert_eq!(outside.code, Some(64), "{outside:?}");
    assert!(outside.stderr.contains("is in no project"), "{outside:?}");
}

#[test]
fn nested_repository_is_its_own_project() {
    let (home, [shop, _]) = two_projects();
    repository(&home, "shop/vendor");
    let vendor = start_in(&home, "shop/vendor");
    let here = |dir: &str| threads(&run_in(&home, dir, &["thread", "list", "--here"]));
    assert_eq!(here("shop"), [shop]);
    assert_eq!(here("shop/vendor"), [vendor]);
}

#[test]
fn linked_directories_belong_to_their_project() {
    let (home, [shop, _]) = two_projects();
    symlink(home.work().join("shop"), home.work().join("link")).unwrap();
    git(&home, &home.work().join("shop"), &["worktree", "add", "--quiet", "../feature"]);
    let linked = home.work().join("link");
    let by_link = home.json(&["thread", "start", "count-rounds", "-p", "x", "--cwd", linked.to_str().unwrap()]);
    let mut all = [shop, text(&by_link, "thread"), start_in(&home, "feature/sub")];
    all.sort();
    for dir in ["shop", "link", "feature"] {
        let mut here = threads(&run_in(&home, dir, &["thread", "list", "--here"]));
        here.sort();
        assert_eq!(here, all, "{dir}");
    }
}

#[test]
fn worktree_of_a_thread_belongs_to_its_repository() {
    let (home, [shop, _]) = two_projects();
    let started =
        run_in(&home, "shop", &["thread", "start", "count-rounds", "-p", "in a worktree", "--worktree"]).json();
    let (thread, worktree) = (text(&started, "thread"), text(&started["worktree"], "dir"));
    assert_eq!(threads(&run_in(&home, "shop", &["thread", "list", "--here"])), [thread.clone(), shop]);
    let shown: FinishedRun =
        home.command(&["thread", "show", "@"]).current_dir(Path::new(&worktree)).output().unwrap().into();
    assert_eq!(text(&shown.json(), "thread"), thread);
}

#[test]
fn swept_worktree_leaves_its_thread_in_the_project() {
    let (home, [shop, _]) = two_projects();
    let start = ["thread", "start", "count-rounds", "-p", "x", "--worktree"];
    let thread = text(&run_in(&home, "shop/sub", &start).json(), "thread");
    let worktree = home.root().join("worktrees").join(&thread);
    home.json(&["run", &thread]);
    git(&home, &worktree, &["add", "-A"]);
    git(&home, &worktree, &["commit", "--quiet", "--allow-empty", "-m", "work"]);
    assert_eq!(home.uwf(&["gc", "--grace", "0s"]).code, Some(0));
    assert!(!worktree.exists());
    assert_eq!(threads(&run_in(&home, "shop", &["thread", "list", "--here", "--all"])), [thread.clone(), shop]);
    assert_eq!(text(&run_in(&home, "shop", &["thread", "show", "@"]).json(), "thread"), thread);
}

#[test]
fn run_of_all_asks_before_several_projects() {
    let (home, [shop, blog]) = two_projects();
    let refused = run_in(&home, "shop", &["run", "--all"]);
    assert_eq!(refused.code, Some(64), "{refused:?}");
    assert!(refused.stderr.contains("2 threads of 2 projects (blog, shop)"), "{refused:?}");
    let ran = run_in(&home, "shop", &["run", "--all", "--here"]);
    assert_eq!(threads(&ran), [shop], "{ran:?}");
    let ran = run_in(&home, "shop", &["run", "--all"]);
    assert_eq!(threads(&ran), [blog], "one project is left");
}

#[test]
fn run_of_all_projects_needs_a_word() {
    let (home, mut both) = two_projects();
    let ran = run_in(&home, "elsewhere", &["run", "--all", "--everywhere"]);
    both.sort();
    assert_eq!(threads(&ran), both, "{ran:?}");
}

#[test]
fn cost_and_log_here_are_of_the_project() {
    let (home, [shop, blog]) = two_projects();
    for thread in [&shop, &blog] {
        home.json(&["run", thread]);
    }
    let rows = |dir: &str| run_in(&home, dir, &["thread", "cost", "--here"]).json();
    let costs = rows("shop");
    assert_eq!((costs["threads"].as_u64(), &costs["rows"][0]["name"]), (Some(1), &Value::from(&*shop)), "{costs}");
    fs::create_dir_all(home.work().join("new/.workflows")).unwrap();
    assert_eq!(rows("new")["threads"], 0, "a project without threads has no costs");
    let log = run_in(&home, "shop", &["log", "--here"]).stdout;
    assert!(log.contains(&shop) && !log.contains(&blog), "{log}");
    for args in [&["thread", "cost", &shop, "--here"][..], &["log", &shop, "--here"]] {
        assert_eq!(run_in(&home, "shop", args).code, Some(64), "{args:?}");
    }
}
