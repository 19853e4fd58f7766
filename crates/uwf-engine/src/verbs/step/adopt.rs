//! What an earlier attempt at the same position left, when its keeper was killed or its answer was not kept.

use json_cas::{Hash, Version};
use uwf_core::moderator::Next;

use super::check;
use super::link::{Linked, Stored};
use super::{Step, Verified};
use crate::attempt::agent_process::Signals;
use crate::attempt::agents::HUMAN;
use crate::attempt::leftover::{self, Left};
use crate::attempt::recorded::Attempt;
use crate::error::{ErrorKind, Result};
use crate::root::log::log;
use crate::thread::moderate;

/// What became of an earlier attempt.
#[must_use]
pub(super) enum Resumed<'s, 'a, 'h> {
    /// It had finished, and its step is the head now: nobody is paid again.
    Linked(Box<Linked<'s, 'a, 'h>>),
    /// It failed, or there was none.
    Failed(FailedAttempts),
}

/// The attempts that failed at this position.
pub(super) struct FailedAttempts {
    /// Their nodes.
    pub(super) nodes: Vec<Hash>,
    /// The record of the newest attempt, if there was one.
    pub(super) newest: Option<Box<Attempt>>,
    /// The version of the note by which the step is claimed, where machines share the store.
    pub(super) note: Option<Version>,
}

impl<'a, 'h> Step<'a, 'h> {
    /// Deals with everything an earlier keeper may have left: ends what still runs of its attempt, and links the step it
    /// recorded, or else keeps what its agent printed as a failed attempt.
    ///
    /// The record is a file that any process of the same user can write to. So a recorded step is verified like a fresh one,
    /// and one that is refused is kept as a failure instead of standing in the way for ever.
    pub(super) fn resume_leftover(&self, signals: &mut Signals) -> Result<Resumed<'_, 'a, 'h>> {
        let grace = self.plan.config.limits.kill_grace;
        let (attempt, recorded) = match leftover::left_over(self.thread, grace, signals)? {
            Left::Nothing { earlier, last, note } => {
                return Ok(Resumed::Failed(FailedAttempts { nodes: earlier, newest: last, note }));
            }
            Left::Step(attempt, recorded) => (attempt, recorded),
        };
        match self.adopt(&attempt, recorded) {
            Ok(linked) => Ok(Resumed::Linked(Box::new(linked))),
            Err(refused) if refused.kind == ErrorKind::AgentFailed => {
                log!(self.log, "7Q2M9XKA", Warn, "a recorded result was not adopted: {}", refused.message);
                leftover::fail(self.home, &attempt, None, &refused.message)?;
                // It is concluded now, so there is nothing to adopt.
                self.resume_leftover(signals)
            }
            Err(other) => Err(other),
        }
    }

    /// Links the recorded step of an earlier attempt, if it is one of the role whose turn it is.
    pub(crate) fn adopt(&self, attempt: &Attempt, recorded: Hash) -> Result<Linked<'_, 'a, 'h>> {
        let role = &attempt.opened.role;
        let next = match moderate::next(self.thread, &self.plan.workflow)?.next {
            Next::Role(next) if next == *role => {
                if attempt.opened.machine.is_some() {
                    self.fetch_files(recorded, &attempt.opened.agent)?;
                }
                let stored = Stored::new(self, &attempt.opened, recorded, attempt.finished.clone());
                // What a person has handed in is taken over at once: nothing went wrong.
                let stored = if attempt.opened.agent.is_built_in(HUMAN) { stored } else { stored.adopted() };
                return stored.verify().and_then(Verified::link);
            }
            Next::Role(next) => Some(next),
            Next::End(_) => None,
        };
        let turn = next
            .map_or_else(|| "the thread is at its end".to_owned(), |next| format!("it is the turn of role `{next}`"));
        Err(check::refused(format!(
            "the recorded result {recorded} was refused: it is one of role `{role}`, but {turn}"
        )))
    }
}
