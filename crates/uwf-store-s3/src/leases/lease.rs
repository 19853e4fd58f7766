//! A lease, and the thread that renews it.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use super::moment::BucketLeaseInstant;
use super::{LEASE, RENEWAL, SWEEP, look_at_sweep, sweeper};
use crate::bucket::{BucketWriteOutcome, StoreBucket};
use crate::tag::ObjectTag;

/// How long before the end of a lease removing stops, because a request takes time.
const MARGIN: Duration = Duration::from_secs(15);

/// How often a write is repeated if the object has another tag than expected.
const ROUNDS: usize = 3;

/// Repeats an action until it is stopped.
struct ActionRepeater {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ActionRepeater {
    fn new(mut renew: impl FnMut() + Send + 'static) -> ActionRepeater {
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(RENEWAL) {
                renew();
            }
        });
        ActionRepeater { stop: Some(stop), thread: Some(thread) }
    }

    /// Stops for good. A later write would restore the object after it was deleted.
    fn stop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // The thread ends when the channel closes. A panic in it changes nothing here.
            let _ = thread.join();
        }
    }
}

/// The lease of this process's holds.
pub(crate) struct HoldLease {
    bucket: Arc<StoreBucket>,
    key: String,
    repeat: ActionRepeater,
}

impl HoldLease {
    /// The lease of an object that was just written.
    pub(crate) fn new(bucket: Arc<StoreBucket>, key: String) -> HoldLease {
        let renewed = (Arc::clone(&bucket), key.clone());
        let repeat = ActionRepeater::new(move || {
            // If this write fails, the next one may still succeed before the lease ends.
            let _ = renewed.0.overwrite(&renewed.1, b"{}");
        });
        HoldLease { bucket, key, repeat }
    }
}

impl Drop for HoldLease {
    fn drop(&mut self) {
        self.repeat.stop();
        // If this fails, the lease expires.
        let _ = self.bucket.delete(&self.key);
    }
}

/// The lease of this process's sweep.
pub(crate) struct SweepLease {
    renewed: Arc<SweepRenewalState>,
    repeat: Mutex<ActionRepeater>,
}

/// State that is shared with the renewing thread.
struct SweepRenewalState {
    bucket: Arc<StoreBucket>,
    token: String,
    now: Mutex<LeaseState>,
}

struct LeaseState {
    tag: ObjectTag,
    /// When the last write that succeeded in time was sent.
    written: BucketLeaseInstant,
}

impl SweepLease {
    /// The lease of an object that was just written, after `written`, and now has this tag.
    pub(crate) fn new(
        bucket: Arc<StoreBucket>,
        token: String,
        tag: ObjectTag,
        written: BucketLeaseInstant,
    ) -> SweepLease {
        let renewed = Arc::new(SweepRenewalState { bucket, token, now: Mutex::new(LeaseState { tag, written }) });
        let renewing = Arc::clone(&renewed);
        let repeat = Mutex::new(ActionRepeater::new(move || renewing.renew()));
        SweepLease { renewed, repeat }
    }

    /// Whether it is certain that no other process can hold or sweep yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.renewed.is_fresh()
    }

    /// Ends the sweep, so that others need not wait for the lease to expire.
    pub(crate) fn end(&self) {
        self.repeat.lock().stop();
        // If this fails, the lease expires.
        let _ = self.renewed.write(None);
    }
}

impl SweepRenewalState {
    fn is_fresh(&self) -> bool {
        self.now.lock().written.elapsed() < LEASE - MARGIN
    }

    /// Renews the lease, unless it has expired.
    ///
    /// The danger: a machine is suspended for longer than its lease. Others hold, store a reference to a node, and finish. They write
    /// nothing into `locks/sweep`, so the resumed sweeper could renew its lease and then remove that node. So an expired lease stays
    /// expired, even if it expires while a renewal is on its way.
    fn renew(&self) {
        if !self.is_fresh() {
            return;
        }
        let sent = BucketLeaseInstant::now();
        if let Some(tag) = self.write(Some(&self.token)) {
            let mut now = self.now.lock();
            now.tag = tag;
            if now.written.elapsed() < LEASE {
                now.written = sent;
            }
        }
    }

    /// Writes `by` as the sweeper, if this process still is the sweeper. Returns the new tag.
    fn write(&self, by: Option<&str>) -> Option<ObjectTag> {
        for _ in 0..ROUNDS {
            let tag = self.now.lock().tag.clone();
            match self.bucket.update(SWEEP, &tag, &sweeper(by)).ok()? {
                BucketWriteOutcome::Done { tag } => return Some(tag),
                // Perhaps because of an earlier write of ours whose answer was lost.
                BucketWriteOutcome::Refused { .. } => {
                    let found = look_at_sweep(&self.bucket).ok()??;
                    if found.by.as_ref() != Some(&self.token) {
                        return None;
                    }
                    self.now.lock().tag = found.tag;
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use uwf_testing::bucket::BucketServer;

    use super::*;
    use crate::store::S3Store;

    /// A lease that was last written this long ago.
    fn lease(server: &BucketServer, written: Duration) -> SweepLease {
        let store = S3Store::open_with(&server.url("store"), server.variables("store")).unwrap();
        store.init().unwrap();
        let bucket = store.ready().unwrap();
        let BucketWriteOutcome::Done { tag } = bucket.create(SWEEP, &sweeper(Some("we"))).unwrap() else {
            panic!("it is swept")
        };
        SweepLease::new(bucket, "we".to_owned(), tag, BucketLeaseInstant::ago(written))
    }

    #[test]
    fn lease_is_renewed_only_until_it_ends() {
        for (written, is_renewed) in [(RENEWAL, true), (LEASE - MARGIN, false), (2 * LEASE, false)] {
            let server = BucketServer::start();
            let lease = lease(&server, written);
            let before = server.text("store", "locks");
            lease.renewed.renew();
            assert_eq!(server.text("store", "locks") != before, is_renewed, "written {written:?} ago");
            assert_eq!(lease.is_fresh(), is_renewed, "written {written:?} ago");
        }
    }

    #[test]
    fn renewal_arriving_after_lease_end_does_not_count() {
        let server = BucketServer::start();
        let lease = lease(&server, Duration::ZERO);
        server.slow(Duration::from_millis(500));
        std::thread::scope(|scope| {
            let renewing = scope.spawn(|| lease.renewed.renew());
            // The remaining time passes while the renewal is on its way.
            std::thread::sleep(Duration::from_millis(100));
            lease.renewed.now.lock().written = BucketLeaseInstant::ago(LEASE);
            renewing.join().unwrap();
        });
        assert!(!lease.is_fresh());
    }

    #[test]
    fn lost_answer_neither_ends_lease_nor_blocks_others() {
        let server = BucketServer::start();
        // Another version of the object, but still ours.
        let lose_an_answer = || server.rewrite("store", SWEEP, str::to_owned);
        let lease = lease(&server, LEASE - MARGIN - Duration::from_secs(10));
        lose_an_answer();
        lease.renewed.renew();
        let since = lease.renewed.now.lock().written.elapsed();
        assert!(since < Duration::from_secs(20), "it was not renewed for {since:?}");
        lose_an_answer();
        lease.end();
        assert!(server.text("store", "locks").contains(r#""by":null"#), "it did not end");
    }

    #[test]
    fn lease_taken_by_other_holder_is_not_renewed() {
        let server = BucketServer::start();
        let lease = lease(&server, RENEWAL);
        server.rewrite("store", SWEEP, |text| text.replace("we", "they"));
        lease.renewed.renew();
        lease.end();
        assert!(server.text("store", "locks").contains(r#""by":"they""#), "it was taken back");
        assert!(lease.renewed.now.lock().written.elapsed() >= RENEWAL);
    }
}
