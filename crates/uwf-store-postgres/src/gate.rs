//! Lets in any number of those who hold the nodes, or one who sweeps, of all machines.
//!
//! It is an advisory lock of the server, which belongs to a connection: whoever dies lets go of it. A connection can also be lost
//! while its owner lives on and believes to hold, and then somebody may sweep. So each sweep is counted in `meta`, and a head
//! moves, while somebody here holds, only if nobody has swept since the hold began.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use json_cas::{Hold, RemoteError, RemoteFault, StoreError, Sweep, xxh64};
use tokio::runtime::Handle;
use tokio_postgres::SimpleQueryMessage;

use crate::fault::Failure;
use crate::persist::persist;
use crate::pool::Pool;
use crate::session::Session;

/// How long somebody who wants to sweep stands in the queue at a time. Nobody new may hold meanwhile, so that he gets in between
/// those who come and go. He does not stay: a hold that another process asks for inside an outer one would wait for him, and he
/// for the outer one.
const IN_QUEUE: Duration = Duration::from_millis(500);

/// How long he lets others pass between two times.
const OUTSIDE: Duration = Duration::from_millis(50);

pub(crate) struct Gate {
    pool: Arc<Pool>,
    /// Number of the advisory lock.
    key: i64,
    holding: Mutex<Holding>,
    /// The number of sweeps when the oldest hold began.
    since: Mutex<Option<i64>>,
    /// The connection that has the lock for itself.
    sweeping: Mutex<Option<Session>>,
}

/// Those here who hold share one connection.
#[derive(Default)]
struct Holding {
    holders: usize,
    session: Option<Session>,
    era: Option<String>,
}

/// Somebody who holds, until it is dropped.
struct Holder(Arc<Gate>);

/// Who sweeps, until it is dropped.
struct Sweeper(Arc<Gate>);

impl Gate {
    pub(crate) fn new(pool: Arc<Pool>) -> Gate {
        Gate {
            key: xxh64(format!("uwf nodes {}", pool.address.schema).as_bytes()).as_u64().cast_signed(),
            pool,
            holding: Mutex::default(),
            since: Mutex::default(),
            sweeping: Mutex::default(),
        }
    }

    /// How many sweeps there may have been for a head to be moved; `None` when nobody here holds.
    pub(crate) fn since(&self) -> Option<i64> {
        *lock(&self.since)
    }

    pub(crate) fn hold(self: &Arc<Gate>) -> Result<Hold, StoreError> {
        let mut holding = lock(&self.holding);
        if holding.holders == 0 {
            let locked = persist(|| self.lock_shared());
            let (session, sweeps, era) = locked.map_err(|failed| self.kept_out("hold the nodes", failed))?;
            (holding.session, holding.era) = (Some(session), Some(era));
            *lock(&self.since) = Some(sweeps);
        }
        holding.holders += 1;
        Ok(Hold::new(Holder(Arc::clone(self))).in_era(holding.era.clone()))
    }

    /// A connection with the shared lock, how many sweeps there were before, and the era: another one after a sweep, for a table that
    /// was made anew, and for a server that was started anew or is another one, which may lack what the one before it had. A day
    /// later it is another one, too, so that what others do to the table is noticed.
    fn lock_shared(&self) -> Result<(Session, i64, String), Failure> {
        let mut session = self.pool.take()?;
        // Two statements of one message: the second one sees what happened while the first one waited.
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

    pub(crate) fn sweep(self: &Arc<Gate>) -> Result<Sweep, StoreError> {
        let begun = Instant::now();
        loop {
            let locked = persist(|| self.lock_alone());
            if let Some(session) = locked.map_err(|failed| self.kept_out("sweep the nodes", failed))? {
                *lock(&self.sweeping) = Some(session);
                return Ok(Sweep::new(Sweeper(Arc::clone(self))));
            }
            if begun.elapsed() > self.pool.address.lock_timeout {
                return Err(self.busy());
            }
            thread::sleep(OUTSIDE);
        }
    }

    /// A connection with the lock for itself, if it can be had soon. Heads that move at this moment are waited for, and those that
    /// move later under a hold that was lost are stopped.
    fn lock_alone(&self) -> Result<Option<Session>, Failure> {
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

    fn kept_out(&self, doing: &str, (failure, tries): (Failure, u32)) -> StoreError {
        if failure.is_lock_timeout() { self.busy() } else { self.pool.error(doing, failure, tries).into() }
    }

    fn busy(&self) -> StoreError {
        let waited_ms = u64::try_from(self.pool.address.lock_timeout.as_millis()).unwrap_or(u64::MAX);
        StoreError::Busy { path: self.pool.address.name.clone().into(), waited_ms }
    }

    /// Does something with the connection that sweeps. Another one would do as well, if the lock were still there.
    pub(crate) fn swept<T>(
        &self,
        doing: &str,
        action: impl FnOnce(&mut Session) -> Result<T, Failure>,
    ) -> Result<T, RemoteError> {
        let mut sweeping = lock(&self.sweeping);
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

    /// Lets go of a lock and keeps the connection for others.
    fn unlock(&self, session: Option<Session>, function: &str) {
        let Some(mut session) = session else { return };
        // Where a runtime runs nobody may wait; the connection ends, and the lock with it.
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind these is changed whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(why: &str) -> Failure {
    Failure::Refused(RemoteFault::Failed, why.to_owned())
}

impl Drop for Holder {
    fn drop(&mut self) {
        let mut holding = lock(&self.0.holding);
        holding.holders -= 1;
        if holding.holders == 0 {
            *lock(&self.0.since) = None;
            self.0.unlock(holding.session.take(), "pg_advisory_unlock_shared");
        }
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        let session = lock(&self.0.sweeping).take();
        self.0.unlock(session, "pg_advisory_unlock");
    }
}
