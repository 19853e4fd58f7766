//! Steps go to a worker that has their agent.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use tempfile::TempDir;
use uwf_testing::bucket::BucketServer;
use uwf_testing::processes::until;
use uwf_testing::text;

use crate::place::Place;
use crate::server::Server;

const TWO_ROLES: &str = "\
name: relay
description: two roles take turns
roles:
  first: { description: begins, goal: Begin., meta: { type: object, properties: { n: { type: integer } } } }
  second: { description: ends, goal: End., meta: { type: object, properties: { n: { type: integer } } } }
graph:
  $START: [ { role: first } ]
  first: [ { role: second } ]
  second: [ { role: $END } ]
";

#[test]
fn each_role_runs_on_worker_with_its_agent() {
    let server = Server::start();
    let place = Place::new(&server);
    place.home.config(
        "agents:\n  red: { command: paid, output: json }\n  blue: { command: paid, output: json }\n\
         agentOverrides:\n  relay: { first: red, second: blue }\n",
    );
    place.home.file("relay.yaml", TWO_ROLES);
    place.json(&["workflow", "put", "relay.yaml"]);
    let _workers = [place.worker("blue", 0, &["--agent", "blue"]), place.worker("red", 0, &["--agent", "red"])];
    for round in 1..=3 {
        let thread = text(&place.json(&["thread", "start", "relay", "-p", "Go"]), "thread");
        let done = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert_eq!(place.paid(), ["red", "blue"].repeat(round));
    }
}

#[test]
fn follower_is_warned_if_no_worker_has_agent() {
    let server = Server::start();
    let place = Place::new(&server);
    let _other = place.worker("other", 0, &["--agent", "other"]);
    let thread = place.start(1);
    let mut command = place.command(&["thread", "run", "--on", "temporal", &thread]);
    let mut following = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("no worker has taken it for 10 s")));
    let said = place.log("other");
    assert!(said.contains("agent `other` is not in config.yaml") && said.contains("configured agents: paid"), "{said}");
    let _worker = place.worker("paid", 0, &[]);
    assert!(following.wait().unwrap().success());
    assert_eq!(place.paid(), ["paid"]);
}

#[test]
fn follower_is_warned_when_only_worker_leaves() {
    let server = Server::start();
    let place = Place::new(&server);
    let worker = place.worker("one", 3, &[]);
    let thread = place.start(2);
    let mut command = place.command(&["thread", "run", "--on", "temporal", &thread]);
    let mut following = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stderr.take().unwrap()).lines().map(Result::unwrap);
    place.until_paid(1);
    worker.terminate();
    assert!(lines.any(|line| line.contains("no worker has taken it for 10 s")), "{}", place.log("one"));
    let _worker = place.worker("two", 0, &[]);
    assert!(following.wait().unwrap().success());
    assert_eq!(place.paid(), ["one", "two"]);
}

#[test]
fn worktree_thread_runs_on_worker_with_clone() {
    let (server, bucket, dir) = (Server::start(), BucketServer::start(), TempDir::new().unwrap());
    let remote = dir.path().join("remote.git");
    let remote = remote.to_str().unwrap();
    let places @ [one, two, three] = &Place::machines(&server, &bucket, ["one", "two", "three"]);
    for place in places {
        place.json(&["config", "set", "worktree", &format!("{{ remote: {remote} }}")]);
    }
    one.push_to(remote);
    three.git(&["clone", "--quiet", "--branch", "main", remote, "clone"]);

    one.start(2);
    let thread = text(&one.json(&["thread", "start", "count-rounds", "-p", "Count", "--worktree"]), "thread");
    // It is in no clone, so it leaves the thread to others.
    let _other = two.worker("two", 0, &[]);
    let mut command = one.command(&["thread", "run", "--on", "temporal", &thread]);
    let mut following = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("Temporal retries it: the worker cannot step the thread now")));
    let _clone = three.worker("three", 0, &["--cwd", "clone"]);
    assert!(following.wait().unwrap().success());
    one.until_state(&thread, "completed");
    assert_eq!((one.paid(), two.paid(), three.paid()), (vec![], vec![], vec!["three".to_owned(); 2]));
    let worktree = three.home.root().join("worktrees").join(&thread);
    assert_eq!(three.json(&["thread", "show", &thread])["workspace"], serde_json::json!(worktree));
    assert_eq!(two.json(&["thread", "show", &thread])["worksOn"]["machine"], "three");
}

#[test]
fn next_role_is_chosen_by_worker_with_agent() {
    let (server, bucket) = (Server::start(), BucketServer::start());
    let [red, blue] = &Place::machines(&server, &bucket, ["red", "blue"]);
    for (place, name, role) in [(red, "red", "first"), (blue, "blue", "second")] {
        place.home.config(&format!(
            "agents: {{ {name}: {{ command: paid, output: json }} }}\nagentOverrides: {{ relay: {{ {role}: {name} }} }}\n"
        ));
    }
    red.home.file("relay.yaml", TWO_ROLES);
    red.json(&["workflow", "put", "relay.yaml"]);
    let _workers = [red.worker("red", 0, &[]), blue.worker("blue", 0, &[])];
    let started = red.json(&["thread", "start", "relay", "-p", "Go", "--max-cost", "5"]);
    let thread = text(&started, "thread");
    let done = red.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(done.code, Some(0), "{}\n{}\n{}", done.stderr, red.log("red"), blue.log("blue"));
    assert!(done.stderr.contains("only this machine knows the limits that were chosen"), "{}", done.stderr);
    assert_eq!((red.paid(), blue.paid()), (vec!["red".to_owned()], vec!["blue".to_owned()]));
}

#[test]
fn waiting_step_moves_to_newly_configured_agent() {
    let server = Server::start();
    let place = Place::new(&server);
    place.home.config("agents:\n  paid: { command: paid, output: json }\n  gone: { command: paid, output: json }\ndefaultAgent: gone\n");
    let thread = place.start(1);
    let _worker = place.worker("one", 0, &["--agent", "paid"]);
    place.detach_looking_again(&thread, "1s");
    until("it waits for the agent", || {
        let (_, shown) = server.ask(&["workflow", "show", "-w", &format!("uwf-{thread}"), "--output", "json"]);
        shown.contains("uwf.agent.gone")
    });
    place.home.config("agents:\n  paid: { command: paid, output: json }\ndefaultAgent: paid\n");
    place.until_state(&thread, "completed");
    assert_eq!(place.paid(), ["one"]);
}

#[test]
fn role_of_a_command_runs_on_any_worker() {
    let server = Server::start();
    let place = Place::new(&server);
    let workflow = "name: check\ndescription: x\nroles:\n  check: { run: 'true' }\ngraph: { $START: [ { role: check } ], check: [ { role: $END } ] }\n";
    place.home.file("check.yaml", workflow);
    place.json(&["workflow", "put", "check.yaml"]);
    let _worker = place.worker("one", 0, &["--agent", "paid"]);
    let thread = text(&place.json(&["thread", "start", "check", "-p", "Go"]), "thread");
    let done = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
}
