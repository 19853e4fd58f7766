//! Agents of the branches of groups.

use std::fs;

use serde_json::json;
use uwf_testing::TestHome;

use crate::fixtures::group_in_repository::thread_of;
use crate::fixtures::group_runs::runs;
use crate::home;

/// A plan and two branches. Each agent notes its own name and its role, in `runs`.
fn with_agents(more: &str) -> TestHome {
    let home = home();
    home.put(
        "panel",
        "name: panel
description: x
roles:
  planner: { goal: x }
  one: { goal: x }
  two: { goal: x }
  both: { play: [ one, two ] }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: both } ]
  both: [ { role: $END } ]
",
    );
    home.put(
        "inner",
        "name: inner
description: x
roles:
  worker: { goal: x }
graph:
  $START: [ { role: worker } ]
  worker: [ { role: $END } ]
",
    );
    home.script("worker", "#!/bin/sh\ncat > /dev/null\necho $1 $UWF_ROLE >> runs\necho $1 $UWF_ROLE\n");
    home.config(&format!(
        "agents:\n  t: {{ command: worker, args: [t], output: text }}\n  inner: {{ command: uwf-workflow, args: [inner] }}\n{more}\
         defaultAgent: t\nkillGrace: 1\n"
    ));
    home
}

#[test]
fn redo_keeps_agents_of_roles() {
    let home = with_agents("  o: { command: worker, args: [o], output: text }\n");
    for (agents, branches) in [
        (&["planner=o"][..], ["t one", "t two"]),
        (&["planner=o", "two=o"], ["t one", "o two"]),
        (&["planner=inner", "one=o", "two=inner"], ["o one", "t worker"]),
        (&["o"], ["o one", "o two"]),
    ] {
        let agents: Vec<&str> = agents.iter().flat_map(|agent| ["--agent", agent]).collect();
        let ran = home.uwf(&[&["run", "panel", "-p", "x"], &agents[..]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
        let thread = thread_of(&ran);
        for (branch, run) in ["one", "two"].into_iter().zip(branches) {
            fs::remove_file(home.work().join("runs")).unwrap();
            let forked = home.uwf(&["thread", "fork", &thread, "--redo", &format!("both.{branch}")]);
            assert_eq!(forked.code, Some(0), "{agents:?}: {}", forked.transcript());
            let ran = home.uwf(&["run", &thread_of(&forked)]);
            assert_eq!(ran.code, Some(0), "{}", ran.transcript());
            assert_eq!(runs(&home), [run], "{agents:?} {branch}");
        }
    }
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn refused_redo_leaves_no_thread() {
    let home = with_agents("  o: { command: worker, args: [o], output: text }\n");
    let ran = home.uwf(&["run", "panel", "-p", "x", "--agent", "two=o"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let before = home.json(&["thread", "list", "--all"]);
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    for (changed, code, why) in [
        (config.replace("  o: {", "  gone: {"), 78, "unknown agent `o`"),
        (format!("{config}maxDepth: 0\n"), 30, "maxDepth"),
    ] {
        home.config(&changed);
        let refused = home.uwf(&["thread", "fork", &thread, "--redo", "both.two"]);
        assert_eq!(refused.code, Some(code), "{}", refused.transcript());
        assert!(refused.stderr.contains(why), "{}", refused.transcript());
        assert_eq!(home.json(&["thread", "list", "--all"]), before);
    }
}

/// A home in which the first agent of the role `one` fails, and a thread that has stopped there.
fn stopped_at_one() -> (TestHome, String) {
    let home = with_agents(
        "  o: { command: worker, args: [o], output: text }\n  bad: { command: worker, args: [bad], output: text, timeout: 60 }\n",
    );
    home.script("worker", "#!/bin/sh\ncat > /dev/null\necho $1 $UWF_ROLE >> runs\necho $1 $UWF_ROLE\ntest $1 != bad\n");
    let ran = home.uwf(&["run", "panel", "-p", "x", "--agent", "one=bad"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let thread = thread_of(&ran);
    (home, thread)
}

#[test]
fn failed_branch_gets_the_named_agent() {
    for (agent, run) in [("one=o", "o one"), ("o", "o one"), ("one=inner", "t worker")] {
        let (home, thread) = stopped_at_one();
        let ran = home.uwf(&["run", &thread, "--agent", agent]);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
        let mut expected = ["bad one", "t planner", "t two", run];
        expected.sort_unstable();
        assert_eq!(runs(&home), expected, "{agent}");
        assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
    }
}

#[test]
fn agent_for_one_step_cannot_play_group() {
    let (home, thread) = stopped_at_one();
    for command in ["retry", "step"] {
        for agent in ["one=o", "o"] {
            let refused = home.uwf(&["thread", command, &thread, "--agent", agent]);
            assert_eq!(refused.code, Some(64), "{}", refused.transcript());
            let hint = "`uwf run THREAD --agent ROLE=AGENT`";
            assert!(refused.stderr.contains(hint), "{}", refused.transcript());
        }
    }
    assert_eq!(runs(&home), ["bad one", "t planner", "t two"], "no agent ran");
}

#[test]
fn branch_of_inner_group_gets_the_named_agent() {
    let (home, _) = stopped_at_one();
    let panel = fs::read_to_string(home.work().join("panel.yaml")).unwrap();
    let nested =
        panel.replace("  both: { play: [ one, two ] }", "  pair: { play: [ one, two ] }\n  both: { play: [ pair ] }");
    home.put("panel", &nested);
    fs::remove_file(home.work().join("runs")).unwrap();
    let ran = home.uwf(&["run", "panel", "-p", "x", "--agent", "one=bad"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let ran = home.uwf(&["run", &thread_of(&ran), "--agent", "one=o"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["bad one", "o one", "t planner", "t two"]);
}

/// A group that is played twice. One of its roles sees only the planner's steps, and a keyed list has the same item in each round.
const TWICE: &str = "name: twice
description: x
roles:
  planner: { goal: x }
  narrow: { goal: x, sees: [planner] }
  wide: { goal: x }
  both: { play: [ narrow, wide ] }
  item: { goal: x, sees: [] }
  keyed: { play: item, each: \"[{'id': 'a'}]\", key: id }
  listed: { play: item, each: \"[{'id': 'b'}]\" }
conditions:
  again: { expression: \"$count(steps[role='both']) < 2\" }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: both } ]
  both: [ { role: keyed } ]
  keyed: [ { role: listed } ]
  listed: [ { role: both, condition: again }, { role: $END } ]
";

#[test]
fn branch_has_its_own_last_answer() {
    let home = home();
    home.put("twice", TWICE);
    home.script("worker", "#!/bin/sh\nn=$(cat n-$UWF_BRANCH 2>/dev/null)x\necho $n > n-$UWF_BRANCH\ncat > prompt-$UWF_BRANCH-$n\necho \"answer-$n of $UWF_BRANCH\"\n");
    home.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\nkillGrace: 1\n");
    let ran = home.uwf(&["run", "twice", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let prompt = |name: &str| fs::read_to_string(home.work().join(format!("prompt-{name}"))).unwrap();
    for first in ["both.narrow-x", "both.wide-x", "keyed.a-x"] {
        assert!(!prompt(first).contains("# Your last answer"), "{first}");
    }
    let narrow = prompt("both.narrow-xx");
    assert!(narrow.contains("You answered in step 2:") && narrow.contains("answer-x of both.narrow"), "{narrow}");
    assert!(!narrow.contains("both.wide"), "{narrow}");
    let wide = prompt("both.wide-xx");
    assert!(wide.contains("The result of `wide` in step 2 is your own last answer."), "{wide}");
    let keyed = prompt("keyed.a-xx");
    assert!(keyed.contains("answer-x of keyed.a") && !keyed.contains("both."), "{keyed}");
    // Without keys, item 1 may be another one this time.
    assert!(!prompt("listed.1-xx").contains("# Your last answer"));
}
