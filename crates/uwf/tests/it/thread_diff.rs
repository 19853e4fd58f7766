//! `uwf thread diff`: how outputs and files differ.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{TestHome, counting_workflow, numbered, text};

use crate::fixtures::repository::{git, git_that_first, home_with_repository, start_in_worktree, uwf_in};
use crate::fixtures::review::{damage, hashes, reviewing_home, step};
use crate::home;

fn told(home: &TestHome, args: &[&str]) -> String {
    numbered(&home.steady(&home.uwf(args).transcript()))
}

/// Paths of the files that differ.
fn changed(report: &Value) -> Vec<String> {
    report["files"]["changed"].as_array().unwrap().iter().map(|file| text(file, "path")).collect()
}

#[test]
fn a_step_is_compared_with_the_one_before() {
    let home = home_with_repository(9);
    let (thread, worktree) = start_in_worktree(&home, &home.work().join("repo"));
    step(&home, &thread, 1);
    fs::remove_file(worktree.join("README")).unwrap();
    fs::write(worktree.join("picture"), [0, 1, 2, 0]).unwrap();
    step(&home, &thread, 1);
    let head = home.head(&thread).unwrap();
    insta::allow_duplicates! {
        for which in [&thread, &head] {
            let args = ["thread", "diff", which, "--stat"];
            let told = told(&home, &args).replace(" of thread <id>", "");
            assert_snapshot!(told, @r#"
            exit 0
            --- worker #1
            +++ worker #2
            @@ -1 +1 @@
            -"n": 1
            +"n": 2

            files at #1 and #2
                +0    -1  README
                +1    -1  count
                +-    --  picture
                +1    -0  step-2.txt
            4 files differ, 2 lines added, 2 removed
            "#);
        }
    }
    let report = home.json(&["thread", "diff", &thread, "--format", "json"]);
    assert_eq!(report["outputs"][0]["changes"], json!([{ "at": "/n", "a": 1, "b": 2 }]));
    assert_eq!(report["a"]["step"], json!(hashes(&home, &thread)[1]));
    assert!(text(&report["files"], "patch").contains("\n-1\n+2\n"), "{report}");
    let patch = home.uwf(&["thread", "diff", &thread, "--files"]).stdout;
    assert!(patch.starts_with("diff --git a/README b/README\ndeleted file mode 100644\n"), "{patch}");

    // What is printed is a patch: on the files of the one it gives those of the other.
    let forked = uwf_in(&home, &home.work(), &["thread", "fork", &hashes(&home, &thread)[1]]).json();
    let there = home.root().join("worktrees").join(text(&forked, "thread"));
    fs::write(home.work().join("patch"), patch).unwrap();
    git(&home, &there, &["apply", home.work().join("patch").to_str().unwrap()]);
    assert!(!there.join("README").exists() && there.join("step-2.txt").exists());
    assert_eq!(fs::read(there.join("picture")).unwrap(), [0, 1, 2, 0]);
}

#[test]
fn two_threads_are_compared_from_where_they_part() {
    let home = home_with_repository(9);
    let (thread, _) = start_in_worktree(&home, &home.work().join("repo"));
    step(&home, &thread, 2);
    let fork = text(&home.json(&["thread", "fork", &thread, "--from-role", "worker"]), "thread");
    let there = home.root().join("worktrees").join(&fork);
    fs::write(there.join("count"), "6").unwrap();
    step(&home, &fork, 2);
    let told = told(&home, &["thread", "diff", &thread, &fork, "--outputs"]);
    assert_snapshot!(told, @r#"
    exit 0
    --- 2. worker #1
    +++ 2. worker #2
    @@ -1 +1 @@
    -"n": 2
    +"n": 7
    --- no step
    +++ 3. worker #3
    @@ -0,0 +1 @@
    +"n": 8
    "#);
    let report = home.json(&["thread", "diff", &thread, &fork, "--format", "json", "--stat"]);
    assert_eq!(changed(&report), ["count", "step-2.txt", "step-7.txt", "step-8.txt"]);
    assert_eq!(report["files"].get("patch"), None);
    assert_eq!(report["outputs"][1]["changes"], json!([{ "at": "", "b": { "n": 8 } }]));
    let first = &hashes(&home, &thread)[1];
    let same = told_same(&home, &[first, first]);
    assert_eq!(same, "exit 0\nthe outputs are the same\nthe files are the same\n");
}

fn told_same(home: &TestHome, which: &[&String]) -> String {
    let args: Vec<&str> = ["thread", "diff"].into_iter().chain(which.iter().map(|which| which.as_str())).collect();
    home.steady(&home.uwf(&args).transcript())
}

#[test]
fn missing_worktree_compares_outputs_with_warning() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    step(&home, &thread, 4);
    let nodes = hashes(&home, &thread);
    assert_snapshot!(told(&home, &["thread", "diff", &nodes[2], &nodes[4]]), @r"
    exit 0
    --- reviewer #1
    +++ reviewer #2
    @@ -1 +1 @@
    -approved: false
    +approved: true
    --- stderr
    warning: only outputs are compared: the files of #1 are in no git repository that is known here
    ");
    let other = home.start("review-text", "Write about dogs.");
    step(&home, &other, 2);
    let compared = told(&home, &["thread", "diff", &thread, &other]);
    assert!(compared.contains("warning: only outputs are compared: thread <id> has no git worktree"), "{compared}");
    assert!(compared.contains("+++ no step\n"), "{compared}");
    assert_snapshot!(told(&home, &["thread", "diff", &thread, &other, "--files"]), @r"
    exit 64
    --- stderr
    error: thread <id> has no git worktree: its agents work in its directory
    hint: `uwf thread start --worktree` gives a thread one
    ");
    // A text of several lines is compared line by line.
    let texts = home.json(&["thread", "diff", &nodes[1], &nodes[2], "--outputs", "--format", "json"]);
    assert_eq!(texts["outputs"][0]["changes"].as_array().unwrap().len(), 3, "{texts}");
}

#[test]
fn incomparable_sides_are_rejected() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    let start = home.head(&thread).unwrap();
    for which in [&thread, &start] {
        insta::allow_duplicates! {
            assert_snapshot!(told(&home, &["thread", "diff", which]), @r"
            exit 64
            --- stderr
            error: #1 is the start of a thread: there is nothing before it to compare it with
            hint: name two steps, or two threads
            ");
        }
    }
    step(&home, &thread, 2);
    let nodes = hashes(&home, &thread);
    let against_start = home.json(&["thread", "diff", &nodes[0], &nodes[1], "--outputs", "--format", "json"]);
    assert_eq!(against_start["outputs"][0]["a"], Value::Null);
    assert_eq!(home.uwf(&["thread", "diff", "ZZZZ"]).code, Some(69));
    let workflow = text(&home.json(&["thread", "show", &thread]), "workflow");
    assert_eq!(home.uwf(&["thread", "diff", &nodes[1], &workflow]).code, Some(65));
    assert_eq!(home.uwf(&["thread", "diff", &thread, &nodes[1], "--files", "--outputs"]).code, Some(64));
    damage(&home, &nodes[1]);
    assert_eq!(home.uwf(&["thread", "diff", &nodes[1], &nodes[2]]).code, Some(65));
}

#[test]
fn threads_compare_when_finished_or_missing_files() {
    let home = home_with_repository(2);
    let repo = home.work().join("repo");
    let (thread, _) = start_in_worktree(&home, &repo);
    step(&home, &thread, 1);
    git_that_first(&home, "case \"$*\" in *write-tree*) exit 128;; esac");
    step(&home, &thread, 1);
    fs::remove_file(home.bin_dir().join("git")).unwrap();
    let ran = home.uwf(&["thread", "diff", &thread]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("are in no git repository that is known here"), "{}", ran.stderr);
    let mut without_git = home.command(&["thread", "diff", &hashes(&home, &thread)[1]]);
    let told = without_git.env("PATH", home.bin_dir()).output().unwrap();
    assert_eq!(
        String::from_utf8(told.stderr).unwrap(),
        "warning: only outputs are compared: git is not installed: program `git` is not on PATH\n"
    );
    // Of a thread that was removed the hashes still lead to its files.
    let (thread, _) = start_in_worktree(&home, &repo);
    step(&home, &thread, 2);
    let nodes = hashes(&home, &thread);
    home.json(&["thread", "rm", &thread, "--discard"]);
    let report = uwf_in(&home, &repo, &["thread", "diff", &nodes[1], &nodes[2], "--format", "json"]).json();
    assert_eq!(changed(&report), ["count", "step-2.txt"]);
}

#[test]
fn a_patch_has_the_bytes_of_the_files() {
    let home = home_with_repository(9);
    let repo = home.work().join("repo");
    let (thread, worktree) = start_in_worktree(&home, &repo);
    fs::write(worktree.join("latin"), b"caf\xe9\r\nth\xe9\r\n").unwrap();
    fs::write(worktree.join("moved-from"), "a line\n".repeat(20)).unwrap();
    step(&home, &thread, 1);
    fs::write(worktree.join("latin"), b"caf\xe9\r\nth\xe8\r\nno end \xff").unwrap();
    fs::rename(worktree.join("moved-from"), worktree.join("moved-to")).unwrap();
    fs::set_permissions(worktree.join("sub/file"), fs::Permissions::from_mode(0o755)).unwrap();
    step(&home, &thread, 1);
    let patch = home.command(&["thread", "diff", &thread, "--files"]).output().unwrap().stdout;
    fs::write(home.work().join("patch"), &patch).unwrap();
    let forked = uwf_in(&home, &home.work(), &["thread", "fork", &hashes(&home, &thread)[1]]).json();
    let there = home.root().join("worktrees").join(text(&forked, "thread"));
    git(&home, &there, &["apply", home.work().join("patch").to_str().unwrap()]);
    assert_eq!(fs::read(there.join("latin")).unwrap(), b"caf\xe9\r\nth\xe8\r\nno end \xff");
    assert!(there.join("moved-to").exists() && !there.join("moved-from").exists());
    assert_eq!(fs::metadata(there.join("sub/file")).unwrap().permissions().mode() & 0o111, 0o111);
    let report = home.json(&["thread", "diff", &thread, "--files", "--format", "json"]);
    assert_eq!(report["files"]["patchIsLossy"], true, "{report}");
    let first = &hashes(&home, &thread)[1];
    assert_snapshot!(told(&home, &["thread", "diff", first, first, "--files"]), @"
    exit 0
    --- stderr
    the files are the same
    ");
}

#[test]
fn long_disjoint_outputs_compare_quickly() {
    let home = home();
    let line = "#!/bin/sh\ncat > /dev/null\nprintf '{\"n\": 1, \"text\": \"'\nseq -f \"$UWF_THREAD %.0f\\\\n\" 1 30000 | tr -d '\\n'\necho '\"}'\n";
    home.worker("output: json", line);
    home.put(
        "count-rounds",
        &counting_workflow(1).replace("n: { type: integer }", "n: { type: integer }, text: { type: string }"),
    );
    let threads = [home.start("count-rounds", "x"), home.start("count-rounds", "x")];
    threads.iter().for_each(|thread| drop(home.json(&["thread", "step", thread])));
    let begun = Instant::now();
    let ran = home.uwf(&["thread", "diff", &threads[0], &threads[1], "--outputs"]);
    assert!(ran.code == Some(0) && ran.stdout.lines().count() >= 60_000, "{:?} {}", ran.code, ran.stdout.len());
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}
