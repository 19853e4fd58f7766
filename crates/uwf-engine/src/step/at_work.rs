//! What the keeper does while its agent works.

use std::os::fd::{AsFd, BorrowedFd};

use json_cas::Hash;

use super::{Step, Unmoved};
use crate::attempts::{self, Notices, Opened, Started};
use crate::child::Meanwhile;
use crate::error::Result;
use crate::load::Thread;
use crate::moderate;

/// The keeper of an attempt whose agent is at work.
pub(super) struct AtWork<'s, 'a, 'h> {
    step: &'s Step<'a, 'h>,
    opened: &'s Opened,
    notices: Option<Notices>,
    /// The step the agent has finished before its process ended, and what became of the head.
    pub(super) result: Option<(Hash, std::result::Result<Thread<'h>, Unmoved>)>,
}

impl<'s, 'a, 'h> AtWork<'s, 'a, 'h> {
    pub(super) fn new(step: &'s Step<'a, 'h>, opened: &'s Opened) -> AtWork<'s, 'a, 'h> {
        AtWork { step, opened, notices: None, result: None }
    }

    /// Makes ready what is needed once the agent is done. What fails here fails again there.
    fn prepare(&self) {
        let Step { plan, home, .. } = self.step;
        self.step.ahead.set(Some(moderate::prepare(&plan.workflow, &self.opened.role)));
        let _ = plan.role(&self.opened.role).map(|role| home.store().schema(role.meta));
    }
}

impl Meanwhile for AtWork<'_, '_, '_> {
    fn started(&mut self, pid: u32) -> Result<()> {
        let attempt = self.opened.attempt.clone();
        attempts::started(self.step.home, &self.opened.thread, Started { attempt, pid })?;
        self.notices = Notices::listen(&self.opened.attempt);
        self.prepare();
        Ok(())
    }

    fn source(&self) -> Option<BorrowedFd<'_>> {
        self.notices.as_ref().map(AsFd::as_fd)
    }

    /// The agent has finished, most likely: its step becomes the head while its process ends.
    fn news(&mut self) {
        let Some(notices) = &self.notices else { return };
        notices.take();
        // What cannot be read now is looked at once the agent has ended.
        let Ok(Some(record)) = attempts::read(self.step.home, &self.opened.thread) else { return };
        let is_own = record.opened.attempt == self.opened.attempt;
        let Some(finished) = record.finished.filter(|_| is_own) else { return };
        self.notices = None;
        self.result = Some((finished.step, self.step.advance(self.opened, finished.step, Some(&finished))));
    }
}
