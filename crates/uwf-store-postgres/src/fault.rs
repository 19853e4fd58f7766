//! Failures between this machine and the server, and whether a retry is worthwhile.

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use json_cas::{RemoteError, RemoteFault};

use crate::tls::PostgresTlsError;

/// Why one attempt failed.
#[derive(Debug)]
pub(crate) enum PostgresFailure {
    /// No connection could be made.
    Connect(tokio_postgres::Error),
    /// A statement failed, or its answer did not arrive.
    Statement(tokio_postgres::Error),
    /// The host name can't be resolved.
    Name(String, io::Error),
    /// The server was silent for this long.
    Silence(Duration),
    /// A retry is useless.
    Refused(RemoteFault, String),
}

/// The meaning of an `SQLSTATE` for a store. Codes are listed in appendix A of the PostgreSQL manual.
fn fault_of(code: &str) -> RemoteFault {
    match code {
        "28P01" | "28000" | "42501" => RemoteFault::Denied,
        "3D000" | "57P04" => RemoteFault::Missing,
        // No such table, although the store was there when the connection was made.
        "42P01" => RemoteFault::Incomplete,
        // No such schema.
        "3F000" => RemoteFault::NotReady,
        // There is a table of this name, but without such a column.
        "42703" => RemoteFault::Foreign,
        // statement_timeout and lock_timeout: the server did not answer in time.
        "57014" | "55P03" => RemoteFault::Unreachable,
        code if passes(code) => RemoteFault::Unreachable,
        _ => RemoteFault::Failed,
    }
}

/// Whether a retry may succeed a moment later: conflicting transactions, a server that stops, starts or closes idle sessions, or too many
/// connections.
fn passes(code: &str) -> bool {
    matches!(code, "40001" | "40P01" | "57P01" | "57P02" | "57P03" | "57P05" | "53300") || code.starts_with("08")
}

/// Whether the network failed.
fn is_network(error: &tokio_postgres::Error) -> bool {
    let source = error.source();
    error.is_closed()
        || source.is_some_and(<dyn StdError>::is::<io::Error>)
        || source.and_then(|source| source.downcast_ref::<PostgresTlsError>()).is_some_and(|error| !error.is_refusal())
}

impl PostgresFailure {
    fn code(&self) -> Option<&str> {
        match self {
            PostgresFailure::Connect(error) | PostgresFailure::Statement(error) => {
                error.code().map(tokio_postgres::error::SqlState::code)
            }
            PostgresFailure::Name(..) | PostgresFailure::Silence(_) | PostgresFailure::Refused(..) => None,
        }
    }

    /// Whether another process kept a lock for too long.
    pub(crate) fn is_lock_timeout(&self) -> bool {
        self.code() == Some("55P03")
    }

    /// Whether retrying the same statement may succeed. Every statement is written so that it can be repeated.
    pub(crate) fn passes(&self) -> bool {
        match self {
            PostgresFailure::Connect(error) | PostgresFailure::Statement(error) => {
                self.code().map_or_else(|| is_network(error), passes)
            }
            PostgresFailure::Name(..) | PostgresFailure::Silence(_) => true,
            PostgresFailure::Refused(..) => false,
        }
    }

    fn fault(&self) -> RemoteFault {
        match self {
            PostgresFailure::Refused(fault, _) => *fault,
            PostgresFailure::Name(..) | PostgresFailure::Silence(_) => RemoteFault::Unreachable,
            PostgresFailure::Connect(error) | PostgresFailure::Statement(error) => match self.code() {
                Some(code) => fault_of(code),
                None if is_network(error) => RemoteFault::Unreachable,
                // The password is missing, or client and server don't agree on TLS.
                None if matches!(self, PostgresFailure::Connect(_)) => RemoteFault::Denied,
                None => RemoteFault::Failed,
            },
        }
    }

    fn reason(&self) -> String {
        match self {
            PostgresFailure::Refused(_, message) => message.clone(),
            PostgresFailure::Name(host, error) => format!("the host {host} cannot be found: {error}"),
            PostgresFailure::Silence(limit) => format!("the server did not answer within {} s", limit.as_secs_f32()),
            PostgresFailure::Connect(error) | PostgresFailure::Statement(error) => match error.as_db_error() {
                Some(answer) => {
                    format!("the server says: {} ({})", answer.message().replace('\n', " "), answer.code().code())
                }
                None => causes(error),
            },
        }
    }

    /// The error for the caller. `doing` names the operation so that it completes "cannot …".
    pub(crate) fn into_error(self, store: &str, doing: &str, tries: u32) -> RemoteError {
        let again = if tries > 1 { format!(" (tried {tries} times)") } else { String::new() };
        RemoteError {
            store: store.to_owned(),
            fault: self.fault(),
            message: format!("cannot {doing}: {}{again}", self.reason()),
            source: match self {
                PostgresFailure::Connect(error) | PostgresFailure::Statement(error) => Some(Box::new(error)),
                PostgresFailure::Name(_, error) => Some(Box::new(error)),
                PostgresFailure::Silence(_) | PostgresFailure::Refused(..) => None,
            },
        }
    }
}

/// An error and its causes, in one line.
pub(crate) fn causes(error: &dyn StdError) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.contains(&text) {
            let _ = write!(line, ": {text}");
        }
        cause = error.source();
    }
    line.replace('\n', " ")
}
