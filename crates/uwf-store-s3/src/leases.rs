//! Who holds the nodes, and who sweeps: objects that count for a while.
//!
//! Whoever holds writes an object of its own, `locks/holds/TOKEN`, and then looks at `locks/sweep`. Whoever sweeps writes its token
//! into `locks/sweep`, on the condition that it is free, and then looks for holds. Both write before they look, and a bucket shows what was
//! written to everybody who looks later: of two that meet at least one sees the other. Then who holds gives way, and who sweeps
//! waits.
//!
//! An object counts for [`LEASE`] after it was written, by the server's clock alone: what a listing says of its age compared
//! with the date of that answer. Whoever needs longer writes it again every [`RENEWAL`].

mod lease;
mod moment;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use json_cas::{Hold, RemoteError, StoreError, Sweep};
use serde::{Deserialize, Serialize};

use self::lease::{Lease, SweepLease};
use self::moment::Moment;
use crate::bucket::{Bucket, Written};
use crate::past::json_bytes;
use crate::tag::Tag;
use crate::token;

/// How long a lease counts.
pub(crate) const LEASE: Duration = Duration::from_mins(1);

/// How long after it was written a lease is written again.
pub(crate) const RENEWAL: Duration = Duration::from_secs(20);

/// The server tells seconds: so much older something may be told to be than it is.
const CLOCK_STEP: Duration = Duration::from_secs(2);

/// How long who holds and who sweeps wait for each other. Longer than a lease, so that a machine that died is waited for.
const WAIT: Duration = Duration::from_secs(75);

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// How long whoever has swept leaves it to others before the next sweep. Who waits for it to end looks within a [`PAUSE`], and then
/// takes a write and a look to hold.
const LET_OTHERS: Duration = Duration::from_secs(1);

const SECONDS_OF_A_DAY: u64 = 24 * 60 * 60;

pub(crate) const SWEEP: &str = "locks/sweep";
const HOLDS: &str = "locks/holds/";

/// What `locks/sweep` says.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Sweeper {
    /// The token of who sweeps; none when it is free.
    by: Option<String>,
    /// Another one for each write, so that no two have the same tag.
    write: String,
}

pub(crate) fn sweeper(by: Option<&str>) -> Vec<u8> {
    json_bytes(&Sweeper { by: by.map(str::to_owned), write: token::unique() })
}

/// The leases of this process.
#[derive(Default)]
pub(crate) struct Leases {
    holding: Mutex<Holding>,
    sweeping: Mutex<Option<Arc<SweepLease>>>,
    /// When the last sweep ended.
    swept: Mutex<Option<Instant>>,
}

/// All that hold in this process share one lease.
#[derive(Default)]
struct Holding {
    count: usize,
    lease: Option<Lease>,
    era: Option<String>,
}

/// A poisoned lock is no reason to stop: what it guards is changed in one go.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct OneHold(Arc<Leases>);

impl Drop for OneHold {
    fn drop(&mut self) {
        let mut holding = lock(&self.0.holding);
        holding.count -= 1;
        if holding.count == 0 {
            holding.lease = None;
        }
    }
}

struct OneSweep(Arc<Leases>);

impl Drop for OneSweep {
    fn drop(&mut self) {
        let lease = lock(&self.0.sweeping).take();
        if let Some(lease) = lease {
            lease.end();
        }
        *lock(&self.0.swept) = Some(Instant::now());
    }
}

impl Leases {
    /// Waits while somebody sweeps.
    pub(crate) fn hold(self: &Arc<Leases>, bucket: &Arc<Bucket>) -> Result<Hold, StoreError> {
        let mut holding = lock(&self.holding);
        if holding.count == 0 {
            let (lease, era) = hold(bucket)?;
            (holding.lease, holding.era) = (Some(lease), era);
        }
        holding.count += 1;
        Ok(Hold::new(OneHold(Arc::clone(self))).in_era(holding.era.clone()))
    }

    /// Waits while somebody holds or sweeps, and for a moment after the last sweep, so that others get in between.
    pub(crate) fn sweep(self: &Arc<Leases>, bucket: &Arc<Bucket>) -> Result<Sweep, StoreError> {
        let swept = *lock(&self.swept);
        thread::sleep(swept.map_or(Duration::ZERO, |swept| LET_OTHERS.saturating_sub(swept.elapsed())));
        let lease = sweep(bucket)?;
        *lock(&self.sweeping) = Some(Arc::new(lease));
        Ok(Sweep::new(OneSweep(Arc::clone(self))))
    }

    /// Whether it is still sure that nobody holds. Otherwise nothing must be removed any more.
    ///
    /// The danger: a machine stands still in the middle of a sweep for longer than its lease, others hold and let something lead to a
    /// node, and the machine continues to remove that node. What is left of it is a request that is on its way when the machine stands
    /// still, and a machine that holds and stands still for so long itself: it does not notice.
    pub(crate) fn is_still_swept(&self) -> bool {
        lock(&self.sweeping).as_ref().is_some_and(|lease| lease.is_fresh())
    }
}

/// Where the leases are, for people.
pub(crate) fn place(bucket: &Bucket) -> PathBuf {
    PathBuf::from(format!("{}/locks", bucket.name()))
}

fn busy(bucket: &Bucket, waited: Duration) -> StoreError {
    StoreError::Busy { path: place(bucket), waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX) }
}

/// Whether a lease counts that was written then. A server without a clock never lets one end.
fn counts(bucket: &Bucket, written: SystemTime) -> bool {
    let age = bucket.transport.server_now().map(|now| now.duration_since(written).unwrap_or_default());
    age.is_none_or(|age| age <= LEASE + CLOCK_STEP)
}

/// What `locks/sweep` was found to say.
struct Look {
    tag: Tag,
    /// The token of who sweeps, while that counts.
    by: Option<String>,
    /// Whether whoever swept last said that it is over. Otherwise its lease ended, and nobody knows what it is about to do.
    has_ended: bool,
}

/// What is known of who sweeps; `None` when nobody ever did.
fn look_at_sweep(bucket: &Bucket) -> Result<Option<Look>, RemoteError> {
    let Some(found) = bucket.get(SWEEP)? else { return Ok(None) };
    // What cannot be read counts as somebody who sweeps, until it is too old.
    let by = serde_json::from_slice(&found.bytes).map_or_else(|_| Some(String::new()), |sweeper: Sweeper| sweeper.by);
    let has_ended = by.is_none();
    Ok(Some(Look { tag: found.tag, by: by.filter(|_| counts(bucket, found.modified)), has_ended }))
}

fn is_swept(look: Option<&Look>) -> bool {
    look.is_some_and(|look| look.by.is_some())
}

/// The time between two sweeps in which somebody began to hold. Nodes are removed only by who wrote `locks/sweep` before, which
/// gives it another tag, and only while nobody holds. So what was there under one hold of an era is there under all of them.
///
/// That is so as long as nobody but this program removes objects. Another day is another era, so that what others
/// do is noticed, and so is another making of the store, since what was there before it is not.
fn era(bucket: &Bucket, look: Option<&Look>) -> Option<String> {
    let tag = match look {
        None => "never".to_owned(),
        Some(look) if look.has_ended => look.tag.to_string(),
        Some(_) => return None,
    };
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).map(|since| since.as_secs()).ok();
    let made = seconds(bucket.made_at()?)?;
    let day = seconds(bucket.transport.server_now()?)? / SECONDS_OF_A_DAY;
    Some(format!("{made} {day} {tag}"))
}

/// One write, one look; and a deletion when it ends.
fn hold(bucket: &Arc<Bucket>) -> Result<(Lease, Option<String>), StoreError> {
    let began = Instant::now();
    loop {
        let key = format!("{HOLDS}{}", token::unique());
        bucket.overwrite(&key, b"{}")?;
        // Dropped, and so deleted, when somebody sweeps.
        let lease = Lease::new(Arc::clone(bucket), key);
        let look = look_at_sweep(bucket)?;
        if !is_swept(look.as_ref()) {
            return Ok((lease, era(bucket, look.as_ref())));
        }
        drop(lease);
        while is_swept(look_at_sweep(bucket)?.as_ref()) {
            if began.elapsed() > WAIT {
                return Err(busy(bucket, WAIT));
            }
            thread::sleep(PAUSE);
        }
    }
}

fn sweep(bucket: &Arc<Bucket>) -> Result<SweepLease, StoreError> {
    let began = Instant::now();
    let lease = loop {
        if let Some(lease) = take_sweep(bucket)? {
            break lease;
        }
        if began.elapsed() > WAIT {
            return Err(busy(bucket, WAIT));
        }
        thread::sleep(PAUSE);
    };
    // From here on nobody begins to hold.
    while is_held(bucket)? {
        if began.elapsed() > WAIT {
            lease.end();
            return Err(busy(bucket, WAIT));
        }
        thread::sleep(PAUSE);
    }
    Ok(lease)
}

/// Writes that we sweep, if it is free.
fn take_sweep(bucket: &Arc<Bucket>) -> Result<Option<SweepLease>, RemoteError> {
    let token = token::unique();
    let asked = Moment::now();
    let written = match look_at_sweep(bucket)? {
        Some(Look { by: Some(_), .. }) => return Ok(None),
        Some(Look { tag, by: None, .. }) => bucket.update(SWEEP, &tag, &sweeper(Some(&token)))?,
        None => bucket.create(SWEEP, &sweeper(Some(&token)))?,
    };
    let tag = match written {
        Written::Done { tag } => Some(tag),
        Written::Refused { doubt: false } => None,
        // Perhaps by this very call.
        Written::Refused { doubt: true } => {
            look_at_sweep(bucket)?.filter(|look| look.by.as_deref() == Some(&*token)).map(|look| look.tag)
        }
    };
    Ok(tag.map(|tag| SweepLease::new(Arc::clone(bucket), token, tag, asked)))
}

/// Whether somebody holds. What is left of those who died is deleted: each has a key of its own, which nobody takes again.
fn is_held(bucket: &Bucket) -> Result<bool, RemoteError> {
    let mut is_held = false;
    for hold in bucket.list(HOLDS)? {
        if counts(bucket, hold.modified) {
            is_held = true;
        } else {
            bucket.delete(&hold.key)?;
        }
    }
    Ok(is_held)
}
