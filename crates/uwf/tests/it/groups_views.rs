//! Groups as commands show them: each branch with its path, state, agent, time and cost.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use crate::fixtures::group_in_repository::thread_of;
use crate::fixtures::group_runs::prompt;
use crate::fixtures::mcp_client::Client;
use crate::home;

/// A plan, then three reviewers at once, the last only if asked for.
const PANEL: &str = "name: panel
description: reviewers at once
roles:
  planner: { goal: You plan., meta: { type: object, properties: { docs: { type: boolean } }, required: [docs] } }
  security: { goal: You look for holes., meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] } }
  tests: { goal: You judge the tests., meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] } }
  docs: { goal: You read the manual. }
  reviews:
    play: [ security, tests, { role: docs, condition: wants-docs } ]
  judge: { goal: You decide. }
conditions:
  wants-docs: { expression: \"$last('planner').docs\" }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: reviews } ]
  reviews: [ { role: judge } ]
  judge: [ { role: $END } ]
";

/// An agent that runs `ROLE.sh`.
const AGENT: &str = "#!/bin/sh\nPATH=$PATH:/usr/bin:/bin\ncat > /dev/null\n. ./$UWF_ROLE.sh\n";

fn panel() -> TestHome {
    let home = home();
    home.put("panel", PANEL);
    home.script("worker", AGENT);
    home.config(
        "agents:\n  t: { command: worker, output: text }\n  h: { command: uwf-human }\ndefaultAgent: t\nkillGrace: 1\n",
    );
    answer(&home, "planner", "docs: false");
    answer(&home, "security", "approved: true");
    answer(&home, "tests", "approved: true");
    home.file("docs.sh", "echo 'The manual is fine.'\n");
    home.file("judge.sh", "echo 'Ship it.'\n");
    home
}

fn answer(home: &TestHome, role: &str, header: &str) {
    home.file(&format!("{role}.sh"), &format!("printf -- '---\\n{header}\\n---\\nI am {role}.\\n'\n"));
}

/// Lets a branch wait until the file `go` exists, and starts the step that plays it.
fn held_branch(home: &TestHome, role: &str) -> (String, Child) {
    let held = "touch begun\nn=0\nwhile ! test -e go; do n=$((n + 1)); test $n -lt 400 || exit 3; sleep 0.05; done\n";
    home.file(&format!("{role}.sh"), &format!("{held}printf -- '---\\napproved: true\\n---\\n'\n"));
    let thread = home.start("panel", "Review it.");
    home.json(&["thread", "step", &thread]);
    let step = home.command(&["thread", "step", &thread]).spawn().unwrap();
    until("the other branches end, and this one is at work", || {
        let shown = home.json(&["thread", "show", &thread]);
        let branches = shown["group"]["branches"].as_array().cloned().unwrap_or_default();
        let mut others = branches.iter().filter(|branch| branch["name"] != role);
        let others_end = others.all(|branch| branch["state"] == "completed" || branch["state"] == "waiting");
        home.work().join("begun").exists() && branches.len() > 1 && others_end
    });
    (thread, step)
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}: not within 30 s");
        std::thread::sleep(Duration::from_millis(30));
    }
}

fn release(home: &TestHome, mut step: Child) {
    home.file("go", "");
    assert!(step.wait().unwrap().success());
}

fn branch<'a>(shown: &'a Value, name: &str) -> &'a Value {
    shown["group"]["branches"].as_array().unwrap().iter().find(|branch| branch["name"] == name).unwrap()
}

#[test]
fn statistics_of_roles_include_branches() {
    let home = panel();
    assert_eq!(home.uwf(&["run", "panel", "-p", "x"]).code, Some(0));
    let page = TestServer::start(&home, &[]).page("/workflows/panel").body;
    for role in ["planner", "security", "reviews", "judge"] {
        let row = page.split(&format!("<tr id=\"figures-{role}\"")).nth(1).and_then(|rest| rest.split("</tr>").next());
        let row = row.unwrap_or_else(|| panic!("no {role} in {page}"));
        assert!(row.contains("data-label=\"Steps\">1<"), "{role}: {row}");
    }
    assert!(!page.contains("other version"), "no branch counts as a role: {page}");
}

#[test]
fn run_prints_branches_as_they_end() {
    let home = panel();
    home.file(
        "tests.sh",
        "n=0\nwhile ! test -e go; do n=$((n + 1)); test $n -lt 400 || exit 3; sleep 0.05; done\nexit 3\n",
    );
    let log = home.work().join("log");
    let mut run = home.command(&["run", "panel", "-p", "x"]).stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
    let lines = || fs::read_to_string(&log).unwrap();
    until("the first branch has ended", || lines().contains("✓ reviews.security by t, "));
    assert!(lines().contains("▸ reviews.tests by t"), "{}", lines());
    assert!(!lines().contains("✗ reviews.tests"), "it is still at work: {}", lines());
    home.file("go", "");
    assert_eq!(run.wait().unwrap().code(), Some(40));
    assert!(lines().contains("✗ reviews.tests by t, "), "{}", lines());
    assert_eq!(lines().matches("✓ reviews.security").count(), 1, "{}", lines());
    answer(&home, "tests", "approved: true");
    let again = home.uwf(&["run", "@"]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert!(
        again.stderr.contains("✓ reviews.tests by t, ") && again.stderr.contains(" in 2 attempts"),
        "{}",
        again.stderr
    );
    assert!(!again.stderr.contains("reviews.security"), "it had ended before: {}", again.stderr);
    assert!(!again.stderr.contains("✗"), "{}", again.stderr);
}

#[test]
fn show_lists_branches_of_the_newest_group() {
    let home = panel();
    home.config("agents:\n  t: { command: worker, output: text }\n  h: { command: uwf-human }\ndefaultAgent: t\nagentOverrides: { panel: { security: h } }\n");
    home.file("tests.sh", "echo broken >&2\nexit 3\n");
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(shown["group"]["role"], "reviews");
    assert_eq!(shown["group"]["leftOut"], json!(["docs"]));
    let (security, tests) = (branch(&shown, "security"), branch(&shown, "tests"));
    assert_eq!((&security["state"], &security["alias"]), (&json!("waiting"), &json!("h")));
    assert_eq!((&tests["state"], &tests["alias"]), (&json!("stuck"), &json!("t")));
    assert!(text(tests, "why").contains("exited with 3"), "{tests}");
    assert_eq!(home.json(&["thread", "show", &text(tests, "thread")])["parentThread"], shown["group"]["thread"]);
    let words = home.uwf(&["thread", "show", &thread, "--format", "text"]).stdout;
    let line = |name: &str| words.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{words}"));
    assert!(line("reviews.tests").contains("stuck"), "{words}");
    assert!(line("reviews.security").contains("waiting"), "{words}");
    assert!(words.contains("left out by conditions: docs"), "{words}");

    answer(&home, "tests", "approved: true");
    home.uwf(&["thread", "retry", &thread]);
    home.json(&["thread", "answer", &thread, "--data", "{\"approved\": true}"]);
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(shown["group"]["index"], 2);
    let tests = branch(&shown, "tests");
    assert_eq!(tests["state"], "completed");
    assert_eq!((&tests["spent"]["steps"], &tests["spent"]["failedAttempts"]), (&json!(1), &json!(1)));
    assert!(tests["startedAt"].as_u64().unwrap() <= tests["endedAt"].as_u64().unwrap());
    let fork = text(&home.json(&["thread", "fork", &thread]), "thread");
    let forked = home.json(&["thread", "show", &fork]);
    assert_eq!(branch(&forked, "tests")["step"], tests["step"], "a fork shares the steps of the branches");
}

#[test]
fn ps_and_list_name_branches_by_path() {
    let home = panel();
    let (thread, step) = held_branch(&home, "tests");
    let running = home.json(&["thread", "ps"]);
    let paths: Vec<&Value> = running.as_array().unwrap().iter().map(|step| &step["branch"]).collect();
    assert!(paths.contains(&&json!("reviews.tests")), "{running}");
    let words = home.uwf(&["thread", "ps", "--format", "text"]).stdout;
    assert!(words.contains("reviews.tests"), "{words}");
    let words = home.uwf(&["thread", "list", "--branches", "--format", "text"]).stdout;
    assert!(words.lines().any(|line| line.contains("  └ ") && line.contains("reviews.tests")), "{words}");
    let group = words.lines().find(|line| line.contains("panel.reviews")).unwrap();
    assert_eq!(group.split_whitespace().nth(4), Some("–"), "no branch is next: {words}");
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(branch(&shown, "tests")["state"], "running");
    release(&home, step);
}

#[test]
fn answer_says_that_siblings_are_at_work() {
    let home = panel();
    home.config("agents:\n  t: { command: worker, output: text }\n  h: { command: uwf-human }\ndefaultAgent: t\nagentOverrides: { panel: { security: h } }\n");
    let (thread, step) = held_branch(&home, "tests");
    until("the other branch waits", || home.json(&["thread", "list", "--state", "waiting"]) != json!([]));
    let answer = ["thread", "answer", &thread, "--data", "{\"approved\": true}", "--format", "text"];
    let answered = home.uwf(&answer);
    assert!(answered.stderr.contains(&format!("thread {thread} is running")), "{}", answered.transcript());
    assert!(answered.stdout.starts_with("security by h") && !answered.stdout.contains("done"), "{}", answered.stdout);
    home.file("go", "");
    let mut step = step;
    step.wait().unwrap();
    assert_eq!(home.uwf(&["run", &thread]).code, Some(0));
}

#[test]
fn live_prefixes_lines_of_branches() {
    let home = panel();
    let (thread, step) = held_branch(&home, "tests");
    let log = home.work().join("log");
    let mut live =
        home.command(&["live", &thread, "--format", "text"]).stdout(fs::File::create(&log).unwrap()).spawn().unwrap();
    let lines = || fs::read_to_string(&log).unwrap();
    until("the running branch is followed", || lines().contains("reviews.tests │ ▸ tests by t"));
    release(&home, step);
    assert_eq!(home.uwf(&["run", &thread]).code, Some(0));
    assert!(live.wait().unwrap().success());
    assert!(lines().contains("reviews.security │ I am security."), "{}", lines());
    let events = home.uwf(&["live", &thread, "--format", "json"]).stdout;
    let ended = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut ended: Vec<String> = ended
        .filter(|event| event["event"] == "end")
        .filter_map(|event| Some(event["branch"].as_str()?.to_owned()))
        .collect();
    ended.sort();
    assert_eq!(ended, ["reviews.security", "reviews.tests"]);
}

#[test]
fn live_prefixes_branches_that_workflows_play() {
    let home = panel();
    let outer = "name: outer\ndescription: x\nroles:\n  one: { goal: One. }\n  two: { goal: Two. }\n  both: { play: [ one, two ] }\ngraph:\n  $START: [ { role: both } ]\n  both: [ { role: $END } ]\n";
    home.put("outer", outer);
    let inner = "name: inner\ndescription: x\nroles:\n  writer: { goal: Write. }\ngraph:\n  $START: [ { role: writer } ]\n  writer: [ { role: $END } ]\n";
    home.put("inner", inner);
    home.file("writer.sh", "echo I am the writer.\n");
    let agents = ["--agent", "one=uwf-workflow inner", "--agent", "two=uwf-workflow inner"];
    let ran = home.uwf(&[&["run", "outer", "-p", "x"][..], &agents].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let lines = home.uwf(&["live", &thread, "--format", "text"]).stdout;
    for branch in ["both.one", "both.two"] {
        assert!(
            lines.lines().any(|line| line.starts_with(&format!("{branch} │")) && line.contains("writer")),
            "{branch}: {lines}"
        );
    }
    assert!(!lines.contains("│ │"), "each line names its branch: {lines}");
    let events = home.uwf(&["live", &thread, "--format", "json"]).stdout;
    let within = events.lines().filter(|line| line.contains("\"within\":\"both.one\"")).count();
    assert!(within > 0, "{events}");
}

#[test]
fn path_of_nested_branch_names_all_groups() {
    let home = panel();
    home.put(
        "panel",
        &PANEL
            .replace("play: [ security, tests, {", "play: [ both, {")
            .replace("  judge: {", "  both: { play: [ security, tests ] }\n  judge: {"),
    );
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    for line in ["✓ reviews.both.security by t, ", "✓ reviews.both.tests by t, ", "✓ reviews.both by uwf-play, "]
    {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    let shown = home.json(&["thread", "show", &thread_of(&ran)]);
    assert_eq!(branch(&shown, "both")["group"]["branches"][1]["branch"], "reviews.both.tests");
}

#[test]
fn why_explains_which_branches_are_left_out() {
    let home = panel();
    let thread = home.start("panel", "x");
    home.json(&["thread", "step", &thread]);
    let next = &home.json(&["thread", "why", &thread])["next"];
    let docs = &next["branches"][2];
    assert_eq!(
        (&docs["role"], &docs["condition"], &docs["matched"]),
        (&json!("docs"), &json!("wants-docs"), &json!(false))
    );
    assert_eq!(docs["value"], false);
    assert_eq!(next["branches"][0]["matched"], true);
    let would = home.json(&["thread", "step", &thread, "--dry-run", "--explain"]);
    assert_eq!(would["explain"]["branches"], next["branches"]);
    let step = home.uwf(&["thread", "step", &thread, "--explain", "--format", "text"]).stdout;
    for part in ["· leaves out docs if wants-docs", "$last('planner').docs → false"] {
        assert!(step.contains(part), "{part}: {step}");
    }
    let words = home.uwf(&["thread", "why", &thread, "--format", "text"]).stdout;
    for part in
        ["✓ plays security: it has no condition", "· leaves out docs if wants-docs", "$last('planner').docs → false"]
    {
        assert!(words.contains(part), "{part}: {words}");
    }
}

/// An agent that reports its cost in dollars, which is the number in `price-ROLE`.
const PRICED: &str = r#"#!/bin/sh
cat > /dev/null
case $UWF_ROLE in planner) header='docs: false' ;; chooser) header='winner: 1' ;; *) header='approved: false' ;; esac
printf '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"---\\n%s\\n---\\n"}]}}\n' "$header"
touch begun-$UWF_ROLE
while test -e waits-for-$UWF_ROLE && ! test -e begun-$(cat waits-for-$UWF_ROLE); do sleep 0.05; done
printf '{"type":"result","is_error":false,"result":"x","usage":{"input_tokens":20,"output_tokens":7},"total_cost_usd":%s}\n' $(cat price-$UWF_ROLE)
test ! -e fails-$UWF_ROLE
"#;

#[test]
fn cost_has_a_row_for_each_branch() {
    let home = priced(
        &PRICES,
        &PANEL
            .replace("  judge: {", "  again: { play: [ tests ] }\n  judge: {")
            .replace("reviews: [ { role: judge", "reviews: [ { role: again } ]\n  again: [ { role: judge"),
    );
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let costs = home.json(&["thread", "cost", &thread_of(&ran), "--by", "branch"]);
    let mut rows: Vec<(String, f64)> = costs["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (text(row, "name"), row["cost"][0]["amount"].as_f64().unwrap_or(-1.0)))
        .collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    let expected =
        [("again.tests", 3.0), ("judge", 5.0), ("planner", 1.0), ("reviews.security", 2.0), ("reviews.tests", 3.0)];
    assert_eq!(rows, expected.map(|(name, cost)| (name.to_owned(), cost)), "{costs}");
    assert!(ran.stderr.contains("✓ reviews.security by t, ") && ran.stderr.contains(", $2.00"), "{}", ran.stderr);
    let shown = home.json(&["thread", "show", "@"]);
    assert_eq!(branch(&shown, "tests")["spent"]["cost"][0]["amount"], 3.0);
}

/// A home whose roles report their cost.
fn priced(prices: &[(&str, &str)], workflow: &str) -> TestHome {
    let home = panel();
    home.script("priced", PRICED);
    prices.iter().for_each(|(role, price)| drop(home.file(&format!("price-{role}"), price)));
    home.config(
        "agents:\n  t: { command: priced, output: text, config: { trace: claude } }\ndefaultAgent: t\nkillGrace: 1\n",
    );
    home.put("panel", workflow);
    home
}

/// The costs of the roles.
const PRICES: [(&str, &str); 6] =
    [("planner", "1"), ("security", "2"), ("tests", "3"), ("docs", "4"), ("judge", "5"), ("chooser", "0.5")];

const ALL: &str = "[ security, tests, { role: docs, condition: wants-docs } ]";

#[test]
fn limit_counts_each_copy_once() {
    let chooser = "  chooser: { goal: You choose., meta: { type: object, properties: { winner: { type: integer } }, required: [winner] } }\n  judge: {";
    let copies = PANEL.replace(ALL, "tests\n    copies: 2\n    pick: chooser").replace("  judge: {", chooser);
    let home = priced(&PRICES, &copies);
    let ran = home.uwf(&["run", "panel", "-p", "x", "--max-cost", "7.2"]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    assert!(ran.stderr.contains("the thread has cost $7.50; its limit is $7.20"), "{}", ran.stderr);
}

#[test]
fn limit_and_cost_count_failed_branches() {
    let home = priced(&PRICES, &PANEL.replace("condition: wants-docs", "mayFail: true"));
    home.file("fails-docs", "");
    let ran = home.uwf(&["run", "panel", "-p", "x", "--max-cost", "9"]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    assert!(ran.stderr.contains("the thread has cost $10.00; its limit is $9.00"), "{}", ran.stderr);
    let thread = thread_of(&ran);
    for args in [&[][..], &[thread.as_str()]] {
        let costs = home.json(&[&["thread", "cost"], args].concat());
        assert_eq!(costs["total"]["cost"][0]["amount"], 10.0, "{costs}");
    }
}

#[test]
fn usage_in_conditions_counts_failed_branches() {
    let flat = ("[ security, tests, { role: docs, mayFail: true } ]", &["docs"][..], 4);
    let nested =
        "[ security, { role: both, mayFail: true } ]\n  both: { play: [ { role: docs, mayFail: true }, tests ] }";
    for (play, fail, failed) in [flat, (nested, &["docs", "tests"], 7)] {
        let home = priced(&PRICES, &PANEL.replace(ALL, play));
        fail.iter().for_each(|role| drop(home.file(&format!("fails-{role}"), "")));
        let ran = home.uwf(&["run", "panel", "-p", "x"]);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
        let thread = thread_of(&ran);
        let eval = |expression: &str| home.json(&["thread", "eval", &thread, expression]);
        assert_eq!(eval("$usage.roles.reviews.cost"), 9, "{play}");
        assert_eq!(eval("$usage.cost"), 15, "{play}");
        assert_eq!(eval("$branches('reviews')[failed].usage.cost"), failed, "{play}");
        let total = &home.json(&["thread", "cost", &thread])["total"];
        assert_eq!(total["cost"][0]["amount"], 15.0, "counted once: {total}");
        assert_eq!((&total["steps"], &total["costUnknown"]), (&json!(5 - fail.len()), &json!(0)), "{total}");
        let limits = home.json(&["thread", "limit", &thread]);
        assert_eq!(limits["used"]["cost"], 15.0, "counted once: {limits}");
    }
}

#[test]
fn limit_error_says_what_branches_spent_since() {
    let home = priced(&PRICES, &PANEL.replace(ALL, "[ security, tests, docs ]\n    max: 2"));
    home.file("waits-for-security", "tests");
    let ran = home.uwf(&["run", "panel", "-p", "x", "--max-cost", "3"]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    assert!(ran.stderr.contains("uwf did not start branch `docs`: the thread has cost $6.00"), "{}", ran.stderr);
}

#[test]
fn cost_of_unfinished_group_has_branches() {
    let home = panel();
    home.file("tests.sh", "exit 3\n");
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let costs = home.json(&["thread", "cost", "@", "--by", "branch"]);
    let row = |name: &str| costs["rows"].as_array().unwrap().iter().find(|row| row["name"] == name).cloned();
    assert_eq!(row("reviews.tests").unwrap()["failedAttempts"], 1, "{costs}");
    assert_eq!(row("reviews.security").unwrap()["steps"], 1, "{costs}");
}

#[test]
fn diff_compares_groups_by_key() {
    let home = panel();
    let one = thread_of(&home.uwf(&["run", "panel", "-p", "x"]));
    answer(&home, "planner", "docs: true");
    answer(&home, "tests", "approved: false");
    let other = thread_of(&home.uwf(&["run", "panel", "-p", "x"]));
    let compared = home.json(&["thread", "diff", &one, &other, "--outputs", "--format", "json"]);
    let of_group: Vec<&Value> =
        compared["outputs"].as_array().unwrap().iter().filter(|pair| pair["b"]["role"] == "reviews").collect();
    assert_eq!(of_group.len(), 2, "security is the same: {compared}");
    assert_eq!(of_group[0]["b"]["branch"], "tests");
    assert_eq!(of_group[0]["changes"], json!([{ "at": "/approved", "a": true, "b": false }]));
    assert_eq!((&of_group[1]["a"], &of_group[1]["b"]["branch"]), (&Value::Null, &json!("docs")));
    let words = home.uwf(&["thread", "diff", &one, &other, "--outputs", "--format", "text"]).stdout;
    assert!(words.contains("2. reviews.tests ") && words.contains("+approved: false"), "{words}");
    assert!(!words.contains("reviews.security"), "{words}");
}

#[test]
fn expressions_see_what_branches_see() {
    let home = panel();
    home.put("panel", &PANEL.replace(ALL, "security\n    each: \"['a b', 'c']\""));
    home.file("security.sh", "exit 3\n");
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let (thread, shown) = (thread_of(&ran), home.json(&["thread", "show", "@"]));
    let first = text(branch(&shown, "1"), "thread");
    assert_eq!(
        home.json(&["thread", "eval", &first, "[item, steps.role, $last('planner').docs]"]),
        json!(["a b", "planner", false])
    );
    let nothing = home.uwf(&["thread", "eval", &thread, "$branches('reviews')"]);
    let note =
        format!("the step of group `reviews`, which has not ended: `uwf thread show {thread}` shows its branches");
    assert!(nothing.code == Some(0) && nothing.stderr.contains(&note), "{}", nothing.transcript());
    assert_eq!(home.json(&["thread", "eval", &thread, "steps.role"]), json!("planner"));
}

#[test]
fn workflow_show_has_branches_of_groups() {
    let home = panel();
    home.put("panel", &PANEL.replace("condition: wants-docs }", "condition: wants-docs, mayFail: true }"));
    let shown = home.uwf(&["workflow", "show", "panel", "--format", "text"]).stdout;
    let row = shown.lines().find(|line| line.starts_with("reviews  security")).unwrap_or_else(|| panic!("{shown}"));
    let words: Vec<&str> = row.split("  ").filter(|word| !word.is_empty()).map(str::trim).collect();
    assert_eq!(words, ["reviews", "security, tests, docs if wants-docs", "4", "continues without docs"]);
}

#[test]
fn dry_run_has_the_prompts_of_branches() {
    let home = panel();
    answer(&home, "planner", "docs: true");
    let thread = home.start("panel", "Review it.");
    home.json(&["thread", "step", &thread]);
    let shown = home.uwf(&["thread", "step", &thread, "--dry-run", "--format", "text"]).stdout;
    assert!(shown.contains("Group `reviews` plays 3 branches, at most 4 at the same time."), "{shown}");
    for role in ["security", "tests", "docs"] {
        assert!(shown.contains(&format!("==== branch `{role}`: the prompt of role `{role}` ====")), "{shown}");
    }
    assert_eq!(shown.matches("# How to answer").count(), 3, "{shown}");
    assert_eq!(shown.matches("I am planner.").count(), 3, "each sees the steps before the group: {shown}");
    assert_eq!(home.json(&["thread", "list", "--branches"]).as_array().unwrap().len(), 1, "nothing has begun");
    home.script("worker", "#!/bin/sh\ncat > prompt-$UWF_ROLE\nprintf -- '---\\napproved: true\\n---\\n'\n");
    home.json(&["thread", "step", &thread]);
    for role in ["security", "tests"] {
        let real = prompt(&home, role);
        assert!(shown.contains(real.trim_end()), "the prompt of {role} is another one: {shown}\n----\n{real}");
    }
}

#[test]
fn graph_draws_what_a_group_plays() {
    let home = panel();
    let mermaid = home.uwf(&["workflow", "graph", "panel"]).stdout;
    assert!(mermaid.contains("[[\"reviews<br/>∥ security<br/>∥ tests<br/>∥ docs if wants-docs\"]]"), "{mermaid}");
    assert!(!mermaid.contains("[\"security\"]"), "a role that only a group plays has no node: {mermaid}");
    let dot = home.uwf(&["workflow", "graph", "panel", "--format", "dot"]).stdout;
    assert!(dot.contains("label=\"reviews\\n∥ security\\n∥ tests\\n∥ docs if wants-docs\", peripheries=2"), "{dot}");
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let svg = home.uwf(&["workflow", "graph", "--thread", &thread_of(&ran), "--format", "svg"]).stdout;
    assert!(svg.contains("class=\"branch completed\"") && svg.contains(">tests · completed</text>"), "{svg}");
    assert!(!svg.contains(">docs"), "it was left out: {svg}");
}

/// The rows below a step of a page.
fn nested(page: &str) -> String {
    let rows = page.split("<ol class=\"nested\"").nth(1).and_then(|rest| rest.split("</ol>").next());
    rows.unwrap_or_else(|| panic!("{page}")).to_owned()
}

/// The number in a chip, or 0 without one.
fn chip(page: &str, state: &str) -> usize {
    let chips = page.split("<nav class=\"chips\"").nth(1).and_then(|rest| rest.split("</nav>").next()).unwrap();
    let after = chips.split(&format!("{state}</span> <span class=\"number\">")).nth(1);
    let after = after.or_else(|| chips.split(&format!(">{state} <span class=\"number\">")).nth(1));
    after.map_or(0, |after| after.split('<').next().unwrap().parse().unwrap())
}

/// Number of rows of a page.
fn rows(page: &str) -> usize {
    page.matches(" data-row").count()
}

#[test]
fn running_group_is_one_row_of_the_inbox() {
    let home = panel();
    home.config("agents:\n  t: { command: worker, output: text }\n  h: { command: uwf-human }\ndefaultAgent: t\nagentOverrides: { panel: { security: h } }\n");
    let server = TestServer::start(&home, &[]);
    let (thread, step) = held_branch(&home, "tests");
    let running = home.json(&["thread", "show", &thread]);
    let [security, tests] = ["security", "tests"].map(|name| text(branch(&running, name), "thread"));
    let inbox = server.page("/").body;
    assert_eq!(rows(&inbox), 1, "{inbox}");
    assert!(inbox.contains("<title>(1) Threads"), "a branch asks: {inbox}");
    assert!(
        inbox.contains("Needs you <span class=\"number\">1</span>") && !inbox.contains("id=\"running\""),
        "{inbox}"
    );
    assert!(inbox.contains("2 branches: 1 running, 1 waiting"), "{inbox}");
    for (id, name) in [(&security, "reviews.security"), (&tests, "reviews.tests")] {
        assert!(inbox.contains(&format!("<a href=\"/threads/{id}\">{name}</a>")), "{name}: {inbox}");
    }
    assert!(inbox.contains(&format!("action=\"/api/threads/{security}/answer\"")), "{inbox}");
    for (path, state, count) in
        [("/?state=running", "running", 1), ("/?state=waiting", "waiting", 1), ("/?all=1", "all", 1)]
    {
        let list = server.page(path).body;
        assert_eq!((rows(&list), chip(&list, state), chip(&inbox, state)), (count, count, count), "{path}: {list}");
    }
    let both = server.page("/?state=running&state=waiting").body;
    let marked = |state: &str| both.contains(&format!("href=\"/?state={state}\" aria-current=\"page\""));
    assert_eq!(["running", "waiting", "stuck"].map(marked), [true, true, false], "{both}");
    let list = server.page("/?workflow=panel").body;
    assert_eq!([chip(&list, "running"), chip(&list, "waiting"), chip(&list, "all")], [1, 0, 1], "{list}");
    let page = server.page(&format!("/threads/{thread}")).body;
    assert_eq!(nested(&page).matches(&format!("<a href=\"/threads/{tests}\">tests</a>")).count(), 1, "{page}");
    let at_work = page.split("<ul class=\"at-work\">").nth(1).and_then(|rest| rest.split("</ul>").next());
    let at_work = at_work.unwrap_or_else(|| panic!("no branches at work: {page}"));
    assert!(at_work.contains(&format!("<a href=\"/threads/{tests}\">reviews.tests</a>")), "{at_work}");
    assert!(!at_work.contains(&format!("/threads/{security}")), "it waits: {at_work}");

    home.json(&["thread", "answer", &security, "--data", "{\"approved\": true}"]);
    let inbox = server.page("/").body;
    assert!(inbox.contains("<title>Threads") && inbox.contains("id=\"running\""), "{inbox}");
    assert_eq!((rows(&inbox), chip(&inbox, "running")), (1, 1), "{inbox}");
    release(&home, step);
}

#[test]
fn page_shows_running_branches_on_one_axis() {
    let home = panel();
    let server = TestServer::start(&home, &[]);
    let (thread, step) = held_branch(&home, "tests");
    let page = server.page(&format!("/threads/{thread}")).body;
    let running = home.json(&["thread", "show", &thread]);
    let id = text(branch(&running, "tests"), "thread");
    assert!(page.contains(&format!("<a href=\"/threads/{id}\">reviews.tests</a>")), "{page}");
    assert!(page.contains("data-state=\"running\">running</span>"), "{page}");
    let drawn = nested(&page);
    assert!(drawn.contains("<rect class=\"runs\"") && drawn.contains("<rect class=\"works\""), "{drawn}");
    assert!(page.contains("class=\"branch running here\"") && page.contains(">tests · running</text>"), "{page}");
    let inbox = server.page("/").body;
    assert!(
        inbox.contains("reviews") && !inbox.contains("Ready for the next step"),
        "a group is not stepped alone: {inbox}"
    );
    let child = server.page(&format!("/threads/{id}")).body;
    assert!(child.contains("Branch <b>reviews.tests</b>"), "{child}");
    release(&home, step);

    assert_eq!(home.uwf(&["run", &thread]).code, Some(0));
    let page = server.page(&format!("/threads/{thread}")).body;
    assert!(!page.contains("id=\"next\""), "the group is a step now");
    let list = page.split("<ol class=\"branches\">").nth(1).and_then(|rest| rest.split("</ol>").next()).unwrap();
    assert_eq!(list.matches("<rect class=\"works\"").count(), 2, "a bar for each branch: {list}");
    assert!(list.contains("<li class=\"axis small quiet\">"), "bars and axis are in one grid: {list}");
    assert!(page.contains("Left out by conditions: docs"), "{page}");
    let drawn = nested(&page);
    assert_eq!(drawn.matches("<rect class=\"works\"").count(), 2, "the branches are on the axis of the steps: {drawn}");
    assert!(
        drawn.contains(&format!("<a href=\"/threads/{id}\">tests</a>")) && drawn.contains("approved: yes"),
        "{drawn}"
    );
    let group = text(&home.json(&["thread", "show", &thread])["group"], "step");
    let of_step = server.page(&format!("/threads/{thread}/steps/{group}")).body;
    assert!(of_step.contains("left out: <strong>docs</strong>"), "{of_step}");
    assert!(page.contains("class=\"branch completed\"") && page.contains(&format!("href=\"/threads/{id}\"")), "{page}");
}

/// A role that the workflow `panel` plays.
const ABOVE: &str = "name: above
roles:
  panel: { goal: You review. }
graph:
  $START: [ { role: panel } ]
  panel: [ { role: $END } ]
";

#[test]
fn page_shows_groups_of_a_child_thread() {
    let home = panel();
    home.put("above", ABOVE);
    home.config(
        "agents:\n  t: { command: worker, output: text }\n  p: { command: uwf-workflow, args: [panel] }\n\
         defaultAgent: t\nkillGrace: 1\nmaxDepth: 8\nagentOverrides: { above: { panel: p } }\n",
    );
    home.file("tests.sh", "touch begun\nn=0\nwhile ! test -e go; do n=$((n + 1)); test $n -lt 400 || exit 3; sleep 0.05; done\nprintf -- '---\\napproved: true\\n---\\n'\n");
    let server = TestServer::start(&home, &[]);
    let thread = home.start("above", "Review it.");
    let mut run = home.command(&["run", &thread]).stderr(std::process::Stdio::null()).spawn().unwrap();
    until("a branch of the child thread is at work", || home.work().join("begun").exists());
    let threads = home.json(&["thread", "list"]);
    let of = |what: &str, value: &str| {
        let row = threads.as_array().unwrap().iter().find(|row| row[what] == value);
        row.map_or_else(|| panic!("{threads}"), |row| text(row, "thread"))
    };
    let (tests, child) = (of("branch", "reviews.tests"), of("parentThread", &thread));
    let check = |bars: &str| {
        for path in [format!("/threads/{thread}"), format!("/threads/{child}")] {
            let page = server.page(&path).body;
            let drawn = nested(&page);
            assert!(drawn.contains(&format!("<a href=\"/threads/{tests}\">tests</a>")), "{path}: {page}");
            assert!(drawn.contains(&format!("<rect class=\"{bars}\"")), "{path}: {drawn}");
        }
    };
    check("runs");
    let inbox = server.page("/").body;
    assert_eq!(rows(&inbox), 1, "{inbox}");
    assert!(inbox.contains(&format!("<a href=\"/threads/{tests}\">reviews.tests</a>")), "{inbox}");
    home.file("go", "");
    assert!(run.wait().unwrap().success());
    check("works");
    let page = server.page(&format!("/threads/{thread}")).body;
    let drawn = nested(&page);
    let place = |word: &str| drawn.find(word).unwrap_or_else(|| panic!("{word}: {drawn}"));
    assert!(place(">planner<") < place(">reviews<") && place(">reviews<") < place(">tests<"), "{drawn}");
    assert!(place(">tests<") < place(">judge<"), "{drawn}");
}

#[test]
fn pages_list_a_group_with_its_thread() {
    let home = panel();
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let server = TestServer::start(&home, &[]);
    for path in ["/?all=1", "/?state=completed", "/cost?by=thread"] {
        let page = server.page(path).body;
        assert_eq!(page.matches(" data-row").count(), 1, "{path}: {page}");
        assert!(page.contains(&format!("href=\"/threads/{thread}\"")), "{path}: {page}");
    }
    let workflows = server.page("/workflows").body;
    assert!(!workflows.contains("Without a name"), "parts of a workflow are no workflows: {workflows}");
    let found = server.page("/search?q=planner").body;
    assert_eq!(found.matches("<li class=\"row\"").count(), 1, "the tasks of branches have its output, too: {found}");
}

#[test]
fn api_gives_the_branches_of_a_thread() {
    let home = panel();
    home.file("tests.sh", "exit 3\n");
    let server = TestServer::start(&home, &[]);
    let thread = thread_of(&home.uwf(&["run", "panel", "-p", "x"]));
    let groups = server.get(&format!("/api/threads/{thread}/groups")).json();
    let tests = &groups[0]["branches"][1];
    assert_eq!(
        (&tests["branch"], &tests["state"], &tests["alias"]),
        (&json!("reviews.tests"), &json!("stuck"), &json!("t"))
    );
    assert_eq!(server.get(&format!("/api/threads/{thread}")).json()["group"]["role"], "reviews");
    let by_tool = Client::start(&home, &["mcp"]).report("show", json!({ "thread": thread }));
    assert_eq!(by_tool["group"]["branches"][1]["branch"], "reviews.tests");
    let why = server.get(&format!("/api/threads/{thread}/why")).json();
    assert_eq!(why["next"]["branches"][2]["matched"], false, "{why}");
}

#[test]
fn compare_page_pairs_branches_by_key() {
    let home = panel();
    let one = thread_of(&home.uwf(&["run", "panel", "-p", "x"]));
    answer(&home, "tests", "approved: false");
    let other = thread_of(&home.uwf(&["run", "panel", "-p", "x"]));
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/compare/{one}..{other}")).body;
    assert!(page.contains("<dt>tests</dt>") && !page.contains("<dt>security</dt>"), "{page}");
    assert!(page.contains("1 field the same"), "{page}");
}

/// The spans of a thread by name, each with the name of its parent.
fn parents(home: &TestHome, thread: &str) -> Vec<(String, String)> {
    let request = home.json(&["otel", "export", "--print", thread]);
    let spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
    let name_of = |id: &Value| spans.iter().find(|span| span["spanId"] == *id).map(|span| text(span, "name"));
    let mut named: Vec<(String, String)> =
        spans.iter().map(|span| (text(span, "name"), name_of(&span["parentSpanId"]).unwrap_or_default())).collect();
    named.sort();
    named
}

#[test]
fn each_branch_has_a_span_below_its_group() {
    let home = panel();
    answer(&home, "planner", "docs: true");
    home.put("panel", &PANEL.replace("{ role: docs, condition: wants-docs }", "{ role: docs, mayFail: true }"));
    home.file("docs.sh", "exit 3\n");
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert!(ran.stderr.contains("✗ reviews.docs by t, "), "{}", ran.stderr);
    let expected = [
        ("invoke_agent t", "invoke_workflow panel"),
        ("invoke_agent t", "invoke_workflow panel"),
        ("invoke_agent t", "invoke_workflow reviews.docs"),
        ("invoke_agent t", "invoke_workflow reviews.security"),
        ("invoke_agent t", "invoke_workflow reviews.tests"),
        ("invoke_agent uwf-play", "invoke_workflow panel"),
        ("invoke_workflow panel", ""),
        ("invoke_workflow panel.reviews", "invoke_agent uwf-play"),
        ("invoke_workflow reviews.docs", "invoke_workflow panel.reviews"),
        ("invoke_workflow reviews.security", "invoke_workflow panel.reviews"),
        ("invoke_workflow reviews.tests", "invoke_workflow panel.reviews"),
    ];
    let expected: Vec<(String, String)> = expected.map(|(name, parent)| (name.to_owned(), parent.to_owned())).into();
    assert_eq!(parents(&home, &thread_of(&ran)), expected);
    let shown = home.json(&["thread", "show", "@"]);
    assert_eq!(branch(&shown, "docs")["failed"], true);
    assert_eq!(branch(&shown, "docs")["why"], "agent `t` exited with 3");
}

mod with_tools {
    use super::*;
    use crate::fixtures::terminal::session;

    #[test]
    fn top_folds_branches_until_asked() {
        let home = panel();
        let (_, step) = held_branch(&home, "tests");
        let seen = session(&home, &["top"], &[("branches: ", "q")]);
        assert!(seen.code == Some(0) && !seen.shown.contains("reviews.tests"), "folded: {}", seen.shown);
        let seen = session(&home, &["top"], &[("branches: ", "b"), ("reviews.tests", "q")]);
        assert_eq!(seen.code, Some(0), "{}", seen.shown);
        let at = |part: &str| seen.shown.find(part).unwrap_or_else(|| panic!("{part}: {}", seen.shown));
        assert!(at("panel.reviews") < at("reviews.tests"), "a branch is below its group: {}", seen.shown);
        release(&home, step);
    }

    #[test]
    fn run_shows_branch_lines_at_a_terminal() {
        let home = panel();
        home.file("tests.sh", "echo 'I look around.'\nsleep 1\nprintf -- '---\\napproved: true\\n---\\n'\n");
        let seen = session(&home, &["run", "panel", "-p", "x"], &[]);
        assert_eq!(seen.code, Some(0), "{}", seen.shown);
        for part in ["▸ ", "reviews.tests", "✓"] {
            assert!(seen.shown.contains(part), "{part}: {}", seen.shown);
        }
        assert!(seen.shown.contains("reviews.tests: I look around."), "the line names the branch: {}", seen.shown);
    }
}
