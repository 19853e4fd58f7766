//! Admits either any number of holders of the nodes or one sweeper, across all machines.
//!
//! The gate is an advisory lock of the server. The lock belongs to a connection, so a process that dies releases it. A connection can also
//! be lost while its owner lives on and believes that it still holds; then another process may sweep. So each sweep is counted in `meta`,
//! and while this process holds, a head moves only if no sweep has happened since the hold began.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use json_cas::{HoldGuard, RemoteError, RemoteFault, StoreError, SweepGuard, xxh64};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio_postgres::SimpleQueryMessage;

use crate::fault::PostgresFailure;
use crate::persist::persist;
use crate::pool::PostgresPool;
use crate::session::PostgresSession;

/// How long a process that wants to sweep stays in the queue at a time. No new holder can enter meanwhile, so the sweeper gets its turn
/// between holders that come and go. It must not stay: a hold that another process requests inside an outer one would wait for the
/// sweeper, and the sweeper for the outer hold.
const IN_QUEUE: Duration = Duration::from_millis(500);

/// How long a sweeper stays out of the queue between two attempts, so that others can enter.
const OUTSIDE: Duration = Duration::from_millis(50);

pub(crate) struct PostgresGate {
    pool: Arc<PostgresPool>,
    /// Number of the advisory lock.
    key: i64,
    holding: Mutex<PostgresHolders>,
    /// The number of sweeps when the oldest current hold began.
    since: Mutex<Option<i64>>,
    /// The connection that has the exclusive lock.
    sweeping: Mutex<Option<PostgresSession>>,
}

/// The holders of this process; they share one connection.
#[derive(Default)]
struct PostgresHolders {
    holders: usize,
    session: Option<PostgresSession>,
    era: Option<String>,
}

/// A hold, until it is dropped.
struct PostgresHoldGuard(Arc<PostgresGate>);

/// The sweep, until it is dropped.
struct PostgresSweepGuard(Arc<PostgresGate>);

impl PostgresGate {
    pub(crate) fn new(pool: Arc<PostgresPool>) -> PostgresGate {
        PostgresGate {
            key: xxh64(format!("uwf nodes {}", pool.address.schema).as_bytes()).as_u64().cast_signed(),
            pool,
            holding: Mutex::default(),
            since: Mutex::default(),
            sweeping: Mutex::default(),
        }
    }

    /// The highest number of sweeps at which a head may move; `None` if this process does not hold.
    pub(crate) fn since(&self) -> Option<i64> {
        *self.since.lock()
    }

    pub(crate) fn hold(self: &Arc<PostgresGate>) -> Result<HoldGuard, StoreError> {
        let mut holding = self.holding.lock();
        if holding.holders == 0 {
            let locked = persist(|| self.lock_shared());
            let (session, sweeps, era) = locked.map_err(|failed| self.kept_out("hold the nodes", failed))?;
            (holding.session, holding.era) = (Some(session), Some(era));
            *self.since.lock() = Some(sweeps);
        }
        holding.holders += 1;
        Ok(HoldGuard::new(PostgresHoldGuard(Arc::clone(self))).in_era(holding.era.clone()))
    }

    /// A connection with the shared lock, the number of earlier sweeps, and the era. The era changes after a sweep, when the table was
    /// recreated, and when the server was restarted or replaced: the new server may lack what the old one had. It also changes every day,
    /// so that changes which others make to the table are noticed.
    fn lock_shared(&self) -> Result<(PostgresSession, i64, String), PostgresFailure> {
        let mut session = self.pool.take()?;
        // Two statements in one message: the second one sees what happened while the first one waited.
        let era = "concat_ws(' ', sweeps, tableoid, pg_postmaster_start_time(), current_date)";
        let statements = format!("select pg_advisory_lock_shared({}); select sweeps, {era} from meta", self.key);
        let answer = session.run(async |client| client.simple_query(&statements).await)?;
        let told = answer.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some((row.get(0)?.parse().ok()?, row.get(1)?.to_owned())),
            _ => None,
        });
        let (sweeps, era) = told.last().ok_or_else(|| refused("the table meta is empty"))?;
        Ok((session, sweeps, era))
    }

    pub(crate) fn sweep(self: &Arc<PostgresGate>) -> Result<SweepGuard, StoreError> {
        let begun = Instant::now();
        loop {
            let locked = persist(|| self.lock_alone());
            if let Some(session) = locked.map_err(|failed| self.kept_out("sweep the nodes", failed))? {
                *self.sweeping.lock() = Some(session);
                return Ok(SweepGuard::new(PostgresSweepGuard(Arc::clone(self))));
            }
            if begun.elapsed() > self.pool.address.lock_timeout {
                return Err(self.busy());
            }
            thread::sleep(OUTSIDE);
        }
    }

    /// A connection with the exclusive lock, if it can be had soon. Counting the sweep waits for heads that are moving at this moment, and
    /// stops heads that would move later under a lost hold.
    fn lock_alone(&self) -> Result<Option<PostgresSession>, PostgresFailure> {
        let mut session = self.pool.take()?;
        let wait = IN_QUEUE.min(self.pool.address.lock_timeout).as_millis();
        let key = self.key;
        let lock = format!("begin; set local lock_timeout = {wait}; select pg_advisory_lock({key}); commit");
        match session.run(async |client| client.batch_execute(&lock).await) {
            Ok(()) => {
                session.run(async |client| client.batch_execute("update meta set sweeps = sweeps + 1").await)?;
                Ok(Some(session))
            }
            Err(failure) if failure.is_lock_timeout() => {
                session.run(async |client| client.batch_execute("rollback").await)?;
                self.pool.give(session);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    fn kept_out(&self, doing: &str, (failure, tries): (PostgresFailure, u32)) -> StoreError {
        if failure.is_lock_timeout() { self.busy() } else { self.pool.error(doing, failure, tries).into() }
    }

    fn busy(&self) -> StoreError {
        let waited_ms = u64::try_from(self.pool.address.lock_timeout.as_millis()).unwrap_or(u64::MAX);
        StoreError::Busy { path: self.pool.address.name.clone().into(), waited_ms }
    }

    /// Runs an action on the connection that sweeps. Another connection would do, but only this one shows that the lock is still held.
    pub(crate) fn swept<T>(
        &self,
        doing: &str,
        action: impl FnOnce(&mut PostgresSession) -> Result<T, PostgresFailure>,
    ) -> Result<T, RemoteError> {
        let mut sweeping = self.sweeping.lock();
        let lost = || refused("the sweep has ended with its connection; sweep again");
        let outcome = match sweeping.as_mut() {
            None => Err(lost()),
            Some(session) => {
                let outcome = action(session);
                if !session.is_sound(&outcome) {
                    *sweeping = None;
                }
                outcome
            }
        };
        outcome.map_err(|failure| self.pool.error(doing, failure, 1))
    }

    /// Releases a lock and returns the connection to the pool.
    fn unlock(&self, session: Option<PostgresSession>, function: &str) {
        let Some(mut session) = session else { return };
        // Don't block inside a runtime. Dropping the session closes the connection, which releases the lock.
        if Handle::try_current().is_ok() {
            return;
        }
        let statement = format!("select {function}({})", self.key);
        let unlocked = session.run(async |client| client.batch_execute(&statement).await);
        if unlocked.is_ok() {
            self.pool.give(session);
        }
    }
}

fn refused(why: &str) -> PostgresFailure {
    PostgresFailure::Refused(RemoteFault::Failed, why.to_owned())
}

impl Drop for PostgresHoldGuard {
    fn drop(&mut self) {
        let mut holding = self.0.holding.lock();
        holding.holders -= 1;
        if holding.holders == 0 {
            *self.0.since.lock() = None;
            self.0.unlock(holding.session.take(), "pg_advisory_unlock_shared");
        }
    }
}

impl Drop for PostgresSweepGuard {
    fn drop(&mut self) {
        let session = self.0.sweeping.lock().take();
        self.0.unlock(session, "pg_advisory_unlock");
    }
}
