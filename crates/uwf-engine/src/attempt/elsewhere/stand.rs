//! Why a thread that another machine stepped last does not continue: this machine has no mark for it.

use serde::{Deserialize, Serialize};

use crate::attempt::recorded::{AttemptOutcome, RecordedAttempt};
use crate::error::{AttemptFailure, ErrorKind};
use crate::root::marks::{MarkReason, ThreadMark};
use crate::thread::state::ThreadState;

/// The state of a thread after an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PostAttemptState {
    pub(crate) state: ThreadState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<MarkReason>,
}

impl PostAttemptState {
    pub(crate) fn after(attempt: &RecordedAttempt) -> PostAttemptState {
        let active = PostAttemptState { state: ThreadState::Active, reason: None };
        let Some(closed) = &attempt.closed else { return active };
        let cause = attempt.gave_up.as_ref().map(|gave_up| gave_up.kind);
        let until = closed.failure.and_then(AttemptFailure::limit_end);
        let (state, mark) = match closed.outcome {
            AttemptOutcome::Failed if cause.is_some_and(ErrorKind::is_stop) => return active,
            AttemptOutcome::Failed | AttemptOutcome::Suspended
                if cause == Some(ErrorKind::Limit) || until.is_some() =>
            {
                (ThreadState::Limited, ThreadMark::Limited)
            }
            AttemptOutcome::Failed => (ThreadState::Stuck, ThreadMark::Stuck),
            AttemptOutcome::Asked | AttemptOutcome::Suspended if attempt.replied.is_none() => {
                (ThreadState::Waiting, ThreadMark::Waiting)
            }
            AttemptOutcome::Asked
            | AttemptOutcome::Suspended
            | AttemptOutcome::Linked
            | AttemptOutcome::Quarantined => return active,
        };
        let question = attempt.gave_up.as_ref().and_then(|gave_up| gave_up.question.as_deref());
        let why = question.or(closed.error.as_deref()).unwrap_or_default();
        let reason =
            MarkReason { since: closed.closed_at, until, ..MarkReason::from_message(mark, &attempt.opened.role, why) };
        PostAttemptState { state, reason: Some(reason) }
    }
}
