//! The clock that leases are measured with: it can't be set, and it runs while the machine sleeps.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment(Timespec);

impl Moment {
    pub(crate) fn now() -> Moment {
        // No other machine waits for this one to wake up.
        #[cfg(target_os = "linux")]
        let clock = ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let clock = ClockId::Monotonic;
        Moment(clock_gettime(clock))
    }

    /// The time since then.
    pub(crate) fn elapsed(self) -> Duration {
        Duration::try_from(Moment::now().0 - self.0).unwrap_or_default()
    }

    /// A moment so long ago.
    #[cfg(test)]
    pub(crate) fn ago(time: Duration) -> Moment {
        Moment(Moment::now().0 - Timespec::try_from(time).unwrap())
    }
}
