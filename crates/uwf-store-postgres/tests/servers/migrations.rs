//! Tables of an earlier version become those of this one.

use std::sync::Arc;

use json_cas::{
    HeadBackend as _, HeadsError, NodeDraft, NodeHash, ObjectBackend as _, RemoteFault, Store, SwapOutcome,
};
use serde_json::json;
use uwf_store_postgres::PostgresStore;

use crate::server::Server;

/// The tables as the first version made them.
const FIRST: &str = include_str!("../../src/migrations/1.sql");

#[test]
fn first_version_tables_keep_data_and_follow_chains() {
    let server = Server::start();
    server.sql(
        "work",
        &format!(
            "create schema old authorization ann; set role ann; set search_path to old; {FIRST};
             insert into meta (format, version) values ('uwf-store', 1);
             insert into nodes (hash, bytes) values (7, 'a node');
             insert into heads (name, hash, writers) values ('main', 7, '{{}}')"
        ),
    );
    let store = PostgresStore::open(&server.url("old")).unwrap();
    match store.read("main") {
        Err(HeadsError::Remote(error)) => {
            assert_eq!(error.fault, RemoteFault::NotReady);
            assert!(error.message.contains("have version 1, and this program needs version 2"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    assert!(store.init().unwrap());
    assert!(!store.init().unwrap(), "there is nothing more to do");
    let head = store.read("main").unwrap().unwrap();
    assert_eq!(store.get(head.hash).unwrap().unwrap(), b"a node");
    assert_eq!(store.chain(head.hash, 9).unwrap(), [(head.hash, b"a node".to_vec())]);

    let nodes = Store::new(Arc::new(store.clone()));
    let links = nodes.put_schema(json!({"type": "object"})).unwrap();
    let link = |prev: NodeHash| nodes.put(&NodeDraft::new(links, json!({ "prev": prev })).unwrap()).unwrap();
    let newest = link(link(head.hash));
    assert_eq!(store.chain(newest, 9).unwrap().len(), 3, "down to what was there before");
    assert_eq!(store.swap("main", &head.version, newest).unwrap(), SwapOutcome::Done);
}
