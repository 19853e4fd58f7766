//! The broker's work after its keeper was killed. The agent continues, because it is paid for; only the broker can
//! renew its lease or end it.

use std::time::Duration;

use uwf_core::config::DEFAULT_KILL_GRACE;

use crate::attempt::lease::{RESERVE, StepLease, StepLeaseInstant};
use crate::attempt::processes::{self, AttemptTrail};
use crate::attempt::recorded::claim::{self, Claim};
use crate::attempt::recorded::{self, AttemptOpening};
use crate::error::Result;
use crate::root::home::Home;

/// Interval between checks whether the agent runs and the lease holds.
const LOOK: Duration = Duration::from_millis(500);

/// Renews the lease of an attempt until its agent has ended. If the lease is lost, ends the agent.
pub(crate) fn run(home: &Home, opened: &AttemptOpening) {
    let Some(lease) = taken_up(home, opened) else {
        return processes::end_attempt(&trail(home, opened), RESERVE, None);
    };
    while is_at_work(home, opened) {
        if lease.lost().is_some() {
            processes::end_attempt(&trail(home, opened), lease.grace(DEFAULT_KILL_GRACE), None);
            break;
        }
        std::thread::sleep(LOOK);
    }
    lease.end();
}

fn is_at_work(home: &Home, opened: &AttemptOpening) -> bool {
    processes::has_survivors(&trail(home, opened))
}

/// The agent's process is in the record, unless it is run by hand.
fn trail(home: &Home, opened: &AttemptOpening) -> AttemptTrail {
    let attempt = recorded::read(home, &opened.thread).ok().flatten();
    match attempt.filter(|attempt| attempt.opened.attempt == opened.attempt) {
        Some(attempt) => AttemptTrail::of_record(home, &attempt),
        None => AttemptTrail::of_id(&opened.attempt),
    }
}

/// The keeper's lease; `None` when the step no longer belongs to this machine, or the store does not answer for too
/// long.
fn taken_up(home: &Home, opened: &AttemptOpening) -> Option<StepLease> {
    // Other machines don't know about an agent that is run by hand.
    if opened.is_by_hand() {
        return Some(StepLease::of_one_machine());
    }
    let since = StepLeaseInstant::now();
    loop {
        match take_up(home, opened) {
            Ok(lease) => return lease,
            Err(_) if is_at_work(home, opened) && since.elapsed() < home.config().unwrap_or_default().lease() / 2 => {
                std::thread::sleep(LOOK);
            }
            Err(_) => return None,
        }
    }
}

/// A lease for this attempt's claim as the keeper last wrote it; `None` when the claim is no longer for this attempt.
fn take_up(home: &Home, opened: &AttemptOpening) -> Result<Option<StepLease>> {
    let thread = &opened.thread;
    let Some(note) = home.notes().note(&claim::name(thread))? else { return Ok(None) };
    let is_own = |claim: &Claim| {
        let attempt = claim.attempt(thread);
        attempt.is_some_and(|attempt| attempt.opened.attempt == opened.attempt && attempt.closed.is_none())
    };
    let claim = Claim::from_note(&note).filter(is_own);
    Ok(claim.map(|claim| StepLease::renewing(home, thread, claim, note.version, StepLeaseInstant::ago(note.age))))
}
