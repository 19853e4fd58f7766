//! From a stored step to a moved head.

use json_cas::{NodeHash, SwapOutcome};
use uwf_core::agent_name::AgentName;
use uwf_core::moderator::NextAction;

use super::ancestors::OF_ATTEMPTS;
use super::check;
use super::failure::HeadMoveFailure;
use super::{StepInProgress, StepReport, UpcomingRole};
use crate::attempt::agent_process::SignalListener;
use crate::attempt::branch_outlook;
use crate::attempt::recorded::{self, AttemptOpening, FinishedStep};
use crate::attempt::snapshot::StepFiles;
use crate::error::Result;
use crate::root::log::log;
use crate::root::marks::{self, ThreadMark};
use crate::thread::chain::Record;
use crate::thread::ending::ThreadEnding;
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::verbs::step::end;

/// A step that an agent's process has stored, or claims to have.
#[must_use]
pub(crate) struct StoredStep<'s, 'a, 'h> {
    step: &'s StepInProgress<'a, 'h>,
    opened: AttemptOpening,
    hash: NodeHash,
    /// The line of the thread's record that says the step was finished, if there is one.
    finished: Option<FinishedStep>,
    /// Whether an earlier attempt left it.
    is_adopted: bool,
}

impl<'s, 'a, 'h> StoredStep<'s, 'a, 'h> {
    pub(crate) fn new(
        step: &'s StepInProgress<'a, 'h>,
        opened: &AttemptOpening,
        hash: NodeHash,
        finished: Option<FinishedStep>,
    ) -> StoredStep<'s, 'a, 'h> {
        StoredStep { step, opened: opened.clone(), hash, finished, is_adopted: false }
    }

    /// Marks the step as left by an attempt whose keeper is gone.
    pub(super) fn adopted(self) -> StoredStep<'s, 'a, 'h> {
        StoredStep { is_adopted: true, ..self }
    }

    /// Checks the step and all nodes it brings along, and makes sure that they are durable.
    ///
    /// A `finished` line counts only if its digest matches the verified nodes: then uwf wrote it, after syncing those nodes. Another
    /// program wrote any other line.
    pub(crate) fn verify(self) -> Result<VerifiedStep<'s, 'a, 'h>> {
        let StoredStep { step, opened, hash, finished, is_adopted } = self;
        // Once the record says that it was finished, the record references the step.
        let _hold = step.home.hold_nodes()?;
        let role = step.plan.role(&opened.role)?;
        let checked = check::step(step.thread, &opened.role, role, hash, opened.digest)?;
        let is_known = finished.is_some_and(|finished| finished.step == hash && finished.digest == checked.digest);
        if is_known {
            // `gc` on another machine doesn't know the line.
            step.home.peers().confirm_nodes(step.home.store(), &checked.nodes)?;
        } else {
            step.home.store().objects().sync(&checked.nodes)?;
            recorded::finished(step.home, &opened.thread, &opened.attempt, hash, checked.digest)?;
        }
        Ok(VerifiedStep { step, opened, moved: checked.thread, is_adopted })
    }
}

/// A step that may become the head: sound, durable and on record.
#[must_use]
pub(crate) struct VerifiedStep<'s, 'a, 'h> {
    step: &'s StepInProgress<'a, 'h>,
    opened: AttemptOpening,
    /// The thread with this step as its head.
    moved: Thread<'h>,
    is_adopted: bool,
}

impl<'s, 'a, 'h> VerifiedStep<'s, 'a, 'h> {
    /// Records the files of the thread's worktree, if it has one, and moves the head. If another process has moved the head or ended the
    /// thread meanwhile, the step stays unlinked and the error names it. If the move itself fails, it may have taken effect anyway.
    pub(crate) fn link(self) -> Result<LinkedStep<'s, 'a, 'h>> {
        let VerifiedStep { step, opened, moved, is_adopted } = self;
        let files = step.record_files(&opened, moved.head)?;
        let unmoved = match step.home.heads().swap(step.thread.id.as_str(), &step.head.version, moved.head) {
            Ok(SwapOutcome::Done) => {
                let linked = LinkedStep { step, opened, moved, files };
                linked.tidy(is_adopted);
                return Ok(linked);
            }
            // Another machine has already adopted this step.
            Ok(SwapOutcome::Moved(Some(now))) if now.hash == moved.head => {
                let linked = LinkedStep { step, opened, moved, files };
                linked.tidy(is_adopted);
                return Ok(linked);
            }
            Ok(SwapOutcome::Moved(now)) => HeadMoveFailure::Elsewhere(now),
            Err(failed) => HeadMoveFailure::Unsure(failed),
        };
        Err(step.unmoved(&opened, moved.head, unmoved))
    }
}

/// A step that is the head.
#[must_use]
pub(crate) struct LinkedStep<'s, 'a, 'h> {
    step: &'s StepInProgress<'a, 'h>,
    opened: AttemptOpening,
    moved: Thread<'h>,
    /// Result for the files in its worktree.
    files: Option<StepFiles>,
}

impl LinkedStep<'_, '_, '_> {
    /// Updates everything derived from the head. It is optional, so a failure does not fail the step.
    fn tidy(&self, is_adopted: bool) {
        let LinkedStep { step, opened, moved, .. } = self;
        let thread = step.thread;
        if let (Ok(chain), Some(last)) = (thread.chain(), &moved.last) {
            chain.append(step.home, &thread.id, Record::from_step_node(moved.head, last));
        }
        let done = marks::clear(step.home, &thread.id, &OF_ATTEMPTS)
            .and_then(|()| recorded::linked(step.home, opened, is_adopted));
        if let Err(error) = done {
            let why = error.message;
            log!(step.log, "T9C4W2HB", Warn, "the step is linked, but its attempt was not concluded: {why}");
        }
    }

    /// Determines what comes next, and ends the thread if that was its last step. The head has moved, and a moderator failure must not
    /// undo that, so the failure becomes part of the report.
    pub(crate) fn look_ahead(self, signals: &mut SignalListener) -> StepReport {
        let LinkedStep { step, opened, moved, files } = &self;
        let session = moved.last.as_ref().and_then(|last| nodes::session(step.home.store(), last.detail));
        let report = StepReport {
            role: Some(opened.role.clone()),
            denied: session.map(|session| nodes::denied_in_session(&session)).unwrap_or_default(),
            agent: moved.last.as_ref().map(|last| AgentName { agent: last.agent.clone(), ..opened.agent.names() }),
            fallback_for: opened.fallback_for.clone(),
            files: files.clone(),
            ..step.report(moved.head)
        };
        self.ahead(&report, signals).unwrap_or_else(|error| {
            log!(step.log, "H5W1YJ7S", Warn, "the moderator failed after the head moved: {}", error.message);
            StepReport { next: Some(UpcomingRole::Error(error.message)), ..report }
        })
    }

    /// Whether the thread is a branch that was paused during this step.
    fn is_paused_branch(&self) -> Result<bool> {
        let LinkedStep { step, moved, .. } = self;
        Ok(step.plan.settings.branch.is_some() && marks::read(step.home, &moved.id, ThreadMark::Paused)?.is_some())
    }

    fn ahead(&self, report: &StepReport, signals: &mut SignalListener) -> Result<StepReport> {
        let LinkedStep { step, moved, .. } = self;
        let decision = step.next_of(moved)?;
        let explain_next = step.request.explain.then(|| branch_outlook::explain(moved, &step.plan.workflow, &decision));
        let report = StepReport { explain_next, ..report.clone() };
        Ok(match &decision.next {
            // Its group would continue.
            NextAction::End(_) if self.is_paused_branch()? => report,
            NextAction::End(_) => {
                let summary = step.advisors(moved).summary(signals);
                let ending = ThreadEnding::by(&decision);
                end::end(moved, &moved.current_head()?, ending.clone(), Some(&step.plan.workflow), summary)?;
                report.ended(ending)
            }
            NextAction::Role(role) => match step.advisors(moved).objection(signals) {
                Some(why) => {
                    let ending = ThreadEnding::stopped(&why);
                    end::end(moved, &moved.current_head()?, ending.clone(), None, None)?;
                    report.ended(ending)
                }
                None => StepReport { next: Some(UpcomingRole::Role(role.clone())), ..report },
            },
        })
    }
}
