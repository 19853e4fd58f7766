//! Groups over a list: a branch for each item, branches that may fail, and failures that all branches would have.

use std::fs;

use serde_json::json;
use uwf_testing::{FinishedRun, TestHome, text};

use crate::fixtures::group_in_repository::thread_of;
use crate::fixtures::group_runs::{prompt, runs};
use crate::home;

/// A planner that lists findings, a fixer for each, and a last role that sees the results.
const MAP: &str = "name: fix-all
description: repairs every finding
roles:
  planner: { goal: You list what is wrong., meta: { type: object, properties: { findings: { type: array, maxItems: 99, items: { type: object } } }, required: [findings] } }
  fixer: { goal: You repair one finding., meta: { type: object, properties: { done: { type: boolean } }, required: [done] } }
  fixes:
    play: fixer
    each: \"$last('planner').findings\"
    key: id
  report: { goal: You sum up. }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: fixes } ]
  fixes: [ { role: report } ]
  report: [ { role: $END } ]
";

/// An agent that keeps its prompt as `prompt-BRANCH`, notes its branch in `runs`, and runs `ROLE.sh`.
const AGENT: &str =
    "#!/bin/sh\nme=${UWF_BRANCH:-$UWF_ROLE}\ncat > \"prompt-$me\"\necho \"$me\" >> runs\nsh ./$UWF_ROLE.sh\n";

fn map(file: &str) -> TestHome {
    let home = home();
    home.put("fix-all", file);
    home.script("worker", AGENT);
    home.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\nkillGrace: 1\n");
    findings(&home, "[{id: a, file: a.rs}, {id: b, file: b.rs}, {id: c, file: c.rs}]");
    home.file("fixer.sh", "printf -- '---\\ndone: true\\n---\\nRepaired.\\n'\n");
    home.file("report.sh", "echo 'All repaired.'\n");
    home
}

fn findings(home: &TestHome, list: &str) {
    home.file("planner.sh", &format!("printf -- '---\\nfindings: {list}\\n---\\nI looked.\\n'\n"));
}

#[test]
fn each_item_has_its_own_branch() {
    let home = map(MAP);
    home.file("fixer.sh", "printf -- '---\\ndone: true\\n---\\n%s\\n' \"$UWF_ITEM\"\n");
    let ran = home.uwf(&["run", "fix-all", "-p", "Mend it."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["fixes.a", "fixes.b", "fixes.c", "planner", "report"]);
    let thread = thread_of(&ran);
    let output = home.json(&["thread", "eval", &thread, "$last('fixes')"]);
    assert_eq!(output, json!({"a": {"done": true}, "b": {"done": true}, "c": {"done": true}}));
    let own = prompt(&home, "fixes.b");
    for part in
        ["# Your item", "item 2 of 3, `b`, of the group `fixes`", "file: b.rs", "Mend it.", "output of role `planner`"]
    {
        assert!(own.contains(part), "{part}: {own}");
    }
    let branches = home.json(&[
        "thread",
        "eval",
        &thread,
        "$branches('fixes').(name & ' ' & role & ' ' & item.file & ' ' & agent)",
    ]);
    assert_eq!(branches, json!(["a fixer a.rs worker", "b fixer b.rs worker", "c fixer c.rs worker"]));
    let own = home.json(&["thread", "eval", &thread, "$branches('fixes')[name='b'].thread"]);
    let listed = home.json(&["thread", "list", "--all"]);
    let row = listed.as_array().unwrap().iter().find(|row| row["branch"] == "fixes.b").unwrap();
    assert_eq!(own, row["thread"]);
    let seconds = home.json(&["thread", "eval", &thread, "$sum($branches('fixes').usage.seconds) > 0"]);
    assert_eq!(seconds, json!(true));
    let report = prompt(&home, "report");
    assert!(report.contains("## Branch `a`") && report.contains("{\"id\":\"c\",\"file\":\"c.rs\"}"), "{report}");
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
}

#[test]
fn output_without_key_is_list_in_item_order() {
    let home = map(&MAP.replace("    key: id\n", "    max: 3\n"));
    home.file(
        "fixer.sh",
        "case $UWF_BRANCH in fixes.1) sleep 0.4; d=false;; *) d=true;; esac\nprintf -- \"---\\ndone: $d\\n---\\n\"\n",
    );
    let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["fixes.1", "fixes.2", "fixes.3", "planner", "report"]);
    let output = home.json(&["thread", "eval", &thread_of(&ran), "$last('fixes').done"]);
    assert_eq!(output, json!([false, true, true]));
}

#[test]
fn empty_list_costs_nothing() {
    for (file, empty) in [(MAP.to_owned(), json!({})), (MAP.replace("    key: id\n", ""), json!([]))] {
        let home = map(&file);
        findings(&home, "[]");
        let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
        assert_eq!(home.json(&["thread", "eval", &thread_of(&ran), "$last('fixes')"]), empty);
        assert_eq!(runs(&home), ["planner", "report"]);
    }
}

#[test]
fn bad_items_are_refused_before_any_branch() {
    for (each, list, code, why) in [
        ("$last('planner').finding", "[]", 65, "gives nothing; it must give a list"),
        ("$last('planner').findings[id='a']", "[{id: a}]", 65, "gives an object; it must give a list"),
        ("$last('planner').findings", "[{id: a}, {id: a}]", 65, "items 1 and 2 of `fixes` have the same `id`: `a`"),
        ("$last('planner').findings", "[{id: a}, {file: b}]", 65, "item 2 of `fixes` has no `id`"),
        ("$last('planner').findings", "[{id: [a]}]", 65, "neither a text nor a number"),
        (
            "$last('planner').findings",
            "[{id: a}, {id: b}, {id: c}]",
            30,
            "would have 3 branches, and `maxBranches` is 2",
        ),
    ] {
        let home = map(&MAP.replace("$last('planner').findings", each));
        home.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\nmaxBranches: 2\n");
        findings(&home, list);
        let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
        assert_eq!(ran.code, Some(code), "{each}: {}", ran.transcript());
        assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
        assert!(ran.stderr.contains("hint: ") && !ran.stderr.contains("all it printed"), "{why}: {}", ran.stderr);
        assert_eq!(runs(&home), ["planner"], "nothing is paid for");
    }
}

#[test]
fn group_continues_without_branch_that_may_fail() {
    let home = map(&MAP.replace("    key: id\n", "    key: id\n    mayFail: true\n"));
    home.file(
        "fixer.sh",
        "test $UWF_BRANCH != fixes.b || { echo 'no such file' >&2; exit 3; }\nprintf -- '---\\ndone: true\\n---\\n'\n",
    );
    let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("✗")).collect();
    assert_eq!(lines.len(), 1, "one line about the failure: {lines:?}");
    assert!(ran.stderr.contains("fixes.b failed: its group continues without it"), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("✓ fixes.").count(), 2, "a failed branch is no success: {}", ran.stderr);
    let thread = thread_of(&ran);
    let output = home.json(&["thread", "eval", &thread, "$last('fixes')"]);
    assert_eq!((&output["a"], &output["c"]), (&json!({"done": true}), &json!({"done": true})));
    assert!(text(&output["b"], "failed").contains("exited with 3"), "{output}");
    assert_eq!(runs(&home).iter().filter(|run| *run == "fixes.b").count(), 1);
    let report = prompt(&home, "report");
    assert!(report.contains("Branch `b` failed: "), "{report}");
    assert!(report.find("Branch `b` failed") < report.find("## Branch `a`"), "failed ones come first: {report}");
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
    assert_eq!(home.json(&["thread", "list"]), json!([]), "the failed branch has ended");
}

#[test]
fn failed_branch_is_not_paid_again_after_wait() {
    let home = map(&MAP.replace("    key: id\n", "    key: id\n    mayFail: true\n"));
    home.file("fixer.sh", "case $UWF_BRANCH in fixes.b) exit 3;; fixes.c) test -e go || { printf -- '---\\nstatus: needs_input\\n---\\nMay I?\\n'; exit 0; };; esac\nprintf -- '---\\ndone: true\\n---\\n'\n");
    let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    home.file("go", "");
    let thread = thread_of(&ran);
    let answered = home.uwf(&["thread", "answer", &thread, "-m", "Yes."]);
    assert_eq!(answered.code, Some(0), "{}", answered.transcript());
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home).iter().filter(|run| *run == "fixes.b").count(), 1, "{:?}", runs(&home));
}

#[test]
fn silent_agent_starts_no_more_branches() {
    let silent = "test -e go || sleep 60\nprintf -- '---\\ndone: true\\n---\\n'\n";
    let played = |more: &str| {
        let home = map(&MAP.replace("    key: id\n", &format!("    key: id\n    max: 1\n{more}")));
        home.config(
            "agents:\n  t: { command: worker, output: text, idleTimeout: 1s }\ndefaultAgent: t\nkillGrace: 1\n",
        );
        home.file("fixer.sh", silent);
        let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
        (home, ran)
    };
    let (home, ran) = played("");
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert_eq!(runs(&home), ["fixes.a", "planner"]);
    let said = "uwf did not start branches `b` and `c`: the agent is the same, and printed nothing";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    home.file("go", "");
    assert_eq!(home.uwf(&["thread", "retry", &thread_of(&ran)]).code, Some(0));
    let (home, ran) = played("    mayFail: true\n");
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["fixes.a", "fixes.b", "fixes.c", "planner", "report"], "each may fail");
}

#[test]
fn failure_of_the_account_starts_no_more_branches() {
    let home = map(&MAP.replace("    key: id\n", "    key: id\n    max: 1\n    mayFail: true\n"));
    home.file(
        "fixer.sh",
        "test -e paid || { echo 'Credit balance is too low' >&2; exit 1; }\nprintf -- '---\\ndone: true\\n---\\n'\n",
    );
    let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("uwf did not start branches `b` and `c`"), "{}", ran.stderr);
    assert_eq!(runs(&home), ["fixes.a", "planner"]);
    home.file("paid", "");
    let thread = thread_of(&ran);
    let again = home.uwf(&["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert_eq!(runs(&home), ["fixes.a", "fixes.a", "fixes.b", "fixes.c", "planner"]);
}

/// A list, and commands for its items; `run` is the command, with further keys of its role.
fn commands(run: &str, of_group: &str) -> String {
    let from = "  fixer: { goal: You repair one finding., meta: { type: object, properties: { done: { type: boolean } }, required: [done] } }\n";
    MAP.replace(from, &format!("  fixer: {{ run: {run} }}\n"))
        .replace("    key: id\n", &format!("    key: id\n    max: 1\n{of_group}"))
}

#[test]
fn missing_program_of_commands_starts_no_more_branches() {
    for run in ["no-such-linter --all", "MODE=fast no-such-linter", "./no-such-script.sh"] {
        let home = map(&commands(&format!("\"{run}\""), "    mayFail: true\n"));
        let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
        assert_eq!(ran.code, Some(40), "{run}: {}", ran.transcript());
        assert!(ran.stderr.contains("uwf did not start branches `b` and `c`"), "{run}: {}", ran.stderr);
        assert!(ran.stderr.contains("exited with 127"), "{run}: {}", ran.stderr);
    }
    // Here the program is in the middle of a line, and depends on the item.
    for run in ["cd . && no-such-linter", "sh -c 'exit 127'", "test -z '' && exit 127"] {
        let home = map(&commands(&format!("\"{run}\""), "    mayFail: true\n"));
        let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
        assert_eq!(ran.code, Some(0), "{run}: {}", ran.transcript());
    }
}

#[test]
fn command_without_directory_may_fail() {
    for (more, code) in [("    mayFail: true\n", 0), ("", 40)] {
        let home = map(&commands("pwd, cwd: sub", more));
        let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
        assert_eq!(ran.code, Some(code), "{}", ran.transcript());
        assert!(!ran.stderr.contains("did not start"), "{}", ran.stderr);
        if code == 0 {
            let output = home.json(&["thread", "eval", &thread_of(&ran), "$last('fixes')"]);
            for name in ["a", "b", "c"] {
                let why = output[name]["failed"].as_str().unwrap();
                assert!(why.contains("`cwd` of role `fixer`") && why.contains("does not exist"), "{output}");
            }
        }
    }
}

#[test]
fn words_of_work_stop_no_other_branch() {
    for failure in ["FAILED tests/test_authentication.py::test_x", "EACCES: permission denied, open build/x"] {
        let home = map(&MAP.replace("    key: id\n", "    key: id\n    max: 1\n    mayFail: true\n"));
        home.file(
            "fixer.sh",
            &format!(
                "test $UWF_BRANCH != fixes.a || {{ echo '{failure}' >&2; exit 1; }}\nprintf -- '---\\ndone: true\\n---\\n'\n"
            ),
        );
        let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
        assert_eq!(ran.code, Some(0), "{failure}: {}", ran.transcript());
        assert_eq!(runs(&home), ["fixes.a", "fixes.b", "fixes.c", "planner", "report"], "{failure}");
    }
}

#[test]
fn limit_of_the_parent_starts_no_more_branches() {
    let home = map(&MAP.replace("    key: id\n", "    key: id\n    max: 1\n"));
    home.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\n");
    home.file("fixer.sh", "printf -- '---\\ndone: true\\n---\\n'\nsleep 2.2\n");
    let ran = home.uwf(&["run", "fix-all", "-p", "x", "--max-time", "4s"]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    assert!(ran.stderr.contains("did not start"), "{}", ran.stderr);
    let played = runs(&home).iter().filter(|run| run.starts_with("fixes.")).count();
    assert!(played < 3, "{:?}", runs(&home));
    let thread = thread_of(&ran);
    assert_eq!(home.uwf(&["thread", "limit", &thread, "--time", "+10m"]).code, Some(0));
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["fixes.a", "fixes.b", "fixes.c", "planner", "report"], "nothing is paid twice");
}

#[test]
fn limits_of_a_branch_stop_only_it() {
    let home = map(&MAP.replace("    play: fixer", "    play: { role: fixer, limits: { maxTime: 3s } }"));
    home.file(
        "fixer.sh",
        "test $UWF_BRANCH != fixes.b || { sleep 3.2; exit 3; }\nprintf -- '---\\ndone: true\\n---\\n'\n",
    );
    let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let again = home.uwf(&["thread", "retry", &thread_of(&ran)]);
    assert_eq!(again.code, Some(30), "its branch may not begin another step: {}", again.transcript());
    assert!(again.stderr.contains("branch `fixes.b`"), "{}", again.stderr);
    assert_eq!(runs(&home), ["fixes.a", "fixes.b", "fixes.c", "planner"]);
}

/// The most lines of the file `at-work` that were there at once, each the begin or the end of an agent.
fn most_at_work(home: &TestHome) -> usize {
    let (mut at_work, mut most) = (0_usize, 0);
    for line in fs::read_to_string(home.work().join("at-work")).unwrap().lines() {
        at_work = if line == "begin" { at_work + 1 } else { at_work - 1 };
        most = most.max(at_work);
    }
    most
}

#[test]
fn machine_limit_holds_for_groups_within_groups() {
    let nested = "name: fix-all
description: two groups at once
roles:
  a: { goal: x }
  b: { goal: x }
  c: { goal: x }
  left: { play: [a, b] }
  right: { play: [c] }
  both: { play: [left, right] }
graph:
  $START: [ { role: both } ]
  both: [ { role: $END } ]
";
    let home = map(nested);
    for role in ["a", "b", "c"] {
        home.file(&format!("{role}.sh"), "echo begin >> at-work\nsleep 0.3\necho end >> at-work\necho done\n");
    }
    for (keys, most) in [("parallel: 1", 1), ("parallel: 8", 3), ("", 3)] {
        home.config(&format!("agents:\n  t: {{ command: worker, output: text }}\ndefaultAgent: t\n{keys}\n"));
        let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
        assert_eq!(ran.code, Some(0), "{keys}: {}", ran.transcript());
        if most == 1 {
            assert_eq!(most_at_work(&home), 1);
        }
        fs::remove_file(home.work().join("at-work")).unwrap();
    }
}

#[test]
fn agent_has_a_limit_of_its_own() {
    let home = map(&MAP.replace("    key: id\n", "    key: id\n    max: 3\n"));
    home.file(
        "fixer.sh",
        "echo begin >> at-work\nsleep 0.3\necho end >> at-work\nprintf -- '---\\ndone: true\\n---\\n'\n",
    );
    home.config("agents:\n  t: { command: worker, output: text, max: 1, timeout: 20s }\ndefaultAgent: t\n");
    let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(most_at_work(&home), 1);
}

#[test]
fn killed_thread_does_not_wait_for_a_place() {
    let home = map(MAP);
    home.file("planner.sh", "touch begun\nexec sleep 60\n");
    home.config("agents:\n  t: { command: worker, output: text, max: 1 }\ndefaultAgent: t\nkillGrace: 1\n");
    let (first, second) = (home.start("fix-all", "x"), home.start("fix-all", "y"));
    let mut steps = [&first, &second].map(|thread| {
        let step = home.command(&["thread", "step", thread]).spawn().unwrap();
        uwf_testing::processes::until("the agent of the first thread", || home.work().join("begun").exists());
        step
    });
    assert_eq!(home.uwf(&["thread", "kill", &second]).code, Some(0));
    assert!(!steps[1].wait().unwrap().success());
    assert_eq!(home.uwf(&["thread", "kill", &first]).code, Some(0));
    assert!(!steps[0].wait().unwrap().success());
}

#[test]
fn redone_branch_is_the_only_one_paid_again() {
    let home = map(MAP);
    let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    home.file("fixer.sh", "printf -- '---\\ndone: false\\n---\\nNot this time.\\n'\n");
    fs::remove_file(home.work().join("runs")).unwrap();
    let fork = text(&home.json(&["thread", "fork", &thread, "--redo", "fixes.b"]), "thread");
    let ran = home.uwf(&["run", &fork]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["fixes.b", "report"]);
    let output = home.json(&["thread", "eval", &fork, "$last('fixes')"]);
    assert_eq!(output, json!({"a": {"done": true}, "b": {"done": false}, "c": {"done": true}}));
    let old = home.json(&["thread", "eval", &thread, "$last('fixes').b"]);
    assert_eq!(old, json!({"done": true}), "the old line stays");
    for id in [&thread, &fork] {
        assert_eq!(home.uwf(&["thread", "verify", id]).code, Some(0));
    }
    for (path, why) in
        [("fixes.z", "its branches: a, b, c"), ("planner.a", "its groups: fixes"), ("fixes", "its branches: a, b, c")]
    {
        let refused = home.uwf(&["thread", "fork", &thread, "--redo", path]);
        assert_eq!(refused.code, Some(64), "{}", refused.transcript());
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn redo_keeps_branches_that_failed() {
    let home = map(&MAP.replace("    key: id\n", "    key: id\n    mayFail: true\n"));
    home.file(
        "fixer.sh",
        "test $UWF_BRANCH = fixes.b || { echo 'no such file' >&2; exit 3; }\nprintf -- '---\\ndone: true\\n---\\n'\n",
    );
    let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let eval = |thread: &str, expression: &str| home.json(&["thread", "eval", thread, expression]);
    let before = eval(&thread, "$last('fixes')");
    home.file("fixer.sh", "printf -- '---\\ndone: false\\n---\\n'\n");
    fs::remove_file(home.work().join("runs")).unwrap();
    let fork = |path: &str| text(&home.json(&["thread", "fork", &thread, "--redo", path]), "thread");
    for (redone, path) in [("b", "fixes.b"), ("a", "fixes.a")] {
        let fork = fork(path);
        let ran = home.uwf(&["run", &fork]);
        assert_eq!(ran.code, Some(0), "{path}: {}", ran.transcript());
        assert_eq!(runs(&home), [path, "report"], "the others are not paid for again");
        fs::remove_file(home.work().join("runs")).unwrap();
        let mut expected = before.clone();
        expected[redone] = json!({"done": false});
        assert_eq!(eval(&fork, "$last('fixes')"), expected, "{path}");
        let kept = "$branches('fixes')[name='c'].[failed, agent, usage.seconds]";
        assert_eq!(eval(&fork, kept), eval(&thread, kept));
        assert_eq!(home.uwf(&["thread", "verify", &fork]).code, Some(0));
        let shown = home.json(&["thread", "show", &fork]);
        assert_eq!(shown["state"], "completed", "{shown}");
    }
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn mock_script_answers_for_single_branches() {
    let home = map(MAP);
    home.config("agents:\n  m: { command: uwf-mock, config: { script: answers.yaml } }\ndefaultAgent: m\n");
    fs::write(
        home.root().join("answers.yaml"),
        "planner: [ reply: { findings: [ {id: a}, {id: b} ] } ]\nfixer: [ reply: { done: true } ]\n\
         fixes.b: [ reply: { done: false } ]\nreport: [ reply: Done. ]\n",
    )
    .unwrap();
    let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let output = home.json(&["thread", "eval", &thread_of(&ran), "$last('fixes')"]);
    assert_eq!(output, json!({"a": {"done": true}, "b": {"done": false}}));
}

#[test]
fn group_is_not_stepped_by_itself() {
    let home = map(MAP);
    home.file("fixer.sh", "exit 3\n");
    let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let parent = thread_of(&ran);
    let rows = home.json(&["thread", "list"]);
    let refused: Vec<FinishedRun> = rows
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| text(row, "thread") != parent && row["workflow"].is_string())
        .map(|row| home.uwf(&["thread", "step", &text(row, "thread")]))
        .filter(|ran| ran.code == Some(64))
        .collect();
    assert_eq!(refused.len(), 1, "only the group");
    assert!(refused[0].stderr.contains(&format!("uwf thread step {parent}")), "{}", refused[0].stderr);
}

/// See `./test --campaigns`.
mod campaigns {
    use std::collections::BTreeSet;

    use json_cas::NodeHash;
    use serde_json::Value;
    use uwf_core::thread::ThreadId;
    use uwf_engine::root::home::Home;

    use super::*;

    /// A node with the nodes that it refers to in their places, without whatever differs from run to run: times, ids, durations, the
    /// directory, and `max` of the group.
    fn settled(store: &json_cas::Store, hash: NodeHash, work: &str, seen: &mut BTreeSet<NodeHash>) -> Value {
        seen.insert(hash);
        let node = store.get(hash).unwrap();
        json!([node.type_hash.to_string(), settled_value(store, &node.payload, work, seen)])
    }

    fn settled_value(store: &json_cas::Store, value: &Value, work: &str, seen: &mut BTreeSet<NodeHash>) -> Value {
        let differs = |key: &str| key == "max" || key.ends_with("Ms") || key.ends_with("At");
        match value {
            Value::String(text) => match text.parse::<NodeHash>() {
                Ok(hash) if store.has(hash).unwrap() => settled(store, hash, work, seen),
                _ if text.parse::<ThreadId>().is_ok() => json!("ID"),
                _ => json!(text.replace(work, "WORK")),
            },
            Value::Array(items) => items.iter().map(|item| settled_value(store, item, work, seen)).collect(),
            Value::Object(entries) => {
                let kept = entries.iter().filter(|(key, _)| !differs(key));
                kept.map(|(key, value)| (key.clone(), settled_value(store, value, work, seen))).collect()
            }
            other => other.clone(),
        }
    }

    #[test]
    fn order_of_completion_changes_no_node() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..4 {
            let count = random.usize(2..6);
            let delays: Vec<u64> = (0..count).map(|_| random.u64(0..4)).collect();
            let threads = [1, 2, 8].map(|max| {
                let home = map(MAP);
                home.put(
                    "fix-all",
                    &format!(
                        "name: fix-all\ndescription: x\nroles:\n  fixer: {{ goal: x, meta: {{ type: object, properties: {{ n: {{ type: integer }} }}, required: [n] }} }}\n  \
                         fixes: {{ play: fixer, each: \"[0..{}]\", max: {max} }}\ngraph: {{ $START: [ {{ role: fixes }} ], fixes: [ {{ role: $END }} ] }}\n",
                        count - 1
                    ),
                );
                let delays: String = delays.iter().enumerate().map(|(at, tenths)| format!("{at}) sleep 0.{tenths};; ")).collect();
                home.file("fixer.sh", &format!("case $UWF_ITEM in {delays} esac\nprintf -- '---\\nn: %s\\n---\\n' $UWF_ITEM\n"));
                let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
                assert_eq!(ran.code, Some(0), "{}", ran.transcript());
                let engine = Home::open(home.root(), "uwf");
                let end = text(&home.json(&["thread", "show", &thread_of(&ran)]), "end").parse().unwrap();
                let mut seen = BTreeSet::new();
                let thread = settled(engine.store(), end, home.work().to_str().unwrap(), &mut seen);
                // Of each branch: its start, its step, its output, its detail and the answer; and the nodes of the group.
                assert!(seen.len() > 5 * count, "{} nodes", seen.len());
                thread
            });
            for other in &threads[1..] {
                assert_eq!(threads[0], *other, "{delays:?}");
            }
        }
    }

    #[test]
    fn sixty_four_branches_end() {
        let home =
            map(&MAP.replace("maxItems: 99", "maxItems: 64").replace("    key: id\n", "    key: id\n    max: 16\n"));
        let list: Vec<String> = (1..=64).map(|at| format!("{{id: i{at}}}")).collect();
        findings(&home, &format!("[{}]", list.join(", ")));
        home.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\nparallel: 16\n");
        let ran = home.uwf(&["run", "fix-all", "-p", "x"]);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
        let output = home.json(&["thread", "eval", &thread_of(&ran), "$count($last('fixes').*[done])"]);
        assert_eq!(output, json!(64));
    }
}
