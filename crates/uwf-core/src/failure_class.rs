//! Classes of failed attempts, which decide what happens next, and how the message of a program shows its class.

use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::escapes::without_escapes;
use crate::failure_words::{self, NoticeMeaning};
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
    /// Whether every task of the agent fails for this reason, until a person changes something: the account is refused.
    pub is_for_all_tasks: bool,
}

/// Both a provider without credit and one with a quota per minute say so.
const CURRENT_QUOTA: &str = "exceeded your current quota";

/// Words before a number that is an HTTP status.
const BEFORE_STATUS: [&str; 9] =
    ["rejected", "error", "status", "code", "http", "http/1.1", "answered", "api", "statuscode"];

/// Statuses with which a provider refuses every request of an account.
const REFUSALS: RangeInclusive<u16> = 401..=403;

impl FailureNotice {
    /// Reads the words with which a program failed: its own, never a message around them, which may have the name of an agent.
    #[must_use]
    pub fn read(text: &str) -> FailureNotice {
        FailureNotice::read_with(&without_escapes(text), true)
    }

    /// Reads the words with which a program failed that uwf does not know. Only a whole line counts as a notice of a usage limit: a false
    /// one stops the agent in all threads, and test output may have the words and the status.
    #[must_use]
    pub fn read_of_unknown(text: &str) -> FailureNotice {
        let text = &*without_escapes(text);
        let is_notice = |line: &&str| {
            failure_words::is_limit_line(line) && FailureNotice::read(line).class == FailureClass::UsageLimit
        };
        match text.lines().rev().find(is_notice) {
            // The lines after it may say when the limit ends.
            Some(line) => FailureNotice::read(&text[line.as_ptr() as usize - text.as_ptr() as usize..]),
            None => FailureNotice::read_with(text, false),
        }
    }

    fn read_with(text: &str, may_be_limit: bool) -> FailureNotice {
        let lower = failure_words::lower(text);
        let has = |meaning| failure_words::means(&lower, meaning);
        let status = status(&lower);
        let of_status = status.map(FailureClass::of_status);
        let end = limit_end::find(text);
        let is_limit = has(NoticeMeaning::UsageLimit) || of_status == Some(FailureClass::UsageLimit);
        let of_status = of_status.filter(|class| may_be_limit || *class != FailureClass::UsageLimit);
        let has_no_credit = has(NoticeMeaning::NoCredit);
        // Without an end, "your current quota" is money that is used up.
        let is_money =
            has_no_credit || (lower.contains(CURRENT_QUOTA) && end.is_none() && !lower.contains("resource_exhausted"));
        let is_too_large = has(NoticeMeaning::TooLarge);
        let class = if is_money {
            FailureClass::Fatal
        } else if is_limit && may_be_limit {
            FailureClass::UsageLimit
        } else if has(NoticeMeaning::Fatal) || is_too_large {
            FailureClass::Fatal
        } else if has(NoticeMeaning::Transient) {
            FailureClass::Transient
        } else {
            of_status.unwrap_or(FailureClass::Unknown)
        };
        let end = end.filter(|_| class == FailureClass::UsageLimit);
        let is_refusal = has_no_credit
            || status.is_some_and(|status| REFUSALS.contains(&status))
            || text.lines().any(|line| failure_words::notice_line(line).is_some());
        let is_for_all_tasks = class == FailureClass::Fatal && !is_too_large && is_refusal;
        FailureNotice { class, end, is_for_all_tasks }
    }

    /// A notice of a structured source.
    #[must_use]
    pub fn new(class: FailureClass, end: Option<LimitEnd>) -> FailureNotice {
        FailureNotice { class, end, is_for_all_tasks: false }
    }
}

/// Endings of the headers in which providers say when a limit ends: `anthropic-ratelimit-tokens-reset`, `x-ratelimit-reset-requests`.
const RESET: &str = "reset";

impl FailureNotice {
    /// Reads the response with which a provider rejected a request. `retry_after` is its header of this name.
    #[must_use]
    pub fn of_response<'a>(
        status: u16,
        retry_after: Option<Duration>,
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
            .then(|| of_headers(retry_after, headers).or_else(|| limit_end::find(body)))
            .flatten();
        let is_refusal = REFUSALS.contains(&status) || notice.is_for_all_tasks;
        FailureNotice { class, end, is_for_all_tasks: class == FailureClass::Fatal && is_refusal }
    }
}

/// The end of a limit in the headers of a response. `retry-after` is the answer of the provider. The others are the ends of single limits;
/// a limit with something left does not count.
fn of_headers<'a>(
    retry_after: Option<Duration>,
    headers: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<LimitEnd> {
    let headers: Vec<(String, &str)> = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim())).collect();
    let header = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value);
    let asked = header("retry-after-ms").and_then(|value| limit_end::value(&format!("{value}ms")));
    asked.or(retry_after.map(LimitEnd::After)).or_else(|| {
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
            (FailureClass::UsageLimit, "\u{1b}[31mYou've hit your \u{1b}[1musage\u{1b}[0m limit.\u{1b}[0m"),
            (FailureClass::Transient, "Selected model is at capacity. Please try a different model."),
            (FailureClass::Fatal, "Your workspace is out of credits. Add credits to continue."),
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
            (FailureClass::UsageLimit, "openai.RateLimitExceededError: slow down"),
            (FailureClass::UsageLimit, "you are rate limited"),
            (FailureClass::UsageLimit, "your rate limits are used up"),
            (FailureClass::Unknown, "no such file"),
            (FailureClass::Unknown, "test client::honours_rate_limit ... FAILED"),
            (FailureClass::Unknown, "test rate_limit::waits ... FAILED"),
            (FailureClass::Unknown, "FAILED tests/rate_limit/test_rate_limit.py::test_x"),
            (FailureClass::Unknown, "rate_limit_test.go:12: wrong"),
            (FailureClass::Unknown, "sh: 0: cannot open rate_limit.sh"),
            (FailureClass::Unknown, "--- FAIL: TestRateLimit (0.00s)"),
            (FailureClass::Unknown, "FAILED tests/test_authentication.py::test_x"),
            (FailureClass::Unknown, "EACCES: permission denied, open 'build/x'"),
            (FailureClass::Unknown, "Error: Reached max turns (3)"),
            (FailureClass::Unknown, ""),
        ];
        for (class, text) in cases {
            assert_eq!(FailureNotice::read(text).class, class, "{text}");
        }
    }

    #[test]
    fn test_output_of_unknown_program_is_unlimited() {
        for (class, text) in [
            (FailureClass::Unknown, "E  AssertionError: status 429 != 200"),
            (FailureClass::Unknown, "FAILED: too many requests are let through by the limiter"),
            (FailureClass::Transient, "status 429 != 200\nconnection refused"),
            (FailureClass::Fatal, "Credit balance is too low"),
            (FailureClass::UsageLimit, "started\nError: 429 Too Many Requests\nsee the log"),
        ] {
            assert_eq!(FailureNotice::read_of_unknown(text).class, class, "{text}");
        }
        let notice = FailureNotice::read_of_unknown("resets in 5 days\nusage limit reached\ntry again in 2 hours");
        assert_eq!(notice.end, Some(LimitEnd::After(Duration::from_hours(2))));
    }

    #[test]
    fn responses_of_providers_are_read() {
        let after = |seconds| Some(LimitEnd::After(Duration::from_secs(seconds)));
        let read_after = |status, seconds: Option<u64>, headers: &[(&str, &str)], body| {
            FailureNotice::of_response(status, seconds.map(Duration::from_secs), headers.iter().copied(), body)
        };
        let read = |status, headers: &[(&str, &str)], body| read_after(status, None, headers, body);
        let openai = [
            ("x-ratelimit-remaining-requests", "12"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ];
        assert_eq!(read(429, &openai, "").end, after(360));
        assert_eq!(read_after(429, Some(20), &[("x-ratelimit-reset-tokens", "6m0s")], "").end, after(20));
        let anthropic =
            read(429, &[("anthropic-ratelimit-unified-reset", "1749924000")], r#"{"type":"rate_limit_error"}"#);
        assert_eq!(anthropic.end, Some(LimitEnd::At(1_749_924_000_000)));
        assert_eq!(read(429, &[], r#"{"retryDelay": "34s"}"#).end, after(34));
        assert_eq!(read_after(429, Some(20), &[], r#"{"code":"insufficient_quota"}"#).class, FailureClass::Fatal);
        let overloaded = read_after(529, Some(20), &[], "{}");
        assert_eq!((overloaded.class, overloaded.end), (FailureClass::Transient, None));
        assert_eq!(read(402, &[], "").class, FailureClass::Fatal);
    }

    #[test]
    fn only_refusal_is_for_all_tasks() {
        for (text, is_for_all) in [
            ("Invalid API key · Please run /login", true),
            ("Credit balance is too low", true),
            ("unexpected status 401 Unauthorized", true),
            ("API Error: 403 forbidden", true),
            ("Prompt is too long", false),
            ("expected 200, got Unauthorized", false),
            ("jq: command not found", false),
            ("API Error: 500", false),
        ] {
            assert_eq!(FailureNotice::read(text).is_for_all_tasks, is_for_all, "{text}");
        }
        assert!(FailureNotice::of_response(403, None, std::iter::empty(), "").is_for_all_tasks);
        assert!(!FailureNotice::of_response(404, None, std::iter::empty(), "no such model").is_for_all_tasks);
    }

    #[test]
    fn only_usage_limit_has_end() {
        assert!(FailureNotice::read("usage limit, try again in 2 hours").end.is_some());
        assert_eq!(FailureNotice::read("overloaded, try again in 2 hours").end, None);
    }
}
