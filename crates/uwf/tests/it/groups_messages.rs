//! Messages about branches of a group that have stopped: a line for each branch, with its path.

use insta::assert_snapshot;
use uwf_testing::{FinishedRun, TestHome};

use crate::fixtures::group_in_repository::thread_of;
use crate::fixtures::group_runs::prompt;
use crate::home;

/// Two branches, and a group within the group with two more.
const PANEL: &str = "name: panel
roles:
  security: { goal: x, meta: { type: object, properties: { ok: { type: boolean } }, required: [ok] } }
  tests: { goal: x, meta: { type: object, properties: { ok: { type: boolean } }, required: [ok] } }
  docs: { goal: x, meta: { type: object, properties: { ok: { type: boolean } }, required: [ok] } }
  style: { goal: x, meta: { type: object, properties: { ok: { type: boolean } }, required: [ok] } }
  manual: { play: [ docs, style ] }
  reviews: { play: [ security, tests, manual ], max: 1 }
graph:
  $START: [ { role: reviews } ]
  reviews: [ { role: $END } ]
";

/// Each branch does what the named script of its role does; others are fine.
fn panel(scripts: &[(&str, &str)]) -> TestHome {
    let home = home();
    home.put("panel", PANEL);
    home.script(
        "worker",
        "#!/bin/sh\ncat > prompt-$UWF_ROLE\ntest -e $UWF_ROLE.sh || { printf -- '---\\nok: true\\n---\\n'; exit; }\n. ./$UWF_ROLE.sh\n",
    );
    home.config("agents:\n  t: { command: worker, output: text }\n  h: { command: uwf-human }\ndefaultAgent: t\n");
    for (role, script) in scripts {
        home.file(&format!("{role}.sh"), &format!("{script}\n"));
    }
    home
}

/// The message and the hints of a command that stopped, without ids.
fn message(home: &TestHome, ran: &FinishedRun) -> String {
    let from =
        ["error: ", "waiting: ", "limit: "].iter().filter_map(|kind| ran.stderr.find(&format!("{kind}branch"))).min();
    let text = &ran.stderr[from.unwrap_or_else(|| panic!("{}", ran.transcript()))..];
    let text = text.split("not done: ").next().unwrap().replace(&thread_of(ran), "THREAD");
    let text = replaced(&home.steady(&text), "step-details ", "`", "NODE");
    replaced(&text, "started ", " ago", "<time>").trim_end().to_owned()
}

/// A text in which everything between two words is replaced.
fn replaced(text: &str, before: &str, after: &str, with: &str) -> String {
    let mut parts = text.split(before);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let end = part.find(after).unwrap_or_default();
        format!("{text}{before}{with}{}", &part[end..])
    })
}

const ASKS: &str = "printf -- '---\\nstatus: needs_input\\n---\\nMay I read the keys?\\n'";

#[test]
fn waiting_branches_have_a_line_each() {
    let home = panel(&[("security", ASKS), ("docs", ASKS)]);
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    assert_snapshot!(message(&home, &ran), @r"
    waiting: branch `reviews.security` is waiting: role `security` asks: May I read the keys?
    branch `reviews.manual.docs` is waiting: role `docs` asks: May I read the keys?

    `reviews.security`:

    Reply to it:
      uwf thread answer <id> -m 'TEXT'
    See what was done before:
      uwf thread read <id>

    `reviews.manual.docs`:

    Reply to it:
      uwf thread answer <id> -m 'TEXT'
    See what was done before:
      uwf thread read <id>
    ");
}

#[test]
fn stuck_branches_have_a_line_each() {
    let home = panel(&[("security", "echo 'the disk is full' >&2; exit 3"), ("style", "exit 4"), ("docs", ASKS)]);
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert_snapshot!(message(&home, &ran), @r"
    error: branch `reviews.security` is stuck: agent `t` exited with 3; its last words: the disk is full
    branch `reviews.manual.style` is stuck: agent `t` exited with 4
    branch `reviews.manual.docs` is waiting: role `docs` asks: May I read the keys?

    `reviews.manual.docs`:

    Reply to it:
      uwf thread answer <id> -m 'TEXT'
    See what was done before:
      uwf thread read <id>
    hint: reviews.security: all it printed is kept: `uwf thread step-details NODE`
    hint: reviews.manual.style: all it printed is kept: `uwf thread step-details NODE`
    hint: `uwf thread retry THREAD` plays only the branches that have not ended
    ");
}

#[test]
fn limited_branches_have_a_line_each() {
    let home = panel(&[]);
    home.put("panel", &PANEL.replace("security, tests", "{ role: security, limits: { maxTime: 1s } }, tests"));
    home.file("security.sh", "sleep 1.2; echo 'not done' >&2; exit 1");
    let limit = "echo 'Claude usage limit reached. Your limit will reset at soon' >&2; exit 1";
    home.file("style.sh", limit);
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    let again = home.uwf(&["thread", "retry", &thread_of(&ran)]);
    assert_snapshot!(format!("{}\n---\n{}", message(&home, &ran), message(&home, &again)), @r"
    error: branch `reviews.security` is stuck: agent `t` exited with 1; its last words: not done
    branch `reviews.manual.style` is limited: agent `t` is at its usage limit; no end time is given, so uwf tries again at <time> UTC: agent `t` exited with 1; its last words: Claude usage limit reached. Your limit will reset at soon
    hint: reviews.security: all it printed is kept: `uwf thread step-details NODE`
    hint: reviews.manual.style: all it printed is kept: `uwf thread step-details NODE`
    hint: `uwf thread retry THREAD` plays only the branches that have not ended
    ---
    error: branch `reviews.security` is limited: the thread started <time> ago; its limit is 1 s
    branch `reviews.manual.style` is limited: agent `t` is at its usage limit; no end time is given, so uwf tries again at <time> UTC
    hint: reviews.security: to continue: `uwf thread limit <id> --time +1h`
    hint: `uwf run THREAD --wait` waits until then and continues
    hint: `uwf run THREAD --agent ROLE=NAME` lets another agent play a role; `uwf thread retry THREAD` tries now
    ");
}

#[test]
fn paused_branch_has_a_line_with_the_command() {
    let home = panel(&[("security", ASKS), ("docs", ASKS)]);
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    let rows = home.json(&["thread", "list"]);
    let row = rows.as_array().unwrap().iter().find(|row| row["branch"] == "reviews.manual.docs").unwrap();
    let docs = uwf_testing::text(row, "thread");
    home.json(&["thread", "pause", &docs]);
    let thread = thread_of(&ran);
    let again = home.uwf(&["run", &thread]);
    assert_eq!(again.code, Some(20), "{}", again.transcript());
    assert_snapshot!(message(&home, &again), @r"
    waiting: branch `reviews.security` is waiting: role `security` asks: May I read the keys?
    branch `reviews.manual.docs` is paused: thread <id> is paused: paused by hand

    `reviews.security`:

    Reply to it:
      uwf thread answer <id> -m 'TEXT'
    See what was done before:
      uwf thread read <id>
    hint: reviews.manual.docs: `uwf thread resume <id>` resumes it
    ");
}

#[test]
fn run_says_once_why_inner_branches_stopped() {
    let home = panel(&[("style", "exit 4"), ("docs", "exit 5")]);
    let ran = home.uwf(&["run", "panel", "-p", "x", "--format", "text"]);
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("✗ reviews.manual by")).collect();
    assert!(lines.len() == 1 && !lines[0].contains("exited"), "{}", ran.stderr);
}

/// A map over eleven items, whose branches come to a usage limit one after the other.
const MAPPED: &str = "name: mapped
roles:
  plan: { goal: x, meta: { type: object, properties: { items: { type: array } }, required: [items] } }
  fix: { goal: x }
  fixes: { play: fix, each: \"$last('plan').items\", max: 3 }
graph:
  $START: [ { role: plan } ]
  plan: [ { role: fixes } ]
  fixes: [ { role: $END } ]
";

#[test]
fn shared_usage_limit_has_one_line() {
    let home = panel(&[
        ("plan", "printf -- '---\\nitems: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]\\n---\\n'"),
        // The ends that the notices say differ by seconds. Four branches have begun before the first one.
        (
            "fix",
            "echo x >> order; sleep $((2 + $(wc -l < order))); echo 'Error: 429 Too Many Requests, try again in 120m' >&2; exit 1",
        ),
    ]);
    home.put("mapped", MAPPED);
    // The line says the minute in which the limit ends, which must be one for all.
    let second = || std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() % 60;
    while second() > 45 {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let ran = home.uwf(&["run", "mapped", "-p", "x"]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let again = home.uwf(&["run", &thread]);
    let shown = message(&home, &ran);
    let first = shown.lines().next().unwrap();
    for part in
        ["error: branches `fixes.1`", " and 7 more are limited: agent `t` is at its usage limit until ", "429 Too Many"]
    {
        assert!(first.contains(part), "{part}: {shown}");
    }
    let hints: Vec<&str> = shown.lines().filter(|line| line.starts_with("hint: ")).collect();
    assert!(hints.len() == 3 && shown.lines().count() == 4, "{shown}");
    assert!(hints[0].starts_with("hint: fixes.") && hints[1].contains(" --wait` "), "{shown}");
    assert_eq!(ran.stderr.matches("429").count(), 2, "once when it happens, and once at the end: {}", ran.stderr);
    assert_eq!(ran.stderr.matches("same reason as fixes.").count(), 10, "{}", ran.stderr);
    assert_eq!(message(&home, &again).lines().filter(|line| line.contains("is at its usage limit")).count(), 1);
    let why = uwf_testing::text(&home.json(&["thread", "show", &thread]), "why");
    assert!(why.starts_with("branches `fixes.1`") && why.lines().count() == 1, "{why}");
}

/// An earlier step of the parent's thread has this role. The agent of the branch still works for the first time.
#[test]
fn first_prompt_of_a_branch_is_no_return() {
    let home = panel(&[]);
    home.put(
        "panel",
        "name: panel
roles:
  tests: { goal: x }
  check: { run: \"true\" }
  reviews: { play: [ tests, check ] }
  last: { goal: x }
graph:
  $START: [ { role: tests } ]
  tests: [ { role: reviews, condition: first }, { role: $END } ]
  reviews: [ { role: last } ]
  last: [ { role: $END } ]
conditions:
  first: \"$count(steps) < 2\"
",
    );
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let seen = prompt(&home, "tests");
    assert!(seen.contains("# Step 1: output of role `tests`"), "the branch sees the step: {seen}");
    assert!(!seen.contains("played this role"), "{seen}");
    let last = prompt(&home, "last");
    assert!(last.contains("The command passed with exit code 0. It printed nothing.\n"), "{last}");
}
