//! Failures that an agent's program reports as if they were the answer: no credit, no login, a limit, an API that failed.
//!
//! Some programs exit with 0 then, and mark the result as a success. The notice is recognized only as the whole answer, so that an answer
//! about such failures is still read. A notice over several lines is recognized only if the answer has no value.

use uwf_core::failure_class::FailureNotice;
use uwf_engine::error::{Error, ErrorKind};

use crate::answer::AgentAnswer;

/// How the notices of Claude Code, codex, gemini and opencode begin.
const OPENINGS: [&str; 22] = [
    "api error",
    "credit balance is too low",
    "credit balance too low",
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
    "prompt is too long",
    "reached max turns",
    "execution error",
    "quota exceeded",
    "insufficient quota",
    "you're out of extra usage",
    "free usage exceeded",
];

/// Parts of such notices that stand after a name or a period: "Claude AI usage limit reached", "You've hit your weekly limit".
const PARTS: [&str; 5] = ["limit reached", "please run /login", "run claude auth login", "run codex login", YOUR_LIMIT];

/// The name of the limit follows.
const YOUR_LIMIT: &str = "you've hit your";

/// Most lines of a notice, such as an error of an API with its JSON; more are prose.
const MOST_LINES: usize = 12;

/// Words before a part; more are prose.
const MOST_WORDS_BEFORE: usize = 6;

/// Returns the failure that an answer without a value consists of.
pub(crate) fn find_failure(answer: &AgentAnswer) -> Option<&str> {
    if answer.value.is_some() { None } else { notice(&answer.raw) }
}

/// Returns the first line of the failure that an answer without any valid output begins with.
pub(crate) fn of_unread(answer: &AgentAnswer) -> Option<&str> {
    let text = answer.raw.trim();
    let is_short = answer.value.is_none() && text.lines().count() <= MOST_LINES;
    notice(text.lines().next().filter(|_| is_short)?)
}

/// Whether other agents would fail for the same reason: a wrong configuration, a missing program, a refused login, no credit.
#[must_use]
pub fn is_for_all(error: &Error) -> bool {
    match error.kind {
        ErrorKind::Config => true,
        ErrorKind::AgentFailed => FailureNotice::read(&error.message).is_for_all_tasks(),
        _ => false,
    }
}

/// The failure of an agent that reported it as its answer, of which `notice` is the first line.
pub(crate) fn failed(agent: &str, notice: &str, answer: &AgentAnswer) -> Error {
    Error::new(ErrorKind::AgentFailed, format!("agent `{agent}` failed: {notice}")).with_last_words(&answer.raw)
}

fn notice(text: &str) -> Option<&str> {
    let line = text.trim();
    let lower = line.replace('’', "'").to_ascii_lowercase();
    let words = lower.trim_start_matches('[');
    let words = words.strip_prefix("error: ").unwrap_or(words);
    let opens = |opening: &str| words.strip_prefix(opening).is_some_and(ends_here);
    let has = |part: &str| {
        let Some((before, after)) = words.split_once(part) else { return false };
        before.split_whitespace().count() <= MOST_WORDS_BEFORE && (ends_here(after) || part == YOUR_LIMIT)
    };
    let is_notice = !line.contains('\n') && (OPENINGS.into_iter().any(opens) || PARTS.into_iter().any(has));
    is_notice.then_some(line)
}

/// Whether a notice can be complete before this rest: a sign follows, not the next word of a sentence.
fn ends_here(rest: &str) -> bool {
    !rest.trim_start().starts_with(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_of_programs_are_recognized() {
        for text in [
            "Credit balance is too low\n",
            "Credit balance too low · Add funds: https://platform.claude.com/settings/billing",
            "Invalid API key · Please run /login",
            "Invalid API key · Fix external API key",
            "Not logged in · Please run /login",
            "OAuth token revoked · Please run /login",
            "Please run /login · API Error: 401 {\"type\":\"error\"}",
            "Your session has expired. Please run /login to sign in again.",
            "API Error: 529 Overloaded",
            "[API Error: 429 quota]",
            "Error: Reached max turns (3)",
            "Claude AI usage limit reached|1735689600",
            "5-hour limit reached ∙ resets 3pm",
            "You've hit your usage limit. Upgrade to Pro, or try again at 3:04 PM.",
            "You’ve hit your limit · resets 3pm (Europe/Vienna)",
            "You're out of extra usage · resets 3pm (UTC)",
            "Free usage exceeded, subscribe to Go",
            "Prompt is too long",
        ] {
            assert_eq!(notice(text), Some(text.trim()));
        }
    }

    #[test]
    fn notice_may_have_several_lines() {
        let of_unread = |text: &str| of_unread(&AgentAnswer::text(text.to_owned())).map(str::to_owned);
        let api = "API Error: 500 {\n  \"type\": \"error\"\n}\n";
        assert_eq!(of_unread(api).as_deref(), Some("API Error: 500 {"));
        let credit = "Credit balance is too low\n\nAdd funds: https://x.invalid\n";
        assert_eq!(of_unread(credit).as_deref(), Some("Credit balance is too low"));
        assert_eq!(of_unread(&format!("Credit balance is too low\n{}", "It fails.\n".repeat(MOST_LINES))), None);
        assert_eq!(of_unread("I looked.\nCredit balance is too low\n"), None);
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
            "",
        ] {
            assert_eq!(notice(text), None, "{text}");
        }
    }
}
