//! Agents that ask a person: an answer with `status: needs_input`, `thread answer`, and what the agent gets then.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{TestHome, counting_workflow, text};

use crate::fixtures::terminal::session_in;
use crate::fixtures::text::{json_lines, plain};
use crate::{home, transcript};

/// Asks until it has been told of PostgreSQL. Notes each time it is started. By means of the shell alone, which is all there is in
/// the sessions at a terminal.
const ASKING: &str = r#"#!/bin/sh
told=no
: > prompt.txt
while IFS= read -r line; do
  printf '%s\n' "$line" >> prompt.txt
  case "$line" in *"PostgreSQL, please"*) told=yes ;; esac
done
echo started >> calls.txt
if [ $told = yes ]; then printf -- '---\nn: 2\n---\nDone.\n'; exit; fi
printf -- '---\nstatus: needs_input\n---\nWhich database?\n\nSQLite or PostgreSQL?\n'
"#;

/// A thread whose agent asks.
fn asking() -> (TestHome, String) {
    let home = home();
    home.worker("output: text", ASKING);
    let thread = home.start_counting(1, "choose");
    (home, thread)
}

#[test]
fn configuration_forbids_questions() {
    let json = r#"{"status": "needs_input", "question": "Which one?"}"#;
    for (output, answer, offer) in [
        ("text", "---\nstatus: needs_input\n---\nWhich one?", "status: needs_input"),
        ("json", json, r#""status": "needs_input""#),
    ] {
        let home = home();
        home.file("answer", answer);
        home.worker(&format!("output: {output}"), "#!/bin/sh\ncat > prompt.txt\ncat answer\n");
        let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
        let prompt = || fs::read_to_string(home.work().join("prompt.txt")).unwrap();
        let thread = home.start_counting(1, "choose");
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20), "{output}");
        assert!(prompt().contains(offer), "{output}");
        home.config(&format!("{config}ask: never\n"));
        let thread = home.start("count-rounds", "choose");
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(41), "{output}: {ran:?}");
        assert!(!prompt().contains(offer), "{output}");
        assert_eq!(state(&home, &thread), "stuck");
    }
}

#[test]
fn no_ask_offers_agent_no_question() {
    let home = home();
    home.script("worker", "#!/bin/sh\ncat > prompt.txt\nprintf -- '---\\nn: 1\\n---\\n'\n");
    home.config(
        "agents:\n  w: { command: worker, output: text }\n  c: { command: uwf-workflow, args: [count-rounds] }\n\
         defaultAgent: w\nagentOverrides: { outer: { worker: c } }\n",
    );
    home.put("count-rounds", &counting_workflow(1));
    home.put("outer", &counting_workflow(1).replace("count-rounds", "outer"));
    let prompt = || fs::read_to_string(home.work().join("prompt.txt")).unwrap();
    for (args, workflow) in [
        (&["run"][..], "count-rounds"),
        (&["run"], "outer"),
        (&["thread", "step"], "count-rounds"),
        (&["run", "--all"], "count-rounds"),
    ] {
        let thread = home.start(workflow, "count");
        let mut words = args.to_vec();
        if args.last() != Some(&"--all") {
            words.push(&thread);
        }
        words.push("--no-ask");
        let ran = home.uwf(&words);
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.transcript());
        assert!(!prompt().contains("needs_input"), "{words:?}: {}", prompt());
    }
    let thread = home.start("count-rounds", "count");
    for (options, offers) in [(&[][..], true), (&["--no-ask"], false)] {
        let planned = home.json(&[&["thread", "step", &thread, "--dry-run"], options].concat());
        assert_eq!(text(&planned, "prompt").contains("needs_input"), offers, "{planned}");
    }
}

fn calls(home: &TestHome) -> usize {
    fs::read_to_string(home.work().join("calls.txt")).unwrap_or_default().lines().count()
}

fn state(home: &TestHome, thread: &str) -> Value {
    home.json(&["thread", "show", thread])["state"].clone()
}

#[test]
fn question_and_reply_stay_with_the_step() {
    let (home, thread) = asking();
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    home.json(&["thread", "answer", &thread, "-m", "PostgreSQL, please", "--by", "ada"]);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(0));
    let page = home.uwf(&["thread", "read", &thread]).stdout;
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text:?} in {page}"));
    assert!(at("SQLite or PostgreSQL?") < at("PostgreSQL, please") && at("PostgreSQL, please") < at("Done."), "{page}");
    assert!(page.contains("Reply by ada"), "{page}");
    let steps = home.json(&["thread", "steps", &thread]);
    let step = text(steps["steps"].as_array().unwrap().last().unwrap(), "hash");
    let details = home.uwf(&["thread", "step-details", &step]).stdout;
    assert!(details.contains("PostgreSQL, please"), "{details}");
}

#[test]
fn agent_asks_and_continues_with_reply() {
    let (home, thread) = asking();
    assert_snapshot!(transcript(&home, &["thread", "step", &thread]), @"
    exit 20
    --- stderr
    waiting: role `worker` asks: Which database?

    SQLite or PostgreSQL?

    Reply to it:
      uwf thread answer <id> -m 'TEXT'
    See what was done before:
      uwf thread read <id>
    ");
    assert_eq!(state(&home, &thread), "waiting");
    assert_snapshot!(transcript(&home, &["thread", "show", &thread, "--format", "text"]), @"
    exit 0
    thread:    <id>
    state:     waiting
    workflow:  count-rounds #1
    task:      choose
    head:      #2
    steps:     0
    at role:   worker
    agent:     w
    why:       role `worker` asks: Which database?
    since:     <time>
    digest:    <digest>
    attempt:   #3
    started:   <time>
    changed:   <time>
    workspace: <dir>/work

    SQLite or PostgreSQL?

    Reply to it:
      uwf thread answer <id> -m 'TEXT'
    See what was done before:
      uwf thread read <id>
    ");

    let read = home.transcript(&["thread", "read", &thread]);
    assert_snapshot!(read.split_once("## Waiting").unwrap().1, @"
     at worker

    Since <time> UTC: role `worker` asks: Which database?

    SQLite or PostgreSQL?

    Reply to it:
      uwf thread answer <id> -m 'TEXT'
    See what was done before:
      uwf thread read <id>
    ");

    // Nobody is started to ask the same again.
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    assert_eq!(calls(&home), 1);

    let prompt = || fs::read_to_string(home.work().join("prompt.txt")).unwrap();
    assert!(prompt().contains("answer with `status: needs_input`"), "{}", prompt());
    assert_snapshot!(transcript(&home, &["thread", "answer", &thread, "-m", "PostgreSQL, please."]), @r##"
    exit 0
    {"workflow":"#1","thread":"<id>","head":"#2","done":false,"task":"choose","next":{"role":"worker"}}
    --- stderr
    continue with: uwf run <id>
    "##);
    assert_eq!((state(&home, &thread), calls(&home)), (json!("active"), 1));
    let dry = home.json(&["thread", "step", &thread, "--dry-run"]);
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!((&report["done"], calls(&home)), (&json!(true), 2));
    assert_eq!(text(&dry, "prompt"), prompt(), "a dry run shows what is sent");
    assert_snapshot!(prompt().split_once("# Your question to").unwrap().1, @r#"
     a person

    Which database?

    SQLite or PostgreSQL?

    # The person's reply

    PostgreSQL, please.

    Continue with this reply.

    Now do the work of your role, and answer as "How to answer" at the beginning says.
    "#);

    // What it said when it asked is part of the step.
    let detail = home.last_detail(&thread);
    assert_eq!(detail["attempts"][0]["error"], "asked a person: Which database?");
    // It is no failure.
    let why = home.json(&["thread", "why", &home.head(&thread).unwrap_or_else(|| text(&report, "head"))]);
    assert_eq!(why["step"]["output"]["failed"], Value::Null);
    assert!(!home.transcript(&["thread", "read", &thread]).contains("failed"));
}

#[test]
fn of_two_replies_the_first_one_counts() {
    let (home, thread) = asking();
    home.uwf(&["thread", "step", &thread]);
    let reply = |text: &str| home.uwf(&["thread", "answer", &thread, "-m", text, "--by", "ada"]);
    assert_snapshot!(transcript(&home, &["thread", "answer", &thread, "-m", " \n"]), @"
    exit 64
    --- stderr
    error: the reply is empty
    hint: the agent continues with your reply: give a text
    ");
    assert_snapshot!(transcript(&home, &["thread", "answer", &thread]), @"
    exit 64
    --- stderr
    error: no reply was given, and uwf can't ask without a terminal
    hint: uwf thread answer <id> -m TEXT
    hint: or --file FILE, --editor
    ");
    assert_eq!(reply("PostgreSQL, please.").code, Some(0));
    assert_snapshot!(transcript(&home, &["thread", "answer", &thread, "-m", "SQLite.", "--by", "bob"]), @"
    exit 75
    --- stderr
    error: role `worker` of thread <id> was already answered by ada at <time> UTC
    hint: your answer was not recorded
    hint: `uwf thread read <id>` shows the answer
    hint: step it: `uwf thread step <id>`
    ");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
}

#[test]
fn agent_asks_again_and_sees_all_replies() {
    let (home, thread) = asking();
    for reply in ["MySQL?", "Then PostgreSQL, please."] {
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
        home.json(&["thread", "answer", &thread, "-m", reply]);
    }
    // Nothing leads to the replies but the record of the thread.
    home.json(&["gc", "--grace", "0s"]);
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let prompt = fs::read_to_string(home.work().join("prompt.txt")).unwrap();
    assert!(prompt.contains("MySQL?") && prompt.contains("Then PostgreSQL"), "{prompt}");
}

#[test]
fn reply_survives_later_failure() {
    let (home, thread) = asking();
    home.uwf(&["thread", "step", &thread]);
    home.json(&["thread", "answer", &thread, "-m", "PostgreSQL, please."]);
    home.script("worker", "#!/bin/sh\ncat > /dev/null\nexit 1\n");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    home.script("worker", ASKING);
    assert_eq!(home.json(&["thread", "retry", &thread])["done"], true);
}

#[test]
fn person_can_play_or_reassign_role() {
    let (home, thread) = asking();
    home.uwf(&["thread", "step", &thread]);
    assert_eq!(home.json(&["thread", "answer", &thread, "--data", "{\"n\": 7}"])["done"], true);
    assert_eq!(home.last_step(&thread)["output"], json!({ "n": 7 }));

    let (home, thread) = asking();
    home.uwf(&["thread", "step", &thread]);
    home.script("other", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 8}'\n");
    home.config(&format!(
        "{}\n",
        fs::read_to_string(home.root().join("config.yaml"))
            .unwrap()
            .replace("agents:\n", "agents:\n  o: { command: other, output: json }\n")
    ));
    assert_eq!(home.json(&["thread", "step", &thread, "--agent", "o"])["done"], true);
    assert_eq!(home.last_step(&thread)["output"], json!({ "n": 8 }));
}

/// The keeper is killed when the agent has asked, before it has said so: as if these lines and the mark had not come about.
#[test]
fn a_question_outlives_the_keeper() {
    let (home, thread) = asking();
    home.uwf(&["thread", "step", &thread]);
    let file = home.record_file(&thread);
    let record = fs::read_to_string(&file).unwrap();
    let without = |events: &[&str]| {
        let is_kept = |line: &&str| !events.iter().any(|event| line.contains(&format!("\"event\":\"{event}\"")));
        let lines: Vec<&str> = record.lines().filter(is_kept).collect();
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        for mark in fs::read_dir(home.root().join("marks")).unwrap().flatten() {
            fs::remove_file(mark.path()).unwrap();
        }
    };
    for events in [&["closed"][..], &["closed", "gaveUp"]] {
        without(events);
        let asked = home.uwf(&["thread", "step", &thread]);
        assert!(asked.code == Some(20) && asked.stderr.contains("SQLite or PostgreSQL?"), "{events:?}: {asked:?}");
        assert_eq!((state(&home, &thread), calls(&home)), (json!("waiting"), 1), "{events:?}: nobody is paid again");
    }
    home.json(&["thread", "answer", &thread, "-m", "PostgreSQL, please."]);
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
}

#[test]
fn an_agent_that_prints_json_asks_too() {
    let home = home();
    home.worker(
        "output: json",
        "#!/bin/sh\nif grep -q 'The second'; then echo '{\"n\": 2}'; else echo '{\"status\": \"needs_input\", \"question\": \"Which one?\"}'; fi\n",
    );
    let thread = home.start_counting(1, "choose");
    let ran = home.uwf(&["run", &thread]);
    assert!(ran.code == Some(20) && ran.stderr.contains("asks: Which one?"), "{ran:?}");
    home.json(&["thread", "answer", &thread, "-m", "The second."]);
    assert_eq!(home.json(&["run", &thread])["done"], true);
}

/// A codex that asks once, and knows its session.
const CODEX: &str = r#"#!/usr/bin/env python3
import json, sys
args, prompt = sys.argv[1:], sys.stdin.read()
with open("calls.jsonl", "a") as calls:
    calls.write(json.dumps({"args": args, "prompt": prompt}) + "\n")
text = "---\nn: 1\n---\nDone." if "resume" in args else "---\nstatus: needs_input\n---\nWhich one?"
say = lambda event: print(json.dumps(event))
say({"type": "thread.started", "thread_id": "t-1"})
say({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": text}})
say({"type": "turn.completed", "usage": {"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 1}})
"#;

mod with_tools {
    use super::*;

    #[test]
    fn a_run_at_a_terminal_asks_right_there() {
        let (home, thread) = asking();
        let session = session_in(&home, 100, &["run", &thread], &[("your reply", "PostgreSQL, please\r")]);
        assert_eq!(session.code, Some(0), "{}", session.shown);
        assert!(plain(&session.shown).contains("SQLite or PostgreSQL?"), "{}", session.shown);
        assert_eq!(calls(&home), 2);
    }

    #[test]
    fn resumable_agent_continues_its_session() {
        let home = home();
        home.script("codex", CODEX);
        home.config("agents:\n  c: { command: codex, args: [exec, --json, \"-\"], output: text, config: { trace: codex, resume: true } }\ndefaultAgent: c\n");
        let thread = home.start_counting(1, "choose");
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
        home.json(&["thread", "answer", &thread, "-m", "The second."]);
        assert_eq!(home.json(&["thread", "step", &thread, "--dry-run"])["session"], "t-1");
        assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
        let calls = json_lines(home.work().join("calls.jsonl"));
        assert_eq!(calls.len(), 2);
        assert_snapshot!(text(&calls[1], "prompt"), @"
    # The person's reply

    The second.

    Continue with this reply, and answer in the form you were given.
    ");
        assert_eq!(home.last_detail(&thread)["resumed"], true);
    }
}
