//! Roles that play others at the same time, on workers of Temporal.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_testing::bucket::BucketServer;
use uwf_testing::processes::{self, until};
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
fn branches_are_taken_by_all_workers() {
    let server = Server::start();
    let place = Place::new(&server);
    let _workers = [place.worker("one", 2, &["--max-agents", "1"]), place.worker("two", 2, &["--max-agents", "1"])];
    let thread = start(&place, WORKFLOW);
    let followed = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(followed.code, Some(0), "{}", followed.stderr);
    assert_eq!(output(&place, &thread).as_array().map(Vec::len), Some(3));
    let paid = place.paid();
    let has_paid = |worker: &str| paid.iter().any(|other| other == worker);
    assert!(paid.len() == 3 && has_paid("one") && has_paid("two"), "one agent each at a time: {paid:?}");
    let has = |word: &str| server.written().windows(word.len()).any(|window| window == word.as_bytes());
    assert!(!has("woolly"), "tasks do not go through Temporal");
}

#[test]
fn group_within_group_needs_no_place() {
    let server = Server::start();
    let place = Place::new(&server);
    let _one = place.worker("one", 0, &["--max-agents", "1"]);
    let inner = "  counts: { play: counter, each: '[1..3]' }\n  outer: { play: [ counts, counter ] }\n";
    let nested = WORKFLOW.replace("  counts: { play: counter, each: '[1..3]' }\n", inner);
    let nested = nested.replace("{ role: counts }", "{ role: outer }").replace("  counts: [", "  outer: [");
    let thread = start(&place, &nested);
    let followed = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(followed.code, Some(0), "{}", followed.stderr);
    assert_eq!(place.paid().len(), 4);
}

#[test]
fn branch_without_a_worker_is_reported() {
    let server = Server::start();
    let place = Place::new(&server);
    place.home.config("agents:\n  paid: { command: paid, output: json }\n  rare: { command: paid, output: json }\ndefaultAgent: rare\n");
    let _one = place.worker("one", 0, &["--agent", "paid", "--agent", "uwf-play"]);
    let thread = start(&place, WORKFLOW);
    let mut command = place.command(&["thread", "run", "--on", "temporal", &thread]);
    let mut following = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stderr.take().unwrap()).lines().map(Result::unwrap);
    let reported = "a branch: no worker that has its agent has taken it for 10 s";
    assert!(lines.any(|line| line.contains(reported)));
    assert!(place.log("one").contains(reported));
    assert_eq!(place.state(&thread), "running");
    let _two = place.worker("two", 0, &["--agent", "rare"]);
    assert!(following.wait().unwrap().success());
    assert_eq!(place.paid(), ["two"; 3]);
}

#[test]
fn each_branch_runs_on_machine_with_its_agent() {
    let (server, bucket) = (Server::start(), BucketServer::start());
    let [red, blue] = &Place::machines(&server, &bucket, ["red", "blue"]);
    let judge =
        "  judge: { goal: Judge., meta: { type: object, properties: { n: { type: integer } }, required: [n] } }\n";
    let workflow = WORKFLOW.replace("play: counter, each: '[1..3]'", "play: [ counter, judge ]");
    let workflow = workflow.replacen("  counts: {", &format!("{judge}  counts: {{"), 1);
    for (place, name, role) in [(red, "red", "counter"), (blue, "blue", "judge")] {
        place.home.config(&format!(
            "agents: {{ {name}: {{ command: paid, output: json }} }}\nagentOverrides: {{ count-all: {{ {role}: {name} }} }}\n"
        ));
    }
    let _workers = [red.worker("red", 0, &[]), blue.worker("blue", 0, &[])];
    let thread = start(red, &workflow);
    let done = red.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(done.code, Some(0), "{}\n{}\n{}", done.stderr, red.log("red"), blue.log("blue"));
    assert_eq!((red.paid(), blue.paid()), (vec!["red".to_owned()], vec!["blue".to_owned()]));
}

#[test]
fn items_reach_branches_on_other_machines() {
    let (server, bucket) = (Server::start(), BucketServer::start());
    let places = &Place::machines(&server, &bucket, ["one", "two"]);
    let answer = "#!/bin/sh\ncat > /dev/null\necho \"$WORKER $$\" >> \"$LEDGER\"\nsleep ${AGENT_SLEEPS:-0}\n\
        echo \"{\\\"n\\\": $UWF_ITEM}\"\n";
    places.iter().for_each(|place| drop(place.home.script("paid", answer)));
    let _workers =
        [("one", &places[0]), ("two", &places[1])].map(|(name, place)| place.worker(name, 2, &["--max-agents", "1"]));
    let thread = start(&places[0], &WORKFLOW.replace("'[1..3]'", "'[5..8]'"));
    let done = places[0].uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(done.code, Some(0), "{}\n{}\n{}", done.stderr, places[0].log("one"), places[1].log("two"));
    assert_eq!(output(&places[0], &thread), json!([5, 6, 7, 8]));
    let paid = places.each_ref().map(|place| place.paid().len());
    assert!(paid[0] + paid[1] == 4 && paid.iter().all(|paid| *paid > 0), "both machines: {paid:?}");
}

#[test]
fn branch_failed_elsewhere_is_retried_alone() {
    let (server, bucket) = (Server::start(), BucketServer::start());
    let [here, there] = &Place::machines(&server, &bucket, ["here", "there"]);
    let workflow = WORKFLOW.replace("'[1..3]'", "'[1..2]'");
    // Groups are played here, and branches only there.
    here.home.config("agents:\n  other: { command: paid, output: json }\n");
    let failing = "#!/bin/sh\necho \"$WORKER $$\" >> \"$LEDGER\"\n[ \"$UWF_ITEM\" != 2 ] || { echo no disk >&2; exit 3; }\necho '{\"n\": 1}'\n";
    there.home.script("paid", failing);
    let _workers = [here.worker("here", 0, &["--agent", "uwf-play"]), there.worker("there", 0, &["--agent", "paid"])];
    let thread = start(here, &workflow);
    let stuck = here.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(stuck.code, Some(40), "{}\n{}\n{}", stuck.stderr, here.log("here"), there.log("there"));
    assert!(
        stuck.stderr.contains("branch `counts.2` is stuck: ") && stuck.stderr.contains("no disk"),
        "{}",
        stuck.stderr
    );
    assert_eq!(there.paid().len(), 2, "a failed agent is not paid again without a request");
    there.home.script("paid", &failing.replace("exit 3", "true"));
    let done = here.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(done.code, Some(0), "{}\n{}\n{}", done.stderr, here.log("here"), there.log("there"));
    assert_eq!(there.paid().len(), 3, "only the failed branch is played again");
}

#[test]
fn kill_ends_branches_on_other_machines() {
    let (server, bucket) = (Server::start(), BucketServer::start());
    let [here, there] = &Place::machines(&server, &bucket, ["here", "there"]);
    here.home.config("agents:\n  other: { command: paid, output: json }\n");
    let _workers = [here.worker("here", 0, &["--agent", "uwf-play"]), there.worker("there", 300, &["--agent", "paid"])];
    let thread = start(here, WORKFLOW);
    here.detach(&thread);
    there.until_paid(3);
    here.json(&["thread", "kill", &thread]);
    here.until_state(&thread, "killed");
    until("all agents are gone", || there.runs().iter().all(|(_, pid)| !processes::is_alive(pid)));
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

#[test]
fn files_of_branches_return_for_the_merge() {
    let (server, bucket, dir) = (Server::start(), BucketServer::start(), TempDir::new().unwrap());
    let remote = dir.path().join("remote.git");
    let [one, two] = &Place::machines(&server, &bucket, ["one", "two"]);
    let remote = remote.to_str().unwrap();
    one.push_to(remote);
    two.git(&["clone", "--quiet", "--branch", "main", remote, "clone"]);
    let agent = "#!/bin/sh\ncat > /dev/null\necho \"$WORKER $$\" >> \"$LEDGER\"\nsleep 2\necho \"$WORKER\" > \"item-$UWF_ITEM\"\n\
        echo '{\"n\": 1}'\n";
    for place in [one, two] {
        place.json(&["config", "set", "worktree", &format!("{{ remote: {remote} }}")]);
        place.home.script("paid", agent);
    }
    let _workers =
        [one.worker("one", 0, &["--max-agents", "1"]), two.worker("two", 0, &["--max-agents", "1", "--cwd", "clone"])];
    let workflow = WORKFLOW.replace("each: '[1..3]'", "each: '[1..4]', files: worktree, merge: sequence");
    one.home.file("count-all.yaml", &workflow);
    one.json(&["workflow", "put", "count-all.yaml"]);
    let thread = text(&one.json(&["thread", "start", "count-all", "-p", "Count", "--worktree"]), "thread");
    let done = one.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(done.code, Some(0), "{}\n{}\n{}", done.stderr, one.log("one"), two.log("two"));
    let paid = [one.paid().len(), two.paid().len()];
    assert!(paid[0] + paid[1] == 4 && paid.iter().all(|paid| *paid > 0), "both machines: {paid:?}");
    let tip = format!("uwf/{thread}");
    one.git(&["fetch", "--quiet", remote, &tip]);
    let files = one.git(&["ls-tree", "--name-only", "FETCH_HEAD"]);
    assert_eq!(files, "item-1\nitem-2\nitem-3\nitem-4\n");
}
