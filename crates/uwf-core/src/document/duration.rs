//! Durations as people write them.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::by_schema::TextFault;
use crate::number::MAX_WHOLE;

/// Parses `90`, `0.5` (seconds), `90s`, `500ms`, `15m`, `2h` or `1d`. `None` for anything else, such as a negative number or more than
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

/// Stands for durations in schemas.
pub(crate) enum DurationText {}

impl DurationText {
    /// The schema of durations with the rule of a format.
    pub(crate) fn schema(format: &str) -> Schema {
        json_schema!({
            "type": ["string", "number"],
            "title": "a duration",
            "format": format,
            "pattern": r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(ms|s|m|min|h|d)?\s*$",
            "minimum": 0,
        })
    }

    /// The error in a text that must be a duration, if `format` requires one.
    pub(crate) fn fault(format: &str, key: &str, text: &str) -> Option<TextFault> {
        (format == "duration" && parse_duration(text).is_none()).then(|| TextFault {
            code: "bad-value",
            message: format!("`{key}` is `{text}`, which is not a duration"),
            hint: Some(hint(key)),
        })
    }

    /// Deserialises a duration.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_duration(&text).map(Some).ok_or_else(|| D::Error::custom("not a duration"))
    }
}

impl JsonSchema for DurationText {
    fn schema_name() -> Cow<'static, str> {
        "DurationText".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        DurationText::schema("duration")
    }
}

/// The forms of a duration. Most are limits, and `wait` is a time to wait.
fn hint(key: &str) -> String {
    let forms = "write seconds as a number, or 500ms, 90s, 15m, 2h";
    if key.ends_with("wait") { forms.to_owned() } else { format!("{forms}; 0 means no limit") }
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
    fn invalid_durations_are_rejected() {
        for text in
            ["", "s", "-5", "5 years", "1h30m", "1e3", "1.2.3", ".", "999999999999999999999999999h", "9007199254740992"]
        {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
