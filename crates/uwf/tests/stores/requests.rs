//! What a command asks of a bucket. `docs/scale.md` and the README of `uwf-store-s3` state these figures.

use std::collections::BTreeMap;

use uwf_testing::bucket::{BucketServer, BucketTraffic};

use crate::machine::Machine;
use crate::postgres::Postgres;

/// What it answers is no node that the store has already, and is as long each time.
const NEW_EACH_TIME: &str = "#!/bin/sh\ncat > /dev/null\necho \"{\\\"n\\\": $(date +1%N)}\"\n";

const STORE: &str = "team";

/// A machine whose thread was begun, and stepped once so that it knows the store.
fn settled(variables: Vec<(String, String)>, dir: &std::path::Path) -> (Machine, String) {
    let machine = Machine::new(variables, &dir.join("ledger"));
    machine.home.script("paid", NEW_EACH_TIME);
    // However slow the machine is, nothing is renewed.
    machine.home.config("agents:\n  paid: { command: paid, output: json }\ndefaultAgent: paid\nstore: { lease: 1h }\n");
    machine.home.file("count.yaml", &uwf_testing::counting_workflow(10));
    let thread = machine.begin();
    machine.step(&thread);
    (machine, thread)
}

/// Kinds of requests by part of the store, without their bytes.
fn asked(server: &BucketServer) -> BTreeMap<String, BucketTraffic> {
    let without_bytes =
        |(part, asked): (String, BucketTraffic)| (part, BucketTraffic { sent: 0, received: 0, ..asked });
    server.take().into_iter().map(without_bytes).collect()
}

fn parts<const N: usize>(parts: [(&str, BucketTraffic); N]) -> BTreeMap<String, BucketTraffic> {
    parts.into_iter().map(|(part, asked)| (part.to_owned(), asked)).collect()
}

/// That a document of the repository has this in it.
fn says(document: &str, text: &str) {
    let page = std::fs::read_to_string(uwf_testing::repository().join(document)).unwrap();
    assert!(page.contains(text), "{document} does not say: {text}");
}

/// That the table of `docs/scale.md` has this row.
fn row(command: &str, parts: &BTreeMap<String, BucketTraffic>) {
    let all = parts.values().fold(none(), |mut all, part| {
        all += *part;
        all
    });
    let BucketTraffic { get, put, list, delete, head, .. } = all;
    says("docs/scale.md", &format!("| {command} | {get} | {head} | {put} | {list} | {delete} |"));
}

fn none() -> BucketTraffic {
    BucketTraffic::default()
}

#[test]
fn text_agent_step_makes_documented_requests() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let (machine, thread) = settled(server.variables(STORE), dir.path());
    // The second step is the first one whose prompt has a step in it.
    machine.step(&thread);
    server.take();
    let step = parts([
        // Keeper and the agent's process.
        ("format.json", BucketTraffic { get: 2, ..none() }),
        // The keeper reads it, once more when the step is claimed, and moves it.
        ("heads", BucketTraffic { get: 2, put: 1, ..none() }),
        // The agent's process and the keeper hold.
        ("locks", BucketTraffic { get: 2, put: 2, delete: 2, ..none() }),
        // The keeper looks whether the thread is paused and claims the step, and the agent's process tells that it has finished.
        ("notes", BucketTraffic { get: 3, put: 2, ..none() }),
        // What is new is written, and nothing is looked at that this machine has put before.
        ("nodes", BucketTraffic { put: 6, ..none() }),
    ]);
    for which in ["third", "fourth"] {
        machine.step(&thread);
        assert_eq!(asked(&server), step, "{which}");
    }
    row("`thread step`, text agent", &step);
    says("crates/uwf-store-s3/README.md", "takes 9 GET, 11 PUT and 2 DELETE");
    assert_eq!(step.values().map(|part| part.get).sum::<u64>(), 9);
    assert_eq!(step.values().map(|part| (part.put, part.delete)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)), (11, 2));
}

#[test]
fn ended_thread_is_rejected_as_with_local_store() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let (machine, thread) = settled(server.variables(STORE), dir.path());
    machine.json(&["thread", "kill", &thread]);
    let refused = machine.uwf(&["thread", "step", &thread]);
    let own = uwf_testing::TestHome::new(uwf_testing::uwf_program());
    own.worker("output: json", NEW_EACH_TIME);
    let thread = own.start_counting(10, "Count sheep");
    own.json(&["thread", "kill", &thread]);
    let expected = own.uwf(&["thread", "step", &thread]);
    assert_eq!(
        (refused.code, machine.home.steady(&refused.transcript())),
        (expected.code, own.steady(&expected.transcript()))
    );
    assert_ne!(expected.code, Some(0));
}

#[test]
fn a_start_asks_for_what_the_documents_say() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let (machine, _) = settled(server.variables(STORE), dir.path());
    server.take();
    machine.json(&["thread", "start", "count-rounds", "-p", "Count other sheep"]);
    let start = parts([
        ("format.json", BucketTraffic { get: 1, ..none() }),
        ("heads", BucketTraffic { get: 1, put: 1, ..none() }),
        ("history", BucketTraffic { get: 3, ..none() }),
        ("locks", BucketTraffic { get: 1, put: 1, delete: 1, ..none() }),
        ("nodes", BucketTraffic { put: 2, ..none() }),
        // Where it works, for other machines.
        ("notes", BucketTraffic { put: 1, ..none() }),
    ]);
    assert_eq!(asked(&server), start);
    row("`thread start`", &start);
}

#[test]
fn other_commands_ask_for_what_the_documents_say() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let (machine, thread) = settled(server.variables(STORE), dir.path());
    machine.json(&["thread", "show", &thread]);
    server.take();
    machine.json(&["thread", "show", &thread]);
    row("`thread show`", &asked(&server));
    machine.json(&["thread", "kill", &thread]);
    row("`thread kill`", &asked(&server));
}

/// Connections and transactions so far. A statement of its own is a transaction.
fn so_far(server: &Postgres) -> (u64, u64) {
    let told = server.sql("select sessions, xact_commit from pg_stat_database where datname = 'work'");
    let (sessions, transactions) = told.trim().split_once('|').unwrap();
    (sessions.parse().unwrap(), transactions.parse().unwrap())
}

#[test]
fn database_step_makes_documented_requests() {
    let (server, dir) = (Postgres::start(), tempfile::tempdir().unwrap());
    let (machine, thread) = settled(server.variables(STORE), dir.path());
    machine.step(&thread);
    for which in ["third", "fourth"] {
        let before = so_far(&server);
        let own = so_far(&server);
        machine.step(&thread);
        let after = so_far(&server);
        // Each look is a connection itself.
        let connections = (after.0 - own.0) - (own.0 - before.0);
        let transactions = (after.1 - own.1) - (own.1 - before.1);
        assert_eq!((connections, transactions), (3, 19), "{which}");
    }
    says("docs/scale.md", "takes 19 transactions on 3 connections");
}

#[test]
fn new_machine_reads_whole_chain_at_once() {
    let (server, dir) = (Postgres::start(), tempfile::tempdir().unwrap());
    let (first, thread) = settled(server.variables(STORE), dir.path());
    let cold = |name: &str| {
        let machine = Machine::new(server.variables(STORE), &dir.path().join(name));
        let before = so_far(&server);
        let own = so_far(&server);
        machine.json(&["thread", "steps", &thread]);
        (so_far(&server).1 - own.1) - (own.1 - before.1)
    };
    first.step(&thread);
    let short = cold("other");
    (0..4).for_each(|_| drop(first.step(&thread)));
    // Output and detail of each further step, and nothing for the further steps of the chain.
    assert_eq!(cold("third") - short, 4 * 2);
}

#[test]
fn an_agent_at_work_keeps_one_connection() {
    let (server, dir) = (Postgres::start(), tempfile::tempdir().unwrap());
    let ledger = dir.path().join("ledger");
    let machine = Machine::new(server.variables(STORE), &ledger);
    let thread = machine.begin();
    machine.step(&thread);
    let mut step = machine.begin_step(&thread, 3, &ledger);
    let mine = "select count(*) from pg_stat_activity where datname = 'work' and pid <> pg_backend_pid()";
    let connections = server.sql(mine);
    assert!(step.wait().unwrap().success());
    assert_eq!(connections.trim(), "1");
    assert_eq!(server.sql(mine).trim(), "0");
}
