//! The words in which programs and providers say why they failed: one table for the class of a failure, and for an answer that is only such
//! a notice.

use crate::limit_end;

/// Most words before a part of a notice; more are prose.
const MOST_WORDS_BEFORE: usize = 6;

/// Meaning of the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticeMeaning {
    /// The account has no credit. Waiting does not help.
    NoCredit,
    /// The account has used up what it may use for now.
    UsageLimit,
    /// It fails until a person changes something.
    Fatal,
    /// The task is too large for the model.
    TooLarge,
    /// The network or the provider failed.
    Transient,
    /// Nothing more than that it failed.
    Failed,
}

/// Where the words stand in a line that is only a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoticePlace {
    /// At its beginning, before a sign.
    Opening,
    /// After a name or a period, before a sign: "Claude AI usage limit reached".
    Part,
    /// Like a part, but a name follows: "You've hit your weekly limit".
    Lead,
    /// Anywhere, so that the line may be about something else.
    Within,
}

use NoticeMeaning::{Failed, Fatal, NoCredit, TooLarge, Transient, UsageLimit};
use NoticePlace::{Lead, Opening, Part, Within};

/// The words of Claude Code, codex, gemini, opencode, hermes and the providers, in lower case.
const NOTICE_WORDS: [(NoticeMeaning, NoticePlace, &[&str]); 13] = [
    (
        NoCredit,
        Opening,
        &[
            "credit balance is too low",
            "credit balance too low",
            "insufficient quota",
            "quota exceeded. check your plan",
        ],
    ),
    (
        NoCredit,
        Within,
        &[
            "credit balance",
            "insufficient_quota",
            "insufficient credit",
            "insufficient balance",
            "billing_error",
            "out of credits",
        ],
    ),
    (UsageLimit, Opening, &["quota exceeded", "you're out of extra usage", "free usage exceeded"]),
    (UsageLimit, Part, &["limit reached"]),
    (UsageLimit, Lead, &["you've hit your", "you've reached your", "you have hit your", "you have reached your"]),
    (
        UsageLimit,
        Within,
        &[
            "usage limit",
            "usage_limit",
            "usagelimit",
            "freeusagelimit",
            "usage exceeded",
            "usage quota",
            "hit your",
            "rate limit",
            "rate_limit",
            "ratelimit",
            "out of extra usage",
            "quota will reset",
            "exhausted your",
            "exceeded your current quota",
            "resource_exhausted",
            "resource has been exhausted",
            "too many requests",
        ],
    ),
    (
        Fatal,
        Opening,
        &[
            "invalid api key",
            "missing api key",
            "not logged in",
            "login expired",
            "session expired",
            "your session has expired",
            "oauth token revoked",
            "oauth token has expired",
            "your account does not have access to claude",
            "your organization does not have access to claude",
            "this organization has been disabled",
            "your organization has been disabled",
        ],
    ),
    (Fatal, Part, &["please run /login", "run claude auth login", "run codex login"]),
    (
        Fatal,
        Within,
        &[
            "api key",
            "api_key",
            "run /login",
            "claude auth login",
            "codex login",
            "session has expired",
            "oauth token",
            "authentication_error",
            "authentication error",
            "authentication failed",
            "unauthorized",
            "refuses access",
            "does not have access",
            "has been disabled",
            "not found in path",
            "command not found",
            "model not found",
        ],
    ),
    (TooLarge, Opening, &["prompt is too long"]),
    (TooLarge, Within, &["context length", "context window"]),
    (Failed, Opening, &["api error", "api call failed after 3 retries", "reached max turns", "execution error"]),
    (
        Transient,
        Within,
        &[
            "overloaded",
            "internal server error",
            "service unavailable",
            "bad gateway",
            "gateway timeout",
            "temporarily unavailable",
            "high demand",
            "is at capacity",
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
        ],
    ),
];

/// Endings of the names of errors, such as `RateLimitExceededError`.
const ENDINGS: [&str; 8] = ["_", "error", "exceeded", "reached", "exhausted", "limited", "ed", "s"];

/// Words before a notice of a usage limit: `Error: HTTP 429: …`.
const LIMIT_LEADS: [&str; 7] = ["error", "fatal", "api", "http", "status", "code", LIMIT_STATUS];

/// The HTTP status of a usage limit.
const LIMIT_STATUS: &str = "429";

/// Beginnings of sentences with which programs report a usage limit.
const LIMIT_SENTENCES: [&str; 5] = [
    "exceeded retry limit, last status: 429",
    "you exceeded your current quota",
    "you have exhausted your",
    "your quota will reset",
    "this request would exceed your account's rate limit",
];

/// Words that follow a lead in a notice: "You've reached your weekly limit".
const LIMIT_NOUNS: [&str; 3] = ["limit", "quota", "allowance"];

/// Names of limits. Alone, they may be the heading of a test.
const LIMIT_NAMES: [&str; 6] = ["usage_limit", "usagelimit", "usage quota", "rate limit", "rate_limit", "ratelimit"];

/// Verbs behind the name of a limit.
const LIMIT_VERBS: [&str; 4] = ["exceeded", "reached", "exhausted", "hit"];

/// A text as the table has it.
pub(crate) fn lower(text: &str) -> String {
    text.replace('’', "'").to_ascii_lowercase()
}

/// Whether a text in lower case has words of this meaning.
pub(crate) fn means(lower: &str, meaning: NoticeMeaning) -> bool {
    let words = NOTICE_WORDS.into_iter().filter(|(known, ..)| *known == meaning).flat_map(|(.., words)| words);
    words.into_iter().any(|words| lower.match_indices(words).any(|(at, _)| is_whole(lower, at, words)))
}

/// Whether the words at a position are not a part of something else. `test_rate_limit`, `rate_limit.rs` and `client::rate_limit` are names in
/// the work of the agent.
fn is_whole(lower: &str, at: usize, words: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let (before, behind) = (&lower[..at], &lower[at + words.len()..]);
    let letters = behind.find(|c| !is_letter(c)).unwrap_or(behind.len());
    let (ending, rest) = behind.split_at(letters);
    if before.ends_with(is_letter) || !is_ending(ending) {
        return false;
    }
    let begin = before.rfind(|c: char| !is_letter(c) && !matches!(c, '/' | ':' | '.' | '-')).map_or(0, |at| at + 1);
    let begin = before.ceil_char_boundary(begin);
    let is_in_path = before[begin..].contains('/') || before[begin..].contains("::");
    let goes_on = |sign: &str| rest.strip_prefix(sign).is_some_and(|rest| rest.starts_with(is_letter));
    words.contains(' ') || !(is_in_path || ["/", "::", "."].into_iter().any(goes_on))
}

fn is_ending(letters: &str) -> bool {
    letters.is_empty() || ENDINGS.iter().any(|ending| letters.strip_prefix(ending).is_some_and(is_ending))
}

/// Returns the text without the space around it, if it is one line that is only a notice.
#[must_use]
pub fn notice_line(text: &str) -> Option<&str> {
    let line = text.trim();
    (!line.contains('\n') && is_notice(&lower(line), |_| true)).then_some(line)
}

/// Whether a line in lower case is only a notice. `may_precede` judges what stands before a part.
fn is_notice(lower: &str, may_precede: impl Fn(&str) -> bool) -> bool {
    let words = lower.trim_start_matches('[');
    let words = words.strip_prefix("error: ").unwrap_or(words);
    let has_part = |part: &str, fits: fn(&str) -> bool| {
        let Some((before, after)) = words.split_once(part) else { return false };
        let is_short = before.split_whitespace().count() <= MOST_WORDS_BEFORE;
        is_short && may_precede(before) && fits(after)
    };
    let is_at = |place: NoticePlace, known: &str| match place {
        Opening => words.strip_prefix(known).is_some_and(ends_here),
        Part => has_part(known, ends_here),
        Lead => has_part(known, names_limit),
        Within => false,
    };
    NOTICE_WORDS.iter().any(|(_, place, known)| known.iter().any(|known| is_at(*place, known)))
}

/// Whether a line of a program that uwf does not know may be a notice of a usage limit. Tests print such words within their lines:
/// `FAILED: too many requests are let through`, `AssertionError: status 429 != 200`.
pub(crate) fn is_limit_line(line: &str) -> bool {
    let lower = lower(line.trim());
    // A name before a colon is a test, or the error of an assertion.
    if is_notice(&lower, |before| !before.contains(':')) || is_limit_error(&lower) {
        return true;
    }
    let (words, has_status) = without_leads(&lower);
    let is_sentence = LIMIT_SENTENCES.iter().any(|sentence| words.starts_with(sentence));
    let is_status = has_status && (words.is_empty() || words.starts_with([',', ';', '.']) && has_end(words));
    is_sentence || is_status || opens_with_limit(words)
}

/// Whether a line begins with the name of an error class: `openai.RateLimitError: …`.
fn is_limit_error(lower: &str) -> bool {
    let name = lower.split_once(':').map_or(lower, |(name, _)| name);
    name.ends_with("error") && !name.contains(char::is_whitespace) && means(name, UsageLimit)
}

/// A line after the words that introduce a notice, and whether the status of a usage limit is one of them.
fn without_leads(lower: &str) -> (&str, bool) {
    let (mut rest, mut has_status) = (lower, false);
    loop {
        let next = rest.trim_start_matches([' ', '[', '(', ':', '-']);
        let end = next.find(|c: char| !c.is_alphanumeric()).unwrap_or(next.len());
        let word = &next[..end];
        if !LIMIT_LEADS.contains(&word) {
            return (next, has_status);
        }
        has_status |= word == LIMIT_STATUS;
        rest = next[end..].trim_start_matches([')', ']']);
    }
}

/// Whether a line begins with the words of a usage limit that no sentence continues.
fn opens_with_limit(words: &str) -> bool {
    let known = NOTICE_WORDS.into_iter().filter(|(meaning, ..)| *meaning == UsageLimit).flat_map(|(.., known)| known);
    known.into_iter().any(|known| {
        let Some(behind) = words.strip_prefix(known) else { return false };
        let letters = behind.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(behind.len());
        let (ending, rest) = behind.split_at(letters);
        let rest = rest.trim_start();
        let after_verb = LIMIT_VERBS.iter().find_map(|verb| rest.strip_prefix(verb));
        let is_name = LIMIT_NAMES.contains(known) && after_verb.is_none() && !ending.ends_with("ed");
        let rest = after_verb.unwrap_or(rest).trim_start();
        is_ending(ending) && (ends_here(rest) || rest.starts_with("for ")) && (!is_name || has_end(rest))
    })
}

fn has_end(text: &str) -> bool {
    limit_end::find(text).is_some()
}

/// Whether a notice can be complete before this rest: a sign follows, not the next word of a sentence.
fn ends_here(rest: &str) -> bool {
    !rest.trim_start().starts_with(char::is_alphanumeric)
}

/// Whether the words after a lead name a limit.
fn names_limit(rest: &str) -> bool {
    let mut words = rest.split_whitespace().take(MOST_WORDS_BEFORE);
    words.any(|word| LIMIT_NOUNS.iter().any(|noun| word.starts_with(noun)))
}

/// The notice that a program printed among its work: from the last line that is only a notice, or else the last line.
#[must_use]
pub fn printed_notice(text: &str) -> &str {
    let text = text.trim();
    let begin_of = |line: &str| line.as_ptr() as usize - text.as_ptr() as usize;
    let mut lines = text.lines().rev();
    let last = lines.next().unwrap_or_default();
    let line = std::iter::once(last).chain(lines).find(|line| notice_line(line).is_some()).unwrap_or(last);
    &text[begin_of(line)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_of_programs_are_recognized() {
        for text in [
            "Credit balance is too low\n",
            "Credit balance is too low · Add funds: https://platform.claude.com/settings/billing",
            "Invalid API key · Please run /login",
            "Invalid API key · Fix external API key",
            "Not logged in · Please run /login",
            "OAuth token revoked · Please run /login",
            "Please run /login · API Error: 401 {\"type\":\"error\"}",
            "Your session has expired. Please run /login to sign in again.",
            "API Error: 529 Overloaded",
            "[API Error: 429 quota]",
            "API call failed after 3 retries: HTTP 429: Rate limit reached. Try again in 2 hours.",
            "Error: Reached max turns (3)",
            "Claude AI usage limit reached|1735689600",
            "5-hour limit reached ∙ resets 3pm",
            "You've hit your usage limit. Upgrade to Pro, or try again at 3:04 PM.",
            "You’ve hit your limit · resets 3pm (Europe/Vienna)",
            "You've reached your usage limit.",
            "You have hit your usage limit.",
            "Quota exceeded. Check your plan and billing details.",
            "You're out of extra usage · resets 3pm (UTC)",
            "Free usage exceeded, subscribe to Go",
            "Prompt is too long",
        ] {
            assert_eq!(notice_line(text), Some(text.trim()));
        }
    }

    #[test]
    fn limit_of_unknown_program_is_whole_line() {
        for (is_limit, text) in [
            (true, "usage limit"),
            (true, "usage limit, try again in 2 hours"),
            (true, "Claude AI usage limit reached|1735689600"),
            (true, "5-hour limit reached ∙ resets 3pm"),
            (true, "You've hit your weekly limit"),
            (true, "You've reached your usage limit."),
            (true, "You have hit your usage limit."),
            (false, "You've reached your destination: all tests pass."),
            (true, "HTTP 429: rate limit exceeded, please retry in 120m"),
            (true, "Error: 429 Too Many Requests"),
            (true, "Error: 429, retry in 1s"),
            (true, "HTTP 429"),
            (true, "[API Error: 429 quota]"),
            (true, "Rate limit reached for gpt-5 in organization org-x on tokens per min."),
            (true, "openai.RateLimitError: Error code: 429 - {'error': 1}"),
            (true, "exceeded retry limit, last status: 429 Too Many Requests"),
            (false, "E  AssertionError: status 429 != 200"),
            (false, "status 429 != 200"),
            (false, "FAILED: too many requests are let through by the limiter"),
            (false, "FAILED tests/test_x.py::test_limit - AssertionError: limit reached"),
            (false, "AssertionError: you've hit your limit"),
            (false, "expected: too many requests"),
            (false, "too many requests are let through"),
            (false, "  rate limit"),
            (false, "the rate limit is tested"),
            (false, "test rate_limit::waits ... FAILED"),
        ] {
            assert_eq!(is_limit_line(text), is_limit, "{text}");
        }
    }

    #[test]
    fn answers_about_failures_are_answers() {
        for text in [
            "API error handling was added to the client.",
            "Invalid API keys are rejected now.",
            "Not logged in users see the login page.",
            "The page says `Credit balance is too low` if the account has no credit.",
            "The request fails with 429 as soon as the rate limit reached by the client is over the quota.",
            "When you have used the trial up, the page shows: you've hit your limit.",
            "Credit balance is too low\n---\napproved: true\n---",
            "I approve.",
            "You have reached your goal, and no test fails.",
            "",
        ] {
            assert_eq!(notice_line(text), None, "{text}");
        }
    }

    #[test]
    fn printed_notice_is_distinguished_from_work() {
        assert_eq!(printed_notice("the rate limit works\n\nall done\n"), "all done");
        assert_eq!(printed_notice("work\nAPI Error: 429 {\n  \"x\": 1\n}\n"), "API Error: 429 {\n  \"x\": 1\n}");
        assert_eq!(printed_notice("limit reached|1749924000\nbye"), "limit reached|1749924000\nbye");
        assert_eq!(printed_notice(""), "");
    }
}
