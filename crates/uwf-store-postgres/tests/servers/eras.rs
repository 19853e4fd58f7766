//! Two holds have an era in common only if nothing can be gone that was there under the first.

use json_cas::ObjectBackend as _;
use uwf_store_postgres::PostgresStore;

use crate::server::Server;

fn era(store: &PostgresStore) -> String {
    store.hold().unwrap().era().unwrap().to_owned()
}

#[test]
fn era_ends_on_sweep_new_table_or_restart() {
    let mut server = Server::start();
    let (store, other) = (server.store("store"), PostgresStore::open(&server.url("store")).unwrap());
    let first = era(&store);
    assert_eq!(era(&other), first, "nobody swept");

    drop(other.sweep().unwrap());
    let swept = era(&store);
    assert_ne!(swept, first);

    server.sql("postgres", "select 1");
    drop(store);
    drop(other);
    server.stop("INT");
    server.run();
    let again = era(&PostgresStore::open(&server.url("store")).unwrap());
    assert_ne!(again, swept, "it may be another server, which lacks something");
}
