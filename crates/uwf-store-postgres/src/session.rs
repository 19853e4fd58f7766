//! One connection to the server, with its own runtime that runs only while a caller waits.

use std::time::Duration;

use json_cas::RemoteFault;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::error::{DbError, Severity};
use tokio_postgres::{Client, Config, SimpleQueryMessage};

use crate::address::PostgresAddress;
use crate::fault::{PostgresFailure, causes};
use crate::hosts::resolved;
use crate::migrations::{self, PostgresSchemaProperties};
use crate::password::{PasswordSource, password};
use crate::tls::PostgresTls;

/// The server stops a slow statement itself. If it hasn't reported that after this time, the connection is given up.
const GRACE: Duration = Duration::from_secs(2);

/// Whether a new connection checks for the tables, or is about to create them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableExpectation {
    Ready,
    Anything,
}

/// A connection. It has no thread: incoming data is read only during a call.
pub(crate) struct PostgresSession {
    /// `None` only during drop.
    runtime: Option<Runtime>,
    client: Client,
    limit: Duration,
}

impl PostgresSession {
    /// Connects, authenticates, and checks that the schema contains a store of ours.
    pub(crate) fn open(
        address: &PostgresAddress,
        expect: TableExpectation,
    ) -> Result<PostgresSession, PostgresFailure> {
        let no_runtime =
            |error| PostgresFailure::Refused(RemoteFault::Failed, format!("cannot start the runtime: {error}"));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(no_runtime)?;
        let refused = |message| PostgresFailure::Refused(RemoteFault::Denied, message);
        let tls = PostgresTls::new(address.trust, address.roots.as_deref()).map_err(refused)?;
        let (config, ignored) = with_password(resolved(&address.config)?, &address.password);
        let limit = address.connect_timeout;
        let connected = runtime.block_on(async {
            timeout(limit, async {
                let (client, connection) = config.connect(tls).await.map_err(PostgresFailure::Connect)?;
                // If the connection fails, the statement that waits for it reports the error.
                tokio::spawn(connection);
                prepare(&client, address, expect).await?;
                Ok(client)
            })
            .await
            .unwrap_or(Err(PostgresFailure::Silence(limit)))
        });
        let client = connected.map_err(|failure| because(failure, ignored))?;
        Ok(PostgresSession { runtime: Some(runtime), client, limit: address.statement_timeout + GRACE })
    }

    /// Runs an action on the connection, and gives up if the server is silent.
    pub(crate) fn run<T>(
        &mut self,
        action: impl AsyncFnOnce(&mut Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, PostgresFailure> {
        let Some(runtime) = &self.runtime else { return Err(PostgresFailure::Silence(Duration::ZERO)) };
        runtime.block_on(async {
            match timeout(self.limit, action(&mut self.client)).await {
                Ok(done) => done.map_err(PostgresFailure::Statement),
                Err(_) => Err(PostgresFailure::Silence(self.limit)),
            }
        })
    }

    /// Whether the connection can be used again after this outcome.
    pub(crate) fn is_sound<T>(&self, outcome: &Result<T, PostgresFailure>) -> bool {
        match outcome {
            Ok(_) => !self.client.is_closed(),
            // After a fatal error the server closes the connection.
            Err(PostgresFailure::Statement(error)) => {
                let severity = error.as_db_error().and_then(DbError::parsed_severity);
                severity == Some(Severity::Error) && !self.client.is_closed()
            }
            Err(_) => false,
        }
    }
}

impl Drop for PostgresSession {
    fn drop(&mut self) {
        // Dropping a runtime normally panics inside another runtime. The server notices that the socket closes.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn with_password(mut config: Config, given: &PasswordSource) -> (Config, Option<String>) {
    let found = password(&config, given);
    if let Some(text) = found.text {
        config.password(text);
    }
    (config, found.ignored)
}

/// Adds to a rejected login that a password file was ignored.
fn because(failure: PostgresFailure, ignored: Option<String>) -> PostgresFailure {
    match (failure, ignored) {
        (PostgresFailure::Connect(error), Some(ignored)) if !error.is_closed() && error.as_db_error().is_none() => {
            PostgresFailure::Refused(RemoteFault::Denied, format!("{} ({ignored})", causes(&error)))
        }
        (failure, _) => failure,
    }
}

/// Sets up the session so that our statements mean the same under any server settings, in one round trip.
async fn prepare(client: &Client, address: &PostgresAddress, expect: TableExpectation) -> Result<(), PostgresFailure> {
    let settings = format!(
        "set search_path to \"{schema}\"; \
         set statement_timeout = {statement}; \
         set lock_timeout = {lock}; \
         set default_transaction_isolation = 'read committed'; \
         set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3; \
         set tcp_user_timeout = 60000; \
         select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'; ",
        schema = address.schema,
        statement = address.statement_timeout.as_millis(),
        lock = address.lock_timeout.as_millis(),
    );
    match expect {
        TableExpectation::Anything => client.batch_execute(&settings).await.map_err(PostgresFailure::Statement),
        TableExpectation::Ready => {
            // Qualified with the schema's name: otherwise a schema that this user may not access would be taken for a missing one.
            let question = format!("{settings} select {} from \"{}\".meta", migrations::WHAT, address.schema);
            let answer = client.simple_query(&question).await.map_err(|error| of_meta(error, address))?;
            let rows = answer.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) if row.len() == 3 => Some(row),
                _ => None,
            });
            let found = rows.last().and_then(|row| {
                Some(PostgresSchemaProperties::new(row.get(0)?, row.get(1)?.parse().ok()?, row.get(2)?))
            });
            migrations::checked(found.as_ref(), &address.schema)
        }
    }
}

fn of_meta(error: tokio_postgres::Error, address: &PostgresAddress) -> PostgresFailure {
    let code = error.code().map(|code| code.code().to_owned());
    match code.as_deref() {
        Some("42P01" | "3F000") => migrations::not_ready(&address.schema),
        Some("42703") => migrations::foreign(&address.schema),
        _ => PostgresFailure::Statement(error),
    }
}
