//! Durations as arguments.

use std::time::Duration;

use uwf_core::document::parse_duration;

/// Parses a duration.
pub(crate) fn given(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "a duration is a number with a unit: 90s, 15m, 24h, 7d".to_owned())
}
