//! Times for people.

/// A time (Unix milliseconds) in readable form, UTC: `2026-11-21 22:05:31`.
pub fn time(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

/// Unix milliseconds of the start of a day such as `2026-11-21`, UTC; `None` for an invalid date or one before 1970.
pub fn day_start(date: &str) -> Option<u64> {
    let mut parts = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    // For years of four digits, leap days and the day of the year add less than 3000 days.
    let near = year.checked_sub(1970)?.checked_mul(365)?;
    let days = (near..near + 3000).find(|days| civil(*days) == (year, month, day))?;
    Some(days * 86_400_000)
}

/// Date of a day counted from 1970-01-01, after Howard Hinnant's `civil_from_days`.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::{day_start, time};

    #[test]
    fn a_day_begins_at_midnight() {
        for date in ["1970-01-01", "2000-02-29", "2026-11-21", "9999-12-31"] {
            let start = day_start(date).unwrap();
            assert_eq!(time(start), format!("{date} 00:00:00"));
        }
        for date in ["2026-02-29", "1969-12-31", "2026-13-01", "2026", "x-1-1", "2026-11-00"] {
            assert_eq!(day_start(date), None, "{date}");
        }
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(time(0), "1970-01-01 00:00:00");
        assert_eq!(time(951_782_400_000), "2000-02-29 00:00:00");
        assert_eq!(time(1_795_298_731_000), "2026-11-21 22:05:31");
        assert_eq!(time(u64::MAX), "584556019-04-03 14:25:51");
    }
}
