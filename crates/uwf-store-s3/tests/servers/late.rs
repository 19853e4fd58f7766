//! A request that arrives late, as that of a machine that stood still: what it finds has changed, and it must not undo it.

use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use json_cas::{HeadBackend, HeadsError, NodeHash, RemovalJournal, SwapOutcome};
use parking_lot::Mutex;
use serde_json::{Value, json};
use uwf_store_s3::S3Store;

use crate::proxy::{Fate, Proxy};
use crate::servers::{Kind, Server};

fn hash(value: u64) -> NodeHash {
    NodeHash::from_u64(value)
}

fn record(number: u64) -> Value {
    json!({ "thread": "a", "number": number })
}

fn create(store: &S3Store, to: u64) {
    assert_eq!(store.create("a", hash(to)).unwrap(), SwapOutcome::Done);
}

fn remove(store: &S3Store, number: u64) {
    let version = store.read("a").unwrap().unwrap().version;
    assert_eq!(store.remove("a", &version, &record(number)).unwrap(), SwapOutcome::Done);
}

fn forget(store: &S3Store) {
    assert_eq!(store.forget(&["a"]).unwrap(), 1);
}

/// A store whose first request of a kind arrives only after others did something.
struct Late {
    store: S3Store,
    _proxy: Proxy,
    /// Told when the request after that one arrives.
    next: Receiver<()>,
}

/// What becomes of the request after the late one is `then`.
fn late(
    server: &Server,
    store: &S3Store,
    what: &str,
    then: Fate,
    others: impl Fn(&S3Store) + Send + Sync + 'static,
) -> Late {
    let (method, key) = what.split_once(' ').unwrap();
    let line = format!("{method} {}", server.path(store, key));
    let (other, met) = (server.store(store.name()), Mutex::new(0));
    let (tell, next) = mpsc::channel();
    let proxy = Proxy::start(&server.endpoint(), Duration::ZERO, move |passing| {
        let mut met = met.lock();
        if *met > 0 {
            *met += 1;
        } else if passing.line == line {
            *met = 1;
            others(&other);
        }
        if *met != 2 {
            return Fate::Passes;
        }
        // Nobody may be waiting for it.
        let _ = tell.send(());
        then
    });
    let variables = server.environment_at(&proxy.endpoint());
    Late { store: S3Store::open_with(store.name(), variables).unwrap(), _proxy: proxy, next }
}

/// Nothing is alive, and nothing comes back by looking.
fn is_gone(store: &S3Store, newest: Option<Value>) {
    assert_eq!((store.read("a").unwrap(), HeadBackend::list(store).unwrap()), (None, vec![]));
    assert_eq!(store.newest("a").unwrap(), newest);
    assert_eq!(store.records().unwrap().readable, Vec::from_iter(newest));
}

fn is_at(store: &S3Store, head: u64) {
    assert_eq!(store.read("a").unwrap().map(|head| head.hash), Some(hash(head)));
    assert_eq!(HeadBackend::list(store).unwrap(), [("a".to_owned(), hash(head))]);
    assert_eq!((store.newest("a").unwrap(), store.records().unwrap().readable), (None, vec![]));
}

type Look = (fn(&S3Store), &'static str);

/// Who comes across the waste of a creator that came late, and what that one is told at last: once a whole life has passed since,
/// nobody can tell whether it created the one before.
const LOOKS: [Look; 3] = [
    (|store| assert_eq!(HeadBackend::list(store).unwrap(), []), "a was removed and cannot be created again"),
    (|store| assert_eq!(store.read("a").unwrap(), None), "a was removed and cannot be created again"),
    (
        |store| {
            forget(store);
            create(store, 3);
            is_at(store, 3);
            remove(store, 1);
        },
        "it did not report whether a was changed, and other processes have changed it since: check its head",
    ),
];

#[test]
fn a_late_creation_brings_no_name_back() {
    for kind in [Kind::Moto, Kind::SeaweedFs] {
        let server = Server::start(kind);

        let store = server.fresh();
        let creator = late(&server, &store, "PUT heads/a@1", Fate::Passes, |other| {
            create(other, 1);
            remove(other, 1);
        });
        assert!(matches!(creator.store.create("a", hash(2)), Err(HeadsError::Removed { .. })));
        is_gone(&store, Some(record(1)));

        // The same, and whoever created it has no time to notice.
        let begin = |_| {
            let store = server.fresh();
            let late = late(&server, &store, "PUT heads/a@1", Fate::Hangs, |other| {
                create(other, 1);
                remove(other, 1);
            });
            (store, late)
        };
        let cases: Vec<(S3Store, Late)> = LOOKS.iter().map(begin).collect();
        thread::scope(|scope| {
            for ((store, Late { store: creator, next, .. }), (look, told)) in cases.iter().zip(LOOKS) {
                scope.spawn(move || {
                    let error = creator.create("a", hash(2)).unwrap_err().to_string();
                    assert!(error.ends_with(told), "{error}");
                });
                next.recv_timeout(Duration::from_secs(20)).unwrap();
                look(store);
                is_gone(store, Some(record(1)));
            }
        });

        let store = server.fresh();
        let creator = late(&server, &store, "PUT heads/a@1", Fate::Passes, |other| {
            create(other, 1);
            remove(other, 1);
            forget(other);
            create(other, 3);
        });
        let SwapOutcome::Moved(Some(there)) = creator.store.create("a", hash(2)).unwrap() else {
            panic!("it created what is there")
        };
        assert_eq!(there.hash, hash(3));
        is_at(&store, 3);

        let store = server.fresh();
        let creator = late(&server, &store, "PUT heads/a@1", Fate::Passes, |other| {
            create(other, 1);
            remove(other, 1);
            forget(other);
        });
        assert_eq!(creator.store.create("a", hash(2)).unwrap(), SwapOutcome::Done, "it is forgotten");
        is_at(&store, 2);
    }
}

#[test]
fn a_late_removal_takes_no_later_life() {
    for kind in [Kind::Moto, Kind::SeaweedFs] {
        let server = Server::start(kind);
        // What the removal has still to do when others have tidied up after it, forgotten the name and created it again.
        for what in ["PUT history/a.json", "DELETE heads/a@1"] {
            let store = server.fresh();
            create(&store, 1);
            let remover = late(&server, &store, what, Fate::Passes, |other| {
                assert_eq!(other.read("a").unwrap(), None, "it is removed from its first write on");
                forget(other);
                create(other, 2);
            });
            remove(&remover.store, 1);
            is_at(&store, 2);
            remove(&store, 2);
            is_gone(&store, Some(record(2)));
        }

        // One that has not been made yet is not made any more.
        let store = server.fresh();
        create(&store, 1);
        let version = store.read("a").unwrap().unwrap().version;
        let remover = late(&server, &store, "PUT heads/a@1", Fate::Passes, |other| {
            remove(other, 1);
            forget(other);
            create(other, 2);
        });
        let SwapOutcome::Moved(Some(there)) = remover.store.remove("a", &version, &record(9)).unwrap() else {
            panic!("it was removed")
        };
        assert_eq!(there.hash, hash(2));
        is_at(&store, 2);
    }
}
