//! The pause before a source connects again.

use std::time::{Duration, Instant};

/// The first pause; it doubles with each failure.
const FIRST: Duration = Duration::from_millis(500);

/// The longest pause.
const LONGEST: Duration = Duration::from_mins(1);

/// A connection that lasted this long resets the pause.
const GOOD: Duration = Duration::from_secs(10);

/// Pauses between connections.
pub(super) struct ReconnectPause {
    next: Duration,
    begun: Instant,
}

impl ReconnectPause {
    pub(super) fn new() -> ReconnectPause {
        ReconnectPause { next: FIRST, begun: Instant::now() }
    }

    /// A connection begins.
    pub(super) fn begin(&mut self) {
        self.begun = Instant::now();
    }

    /// The pause after a connection has ended; `asked` is the pause that the server asks for.
    pub(super) fn pause(&mut self, asked: Option<Duration>) -> Duration {
        if self.begun.elapsed() > GOOD {
            self.next = FIRST;
        }
        let pause = self.next;
        self.next = LONGEST.min(pause * 2);
        asked.unwrap_or(pause).clamp(pause, LONGEST.max(pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute() {
        let mut backoff = ReconnectPause::new();
        let pauses: Vec<u128> = (0..9).map(|_| backoff.pause(None).as_millis()).collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        let mut backoff = ReconnectPause::new();
        assert_eq!(backoff.pause(Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(backoff.pause(Some(Duration::from_hours(2))), LONGEST);
    }
}
