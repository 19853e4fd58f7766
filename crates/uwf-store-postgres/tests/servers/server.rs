//! A PostgreSQL server of the test's own, on loopback and on a socket, which ends with the test.

use std::path::{Path, PathBuf};

use tokio_postgres::{NoTls, SimpleQueryMessage};
use uwf_store_postgres::PostgresStore;
use uwf_testing::postgres::PostgresServer;

/// Who may come in: the superuser by the socket, `ann` as she is, everybody else with a password.
const WHO: &str = "local all postgres trust\nlocal all all scram-sha-256\n\
    host all ann 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n";

/// A database `work` that belongs to `ann`, whose password is `s3cret`.
pub(crate) struct Server {
    server: PostgresServer,
    pub port: u16,
}

/// A transaction that is neither committed nor rolled back.
pub(crate) struct Transaction {
    _client: tokio_postgres::Client,
    _runtime: tokio::runtime::Runtime,
}

impl Server {
    pub(crate) fn start() -> Server {
        Server::with(&[], WHO, |_| {})
    }

    /// A server with more settings, who may come in, and files that its data directory is to have.
    pub(crate) fn with(settings: &[&str], who: &str, files: impl FnOnce(&Path)) -> Server {
        let server = PostgresServer::with(settings, who, files);
        server.sql("postgres", "create role ann login password 's3cret'");
        server.sql("postgres", "create database work owner ann");
        Server { port: server.port(), server }
    }

    /// Starts it again after [`Server::stop`]; on the thread that made it, with which it ends.
    pub(crate) fn run(&mut self) {
        self.server.run();
    }

    pub(crate) fn log(&self) -> String {
        self.server.log()
    }

    pub(crate) fn signal(&self, name: &str) {
        self.server.signal(name);
    }

    /// Ends it: `INT` lets transactions end with an error, `QUIT` is a crash.
    pub(crate) fn stop(&mut self, name: &str) {
        self.server.stop(name);
    }

    /// What the superuser wants done, and the first column of what it answers.
    pub(crate) fn sql(&self, database: &str, statement: &str) -> Vec<String> {
        self.try_sql(database, statement).unwrap_or_else(|error| panic!("{statement}: {error:?}\n{}", self.log()))
    }

    fn try_sql(&self, database: &str, statement: &str) -> Result<Vec<String>, tokio_postgres::Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) = self.superuser(database).connect(NoTls).await?;
            tokio::spawn(connection);
            let answer = client.simple_query(statement).await?;
            let rows = answer.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("null").to_owned()),
                _ => None,
            });
            Ok(rows.collect())
        })
    }

    /// Begins a transaction of the superuser with a statement; it continues until the value is dropped.
    pub(crate) fn lock(&self, database: &str, statement: &str) -> Transaction {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let (client, connection) = self.superuser(database).connect(NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute(&format!("begin; {statement}")).await.unwrap();
            client
        });
        Transaction { _client: client, _runtime: runtime }
    }

    fn superuser(&self, database: &str) -> tokio_postgres::Config {
        let mut config = tokio_postgres::Config::new();
        config.host_path(self.socket()).port(self.port).user("postgres").dbname(database);
        config
    }

    /// The URL of a schema, for `ann`.
    pub(crate) fn url(&self, schema: &str) -> String {
        format!("postgres://ann@127.0.0.1:{}/work?schema={schema}", self.port)
    }

    /// A store that is ready.
    pub(crate) fn store(&self, schema: &str) -> PostgresStore {
        let store = PostgresStore::open(&self.url(schema)).unwrap();
        store.init().unwrap();
        store
    }

    /// The directory of its socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.server.socket()
    }
}
