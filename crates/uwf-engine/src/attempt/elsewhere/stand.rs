//! Why a thread that another machine stepped last does not continue: this machine has no mark for it.

use serde::{Deserialize, Serialize};

use crate::attempt::recorded::{Attempt, Outcome};
use crate::error::ErrorKind;
use crate::root::marks::{Mark, Reason};
use crate::thread::state::State;

/// The state of a thread after an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stand {
    pub(crate) state: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<Reason>,
}

impl Stand {
    pub(crate) fn after(attempt: &Attempt) -> Stand {
        let active = Stand { state: State::Active, reason: None };
        let Some(closed) = &attempt.closed else { return active };
        let cause = attempt.gave_up.as_ref().map(|gave_up| gave_up.kind);
        let (state, mark) = match closed.outcome {
            Outcome::Failed if cause.is_some_and(ErrorKind::is_stop) => return active,
            Outcome::Failed | Outcome::Suspended if cause == Some(ErrorKind::Limit) => (State::Limited, Mark::Limited),
            Outcome::Failed => (State::Stuck, Mark::Stuck),
            Outcome::Asked | Outcome::Suspended if attempt.replied.is_none() => (State::Waiting, Mark::Waiting),
            Outcome::Asked | Outcome::Suspended | Outcome::Linked | Outcome::Quarantined => return active,
        };
        let question = attempt.gave_up.as_ref().and_then(|gave_up| gave_up.question.as_deref());
        let why = question.or(closed.error.as_deref()).unwrap_or_default();
        let reason = Reason { since: closed.closed_at, ..Reason::of(mark, &attempt.opened.role, why) };
        Stand { state, reason: Some(reason) }
    }
}
