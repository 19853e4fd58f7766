//! Durations as people write them.

use std::time::Duration;

use crate::number::MAX_WHOLE;

/// Reads `90`, `0.5` (seconds), `90s`, `500ms`, `15m`, `2h` or `1d`. `None` for anything else, such as a negative number or more than
/// [`MAX_WHOLE`] seconds.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds_per_unit = match unit.trim() {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    Duration::try_from_secs_f64(number * seconds_per_unit).ok().filter(|time| time.as_secs() <= MAX_WHOLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_can_have_every_unit() {
        for (text, milliseconds) in [
            ("0", 0),
            ("90", 90_000),
            ("0.5", 500),
            ("250ms", 250),
            ("90s", 90_000),
            ("15m", 900_000),
            ("15 min", 900_000),
            ("2h", 7_200_000),
            ("1.5h", 5_400_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(milliseconds)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration() {
        for text in
            ["", "s", "-5", "5 years", "1h30m", "1e3", "1.2.3", ".", "999999999999999999999999999h", "9007199254740992"]
        {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
