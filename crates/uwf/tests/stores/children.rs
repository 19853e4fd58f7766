//! Roles that are played by a workflow, when its thread is on another machine.

use std::path::Path;

use serde_json::{Value, json};
use uwf_testing::DELEGATING;
use uwf_testing::bucket::BucketServer;
use uwf_testing::processes::{of_home, until};

use crate::machine::{Machine, cut_power, paid, two_machines};

const CONFIG: &str = "agents:
  paid: { command: paid, output: json }
  counter: { command: uwf-workflow, args: [count-rounds] }
defaultAgent: paid
agentOverrides: { count-for-somebody: { clerk: counter } }
store: { lease: 10s }
";

/// Two machines with a thread whose role is played by a workflow of three rounds.
fn begun(server: &BucketServer, dir: &Path) -> ([Machine; 2], String) {
    let machines = two_machines(&server.variables("team"), dir);
    for machine in &machines {
        machine.home.config(CONFIG);
        machine.home.file("outer.yaml", DELEGATING);
    }
    machines[0].json(&["store", "init"]);
    for file in ["count.yaml", "outer.yaml"] {
        machines[0].json(&["workflow", "put", file]);
    }
    let started = machines[0].json(&["thread", "start", "count-for-somebody", "-p", "Count sheep"]);
    (machines, uwf_testing::text(&started, "thread"))
}

/// The threads that a machine lists, ended ones included, but for one.
fn others(machine: &Machine, thread: &str) -> Vec<Value> {
    let listed = machine.json(&["thread", "list", "--all"]);
    listed.as_array().unwrap().iter().filter(|row| row["thread"] != thread).cloned().collect()
}

#[test]
fn child_thread_continues_with_its_parent() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let ledger = dir.path().join("ledger");
    let ([one, two], thread) = begun(&server, dir.path());
    // The first round of the child is paid for and done, its power fails in the second.
    one.home.script(
        "paid",
        "#!/bin/sh\ncat > /dev/null\necho paid >> \"$LEDGER\"\n[ $(wc -l < \"$LEDGER\") = 1 ] || sleep 60\necho '{\"n\": 1}'\n",
    );
    let step = one.begin_step(&thread, 0, &ledger);
    until("the second round is paid for", || paid(&ledger) == 2);
    cut_power(&one, step);
    let stepped = two.step_when_free(&thread);
    assert_eq!((&stepped["done"], &stepped["alias"]), (&json!(true), &json!("counter")), "{stepped}");
    // Rounds two and three: what was done is not done again.
    assert_eq!(paid(&ledger), 4);
    let children = others(&two, &thread);
    assert_eq!(children.len(), 1, "{children:?}");
    assert_eq!(children[0]["state"], json!("completed"), "{children:?}");
    let child = children[0]["thread"].as_str().unwrap();
    assert_eq!(
        two.json(&["thread", "steps", child])["steps"].as_array().unwrap().len(),
        4,
        "its start and three rounds"
    );
    assert_eq!(one.json(&["thread", "show", &thread])["state"], json!("completed"));
}

#[test]
fn kill_ends_children_on_other_machine() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let ([one, two], thread) = begun(&server, dir.path());
    let mut step = one.begin_step(&thread, 60, &dir.path().join("ledger"));
    two.json(&["thread", "kill", &thread]);
    let children = others(&two, &thread);
    assert_eq!((children.len(), &children[0]["state"]), (1, &json!("killed")), "{children:?}");
    until("its machine has noticed", || step.try_wait().unwrap().is_some());
    until("nothing of the agents is left", || of_home(one.home.root().parent().unwrap()).is_empty());
    assert_eq!(two.json(&["thread", "list"]), json!([]));
}
