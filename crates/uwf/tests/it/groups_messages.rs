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
        ["error: ", "waiting: ", "limit: "].iter().filter_map(|kind| ran.stderr.find(&format!("{kind}branch "))).min();
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
    branch `reviews.manual.style` is limited: agent `t` is at its usage limit; the notice has no end, so uwf tries again at <time> UTC: agent `t` exited with 1; its last words: Claude usage limit reached. Your limit will reset at soon
    hint: reviews.security: all it printed is kept: `uwf thread step-details NODE`
    hint: reviews.manual.style: all it printed is kept: `uwf thread step-details NODE`
    hint: `uwf thread retry THREAD` plays only the branches that have not ended
    ---
    error: branch `reviews.security` is limited: the thread started <time> ago, its limit is 1 s
    branch `reviews.manual.style` is limited: agent `t` is at its usage limit; the notice has no end, so uwf tries again at <time> UTC
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
