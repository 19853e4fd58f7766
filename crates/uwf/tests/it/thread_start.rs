//! `uwf thread start`: a thread begins with a task and a version of a workflow.

use std::fs;

use serde_json::json;
use uwf_testing::{counting_workflow, text};

use crate::fixtures::answering::{answering_home, workflow};
use crate::fixtures::workflow_files::NOTED;
use crate::home;

#[test]
fn an_empty_prompt_is_an_error() {
    let home = answering_home();
    home.put("count-rounds", &counting_workflow(3));
    for prompt in ["", "  \n"] {
        let ran = home.uwf(&["thread", "start", "count-rounds", "-p", prompt]);
        insta::allow_duplicates! {
            insta::assert_snapshot!(ran.transcript(), @r"
            exit 64
            --- stderr
            error: the prompt is empty
            hint: use `-p 'TEXT'`, or `-p -` to read the task from stdin
            ");
        }
    }
    assert_eq!(home.uwf(&["thread", "start", "count-rounds"]).code, Some(64));
    assert!(!home.root().join("threads.yaml").exists());
}

#[test]
fn mistyped_workflow_or_role_suggests_nearest_name() {
    let home = answering_home();
    home.put("count-rounds", &counting_workflow(3));
    insta::assert_snapshot!(home.uwf(&["thread", "start", "count-round", "-p", "x"]).transcript(), @r"
    exit 69
    --- stderr
    error: workflow `count-round` does not exist
    hint: did you mean `count-rounds`?
    ");
    insta::assert_snapshot!(home.uwf(&["thread", "start", "count-rounds", "-p", "x", "--agent", "workr=w"]).transcript(), @r"
    exit 64
    --- stderr
    error: workflow `count-rounds` has no role `workr`
    hint: did you mean `worker`?
    ");
}

#[test]
fn thread_keeps_its_workflow_version() {
    let home = answering_home();
    let first = home.put("do-work", &workflow("do-work", "steps[-1].output.n = 1"));
    let thread = home.start("do-work", "x");
    let second = home.put("do-work", &workflow("do-work", "steps[-1].output.n = 2"));
    assert_ne!(first, second);
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!(json!([report["workflow"], report["done"]]), json!([first, true]));
}

#[test]
fn name_resolves_in_project_first_within_repository() {
    let home = answering_home();
    let registered = home.put("do-work", &workflow("do-work", "true"));
    fs::create_dir_all(home.work().join("repo/.workflows")).unwrap();
    fs::create_dir_all(home.work().join("repo/sub/deep")).unwrap();
    fs::create_dir_all(home.work().join(".workflows")).unwrap();
    fs::write(home.work().join(".workflows/outside-work.yaml"), workflow("outside-work", "true")).unwrap();
    fs::write(home.work().join("repo/.workflows/do-work.yaml"), workflow("do-work", "1 = 1")).unwrap();
    // In a worktree or submodule `.git` is a file.
    fs::write(home.work().join("repo/.git"), "gitdir: elsewhere\n").unwrap();
    let start = |dir: &str, name: &str| {
        let mut command = home.command(&["thread", "start", name, "-p", "x"]);
        uwf_testing::FinishedRun::from(command.current_dir(home.work().join(dir)).output().unwrap())
    };
    let inside = start("repo/sub/deep", "do-work");
    assert_ne!(text(&inside.json(), "workflow"), registered);
    assert!(inside.stderr.contains("shadows the registry's `do-work`"), "{}", inside.stderr);
    assert_eq!(text(&start(".", "do-work").json(), "workflow"), registered);
    assert_eq!(start("repo/sub", "outside-work").code, Some(69), "the search stops at .git");
    assert_eq!(start(".", "outside-work").code, Some(0));
    let by_prefix = start(".", &registered[..6].to_lowercase());
    assert_eq!(text(&by_prefix.json(), "workflow"), registered);
}

#[test]
fn common_prompt_texts_are_stored_at_start() {
    let home = answering_home();
    home.config("agents:\n  w: { command: worker, output: text }\ndefaultAgent: w\n");
    home.file("answer", "---\nn: 1\n---\nOne.\n");
    let thread = home.start_counting(9, "count the moons");
    let texts = || home.json(&["cas", "list", "--type", "content"]).as_array().unwrap().len();
    let before = texts();
    let head = home.json(&["thread", "step", &thread])["head"].as_str().unwrap().to_owned();
    assert_eq!(texts(), before + 1, "only the answer is new");
    let detail = home.json(&["thread", "step-details", &head, "--format", "json"]);
    let told = &detail["detail"]["turns"][0]["input"];
    assert!(told[0].as_str().unwrap().contains("You play role `worker`"), "{told}");
    assert!(told[1].as_str().unwrap().contains("count the moons"), "{told}");
}

#[test]
fn start_warns_when_only_limit_ends_thread() {
    let home = home();
    let endless = NOTED.replace("a: [ { role: $END } ]", "a: [ { role: a } ]");
    let warned = "no path leads from `a` to `$END`";
    home.put("take-notes", &endless);
    for workflow in ["take-notes", "take-notes.yaml"] {
        let started = home.uwf(&["thread", "start", workflow, "-p", "x"]);
        assert_eq!((started.code, started.stderr.matches(warned).count()), (Some(0), 1), "{}", started.stderr);
    }
}
