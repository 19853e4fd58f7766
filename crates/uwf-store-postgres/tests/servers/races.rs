//! Eight processes on one store, also while its server crashes and somebody removes nodes.

use std::collections::BTreeMap;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use json_cas::{HeadBackend, HeadsError, NodeHash, ObjectBackend, RemoteFault, RemovalJournal as _, SwapOutcome};
use serde_json::{Value, json};
use uwf_store_postgres::PostgresStore;

use crate::server::Server;
use crate::worker;

const PROCESSES: u64 = 8;

/// Moves of the shared head that each process must win.
const MOVES: u64 = 40;

/// Names that all processes want to create, and to remove.
const NAMES: u64 = 30;

/// How long they write while the server crashes.
const STORM: Duration = Duration::from_secs(9);

fn told(children: Vec<Child>) -> Vec<Value> {
    children.into_iter().map(|child| serde_json::from_str(&worker::outcome(child)).unwrap()).collect()
}

fn sum(told: &[Value], key: &str) -> u64 {
    told.iter().filter_map(|value| value[key].as_u64()).sum()
}

fn move_on(store: &PostgresStore, name: &str) -> bool {
    let now = store.read(name).unwrap().unwrap();
    let next = NodeHash::from_u64(now.hash.as_u64() + 1);
    match store.swap(name, &now.version, next).unwrap() {
        SwapOutcome::Done => true,
        SwapOutcome::Moved(other) => {
            assert_ne!(other, Some(now), "refused although it had not moved");
            false
        }
    }
}

/// Makes the store ready, moves the shared head, creates and removes names, as everybody else does.
fn race(url: &str) {
    let store = PostgresStore::open(url).unwrap();
    let mut counts = BTreeMap::from([("made", u64::from(store.init().unwrap()))]);
    let mut count = |what| *counts.entry(what).or_default() += 1;
    let _ = store.create("shared", NodeHash::from_u64(0)).unwrap();
    let mut wins = 0;
    while wins < MOVES {
        if move_on(&store, "shared") {
            wins += 1;
        } else {
            count("losses");
        }
    }
    for number in 0..NAMES {
        let name = format!("name-{number}");
        match store.create(&name, NodeHash::from_u64(u64::from(std::process::id()))) {
            Ok(SwapOutcome::Done) => count("created"),
            Ok(SwapOutcome::Moved(head)) => assert!(head.is_some_and(|head| head.hash != NodeHash::from_u64(0))),
            Err(HeadsError::Removed { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        if let Some(head) = store.read(&name).unwrap()
            && store.remove(&name, &head.version, &json!({"name": name})).unwrap() == SwapOutcome::Done
        {
            count("removed");
        }
    }
    worker::tell(json!(counts));
}

#[test]
fn processes_lose_no_moves_and_create_names_once() {
    if let Some((_, url)) = worker::part() {
        return race(&url);
    }
    let server = Server::start();
    let test = "races::processes_lose_no_moves_and_create_names_once";
    let children = (0..PROCESSES).map(|_| worker::child(test, "racer", &server.url("race")).spawn().unwrap()).collect();
    let told = told(children);
    let store = server.store("race");
    assert_eq!(sum(&told, "made"), 1, "one of them made the tables");
    assert_eq!(store.read("shared").unwrap().unwrap().hash, NodeHash::from_u64(PROCESSES * MOVES), "{told:?}");
    assert!(sum(&told, "losses") > 0, "they were never in each other's way: {told:?}");
    assert_eq!((sum(&told, "created"), sum(&told, "removed")), (NAMES, NAMES), "{told:?}");
    assert_eq!(store.records().unwrap().readable.len() as u64, NAMES);
    assert_eq!(HeadBackend::list(&store).unwrap().len(), 1);
}

/// Puts a node that nobody else has, and lets a head of its own lead to it.
fn step(store: &PostgresStore, name: &str, node: NodeHash) -> Result<SwapOutcome, HeadsError> {
    let _hold = store.hold().unwrap();
    store.put_all(&[(node, node.to_string().into_bytes())]).unwrap();
    thread::sleep(Duration::from_millis(3));
    match store.read(name)? {
        None => store.create(name, node),
        Some(head) => store.swap(name, &head.version, node),
    }
}

/// Makes steps and moves the shared head until the time is over.
fn write(url: &str, number: u64) {
    let store = PostgresStore::open(url).unwrap();
    let (begun, name) = (Instant::now(), format!("own-{number}"));
    let (mut steps, mut moves, mut swept) = (0_u64, 0_u64, 0_u64);
    while begun.elapsed() < STORM {
        let node = NodeHash::from_u64((number + 1) << 32 | (steps + swept));
        match step(&store, &name, node) {
            Ok(SwapOutcome::Done) => steps += 1,
            Ok(SwapOutcome::Moved(now)) => panic!("{name} is moved by nobody else, but is at {now:?}"),
            Err(HeadsError::Remote(error)) if error.message.contains("nodes were removed since") => swept += 1,
            Err(error) => panic!("{error}"),
        }
        moves += u64::from(move_on(&store, "shared"));
    }
    worker::tell(
        json!({"steps": steps, "moves": moves, "swept": swept, "last": store.read(&name).unwrap().unwrap().hash}),
    );
}

/// Removes what no head leads to, again and again.
fn collect(url: &str) {
    let store = PostgresStore::open(&format!("{url}&lock_timeout=2000")).unwrap();
    let begun = Instant::now();
    let (mut sweeps, mut removed) = (0_u64, 0_u64);
    while begun.elapsed() < STORM {
        let Ok(sweep) = store.sweep() else { continue };
        sweeps += 1;
        let led_to: Vec<NodeHash> = HeadBackend::list(&store).unwrap().into_iter().map(|(_, hash)| hash).collect();
        let mut garbage = ObjectBackend::list(&store, None).unwrap();
        garbage.retain(|node| !led_to.contains(node));
        // It may have ended with its connection: the next one continues.
        let were_there = store.remove_all(&sweep, &[&garbage]).unwrap_or_default();
        removed += were_there.iter().filter(|was_there| **was_there).count() as u64;
        drop(sweep);
        thread::sleep(Duration::from_millis(5));
    }
    worker::tell(json!({"sweeps": sweeps, "removed": removed}));
}

#[test]
fn server_crash_under_concurrent_load_loses_nothing() {
    if let Some((part, url)) = worker::part() {
        return part.parse().map_or_else(|_| collect(&url), |number| write(&url, number));
    }
    let mut server = Server::start();
    let store = server.store("storm");
    assert_eq!(store.create("shared", NodeHash::from_u64(0)).unwrap(), SwapOutcome::Done);
    let test = "races::server_crash_under_concurrent_load_loses_nothing";
    let parts = (0..PROCESSES).map(|number| number.to_string()).chain(["sweeper".to_owned()]);
    let children: Vec<Child> =
        parts.map(|part| worker::child(test, &part, &server.url("storm")).spawn().unwrap()).collect();
    for _ in 0..3 {
        thread::sleep(STORM / 5);
        server.stop("QUIT");
        server.run();
    }
    let told = told(children);
    assert_eq!(store.read("shared").unwrap().unwrap().hash, NodeHash::from_u64(sum(&told, "moves")), "{told:?}");
    for (number, told) in told[..PROCESSES as usize].iter().enumerate() {
        let head = store.read(&format!("own-{number}")).unwrap().unwrap().hash;
        assert_eq!(told["last"], json!(head));
        assert!(store.contains(head).unwrap(), "a head leads to a node that was removed: {told}");
        assert!(told["steps"].as_u64().unwrap() > 10, "{told}");
    }
    let sweeper = &told[PROCESSES as usize];
    assert!(sweeper["sweeps"].as_u64().unwrap() > 3 && sweeper["removed"].as_u64().unwrap() > 100, "{sweeper}");
}

#[test]
fn lost_hold_moves_no_head_after_sweep() {
    let server = Server::start();
    let (holder, sweeper) = (server.store("lost"), server.store("lost"));
    let node = [(NodeHash::from_u64(1), b"one".to_vec())];
    assert_eq!(holder.create("a", NodeHash::from_u64(0)).unwrap(), SwapOutcome::Done);
    let hold = holder.hold().unwrap();
    holder.put_all(&node).unwrap();
    server.sql("postgres", "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'work'");
    let head = holder.read("a").unwrap().unwrap();
    assert_eq!(holder.swap("a", &head.version, NodeHash::from_u64(1)).unwrap(), SwapOutcome::Done, "nobody has swept");

    let sweep = sweeper.sweep().expect("the server has let go of the lock");
    sweeper.remove_all(&sweep, &[&[NodeHash::from_u64(1)]]).unwrap();
    let head = holder.read("a").unwrap().unwrap();
    let refused = [holder.swap("a", &head.version, NodeHash::from_u64(1)), holder.create("b", NodeHash::from_u64(1))];
    for refused in refused {
        let Err(HeadsError::Remote(error)) = refused else { panic!("{refused:?}") };
        assert_eq!(error.fault, RemoteFault::Failed);
        assert!(error.message.contains("the hold on the nodes was lost"), "{error}");
    }
    assert_eq!(
        (holder.read("a").unwrap().unwrap(), holder.read("b").unwrap()),
        (head.clone(), None),
        "nothing has changed"
    );
    drop(sweep);
    drop(hold);
    let _hold = holder.hold().unwrap();
    holder.put_all(&node).unwrap();
    assert_eq!(holder.swap("a", &head.version, NodeHash::from_u64(1)).unwrap(), SwapOutcome::Done);
}
