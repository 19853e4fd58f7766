//! A shared store that becomes unreachable while an agent works, and comes back.

use std::time::{Duration, Instant};

use super::{StepInProgress, StepReport};
use crate::attempt::agent_process::SignalListener;
use crate::attempt::recorded;
use crate::error::{Error, ErrorKind, Result};
use crate::root::log::log;

/// How often to check whether the store is back.
const LOOK: Duration = Duration::from_secs(2);

impl StepInProgress<'_, '_> {
    /// Performs the step. If only storing the answer failed, repeats it as soon as the store is back. Only this machine has that answer,
    /// and while its lease lasts no other machine pays for the step. So the answer must not wait until the next step of the thread on
    /// this machine.
    pub(super) fn run_until_kept(&self, signals: &mut SignalListener) -> Result<StepReport> {
        let mut deadline = None;
        loop {
            let error = match self.run(signals) {
                Err(error) if self.is_answered_here(&error) => error,
                ended => return ended,
            };
            let Ok(Some(lease)) = self.home.peers().claim_lease(self.home) else { return Err(error) };
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + lease);
            log!(self.log, "B7N4W0QD", Warn, "the answer waits for the store: {}", error.message);
            if !self.store_is_back(deadline, signals) {
                return Err(error);
            }
        }
    }

    /// Whether this machine has an answer for the position that a temporary failure kept from being stored.
    fn is_answered_here(&self, error: &Error) -> bool {
        if !matches!(error.kind, ErrorKind::Busy | ErrorKind::Io) {
            return false;
        }
        // If it cannot be read now, the next step reads it.
        let newest = recorded::read(self.home, &self.thread.id).ok().flatten();
        newest.is_some_and(|attempt| {
            let is_here = attempt.opened.machine.is_none() && attempt.opened.expected_head == self.head.hash;
            is_here && (attempt.answered.is_some() || attempt.result().is_some())
        })
    }

    /// Waits until the store is back and the thread has not moved. `false` if it has moved, the deadline has passed, or this process
    /// received a stop signal.
    fn store_is_back(&self, deadline: Instant, signals: &mut SignalListener) -> bool {
        loop {
            signals.wait(LOOK);
            if signals.stop().is_some() || Instant::now() >= deadline {
                return false;
            }
            if let Ok(head) = self.home.heads().read(self.thread.id.as_str()) {
                return head.is_some_and(|head| head.hash == self.head.hash);
            }
        }
    }
}
