//! The clock for leases: it can't be set, and it keeps running while the machine sleeps.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

#[derive(Debug, Clone, Copy)]
pub(crate) struct BucketLeaseInstant(Timespec);

impl BucketLeaseInstant {
    pub(crate) fn now() -> BucketLeaseInstant {
        // Count the time of sleep, because other machines don't wait for this one to wake up.
        #[cfg(target_os = "linux")]
        let clock = ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let clock = ClockId::Monotonic;
        BucketLeaseInstant(clock_gettime(clock))
    }

    /// The time since this moment.
    pub(crate) fn elapsed(self) -> Duration {
        Duration::try_from(BucketLeaseInstant::now().0 - self.0).unwrap_or_default()
    }

    /// The moment this long ago.
    #[cfg(test)]
    pub(crate) fn ago(time: Duration) -> BucketLeaseInstant {
        BucketLeaseInstant(BucketLeaseInstant::now().0 - Timespec::try_from(time).unwrap())
    }
}
