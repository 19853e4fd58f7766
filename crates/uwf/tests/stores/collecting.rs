//! `uwf gc` in a bucket, where ages go by the clock of the bucket, and where each request takes its time.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_testing::bucket::BucketServer;
use uwf_testing::text;

use crate::machine::Machine;

const MONTHS: Duration = Duration::from_hours(40 * 24);

/// Everything a thread consists of.
fn nodes_of(machine: &Machine, thread: &str) -> Value {
    machine.json(&["cas", "walk", "--types", &machine.head(thread)])
}

/// A thread with a task of its own, of two steps, of which nothing is left but its nodes.
fn leave_nodes(machine: &Machine, task: &str) {
    let thread = text(&machine.json(&["thread", "start", "count-rounds", "-p", task]), "thread");
    machine.step(&thread);
    machine.step(&thread);
    machine.json(&["thread", "kill", &thread]);
    machine.json(&["thread", "rm", &thread]);
}

#[test]
fn gc_removes_only_unreferenced_nodes_from_bucket() {
    let server = BucketServer::start();
    let dir = TempDir::new().unwrap();
    let [one, two] = [(); 2].map(|()| Machine::new(server.variables("uwf"), &dir.path().join("ledger")));
    let kept = one.begin();
    one.step(&kept);
    let before = nodes_of(&one, &kept);
    for task in ["Count goats", "Count hens", "Count bees"] {
        leave_nodes(&two, task);
    }

    assert_eq!(one.json(&["gc"])["deletedEntries"], 0, "all of it is young");
    server.put_clock_forward(MONTHS);
    // While an agent is at work elsewhere.
    let mut running = one.begin_step(&kept, 30, &dir.path().join("ledger"));
    let counted = two.json(&["gc", "--dry-run"]);
    let collected = two.json(&["gc"]);
    assert_eq!(counted["deletedEntries"], collected["deletedEntries"]);
    assert!(collected["deletedEntries"].as_u64().unwrap() > 5, "{collected}");
    assert_eq!(one.json(&["gc"])["deletedEntries"], 0, "nothing is left to do");
    two.json(&["thread", "kill", &kept]);
    running.wait().unwrap();
    assert_eq!(nodes_of(&one, &kept), before);
    for machine in [&one, &two] {
        assert_eq!(machine.json(&["cas", "verify"])["problems"], json!([]));
        assert_eq!(machine.json(&["workflow", "list"])[0]["name"], "count-rounds");
        assert_eq!(machine.json(&["thread", "show", &kept])["state"], "killed");
        // A cache may still have what is gone; a new thread writes it again.
        let again = machine.start();
        machine.step(&again);
    }
    assert_eq!(two.json(&["cas", "verify"])["problems"], json!([]));
}

#[test]
fn killed_gc_leaves_no_dangling_references() {
    let server = BucketServer::start();
    let dir = TempDir::new().unwrap();
    let [one, two] = [(); 2].map(|()| Machine::new(server.variables("uwf"), &dir.path().join("ledger")));
    let kept = one.begin();
    for task in ["Count goats", "Count hens", "Count bees"] {
        leave_nodes(&one, task);
    }
    server.put_clock_forward(MONTHS);
    let all = server.kept("uwf", "nodes").objects;
    server.slow(Duration::from_millis(10));
    let mut collecting = one.command(&["gc"]).spawn().unwrap();
    // In the middle: some are gone.
    uwf_testing::processes::until("it removes", || server.kept("uwf", "nodes").objects < all);
    collecting.kill().unwrap();
    collecting.wait().unwrap();
    server.slow(Duration::ZERO);
    // Until its lease has ended nobody writes.
    server.put_clock_forward(Duration::from_mins(2));

    assert_eq!(two.json(&["cas", "verify"])["problems"], json!([]));
    two.step(&kept);
    let rest = two.json(&["gc"]);
    assert_eq!(two.json(&["cas", "verify"])["problems"], json!([]), "{rest}");
}
