//! Groups in lists and reports: folded branches, outcomes of workflows, and threads that their parent continued without.

use serde_json::{Value, json};
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use crate::fixtures::group_in_repository::thread_of;
use crate::fixtures::group_runs::mend;
use crate::home;

/// A list, and a group within a group over its items, of which a workflow plays one role.
const PLAN: &str = "name: plan
description: x
roles:
  planner: { goal: You plan., meta: { type: object, properties: { items: { type: array, maxItems: 40, items: { type: object } } }, required: [items] } }
  fixer: { goal: x }
  mender: { goal: x, with: { area: item.id }, meta: { type: object, properties: { done: { type: boolean } }, required: [done] } }
  fixes: { play: fixer, each: \"$last('planner').items\", key: id }
  mends: { play: mender, each: \"$last('planner').items\", key: id }
  work: { play: [ fixes, mends ] }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: work } ]
  work: [ { role: $END } ]
";

/// An agent that runs `ROLE.sh`.
const AGENT: &str = "#!/bin/sh\nPATH=$PATH:/usr/bin:/bin\ncat > /dev/null\n. ./$UWF_ROLE.sh\n";

fn plan(items: &Value) -> TestHome {
    let home = home();
    home.script("worker", AGENT);
    home.config(
        "agents:\n  t: { command: worker, output: text }\n  inner: { command: uwf-workflow, args: [mend] }\n\
         defaultAgent: t\nkillGrace: 1\nmaxDepth: 8\nagentOverrides: { plan: { mender: inner } }\n",
    );
    home.put("mend", &mend("start.input.area = 'src'"));
    home.put("plan", PLAN);
    home.file("planner.sh", &format!("cat <<'END'\n{}\nEND\n", json!({ "items": items })));
    for (role, line) in [("fixer", "echo Fixed."), ("read", "echo Read."), ("check", "echo Checked.")] {
        home.file(&format!("{role}.sh"), &format!("{line}\n"));
    }
    home.file("finish.sh", "printf -- '---\\ndone: true\\n---\\nIt is mended.\\n'\n");
    home
}

/// The workflow with `mender` in place of the group.
fn without_group(area: &str) -> String {
    PLAN.replace("  planner: [ { role: work } ]\n  work: [", "  planner: [ { role: mender } ]\n  mender: [")
        .replace("area: item.id", &format!("area: \"'{area}'\""))
}

fn two_items() -> TestHome {
    plan(&json!([{ "id": "src" }, { "id": "a b" }]))
}

fn list(home: &TestHome, args: &[&str]) -> String {
    home.uwf(&[&["thread", "list", "--format", "text"], args].concat()).stdout
}

#[test]
fn branches_are_folded_into_their_thread() {
    let home = two_items();
    home.file("fixer.sh", "test \"$UWF_BRANCH\" != work.fixes.src || exit 3\necho Fixed.\n");
    home.file("read.sh", "exit 3\n");
    let ran = home.uwf(&["run", "plan", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let retry = format!("`uwf thread retry {}` plays only the branches", thread_of(&ran));
    assert!(ran.stderr.contains(&retry) && ran.stderr.matches(" plays only the ").count() == 1, "{}", ran.stderr);
    let (thread, other) = (thread_of(&ran), home.start("plan", "y"));
    let words = list(&home, &[]);
    let rows: Vec<&str> = words.lines().filter(|line| line.starts_with("01")).collect();
    assert!(rows[0].starts_with(&other) && rows[1].starts_with(&thread) && rows.len() == 2, "{words}");
    assert!(words.contains("    branches: 3 stuck, 3 ended\n"), "{words}");
    assert!(words.contains("--branches also shows the threads of groups"), "{words}");
    let page = list(&home, &["--limit", "1"]);
    assert!(page.contains(&other) && !page.contains("branches: "), "{page}");
    let next = list(&home, &["--limit", "1", "--offset", "1"]);
    assert!(next.contains(&thread) || next.contains("└"), "{next}");
    let stuck = list(&home, &["--state", "stuck"]);
    let is_row = |line: &&str| line.starts_with("01") || line.contains("└");
    assert_eq!(stuck.lines().filter(is_row).filter(|line| line.contains("work.")).count(), 0, "{stuck}");
    let ended = list(&home, &["--state", "completed"]);
    assert!(!ended.contains("work."), "what branches ended with is a part of their thread: {ended}");
    assert!(list(&home, &["--state", "completed", "--branches"]).contains("work."));
    let all = home.json(&["thread", "list"]).as_array().unwrap().len();
    let each = list(&home, &["--branches"]);
    assert_eq!(each.lines().filter(|line| line.contains("  plan") || line.contains("└")).count(), all, "{each}");
    assert!(each.contains("work.mends.a b.both.read") && !each.contains("branches: "), "{each}");
    let server = TestServer::start(&home, &[]);
    let inbox = server.page("/").body;
    let rows = home.json(&["thread", "list"]);
    let failed = rows.as_array().unwrap().iter().find(|row| row["branch"] == "work.fixes.src").unwrap();
    let failed = text(failed, "thread");
    assert!(inbox.contains("Needs you <span class=\"number\">1</span>"), "{inbox}");
    assert!(!inbox.contains("/?state=completed"), "no thread has ended: {inbox}");
    assert_eq!(inbox.matches(" data-row").count(), 2, "the group has a row, and the other thread: {inbox}");
    assert!(inbox.contains(&format!("<a href=\"/threads/{failed}\">work.fixes.src</a>")), "{inbox}");
}

#[test]
fn finished_branches_are_folded() {
    let home = two_items();
    let ran = home.uwf(&["run", "plan", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let words = list(&home, &["--all"]);
    assert_eq!(words.lines().filter(|line| line.contains("completed")).count(), 1, "{words}");
    let server = TestServer::start(&home, &[]);
    let inbox = server.page("/").body;
    assert!(inbox.contains(&thread_of(&ran)) && !inbox.contains("plan.work"), "{inbox}");
    assert!(!inbox.contains("work.fixes"), "a branch is a part of its thread: {inbox}");
}

#[test]
fn outcomes_of_workflow_branches_are_shown() {
    let home = two_items();
    let ran = home.uwf(&["run", "plan", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    // The first line about a branch names its role. A branch that begins and ends between two looks has only one line.
    let said = ran.stderr.replace(" (mender)", "");
    for line in
        ["✓ work.mends.src by inner, ", "✓ work.mends.a b: too-large by inner, ", "✓ work.mends.a b.both.read by t"]
    {
        assert!(said.contains(line), "{line}: {}", ran.stderr);
    }
    assert!(ran.stderr.contains("✓ work: too-large by uwf-play, "), "{}", ran.stderr);
    home.put("plan", &without_group("big"));
    let alone = home.uwf(&["run", "plan", "-p", "x"]);
    assert!(alone.stderr.contains("✓ mender: too-large by inner, "), "{}", alone.stderr);
    let thread = thread_of(&ran);
    let shown = home.json(&["thread", "show", &thread]);
    let mends = &shown["group"]["branches"][1]["group"]["branches"];
    let outcomes = json!([mends[0]["outcome"], mends[1]["outcome"], mends[1]["alias"]]);
    assert_eq!(outcomes, json!(["succeeded", "too-large", "inner"]));
    let words = home.uwf(&["thread", "show", &thread, "--format", "text"]).stdout;
    let row = words.lines().find(|line| line.starts_with("work.mends.a b ")).unwrap();
    assert!(row.contains("too-large"), "{words}");
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/threads/{thread}")).body;
    assert!(page.contains(">too-large</span>"), "{page}");
    let groups = server.get(&format!("/api/threads/{thread}/groups")).json();
    assert_eq!(groups[0]["branches"][1]["outcome"], "too-large");
}

#[test]
fn costs_of_all_threads_name_branches() {
    let home = two_items();
    let ran = home.uwf(&["run", "plan", "-p", "x"]);
    let rows = |args: &[&str]| {
        let costs = home.json(&[&["thread", "cost", "--by", "branch"], args].concat());
        let mut names: Vec<String> = costs["rows"].as_array().unwrap().iter().map(|row| text(row, "name")).collect();
        names.sort();
        names
    };
    let expected = [
        "planner",
        "work.fixes.a b",
        "work.fixes.src",
        "work.mends.a b",
        "work.mends.a b.both.check",
        "work.mends.a b.both.read",
        "work.mends.src",
        "work.mends.src.both.check",
        "work.mends.src.both.read",
    ];
    assert_eq!(rows(&[&thread_of(&ran)]), expected);
    assert_eq!(rows(&[]), expected, "a branch is named by its path, whichever thread is read first");
}

#[test]
fn transcript_names_nested_branches_once() {
    let home = two_items();
    let ran = home.uwf(&["run", "plan", "-p", "x"]);
    let read = home.uwf(&["thread", "read", &thread_of(&ran), "--format", "text"]).stdout;
    assert_eq!(read.matches("### mends.a b\n").count(), 1, "{read}");
    assert!(!read.contains("### mends\n"), "{read}");
    let live = home.uwf(&["live", &thread_of(&ran), "--format", "text"]).stdout;
    assert!(!live.contains("# Context from previous steps\n"), "a child thread repeats its parent: {live}");
}

#[test]
fn redone_path_of_nested_branch_is_explained() {
    let home = two_items();
    let thread = thread_of(&home.uwf(&["run", "plan", "-p", "x"]));
    for (path, why) in [
        ("fixes.src", "it is a branch of `work`: write `work.fixes.BRANCH`"),
        ("work.fixes.src.deep", &format!("`work.fixes.src` had no branches in thread {thread}")),
        ("work.mends.src.both", &format!("`uwf thread fork {thread} --redo 'work.mends.src'`")),
        ("work.fixes.other", &format!("group `fixes` of thread {thread} has no branch `other`")),
    ] {
        let refused = home.uwf(&["thread", "fork", &thread, "--redo", path]);
        assert_eq!(refused.code, Some(64), "{path}: {}", refused.transcript());
        assert!(refused.stderr.contains(why) && !refused.stderr.contains("0000"), "{path}: {}", refused.stderr);
    }
}

#[test]
fn mock_script_names_nested_branches() {
    let home = two_items();
    home.config(
        "agents:\n  m: { command: uwf-mock, config: { script: answers.yaml } }\ndefaultAgent: m\nmaxDepth: 8\n",
    );
    let script = "planner: [ { reply: { items: [ { id: src }, { id: a b } ] } } ]\n\
                  fixer: [ { reply: one }, { reply: two } ]\nmender: [ { reply: { done: true }, repeat: true } ]\n\
                  work.mends.a b: [ { reply: { done: false } }, { reply: { done: true } } ]\n\
                  fixes.src: [ { reply: first }, { reply: second } ]\n";
    std::fs::write(home.root().join("answers.yaml"), script).unwrap();
    home.put(
        "plan",
        &PLAN
            .replace("  work: [ { role: $END } ]", "  work: [ { role: $END, condition: twice }, { role: work } ]")
            .replace("graph:", "conditions:\n  twice: { expression: \"$count(steps[role='work']) > 1\" }\ngraph:"),
    );
    let ran = home.uwf(&["run", "plan", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let outputs = home.json(&["thread", "eval", &thread_of(&ran), "steps[role='work'].output"]);
    let round = |fix: [&str; 2], done: bool| json!({ "fixes": { "src": fix[0], "a b": fix[1] }, "mends": { "src": { "done": true }, "a b": { "done": done } } });
    assert_eq!(outputs, json!([round(["first", "one"], false), round(["second", "two"], true)]));
}

#[test]
fn long_keys_leave_short_lines() {
    let home = plan(&json!([{ "id": "k".repeat(200) }, { "id": "../x" }]));
    let ran = home.uwf(&["run", "plan", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    // Without a line about its beginning, the line has its role.
    let ended = ["✓ work.fixes.../x by t, ", "✓ work.fixes.../x (fixer) by t, "];
    assert!(ended.iter().any(|line| ran.stderr.contains(line)), "{}", ran.stderr);
    let is_short = |line: &str| line.starts_with("warning: ") || line.chars().count() < 120;
    assert!(ran.stderr.lines().all(is_short), "{}", ran.stderr);
    let items: Vec<Value> = (1..=6).map(|at| json!({ "id": format!("{}{at}", "k".repeat(190)) })).collect();
    let home = plan(&json!(items));
    let thread = thread_of(&home.uwf(&["run", "plan", "-p", "x"]));
    let refused = home.uwf(&["thread", "fork", &thread, "--redo", "work.fixes.k"]);
    assert!(refused.code == Some(64) && refused.stderr.len() < 700, "{}", refused.stderr);
}

#[test]
fn left_child_thread_needs_no_action() {
    let home = two_items();
    home.put("plan", &without_group("src"));
    home.file("read.sh", "exit 3\n");
    let ran = home.uwf(&["run", "plan", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let thread = thread_of(&ran);
    assert!(home.json(&["thread", "list"]).as_array().unwrap().len() > 1);
    home.file("mender.sh", "printf -- '---\\ndone: true\\n---\\n'\n");
    home.json(&["thread", "step", &thread, "--agent", "t"]);
    let active = home.json(&["thread", "list"]);
    assert_eq!(active, json!([]), "the thread ended without its child");
    for args in [&["run", "--all"][..], &["run", "--all", "--stuck"]] {
        assert_eq!(home.json(args), json!([]), "{args:?}");
    }
    let all = home.json(&["thread", "list", "--all"]);
    let left: Vec<&Value> = all.as_array().unwrap().iter().filter(|row| row["leftBy"] == thread.as_str()).collect();
    assert_eq!(left.len(), 3, "a workflow, its group and the failed branch: {all}");
    let why = format!("thread {thread} continued without it");
    for row in left {
        let shown = home.json(&["thread", "show", &text(row, "thread")]);
        assert_eq!((&shown["why"], &row["why"]), (&json!(why), &json!(why)));
    }
    let server = TestServer::start(&home, &[]);
    let inbox = server.page("/").body;
    assert!(!inbox.contains("Needs you") && !inbox.contains("Ready for the next step"), "{inbox}");
}

/// A run whose group continued without a branch did not fail.
#[test]
fn outcome_filter_finds_runs_not_branches() {
    let home = home();
    let workflow = |name: &str, end: &str| {
        format!(
            "name: {name}\nroles:\n  one: {{ goal: x }}\n  two: {{ goal: x }}\n  both: {{ play: [ {{ role: one, mayFail: true }}, two ] }}\n\
             graph:\n  $START: [ {{ role: both }} ]\n  both: [ {{ role: $END{end} }} ]\n"
        )
    };
    home.script("worker", "#!/bin/sh\ncat > /dev/null\ntest $UWF_ROLE = two || exit 9\necho done\n");
    home.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\n");
    home.put("sound", &workflow("sound", ""));
    home.put("broken", &workflow("broken", ", outcome: failed"));
    let sound = home.uwf(&["run", "sound", "-p", "x"]);
    assert_eq!(sound.code, Some(0), "{}", sound.transcript());
    let none = list(&home, &["--outcome", "failed"]);
    assert_eq!(none, "no threads; --branches also shows the threads of groups\n");

    let broken = home.uwf(&["run", "broken", "-p", "x"]);
    assert_eq!(broken.code, Some(11), "{}", broken.transcript());
    let found = list(&home, &["--outcome", "failed"]);
    let rows: Vec<&str> = found.lines().filter(|line| line.starts_with("01")).collect();
    assert!(rows.len() == 1 && rows[0].starts_with(&thread_of(&broken)), "{found}");
    assert!(found.contains("--branches also shows the threads of groups"), "{found}");
    assert_eq!(list(&home, &["--outcome", "failed", "--branches"]).matches("both.one").count(), 2);
    let rows = home.json(&["thread", "list", "--outcome", "failed"]);
    assert_eq!(rows.as_array().unwrap().len(), 3, "JSON has every thread: {rows}");

    let server = TestServer::start(&home, &[]);
    let page = server.page("/?outcome=failed").body;
    assert!(page.contains(&thread_of(&broken)) && !page.contains(&thread_of(&sound)), "{page}");
    assert!(!page.contains("both.one"), "{page}");
}

#[test]
fn search_shows_branches_below_their_thread() {
    let home = two_items();
    let ran = home.uwf(&["run", "plan", "-p", "Mend zebras."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let found = TestServer::start(&home, &[]).page("/search?q=fixed").body;
    let rows: Vec<&str> = found.split("<li class=\"row").skip(1).collect();
    assert!(!rows[0].starts_with(" part") && rows[0].contains(&thread), "{found}");
    assert!(rows.len() > 1 && rows[1..].iter().all(|row| row.starts_with(" part")), "{found}");
    assert!(rows.iter().any(|row| row.contains(">work.fixes.src<")), "by its path: {found}");
    let matches = |row: &str| -> Vec<String> {
        let matches = row.split("<p class=\"match\">").skip(1);
        matches.map(|found| found.split("</a>").nth(1).unwrap().split("</p>").next().unwrap().to_owned()).collect()
    };
    let of_branches: Vec<String> = rows[1..].iter().flat_map(|row| matches(row)).collect();
    assert!(!of_branches.is_empty(), "{found}");
    assert!(matches(rows[0]).iter().all(|shown| !of_branches.contains(shown)), "shown where it was written: {found}");
}

#[test]
fn filter_offers_roles_and_outcomes() {
    let home = two_items();
    let server = TestServer::start(&home, &[]);
    let form = server.page("/?all=1&role=check&workflow=0123456789ABC").body;
    for choice in ["check", "fixer", "mend", "plan", "no-match"] {
        assert!(form.contains(&format!("<option value=\"{choice}\"")), "{choice}: {form}");
    }
    assert!(form.contains("<option value=\"check\" selected>"), "{form}");
    assert!(form.contains("<option value=\"0123456789ABC\" selected>"), "a hash stays: {form}");
}
