//! `uwf hook test`: what a hook would do, without doing it.

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::TestHome;

use crate::fixtures::hooks::{COUNTING, TRIAGE, home_with_hooks, opened};

fn tried(home: &TestHome, payload: &Value, more: &[&str]) -> uwf_testing::FinishedRun {
    let file = home.file("payload.json", &payload.to_string());
    let file = file.to_str().unwrap();
    home.uwf(&[&["hook", "test", "triage", "--payload", file], more].concat())
}

const ISSUES: [&str; 2] = ["--header", "X-GitHub-Event: issues"];

#[test]
fn dry_run_shows_start_and_starts_nothing() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let mut shown = tried(&home, &opened(42, "It crashes"), &ISSUES).json();
    assert!(shown["thread"].take().as_str().is_some_and(|id| id.starts_with('H')));
    assert_eq!(
        shown,
        json!({
            "status": "would start", "hook": "triage", "delivery": "test", "workflow": "triage", "thread": null,
            "prompt": "Triage issue #42: It crashes", "input": { "number": 42, "labels": ["bug"] },
            "labels": { "delivery": "test", "hook": "triage", "issue": "42" }, "run": true,
        })
    );
    let text = tried(&home, &opened(42, "It crashes"), &[&ISSUES[..], &["--format", "text"]].concat());
    assert_snapshot!(text.transcript(), @r#"
    exit 0
    would start a thread of triage
    Triage issue #42: It crashes
    input: {"number":42,"labels":["bug"]}
    "#);
    assert_eq!(tried(&home, &opened(42, "x"), &[]).json()["status"], "ignored");
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]));
}

#[test]
fn dry_run_reports_every_problem() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let unfit = json!({ "action": "opened", "issue": { "number": 0, "title": "x", "labels": [{ "name": 7 }] } });
    assert_snapshot!(tried(&home, &unfit, &ISSUES).transcript(), @r"
    exit 64
    --- stderr
    error: the input does not fit workflow `triage`:
      hooks.triage.start.input: `number`: expected 1 or more, found 0
      hooks.triage.start.input: `labels.0`: expected a string, found 7
    hint: `uwf workflow show triage` lists its inputs
    ");
    let failing = json!({ "action": "opened", "issue": { "number": { "a": 1 }, "title": "x" } });
    assert_snapshot!(tried(&home, &failing, &ISSUES).transcript(), @r"
    exit 65
    --- stderr
    error: hook `triage` can't be evaluated for this delivery:
      `start.labels.issue` gives an object, but it must give a text
    hint: to try it with a payload: `uwf hook test triage --payload FILE`
    ");
    let unknown = home.uwf(&["hook", "test", "trage", "--payload", "payload.json"]);
    assert_snapshot!(unknown.transcript(), @r"
    exit 69
    --- stderr
    error: config.yaml has no hook `trage`
    hint: did you mean `triage`?
    ");
    let no_header = tried(&home, &unfit, &["--header", "issues"]);
    assert_eq!(no_header.code, Some(64));
}

#[test]
fn configuration_problems_have_places() {
    let home = home_with_hooks(
        COUNTING,
        "hooks:
  a/b: { secretEnv: A, start: { workflow: triage, prompt: a } }
  bad:
    secretEnv: It's a secret
    wen: action = 'opened'
    when: action == 'opened'
    start:
      workflow: triage
      prompt: $header.x
      labels: { hook: a }
  both: { secretEnv: B, start: { workflow: triage, prompt: a }, answer: { thread: a, output: b } }
  unset: { secretEnv: UNSET_SECRET, start: { workflow: no-such, prompt: a } }
",
    );
    let checked = home.uwf(&["config", "validate", "--format", "text"]);
    assert_snapshot!(home.steady(&checked.transcript()), @r"
    exit 78
    <dir>/root/config.yaml:6:3: error[bad-value]: `a/b` can't be the name of a hook
      |
    6 |   a/b: { secretEnv: A, start: { workflow: triage, prompt: a } }
      |   ^
      = hint: it is part of a path: letters, digits, `-`, `_` and `.`, at most 64

    <dir>/root/config.yaml:8:16: error[not-a-variable]: `secretEnv` holds something that is not the name of an environment variable
      |
    8 |     secretEnv: It's a secret
      |                ^
      = hint: put the secret itself into `.env`, and the variable's name here

    <dir>/root/config.yaml:9:5: error[unknown-key]: the key `wen` is not known here
      |
    9 |     wen: action = 'opened'
      |     ^
      = hint: did you mean `when`?

    <dir>/root/config.yaml:10:11: error[bad-expression]: `when`: The symbol `=` cannot be used as a unary operator (S0211, character 9)
       |
    10 |     when: action == 'opened'
       |           ^
       = hint: JSONata writes `=` for `==`

    <dir>/root/config.yaml:13:15: error[bad-expression]: `prompt`: `$header` is not known here (character 1)
       |
    13 |       prompt: $header.x
       |               ^
       = hint: did you mean `headers`?

    <dir>/root/config.yaml:14:17: error[bad-value]: each thread of a hook has a label `hook` anyway
       |
    14 |       labels: { hook: a }
       |                 ^
       = hint: choose another key

    <dir>/root/config.yaml:15:3: error[bad-value]: `hooks.both` needs exactly one of `start` and `answer`
       |
    15 |   both: { secretEnv: B, start: { workflow: triage, prompt: a }, answer: { thread: a, output: b } }
       |   ^

    <dir>/root/config.yaml:16:12: warning[no-secret]: `UNSET_SECRET` is set neither in the environment nor in .env
       |
    16 |   unset: { secretEnv: UNSET_SECRET, start: { workflow: no-such, prompt: a } }
       |            ^
       = hint: add `UNSET_SECRET=…` to .env of the storage root, and the same secret to the sender

    <dir>/root/config.yaml:16:46: warning[unknown-workflow]: workflow `no-such` does not exist
       |
    16 |   unset: { secretEnv: UNSET_SECRET, start: { workflow: no-such, prompt: a } }
       |                                              ^
       = hint: `uwf workflow list` shows the workflows; you can also give the path of a YAML file

    <dir>/root/config.yaml: not valid, 7 errors, 2 warnings
    ");
}

#[test]
fn project_cannot_set_hooks() {
    let home = home_with_hooks(COUNTING, "");
    std::fs::create_dir(home.work().join(".workflows")).unwrap();
    home.file(".workflows/config.yaml", TRIAGE);
    let checked = home.uwf(&["config", "validate", "--format", "text"]);
    assert_eq!(checked.code, Some(78));
    assert!(checked.stdout.contains("error[not-for-projects]: a project cannot set `hooks`"), "{}", checked.stdout);
    let tried = tried(&home, &opened(42, "x"), &ISSUES);
    assert_eq!(tried.code, Some(69), "{tried:?}");
}

#[test]
fn doctor_reports_unset_secret_of_hook() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let finding = |home: &TestHome| {
        let report: Value = serde_json::from_str(&home.uwf(&["doctor", "--offline"]).stdout).unwrap();
        let checks = report["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["check"] == "config").unwrap()
    };
    assert_eq!(finding(&home)["status"], "ok");
    std::fs::write(home.root().join(".env"), "").unwrap();
    let unset = finding(&home);
    assert_eq!(unset["status"], "warn");
    assert!(unset["message"].as_str().unwrap().contains("`TRIAGE_SECRET` is set neither"), "{unset}");
}
