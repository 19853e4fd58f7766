//! Commands that act on several threads: named one by one, or selected by the filters of lists.

use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome, counting_workflow, text};

use crate::home;

/// A home with two threads of `alpha` and one of `beta`, whose agent fails for the tasks in the file `bad`.
pub(crate) fn threads_of_two_workflows() -> (TestHome, [String; 3]) {
    let home = home();
    home.worker(
        "output: json",
        "#!/bin/sh\nwhile read -r line; do case $line in *spoiled*) [ -e bad ] && exit 3;; esac; done\necho '{\"n\": 1}'\n",
    );
    for name in ["alpha", "beta"] {
        home.put(name, &counting_workflow(1).replace("count-rounds", name));
    }
    let threads =
        [("alpha", "first"), ("alpha", "spoiled"), ("beta", "third")].map(|(name, task)| home.start(name, task));
    (home, threads)
}

/// Thread, exit code and one more entry of each result.
fn results(ran: &FinishedRun, key: &str) -> Vec<Value> {
    let Ok(Value::Array(results)) = serde_json::from_str(&ran.stdout) else { panic!("{ran:?}") };
    results.iter().map(|one| json!([one["thread"], one["exitCode"], one[key]])).collect()
}

pub(crate) fn states(home: &TestHome, threads: &[String]) -> Vec<String> {
    threads.iter().map(|thread| text(&home.json(&["thread", "show", thread]), "state")).collect()
}

#[test]
fn pause_and_resume_act_on_filtered_threads() {
    let (home, threads) = threads_of_two_workflows();
    let refused = home.uwf(&["thread", "pause", "--workflow", "alpha"]);
    assert_eq!(refused.code, Some(64), "{refused:?}");
    for shown in ["the filters select 2 threads; nothing was changed", "add --yes", &threads[0], "spoiled"] {
        assert!(refused.stderr.contains(shown), "{shown}: {refused:?}");
    }
    assert_eq!(states(&home, &threads), ["active"; 3]);
    let paused = home.uwf(&["thread", "pause", "--workflow", "alpha", "--yes"]);
    assert_eq!(paused.code, Some(0), "{paused:?}");
    assert_eq!(results(&paused, "state"), [json!([threads[0], 0, "paused"]), json!([threads[1], 0, "paused"])]);
    let again = home.uwf(&["thread", "pause", "--workflow", "alpha"]);
    assert_eq!((again.code, again.json()), (Some(0), json!([])), "paused threads are not paused again");
    let one = home.uwf(&["thread", "resume", "--search", "FIRST"]);
    assert_eq!(results(&one, "state"), [json!([threads[0], 0, "active"])], "one thread needs no confirmation");
    assert_eq!(states(&home, &threads), ["active", "paused", "active"]);
}

#[test]
fn named_threads_are_killed_despite_failures_of_others() {
    let (home, threads) = threads_of_two_workflows();
    home.json(&["thread", "kill", &threads[1]]);
    let ran = home.uwf(&["thread", "kill", &threads[0], &threads[1], &threads[2], &threads[0]]);
    assert_eq!(ran.code, Some(69), "{ran:?}");
    let expected = [json!([threads[0], 0, true]), json!([threads[1], 69, null]), json!([threads[2], 0, true])];
    assert_eq!(results(&ran, "archived"), expected, "each once, in the order of the names");
    let failed = &serde_json::from_str::<Value>(&ran.stdout).unwrap()[1];
    assert_eq!(json!([failed["error"]["kind"], failed["state"]]), json!(["not-found", "killed"]));
    assert_eq!(states(&home, &threads), ["killed"; 3]);
}

#[test]
fn unknown_thread_among_several_changes_nothing() {
    let (home, threads) = threads_of_two_workflows();
    let ran = home.uwf(&["thread", "kill", &threads[0], "ZZZZZZ"]);
    assert_eq!(ran.code, Some(69), "{ran:?}");
    assert_eq!(states(&home, &threads), ["active"; 3]);
    let head = home.head(&threads[0]).unwrap();
    let ran = home.uwf(&["thread", "kill", &threads[0], &threads[1], "--expect-head", &head]);
    assert!(ran.code == Some(64) && ran.stderr.contains("about one thread"), "{ran:?}");
    let both = home.uwf(&["thread", "kill", &threads[0], "--workflow", "alpha"]);
    assert_eq!(both.code, Some(64), "{both:?}");
    assert_eq!(home.uwf(&["thread", "kill"]).code, Some(64));
    assert_eq!(home.uwf(&["thread", "kill", "--workflow", "gamma", "--yes"]).code, Some(69));
    assert_eq!(states(&home, &threads), ["active"; 3]);
}

#[test]
fn run_and_retry_continue_filtered_threads() {
    let (home, threads) = threads_of_two_workflows();
    home.file("bad", "");
    let ran = home.uwf(&["run", &threads[1], &threads[2], "--jobs", "2"]);
    assert_eq!(ran.code, Some(40), "{ran:?}");
    assert_eq!(results(&ran, "done"), [json!([threads[1], 40, false]), json!([threads[2], 0, true])]);
    let refused = home.uwf(&["run", &threads[0], &threads[1], "-p", "task"]);
    assert!(refused.code == Some(64) && refused.stderr.contains("quote a task"), "{refused:?}");
    assert_eq!(home.uwf(&["run", &threads[0], "--jobs", "2"]).code, Some(64));
    std::fs::remove_file(home.work().join("bad")).unwrap();
    let ran = home.uwf(&["run", "--workflow", "alpha"]);
    assert_eq!(results(&ran, "done"), [json!([threads[0], 0, true])], "a stuck thread is left alone");
    let retried = home.uwf(&["thread", "retry", "--workflow", "alpha"]);
    assert_eq!(results(&retried, "done"), [json!([threads[1], 0, true])], "{retried:?}");
    let none = home.uwf(&["thread", "retry", "--here", "--format", "text"]);
    assert_eq!(none.code, Some(64), "outside of a project: {none:?}");
    assert_eq!(home.uwf(&["run", "--state", "stuck", "--format", "text"]).stdout, "no thread to run\n");
}

#[test]
fn removal_takes_filters_and_a_dry_run() {
    let (home, threads) = threads_of_two_workflows();
    home.json(&["run", "--all"]);
    let dry = home.uwf(&["thread", "rm", "--workflow", "alpha", "--dry-run"]);
    assert_eq!(results(&dry, "dryRun"), [json!([threads[0], 0, true]), json!([threads[1], 0, true])], "{dry:?}");
    let refused = home.uwf(&["thread", "rm", "--state", "completed"]);
    assert!(refused.code == Some(64) && refused.stderr.contains("select 3 threads"), "{refused:?}");
    let active = home.uwf(&["thread", "rm", "--state", "stuck", "--yes"]);
    assert!(active.code == Some(64) && active.stderr.contains("can't be removed"), "{active:?}");
    let finished = home.uwf(&["thread", "pause", "--state", "killed"]);
    assert!(finished.code == Some(64) && finished.stderr.contains("killed can't be paused"), "{finished:?}");
    let old = home.uwf(&["thread", "rm", "--older-than", "1h", "--workflow", "alpha"]);
    assert_eq!((old.code, old.json()), (Some(0), json!([])), "none is that old");
    let removed = home.uwf(&["thread", "rm", "--older-than", "0s", "--workflow", "alpha"]);
    assert_eq!(results(&removed, "archived"), [json!([threads[0], 0, false]), json!([threads[1], 0, false])]);
    assert_eq!(home.json(&["thread", "list", "--all"])[0]["thread"], threads[2]);
}
