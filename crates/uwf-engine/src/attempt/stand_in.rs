//! An agent that stands in for its keeper, once that is gone.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgrp, getpid, kill_process_group, test_kill_process};
use signal_hook::consts::SIGTERM;
use uwf_core::config::DEFAULT_KILL_GRACE;

use crate::attempt::error::Result;
use crate::attempt::lease::{Lease, Moment, RESERVE};
use crate::attempt::recorded::Opened;
use crate::attempt::recorded::claim::{self, Claim};
use crate::root::home::Home;

/// How often an agent looks whether its keeper is alive, and whether the lease is.
const LOOK: Duration = Duration::from_millis(500);

/// Renews the lease from within the process of an agent once its keeper is gone: nobody else does then, and the agent goes on, since it
/// is paid for. When the lease is lost, the process group of the agent is ended, which this process leads.
pub fn begin(home: &Home, opened: &Opened) {
    if home.notes().is_none() || opened.is_by_hand() || getpgrp() != getpid() {
        return;
    }
    let stand_in = StandIn { home: home.again(), opened: opened.clone() };
    // Without a thread the lease runs out, as it would have before.
    let _ = std::thread::Builder::new().name("stand-in".to_owned()).spawn(move || stand_in.run());
}

struct StandIn {
    home: Home,
    opened: Opened,
}

impl StandIn {
    fn run(&self) {
        while is_alive(self.opened.keeper) {
            std::thread::sleep(LOOK);
        }
        let since = Moment::now();
        let lease = loop {
            match self.take_up() {
                Ok(Some(lease)) => break lease,
                Err(_) if since.elapsed() < self.home.config().unwrap_or_default().lease() / 2 => {
                    std::thread::sleep(LOOK);
                }
                Ok(None) | Err(_) => return end_own_group(RESERVE),
            }
        };
        while lease.lost().is_none() {
            std::thread::sleep(LOOK);
        }
        end_own_group(lease.grace(DEFAULT_KILL_GRACE));
    }

    /// The claim of this attempt, as the keeper wrote it last; `None` when it is not this attempt's any more.
    fn take_up(&self) -> Result<Option<Lease>> {
        let (home, thread) = (&self.home, &self.opened.thread);
        let Some(note) = home.notes().map_or(Ok(None), |notes| notes.note(&claim::name(thread)))? else {
            return Ok(None);
        };
        let is_own = |claim: &Claim| {
            let attempt = claim.attempt(thread);
            attempt.is_some_and(|attempt| attempt.opened.attempt == self.opened.attempt && attempt.closed.is_none())
        };
        let claim = Claim::of(&note).filter(is_own);
        Ok(claim.map(|claim| Lease::renewing(home, thread, claim, note.version, Moment::ago(note.age))))
    }
}

fn is_alive(pid: u32) -> bool {
    Pid::from_raw(pid.cast_signed()).is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// This process is one of them, and has to live until the last one is told.
fn end_own_group(grace: Duration) {
    let told = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(SIGTERM, told);
    let _ = kill_process_group(getpgrp(), Signal::TERM);
    std::thread::sleep(grace);
    let _ = kill_process_group(getpgrp(), Signal::KILL);
}
