//! The suites that every backend must pass, and what is particular to this one.

use std::cell::Cell;
use std::time::{Duration, Instant};

use json_cas::conformance::{heads_suite, notes_suite, objects_suite};
use json_cas::{HeadBackend, NodeHash, ObjectBackend, ObjectPutOutcome, RemovalJournal as _, StoreError, SwapOutcome};
use serde_json::json;

use crate::server::Server;

#[test]
fn database_store_passes_conformance_suites() {
    let server = Server::start();
    let made = Cell::new(0);
    let make = || {
        made.set(made.get() + 1);
        server.store(&format!("suite-{}", made.get()))
    };
    objects_suite(&|| Box::new(make()) as Box<dyn ObjectBackend>);
    heads_suite(&make);
    notes_suite(&make);
}

#[test]
fn schemas_of_same_database_are_isolated() {
    let server = Server::start();
    let (one, other) = (server.store("one"), server.store("other"));
    one.put_all(&[(NodeHash::from_u64(1), b"one".to_vec())]).unwrap();
    assert_eq!(one.create("a", NodeHash::from_u64(1)).unwrap(), SwapOutcome::Done);
    assert_eq!((ObjectBackend::list(&other, None).unwrap(), HeadBackend::list(&other).unwrap()), (vec![], vec![]));
    assert_eq!(other.create("a", NodeHash::from_u64(2)).unwrap(), SwapOutcome::Done);
    assert_eq!(one.read("a").unwrap().unwrap().hash, NodeHash::from_u64(1));
    // Nor do they keep each other from anything.
    let _hold = one.hold().unwrap();
    drop(other.sweep().unwrap());
}

#[test]
fn ten_thousand_heads_are_listed_by_one_statement() {
    let server = Server::start();
    let store = server.store("many");
    server.sql(
        "work",
        "insert into many.heads (name, hash, writers) select 'head-' || number, number, '{}' from generate_series(1, 10000) number;
         insert into many.heads (name, record, writers) select 'gone-' || number, '{}', '{}' from generate_series(1, 50000) number;
         analyze many.heads",
    );
    let begun = Instant::now();
    let heads = HeadBackend::list(&store).unwrap();
    let took = begun.elapsed();
    assert_eq!(heads.len(), 10_000);
    assert!(heads.is_sorted());
    assert!(took < Duration::from_secs(10), "{took:?}");
    let plan =
        server.sql("work", "explain select name, hash from many.heads where record is null order by name").concat();
    assert!(plan.contains("heads_there"), "those that were removed are not looked at: {plan}");
}

#[test]
fn batch_of_any_size_is_stored_and_removed() {
    let server = Server::start();
    let store = server.store("large");
    let objects: Vec<_> = (0..25_000_u64)
        .map(|number| (NodeHash::from_u64(number << 50 | number), number.to_le_bytes().to_vec()))
        .collect();
    assert!(store.put_all(&objects).unwrap().iter().all(|put| *put == ObjectPutOutcome::Published));
    let huge = [(NodeHash::from_u64(7), vec![7; 20 << 20]), (NodeHash::from_u64(8), vec![8; 20 << 20])];
    store.put_all(&huge).unwrap();
    assert_eq!(store.get(NodeHash::from_u64(8)).unwrap().unwrap(), huge[1].1);
    let mut all = ObjectBackend::list(&store, None).unwrap();
    assert_eq!(all.len(), 25_002);
    server
        .sql("work", "insert into large.nodes (hash, bytes) select -number, '' from generate_series(1, 200000) number");
    let more = ObjectBackend::list(&store, None).unwrap();
    assert!(more.len() == 225_002 && more.is_sorted(), "{}", more.len());
    server.sql("work", "delete from large.nodes where hash between -200000 and -1");
    store.sync(&all).unwrap();
    all.push(NodeHash::from_u64(9));
    assert!(matches!(store.sync(&all), Err(StoreError::NotFound { hash }) if hash == NodeHash::from_u64(9)));
    let sweep = store.sweep().unwrap();
    let removed = store.remove_all(&sweep, &[&all]).unwrap();
    assert_eq!(removed.iter().filter(|was_there| **was_there).count(), 25_002);
}

#[test]
fn record_keeps_key_order() {
    let server = Server::start();
    let store = server.store("records");
    let record = json!({"z": "\u{0}é\n", "a": [1.0, 1e300, -0.0], "m": {"b": null, "a": true}});
    assert_eq!(store.create("a", NodeHash::from_u64(1)).unwrap(), SwapOutcome::Done);
    let version = store.read("a").unwrap().unwrap().version;
    assert_eq!(store.remove("a", &version, &record).unwrap(), SwapOutcome::Done);
    assert_eq!(store.newest("a").unwrap().unwrap().to_string(), record.to_string());
    server.sql("work", "update records.heads set record = '{' where name = 'a'");
    let records = store.records().unwrap();
    assert_eq!((records.readable.len(), records.problems.len()), (0, 1));
    assert!(records.problems[0].starts_with("the record of a is not JSON"), "{:?}", records.problems);
}
