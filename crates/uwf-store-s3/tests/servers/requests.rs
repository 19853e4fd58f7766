//! What a call costs: the table of the README.

use json_cas::{HeadBackend, NodeHash, ObjectBackend, RemovalJournal, SwapOutcome};
use serde_json::json;
use uwf_store_s3::{RequestCounts, S3Store};

use crate::servers::{ALL, Kind, Server};

fn hash(value: u64) -> NodeHash {
    NodeHash::from_u64(value)
}

/// Requests that a call takes.
fn cost<T>(store: &S3Store, call: impl FnOnce() -> T) -> (T, RequestCounts) {
    let before = store.requests();
    let result = call();
    let after = store.requests();
    let cost = RequestCounts {
        get: after.get - before.get,
        put: after.put - before.put,
        list: after.list - before.list,
        delete: after.delete - before.delete,
        head: after.head - before.head,
    };
    (result, cost)
}

fn requests(get: u64, put: u64, list: u64, delete: u64, head: u64) -> RequestCounts {
    RequestCounts { get, put, list, delete, head }
}

#[test]
fn nodes_cost_what_the_readme_says() {
    for kind in ALL {
        let server = Server::start(kind);
        let store = server.fresh();
        let other = server.store(store.name());
        assert_eq!(
            cost(&other, || other.get(hash(1)).unwrap()),
            (None, requests(2, 0, 0, 0, 0)),
            "the first use of a store"
        );
        let nodes: Vec<_> = (0..10).map(|node| (hash(node), b"node".to_vec())).collect();
        assert_eq!(cost(&store, || store.put_all(&nodes).unwrap()).1, requests(0, 10, 0, 0, 0), "put_all");
        assert_eq!(cost(&store, || store.put_all(&nodes).unwrap()).1, requests(0, 10, 0, 0, 0), "put_all again");
        assert_eq!(cost(&store, || store.put_all(&[]).unwrap()).1, requests(0, 0, 0, 0, 0), "put_all of nothing");
        assert_eq!(cost(&store, || store.get(hash(1)).unwrap()).1, requests(1, 0, 0, 0, 0), "get");
        assert_eq!(cost(&store, || store.contains(hash(1)).unwrap()).1, requests(0, 0, 0, 0, 1), "contains");
        assert_eq!(cost(&store, || store.stored(hash(1)).unwrap()).1, requests(0, 0, 0, 0, 1), "stored");
        assert_eq!(cost(&store, || store.sync(&[hash(1), hash(2)]).unwrap()).1, requests(0, 0, 0, 0, 2), "sync");
        // A node takes one GET. What does not have its hash is asked for once more, as the answer may have been garbled.
        assert_eq!(
            cost(&store, || store.refresh(hash(1)).unwrap()),
            (true, requests(2, 1, 0, 0, 0)),
            "refresh of no node"
        );
        assert_eq!(cost(&store, || store.replace(hash(1), b"node").unwrap()).1, requests(0, 1, 0, 0, 0), "replace");
        assert_eq!(
            cost(&store, || ObjectBackend::list(&store, None).unwrap().len()),
            (10, requests(0, 0, 1, 0, 0)),
            "list"
        );
        let hold = || drop((store.hold().unwrap(), store.hold().unwrap()));
        assert_eq!(cost(&store, hold).1, requests(1, 1, 0, 1, 0), "hold, twice");
        let sweep = || drop(store.sweep().unwrap());
        assert_eq!(cost(&store, sweep).1, requests(1, 2, 1, 0, 0), "sweep");
        let sweep = store.sweep().unwrap();
        let remove = || store.remove_all(&sweep, &[&[hash(1), hash(99)], &[hash(2)]]).unwrap();
        assert_eq!(cost(&store, remove), (vec![true, false, true], requests(0, 0, 0, 2, 3)), "remove_all");
    }
}

#[test]
fn names_cost_what_the_readme_says() {
    for kind in ALL {
        let server = Server::start(kind);
        let store = server.fresh();
        assert_eq!(cost(&store, || store.read("a").unwrap()), (None, requests(2, 0, 0, 0, 0)), "read of none");
        assert_eq!(
            cost(&store, || store.create("a", hash(1)).unwrap()),
            (SwapOutcome::Done, requests(2, 1, 0, 0, 0)),
            "create"
        );
        let (first, read) = cost(&store, || store.read("a").unwrap().unwrap());
        assert_eq!(read, requests(2, 0, 0, 0, 0), "read of one that never moved");
        let swap = || store.swap("a", &first.version, hash(2)).unwrap();
        assert_eq!(cost(&store, swap), (SwapOutcome::Done, requests(0, 1, 0, 0, 0)), "swap");
        let (second, read) = cost(&store, || store.read("a").unwrap().unwrap());
        assert_eq!(read, requests(1, 0, 0, 0, 0), "read of one that moved");
        assert_eq!(
            cost(&store, swap),
            (SwapOutcome::Moved(Some(second.clone())), requests(1, 1, 0, 0, 0)),
            "a lost swap"
        );

        for name in ["b", "c"] {
            assert_eq!(store.create(name, hash(1)).unwrap(), SwapOutcome::Done);
        }
        let list = || HeadBackend::list(&store).unwrap().len();
        assert_eq!(cost(&store, list), (3, requests(1 + 2 * 2, 0, 1, 0, 0)), "list of all that is new");
        assert_eq!(cost(&store, list), (3, requests(0, 0, 1, 0, 0)), "list of nothing new");
        assert_eq!(store.swap("a", &second.version, hash(3)).unwrap(), SwapOutcome::Done);
        assert_eq!(cost(&store, list), (3, requests(1, 0, 1, 0, 0)), "list after a move");

        let third = store.read("a").unwrap().unwrap();
        let remove = || store.remove("a", &third.version, &json!({ "thread": "a" })).unwrap();
        assert_eq!(cost(&store, remove), (SwapOutcome::Done, requests(0, 2, 0, 1, 0)), "remove");
        let records = || store.records().unwrap().readable.len();
        assert_eq!(cost(&store, records), (1, requests(1, 0, 2, 0, 0)), "records");
        assert_eq!(cost(&store, records), (1, requests(0, 0, 2, 0, 0)), "records of nothing new");
        assert_eq!(cost(&store, || store.newest("a").unwrap().is_some()), (true, requests(1, 0, 0, 0, 0)), "newest");
        assert_eq!(cost(&store, || store.forget(&["a"]).unwrap()), (1, requests(3, 1, 0, 0, 0)), "forget");
    }
}

/// As a gateway has it: so many names, most of which have not moved since the last look.
#[test]
fn ten_thousand_names_are_listed_by_pages() {
    const NAMES: u64 = 10_000;
    let server = Server::start(Kind::SeaweedFs);
    let store = server.fresh();
    std::thread::scope(|scope| {
        for part in 0..16 {
            let store = &store;
            scope.spawn(move || {
                for number in (part..NAMES).step_by(16) {
                    assert_eq!(store.create(&format!("thread-{number:05}"), hash(number)).unwrap(), SwapOutcome::Done);
                }
            });
        }
    });
    let all: Vec<(String, NodeHash)> = (0..NAMES).map(|number| (format!("thread-{number:05}"), hash(number))).collect();
    let other = server.store(store.name());
    let (listed, cold) = cost(&other, || HeadBackend::list(&other).unwrap());
    assert!(listed == all, "{} of {NAMES}", listed.len());
    assert_eq!(
        cold,
        requests(1 + NAMES, 0, 10 + 1, 0, 0),
        "each one is read, and what is left of names that were removed"
    );
    let (listed, warm) = cost(&other, || HeadBackend::list(&other).unwrap());
    assert!(listed == all, "{} of {NAMES}", listed.len());
    assert_eq!(warm, requests(0, 0, 10, 0, 0), "nothing is read again");

    let moved = store.read("thread-00007").unwrap().unwrap();
    assert_eq!(store.swap("thread-00007", &moved.version, hash(70_007)).unwrap(), SwapOutcome::Done);
    let removed = store.read("thread-00008").unwrap().unwrap();
    assert_eq!(store.remove("thread-00008", &removed.version, &json!({})).unwrap(), SwapOutcome::Done);
    let (listed, warm) = cost(&other, || HeadBackend::list(&other).unwrap());
    assert_eq!((listed.len() as u64, &listed[7].1), (NAMES - 1, &hash(70_007)));
    assert_eq!(warm, requests(1, 0, 10, 0, 0), "what moved is read");
}

#[test]
fn stores_on_same_server_are_isolated() {
    for kind in ALL {
        let server = Server::start(kind);
        // One prefix is the beginning of the other.
        let (one, two) = (server.store(&server.url("a")), server.store(&server.url("ab")));
        for store in [&one, &two] {
            assert!(store.init().unwrap());
        }
        one.put_all(&[(hash(1), b"one".to_vec())]).unwrap();
        assert_eq!(one.create("x", hash(1)).unwrap(), SwapOutcome::Done);
        let version = one.read("x").unwrap().unwrap().version;
        assert_eq!(two.create("x", hash(2)).unwrap(), SwapOutcome::Done, "a name of its own");
        assert_eq!(one.remove("x", &version, &json!({})).unwrap(), SwapOutcome::Done);
        assert_eq!(HeadBackend::list(&one).unwrap(), []);
        assert_eq!(HeadBackend::list(&two).unwrap(), [("x".to_owned(), hash(2))]);
        assert_eq!((two.get(hash(1)).unwrap(), ObjectBackend::list(&two, None).unwrap()), (None, vec![]));
        assert_eq!((two.newest("x").unwrap(), two.records().unwrap().readable), (None, vec![]));
        let held = one.hold().unwrap();
        drop(two.sweep().unwrap());
        drop(held);
    }
}
