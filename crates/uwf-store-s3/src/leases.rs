//! Leases for holders and sweepers of the nodes: objects that count for a limited time.
//!
//! A holder writes its own object, `locks/holds/TOKEN`, and then reads `locks/sweep`. A sweeper writes its token into `locks/sweep`, on
//! the condition that it is free, and then looks for holds. Both write before they look, and a bucket shows every write to all later
//! readers: if two processes meet, at least one of them sees the other. Then the holder gives way, and the sweeper waits.
//!
//! An object counts for [`LEASE`] after it was written. Only the server's clock matters: the object's time, as the server reports it, is
//! compared with the date in the server's answers. A process that needs longer rewrites its object every [`RENEWAL`].

mod lease;
mod moment;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use json_cas::{HoldGuard, RemoteError, StoreError, SweepGuard};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use self::lease::{HoldLease, SweepLease};
use self::moment::BucketLeaseInstant;
use crate::bucket::{BucketWriteOutcome, StoreBucket};
use crate::past::json_bytes;
use crate::tag::ObjectTag;
use crate::token;

/// How long a lease counts.
pub(crate) const LEASE: Duration = Duration::from_mins(1);

/// How long after a write the lease is renewed.
pub(crate) const RENEWAL: Duration = Duration::from_secs(20);

/// The server reports whole seconds, so an object may seem older than it is by this much.
const CLOCK_STEP: Duration = Duration::from_secs(2);

/// How long holders and sweepers wait for each other. Longer than a lease, so that the lease of a dead machine ends within it.
const WAIT: Duration = Duration::from_secs(75);

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// How long a sweeper waits before its next sweep, so that others can hold. A process that waits for the end of the sweep looks within a
/// [`PAUSE`], and then takes a write and a look to hold.
const LET_OTHERS: Duration = Duration::from_secs(1);

const SECONDS_OF_A_DAY: u64 = 24 * 60 * 60;

pub(crate) const SWEEP: &str = "locks/sweep";
const HOLDS: &str = "locks/holds/";

/// The content of `locks/sweep`.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SweepLockContent {
    /// The token of the sweeper; none if it is free.
    by: Option<String>,
    /// A new token for each write, so that no two writes have the same tag.
    write: String,
}

pub(crate) fn sweeper(by: Option<&str>) -> Vec<u8> {
    json_bytes(&SweepLockContent { by: by.map(str::to_owned), write: token::unique() })
}

/// The leases of this process.
#[derive(Default)]
pub(crate) struct BucketLeases {
    holding: Mutex<BucketHolds>,
    sweeping: Mutex<Option<Arc<SweepLease>>>,
    /// The end of the last sweep.
    swept: Mutex<Option<Instant>>,
}

/// All holds of this process share one lease.
#[derive(Default)]
struct BucketHolds {
    count: usize,
    lease: Option<HoldLease>,
    era: Option<String>,
}

struct OneHold(Arc<BucketLeases>);

impl Drop for OneHold {
    fn drop(&mut self) {
        let mut holding = self.0.holding.lock();
        holding.count -= 1;
        if holding.count == 0 {
            holding.lease = None;
        }
    }
}

struct OneSweep(Arc<BucketLeases>);

impl Drop for OneSweep {
    fn drop(&mut self) {
        let lease = self.0.sweeping.lock().take();
        if let Some(lease) = lease {
            lease.end();
        }
        *self.0.swept.lock() = Some(Instant::now());
    }
}

impl BucketLeases {
    /// Waits while a sweep is running.
    pub(crate) fn hold(self: &Arc<BucketLeases>, bucket: &Arc<StoreBucket>) -> Result<HoldGuard, StoreError> {
        let mut holding = self.holding.lock();
        if holding.count == 0 {
            let (lease, era) = hold(bucket)?;
            (holding.lease, holding.era) = (Some(lease), era);
        }
        holding.count += 1;
        Ok(HoldGuard::new(OneHold(Arc::clone(self))).in_era(holding.era.clone()))
    }

    /// Waits while others hold or sweep, and for a moment after the last sweep, so that others get their turn.
    pub(crate) fn sweep(self: &Arc<BucketLeases>, bucket: &Arc<StoreBucket>) -> Result<SweepGuard, StoreError> {
        let swept = *self.swept.lock();
        thread::sleep(swept.map_or(Duration::ZERO, |swept| LET_OTHERS.saturating_sub(swept.elapsed())));
        let lease = sweep(bucket)?;
        *self.sweeping.lock() = Some(Arc::new(lease));
        Ok(SweepGuard::new(OneSweep(Arc::clone(self))))
    }

    /// Whether it is still certain that no process holds. If not, stop removing nodes.
    ///
    /// The danger: a machine is suspended in the middle of a sweep for longer than its lease. Others hold and store a reference to a node,
    /// and then the machine resumes and removes that node. Two cases remain: a request that is already on its way when the machine is
    /// suspended, and a holder that is suspended that long itself, because it doesn't notice.
    pub(crate) fn is_still_swept(&self) -> bool {
        self.sweeping.lock().as_ref().is_some_and(|lease| lease.is_fresh())
    }
}

/// The place of the leases, for messages.
pub(crate) fn place(bucket: &StoreBucket) -> PathBuf {
    PathBuf::from(format!("{}/locks", bucket.name()))
}

fn busy(bucket: &StoreBucket, waited: Duration) -> StoreError {
    StoreError::Busy { path: place(bucket), waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX) }
}

/// Whether a lease that was written at this time still counts. If the server has no clock, leases never end.
fn counts(bucket: &StoreBucket, written: SystemTime) -> bool {
    let age = bucket.transport.server_now().map(|now| now.duration_since(written).unwrap_or_default());
    age.is_none_or(|age| age <= LEASE + CLOCK_STEP)
}

/// The content of `locks/sweep`, as it was read.
struct SweepLockState {
    tag: ObjectTag,
    /// The token of the sweeper, while its lease counts.
    by: Option<String>,
    /// Whether the last sweeper reported the end of its sweep. If not, its lease expired, and it may still be about to remove nodes.
    has_ended: bool,
}

/// The state of `locks/sweep`; `None` if no sweep ever happened.
fn look_at_sweep(bucket: &StoreBucket) -> Result<Option<SweepLockState>, RemoteError> {
    let Some(found) = bucket.get(SWEEP)? else { return Ok(None) };
    // Unreadable content counts as a sweeper until it is too old.
    let by = serde_json::from_slice(&found.bytes)
        .map_or_else(|_| Some(String::new()), |sweeper: SweepLockContent| sweeper.by);
    let has_ended = by.is_none();
    Ok(Some(SweepLockState { tag: found.tag, by: by.filter(|_| counts(bucket, found.modified)), has_ended }))
}

fn is_swept(look: Option<&SweepLockState>) -> bool {
    look.is_some_and(|look| look.by.is_some())
}

/// The era in which a hold began: the time between two sweeps. A process removes nodes only after it has written `locks/sweep`, which
/// gives that object another tag, and only while no one holds. So a node that exists under one hold of an era exists under all its holds.
///
/// This requires that only this program removes objects. A new day begins another era, so that removals by others are noticed. So does
/// initializing the store again, because earlier nodes are then gone.
fn era(bucket: &StoreBucket, look: Option<&SweepLockState>) -> Option<String> {
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

/// One write and one look; one deletion when the hold ends.
fn hold(bucket: &Arc<StoreBucket>) -> Result<(HoldLease, Option<String>), StoreError> {
    let began = Instant::now();
    loop {
        let key = format!("{HOLDS}{}", token::unique());
        bucket.overwrite(&key, b"{}")?;
        // Dropped, and so deleted, if another process sweeps.
        let lease = HoldLease::new(Arc::clone(bucket), key);
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

fn sweep(bucket: &Arc<StoreBucket>) -> Result<SweepLease, StoreError> {
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
    // From here on, no new hold can begin.
    while is_held(bucket)? {
        if began.elapsed() > WAIT {
            lease.end();
            return Err(busy(bucket, WAIT));
        }
        thread::sleep(PAUSE);
    }
    Ok(lease)
}

/// Registers this process as the sweeper, if `locks/sweep` is free.
fn take_sweep(bucket: &Arc<StoreBucket>) -> Result<Option<SweepLease>, RemoteError> {
    let token = token::unique();
    let asked = BucketLeaseInstant::now();
    let written = match look_at_sweep(bucket)? {
        Some(SweepLockState { by: Some(_), .. }) => return Ok(None),
        Some(SweepLockState { tag, by: None, .. }) => bucket.update(SWEEP, &tag, &sweeper(Some(&token)))?,
        None => bucket.create(SWEEP, &sweeper(Some(&token)))?,
    };
    let tag = match written {
        BucketWriteOutcome::Done { tag } => Some(tag),
        BucketWriteOutcome::Refused { doubt: false } => None,
        // Perhaps this very call wrote it.
        BucketWriteOutcome::Refused { doubt: true } => {
            look_at_sweep(bucket)?.filter(|look| look.by.as_deref() == Some(&*token)).map(|look| look.tag)
        }
    };
    Ok(tag.map(|tag| SweepLease::new(Arc::clone(bucket), token, tag, asked)))
}

/// Whether any process holds. Deletes the expired leases of dead processes: each has its own key, which is never used again.
fn is_held(bucket: &StoreBucket) -> Result<bool, RemoteError> {
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
