//! Requests to a messenger, repeated if it is unreachable or busy.

use std::time::Duration;

use serde_json::Value;
use uwf_llm::Error;

/// How long a request may take.
pub(super) const LIMIT: Duration = Duration::from_secs(30);

/// How often a request is sent.
const TRIES: u32 = 4;

/// The pause before a repetition, and the longest pause that a service can ask for.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Posts a JSON body and returns the response.
///
/// # Errors
/// The last failure.
pub(super) fn post(url: &str, token: Option<&str>, body: &Value) -> Result<String, Error> {
    let mut tries = 1;
    loop {
        match uwf_llm::post_with_token(url, token, body, LIMIT) {
            Ok(reply) => return Ok(reply),
            Err(error) => match pause(&error).filter(|_| tries < TRIES) {
                Some(pause) => std::thread::sleep(pause),
                None => return Err(error),
            },
        }
        tries += 1;
    }
}

/// How long to wait before a repetition; `None` if it is pointless. After a timeout the message may have arrived.
fn pause(error: &Error) -> Option<Duration> {
    match error {
        Error::Connect { .. } => Some(PAUSE),
        Error::Status { code: 429 | 502 | 503 | 504, .. } => {
            Some(retry_after(error).unwrap_or(PAUSE).min(LONGEST_PAUSE))
        }
        _ => None,
    }
}

/// The pause that a service asks for.
pub(super) fn retry_after(error: &Error) -> Option<Duration> {
    match error {
        Error::Status { limits, .. } => limits.retry_after,
        _ => None,
    }
}
