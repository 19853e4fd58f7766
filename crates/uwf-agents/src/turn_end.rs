//! Rejects a turn that did not end well: it has no answer, whatever its text.

use agent_kit::{Error, ErrorKind, Result};
use uwf_core::failure_class::FailureNotice;
use uwf_core::text::ellipsize;
use uwf_engine::attempt::recorded::AttemptOpening;

use crate::trace::{ParsedTrace, TraceEnding};

/// Characters shown of a program's error message.
const SHOWN: usize = 200;

/// Checks how the last turn of a trace ended. A trace in which nothing was understood passes: it has no answer anyway, for another reason.
///
/// # Errors
/// `AgentFailed` if it did not end well.
pub(crate) fn check(opened: &AttemptOpening, trace: &ParsedTrace) -> Result<()> {
    let name = &opened.agent.name;
    let failed = |how: &str| Error::new(ErrorKind::AgentFailed, format!("agent `{name}` {how}"));
    match &trace.ending {
        TraceEnding::Good => Ok(()),
        TraceEnding::Bad(how) => Err(failed(how)),
        TraceEnding::Failed(words) => {
            let error = failed(&format!("failed: {}", first_words(words)));
            Err(with_notice(error, trace.notice.as_ref(), words))
        }
        TraceEnding::Unknown if trace.turns.is_empty() && trace.answer.is_none() => Ok(()),
        TraceEnding::Unknown => {
            let last = trace.last_event.as_ref().map(|last| format!("; the last event in its trace is `{last}`"));
            let error = failed(&format!("did not say how its turn ended{}", last.unwrap_or_default()));
            Err(match &trace.last_said {
                Some(_) => error.hint(format!(
                    "`uwf thread step {} --reextract` takes its last message as its answer",
                    opened.thread
                )),
                None => error,
            })
        }
    }
}

/// An error with what the trace, or otherwise the program's own words, say about the failure.
pub(crate) fn with_notice(error: Error, notice: Option<&FailureNotice>, words: &str) -> Error {
    match notice {
        Some(notice) => error.with_notice(notice),
        None => error.with_last_words(words),
    }
}

/// The first line with a letter or a digit.
fn first_words(text: &str) -> String {
    let line = text.lines().find(|line| line.contains(char::is_alphanumeric)).unwrap_or(text);
    ellipsize(line.trim(), SHOWN).into_owned()
}
