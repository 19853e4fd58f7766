//! The time zone in which the days of costs begin and end.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use uwf_core::view;

use crate::error::{Error, Result};

/// Name of the default time zone.
const UTC: &str = "UTC";

/// A time zone, for days.
#[derive(Debug, Clone, PartialEq)]
pub struct DayZone {
    zone: TimeZone,
    name: String,
}

impl Default for DayZone {
    /// UTC.
    fn default() -> DayZone {
        DayZone { zone: TimeZone::UTC, name: UTC.to_owned() }
    }
}

impl DayZone {
    /// The time zone of this machine: of the variable `TZ`, or of the system. UTC if neither is known.
    #[must_use]
    pub fn of_machine() -> DayZone {
        let zone = TimeZone::system();
        if zone.is_unknown() { DayZone::default() } else { DayZone::from_zone(zone) }
    }

    fn from_zone(zone: TimeZone) -> DayZone {
        let name = match zone.iana_name() {
            Some("Etc/UTC") => UTC.to_owned(),
            Some(name) => name.to_owned(),
            // A rule such as `CET-1CEST` has no name.
            None => format!("{UTC}{}", zone.to_offset(Timestamp::now())),
        };
        DayZone { zone, name }
    }

    /// A time zone by its name, such as `Europe/Berlin`.
    ///
    /// # Errors
    /// `Usage` if this machine does not know it.
    pub fn named(name: &str) -> Result<DayZone> {
        TimeZone::get(name).map(DayZone::from_zone).map_err(|_| {
            Error::usage(format!("this machine does not know the time zone `{name}`"))
                .hint("write a name of the IANA database, such as Europe/Berlin or UTC")
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The day of a time (Unix milliseconds): `2026-11-21`.
    #[must_use]
    pub fn day_of(&self, unix_ms: u64) -> String {
        let time = i64::try_from(unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        match time {
            Some(time) => time.to_zoned_datetime(self.zone.clone()).date().to_string(),
            // A time after the year 9999.
            None => view::time(unix_ms).split(' ').next().unwrap_or_default().to_owned(),
        }
    }

    /// Unix milliseconds of the beginning of a day; `None` for an invalid date, or one before 1970.
    #[must_use]
    pub fn start_of(&self, day: &str) -> Option<u64> {
        let start = day.parse::<Date>().ok()?.to_zoned_datetime(self.zone.clone()).ok()?;
        u64::try_from(start.timestamp().as_millisecond()).ok()
    }
}

/// The day this many days after another one; `None` for an invalid date.
#[must_use]
pub fn days_after(day: &str, days: i64) -> Option<String> {
    let later = day.parse::<Date>().ok()?.checked_add(days.days()).ok()?;
    Some(later.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_begin_at_midnight_of_their_zone() {
        let zone = DayZone::named("pacific/kiritimati").unwrap();
        assert_eq!(zone.name(), "Pacific/Kiritimati");
        let start = zone.start_of("2026-11-21").unwrap();
        assert_eq!(view::time(start), "2026-11-20 10:00:00");
        assert_eq!([start - 1, start].map(|ms| zone.day_of(ms)), ["2026-11-20", "2026-11-21"]);
        let utc = DayZone::default();
        assert_eq!((utc.name(), utc.day_of(start)), ("UTC", "2026-11-20".to_owned()));
        assert_eq!(utc.start_of("2026-11-21").map(view::time).as_deref(), Some("2026-11-21 00:00:00"));
        assert_eq!((utc.start_of("1969-12-31"), utc.start_of("2026-02-29")), (None, None));
        assert_eq!(DayZone::named("Etc/UTC").unwrap().name(), "UTC");
        assert!(DayZone::named("Middle/Earth").is_err());
        assert_eq!(utc.day_of(u64::MAX), "584556019-04-03");
    }

    #[test]
    fn days_follow_the_calendar() {
        assert_eq!(days_after("2026-02-28", 1).as_deref(), Some("2026-03-01"));
        assert_eq!(days_after("2027-01-01", -1).as_deref(), Some("2026-12-31"));
        assert_eq!(days_after("soon", 1), None);
    }
}
