//! What was done, although the answer was lost, is neither done twice nor reported as lost.

use json_cas::{
    HeadBackend, HeadsError, NodeHash, ObjectBackend as _, ObjectPutOutcome, RemovalJournal as _, SwapOutcome,
};
use serde_json::json;
use uwf_store_postgres::PostgresStore;

use crate::proxy::Proxy;
use crate::server::Server;

const ONE: NodeHash = NodeHash::from_u64(1);
const TWO: NodeHash = NodeHash::from_u64(2);
const THREE: NodeHash = NodeHash::from_u64(3);

/// A store behind a proxy, and one that goes straight to the server.
fn stores(server: &Server, schema: &str) -> (Proxy, PostgresStore, PostgresStore) {
    let direct = server.store(schema);
    let proxy = Proxy::to(server.port);
    let url = server.url(schema).replace(&server.port.to_string(), &proxy.port.to_string());
    let behind = PostgresStore::open(&url).unwrap();
    // It has a connection from now on, so that the next answer is that of a statement.
    assert_eq!(HeadBackend::list(&behind).unwrap(), []);
    (proxy, behind, direct)
}

#[test]
fn write_with_lost_answer_happens_once_and_succeeds() {
    let server = Server::start();
    let (proxy, store, _) = stores(&server, "lost");

    proxy.lose_an_answer(|| {});
    assert_eq!(store.put_all(&[(ONE, b"one".to_vec())]).unwrap(), [ObjectPutOutcome::Present]);
    assert!(proxy.has_lost());

    proxy.lose_an_answer(|| {});
    assert_eq!(store.create("a", ONE).unwrap(), SwapOutcome::Done);
    assert!(proxy.has_lost());
    let first = store.read("a").unwrap().unwrap();

    proxy.lose_an_answer(|| {});
    assert_eq!(store.swap("a", &first.version, TWO).unwrap(), SwapOutcome::Done);
    assert!(proxy.has_lost());
    let second = store.read("a").unwrap().unwrap();
    assert_eq!(second.hash, TWO);

    proxy.lose_an_answer(|| {});
    assert_eq!(store.remove("a", &second.version, &json!("end")).unwrap(), SwapOutcome::Done);
    assert!(proxy.has_lost());
    assert_eq!(store.records().unwrap().readable, [json!("end")]);

    let hold = store.hold().unwrap();
    proxy.lose_an_answer(|| {});
    assert_eq!(store.create("b", ONE).unwrap(), SwapOutcome::Done, "also under a hold");
    assert!(proxy.has_lost());
    drop(hold);
    proxy.lose_an_answer(|| {});
    drop(store.hold().unwrap());
    assert!(proxy.has_lost());
    drop(store.sweep().unwrap());
}

#[test]
fn lost_write_is_recognized_after_later_writes() {
    let server = Server::start();
    let (proxy, store, other) = stores(&server, "since");
    let moved = |name: &'static str, to: NodeHash| {
        let other = other.clone();
        move || {
            let head = other.read(name).unwrap().unwrap();
            assert_eq!(other.swap(name, &head.version, to).unwrap(), SwapOutcome::Done);
        }
    };
    proxy.lose_an_answer(moved("a", TWO));
    assert_eq!(store.create("a", ONE).unwrap(), SwapOutcome::Done);
    let head = store.read("a").unwrap().unwrap();
    assert_eq!(head.hash, TWO);

    proxy.lose_an_answer(moved("a", ONE));
    assert_eq!(store.swap("a", &head.version, THREE).unwrap(), SwapOutcome::Done, "it was, and has moved on");
    let head = store.read("a").unwrap().unwrap();
    assert_eq!(head.hash, ONE);

    let remover = other.clone();
    proxy.lose_an_answer(move || {
        let head = remover.read("a").unwrap().unwrap();
        assert_eq!(remover.remove("a", &head.version, &json!("other")).unwrap(), SwapOutcome::Done);
    });
    assert_eq!(store.swap("a", &head.version, TWO).unwrap(), SwapOutcome::Done, "it was, before the name was removed");
    assert!(matches!(store.create("a", ONE), Err(HeadsError::Removed { .. })));
}

#[test]
fn losing_write_is_reported_despite_lost_answer() {
    let server = Server::start();
    let (proxy, store, other) = stores(&server, "losing");
    assert_eq!(other.create("a", ONE).unwrap(), SwapOutcome::Done);
    let stale = other.read("a").unwrap().unwrap();
    assert_eq!(other.swap("a", &stale.version, TWO).unwrap(), SwapOutcome::Done);
    let now = other.read("a").unwrap();
    proxy.lose_an_answer(|| {});
    assert_eq!(
        store.swap("a", &stale.version, TWO).unwrap(),
        SwapOutcome::Moved(now.clone()),
        "the same hash is not the same move"
    );
    proxy.lose_an_answer(|| {});
    assert_eq!(store.create("a", TWO).unwrap(), SwapOutcome::Moved(now));
    assert!(proxy.has_lost());
}
