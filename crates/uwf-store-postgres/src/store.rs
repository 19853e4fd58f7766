//! The public store: how it is opened and initialized.

use std::fmt;
use std::sync::Arc;

use json_cas::RemoteError;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

use crate::address::PostgresAddress;
use crate::fault::PostgresFailure;
use crate::gate::PostgresGate;
use crate::migrations::{MigrationOutcome, migrate};
use crate::password::PasswordSource;
use crate::persist::persist;
use crate::pool::PostgresPool;
use crate::session::{PostgresSession, TableExpectation};

/// Nodes, heads and their journal in one schema of a PostgreSQL database.
///
/// The store is cheap to create and to clone, and connects on first use. Its methods block; they panic when called from asynchronous code
/// other than `spawn_blocking`. It starts no threads. After a fork, create another store in the child.
#[derive(Clone)]
pub struct PostgresStore {
    pub(crate) inner: Arc<PostgresStoreInner>,
}

pub(crate) struct PostgresStoreInner {
    pub pool: Arc<PostgresPool>,
    pub gate: Arc<PostgresGate>,
}

/// A parameter of a statement with its type, so that the server need not be asked for the type first.
pub(crate) type Typed<'p> = (&'p (dyn ToSql + Sync), Type);

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresStore").field(&self.inner.pool.address.name).finish()
    }
}

impl PostgresStore {
    /// The store that a URL names, `postgres://user@host:port/database?schema=uwf&sslmode=verify-full`.
    ///
    /// # Errors
    /// If the URL is incomplete or invalid. No server is contacted.
    pub fn open(url: &str) -> Result<PostgresStore, RemoteError> {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        PostgresStore::open_with(url, std::env::vars_os().filter_map(text))
    }

    /// Like [`PostgresStore::open`], but reads `PGPASSWORD` and `PGPASSFILE` from these variables, not from the process environment.
    pub fn open_with(
        url: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<PostgresStore, RemoteError> {
        let address = PostgresAddress { password: PasswordSource::new(variables), ..PostgresAddress::parse(url)? };
        let pool = Arc::new(PostgresPool::new(address));
        let gate = Arc::new(PostgresGate::new(Arc::clone(&pool)));
        Ok(PostgresStore { inner: Arc::new(PostgresStoreInner { pool, gate }) })
    }

    /// The URL without secrets.
    pub fn name(&self) -> &str {
        &self.inner.pool.address.name
    }

    /// Creates the tables or upgrades them from an older version; `true` if there was something to do. If the process is killed midway,
    /// nothing has changed. If several processes call this at once, one of them does the work.
    ///
    /// # Errors
    /// If the server can't be reached or denies it, or if the schema contains something else or a newer version.
    pub fn init(&self) -> Result<bool, RemoteError> {
        let schema = &self.inner.pool.address.schema;
        let outcome = persist(|| {
            let mut session = PostgresSession::open(&self.inner.pool.address, TableExpectation::Anything)?;
            match session.run(async |client| migrate(client, schema).await)? {
                MigrationOutcome::Made => Ok(true),
                MigrationOutcome::WasReady => Ok(false),
                MigrationOutcome::Unusable(failure) => Err(failure),
            }
        });
        outcome.map_err(|(failure, tries)| self.inner.pool.error("make the store ready", failure, tries))
    }
}

impl PostgresStoreInner {
    /// Runs a repeatable action on any connection.
    pub(crate) fn call<T>(
        &self,
        doing: &str,
        action: impl AsyncFn(&mut Client) -> Result<T, Error>,
    ) -> Result<T, RemoteError> {
        let done = persist(|| self.pool.with(|session| session.run(async |client| action(client).await)));
        done.map_err(|(failure, tries)| self.pool.error(doing, failure, tries))
    }

    /// The rows of one statement.
    pub(crate) fn rows(&self, doing: &str, statement: &str, parameters: &[Typed<'_>]) -> Result<Vec<Row>, RemoteError> {
        self.call(doing, async |client| client.query_typed(statement, parameters).await)
    }

    /// The number of rows that a statement changed.
    pub(crate) fn changed(&self, doing: &str, statement: &str, parameters: &[Typed<'_>]) -> Result<u64, RemoteError> {
        self.call(doing, async |client| client.execute_typed(statement, parameters).await)
    }

    /// A column of a row, or an error if its type is not the one in our tables.
    pub(crate) fn column<'r, T: tokio_postgres::types::FromSql<'r>>(
        &self,
        doing: &str,
        row: &'r Row,
        position: usize,
    ) -> Result<T, RemoteError> {
        row.try_get(position).map_err(|error| self.pool.error(doing, PostgresFailure::Statement(error), 1))
    }
}
