//! A lease, and the thread that renews it.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{LEASE, RENEWAL, SWEEP, lock, sweeper};
use crate::bucket::{Bucket, Written};
use crate::tag::Tag;

/// So long before the end of a lease nothing is removed any more: a request takes its time.
const MARGIN: Duration = Duration::from_secs(15);

/// Does something again and again until it is stopped.
struct Repeat {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Repeat {
    fn new(mut renew: impl FnMut() + Send + 'static) -> Repeat {
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(RENEWAL) {
                renew();
            }
        });
        Repeat { stop: Some(stop), thread: Some(thread) }
    }

    /// Afterwards it does nothing any more: what it would write now would be there again after it was deleted.
    fn stop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It ends with the channel; that it panicked changes nothing here.
            let _ = thread.join();
        }
    }
}

/// That somebody in this process holds.
pub(crate) struct Lease {
    bucket: Arc<Bucket>,
    key: String,
    repeat: Repeat,
}

impl Lease {
    /// Of an object that was just written.
    pub(crate) fn new(bucket: Arc<Bucket>, key: String) -> Lease {
        let renewed = (Arc::clone(&bucket), key.clone());
        let repeat = Repeat::new(move || {
            // If it cannot be written now, perhaps the next time, before it ends.
            let _ = renewed.0.overwrite(&renewed.1, b"{}");
        });
        Lease { bucket, key, repeat }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.repeat.stop();
        // Otherwise it ends by itself.
        let _ = self.bucket.delete(&self.key);
    }
}

/// That this process sweeps.
pub(crate) struct SweepLease {
    bucket: Arc<Bucket>,
    now: Arc<Mutex<Now>>,
    repeat: Mutex<Repeat>,
}

struct Now {
    tag: Tag,
    /// When the last write of it was sent that went well.
    written: Instant,
}

impl SweepLease {
    /// Of an object that was just written: after `written`, and it has this tag now.
    pub(crate) fn new(bucket: Arc<Bucket>, token: String, tag: Tag, written: Instant) -> SweepLease {
        let now = Arc::new(Mutex::new(Now { tag, written }));
        let renewed = (Arc::clone(&bucket), Arc::clone(&now));
        let repeat = Mutex::new(Repeat::new(move || {
            let (bucket, now) = &renewed;
            let mut now = lock(now);
            let sent = Instant::now();
            if let Ok(Written::Done { tag }) = bucket.update(SWEEP, &now.tag, &sweeper(Some(&token))) {
                *now = Now { tag, written: sent };
            }
        }));
        SweepLease { bucket, now, repeat }
    }

    /// Whether nobody else can hold or sweep yet.
    pub(crate) fn is_fresh(&self) -> bool {
        lock(&self.now).written.elapsed() < LEASE - MARGIN
    }

    /// Lets others in, unless they are already, who waited for the lease to end.
    pub(crate) fn end(&self) {
        lock(&self.repeat).stop();
        let tag = lock(&self.now).tag.clone();
        // Otherwise it ends by itself.
        let _ = self.bucket.update(SWEEP, &tag, &sweeper(None));
    }
}
