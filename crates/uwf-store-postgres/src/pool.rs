//! The address of a store, and the connections to it.

use json_cas::RemoteError;
use parking_lot::{Condvar, Mutex};

use crate::address::Address;
use crate::fault::Failure;
use crate::session::{Expect, Session};

/// Most statements of one process at a time; further callers wait. By default, servers allow only about a hundred connections in total.
const MAX_SESSIONS: usize = 8;

/// Idle connections, and the number of connections in use.
pub(crate) struct Pool {
    pub address: Address,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Session>,
    in_use: usize,
}

/// One connection in use, until it is dropped.
struct Turn<'p>(&'p Pool);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state.lock().in_use -= 1;
        self.0.returned.notify_one();
    }
}

impl Pool {
    pub(crate) fn new(address: Address) -> Pool {
        Pool { address, state: Mutex::default(), returned: Condvar::new() }
    }

    /// Runs an action on a connection of its own, once it is the caller's turn.
    pub(crate) fn with<T>(&self, action: impl FnOnce(&mut Session) -> Result<T, Failure>) -> Result<T, Failure> {
        let _turn = self.turn();
        let mut session = self.take()?;
        let outcome = action(&mut session);
        if session.is_sound(&outcome) {
            self.give(session);
        } else if outcome.is_err() {
            // The other connections have most likely ended for the same reason.
            let dead = std::mem::take(&mut self.state.lock().idle);
            drop(dead);
        }
        outcome
    }

    fn turn(&self) -> Turn<'_> {
        let is_full = |state: &mut State| state.in_use >= MAX_SESSIONS;
        let mut state = self.state.lock();
        self.returned.wait_while(&mut state, is_full);
        state.in_use += 1;
        Turn(self)
    }

    /// Gives the caller a connection to own.
    pub(crate) fn take(&self) -> Result<Session, Failure> {
        let idle = self.state.lock().idle.pop();
        idle.map_or_else(|| Session::open(&self.address, Expect::Ready), Ok)
    }

    /// The error for the caller.
    pub(crate) fn error(&self, doing: &str, failure: Failure, tries: u32) -> RemoteError {
        failure.into_error(&self.address.name, doing, tries)
    }

    /// Takes back a connection in the state in which [`Pool::take`] gave it.
    pub(crate) fn give(&self, session: Session) {
        let mut state = self.state.lock();
        if state.idle.len() < MAX_SESSIONS {
            state.idle.push(session);
        }
    }
}
