//! Tracks the signals that stop this process, so that it leaves nothing behind.
//!
//! A process that listens ([`SignalListener`](super::agent_process::SignalListener)) decides itself what a signal means. In any other
//! process, a signal acts as if this module did not exist, except while a [`StopSignalGuard`] lives: then the process ends when
//! the last one is dropped.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use uwf_platform::{SignalMasks, host};

/// Signals that ask a process to stop.
pub(crate) const STOP_SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Stop signals of this process, and their users.
struct StopSignalState {
    /// The last stop signal, 0 for none.
    received: Arc<AtomicUsize>,
    /// Whether a signal ends the process at once.
    is_fatal: Arc<AtomicBool>,
    /// Live watches, and whether the process listens permanently.
    users: Mutex<StopSignalUsers>,
}

#[derive(Default)]
struct StopSignalUsers {
    watches: usize,
    listens: bool,
}

static STATE: OnceLock<StopSignalState> = OnceLock::new();

/// While this lives, no stop signal ends this process.
pub(crate) struct StopSignalGuard {
    state: &'static StopSignalState,
    /// Whether a stop signal had already arrived when it began.
    pub(crate) began_stopped: bool,
}

impl StopSignalGuard {
    /// Keeps stop signals from ending this process.
    pub(crate) fn begin() -> io::Result<StopSignalGuard> {
        let state = state()?;
        state.change(|users| users.watches += 1);
        Ok(StopSignalGuard { state, began_stopped: state.last_signal().is_some() })
    }

    /// The signal that asked this process to stop.
    pub(crate) fn received_signal(&self) -> Option<i32> {
        self.state.last_signal()
    }
}

impl Drop for StopSignalGuard {
    fn drop(&mut self) {
        self.state.change(|users| users.watches -= 1);
        // Act on a signal that arrived meanwhile.
        if self.state.is_fatal.load(Ordering::SeqCst)
            && let Some(signal) = self.state.last_signal()
        {
            // Fails only for signals that don't exist.
            let _ = low_level::emulate_default_handler(signal);
        }
    }
}

/// Permanently keeps stop signals from ending this process.
pub(crate) fn listen() -> io::Result<()> {
    state()?.change(|users| users.listens = true);
    Ok(())
}

fn state() -> io::Result<&'static StopSignalState> {
    static INSTALL: Mutex<()> = Mutex::new(());
    let _one_at_a_time = INSTALL.lock();
    if let Some(state) = STATE.get() {
        return Ok(state);
    }
    let state = StopSignalState::install()?;
    Ok(STATE.get_or_init(|| state))
}

impl StopSignalState {
    fn install() -> io::Result<StopSignalState> {
        let (received, is_fatal) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(true)));
        let handled = HandledSignals::now();
        let mut listens = false;
        for signal in STOP_SIGNALS {
            // Keep ignored signals ignored: `nohup` sets them so that a process survives, and a shell does for
            // background processes.
            if handled.is_ignored(signal) {
                continue;
            }
            if handled.is_caught(signal) {
                listens = true;
            } else {
                flag::register_conditional_default(signal, Arc::clone(&is_fatal))?;
            }
            flag::register_usize(signal, Arc::clone(&received), usize::try_from(signal).unwrap_or_default())?;
        }
        let state = StopSignalState { received, is_fatal, users: Mutex::new(StopSignalUsers { watches: 0, listens }) };
        state.change(|_| ());
        Ok(state)
    }

    fn last_signal(&self) -> Option<i32> {
        i32::try_from(self.received.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
    }

    fn change(&self, change: impl FnOnce(&mut StopSignalUsers)) {
        let mut users = self.users.lock();
        change(&mut users);
        self.is_fatal.store(users.watches == 0 && !users.listens, Ordering::SeqCst);
    }
}

/// Signals that this process handles: none, if the system does not say it.
struct HandledSignals(SignalMasks);

impl HandledSignals {
    fn now() -> HandledSignals {
        HandledSignals(host().signal_masks().unwrap_or_default())
    }

    fn is_ignored(&self, signal: i32) -> bool {
        has_bit(self.0.ignored, signal)
    }

    fn is_caught(&self, signal: i32) -> bool {
        has_bit(self.0.caught, signal)
    }
}

fn has_bit(bits: u64, signal: i32) -> bool {
    u32::try_from(signal - 1).is_ok_and(|place| bits.checked_shr(place).unwrap_or_default() & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_bits_from_one_on() {
        assert!(has_bit(0b1, SIGHUP) && has_bit(0b10, SIGINT) && has_bit(1 << 14, SIGTERM));
        assert!(!has_bit(0b1, SIGINT) && !has_bit(u64::MAX, 0));
    }
}
