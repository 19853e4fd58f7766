//! Processes that use one store at the same time, and some that are killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use json_cas::{HeadBackend, HeadsError, NodeHash, ObjectBackend, RemovalJournal, SwapOutcome};
use serde_json::{Value, json};
use uwf_store_s3::S3Store;

use crate::proxy::{Fate, Proxy};
use crate::servers::{ATOMIC, Kind, Server};

const DOES: &str = "UWF_STORE_S3_TEST_DOES";
const WORKERS: u64 = 8;
const MOVES: u64 = 15;

/// What this process is to do, if a test started it for that: its store and a word.
fn told() -> Option<(S3Store, String)> {
    let does = std::env::var(DOES).ok()?;
    let (url, does) = does.split_once(' ').unwrap();
    Some((S3Store::open(url).unwrap(), does.to_owned()))
}

/// Runs a test of this binary once more, as a process that is to do something to a store.
fn process(test: &str, keys: Vec<(String, String)>, store: &S3Store, does: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(DOES, format!("{} {does}", store.name()))
        .envs(keys)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for a line that the process prints.
fn wait_for(child: &mut Child, line: &str) {
    let stdout = BufReader::new(child.stdout.as_mut().unwrap());
    assert!(stdout.lines().any(|read| read.unwrap().contains(line)), "it did not say `{line}`");
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Says that something is done, and does nothing more.
fn stand_still(said: &str) -> ! {
    println!("{said}");
    loop {
        thread::park();
    }
}

fn hash(value: u64) -> NodeHash {
    NodeHash::from_u64(value)
}

fn record(name: &str) -> Value {
    json!({ "thread": name })
}

/// Moves a shared name on; how often others were faster.
fn move_on(store: &S3Store, name: &str) -> u64 {
    let mut lost = 0;
    loop {
        let now = store.read(name).unwrap().unwrap();
        match store.swap(name, &now.version, hash(now.hash.as_u64() + 1)).unwrap() {
            SwapOutcome::Done => return lost,
            SwapOutcome::Moved(_) => lost += 1,
        }
    }
}

/// What each of the racing processes does. It prints what it won and lost.
fn race(store: &S3Store, worker: &str) {
    let (mut won, mut lost) = (0, 0);
    for number in 0..MOVES {
        lost += move_on(store, "shared");
        match store.create(&format!("raced-{number}"), hash(1)).unwrap() {
            SwapOutcome::Done => won += 1,
            SwapOutcome::Moved(there) => assert_eq!(there.unwrap().hash, hash(1)),
        }
        let own = format!("own-{worker}-{number}");
        assert_eq!(store.create(&own, hash(2)).unwrap(), SwapOutcome::Done);
        if number % 2 == 0 {
            let version = store.read(&own).unwrap().unwrap().version;
            assert_eq!(store.remove(&own, &version, &record(&own)).unwrap(), SwapOutcome::Done);
        }
    }
    println!("created {won} lost {lost}");
}

#[test]
fn eight_processes_lose_nothing() {
    if let Some((store, worker)) = told() {
        return race(&store, &worker);
    }
    for kind in ATOMIC {
        let server = Server::start(kind);
        let store = server.fresh();
        assert_eq!(store.create("shared", hash(0)).unwrap(), SwapOutcome::Done);
        let test = "processes::eight_processes_lose_nothing";
        let workers = (0..WORKERS).map(|worker| process(test, server.environment(), &store, &worker.to_string()));
        let workers: Vec<Child> = workers.collect();
        let mut created = 0;
        for worker in workers {
            let output = worker.wait_with_output().unwrap();
            assert!(output.status.success());
            let stdout = String::from_utf8(output.stdout).unwrap();
            let line = stdout.lines().find_map(|line| line.split_once("created ")).unwrap().1;
            created += line.split(' ').next().unwrap().parse::<u64>().unwrap();
        }
        assert_eq!(store.read("shared").unwrap().unwrap().hash, hash(WORKERS * MOVES), "moves of the shared name");
        assert_eq!(created, MOVES, "each raced name was created by one");
        let removed = WORKERS * MOVES.div_ceil(2);
        let records = store.records().unwrap();
        assert_eq!((records.readable.len() as u64, records.problems.len()), (removed, 0));
        assert_eq!(HeadBackend::list(&store).unwrap().len() as u64, 1 + MOVES + WORKERS * MOVES - removed);
    }
}

#[test]
fn nodes_without_a_head_do_no_harm() {
    if let Some((store, _)) = told() {
        store.put_all(&[(hash(1), b"one".to_vec()), (hash(2), b"two".to_vec())]).unwrap();
        stand_still("nodes are stored");
    }
    for kind in [Kind::SeaweedFs, Kind::Azurite, Kind::Google] {
        let server = Server::start(kind);
        let store = server.fresh();
        assert_eq!(store.create("thread", hash(7)).unwrap(), SwapOutcome::Done);
        let mut child = process("processes::nodes_without_a_head_do_no_harm", server.environment(), &store, "store");
        wait_for(&mut child, "nodes are stored");
        kill(child);
        assert_eq!(store.read("thread").unwrap().unwrap().hash, hash(7));
        assert_eq!(ObjectBackend::list(&store, None).unwrap(), [hash(1), hash(2)]);
        store.sync(&[hash(1), hash(2)]).unwrap();
        move_on(&store, "thread");
    }
}

/// How somebody may come across a removal that was left half done.
type Meets = (&'static str, fn(&S3Store));

const MEETS: [Meets; 6] = [
    ("read", |store| assert_eq!(store.read("a").unwrap(), None)),
    ("list", |store| assert_eq!(HeadBackend::list(store).unwrap(), [("b".to_owned(), hash(1))])),
    ("records", |store| assert_eq!(store.records().unwrap().readable, [record("a")])),
    ("newest", |store| assert_eq!(store.newest("a").unwrap(), Some(record("a")))),
    ("create", |store| assert!(matches!(store.create("a", hash(9)), Err(HeadsError::Removed { .. })))),
    ("forget", |store| {
        assert_eq!(store.forget(&["a"]).unwrap(), 1);
        assert_eq!((store.newest("a").unwrap(), store.read("a").unwrap()), (None, None));
        assert_eq!(store.create("a", hash(9)).unwrap(), SwapOutcome::Done);
        let version = store.read("a").unwrap().unwrap().version;
        assert_eq!(store.remove("a", &version, &record("a")).unwrap(), SwapOutcome::Done);
    }),
];

#[test]
fn killed_removal_is_all_or_nothing() {
    if let Some((store, _)) = told() {
        let version = store.read("a").unwrap().unwrap().version;
        assert_eq!(store.remove("a", &version, &record("a")).unwrap(), SwapOutcome::Done);
        return;
    }
    for kind in [Kind::Moto, Kind::Azurite, Kind::Google] {
        a_removal_is_killed(&Server::start(kind));
    }
}

/// At each of its requests.
fn a_removal_is_killed(server: &Server) {
    // Where the process stands still when it is killed, and whether the name is removed then.
    for (stop, is_removed) in [("PUT heads/a@1", false), ("PUT history/a.json", true), ("DELETE heads/a@1", true)] {
        for (meets, meet) in MEETS {
            if !is_removed && meets != "read" {
                continue;
            }
            let store = server.fresh();
            for name in ["a", "b"] {
                assert_eq!(store.create(name, hash(1)).unwrap(), SwapOutcome::Done);
            }
            let (method, key) = stop.split_once(' ').unwrap();
            let stop = format!("{method} {}", server.path(&store, key));
            let (reached, is_reached) = mpsc::channel();
            let proxy = Proxy::start(&server.endpoint(), Duration::ZERO, move |passing| {
                if passing.line != stop {
                    return Fate::Passes;
                }
                let _ = reached.send(());
                Fate::Hangs
            });
            let test = "processes::killed_removal_is_all_or_nothing";
            let child = process(test, server.environment_at(&proxy.endpoint()), &store, "remove");
            is_reached.recv_timeout(Duration::from_secs(20)).unwrap();
            kill(child);
            if is_removed {
                meet(&server.store(store.name()));
                for (_, also) in &MEETS[..5] {
                    also(&server.store(store.name()));
                }
            } else {
                assert_eq!(store.read("a").unwrap().unwrap().hash, hash(1));
                assert_eq!((store.newest("a").unwrap(), store.records().unwrap().readable), (None, vec![]));
            }
        }
    }
}

/// Waits 60 s for leases to end, for all cases at once.
#[test]
fn only_holds_of_dead_processes_end() {
    let test = "processes::only_holds_of_dead_processes_end";
    if let Some((store, does)) = told() {
        if does == "hold" {
            let _hold = store.hold().unwrap();
            stand_still("it holds");
        }
        let _sweep = store.sweep().unwrap();
        stand_still("it sweeps");
    }
    let server = Server::start(Kind::SeaweedFs);
    let (dead_holder, dead_sweeper, living) = (server.fresh(), server.fresh(), server.fresh());
    for (store, does, said) in [(&dead_holder, "hold", "it holds"), (&dead_sweeper, "sweep", "it sweeps")] {
        let mut child = process(test, server.environment(), store, does);
        wait_for(&mut child, said);
        kill(child);
    }
    let other = server.store(living.name());
    let begun = Instant::now();
    let waited = |what: &str| {
        let waited = begun.elapsed().as_secs();
        assert!((50..75).contains(&waited), "{what} waited {waited} s");
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let sweep = dead_holder.sweep().unwrap();
            waited("a sweep for a dead holder");
            drop(sweep);
            drop(dead_holder.hold().unwrap());
        });
        scope.spawn(|| {
            let hold = dead_sweeper.hold().unwrap();
            waited("a hold for a dead sweeper");
            drop(hold);
            drop(dead_sweeper.sweep().unwrap());
        });
        let hold = living.hold().unwrap();
        scope.spawn(|| {
            let sweep = other.sweep().unwrap();
            let waited = begun.elapsed().as_secs();
            assert!(waited >= 68, "a sweep began after {waited} s although somebody held");
            drop(sweep);
        });
        thread::sleep(Duration::from_secs(68));
        drop(hold);
    });
}
