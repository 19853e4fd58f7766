//! Failures that an agent's program reports as if they were the answer: no credit, no login, a limit, an API that failed.
//!
//! Some programs exit with 0 then, and mark the result as a success. The notice is recognized only as the whole answer, so that an answer
//! about such failures is still read. A notice over several lines is recognized only if the answer has no value.

use uwf_core::failure_words::notice_line;
use uwf_engine::error::{Error, ErrorKind};

use crate::answer::AgentAnswer;

/// Most lines of a notice, such as an error of an API with its JSON; more are prose.
const MOST_LINES: usize = 12;

/// Returns the failure that an answer without a value consists of.
pub(crate) fn find_failure(answer: &AgentAnswer) -> Option<&str> {
    if answer.value.is_some() { None } else { notice_line(&answer.raw) }
}

/// Returns the first line of the failure that an answer without any valid output begins with.
pub(crate) fn of_unread(answer: &AgentAnswer) -> Option<&str> {
    let text = answer.raw.trim();
    let is_short = answer.value.is_none() && text.lines().count() <= MOST_LINES;
    notice_line(text.lines().next().filter(|_| is_short)?)
}

/// Whether other agents would fail for the same reason: a wrong configuration, a missing program, a refused login, no credit.
#[must_use]
pub fn is_for_all(error: &Error) -> bool {
    match error.kind {
        ErrorKind::Config => true,
        ErrorKind::AgentFailed => error.failure().is_some_and(|failure| failure.is_for_all_tasks),
        _ => false,
    }
}

/// The failure of an agent that reported it as its answer, of which `notice` is the first line.
pub(crate) fn failed(agent: &str, notice: &str, answer: &AgentAnswer) -> Error {
    Error::new(ErrorKind::AgentFailed, format!("agent `{agent}` failed: {notice}")).with_last_words(&answer.raw)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
