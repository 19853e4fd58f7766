//! Roles that play others at the same time, on workers of Temporal.

use serde_json::{Value, json};
use uwf_testing::text;

use crate::place::Place;
use crate::server::Server;

const WORKFLOW: &str = "name: count-all
description: counts every item
roles:
  counter: { goal: Count., meta: { type: object, properties: { n: { type: integer } }, required: [n] } }
  counts: { play: counter, each: '[1..3]' }
graph:
  $START: [ { role: counts } ]
  counts: [ { role: $END } ]
";

fn start(place: &Place, workflow: &str) -> String {
    place.home.file("count-all.yaml", workflow);
    place.json(&["workflow", "put", "count-all.yaml"]);
    text(&place.json(&["thread", "start", "count-all", "-p", "Count woolly sheep"]), "thread")
}

fn output(place: &Place, thread: &str) -> Value {
    place.json(&["thread", "eval", thread, "$last('counts').n"])
}

#[test]
fn group_is_played_by_one_worker_of_two() {
    let server = Server::start();
    let place = Place::new(&server);
    let _workers = [place.worker("one", 1, &["--max-agents", "1"]), place.worker("two", 1, &["--max-agents", "1"])];
    let thread = start(&place, WORKFLOW);
    let followed = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(followed.code, Some(0), "{}", followed.stderr);
    assert_eq!(output(&place, &thread).as_array().map(Vec::len), Some(3));
    let paid = place.paid();
    assert!(paid.len() == 3 && paid.iter().all(|worker| *worker == paid[0]), "the worker of the step: {paid:?}");
    let has = |word: &str| server.written().windows(word.len()).any(|window| window == word.as_bytes());
    assert!(!has("woolly"), "tasks do not go through Temporal");
}

#[test]
fn group_of_a_killed_worker_continues_on_another() {
    let server = Server::start();
    let place = Place::new(&server);
    let mut one = place.worker("one", 3, &[]);
    let thread = start(&place, &WORKFLOW.replace("'[1..3]'", "'[1..3]', max: 1"));
    place.detach(&thread);
    place.until_paid(2);
    one.process.kill().unwrap();
    one.process.wait().unwrap();
    let _two = place.worker("two", 0, &[]);
    place.until_state(&thread, "completed");
    assert_eq!(output(&place, &thread).as_array().map(Vec::len), Some(3));
    assert!(place.paid().len() <= 4, "branches that were paid for are not played again: {:?}", place.paid());
}

#[test]
fn failed_branch_of_a_group_is_retried_alone() {
    let server = Server::start();
    let place = Place::new(&server);
    let script = place.home.bin_dir().join("paid");
    let good = std::fs::read_to_string(&script).unwrap();
    place.home.script("paid", &good.replacen("#!/bin/sh\n", "#!/bin/sh\n[ \"$UWF_ITEM\" != 2 ] || exit 3\n", 1));
    let _one = place.worker("one", 0, &[]);
    let thread = start(&place, WORKFLOW);
    let stuck = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(stuck.code, Some(40), "{}", stuck.stderr);
    assert!(stuck.stderr.contains("branch `counts.2` is stuck: "), "{}", stuck.stderr);
    place.home.script("paid", &good);
    let done = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(place.paid().len(), 3, "only the failed branch is played again");
}

#[test]
fn question_of_branch_is_answered_through_thread() {
    let server = Server::start();
    let place = Place::new(&server);
    place
        .home
        .config("agents:\n  paid: { command: paid, output: json }\n  ann: { command: uwf-human }\ndefaultAgent: paid\nagentOverrides: { count-all: { judge: ann } }\n");
    let _one = place.worker("one", 0, &[]);
    let judge =
        "  judge: { goal: Judge., meta: { type: object, properties: { n: { type: integer } }, required: [n] } }\n";
    let workflow = WORKFLOW.replace("play: counter, each: '[1..3]'", "play: [ counter, judge ]");
    let thread = start(&place, &workflow.replacen("  counts: {", &format!("{judge}  counts: {{"), 1));
    let waiting = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(waiting.code, Some(20), "{}", waiting.stderr);
    place.json(&["thread", "answer", &thread, "--branch", "judge", "--data", r#"{"n": 7}"#]);
    place.until_state(&thread, "completed");
    assert_eq!(place.json(&["thread", "eval", &thread, "$last('counts').judge.n"]), json!(7));
    assert_eq!(place.paid().len(), 1);
}
