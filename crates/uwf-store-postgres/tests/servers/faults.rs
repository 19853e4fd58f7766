//! What is said when a store cannot be used, and what is not lost then.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use json_cas::{
    HeadBackend, HeadsError, NodeHash, ObjectBackend as _, RemoteError, RemoteFault, StoreError, SwapOutcome,
};
use tempfile::TempDir;
use uwf_store_postgres::PostgresStore;
use uwf_testing::processes::signal;

use crate::server::Server;
use crate::worker;

const NODE: NodeHash = NodeHash::from_u64(1);

/// What the first use of a store fails with.
fn refused(url: &str) -> RemoteError {
    refused_by(&PostgresStore::open(url).unwrap())
}

fn refused_by(store: &PostgresStore) -> RemoteError {
    match HeadBackend::list(store) {
        Err(HeadsError::Remote(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Fault and message without the store's name, which has the port.
fn said(error: &RemoteError) -> (RemoteFault, &str) {
    (error.fault, error.message.as_str())
}

#[test]
fn schema_without_store_is_rejected_with_reason() {
    let server = Server::start();
    let error = refused(&server.url("team"));
    assert_eq!(
        error.to_string(),
        format!(
            "the store postgres://ann@127.0.0.1:{}/work?schema=team: \
             cannot list the heads: the schema team has no tables of a store",
            server.port
        )
    );
    assert_eq!(error.fault, RemoteFault::NotReady);
    // Made by hand, for somebody who may not make any.
    server.sql("work", "create schema team authorization ann");
    assert_eq!(refused(&server.url("team")).fault, RemoteFault::NotReady);
    let store = PostgresStore::open(&server.url("team")).unwrap();
    assert!(store.init().unwrap());
    assert!(!store.init().unwrap(), "it is ready already");
    assert_eq!(HeadBackend::list(&store).unwrap(), []);

    server.sql("work", "update team.meta set version = 3");
    let newer = "the tables in team have version 3, and this program supports up to version 2";
    assert_eq!(
        said(&refused(&server.url("team"))),
        (RemoteFault::Newer, format!("cannot list the heads: {newer}").as_str())
    );
    assert_eq!(
        said(&store.init().unwrap_err()),
        (RemoteFault::Newer, format!("cannot make the store ready: {newer}").as_str())
    );
    server.sql("work", "update team.meta set version = 0");
    assert_eq!(
        said(&refused(&server.url("team"))),
        (
            RemoteFault::NotReady,
            "cannot list the heads: the tables in team have version 0, and this program needs version 2"
        )
    );
    let foreign = |schema: &str| {
        let other = format!("the schema {schema} has other tables than a uwf store");
        assert_eq!(
            said(&PostgresStore::open(&server.url(schema)).unwrap().init().unwrap_err()),
            (RemoteFault::Foreign, format!("cannot make the store ready: {other}").as_str())
        );
        other
    };
    server.sql("work", "update team.meta set version = 2, format = 'else'");
    assert_eq!(
        said(&refused(&server.url("team"))),
        (RemoteFault::Foreign, format!("cannot list the heads: {}", foreign("team")).as_str())
    );
    server.sql(
        "work",
        "create schema shop authorization ann; create table shop.meta (id int); alter table shop.meta owner to ann",
    );
    assert_eq!(
        said(&refused(&server.url("shop"))),
        (RemoteFault::Foreign, format!("cannot list the heads: {}", foreign("shop")).as_str())
    );
    server.sql("work", "create schema blog authorization ann; create table blog.posts (id int)");
    foreign("blog");
    assert_eq!(
        server.sql("work", "select count(*) from pg_tables where schemaname = 'blog'"),
        ["1"],
        "it is left alone"
    );
}

#[test]
fn process_killed_while_creating_tables_leaves_nothing() {
    if let Some((_, url)) = worker::part() {
        worker::tell("ready");
        PostgresStore::open(&url).unwrap().init().unwrap();
        return;
    }
    let server = Server::start();
    // Makes the second to last thing that is made wait, so that the child is killed between two of them.
    server.sql(
        "work",
        "create function wait() returns event_trigger language plpgsql as
            'begin if (select count(*) from pg_event_trigger_ddl_commands() where object_identity like ''%heads_there'') > 0
             then perform pg_sleep(60); end if; end';
         create event trigger wait on ddl_command_end execute function wait()",
    );
    let test = "faults::process_killed_while_creating_tables_leaves_nothing";
    let mut child = worker::child(test, "makes", &server.url("half")).spawn().unwrap();
    assert_eq!(worker::told(&mut child), "ready");
    let waiting = "select pid from pg_stat_activity where wait_event = 'PgSleep'";
    let begun = Instant::now();
    while server.sql("work", waiting).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it does not make any tables");
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    server.sql("work", "drop event trigger wait");
    server.sql("work", "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'");
    assert_eq!(refused(&server.url("half")).fault, RemoteFault::NotReady);
    assert!(PostgresStore::open(&server.url("half")).unwrap().init().unwrap());
    drop(server.store("half").hold().unwrap());
}

#[test]
fn missing_server_or_database_is_reported() {
    let server = Server::start();
    let error = refused(&server.url("x").replace("/work", "/nowhere"));
    assert_eq!(
        said(&error),
        (RemoteFault::Missing, "cannot list the heads: the server says: database \"nowhere\" does not exist (3D000)")
    );
    let begun = Instant::now();
    let error = refused("postgres://ann@127.0.0.1:1/work");
    assert_eq!(error.fault, RemoteFault::Unreachable);
    assert!(error.message.contains("Connection refused") && error.message.ends_with(" times)"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let error = refused("postgres://ann@nobody.invalid/work");
    assert_eq!(error.fault, RemoteFault::Unreachable);
    assert!(error.message.starts_with("cannot list the heads: the host nobody.invalid cannot be found: "), "{error}");
}

/// What a child with some variables of libpq's sees.
fn seen_with(server: &Server, url: &str, variables: &[(&str, &Path)]) -> String {
    let test = "faults::credentials_are_taken_from_where_libpq_takes_them";
    let mut child = worker::child(test, "lists", url);
    // There may be a file of passwords at home.
    child.env("HOME", server.socket());
    variables.iter().for_each(|(name, value)| {
        child.env(name, value);
    });
    worker::outcome(child.spawn().unwrap())
}

#[test]
fn credentials_are_taken_from_where_libpq_takes_them() {
    if let Some((_, url)) = worker::part() {
        let store = PostgresStore::open(&url).unwrap();
        return worker::tell(match HeadBackend::list(&store) {
            Ok(heads) => format!("{} heads", heads.len()),
            Err(HeadsError::Remote(error)) => format!("{:?}: {}", error.fault, error.message),
            Err(error) => panic!("{error}"),
        });
    }
    let server = Server::start();
    server.store("keys");
    server.sql("work", "create role bob login password 'w0rd'; grant usage on schema keys to bob; grant select on all tables in schema keys to bob");
    let url = server.url("keys").replace("ann@", "bob@");
    let with_password = |password: &str| server.url("keys").replace("ann@", &format!("bob:{password}@"));
    let seen = |variables: &[(&str, &Path)]| seen_with(&server, &url, variables);
    let wrong =
        "Denied: cannot list the heads: the server says: password authentication failed for user \"bob\" (28P01)";

    assert_eq!(seen(&[]), "Denied: cannot list the heads: invalid configuration: password missing");
    assert_eq!(seen(&[("PGPASSWORD", Path::new("w0rd"))]), "0 heads");
    assert_eq!(seen(&[("PGPASSWORD", Path::new("no"))]), wrong);
    assert_eq!(seen_with(&server, &with_password("w0rd"), &[("PGPASSWORD", Path::new("no"))]), "0 heads");
    assert_eq!(seen_with(&server, &with_password("no"), &[]), wrong);

    let dir = TempDir::new().unwrap();
    let file = dir.path().join("passwords");
    fs::write(&file, format!("elsewhere:*:*:*:no\n127.0.0.1:{}:work:bob:w0rd\n", server.port)).unwrap();
    fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    assert_eq!(
        seen(&[("PGPASSFILE", &file)]),
        format!(
            "Denied: cannot list the heads: invalid configuration: password missing \
             ({} was not read: others may read it; `chmod 600` takes that from them)",
            file.display()
        )
    );
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(seen(&[("PGPASSFILE", &file)]), "0 heads");
    fs::rename(&file, dir.path().join(".pgpass")).unwrap();
    assert_eq!(seen(&[("HOME", dir.path())]), "0 heads");

    let socket = format!("postgres://bob@:{}/work?schema=keys&host={}", server.port, server.socket().display());
    assert_eq!(seen_with(&server, &socket, &[("PGPASSWORD", Path::new("w0rd"))]), "0 heads");
    let from_environment = url.replace("bob@", "");
    let variables = [("PGUSER", Path::new("bob")), ("PGPASSWORD", Path::new("w0rd"))];
    assert_eq!(seen_with(&server, &from_environment, &variables), "0 heads");

    // In, but not allowed to do it.
    let store = PostgresStore::open(&with_password("w0rd")).unwrap();
    let Err(StoreError::Remote(error)) = store.put_all(&[(NODE, vec![1])]) else { panic!("it was stored") };
    let what = "cannot store 1 nodes: the server says: permission denied for table nodes (42501)";
    assert_eq!(said(&error), (RemoteFault::Denied, what));
    server.sql("work", "revoke usage on schema keys from bob");
    let error = refused(&with_password("w0rd"));
    let what = "cannot list the heads: the server says: permission denied for schema keys (42501)";
    assert_eq!(said(&error), (RemoteFault::Denied, what));
    let error = PostgresStore::open(&with_password("w0rd").replace("=keys", "=own")).unwrap().init().unwrap_err();
    let what = "cannot make the store ready: the server says: permission denied for database work (42501)";
    assert_eq!(said(&error), (RemoteFault::Denied, what));
    assert!(!format!("{store:?} {error:?} {}", store.name()).contains("w0rd"));
}

#[test]
fn server_stop_during_transaction_loses_nothing() {
    let mut server = Server::start();
    let store = server.store("stops");
    assert_eq!(store.create("a", NodeHash::from_u64(0)).unwrap(), SwapOutcome::Done);
    let version = store.read("a").unwrap().unwrap().version;
    for (number, signal) in [(2, "INT"), (3, "QUIT")] {
        let lock = server.lock("work", "lock table stops.nodes, stops.heads in exclusive mode");
        thread::scope(|scope| {
            let node = NodeHash::from_u64(number);
            let store = &store;
            let putting = scope.spawn(move || store.put_all(&[(node, b"one".to_vec())]));
            let moving = scope.spawn(|| store.swap("a", &version, NODE));
            thread::sleep(Duration::from_millis(300));
            assert!(!putting.is_finished() && !moving.is_finished());
            server.stop(signal);
            server.run();
            assert_eq!(putting.join().unwrap().unwrap().len(), 1);
            let moved = moving.join().unwrap().unwrap();
            if signal == "INT" {
                assert_eq!(moved, SwapOutcome::Done);
            }
            assert!(store.contains(node).unwrap());
        });
        drop(lock);
    }
    assert_eq!(store.read("a").unwrap().unwrap().hash, NODE);
    server.stop("INT");
    assert_eq!(refused_by(&store).fault, RemoteFault::Unreachable);
    server.run();
    assert_eq!(store.read("a").unwrap().unwrap().hash, NODE, "the same value works again");
}

#[test]
fn hanging_server_is_abandoned_after_timeout() {
    let server = Server::start();
    server.store("hangs");
    let store = PostgresStore::open(&(server.url("hangs") + "&statement_timeout=700&connect_timeout=1")).unwrap();
    store.put_all(&[(NODE, b"one".to_vec())]).unwrap();

    // A statement that waits: the server itself ends it.
    let lock = server.lock("work", "lock table hangs.nodes");
    let Err(StoreError::Remote(error)) = store.get(NODE) else { panic!("it was read") };
    let what = "cannot read node 0000000000001: the server says: canceling statement due to statement timeout (57014)";
    assert_eq!(said(&error), (RemoteFault::Unreachable, what));
    drop(lock);

    // A connection whose other end is silent: another one is made.
    let backends = server.sql("work", "select pid from pg_stat_activity where usename = 'ann'");
    let signal_all = |name: &str| backends.iter().for_each(|pid| signal(pid, name));
    signal_all("STOP");
    assert_eq!(store.get(NODE).unwrap().unwrap(), b"one");

    // Nobody answers at all.
    let store = PostgresStore::open(&(server.url("hangs") + "&statement_timeout=700&connect_timeout=1")).unwrap();
    server.signal("STOP");
    let begun = Instant::now();
    let error = refused_by(&store);
    assert_eq!(error.fault, RemoteFault::Unreachable);
    assert!(
        error.message.starts_with("cannot list the heads: the server did not answer within 1 s (tried "),
        "{error}"
    );
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    server.signal("CONT");
    signal_all("CONT");
    assert_eq!(store.get(NODE).unwrap().unwrap(), b"one");
}

#[test]
fn unsuitable_database_is_rejected() {
    let server = Server::start();
    server.sql("postgres", "create database latin owner ann template template0 encoding 'LATIN1'");
    let store = PostgresStore::open(&server.url("x").replace("/work", "/latin")).unwrap();
    let what = "cannot make the store ready: the encoding of the database is LATIN1 and must be UTF8";
    assert_eq!(said(&store.init().unwrap_err()), (RemoteFault::Unfit, what));
}

#[test]
fn database_settings_do_not_change_statement_meaning() {
    let server = Server::start();
    server.sql(
        "postgres",
        "alter database work set default_transaction_isolation = 'serializable';
         alter database work set synchronous_commit = off; alter database work set search_path = 'pg_catalog'",
    );
    let store = server.store("plain");
    assert_eq!(store.create("a", NODE).unwrap(), SwapOutcome::Done);
    drop(store);
    // Connections that are ended while nobody uses them, also one that holds, are made again.
    server.sql("postgres", "alter database work set idle_session_timeout = 200");
    let idle = PostgresStore::open(&server.url("plain")).unwrap();
    let _hold = idle.hold().unwrap();
    let head = idle.read("a").unwrap().unwrap();
    thread::sleep(Duration::from_millis(600));
    assert_eq!(server.sql("work", "select count(*) from pg_stat_activity where application_name = 'uwf'"), ["0"]);
    assert_eq!(idle.swap("a", &head.version, NodeHash::from_u64(2)).unwrap(), SwapOutcome::Done);

    server.sql("postgres", "alter database work set default_transaction_read_only = on");
    let store = PostgresStore::open(&server.url("plain")).unwrap();
    let Err(HeadsError::Remote(error)) = store.create("b", NODE) else { panic!("it was created") };
    let what = "cannot create head b: the server says: cannot execute INSERT in a read-only transaction (25006)";
    assert_eq!(said(&error), (RemoteFault::Failed, what));
}
