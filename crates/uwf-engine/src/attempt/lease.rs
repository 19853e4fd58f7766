//! The lease of a step on a shared store: as long as this machine renews it, no other machine plays the role.
//!
//! A thread of the keeper writes the claim anew six times a lease. When that has failed for so long that another machine may soon take
//! the step over, the agent is ended here: there is then no time at which two agents are paid for one position. How long that is this
//! machine's own clock says, which can't be set and runs while the machine sleeps, counted from before the last write that came
//! through; the other machine counts from when the store took it, which is later.

use std::sync::Arc;
use std::time::Duration;

use json_cas::{Expected, NoteWritten, Notes, Version};
use parking_lot::{Condvar, Mutex};
use rustix::time::{ClockId, Timespec, clock_gettime};
use uwf_core::thread::ThreadId;

use crate::attempt::ended::Lost;
use crate::attempt::recorded::claim::{self, Claim};
use crate::root::home::Home;

/// Renewals in the time of a lease: several may fail before it is over.
pub(crate) const RENEWALS: u32 = 6;

/// The least time between the end of an agent and the end of its lease. The age of a note may be two seconds more than it is.
const LEAST_MARGIN: Duration = Duration::from_secs(4);

/// Of the margin, what is not for the agent to end by itself.
pub(super) const RESERVE: Duration = Duration::from_secs(3);

/// A moment by the clock that leases are measured with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment(Timespec);

impl Moment {
    /// Now.
    pub(crate) fn now() -> Moment {
        // No other machine waits for this one to wake up.
        #[cfg(target_os = "linux")]
        let clock = ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let clock = ClockId::Monotonic;
        Moment(clock_gettime(clock))
    }

    /// A moment so long ago.
    pub(super) fn ago(time: Duration) -> Moment {
        let now = Moment::now().0;
        Moment(Timespec::try_from(time).map_or(now, |time| now - time))
    }

    /// The time since then.
    pub(super) fn elapsed(self) -> Duration {
        let since = Moment::now().0 - self.0;
        Duration::try_from(since).unwrap_or_default()
    }
}

/// A step that is this machine's as long as [`Lease::lost`] says nothing.
#[derive(Clone)]
#[must_use]
pub(crate) struct Lease(Option<Arc<Renewed>>);

/// What the keeper and the thread that renews both look at.
struct Renewed {
    lease: Duration,
    state: Mutex<State>,
    wake: Condvar,
}

struct State {
    /// When the last write that came through was begun.
    renewed: Moment,
    is_gone: bool,
    is_over: bool,
}

impl Lease {
    /// That of a thread which nobody else can step: its lock is on this machine.
    pub(crate) fn of_one_machine() -> Lease {
        Lease(None)
    }

    /// Renews a claim whose writing was begun at `since`, which is not said to be longer ago than it is.
    pub(crate) fn renewing(home: &Home, thread: &ThreadId, claim: Claim, version: Version, since: Moment) -> Lease {
        let Some(notes) = home.notes() else { return Lease::of_one_machine() };
        let state = Mutex::new(State { renewed: since, is_gone: false, is_over: false });
        let renewed = Arc::new(Renewed { lease: claim.lease(), state, wake: Condvar::new() });
        let renewal = Renewal {
            notes: Arc::clone(notes),
            thread: thread.clone(),
            before: claim.elapsed(),
            claim,
            version,
            since,
            renewed: Arc::clone(&renewed),
        };
        // Should no thread be had, the lease runs out and the agent is ended in time.
        let _ = std::thread::Builder::new().name("lease".to_owned()).spawn(move || renewal.run());
        Lease(Some(renewed))
    }

    /// Why the step is not this machine's any more, if it isn't.
    pub(crate) fn lost(&self) -> Option<Lost> {
        let renewed = self.0.as_ref()?;
        let state = renewed.state.lock();
        if state.is_gone {
            return Some(Lost::Gone);
        }
        let silent = state.renewed.elapsed();
        (silent >= renewed.lease.saturating_sub(renewed.margin())).then_some(Lost::Unrenewed(silent))
    }

    /// How long an agent may take to end once the lease is lost.
    pub(crate) fn grace(&self, usual: Duration) -> Duration {
        self.0.as_ref().map_or(usual, |renewed| usual.min(renewed.margin().saturating_sub(RESERVE)))
    }

    /// The step is done or given up: there is nothing to renew any more.
    pub(crate) fn end(&self) {
        if let Some(renewed) = &self.0 {
            renewed.state.lock().is_over = true;
            renewed.wake.notify_all();
        }
    }
}

impl Renewed {
    /// Time before the end of the lease at which the agent is ended.
    fn margin(&self) -> Duration {
        (self.lease / RENEWALS).max(LEAST_MARGIN)
    }

    /// Waits until it is time to renew; `false` when there is nothing to renew any more.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        self.wake.wait_while_for(&mut state, |state| !state.is_over, self.lease / RENEWALS);
        !state.is_over
    }
}

/// The thread that renews.
struct Renewal {
    notes: Arc<dyn Notes>,
    thread: ThreadId,
    claim: Claim,
    version: Version,
    /// For how long the attempt had been under way at `since`.
    before: Duration,
    since: Moment,
    renewed: Arc<Renewed>,
}

impl Renewal {
    fn run(mut self) {
        while self.renewed.wait() {
            if !self.renew() {
                self.renewed.state.lock().is_gone = true;
                return;
            }
        }
    }

    /// Writes the claim anew; `false` when it is not this machine's any more. What fails otherwise is tried again at the next beat.
    fn renew(&mut self) -> bool {
        let name = claim::name(&self.thread);
        loop {
            let begun = Moment::now();
            let claim = self.claim.clone().renewed(self.before + self.since.elapsed());
            match self.notes.write_note(&name, Expected::At(&self.version), &claim.value()) {
                Ok(NoteWritten::Done(version)) => {
                    self.version = version;
                    self.renewed.state.lock().renewed = begun;
                    return true;
                }
                // The agent's own process has told what came of it, or an answer was lost.
                Ok(NoteWritten::Moved(Some(note))) => match Claim::of(&note).filter(|now| self.is_same_and_open(now)) {
                    Some(now) => (self.claim, self.version) = (now, note.version),
                    None => return false,
                },
                Ok(NoteWritten::Moved(None)) => return false,
                Err(_) => return true,
            }
        }
    }

    /// Whether a claim is that of the same attempt, and nobody has closed it.
    fn is_same_and_open(&self, now: &Claim) -> bool {
        let own = self.claim.attempt(&self.thread).map(|attempt| attempt.opened.attempt);
        now.attempt(&self.thread)
            .is_some_and(|attempt| attempt.closed.is_none() && Some(&attempt.opened.attempt) == own.as_ref())
    }
}
