//! A request to a collector, by OTLP over HTTP.

use std::time::Duration;

use serde_json::Value;
use uwf_engine::error::ErrorKind;
use uwf_engine::verbs::otel::OtelDestination;
use uwf_llm::Error;

use crate::error::CommandError;

/// How long a collector may take to respond.
const LIMIT: Duration = Duration::from_secs(10);

/// How often a request is sent if the collector is unreachable or busy.
const TRIES: u32 = 3;

/// The pause before a retry, and the longest pause that a collector can ask for.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Shorter header values are not secrets, and may occur anywhere.
const SHORTEST_SECRET: usize = 8;

/// Sends a request.
///
/// # Errors
/// If the collector did not accept everything. The message contains no header values.
pub(super) fn post(to: &OtelDestination, request: &Value) -> Result<(), CommandError> {
    let mut tries = 1;
    let reply = loop {
        match uwf_llm::post_json(&to.url, &to.headers, request, LIMIT) {
            Ok(reply) => break reply,
            Err(error) => match pause(&error).filter(|_| tries < TRIES) {
                Some(pause) => std::thread::sleep(pause),
                None => return Err(failed(to, &error)),
            },
        }
        tries += 1;
    };
    match refused(&reply) {
        Some(why) => {
            Err(CommandError::new(ErrorKind::Data, without_values(to, format!("{} took not all: {why}", to.url))))
        }
        None => Ok(()),
    }
}

/// How long to wait before a retry; `None` if a retry is pointless. A timeout is not retried.
fn pause(error: &Error) -> Option<Duration> {
    match error {
        Error::Connect { .. } => Some(PAUSE),
        Error::Status { code: 429 | 502 | 503 | 504, limits, .. } => {
            Some(limits.retry_after.unwrap_or(PAUSE).min(LONGEST_PAUSE))
        }
        _ => None,
    }
}

fn failed(to: &OtelDestination, error: &Error) -> CommandError {
    let message = without_values(to, error.to_string());
    let (kind, hint) = match error {
        Error::Auth { .. } => {
            (ErrorKind::Config, "`otel.headers` and `otel.headersEnv` set the headers that a collector asks for")
        }
        Error::Endpoint { reason, .. } if reason.contains("certificate") => {
            (ErrorKind::Config, "if the collector has a certificate of its own, name its file in SSL_CERT_FILE")
        }
        Error::Endpoint { .. } => (ErrorKind::Config, "check `otel.endpoint`"),
        Error::Connect { .. } | Error::Timeout { .. } => {
            (ErrorKind::Io, "check that a collector listens there for OTLP over HTTP (port 4318, not 4317)")
        }
        Error::Status { code: 404 | 405, .. } => {
            (ErrorKind::Config, "check `otel.endpoint`: spans are posted to /v1/traces below it")
        }
        Error::Status { code: 413, .. } => {
            (ErrorKind::Config, "it takes less than 1 MiB at once: raise its limit, or unset `otel.content`")
        }
        Error::Status { code: 415, .. } => {
            (ErrorKind::Config, "it does not take OTLP as JSON; a collector of OpenTelemetry in between does")
        }
        _ => (ErrorKind::Io, "nothing was lost: the same command sends all spans again"),
    };
    CommandError::new(kind, message).hint(hint)
}

/// Why a collector rejected part of a request that it answered with success.
fn refused(reply: &str) -> Option<String> {
    let reply: Value = serde_json::from_str(reply).ok()?;
    let partial = reply.get("partialSuccess")?;
    let rejected = partial.get("rejectedSpans")?;
    let count = rejected.as_u64().or_else(|| rejected.as_str()?.parse().ok()).filter(|count| *count > 0)?;
    let why = partial.get("errorMessage").and_then(Value::as_str).unwrap_or("it does not say why");
    Some(format!("{count} spans were rejected: {why}"))
}

/// A message without header values, which the collector may repeat.
fn without_values(to: &OtelDestination, message: String) -> String {
    let long = to.headers.iter().filter(|(_, value)| value.len() >= SHORTEST_SECRET);
    long.fold(message, |message, (name, value)| message.replace(value.as_str(), &format!("[redacted {name}]")))
}
