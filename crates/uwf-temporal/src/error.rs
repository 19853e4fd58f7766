//! Errors of an engine, with messages for people.

use temporalio_client::errors::{ClientConnectError, WorkflowInteractionError, WorkflowStartError};
use temporalio_client::tonic::{Code, Status};

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemporalFault {
    /// The server does not answer.
    Unreachable,
    /// The server rejects the credentials.
    Refused,
    /// The namespace, or another named thing, does not exist.
    Missing,
    /// It already exists.
    Exists,
    /// The request is invalid, for instance because of its cron expression.
    Nonsense,
    /// The address or a certificate is invalid.
    Misconfigured,
    /// Any other failure.
    Other,
}

/// A failure of the engine or of the connection to it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// Kind of the failure.
    pub fault: TemporalFault,
    /// The message, on one line.
    pub message: String,
    /// What to try next.
    pub hint: Option<String>,
}

impl EngineError {
    pub(crate) fn new(fault: TemporalFault, message: impl Into<String>) -> EngineError {
        EngineError { fault, message: message.into(), hint: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> EngineError {
        EngineError { hint: Some(hint.into()), ..self }
    }

    pub(crate) fn of_connecting(address: &str, is_encrypted: bool, error: ClientConnectError) -> EngineError {
        match error {
            ClientConnectError::SystemInfoCallError(status) => {
                EngineError::of_first_call(address, is_encrypted, &status)
            }
            ClientConnectError::InvalidUri(_)
            | ClientConnectError::InvalidHeaders(_)
            | ClientConnectError::InvalidConfig(_) => {
                EngineError::new(TemporalFault::Misconfigured, format!("cannot connect to Temporal: {error}"))
                    .hint("the address is HOST:PORT, TEMPORAL_ADDRESS or `temporal.address`")
            }
            ClientConnectError::TonicTransportError(error) if is_encrypted && is_closed(&causes(&error)) => {
                EngineError::without_certificate(address)
            }
            ClientConnectError::TonicTransportError(error) => EngineError::unreachable(address, &causes(&error)),
            ClientConnectError::DnsResolutionError { source, .. } => {
                EngineError::unreachable(address, &causes(&source))
            }
            other => EngineError::unreachable(address, &causes(&other)),
        }
    }

    /// Invalid variables, or an invalid file, of Temporal's own command.
    pub(crate) fn of_settings(error: &dyn std::error::Error) -> EngineError {
        // TOML errors include an excerpt of the file, in lines with `|`. Leave it out.
        let text = error.to_string();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty() && !line.contains('|')).collect();
        EngineError::new(TemporalFault::Misconfigured, format!("the settings of Temporal are not usable: {}", lines.join(", ")))
            .hint("they are in TEMPORAL_ADDRESS, TEMPORAL_PROFILE and the other TEMPORAL_ variables, and in the file temporal.toml")
    }

    pub(crate) fn unreachable(address: &str, why: &str) -> EngineError {
        EngineError::new(TemporalFault::Unreachable, format!("Temporal does not answer at {address}: {why}"))
            .hint("check that the server is running and whether it needs TLS: `temporal operator cluster health`")
    }

    /// A TLS server that closes the connection instead of answering. The alert with its reason is lost.
    fn without_certificate(address: &str) -> EngineError {
        EngineError::new(
            TemporalFault::Refused,
            format!("Temporal at {address} closed the connection; it may need another client certificate"),
        )
        .hint(
            "name one with --tls-cert and --tls-key, or with TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH",
        )
    }

    fn refused(address: &str, why: &str) -> EngineError {
        EngineError::new(TemporalFault::Refused, format!("Temporal at {address} refuses these credentials: {why}"))
            .hint("look at TEMPORAL_API_KEY, or at the client certificate: --tls-cert and --tls-key")
    }

    /// A failure of the first request, which may have been answered by a server other than Temporal.
    pub(crate) fn of_first_call(address: &str, is_encrypted: bool, status: &Status) -> EngineError {
        let said = said(status);
        if is_encrypted && is_closed(&said) {
            return EngineError::without_certificate(address);
        }
        // A gateway in front of Temporal may answer with plain HTTP.
        if let Some(refused) = ["401 Unauthorized", "403 Forbidden"].into_iter().find(|refused| said.contains(refused))
        {
            return EngineError::refused(address, refused);
        }
        match status.code() {
            Code::Unknown | Code::Internal | Code::Unimplemented => EngineError::new(
                TemporalFault::Unreachable,
                format!("the server at {address} does not answer like Temporal"),
            )
            .hint("check the address (Temporal's default port is 7233) and whether the server needs TLS"),
            _ => EngineError::of_status(address, status),
        }
    }

    pub(crate) fn of_status(address: &str, status: &Status) -> EngineError {
        match status.code() {
            Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => {
                EngineError::unreachable(address, &said(status))
            }
            Code::PermissionDenied | Code::Unauthenticated => EngineError::refused(address, status.message()),
            Code::NotFound if status.message().contains("amespace") => {
                EngineError::new(TemporalFault::Missing, format!("Temporal at {address}: {}", status.message()))
                    .hint("name one with --namespace, or make it: temporal operator namespace create NAME")
            }
            Code::NotFound => {
                EngineError::new(TemporalFault::Missing, format!("Temporal at {address}: {}", status.message()))
            }
            Code::AlreadyExists => EngineError::new(TemporalFault::Exists, status.message().to_owned()),
            Code::InvalidArgument => {
                EngineError::new(TemporalFault::Nonsense, format!("Temporal refuses: {}", status.message()))
            }
            code => {
                EngineError::new(TemporalFault::Other, format!("Temporal at {address}: {code:?}: {}", status.message()))
            }
        }
    }

    pub(crate) fn of_start(address: &str, error: WorkflowStartError) -> EngineError {
        match error {
            WorkflowStartError::AlreadyStarted { source, .. } | WorkflowStartError::Rpc(source) => {
                EngineError::of_status(address, &source)
            }
            other => EngineError::new(TemporalFault::Other, format!("the workflow cannot be started: {other}")),
        }
    }

    pub(crate) fn of_interaction(address: &str, error: WorkflowInteractionError) -> EngineError {
        match error {
            WorkflowInteractionError::NotFound(status) | WorkflowInteractionError::Rpc(status) => {
                EngineError::of_status(address, &status)
            }
            other => EngineError::new(TemporalFault::Other, format!("Temporal at {address}: {other}")),
        }
    }
}

/// Whether the other side closed the connection.
fn is_closed(failure: &str) -> bool {
    let closed = ["connection closed", "closed connection", "broken pipe", "connection reset", "received fatal alert"];
    let failure = failure.to_lowercase();
    closed.iter().any(|closed| failure.contains(closed))
}

/// The cause of a status, or the message if the status is the server's own.
fn said(status: &Status) -> String {
    std::error::Error::source(status).map_or_else(|| status.message().to_owned(), causes)
}

/// An error and its causes, without repetitions.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut at = error.source();
    while let Some(cause) = at {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        at = cause.source();
    }
    text
}
