//! The address of a store, and the connections to it.

use json_cas::{RemoteError, count_store_request};
use parking_lot::{Condvar, Mutex};

use crate::address::PostgresAddress;
use crate::fault::PostgresFailure;
use crate::session::{PostgresSession, TableExpectation};

/// Most statements of one process at a time; further callers wait. By default, servers allow only about a hundred connections in total.
const MAX_SESSIONS: usize = 8;

/// Idle connections, and the number of connections in use.
pub(crate) struct PostgresPool {
    pub address: PostgresAddress,
    state: Mutex<PostgresPoolState>,
    returned: Condvar,
}

#[derive(Default)]
struct PostgresPoolState {
    idle: Vec<PostgresSession>,
    in_use: usize,
}

/// One connection in use, until it is dropped.
struct PostgresPoolPermit<'p>(&'p PostgresPool);

impl Drop for PostgresPoolPermit<'_> {
    fn drop(&mut self) {
        self.0.state.lock().in_use -= 1;
        self.0.returned.notify_one();
    }
}

impl PostgresPool {
    pub(crate) fn new(address: PostgresAddress) -> PostgresPool {
        PostgresPool { address, state: Mutex::default(), returned: Condvar::new() }
    }

    /// Runs an action on a connection of its own, once it is the caller's turn.
    pub(crate) fn with<T>(
        &self,
        action: impl FnOnce(&mut PostgresSession) -> Result<T, PostgresFailure>,
    ) -> Result<T, PostgresFailure> {
        let _turn = self.turn();
        let mut session = self.take().inspect_err(|_| count_store_request(false))?;
        let outcome = action(&mut session);
        count_store_request(outcome.is_ok());
        if session.is_sound(&outcome) {
            self.give(session);
        } else if outcome.is_err() {
            // The other connections have most likely ended for the same reason.
            let dead = std::mem::take(&mut self.state.lock().idle);
            drop(dead);
        }
        outcome
    }

    fn turn(&self) -> PostgresPoolPermit<'_> {
        let is_full = |state: &mut PostgresPoolState| state.in_use >= MAX_SESSIONS;
        let mut state = self.state.lock();
        self.returned.wait_while(&mut state, is_full);
        state.in_use += 1;
        PostgresPoolPermit(self)
    }

    /// Gives the caller a connection to own.
    pub(crate) fn take(&self) -> Result<PostgresSession, PostgresFailure> {
        let idle = self.state.lock().idle.pop();
        idle.map_or_else(|| PostgresSession::open(&self.address, TableExpectation::Ready), Ok)
    }

    /// The error for the caller.
    pub(crate) fn error(&self, doing: &str, failure: PostgresFailure, tries: u32) -> RemoteError {
        failure.into_error(&self.address.name, doing, tries)
    }

    /// Takes back a connection in the state in which [`PostgresPool::take`] gave it.
    pub(crate) fn give(&self, session: PostgresSession) {
        let mut state = self.state.lock();
        if state.idle.len() < MAX_SESSIONS {
            state.idle.push(session);
        }
    }
}
