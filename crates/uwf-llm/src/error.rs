//! Failures of an exchange.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::endpoint::{ModelEndpoint, shown};

/// Characters kept of a provider's error page.
const MAX_EXCERPT: usize = 600;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The time limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LlmTimeoutKind {
    /// For the connection.
    Connect,
    /// For the next sign of life.
    Idle,
    /// For the whole exchange, retries included.
    Total,
}

impl fmt::Display for LlmTimeoutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LlmTimeoutKind::Connect => "no connection within the connect timeout",
            LlmTimeoutKind::Idle => "silent for longer than the idle timeout",
            LlmTimeoutKind::Total => "not done within the total timeout",
        })
    }
}

/// Why an exchange failed. Its texts never contain the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The endpoint cannot be used because of its URL, key, or certificates.
    #[error("cannot use {url}: {reason}")]
    Endpoint {
        /// URL.
        url: String,
        /// The problem.
        reason: String,
    },
    /// No connection, or it broke before any response.
    #[error("cannot talk to {url}: {reason}")]
    Connect {
        /// URL.
        url: String,
        /// The cause.
        reason: String,
        /// Text received in an earlier attempt.
        partial: String,
    },
    /// It took too long.
    #[error("{url}: {which} ({after:?})")]
    Timeout {
        /// URL.
        url: String,
        /// Which limit.
        which: LlmTimeoutKind,
        /// The length of the limit.
        after: Duration,
        /// Text received so far.
        partial: String,
    },
    /// The provider returned an error status.
    #[error("{url} answered {code}: {message}")]
    Status {
        /// URL.
        url: String,
        /// HTTP status. For an error within a successful response, the provider's code for it.
        code: u16,
        /// The provider's message, or the beginning of its page.
        message: String,
        /// The beginning of the response.
        body: String,
        /// When the provider accepts requests again.
        limits: Box<LimitHeaders>,
        /// Text received in an earlier attempt.
        partial: String,
    },
    /// 401 or 403: the key is wrong, missing, or lacks permission.
    #[error("{url} refuses access ({code}): {message}")]
    Auth {
        /// URL.
        url: String,
        /// 401 or 403.
        code: u16,
        /// The provider's message.
        message: String,
        /// Whether a key was sent.
        had_key: bool,
        /// Text received in an earlier attempt.
        partial: String,
    },
    /// The reply broke off.
    #[error("the reply of {url} was cut: {reason}")]
    CutStream {
        /// URL.
        url: String,
        /// The cause.
        reason: String,
        /// Text received so far.
        partial: String,
    },
    /// The reply is malformed.
    #[error("the reply of {url} cannot be read: {reason}")]
    BadReply {
        /// URL.
        url: String,
        /// The problem.
        reason: String,
        /// The beginning of the response.
        body: String,
    },
    /// The reply has no choice: no text, and not even an end.
    #[error("{url} answered without any choice")]
    NoChoice {
        /// URL.
        url: String,
        /// The beginning of the response.
        body: String,
        /// Text received in an earlier attempt.
        partial: String,
    },
    /// The model reached `max_tokens` before the value was complete.
    #[error("the model `{model}` reached its limit of output tokens (`{word}`) before the value was complete")]
    Truncated {
        /// Name of the model.
        model: String,
        /// The finish reason in the provider's word.
        word: String,
        /// The partial reply.
        partial: String,
    },
    /// The provider or the model ended the reply before it was complete.
    #[error("the model `{model}` {fault}{}", quoted(partial))]
    Ended {
        /// Name of the model.
        model: String,
        /// How it ended, after "the model …".
        fault: String,
        /// Text received so far.
        partial: String,
    },
    /// The model's answer contains several calls with different values.
    #[error("the model `{model}` gave different values in one answer")]
    DifferingValues {
        /// Name of the model.
        model: String,
    },
    /// The model's answer contains no JSON value.
    #[error("the model `{model}` gave no JSON value")]
    NoValue {
        /// Name of the model.
        model: String,
        /// The model's text.
        text: String,
    },
}

/// The headers of a response that are about limits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitHeaders {
    /// How long the provider asks to wait: `Retry-After`, if it can be read.
    pub retry_after: Option<Duration>,
    /// All of them, each with its name.
    pub all: Vec<(String, String)>,
}

/// The beginning of the partial text, for a message: a refusal explains itself there.
fn quoted(partial: &str) -> String {
    /// Most characters shown.
    const SHOWN: usize = 200;
    let line = partial.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.is_empty() { String::new() } else { format!(": {}", line.chars().take(SHOWN).collect::<String>()) }
}

impl Error {
    /// The next thing to try.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::Endpoint { reason, .. } if reason.contains("certificate") => {
                "if your network has a proxy in between, name a file with its certificates in SSL_CERT_FILE"
            }
            Error::Endpoint { .. } => "check `baseUrl` of the provider; it begins with http:// or https://",
            Error::Connect { .. } => "check that the endpoint is up and that `baseUrl` of the provider is right",
            Error::Timeout { which: LlmTimeoutKind::Connect, .. } => {
                "check the network and `baseUrl` of the provider; a proxy may be needed (HTTPS_PROXY)"
            }
            Error::Timeout { .. } => "try again, choose a faster model, or allow more time",
            Error::Auth { had_key: false, .. } => "set the key: `apiKeyEnv` of the provider names its variable in .env",
            Error::Auth { code: 403, .. } => "check the permissions of the account and the key",
            Error::Auth { .. } => "check the key in the variable that `apiKeyEnv` of the provider names",
            Error::Status { code: 404, .. } => "check the model's name and `baseUrl` (usually it ends in /v1)",
            Error::Status { code: 402 | 429, .. } => "check the account's limits and credit, or wait and try again",
            Error::Status { code: 300..=399, .. } => "`baseUrl` redirects; use the address it redirects to",
            Error::Status { code: 500.., .. } | Error::CutStream { .. } | Error::NoChoice { .. } => {
                "this is a fault of the provider; try again later or use another model"
            }
            Error::BadReply { .. } => "check `baseUrl` and `kind` of the provider",
            Error::Ended { .. } => "its text is kept; ask in other words, or use another model",
            Error::Truncated { .. } => "allow more output tokens, or ask for less",
            Error::DifferingValues { .. } => "try again, or use another model",
            Error::NoValue { .. } => "use a model that can call tools or write JSON",
            Error::Status { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// HTTP status of the response, if there is one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Error::Status { code, .. } | Error::Auth { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The model's text before the failure, including arguments of its calls; empty if nothing was received.
    pub fn partial(&self) -> &str {
        match self {
            Error::Timeout { partial, .. }
            | Error::Connect { partial, .. }
            | Error::Status { partial, .. }
            | Error::Auth { partial, .. }
            | Error::CutStream { partial, .. }
            | Error::NoChoice { partial, .. }
            | Error::Ended { partial, .. }
            | Error::Truncated { partial, .. } => partial,
            Error::NoValue { text, .. } => text,
            _ => "",
        }
    }

    /// Whether a retry may succeed without any change.
    pub fn is_transient(&self) -> bool {
        match self {
            Error::Connect { .. } | Error::CutStream { .. } | Error::NoChoice { .. } => true,
            Error::Timeout { which, .. } => *which != LlmTimeoutKind::Total,
            Error::Status { code, .. } => matches!(code, 408 | 429 | 500..=599),
            _ => false,
        }
    }

    /// Whether the provider rejected the request, rather than failed: another request may be accepted.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Error::Status { code: 400 | 404 | 422, .. })
    }

    /// The same error with the text received before it.
    pub(crate) fn after(mut self, so_far: &str) -> Error {
        if let Error::Timeout { partial, .. }
        | Error::Connect { partial, .. }
        | Error::Status { partial, .. }
        | Error::Auth { partial, .. }
        | Error::NoChoice { partial, .. }
        | Error::CutStream { partial, .. } = &mut self
        {
            so_far.clone_into(partial);
        }
        self
    }

    /// The error for an unsuccessful status.
    pub(crate) fn refused(endpoint: &ModelEndpoint, url: &str, code: u16, limits: LimitHeaders, body: &str) -> Error {
        let body = endpoint.redact(body);
        let (url, message) = (shown(url), provider_message(&body));
        if matches!(code, 401 | 403) {
            return Error::Auth { url, code, message, had_key: endpoint.api_key.is_some(), partial: String::new() };
        }
        let limits = Box::new(limits);
        Error::Status { url, code, message, body: excerpt(&body), limits, partial: String::new() }
    }

    /// The error that a successful response, or an event of a stream, reports in its `error`.
    pub(crate) fn inside(endpoint: &ModelEndpoint, reply: &Value) -> Option<Error> {
        let error = reply.get("error").filter(|error| !error.is_null())?;
        let number = error.get("code").and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
        let code = number.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
        let code = code.or_else(|| code_of(error.get("type")?.as_str()?)).unwrap_or(500);
        Some(Error::refused(endpoint, &endpoint.chat_url(), code, LimitHeaders::default(), &reply.to_string()))
    }

    pub(crate) fn no_choice(endpoint: &ModelEndpoint, raw: &Value) -> Error {
        let body = excerpt(&endpoint.redact(&raw.to_string()));
        Error::NoChoice { url: shown(&endpoint.chat_url()), body, partial: String::new() }
    }

    pub(crate) fn bad_reply(endpoint: &ModelEndpoint, reason: impl Into<String>, body: &str) -> Error {
        let body = excerpt(&endpoint.redact(body));
        Error::BadReply { url: shown(&endpoint.chat_url()), reason: reason.into(), body }
    }
}

/// The status of an Anthropic error type, as documented.
fn code_of(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}

/// The provider's message in an error page of a known form, otherwise the beginning of the page.
fn provider_message(body: &str) -> String {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    // Some providers wrap the object in a list.
    let value = value.get(0).unwrap_or(&value);
    let places = ["/error/message", "/message", "/detail", "/error", "/detail/0/msg"];
    let own_words = places.iter().find_map(|place| value.pointer(place).and_then(Value::as_str));
    match own_words.filter(|own_words| !own_words.trim().is_empty()) {
        Some(own_words) => excerpt(own_words),
        None if body.trim().is_empty() => "no explanation".to_owned(),
        None => excerpt(body.trim()),
    }
}

/// The beginning of a text.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(MAX_EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
