//! Processes that are killed in the middle of something.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use json_cas::{HeadBackend as _, NodeHash, ObjectBackend as _, RemovalJournal as _, StoreError, SwapOutcome};
use serde_json::json;
use uwf_store_postgres::PostgresStore;

use crate::server::Server;
use crate::worker;

const TEST: &str = "kills::killed_process_leaves_no_partial_state_or_lock";

/// How soon others notice that a process is dead.
const SOON: Duration = Duration::from_secs(20);

const NODE: NodeHash = NodeHash::from_u64(1);

/// What a child does until it is killed.
fn play(part: &str, url: &str) {
    let store = PostgresStore::open(url).unwrap();
    let head = store.read("a").unwrap().unwrap();
    match part {
        "holds" => {
            let _hold = store.hold().unwrap();
            store.put_all(&[(NODE, b"one".to_vec())]).unwrap();
            worker::tell("ready");
            thread::sleep(Duration::from_mins(1));
        }
        "sweeps" => {
            let _sweep = store.sweep().unwrap();
            worker::tell("ready");
            thread::sleep(Duration::from_mins(1));
        }
        "removes" => {
            worker::tell("ready");
            let _ = store.remove("a", &head.version, &json!({"end": "of a"})).unwrap();
        }
        "moves" => {
            worker::tell("ready");
            let _ = store.swap("a", &head.version, NODE).unwrap();
        }
        other => panic!("{other}"),
    }
}

fn started(server: &Server, part: &str) -> Child {
    let mut child = worker::child(TEST, part, &server.url("kills")).spawn().unwrap();
    assert_eq!(worker::told(&mut child), "ready");
    child
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Kills a child while the server waits for the row of the head, then lets the server continue.
fn killed_in_a_write(server: &Server, part: &str) {
    let blocked = "select 1 from pg_stat_activity where usename = 'ann' and wait_event_type = 'Lock'";
    let lock = server.lock("work", "select 1 from kills.heads where name = 'a' for update");
    let child = started(server, part);
    let begun = Instant::now();
    while server.sql("work", blocked).is_empty() {
        assert!(begun.elapsed() < SOON, "nobody waits for the row");
        thread::sleep(Duration::from_millis(10));
    }
    kill(child);
    drop(lock);
    while !server.sql("work", "select 1 from pg_stat_activity where query like 'update heads%'").is_empty() {
        assert!(begun.elapsed() < SOON, "the server still works for a dead process");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn killed_process_leaves_no_partial_state_or_lock() {
    if let Some((part, url)) = worker::part() {
        return play(&part, &url);
    }
    let server = Server::start();
    let store = server.store("kills");
    assert_eq!(store.create("a", NodeHash::from_u64(0)).unwrap(), SwapOutcome::Done);

    // Between the nodes and the head.
    let child = started(&server, "holds");
    let quick = PostgresStore::open(&format!("{}&lock_timeout=300", server.url("kills"))).unwrap();
    let Err(StoreError::Busy { path, waited_ms: 300 }) = quick.sweep() else { panic!("a sweep while somebody holds") };
    assert_eq!(path.to_str(), Some(quick.name()));
    kill(child);
    let begun = Instant::now();
    let sweep = store.sweep().unwrap();
    assert_eq!(store.remove_all(&sweep, &[&[NODE]]).unwrap(), [true], "nobody leads to it");
    assert_eq!(store.read("a").unwrap().unwrap().hash, NodeHash::from_u64(0));
    drop(sweep);

    // While it sweeps.
    let child = started(&server, "sweeps");
    assert!(matches!(quick.hold(), Err(StoreError::Busy { waited_ms: 300, .. })), "a hold while somebody sweeps");
    kill(child);
    drop(store.hold().unwrap());
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());

    // While its head is being moved, or removed, which the server may do or not.
    killed_in_a_write(&server, "moves");
    let head = store.read("a").unwrap().unwrap();
    assert!([NodeHash::from_u64(0), NODE].contains(&head.hash));
    killed_in_a_write(&server, "removes");
    match store.read("a").unwrap() {
        Some(now) => assert_eq!((now, store.newest("a").unwrap()), (head, None)),
        None => assert_eq!(store.newest("a").unwrap(), Some(json!({"end": "of a"}))),
    }
}

#[test]
fn nested_hold_does_not_wait_for_pending_sweep() {
    let server = Server::start();
    let (store, other) = (server.store("nested"), server.store("nested"));
    let outer = store.hold().unwrap();
    thread::scope(|scope| {
        let sweeper = scope.spawn(|| drop(other.sweep().unwrap()));
        thread::sleep(Duration::from_millis(200));
        let begun = Instant::now();
        let inner = store.hold().unwrap();
        drop(server.store("nested").hold().unwrap());
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        assert!(!sweeper.is_finished());
        drop((outer, inner));
    });
}

#[test]
fn a_sweep_that_lost_its_connection_removes_nothing() {
    let server = Server::start();
    let store = server.store("sweep");
    store.put_all(&[(NODE, b"one".to_vec())]).unwrap();
    let sweep = store.sweep().unwrap();
    server.sql("postgres", "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'work'");
    let errors = [store.remove_all(&sweep, &[&[NODE]]), store.remove_all(&sweep, &[&[NODE]])].map(Result::unwrap_err);
    assert!(errors[1].to_string().ends_with("the sweep has ended with its connection; sweep again"), "{errors:?}");
    drop(sweep);
    assert!(store.contains(NODE).unwrap());
    let sweep = store.sweep().unwrap();
    assert_eq!(store.remove_all(&sweep, &[&[NODE]]).unwrap(), [true]);
}

#[test]
fn blocking_pool_calls_and_async_drops_work() {
    let server = Server::start();
    let store = server.store("tokio");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let worker = store.clone();
        let hold = tokio::task::spawn_blocking(move || {
            worker.put_all(&[(NODE, b"one".to_vec())]).unwrap();
            worker.hold().unwrap()
        });
        drop(hold.await.unwrap());
    });
    drop(store.sweep().unwrap());
    runtime.block_on(async move { drop(store) });
}

#[test]
fn a_store_starts_no_threads() {
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    if let Some((_, url)) = worker::part() {
        let before = threads();
        let store = PostgresStore::open(&url).unwrap();
        let _hold = store.hold().unwrap();
        store.put_all(&[(NODE, b"one".to_vec())]).unwrap();
        return worker::tell(threads() - before);
    }
    let server = Server::start();
    server.store("threads");
    // A name, which must be looked up; the first of its addresses may be one where no server is, the second host is none.
    let url = server.url("threads").replace("127.0.0.1", "localhost").replace("/work", ",nobody.invalid/work");
    let child = worker::child("kills::a_store_starts_no_threads", "uses", &url).spawn().unwrap();
    assert_eq!(worker::outcome(child), "0");
}
