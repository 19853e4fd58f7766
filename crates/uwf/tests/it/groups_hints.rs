//! Hints of groups that have stopped: they name the thread whose next step continues the whole group.

use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome, text};

use crate::fixtures::group_in_repository::thread_of;
use crate::home;

/// Two reviewers at once.
const PANEL: &str = "name: panel
roles:
  security: { goal: x }
  tests: { goal: x }
  reviews: { play: [ security, tests ] }
graph:
  $START: [ { role: reviews } ]
  reviews: [ { role: $END } ]
";

/// The same, within a group.
const NESTED: &str = "name: panel
roles:
  security: { goal: x }
  tests: { goal: x }
  pair: { play: [ security, tests ] }
  reviews: { play: [ pair ] }
graph:
  $START: [ { role: reviews } ]
  reviews: [ { role: $END } ]
";

fn panel(workflow: &str, script: &str) -> TestHome {
    let home = home();
    home.put("panel", workflow);
    home.script("worker", &format!("#!/bin/sh\ncat > /dev/null\n{script}"));
    home.script("fixer", "#!/bin/sh\ncat > /dev/null\necho Fine.\n");
    home.config(
        "agents:\n  t: { command: worker, output: text }\n  f: { command: fixer, output: text }\n  h: { command: uwf-human }\n\
         defaultAgent: t\n",
    );
    home
}

/// The hints of a command that failed with this code.
fn hints(ran: &FinishedRun, code: i32) -> Vec<String> {
    assert_eq!(ran.code, Some(code), "{}", ran.transcript());
    let lines = ran.stderr.lines().filter_map(|line| line.strip_prefix("hint: "));
    lines.map(str::to_owned).collect()
}

#[test]
fn usage_limit_of_branches_names_the_parent() {
    let limit = "case $UWF_ROLE in security|tests) echo 'Claude usage limit reached. Your limit will reset at 3pm' >&2; exit 1 ;; esac\n";
    for workflow in [PANEL, NESTED] {
        let home = panel(workflow, limit);
        let ran = home.uwf(&["run", "panel", "-p", "x"]);
        let thread = thread_of(&ran);
        let expected = [
            format!("`uwf run {thread} --wait` waits until then and continues"),
            format!(
                "`uwf run {thread} --agent ROLE=NAME` lets another agent play a role; `uwf thread retry {thread}` tries now"
            ),
        ];
        let all = hints(&ran, 30);
        assert_eq!(
            all.iter().filter(|hint| !hint.contains("step-details")).collect::<Vec<_>>(),
            expected.iter().collect::<Vec<_>>()
        );
        let ran = home.uwf(&["run", &thread, "--agent", "security=f", "--agent", "tests=f"]);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    }
}

#[test]
fn redo_of_unfinished_group_names_way_on() {
    let home = panel(PANEL, "test $UWF_ROLE = security && exit 3\necho Fine.\n");
    let thread = text(&home.json(&["thread", "start", "panel", "-p", "x"]), "thread");
    let redo = || hints(&home.uwf(&["thread", "fork", &thread, "--redo", "reviews.tests"]), 64);
    assert_eq!(redo(), [format!("`uwf run {thread}` continues the thread; `--redo` is for a group that has ended")]);
    assert_eq!(home.uwf(&["run", &thread]).code, Some(40));
    assert_eq!(
        redo(),
        [format!(
            "`uwf thread retry {thread}` plays only the branches that have not ended; `--redo` is for a group that has"
        )]
    );
}

#[test]
fn usage_limit_of_child_workflow_names_the_parent() {
    let home = panel(PANEL, "echo 'Claude usage limit reached. Your limit will reset at 3pm' >&2; exit 1\n");
    home.put(
        "outer",
        "name: outer\nroles:\n  work: { goal: x }\ngraph:\n  $START: [ { role: work } ]\n  work: [ { role: $END } ]\n",
    );
    let config = std::fs::read_to_string(home.root().join("config.yaml")).unwrap();
    let agents = "agents:\n  w: { command: uwf-workflow, args: [panel] }\n";
    home.config(&format!("{}agentOverrides: {{ outer: {{ work: w }} }}\n", config.replace("agents:\n", agents)));
    let ran = home.uwf(&["run", "outer", "-p", "x"]);
    let thread = thread_of(&ran);
    let waits: Vec<String> = hints(&ran, 30).into_iter().filter(|hint| hint.contains("--wait")).collect();
    assert_eq!(waits, [format!("`uwf run {thread} --wait` waits until then and continues")]);
}

#[test]
fn answer_through_group_names_the_parent() {
    for workflow in [PANEL, NESTED] {
        let home = panel(workflow, "echo Fine.\n");
        let ran = home.uwf(&["run", "panel", "-p", "x", "--agent", "security=h"]);
        let thread = thread_of(&ran);
        assert_eq!(ran.code, Some(20), "{}", ran.transcript());
        let rows = home.json(&["thread", "list", "--all"]);
        let is_group = |row: &&Value| row["branch"] == json!("panel.reviews") || row["branch"].is_null();
        let group = rows.as_array().unwrap().iter().filter(is_group).find(|row| row["thread"] != thread.as_str());
        let answered = home.uwf(&["thread", "answer", &text(group.unwrap(), "thread"), "-m", "Fine."]);
        assert_eq!(answered.code, Some(0), "{}", answered.transcript());
        assert!(answered.stderr.contains(&format!("continue with: uwf run {thread}\n")), "{}", answered.transcript());
        let ran = home.uwf(&["run", &thread]);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    }
}

#[test]
fn failed_condition_names_branch_and_group() {
    let home =
        panel(&PANEL.replace("play: [ security,", "play: [ { role: security, condition: \"1 + 'a'\" },"), "echo\n");
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(65), "{}", ran.transcript());
    assert!(ran.stderr.contains("branch `security` of group `reviews`: the condition"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("routed"), "{}", ran.stderr);
    let thread = thread_of(&ran);
    assert!(ran.stderr.contains(&format!("hint: `uwf thread eval {thread} EXPR`")), "{}", ran.stderr);
    let why = home.uwf(&["thread", "why", &thread, "--format", "text"]).stdout;
    assert!(why.contains("✗ cannot decide about security if"), "{why}");
    assert!(!why.contains("leaves out") && why.contains("✓ plays tests"), "{why}");
    let branches = &home.json(&["thread", "why", &thread])["next"]["branches"];
    assert_eq!((&branches[0]["matched"], branches[0]["error"].is_string()), (&json!(false), true), "{branches}");
}

#[test]
fn bad_items_name_the_value_that_gave_them() {
    let each = "name: panel
input: { type: object, properties: { items: { type: array } } }
roles:
  planner: { goal: x, meta: { type: object, properties: { items: { type: array } }, required: [items] } }
  worker: { goal: x }
  work: { play: worker, each: EACH, key: id }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: work } ]
  work: [ { role: $END } ]
";
    for (each, hint) in [
        (each.replace("EACH", "start.input.items"), "give other values: `uwf thread fork THREAD --set 'NAME=VALUE'`"),
        (
            each.replace("EACH", "\"$last('planner').items\""),
            "have the role that made the list run again: `uwf thread fork THREAD --from-role planner`",
        ),
        (each.replace("EACH", "'[{}]'"), ""),
    ] {
        let home = panel(&each, "printf -- '---\\nitems: [{}]\\n---\\n'\n");
        let ran = home.uwf(&["run", "panel", "-p", "x", "--set", "items=[{}]"]);
        let all = hints(&ran, 65).join("\n").replace(&thread_of(&ran), "THREAD");
        assert!(all.contains(hint), "{hint}: {all}");
        let forks = usize::from(!hint.is_empty());
        assert_eq!(all.matches("uwf thread fork").count(), forks, "{all}");
    }
}
