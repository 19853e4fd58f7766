//! A store that is away, is not what it should be, or goes away in the middle of a step.

use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use uwf_testing::bucket::BucketServer;
use uwf_testing::processes::signal;
use uwf_testing::s3_server::{S3Server, S3ServerKind};

use crate::machine::{Machine, paid};
use crate::postgres::Postgres;

#[test]
fn each_fault_is_one_clear_error() {
    let dir = TempDir::new().unwrap();
    let ledger = dir.path().join("ledger");
    let (moto, postgres) = (S3Server::start(S3ServerKind::Moto), Postgres::start());
    let with = |variables: &[(&str, &str)]| {
        let mut all = moto.variables("uwf");
        all.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Machine::new(all, &ledger)
    };
    let database = postgres.variables("uwf").remove(0).1;
    let cases = [
        ("not ready", vec![], 78, "uwf store init"),
        ("no such bucket", vec![("UWF_STORE_URL", "s3://nobody/uwf")], 69, "create the bucket first"),
        ("no server", vec![("AWS_ENDPOINT_URL", "http://127.0.0.1:9")], 75, "try again"),
        ("no such database", vec![("UWF_STORE_URL", "postgres://postgres@127.0.0.1/nowhere")], 69, "createdb"),
        ("tables missing", vec![("UWF_STORE_URL", &database)], 78, "uwf store init"),
        ("no server there", vec![("UWF_STORE_URL", "postgres://postgres@127.0.0.1:9/work")], 75, "try again"),
    ];
    let port = database.split(':').nth(2).unwrap().split('/').next().unwrap().to_owned();
    for (what, variables, code, hint) in cases {
        let url = |value: &str| value.replace("127.0.0.1/nowhere", &format!("127.0.0.1:{port}/nowhere"));
        let variables: Vec<(&str, String)> = variables.iter().map(|(name, value)| (*name, url(value))).collect();
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let done = with(&variables).uwf(&["thread", "list"]);
        assert_eq!(done.code, Some(code), "{what}: {}", done.stderr);
        assert!(done.stderr.contains(hint), "{what}: {}", done.stderr);
        assert_eq!((done.stderr.matches("error:").count(), done.stderr.matches("warning:").count()), (1, 0), "{what}");
        assert!(!done.stderr.contains("hush-this"), "{what}: {}", done.stderr);
    }
}

#[test]
fn incomplete_database_names_missing_part_and_remedy() {
    let (server, dir) = (Postgres::start(), TempDir::new().unwrap());
    let machine = Machine::new(server.variables("uwf"), &dir.path().join("ledger"));
    let thread = machine.begin();
    let lacks = |what: &str, part: &str, hint: &str| {
        let commands: [&[&str]; 4] =
            [&["thread", "list"], &["store", "show"], &["store", "init"], &["thread", "step", &thread]];
        for command in commands {
            let refused = machine.uwf(command);
            assert_eq!(refused.code, Some(78), "{what}, {command:?}: {}", refused.stderr);
            assert!(refused.stderr.contains(part), "{what}, {command:?}: {}", refused.stderr);
            assert!(refused.stderr.contains(hint), "{what}, {command:?}: {}", refused.stderr);
        }
    };
    for table in ["nodes", "heads", "notes"] {
        server.sql(&format!("alter table uwf.{table} rename to away"));
        lacks(table, &format!("lacks {table}"), "from a backup of the store");
        server.sql(&format!("alter table uwf.away rename to {table}"));
    }
    server.sql("create table uwf.away as select * from uwf.meta; delete from uwf.meta");
    lacks("meta", "the table meta in uwf is empty", "from a backup of the store");
    server.sql("insert into uwf.meta select * from uwf.away; drop table uwf.away");
    server.sql("update uwf.meta set version = 99");
    lacks("a newer version", "have version 99, and this program supports up to", "install that uwf here");
    server.sql("update uwf.meta set version = 2, format = 'shop'");
    lacks("another format", "has other tables than a uwf store", "name another prefix, database or schema");
    server.sql("update uwf.meta set format = 'uwf-store'");
    machine.step(&thread);
}

#[test]
fn bucket_without_marker_hints_how_to_restore_it() {
    let (server, dir) = (BucketServer::start(), TempDir::new().unwrap());
    let machine = Machine::new(server.variables("team"), &dir.path().join("ledger"));
    let thread = machine.begin();
    server.remove("team", "format.json");
    let refused = machine.uwf(&["thread", "step", &thread]);
    assert_eq!(refused.code, Some(78), "{}", refused.stderr);
    assert!(refused.stderr.contains("uwf store init"), "{}", refused.stderr);
    let refused = machine.uwf(&["store", "init"]);
    assert_eq!(refused.code, Some(78), "{}", refused.stderr);
    for told in
        ["but its format.json, with the text", r#"`{"format":"uwf-store","version":1}`"#, "from a backup of the store"]
    {
        assert!(refused.stderr.contains(told), "{told}: {}", refused.stderr);
    }
    assert_eq!(paid(&dir.path().join("ledger")), 0);
}

#[test]
fn paid_answer_is_stored_once_store_returns() {
    let mut server = Postgres::start();
    let dir = TempDir::new().unwrap();
    let ledger = dir.path().join("ledger");
    let machine = Machine::new(server.variables("uwf"), &ledger);
    let thread = machine.begin();
    machine.step(&thread);
    let step = machine.begin_step(&thread, 3, &ledger);
    server.stop();
    let ended = step.wait_with_output().unwrap();
    assert!(!ended.status.success());
    server.run();
    machine.step(&thread);
    assert_eq!(paid(&ledger), 2, "the answer was kept on this machine: {}", String::from_utf8_lossy(&ended.stderr));
    let steps = machine.json(&["thread", "steps", &thread]);
    assert_eq!(steps["steps"].as_array().unwrap().len(), 3);
    assert_eq!(machine.json(&["cas", "verify"])["problems"], json!([]));
}

#[test]
fn answer_outrun_by_other_machine_is_kept() {
    let mut server = Postgres::start();
    let dir = TempDir::new().unwrap();
    let ledger = dir.path().join("ledger");
    let [one, two] = [(); 2].map(|()| Machine::new(server.variables("uwf"), &ledger));
    one.home.script("paid", "#!/bin/sh\ncat > /dev/null\necho paid >> \"$LEDGER\"\nsleep 3\necho '{\"n\": 777}'\n");
    let thread = one.begin();
    let step = one.begin_step(&thread, 3, &ledger);
    server.stop();
    assert!(!step.wait_with_output().unwrap().status.success());
    server.run();
    two.step_when_free(&thread);
    one.step(&thread);
    let kept = one.kept_outputs();
    assert!(kept.contains("777"), "the answer of the first machine: {kept}");
}

#[test]
fn concurrent_steps_link_one_and_keep_other() {
    let server = Postgres::start();
    let dir = TempDir::new().unwrap();
    let ledger = dir.path().join("ledger");
    let [one, two] = [(); 2].map(|()| Machine::new(server.variables("uwf"), &ledger));
    let thread = one.begin();
    let step = |machine: &Machine| {
        let work = machine.home.work();
        let mut command = machine.command(&["thread", "step", &thread, "--cwd", work.to_str().unwrap()]);
        command.env("AGENT_SLEEPS", "2").output().unwrap().status.code()
    };
    let codes = std::thread::scope(|scope| {
        let both = [scope.spawn(|| step(&one)), scope.spawn(|| step(&two))];
        both.map(|one| one.join().unwrap())
    });
    assert!(codes.contains(&Some(0)), "{codes:?}");
    assert!(codes == [Some(0); 2] || codes.contains(&Some(75)), "{codes:?}");
    let steps = one.json(&["thread", "steps", &thread]);
    let linked = steps["steps"].as_array().unwrap().len() - 1;
    assert_eq!(linked, codes.iter().filter(|code| **code == Some(0)).count(), "never two steps for one position");
    assert_eq!(one.json(&["cas", "verify"])["problems"], json!([]));
}

#[test]
fn removed_node_is_neither_linked_nor_reported_present() {
    let server = Postgres::start();
    let dir = TempDir::new().unwrap();
    let ledger = dir.path().join("ledger");
    let [one, two] = [(); 2].map(|()| Machine::new(server.variables("uwf"), &ledger));
    let thread = one.begin();
    one.home.script("paid", "#!/bin/sh\ncat > /dev/null\necho half; exit 3\n");
    assert_eq!(one.uwf(&["thread", "step", &thread]).code, Some(40));
    // Nothing but the record of the first machine leads to the failed attempt.
    assert!(two.later(40, &["gc"])["deletedEntries"].as_u64().unwrap() > 0);
    one.home.script("paid", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    one.step(&thread);
    for machine in [&one, &two] {
        assert_eq!(
            machine.json(&["cas", "verify"])["problems"],
            json!([]),
            "the step leads to no attempt that is gone"
        );
    }
    two.later(80, &["gc"]);
    assert_eq!(one.json(&["cas", "verify"])["problems"], json!([]));
}

/// Heads can be read, and nodes cannot: as with a statement that takes too long, or rights that were taken away.
#[test]
fn brief_store_failure_loses_no_result_or_step() {
    let server = Postgres::start();
    let dir = TempDir::new().unwrap();
    let ledger = dir.path().join("ledger");
    let machine = Machine::new(server.variables("uwf"), &ledger);
    let thread = machine.begin();
    machine.step(&thread);
    let head = machine.head(&thread);
    // What it takes to know where the thread stands, and nothing of what its steps lead to.
    let shown = machine.json(&["thread", "steps", &thread]);
    let known = [&shown["workflow"], &shown["steps"][0]["hash"], &shown["steps"][1]["hash"]];
    let known = known.map(|hash| hash.as_str().unwrap().to_owned());

    // The agent finishes, and the head cannot be moved.
    let step = machine.begin_step(&thread, 2, &ledger);
    server.sql("alter table uwf.heads rename to heads_away");
    assert!(!step.wait_with_output().unwrap().status.success());
    server.sql("alter table uwf.heads_away rename to heads");
    machine.forget_nodes_but(&known);
    server.sql("alter table uwf.nodes rename to nodes_away");
    for args in [&["thread", "step", &thread][..], &["thread", "repair", &thread]] {
        let refused = machine.uwf(args);
        assert!(!matches!(refused.code, Some(0 | 40)), "{args:?}: {}{}", refused.stdout, refused.stderr);
    }
    server.sql("alter table uwf.nodes_away rename to nodes");
    assert_eq!((machine.head(&thread), paid(&ledger)), (head, 2), "nothing was dropped, and nobody paid again");
    let adopted = machine.step(&thread);
    assert_eq!((adopted["adopted"].as_bool(), paid(&ledger)), (Some(true), 2), "{adopted}");
}

#[test]
fn step_waits_for_briefly_hanging_store() {
    let server = S3Server::start(S3ServerKind::Moto);
    let dir = TempDir::new().unwrap();
    let ledger = dir.path().join("ledger");
    let machine = Machine::new(server.variables("uwf"), &ledger);
    let thread = machine.begin();
    let step = machine.begin_step(&thread, 1, &ledger);
    signal(server.process_id(), "STOP");
    std::thread::sleep(Duration::from_secs(4));
    signal(server.process_id(), "CONT");
    let ended = step.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(paid(&ledger), 1);
    assert_eq!(machine.json(&["cas", "verify"])["problems"], json!([]));
}
