//! Points in time in traces.

use serde_json::Value;

/// Numbers below this are seconds, others are milliseconds: as milliseconds it is in 1973, as seconds in the year 5138.
const SECONDS_BELOW: f64 = 1e11;

/// Unix milliseconds of a value: a number of seconds or milliseconds, or a text like `2026-11-22T02:17:53.403Z`.
pub(super) fn ms(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::Number(number) => {
            let number = number.as_f64().filter(|number| *number > 0.0 && *number < 9e15)?;
            Some(if number < SECONDS_BELOW { (number * 1000.0).round() as u64 } else { number as u64 })
        }
        Value::String(text) => rfc3339(text),
        _ => None,
    }
}

/// Unix milliseconds of a date and time of RFC 3339, at or after 1970.
fn rfc3339(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    if !text.is_ascii() || bytes.len() < 20 || (bytes[4], bytes[7], bytes[13], bytes[16]) != (b'-', b'-', b':', b':') {
        return None;
    }
    let number = |from: usize, to: usize| text[from..to].parse::<i64>().ok();
    let days = days(number(0, 4)?, number(5, 7)?, number(8, 10)?)?;
    let seconds = days * 86_400 + number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    let rest = &text[19..];
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let (fraction, zone) = rest.split_at(zone_at);
    let millis: String = fraction.trim_start_matches('.').chars().chain("000".chars()).take(3).collect();
    let total = (seconds - offset(zone)?) * 1000 + millis.parse::<i64>().ok()?;
    u64::try_from(total).ok()
}

/// Seconds a time zone is ahead of UTC: `Z`, `+02:00`.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return Some(0),
    };
    let (hours, minutes) = zone[1..].split_once(':')?;
    let number = |text: &str| text.parse::<u8>().ok().map(i64::from);
    Some(sign * (number(hours)? * 3600 + number(minutes)? * 60))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year < 1970 {
        return None;
    }
    // Years that begin in March have their leap day at the end, so months have fixed offsets.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let before = 365 * year + year / 4 - year / 100 + year / 400;
    Some(before + (153 * month + 2) / 5 + day - 1 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_form_is_the_same_moment() {
        let moment = Some(1_795_313_873_403);
        for form in [
            json!("2026-11-22T02:17:53.403Z"),
            json!("2026-11-22T04:17:53.403819+02:00"),
            json!(1_795_313_873.403),
            json!(1_795_313_873_403u64),
        ] {
            assert_eq!(ms(Some(&form)), moment, "{form}");
        }
        assert_eq!(ms(Some(&json!("2024-02-29T00:00:00Z"))), Some(1_709_164_800_000));
        for none in [
            json!("2026-11-22T02:17:53+9223372036854775807:00"),
            json!("yesterday"),
            json!("2026-13-22T02:17:53Z"),
            json!(-1),
            json!(null),
            json!("2026-11-22T02:17:53"),
        ] {
            assert_eq!(ms(Some(&none)), None, "{none}");
        }
    }
}
