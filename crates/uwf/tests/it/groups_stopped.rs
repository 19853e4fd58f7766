//! Groups that have stopped: the reasons of their branches, their state, and the times of branches that waited for a place.

use std::collections::BTreeMap;
use std::process::Stdio;

use serde_json::{Value, json};
use uwf_testing::processes::until;
use uwf_testing::server::TestServer;
use uwf_testing::{FinishedRun, TestHome, text};

use crate::fixtures::group_in_repository::thread_of;
use crate::fixtures::mcp_client::Client;
use crate::home;

/// Two reviewers at once.
const PANEL: &str = "name: panel
description: reviewers at once
roles:
  security: { goal: You look for holes., meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] } }
  tests: { goal: You judge the tests., meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] } }
  reviews: { play: [ security, tests ] }
graph:
  $START: [ { role: reviews } ]
  reviews: [ { role: $END } ]
";

const APPROVED: &str = "printf -- '---\\napproved: true\\n---\\n'\n";

/// An agent that runs `ROLE.sh`.
fn panel(settings: &str) -> TestHome {
    let home = home();
    home.put("panel", PANEL);
    home.script("worker", "#!/bin/sh\ncat > /dev/null\n. ./$UWF_ROLE.sh\n");
    home.config(&format!(
        "agents:\n  t: {{ command: worker, output: text }}\n  h: {{ command: uwf-human }}\ndefaultAgent: t\nkillGrace: 1\n{settings}"
    ));
    ["security", "tests"].iter().for_each(|role| drop(home.file(&format!("{role}.sh"), APPROVED)));
    home
}

/// Thread and row of each thread in a list, by branch, or by the name of its workflow.
fn rows(home: &TestHome, args: &[&str]) -> BTreeMap<String, Value> {
    let rows = home.json(&[&["thread", "list"], args].concat());
    let name = |row: &Value| row["branch"].as_str().unwrap_or_else(|| row["workflowName"].as_str().unwrap()).to_owned();
    rows.as_array().unwrap().iter().map(|row| (name(row), row.clone())).collect()
}

#[test]
fn reasons_of_branches_have_lines_of_their_own() {
    let home = panel("");
    home.file("security.sh", "echo 'the disk is full' >&2\nexit 3\n");
    home.file("tests.sh", "echo 'no compiler' >&2\nexit 4\n");
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let thread = thread_of(&ran);
    for (args, before) in [
        (&["thread", "list"][..], ["    ", "    "]),
        (&["thread", "show", &thread], ["why:       ", "           "]),
        (&["thread", "why", &thread], ["  ", "  "]),
    ] {
        let shown = home.uwf(&[args, &["--format", "text"]].concat()).stdout;
        let line = |start: String| shown.lines().any(|line| line.starts_with(&start));
        assert!(
            line(format!("{}branch `reviews.security` is stuck: agent `t` exited with 3", before[0])),
            "{args:?}: {shown}"
        );
        assert!(
            line(format!("{}branch `reviews.tests` is stuck: agent `t` exited with 4", before[1])),
            "{args:?}: {shown}"
        );
    }
    let server = TestServer::start(&home, &[]);
    for page in ["/".to_owned(), format!("/threads/{thread}")] {
        let page = server.page(&page).body;
        assert!(
            page.contains("<br>Branch <code>reviews.tests</code>")
                || page.contains("<br>branch <code>reviews.tests</code>"),
            "{page}"
        );
    }
}

#[test]
fn failures_are_named_before_questions() {
    let home = panel("");
    home.file("security.sh", "printf -- '---\\nstatus: needs_input\\n---\\nMay I look at the keys?\\n'\n");
    home.file("tests.sh", "echo 'no compiler' >&2\nexit 4\n");
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let why = text(&home.json(&["thread", "show", &thread_of(&ran)]), "why");
    assert!(why.starts_with("branch `reviews.tests` is stuck: agent `t` exited with 4"), "{why}");
    assert!(why.contains("branch `reviews.security` is waiting: "), "{why}");
}

#[test]
fn group_stops_with_the_thread_that_plays_it() {
    for (script, settings, code, state) in [
        ("exit 3\n", "", 40, "stuck"),
        (APPROVED, "agentOverrides: { panel: { security: h } }\n", 20, "waiting"),
        ("sleep 3.5\nprintf -- '---\\napproved: true\\n---\\n'\n", "", 30, "limited"),
    ] {
        let home = panel(settings);
        home.file("security.sh", script);
        // The limit is reached before the second branch begins.
        home.put("panel", &PANEL.replace("[ security, tests ]", "[ security, tests ], max: 1"));
        let limit = if state == "limited" { &["--max-time", "3"][..] } else { &[] };
        let ran = home.uwf(&[&["run", "panel", "-p", "x"], limit].concat());
        assert_eq!(ran.code, Some(code), "{}", ran.transcript());
        let thread = thread_of(&ran);
        let listed = rows(&home, &[]);
        assert_eq!(listed["panel"]["state"], state);
        let group = &listed["panel.reviews"];
        assert_eq!((&group["state"], &group["stoppedWith"]), (&json!(state), &json!(thread)));
        assert_eq!(group["why"], format!("{state} with thread {thread}"));
        let shown = home.json(&["thread", "show", &text(group, "thread")]);
        assert_eq!((&shown["state"], &shown["stoppedWith"]), (&json!(state), &json!(thread)));
        let branches = shown["group"]["branches"].as_array().unwrap();
        assert_eq!((shown["group"]["role"].as_str(), branches.len()), (Some("reviews"), 2), "{shown}");
        assert_eq!(branches[0]["branch"], "reviews.security");
        assert!(!rows(&home, &["--state", "active"]).contains_key("panel.reviews"));
        assert!(rows(&home, &["--state", state]).contains_key("panel.reviews"));
        let server = TestServer::start(&home, &[]);
        let page = server.page(&format!("/threads/{}", text(group, "thread"))).body;
        assert!(page.contains(&format!("with thread {thread}")), "{page}");
        assert!(!page.contains(">Step<") && !page.contains(">Retry<"), "its parent needs the action: {page}");
    }
}

#[test]
fn list_names_parent_and_branch() {
    let home = panel("");
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let listed = rows(&home, &["--all"]);
    let keys: Vec<&String> = listed.keys().collect();
    assert_eq!(keys, ["panel", "panel.reviews", "reviews.security", "reviews.tests"]);
    assert_eq!(listed["reviews.tests"]["parentThread"], listed["panel.reviews"]["thread"]);
    assert_eq!(listed["panel.reviews"]["parentThread"], listed["panel"]["thread"]);
    assert!(listed["panel"].get("parentThread").is_none() && listed["panel.reviews"].get("branch").is_none());
}

#[test]
fn time_of_a_branch_is_without_its_wait() {
    let home = panel("parallel: 1\n");
    ["security", "tests"]
        .iter()
        .for_each(|role| drop(home.file(&format!("{role}.sh"), &format!("sleep 2\n{APPROVED}"))));
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(ran.stderr.matches(" (waited ").count(), 1, "{}", ran.stderr);
    let thread = thread_of(&ran);
    let shown = home.json(&["thread", "show", &thread]);
    let branches = shown["group"]["branches"].as_array().unwrap();
    let ms = |branch: &Value, key: &str| branch[key].as_u64().unwrap_or(0);
    let (waited, other) = match ms(&branches[0], "waitedMs") > 0 {
        true => (&branches[0], &branches[1]),
        false => (&branches[1], &branches[0]),
    };
    assert!(ms(waited, "waitedMs") >= 300 && other.get("waitedMs").is_none(), "{branches:#?}");
    let length = |branch: &Value| ms(&branch["attempts"][0], "to") - ms(&branch["attempts"][0], "from");
    let whole = ms(waited, "endedAt") - ms(waited, "startedAt");
    assert!(ms(waited, "tookMs") <= whole - ms(waited, "waitedMs"), "{waited}");
    assert!(length(waited) <= whole - ms(waited, "waitedMs"), "{waited}");
    let words = home.uwf(&["thread", "show", &thread, "--format", "text"]).stdout;
    assert_eq!(words.matches(" (waited ").count(), 1, "{words}");
    let page = TestServer::start(&home, &[]).page(&format!("/threads/{thread}")).body;
    assert_eq!(page.matches(" (waited ").count(), 1, "{page}");
}

#[test]
fn unknown_usage_of_a_branch_is_missing() {
    let home = panel("");
    home.file("answers.yaml", "tests: [ reply: { approved: true } ]\n");
    let ran = home.uwf(&["run", "panel", "-p", "x", "--agent", "tests=uwf-mock answers.yaml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let usage = |branch: usize| {
        home.json(&["thread", "eval", &thread, &format!("$keys($branches('reviews')[{branch}].usage)[]")])
    };
    assert_eq!(usage(0), json!(["seconds"]), "its agent counts nothing");
    assert_eq!(usage(1), json!(["seconds", "tokens", "cost"]), "a script costs nothing");
    let costs = home.json(&["thread", "cost", &thread, "--by", "branch"]);
    let row = |name: &str| costs["rows"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    assert_eq!(row("reviews.security")["tokens"]["input"], json!(null));
    assert_eq!(row("reviews.security")["tokensUnknown"], 1);
}

#[test]
fn unknown_usage_of_a_failed_branch_is_missing() {
    let home = home();
    home.put("panel", &PANEL.replace("play: [ security, tests ]", "play: [ security, tests ], mayFail: true"));
    home.script("worker", "#!/bin/sh\ncat > /dev/null\n. ./$UWF_ROLE.sh\n");
    home.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\n");
    home.file("security.sh", "exit 9\n");
    home.file("tests.sh", APPROVED);
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    let thread = thread_of(&ran);
    let branches = home.json(&["thread", "eval", &thread, "$branches('reviews')"]);
    assert_eq!(branches[0]["failed"], "agent `t` exited with 9", "{branches}");
    let usage = branches[0]["usage"].as_object().unwrap();
    assert_eq!(usage.keys().collect::<Vec<_>>(), ["seconds"], "its agent counts nothing: {branches}");
    assert_eq!(branches[0]["agent"], "worker", "{branches}");
    let listed = rows(&home, &["--all"]);
    assert_eq!(branches[0]["thread"], listed["reviews.security"]["thread"], "{branches}");
}

/// Whether each of these texts has the reason of the failed branch, and none says that it was killed.
fn assert_failed(texts: &[String]) {
    for text in texts {
        assert!(text.contains("failed"), "{text}");
        assert!(text.contains("agent `t` exited with 9"), "{text}");
        assert!(!text.contains("killed"), "{text}");
    }
}

#[test]
fn branch_given_up_is_failed_everywhere() {
    let home = home();
    let roles = "play: [ { role: security, mayFail: true }, tests ]";
    home.put("panel", &PANEL.replace("play: [ security, tests ]", roles));
    home.script("worker", "#!/bin/sh\ncat > /dev/null\n. ./$UWF_ROLE.sh\n");
    home.config("agents:\n  t: { command: worker, output: text }\n  h: { command: uwf-human }\ndefaultAgent: t\n");
    home.file("security.sh", "exit 9\n");
    home.file("tests.sh", &format!("while [ ! -e go ]; do sleep 0.02; done\n{APPROVED}"));
    let server = TestServer::start(&home, &[]);
    let thread = home.start("panel", "x");
    let shown = || {
        let branch = branch(&home, "security");
        let text = |args: &[&str]| home.uwf(&[args, &["--format", "text"]].concat()).stdout;
        let row = rows(&home, &["--all"])["reviews.security"].clone();
        assert_eq!((&row["outcome"], &row["why"]), (&json!("failed"), &json!("agent `t` exited with 9")), "{row}");
        let listed = text(&["thread", "list", "--all", "--branches", "--state", "completed"]);
        let killed = home.json(&["thread", "list", "--state", "killed"]);
        assert_eq!(killed, json!([]), "nobody killed it");
        assert_failed(&[text(&["thread", "show", &branch]), listed, text(&["thread", "live", &branch])]);
        let status = home.json(&["thread", "show", &branch]);
        assert_eq!((&status["outcome"], &status["why"]), (&json!("failed"), &row["why"]), "{status}");
        assert_eq!((&status["state"], &row["state"]), (&json!("completed"), &json!("completed")), "{status}");
        let page = server.page(&format!("/threads/{thread}")).body;
        assert!(page.contains("failed") && page.contains("exited with 9") && !page.contains("killed"), "{page}");
    };
    let mut window = home.command(&["thread", "step", &thread]).spawn().unwrap();
    until("the branch has failed", || {
        rows(&home, &["--all"]).get("reviews.security").is_some_and(|row| row["outcome"] == "failed")
    });
    shown();
    home.file("go", "");
    assert_eq!(window.wait().unwrap().code(), Some(0));
    shown();

    // A group that waits for a person.
    let waiting = home.uwf(&["run", "panel", "-p", "x", "--agent", "tests=h"]);
    assert_eq!(waiting.code, Some(20), "{}", waiting.transcript());
    let text = home.uwf(&["thread", "show", &thread_of(&waiting), "--format", "text"]).stdout;
    assert_failed(&[text]);
}

#[test]
fn failed_branches_keep_their_reason_and_place() {
    let home = home();
    home.put(
        "outer",
        "name: outer
description: x
roles:
  a: { goal: x }
  b: { goal: x }
  c: { goal: x }
  i: { play: [ c ] }
  g: { play: [ a, { role: b, mayFail: true }, { role: i, mayFail: true } ] }
conditions:
  gave-up: { expression: \"$branches('g')[failed]\" }
graph:
  $START: [ { role: g } ]
  g: [ { role: $END, condition: gave-up, outcome: poor }, { role: $END } ]
",
    );
    home.script("worker", "#!/bin/sh\ncat > /dev/null\ncase $UWF_ROLE in b) exit 9;; c) exit 7;; esac\necho done\n");
    home.config("agents:\n  t: { command: worker, output: text }\n  h: { command: uwf-human }\ndefaultAgent: t\n");
    let waiting = home.uwf(&["run", "outer", "-p", "x", "--agent", "a=h"]);
    assert_eq!(waiting.code, Some(20), "{}", waiting.transcript());
    let all = rows(&home, &["--all"]);
    let why = |branch: &str| (text(&all[branch], "outcome"), text(&all[branch], "why"));
    assert_eq!(why("g.b"), ("failed".to_owned(), "agent `t` exited with 9".to_owned()));
    assert_eq!(why("g.i.c"), ("failed".to_owned(), "agent `t` exited with 7".to_owned()));
    // Without it the branch would be paid for again.
    let removed = home.uwf(&["thread", "rm", &text(&all["g.b"], "thread")]);
    assert_eq!(removed.code, Some(64), "{}", removed.transcript());
    let explained = home.uwf(&["thread", "why", &text(&all["g.b"], "thread"), "--format", "text"]).stdout;
    assert!(explained.contains("now failed: agent `t` exited with 9"), "{explained}");

    let thread = thread_of(&waiting);
    home.json(&["thread", "answer", &text(&all["g.a"], "thread"), "-m", "done"]);
    let ended = home.uwf(&["run", &thread]);
    assert_eq!(ended.code, Some(11), "{}", ended.transcript());
    let listed = home.uwf(&["thread", "list", "--all", "--format", "text"]).stdout;
    assert!(listed.contains("condition: gave-up"), "{listed}");
    let redone = home.uwf(&["thread", "fork", &thread, "--redo", "g.i.c"]);
    assert_eq!(redone.code, Some(64), "{}", redone.transcript());
    assert!(redone.stderr.contains("branch `g.i` of thread"), "{}", redone.transcript());
    assert!(redone.stderr.contains("--redo 'g.i'"), "{}", redone.transcript());
}

/// States of the threads in the list, by branch, or by the name of the workflow.
fn states(home: &TestHome) -> BTreeMap<String, String> {
    rows(home, &[]).into_iter().map(|(name, row)| (name, text(&row, "state"))).collect()
}

/// The thread of a branch.
fn branch(home: &TestHome, name: &str) -> String {
    text(&rows(home, &["--all"])[&format!("reviews.{name}")], "thread")
}

#[test]
fn answered_branch_lets_its_parent_continue() {
    let home = panel("agentOverrides: { panel: { security: h } }\n");
    assert_eq!(home.uwf(&["run", "panel", "-p", "x"]).code, Some(20));
    assert_eq!(states(&home)["panel"], "waiting");
    let answered = home.uwf(&["thread", "answer", &branch(&home, "security"), "--data", "{\"approved\": true}"]);
    assert_eq!(answered.code, Some(0), "{}", answered.transcript());
    let listed = rows(&home, &[]);
    assert_eq!((&listed["panel"]["state"], listed["panel"].get("why")), (&json!("active"), None), "{listed:?}");
    assert_eq!(listed["panel.reviews"]["state"], "active");
    let page = TestServer::start(&home, &[]).page("/").body;
    assert!(!page.contains("waits for a person"), "{page}");
    let all = home.uwf(&["run", "--all"]);
    assert_eq!(all.code, Some(0), "{}", all.transcript());
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn branch_is_answered_over_http_and_mcp() {
    let home = panel("agentOverrides: { panel: { security: h, tests: h } }\n");
    let thread = thread_of(&home.uwf(&["run", "panel", "-p", "x"]));
    let head = text(&home.json(&["thread", "show", &thread]), "head");
    let data = json!({ "expectedHead": head, "branch": "reviews.tests", "data": { "approved": true } });
    let path = format!("/threads/{thread}/answer");
    let answered = home.uwf(&["api", "POST", &path, "--data", &data.to_string()]);
    assert_eq!(answered.code, Some(0), "{}", answered.transcript());
    let mut client = Client::start(&home, &["mcp"]);
    client.report("answer", json!({ "thread": thread, "branch": "security", "data": "{\"approved\": false}" }));
    drop(client);
    assert_eq!(home.uwf(&["run", &thread]).code, Some(0));
    let output = home.json(&["thread", "eval", &thread, "$last('reviews')"]);
    assert_eq!(output, json!({ "security": { "approved": false }, "tests": { "approved": true } }));
}

#[test]
fn killed_waiting_branch_stops_its_parent() {
    let home = panel("agentOverrides: { panel: { security: h } }\n");
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    let (thread, security) = (thread_of(&ran), branch(&home, "security"));
    assert_eq!(home.uwf(&["thread", "kill", &security]).code, Some(0));
    let listed = rows(&home, &[]);
    assert_eq!(listed["panel"]["state"], "stuck", "{listed:?}");
    assert_eq!(listed["panel"]["why"], "branch `reviews.security` was killed", "{listed:?}");
    home.uwf(&["run", "--all"]);
    assert_eq!(states(&home)["panel"], "stuck", "the person who killed it is not asked again");
    let again = home.uwf(&["thread", "retry", &thread]);
    assert_eq!(again.code, Some(20), "{}", again.transcript());
    assert_eq!(states(&home)["reviews.security"], "waiting", "a retry plays the branch again");
}

#[test]
fn killed_waiting_branch_that_may_fail_was_killed() {
    let home = panel("agentOverrides: { panel: { security: h } }\n");
    home.put(
        "panel",
        &PANEL.replace("play: [ security, tests ]", "play: [ { role: security, mayFail: true }, tests ]"),
    );
    let thread = thread_of(&home.uwf(&["run", "panel", "-p", "x"]));
    assert_eq!(home.uwf(&["thread", "kill", &branch(&home, "security")]).code, Some(0));
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let output = home.json(&["thread", "eval", &thread, "$last('reviews').security"]);
    assert_eq!(output, json!({ "failed": "it was killed" }));
}

/// A workflow with a branch whose program is missing, beside others.
const LINTED: &str = "name: linted
roles:
  lint: { run: nosuchlinter . }
  tests: { goal: x }
  docs: { goal: x }
  all: { play: [ { role: lint, mayFail: true }, tests, docs ], max: MAX }
graph:
  $START: [ { role: all } ]
  all: [ { role: $END } ]
";

#[test]
fn missing_program_fails_only_branches_that_use_it() {
    for max in ["1", "3"] {
        let home = panel("");
        ["tests", "docs"].iter().for_each(|role| drop(home.file(&format!("{role}.sh"), "echo fine\n")));
        home.put("linted", &LINTED.replace("MAX", max));
        let ran = home.uwf(&["run", "linted", "-p", "x"]);
        assert_eq!(ran.code, Some(0), "max {max}: {}", ran.transcript());
        let output = home.json(&["thread", "eval", &thread_of(&ran), "$last('all')"]);
        assert_eq!((&output["tests"], &output["docs"]), (&json!("fine"), &json!("fine")), "max {max}");
        assert!(text(&output["lint"], "failed").contains("nosuchlinter"), "{output}");
    }
}

#[test]
fn reached_limit_says_how_much_more_is_needed() {
    let home = panel("");
    home.put("panel", &PANEL.replace("graph:", "limits: { maxTokens: 10 }\ngraph:"));
    home.config(
        "agents:\n  t: { command: worker, output: text, config: { trace: jsonl } }\ndefaultAgent: t\nkillGrace: 1\n",
    );
    let turn = r#"{"type":"turn","output":"---\napproved: true\n---\n","tokens":{"input":150000,"output":1}}"#;
    ["security", "tests"]
        .iter()
        .for_each(|role| drop(home.file(&format!("{role}.sh"), &format!("printf '%s\\n' '{turn}'\n"))));
    home.put(
        "panel",
        &PANEL.replace("reviews: [ { role: $END } ]", "reviews: [ { role: tests } ]\n  tests: [ { role: $END } ]"),
    );
    let ran = home.uwf(&["run", "panel", "-p", "x", "--max-tokens", "200000"]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let hint = format!("uwf thread limit {thread} --tokens +200000");
    assert!(ran.stderr.contains(&hint), "{}", ran.transcript());
    assert_eq!(home.uwf(&["thread", "limit", &thread, "--tokens", "+200000"]).code, Some(0));
    assert_eq!(home.uwf(&["run", &thread]).code, Some(0));
}

#[test]
fn parent_waits_until_last_branch_is_answered() {
    let home = panel("agentOverrides: { panel: { security: h, tests: h } }\n");
    assert_eq!(home.uwf(&["run", "panel", "-p", "x"]).code, Some(20));
    let answer = |name: &str| {
        let answered = home.uwf(&["thread", "answer", &branch(&home, name), "--data", "{\"approved\": true}"]);
        assert_eq!(answered.code, Some(0), "{}", answered.transcript());
    };
    answer("security");
    let listed = rows(&home, &[]);
    assert_eq!(listed["panel"]["state"], "waiting", "{listed:?}");
    let why = text(&listed["panel"], "why");
    assert!(why.contains("`reviews.tests`") && !why.contains("security"), "{why}");
    answer("tests");
    assert_eq!(states(&home)["panel"], "active");
    assert_eq!(home.uwf(&["run", "--all"]).code, Some(0));
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn retried_branch_lets_its_parent_continue() {
    let home = panel("");
    home.file("security.sh", "exit 3\n");
    home.file("tests.sh", "exit 4\n");
    assert_eq!(home.uwf(&["run", "panel", "-p", "x"]).code, Some(40));
    home.file("security.sh", APPROVED);
    assert_eq!(home.uwf(&["thread", "retry", &branch(&home, "security")]).code, Some(0));
    let listed = rows(&home, &[]);
    assert_eq!(listed["panel"]["state"], "stuck", "another branch failed, and is retried only on request: {listed:?}");
    let why = text(&listed["panel"], "why");
    assert!(why.contains("`reviews.tests`") && !why.contains("security"), "{why}");
    home.file("tests.sh", APPROVED);
    assert_eq!(home.uwf(&["thread", "retry", &branch(&home, "tests")]).code, Some(0));
    assert_eq!(states(&home)["panel"], "active");
    assert_eq!(home.uwf(&["run", "--all"]).code, Some(0));
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn resumed_branch_lets_its_parent_continue() {
    let home = panel("agentOverrides: { panel: { security: h } }\n");
    assert_eq!(home.uwf(&["run", "panel", "-p", "x"]).code, Some(20));
    let security = branch(&home, "security");
    assert_eq!(home.uwf(&["thread", "pause", &security]).code, Some(0));
    assert_eq!(home.uwf(&["thread", "step", &text(&rows(&home, &[])["panel"], "thread")]).code, Some(20));
    assert_eq!(home.uwf(&["thread", "kill", &security]).code, Some(0));
    let listed = rows(&home, &[]);
    assert_eq!(
        (&listed["panel"]["state"], &listed["panel"]["why"]),
        (&json!("stuck"), &json!("branch `reviews.security` was killed"))
    );
}

#[test]
fn taken_copy_lets_its_parent_continue() {
    let copies = PANEL.replace("play: [ security, tests ]", "play: security, copies: 2");
    let home = panel("");
    home.put("panel", &copies);
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    let taken = home.uwf(&["thread", "take", &thread_of(&ran), "reviews.2"]);
    assert_eq!(taken.code, Some(0), "{}", taken.transcript());
    assert_eq!(states(&home)["panel"], "active");
    assert_eq!(home.uwf(&["run", "--all"]).code, Some(0));
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn answered_branch_of_inner_group_lets_all_continue() {
    let home = panel("agentOverrides: { panel: { security: h } }\n");
    home.put(
        "panel",
        &PANEL.replace(
            "reviews: { play: [ security, tests ] }",
            "both: { play: [ security, tests ] }\n  reviews: { play: [ both ] }",
        ),
    );
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    let asked = text(&rows(&home, &[])["reviews.both.security"], "thread");
    assert_eq!(home.uwf(&["thread", "answer", &asked, "--data", "{\"approved\": true}"]).code, Some(0));
    assert!(states(&home).values().all(|state| state == "active"), "{:?}", states(&home));
    assert_eq!(home.uwf(&["run", "--all"]).code, Some(0));
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn branch_answered_while_siblings_work_is_used() {
    let home = panel("agentOverrides: { panel: { security: h } }\n");
    home.file("tests.sh", &format!("while [ ! -e go ]; do sleep 0.02; done\n{APPROVED}"));
    let thread = home.start("panel", "x");
    let window = home.command(&["run", &thread]).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let state = |row: Option<&Value>| row.map(|row| text(row, "state"));
    until("the branch waits", || state(rows(&home, &["--all"]).get("reviews.security")).as_deref() == Some("waiting"));
    let answered = home.uwf(&["thread", "answer", &branch(&home, "security"), "--data", "{\"approved\": true}"]);
    assert_eq!(answered.code, Some(0), "{}", answered.transcript());
    home.file("go", "");
    let ran = FinishedRun::from(window.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}
