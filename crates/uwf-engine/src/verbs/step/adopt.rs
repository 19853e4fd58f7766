//! Results of an earlier attempt at the same position whose keeper was killed or whose answer was not stored.

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

/// Result of checking an earlier attempt.
#[must_use]
pub(super) enum Resumed<'s, 'a, 'h> {
    /// It had finished, and its step is now the head: the agent is not paid again.
    Linked(Box<Linked<'s, 'a, 'h>>),
    /// It failed, or there was no earlier attempt.
    Failed(FailedAttempts),
}

/// The failed attempts at this position.
pub(super) struct FailedAttempts {
    /// Their nodes.
    pub(super) nodes: Vec<Hash>,
    /// The record of the newest attempt, if there is one.
    pub(super) newest: Option<Box<Attempt>>,
    /// The version of the note that claims the step, in a shared store.
    pub(super) note: Option<Version>,
}

impl<'a, 'h> Step<'a, 'h> {
    /// Deals with everything an earlier keeper may have left. Ends the attempt's remaining processes, then links the step it recorded, or
    /// stores its agent's output as a failed attempt.
    ///
    /// Any process of the same user can write to the record. So a recorded step is verified like a fresh one. A rejected step is stored
    /// as a failure, so that it does not block the thread forever.
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
                // The attempt is concluded now, so nothing is left to adopt.
                self.resume_leftover(signals)
            }
            Err(other) => Err(other),
        }
    }

    /// Links the recorded step of an earlier attempt, if it is of the role whose turn it is.
    pub(crate) fn adopt(&self, attempt: &Attempt, recorded: Hash) -> Result<Linked<'_, 'a, 'h>> {
        let role = &attempt.opened.role;
        let next = match moderate::next(self.thread, &self.plan.workflow)?.next {
            Next::Role(next) if next == *role => {
                if attempt.opened.machine.is_some() {
                    self.fetch_files(recorded, &attempt.opened.agent)?;
                }
                let stored = Stored::new(self, &attempt.opened, recorded, attempt.finished.clone());
                // A step that a person submitted is not reported as adopted: nothing went wrong.
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
