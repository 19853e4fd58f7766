//! The answer that came first: a second one is refused with its author and time.

use std::fmt;

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;
use uwf_core::view;

use super::NOT_RECORDED;
use crate::attempt::recorded::{AttemptReply, RecordedAttempt, ThreadRecord};
use crate::error::{EarlierAnswer, Error, ErrorCause};
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::verbs::step::newest_attempt::NewestAttempt;

/// An answer of a person that counts.
pub(super) struct FirstAnswer {
    thread: ThreadId,
    role: String,
    by: Option<String>,
    /// Unix milliseconds.
    at: u64,
}

/// The answer of a person that became the step after a head; `None` if there is no such step, or if a person did not answer it.
pub(super) fn to_step(thread: &Thread<'_>, head: Option<NodeHash>) -> Option<FirstAnswer> {
    let (head, chain) = (head?, thread.chain().ok()?);
    let before = chain.records().iter().position(|record| record.step == head).map(|index| index + 1);
    let index = before.or_else(|| (head == thread.start_hash).then_some(0))?;
    in_step(thread, index)
}

/// The answer of a person that became the last step.
pub(super) fn in_last_step(thread: &Thread<'_>) -> Option<FirstAnswer> {
    in_step(thread, thread.chain().ok()?.len().checked_sub(1)?)
}

fn in_step(thread: &Thread<'_>, index: usize) -> Option<FirstAnswer> {
    let step = thread.chain().ok()?.get(index)?;
    let store = thread.home().store();
    let by = nodes::answered_by(&nodes::session(store, step.detail)?)?;
    let (node, at) = nodes::step_node(store, step.step).ok()?;
    Some(FirstAnswer { thread: thread.id.clone(), role: node.role, by: Some(by), at })
}

/// The reply to the question of an attempt, if it has one.
pub(super) fn to_question(record: &ThreadRecord, attempt: Option<NewestAttempt>) -> Option<FirstAnswer> {
    let Some(NewestAttempt::Is(id)) = attempt else { return None };
    let id = id.to_string();
    FirstAnswer::of_attempt(record.all().iter().find(|attempt| attempt.opened.attempt == id)?)
}

impl FirstAnswer {
    /// The reply to the question of an attempt, if it has one.
    pub(super) fn of_attempt(attempt: &RecordedAttempt) -> Option<FirstAnswer> {
        let opened = &attempt.opened;
        attempt.replied.as_ref().map(|replied| FirstAnswer::of_reply(&opened.role, &opened.thread, replied))
    }

    pub(super) fn of_reply(role: &str, thread: &ThreadId, replied: &AttemptReply) -> FirstAnswer {
        FirstAnswer { thread: thread.clone(), role: role.to_owned(), by: replied.by.clone(), at: replied.replied_at }
    }

    /// The error for a second answer.
    pub(super) fn refusal(self) -> Error {
        let shows = format!("`uwf thread read {}` shows the answer", self.thread);
        let cause = ErrorCause::Answered(Box::new(EarlierAnswer { by: self.by.clone(), at: self.at }));
        Error::busy(self.to_string()).hint(NOT_RECORDED).hint(shows).with_cause(cause)
    }
}

impl fmt::Display for FirstAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FirstAnswer { thread, role, by, at } = self;
        let by = by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        write!(out, "role `{role}` of thread {thread} was already answered{by} at {} UTC", view::time(*at))
    }
}
