//! Results of an earlier attempt at the same position whose keeper was killed or whose answer was not stored.

use json_cas::{NameVersion, NodeHash};
use uwf_core::moderator::NextAction;

use super::check;
use super::link::{LinkedStep, StoredStep};
use super::{StepInProgress, VerifiedStep};
use crate::attempt::agent_process::SignalListener;
use crate::attempt::agents::HUMAN;
use crate::attempt::leftover::{self, AttemptRemains};
use crate::attempt::recorded::RecordedAttempt;
use crate::error::{ErrorKind, Result};
use crate::root::log::log;
use crate::thread::moderate;

/// Result of checking an earlier attempt.
#[must_use]
pub(super) enum ResumeOutcome<'s, 'a, 'h> {
    /// It had finished, and its step is now the head: the agent is not paid again.
    Linked(Box<LinkedStep<'s, 'a, 'h>>),
    /// It failed, or there was no earlier attempt.
    Failed(FailedAttempts),
}

/// The failed attempts at this position.
pub(super) struct FailedAttempts {
    /// Their nodes.
    pub(super) nodes: Vec<NodeHash>,
    /// The record of the newest attempt, if there is one.
    pub(super) newest: Option<Box<RecordedAttempt>>,
    /// The version of the note that claims the step, in a shared store.
    pub(super) note: Option<NameVersion>,
}

impl<'a, 'h> StepInProgress<'a, 'h> {
    /// Deals with everything an earlier keeper may have left. Ends the attempt's remaining processes, then links the step it recorded, or
    /// stores its agent's output as a failed attempt.
    ///
    /// Any process of the same user can write to the record. So a recorded step is verified like a fresh one. A rejected step is stored
    /// as a failure, so that it does not block the thread forever.
    pub(super) fn resume_leftover(&self, signals: &mut SignalListener) -> Result<ResumeOutcome<'_, 'a, 'h>> {
        let grace = self.plan.config.limits.kill_grace;
        let (attempt, recorded) = match leftover::left_over(self.thread, grace, self.keep_answer, signals)? {
            AttemptRemains::Nothing { earlier, last, note } => {
                return Ok(ResumeOutcome::Failed(FailedAttempts { nodes: earlier, newest: last, note }));
            }
            AttemptRemains::Step(attempt, recorded) => (attempt, recorded),
        };
        match self.adopt(&attempt, recorded) {
            Ok(linked) => Ok(ResumeOutcome::Linked(Box::new(linked))),
            Err(refused) if refused.kind == ErrorKind::AgentFailed => {
                log!(self.log, "7Q2M9XKA", Warn, "a recorded result was not adopted: {}", refused.message);
                leftover::fail(self.home, &attempt, None, &refused.message, None)?;
                // The attempt is concluded now, so nothing is left to adopt.
                self.resume_leftover(signals)
            }
            Err(other) => Err(other),
        }
    }

    /// Links the recorded step of an earlier attempt, if it is of the role whose turn it is.
    pub(crate) fn adopt(&self, attempt: &RecordedAttempt, recorded: NodeHash) -> Result<LinkedStep<'_, 'a, 'h>> {
        let role = &attempt.opened.role;
        let next = match moderate::next(self.thread, &self.plan.workflow)?.next {
            NextAction::Role(next) if next == *role => {
                if attempt.opened.machine.is_some() {
                    self.fetch_files(recorded, &attempt.opened.agent)?;
                }
                let stored = StoredStep::new(self, &attempt.opened, recorded, attempt.finished.clone());
                // A step that a person submitted is not reported as adopted: nothing went wrong.
                let stored = if attempt.opened.agent.is_built_in(HUMAN) { stored } else { stored.adopted() };
                return stored.verify().and_then(VerifiedStep::link);
            }
            NextAction::Role(next) => Some(next),
            NextAction::End(_) => None,
        };
        let turn = next
            .map_or_else(|| "the thread is at its end".to_owned(), |next| format!("it is the turn of role `{next}`"));
        Err(check::refused(format!(
            "the recorded result {recorded} was refused: it is one of role `{role}`, but {turn}"
        )))
    }
}
