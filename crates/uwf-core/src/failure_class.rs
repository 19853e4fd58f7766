//! Classes of failed attempts, which decide what happens next, and how the message of a program shows its class.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limit_end::{self, LimitEnd};

/// Why an attempt failed, as far as this decides what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureClass {
    /// A failure of the network or of the provider, which another attempt may not have.
    Transient,
    /// The account has used up what it may use for now.
    UsageLimit,
    /// No attempt succeeds before a person changes something: no credit, a refused login, a missing program.
    Fatal,
    /// Anything else.
    Unknown,
}

impl FailureClass {
    /// All classes, in the order of the documentation.
    pub const ALL: [FailureClass; 4] =
        [FailureClass::Transient, FailureClass::UsageLimit, FailureClass::Fatal, FailureClass::Unknown];

    /// Its name in configuration and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FailureClass::Transient => "transient",
            FailureClass::UsageLimit => "usage-limit",
            FailureClass::Fatal => "fatal",
            FailureClass::Unknown => "unknown",
        }
    }

    /// The class of an HTTP status with which a provider rejected a request.
    #[must_use]
    pub fn of_status(code: u16) -> FailureClass {
        match code {
            429 => FailureClass::UsageLimit,
            408 | 500..=599 => FailureClass::Transient,
            401..=404 => FailureClass::Fatal,
            _ => FailureClass::Unknown,
        }
    }
}

/// A failure as a program or a provider describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureNotice {
    /// The class.
    pub class: FailureClass,
    /// When a usage limit ends, if the message says it.
    pub end: Option<LimitEnd>,
    /// Whether the failure is about the task, so that another task may succeed.
    is_of_task: bool,
}

/// Parts of messages about accounts without credit. Waiting does not help.
const NO_CREDIT: [&str; 6] = [
    "credit balance",
    "insufficient_quota",
    "insufficient quota",
    "insufficient credit",
    "insufficient balance",
    "billing_error",
];

/// Parts of messages about usage limits, of Claude Code, codex, gemini, opencode, hermes and the providers.
const USAGE_LIMIT: [&str; 17] = [
    "usage limit",
    "usage_limit",
    "usagelimit",
    "usage exceeded",
    "usage quota",
    "limit reached",
    "hit your",
    "rate limit",
    "rate_limit",
    "ratelimit",
    "out of extra usage",
    "quota will reset",
    "exhausted your",
    "exceeded your current quota",
    "quota exceeded",
    "resource_exhausted",
    "resource has been exhausted",
];

/// The words of the status 429.
const TOO_MANY_REQUESTS: &str = "too many requests";

/// Both a provider without credit and one with a quota per minute say so.
const CURRENT_QUOTA: &str = "exceeded your current quota";

/// Parts of messages about failures that last until a person changes something.
const FATAL: [&str; 19] = [
    "api key",
    "api_key",
    "not logged in",
    "run /login",
    "claude auth login",
    "codex login",
    "login expired",
    "session expired",
    "session has expired",
    "oauth token",
    "authentication",
    "unauthorized",
    "permission denied",
    "refuses access",
    "does not have access",
    "has been disabled",
    "not found in path",
    "command not found",
    "model not found",
];

/// Parts of messages about tasks that are too large for the model.
const TOO_LARGE: [&str; 3] = ["prompt is too long", "context length", "context window"];

/// Parts of messages about failures of the network and of providers.
const TRANSIENT: [&str; 26] = [
    "overloaded",
    "internal server error",
    "service unavailable",
    "bad gateway",
    "gateway timeout",
    "temporarily unavailable",
    "high demand",
    "connection reset",
    "connection refused",
    "connection closed",
    "connection error",
    "closed the connection",
    "connect timeout",
    "idle timeout",
    "request timed out",
    "econnreset",
    "econnrefused",
    "etimedout",
    "eai_again",
    "enotfound",
    "fetch failed",
    "socket hang up",
    "network error",
    "stream disconnected",
    "error sending request",
    "cannot talk to",
];

/// Words before a number that is an HTTP status.
const BEFORE_STATUS: [&str; 9] =
    ["rejected", "error", "status", "code", "http", "http/1.1", "answered", "api", "statuscode"];

impl FailureNotice {
    /// Reads the message of a program that failed.
    #[must_use]
    pub fn read(text: &str) -> FailureNotice {
        let lower = text.replace('’', "'").to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
        let status = status(&lower).map(FailureClass::of_status);
        let end = limit_end::find(text);
        let is_limit = has(&USAGE_LIMIT) || has(&[TOO_MANY_REQUESTS]) || status == Some(FailureClass::UsageLimit);
        // Without an end, "your current quota" is money that is used up.
        let is_money = has(&NO_CREDIT)
            || (lower.contains(CURRENT_QUOTA) && end.is_none() && !lower.contains("resource_exhausted"));
        let class = match () {
            () if is_money => FailureClass::Fatal,
            () if is_limit => FailureClass::UsageLimit,
            () if has(&FATAL) || has(&TOO_LARGE) => FailureClass::Fatal,
            () if has(&TRANSIENT) => FailureClass::Transient,
            () => status.unwrap_or(FailureClass::Unknown),
        };
        let end = end.filter(|_| class == FailureClass::UsageLimit);
        FailureNotice { class, end, is_of_task: has(&TOO_LARGE) }
    }

    /// A notice of a structured source.
    #[must_use]
    pub fn new(class: FailureClass, end: Option<LimitEnd>) -> FailureNotice {
        FailureNotice { class, end, is_of_task: false }
    }

    /// Whether every task of the agent fails for this reason, until a person changes something.
    #[must_use]
    pub fn is_for_all_tasks(&self) -> bool {
        self.class == FailureClass::Fatal && !self.is_of_task
    }
}

/// Endings of the headers in which providers say when a limit ends: `anthropic-ratelimit-tokens-reset`, `x-ratelimit-reset-requests`.
const RESET: &str = "reset";

impl FailureNotice {
    /// Reads the response with which a provider rejected a request.
    #[must_use]
    pub fn of_response<'a>(
        status: u16,
        headers: impl Iterator<Item = (&'a str, &'a str)>,
        body: &str,
    ) -> FailureNotice {
        let notice = FailureNotice::read(body);
        let class = match FailureClass::of_status(status) {
            FailureClass::UsageLimit if notice.class == FailureClass::Fatal => FailureClass::Fatal,
            FailureClass::Unknown => notice.class,
            class => class,
        };
        let end = (class == FailureClass::UsageLimit)
            .then(|| of_headers(headers).or_else(|| limit_end::find(body)))
            .flatten();
        FailureNotice { class, end, ..notice }
    }
}

/// The end of a limit in the headers of a response. `retry-after` is the answer of the provider. The others are the ends of single limits;
/// a limit with something left does not count.
fn of_headers<'a>(headers: impl Iterator<Item = (&'a str, &'a str)>) -> Option<LimitEnd> {
    let headers: Vec<(String, &str)> = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim())).collect();
    let header = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value);
    let asked = header("retry-after-ms").and_then(|value| limit_end::value(&format!("{value}ms")));
    let asked = asked.or_else(|| header("retry-after").and_then(limit_end::value));
    asked.or_else(|| {
        let resets = headers.iter().filter(|(name, _)| name.contains("ratelimit") && name.contains(RESET));
        let is_used_up = |name: &str| header(&name.replacen(RESET, "remaining", 1)).is_none_or(|left| left == "0");
        resets.filter(|(name, _)| is_used_up(name)).find_map(|(_, value)| limit_end::value(value))
    })
}

/// The HTTP status that a message names, such as `API Error: 529` or `"statusCode":503`.
fn status(lower: &str) -> Option<u16> {
    let is_between = |c: char| c.is_whitespace() || matches!(c, ':' | '"' | '\'' | '(' | '[' | '=' | '{' | ',');
    let words: Vec<&str> = lower.split(is_between).filter(|word| !word.is_empty()).collect();
    words.windows(2).find_map(|pair| {
        let number = pair[1].trim_end_matches(|c: char| !c.is_ascii_digit());
        let code = number.parse().ok().filter(|code| number.len() == 3 && (400..600).contains(code))?;
        BEFORE_STATUS.contains(&pair[0]).then_some(code)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_show_their_class() {
        let cases = [
            (FailureClass::UsageLimit, "Claude AI usage limit reached|1749924000"),
            (FailureClass::UsageLimit, "You’ve hit your limit · resets 3pm (Europe/Vienna)"),
            (FailureClass::UsageLimit, "5-hour limit reached ∙ resets 2am"),
            (FailureClass::UsageLimit, "You're out of extra usage · resets 3pm (UTC)"),
            (FailureClass::UsageLimit, "You've hit your usage limit. Try again in 4 days 20 hours 9 minutes."),
            (FailureClass::UsageLimit, "[API Error: 429 quota]"),
            (FailureClass::UsageLimit, "[API Error: You have exhausted your daily quota on this model.]"),
            (FailureClass::UsageLimit, "API Error: Request rejected (429) · slow"),
            (
                FailureClass::UsageLimit,
                "You have exhausted your capacity on this model. Your quota will reset after 5h.",
            ),
            (FailureClass::UsageLimit, "You exceeded your current quota. Please retry in 34.074824224s."),
            (FailureClass::UsageLimit, r#"{"code": 429, "status": "RESOURCE_EXHAUSTED"}"#),
            (FailureClass::UsageLimit, "Usage limit reached for gemini-3-flash. Access resets at 10:57 PM GMT-3."),
            (FailureClass::UsageLimit, "Free usage exceeded, subscribe to Go"),
            (FailureClass::UsageLimit, r#"429: {"type":"FreeUsageLimitError","message":"Please try again later."}"#),
            (FailureClass::UsageLimit, "This request would exceed your account's rate limit."),
            (FailureClass::UsageLimit, "exceeded retry limit, last status: 429 Too Many Requests"),
            (FailureClass::Transient, r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}"#),
            (FailureClass::Transient, "API Error: 500"),
            (FailureClass::Transient, "unexpected status 503"),
            (FailureClass::Transient, "stream disconnected before completion"),
            (FailureClass::Transient, "cannot talk to http://127.0.0.1:1/v1: connection refused"),
            (FailureClass::Fatal, "Credit balance is too low"),
            (FailureClass::Fatal, "You exceeded your current quota, please check your plan and billing details."),
            (FailureClass::Fatal, r#"{"error":{"code":"insufficient_quota"}} 429"#),
            (FailureClass::Fatal, "Invalid API key · Please run /login"),
            (FailureClass::Fatal, "unexpected status 401 Unauthorized"),
            (FailureClass::Fatal, "Prompt is too long"),
            (FailureClass::Unknown, "agent `x` exited with 3; its last words: no such file"),
            (FailureClass::Unknown, "agent `x` was ended after its timeout of 500 s"),
            (FailureClass::Unknown, "Error: Reached max turns (3)"),
            (FailureClass::Unknown, ""),
        ];
        for (class, text) in cases {
            assert_eq!(FailureNotice::read(text).class, class, "{text}");
        }
    }

    #[test]
    fn responses_of_providers_are_read() {
        let after = |seconds| Some(LimitEnd::After(std::time::Duration::from_secs(seconds)));
        let read =
            |status, headers: &[(&str, &str)], body| FailureNotice::of_response(status, headers.iter().copied(), body);
        let openai = [
            ("x-ratelimit-remaining-requests", "12"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ];
        assert_eq!(read(429, &openai, "").end, after(360));
        assert_eq!(read(429, &[("Retry-After", "20"), ("x-ratelimit-reset-tokens", "6m0s")], "").end, after(20));
        let anthropic =
            read(429, &[("anthropic-ratelimit-unified-reset", "1749924000")], r#"{"type":"rate_limit_error"}"#);
        assert_eq!(anthropic.end, Some(LimitEnd::At(1_749_924_000_000)));
        assert_eq!(read(429, &[], r#"{"retryDelay": "34s"}"#).end, after(34));
        assert_eq!(read(429, &[("retry-after", "20")], r#"{"code":"insufficient_quota"}"#).class, FailureClass::Fatal);
        let overloaded = read(529, &[("retry-after", "20")], "{}");
        assert_eq!((overloaded.class, overloaded.end), (FailureClass::Transient, None));
        assert_eq!(read(402, &[], "").class, FailureClass::Fatal);
    }

    #[test]
    fn only_usage_limit_has_end() {
        assert!(FailureNotice::read("usage limit, try again in 2 hours").end.is_some());
        assert_eq!(FailureNotice::read("overloaded, try again in 2 hours").end, None);
    }
}
