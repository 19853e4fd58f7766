//! The lease of a step on a shared store: while this machine renews it, no other machine plays the role.
//!
//! A thread of the keeper rewrites the claim six times per lease. If that fails until another machine may soon take the
//! step over, uwf ends the agent here. So two agents never run for one position at once. This machine measures that
//! time with its own clock, which can't be set and runs during sleep. It counts from before its last successful write.
//! The other machine counts from when the store received the write, which is later.

use std::sync::Arc;
use std::time::Duration;

use json_cas::{NameVersion, NoteBackend, NoteWriteCondition, NoteWritten};
use parking_lot::{Condvar, Mutex};
use rustix::time::Timespec;
use uwf_core::thread::ThreadId;
use uwf_platform::host;

use crate::attempt::ended::LeaseLoss;
use crate::attempt::recorded::claim::{self, Claim};
use crate::root::home::Home;

/// Renewals per lease: several may fail before it ends.
pub(crate) const RENEWALS: u32 = 6;

/// Shortest time between the end of an agent and the end of its lease. The store may report a note as two seconds older
/// than it is.
const LEAST_MARGIN: Duration = Duration::from_secs(4);

/// The part of the margin that an agent's grace period may not use.
pub(super) const RESERVE: Duration = Duration::from_secs(3);

/// A moment on the clock that measures leases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepLeaseInstant(Timespec);

impl StepLeaseInstant {
    /// Now.
    pub(crate) fn now() -> StepLeaseInstant {
        StepLeaseInstant(host().lease_clock())
    }

    /// The moment this long ago.
    pub(super) fn ago(time: Duration) -> StepLeaseInstant {
        let now = StepLeaseInstant::now().0;
        StepLeaseInstant(Timespec::try_from(time).map_or(now, |time| now - time))
    }

    /// The time since then.
    pub(super) fn elapsed(self) -> Duration {
        let since = StepLeaseInstant::now().0 - self.0;
        Duration::try_from(since).unwrap_or_default()
    }
}

/// The lease of a step that belongs to this machine until [`StepLease::lost`] returns a reason.
#[derive(Clone)]
#[must_use]
pub(crate) struct StepLease(Option<Arc<SharedStepLease>>);

/// State shared by the keeper and the thread that renews.
struct SharedStepLease {
    lease: Duration,
    state: Mutex<StepLeaseState>,
    wake: Condvar,
}

struct StepLeaseState {
    /// When the last successful write began.
    renewed: StepLeaseInstant,
    is_gone: bool,
    is_over: bool,
}

impl StepLease {
    /// The lease of a thread that only this machine can step: the thread's lock is here.
    pub(crate) fn of_one_machine() -> StepLease {
        StepLease(None)
    }

    /// Renews a claim. `since` is the moment at which its write began, and not an earlier one.
    pub(crate) fn renewing(
        home: &Home,
        thread: &ThreadId,
        claim: Claim,
        version: NameVersion,
        since: StepLeaseInstant,
    ) -> StepLease {
        let state = Mutex::new(StepLeaseState { renewed: since, is_gone: false, is_over: false });
        let renewed = Arc::new(SharedStepLease { lease: claim.lease(), state, wake: Condvar::new() });
        let renewal = StepLeaseRenewer {
            notes: Arc::clone(home.notes()),
            thread: thread.clone(),
            before: claim.elapsed(),
            claim,
            version,
            since,
            renewed: Arc::clone(&renewed),
        };
        // If the thread cannot be started, the lease runs out and the agent is ended in time.
        let _ = std::thread::Builder::new().name("lease".to_owned()).spawn(move || renewal.run());
        StepLease(Some(renewed))
    }

    /// Why the step no longer belongs to this machine; `None` while it does.
    pub(crate) fn lost(&self) -> Option<LeaseLoss> {
        let renewed = self.0.as_ref()?;
        let state = renewed.state.lock();
        if state.is_gone {
            return Some(LeaseLoss::Gone);
        }
        let silent = state.renewed.elapsed();
        (silent >= renewed.lease.saturating_sub(renewed.margin())).then_some(LeaseLoss::Unrenewed(silent))
    }

    /// How long an agent may take to end after the lease is lost.
    pub(crate) fn grace(&self, usual: Duration) -> Duration {
        self.0.as_ref().map_or(usual, |renewed| usual.min(renewed.margin().saturating_sub(RESERVE)))
    }

    /// Stops renewing, because the step is done or given up.
    pub(crate) fn end(&self) {
        if let Some(renewed) = &self.0 {
            renewed.state.lock().is_over = true;
            renewed.wake.notify_all();
        }
    }
}

impl SharedStepLease {
    /// Time before the end of the lease at which uwf ends the agent.
    fn margin(&self) -> Duration {
        (self.lease / RENEWALS).max(LEAST_MARGIN)
    }

    /// Waits until the next renewal is due; `false` when renewing has stopped.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        self.wake.wait_while_for(&mut state, |state| !state.is_over, self.lease / RENEWALS);
        !state.is_over
    }
}

/// The thread that renews.
struct StepLeaseRenewer {
    notes: Arc<dyn NoteBackend>,
    thread: ThreadId,
    claim: Claim,
    version: NameVersion,
    /// How long the attempt had been running at `since`.
    before: Duration,
    since: StepLeaseInstant,
    renewed: Arc<SharedStepLease>,
}

impl StepLeaseRenewer {
    fn run(mut self) {
        while self.renewed.wait() {
            if !self.renew() {
                self.renewed.state.lock().is_gone = true;
                return;
            }
        }
    }

    /// Rewrites the claim; `false` when it no longer belongs to this machine. After other failures, the next renewal
    /// tries again.
    fn renew(&mut self) -> bool {
        let name = claim::name(&self.thread);
        loop {
            let begun = StepLeaseInstant::now();
            let claim = self.claim.clone().renewed(self.before + self.since.elapsed());
            match self.notes.write_note(&name, NoteWriteCondition::At(&self.version), &claim.value()) {
                Ok(NoteWritten::Done(version)) => {
                    self.version = version;
                    self.renewed.state.lock().renewed = begun;
                    return true;
                }
                // The agent's own process has recorded its result, or the reply to a write was lost.
                Ok(NoteWritten::Moved(Some(note))) => {
                    match Claim::from_note(&note).filter(|now| self.is_same_and_open(now)) {
                        Some(now) => (self.claim, self.version) = (now, note.version),
                        None => return false,
                    }
                }
                Ok(NoteWritten::Moved(None)) => return false,
                Err(_) => return true,
            }
        }
    }

    /// Whether a claim is for the same attempt and still open.
    fn is_same_and_open(&self, now: &Claim) -> bool {
        let own = self.claim.attempt(&self.thread).map(|attempt| attempt.opened.attempt);
        now.attempt(&self.thread)
            .is_some_and(|attempt| attempt.closed.is_none() && Some(&attempt.opened.attempt) == own.as_ref())
    }
}
