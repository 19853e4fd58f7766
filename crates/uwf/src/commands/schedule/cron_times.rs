//! Times of a cron expression: five fields as in crontab(5), with an optional time zone in front.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::table;

/// Names that cron takes instead of five fields.
const SHORT_FORMS: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The days among which the next time is looked for: 29 February may be eight years away.
const MOST_DAYS: usize = 9 * 366;

/// The values of one field, sorted; `None` for every value.
type FieldValues = Option<Vec<u8>>;

/// A field: one of its values in words, its smallest and largest value, and the names of its values, in their order.
struct CronField {
    name: &'static str,
    from: u8,
    to: u8,
    names: &'static [&'static str],
}

const FIELDS: [CronField; 5] = [
    CronField { name: "a minute", from: 0, to: 59, names: &[] },
    CronField { name: "an hour", from: 0, to: 23, names: &[] },
    CronField { name: "a day of the month", from: 1, to: 31, names: &[] },
    CronField { name: "a month", from: 1, to: 12, names: &MONTHS },
    // Sunday is 0 and 7.
    CronField { name: "a day of the week", from: 0, to: 7, names: &DAYS },
];

/// The times of a cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CronTimes {
    minutes: FieldValues,
    hours: FieldValues,
    days: FieldValues,
    months: FieldValues,
    weekdays: FieldValues,
    /// The five fields as given.
    pub(super) fields: String,
    /// Name of the time zone in front; UTC by default.
    pub(super) zone: String,
}

impl CronTimes {
    /// Parses an expression. The error says which field is wrong, and why.
    pub(super) fn parse(text: &str) -> Result<CronTimes, String> {
        let text = text.trim();
        let (zone, rest) = match text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ=")) {
            Some(zoned) => zoned.split_once(char::is_whitespace).unwrap_or((zoned, "")),
            None => ("UTC", text),
        };
        if TimeZone::get(zone).is_err() {
            return Err(format!("`{zone}` is not a time zone; one is `Europe/Berlin`"));
        }
        let rest = rest.trim();
        let fields = match SHORT_FORMS.iter().find(|(name, _)| rest.eq_ignore_ascii_case(name)) {
            Some((_, fields)) => fields,
            None if rest.starts_with('@') => return Err(format!("`{rest}` is not known; `@daily` is")),
            None => rest,
        };
        let given: Vec<&str> = fields.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = given[..] else {
            return Err(format!("it has {} instead of 5", table::count(given.len(), "field")));
        };
        let values = |at: usize, text: &str| FIELDS[at].parse(text);
        let weekdays = values(4, weekday)?.map(|days| {
            let mut days: Vec<u8> = days.into_iter().map(|day| day % 7).collect();
            days.sort_unstable();
            days.dedup();
            days
        });
        let times = CronTimes {
            minutes: values(0, minute)?,
            hours: values(1, hour)?,
            days: values(2, day)?,
            months: values(3, month)?,
            weekdays,
            fields: given.join(" "),
            zone: zone.to_owned(),
        };
        if times.is_never() { Err("no month has such a day".to_owned()) } else { Ok(times) }
    }

    /// The same times as values of `OnCalendar=`, see systemd.time(7). Cron begins on a day that fits the day of the month *or* the day of the
    /// week if both are given; systemd wants both to fit, so there are two values then.
    pub(super) fn calendar(&self) -> Vec<String> {
        let date = |days: &FieldValues| format!("*-{}-{}", list(&self.months), list(days));
        let time = format!("{}:{}:00 {}", list(&self.hours), list(&self.minutes), self.zone);
        let week = self.weekdays.as_ref().map(|days| {
            // Names, because systemd counts from Monday.
            days.iter().map(|day| DAYS[usize::from(*day)]).collect::<Vec<_>>().join(",")
        });
        match (&self.days, week) {
            (days, None) => vec![format!("{} {time}", date(days))],
            (None, Some(week)) => vec![format!("{week} {} {time}", date(&None))],
            (days, Some(week)) => vec![format!("{} {time}", date(days)), format!("{week} {} {time}", date(&None))],
        }
    }

    /// The first of the times after another time, in the words of systemd: `Mon 2026-11-30 09:00:00 UTC`.
    pub(super) fn next(&self, after: Timestamp) -> Option<String> {
        let zone = TimeZone::get(&self.zone).ok()?;
        let today = zone.to_datetime(after).date();
        let of_day = |date: Date| {
            let hours = all(self.hours.as_ref(), 23);
            let times = hours
                .into_iter()
                .flat_map(|hour| all(self.minutes.as_ref(), 59).into_iter().map(move |minute| (hour, minute)));
            let times = times.filter_map(|(hour, minute)| zone.to_timestamp(date.at(hour, minute, 0, 0)).ok());
            times.into_iter().find(|time| *time > after)
        };
        let days = std::iter::successors(Some(today), |date| date.tomorrow().ok()).take(MOST_DAYS);
        let next = days.filter(|date| self.fits(*date)).find_map(of_day)?;
        let (at, zone) = (zone.to_datetime(next), zone.to_offset_info(next));
        let day = DAYS[usize::try_from(at.weekday().to_sunday_zero_offset()).ok()?];
        let day = format!("{}{}", day[..1].to_ascii_uppercase(), &day[1..]);
        let (date, hour, minute) = (at.date(), at.hour(), at.minute());
        Some(format!("{day} {date} {hour:02}:{minute:02}:00 {}", zone.abbreviation()))
    }

    /// Whether cron starts something on a day: if both the day of the month and the day of the week are given, one of them must fit.
    fn fits(&self, date: Date) -> bool {
        let has = |values: &FieldValues, value: i8| {
            values.as_ref().map(|values| u8::try_from(value).is_ok_and(|value| values.contains(&value)))
        };
        let weekday = date.weekday().to_sunday_zero_offset();
        let is_day = match (has(&self.days, date.day()), has(&self.weekdays, weekday)) {
            (Some(day), Some(weekday)) => day || weekday,
            (day, weekday) => day.or(weekday).unwrap_or(true),
        };
        is_day && has(&self.months, date.month()).unwrap_or(true)
    }

    /// Whether no date fits, such as 30 February.
    fn is_never(&self) -> bool {
        let (Some(days), None) = (&self.days, &self.weekdays) else { return false };
        let longest = |month: u8| match month {
            2 => 29,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let months = self.months.clone().unwrap_or_else(|| (1..=12).collect());
        !months.iter().any(|month| days.iter().any(|day| *day <= longest(*month)))
    }
}

/// The values of a field whose smallest value is 0.
fn all(values: Option<&Vec<u8>>, last: i8) -> Vec<i8> {
    match values {
        Some(values) => values.iter().filter_map(|value| i8::try_from(*value).ok()).collect(),
        None => (0..=last).collect(),
    }
}

fn list(values: &FieldValues) -> String {
    let Some(values) = values else { return "*".to_owned() };
    values.iter().enumerate().fold(String::new(), |mut text, (at, value)| {
        let _ = write!(text, "{}{value}", if at == 0 { "" } else { "," });
        text
    })
}

impl CronField {
    /// Parses `*`, `5`, `mon`, `1-5`, `*/15`, `8-18/2`, and lists of them.
    fn parse(&self, text: &str) -> Result<FieldValues, String> {
        let mut all = Vec::new();
        for part in text.split(',') {
            let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
            let step = match step.map(str::parse::<u8>) {
                None => 1,
                Some(Ok(step)) if step > 0 => step,
                Some(_) => return Err(self.refusal(part)),
            };
            let (from, to) = match range.split_once('-') {
                _ if range == "*" => (self.from, self.to.min(self.last())),
                Some((from, to)) => (self.value(from)?, self.value(to)?),
                None if step > 1 => (self.value(range)?, self.last()),
                None => (self.value(range)?, self.value(range)?),
            };
            if from > to {
                return Err(self.refusal(part));
            }
            if range == "*" && step == 1 {
                return Ok(None);
            }
            all.extend((from..=to).step_by(usize::from(step)));
        }
        all.sort_unstable();
        all.dedup();
        Ok(Some(all))
    }

    /// The last value of `*`: a week ends on Saturday.
    fn last(&self) -> u8 {
        if self.names.len() == DAYS.len() { 6 } else { self.to }
    }

    fn value(&self, text: &str) -> Result<u8, String> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let value = match named {
            Some(at) => u8::try_from(at).ok().map(|at| at + self.from),
            None => text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())),
        };
        value.filter(|value| (self.from..=self.to).contains(value)).ok_or_else(|| self.refusal(text))
    }

    fn refusal(&self, part: &str) -> String {
        let CronField { name, from, to, .. } = self;
        format!("`{part}` is not {name}: use {from} to {to}, a range such as {from}-{to}, or a step such as */2")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar(text: &str) -> String {
        CronTimes::parse(text).map_or_else(|error| format!("error: {error}"), |times| times.calendar().join(" | "))
    }

    #[test]
    fn calendar_has_the_times_of_cron() {
        for (cron, expected) in [
            ("0 9 * * 1", "mon *-*-* 9:0:00 UTC"),
            ("CRON_TZ=Europe/Berlin 30 2 * * *", "*-*-* 2:30:00 Europe/Berlin"),
            ("*/20 8-10 * * mon-fri", "mon,tue,wed,thu,fri *-*-* 8,9,10:0,20,40:00 UTC"),
            ("0 0 1,15 * 0", "*-*-1,15 0:0:00 UTC | sun *-*-* 0:0:00 UTC"),
            ("5 0 * feb,MAR 7", "sun *-2,3-* 0:5:00 UTC"),
            ("0 0 * * */2", "sun,tue,thu,sat *-*-* 0:0:00 UTC"),
            ("10/25 * * * *", "*-*-* *:10,35:00 UTC"),
            ("@monthly", "*-*-1 0:0:00 UTC"),
            ("* * * * *", "*-*-* *:*:00 UTC"),
        ] {
            assert_eq!(calendar(cron), expected, "{cron}");
        }
    }

    #[test]
    fn next_time_is_the_first_after_now() {
        // A Wednesday.
        let now: Timestamp = "2026-11-25T09:30:00Z".parse().unwrap();
        for (cron, expected) in [
            ("0 9 * * 1", "Mon 2026-11-30 09:00:00 UTC"),
            ("30 9 * * *", "Thu 2026-11-26 09:30:00 UTC"),
            ("31 9 * * *", "Wed 2026-11-25 09:31:00 UTC"),
            ("* * * * *", "Wed 2026-11-25 09:31:00 UTC"),
            ("0 0 1,15 * 5", "Fri 2026-11-27 00:00:00 UTC"),
            ("0 0 29 2 *", "Tue 2028-02-29 00:00:00 UTC"),
            ("CRON_TZ=Europe/Berlin 0 11 * * *", "Wed 2026-11-25 11:00:00 CET"),
        ] {
            assert_eq!(CronTimes::parse(cron).unwrap().next(now).as_deref(), Some(expected), "{cron}");
        }
    }

    #[test]
    fn wrong_expressions_are_refused() {
        for (cron, expected) in [
            ("", "it has 0 fields instead of 5"),
            ("0 9 * *", "it has 4 fields instead of 5"),
            ("60 9 * * *", "`60` is not a minute: use 0 to 59, a range such as 0-59, or a step such as */2"),
            ("0 -1 * * *", "`` is not an hour"),
            ("0 +1 * * *", "`+1` is not an hour"),
            ("0 9 0 * *", "`0` is not a day of the month: use 1 to 31"),
            ("0 9 * * fry", "`fry` is not a day of the week"),
            ("0 9 * * 5-1", "`5-1` is not a day of the week"),
            ("*/0 9 * * *", "`*/0` is not a minute"),
            ("0 9 30 2 *", "no month has such a day"),
            ("CRON_TZ=Mars/Base 0 9 * * *", "`Mars/Base` is not a time zone"),
            ("@sometimes", "`@sometimes` is not known"),
        ] {
            let found = calendar(cron);
            assert!(found.strip_prefix("error: ").is_some_and(|error| error.starts_with(expected)), "{cron}: {found}");
        }
    }
}
