//! The clock for leases: it can't be set, and it keeps running while the machine sleeps.

use std::time::Duration;

use rustix::time::Timespec;
use uwf_platform::host;

#[derive(Debug, Clone, Copy)]
pub(crate) struct BucketLeaseInstant(Timespec);

impl BucketLeaseInstant {
    pub(crate) fn now() -> BucketLeaseInstant {
        BucketLeaseInstant(host().lease_clock())
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
