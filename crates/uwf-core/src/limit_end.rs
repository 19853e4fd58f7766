//! When a usage limit ends, as programs and providers write it: a moment, a duration, or a time of day in some time zone.
//!
//! This only reads the text. The engine knows the time and the time zones.

use std::time::Duration;

/// The end of a usage limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitEnd {
    /// Unix milliseconds.
    At(u64),
    /// This long after the notice.
    After(Duration),
    /// The next such time.
    Clock(ClockTime),
}

/// A time of day, maybe of a date, in a time zone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClockTime {
    /// Year, if there is one.
    pub year: Option<i16>,
    /// Month and day, if there are any.
    pub day: Option<(i8, i8)>,
    /// Day of the week, 0 for Monday, if there is one and no date.
    pub weekday: Option<i8>,
    /// Hour, 0 to 23.
    pub hour: i8,
    /// Minute.
    pub minute: i8,
    /// Second.
    pub second: i8,
    /// The time zone; by default, the machine is in it.
    pub zone: Option<ZoneName>,
}

/// A time zone as a program writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ZoneName {
    /// A name such as `Europe/Berlin` or `PST`, which the tz database may not have.
    Named(String),
    /// Minutes ahead of UTC.
    Offset(i32),
}

/// Words that stand before the end of a limit.
const LEADS: [&str; 10] = [
    "resets_in_seconds",
    "resets_at",
    "resetsat",
    "retrydelay",
    "retry-after",
    "resets",
    "reset",
    "try again",
    "retrying",
    "retry",
];

/// Words between such a lead and the time.
const FILLERS: [&str; 13] =
    ["at", "in", "after", "on", "will", "again", "please", "your", "limit", "access", "s", "it", "is"];

/// Characters after a lead in which the time must begin.
const REACH: usize = 40;

/// Numbers at least this large are times since 1970, in seconds; smaller numbers are durations.
const LEAST_MOMENT: f64 = 1e9;

/// Numbers at least this large are in milliseconds.
const LEAST_MILLISECONDS: f64 = 1e11;

/// Capital letters in the abbreviation of a time zone.
const ABBREVIATION: std::ops::RangeInclusive<usize> = 2..=5;

/// Days of the week. Their first letters count too, at least three.
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Letters of the shortest form of a day of the week.
const LEAST_LETTERS: usize = 3;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Bytes read at the end of a text.
const MOST_BYTES: usize = 8 << 10;

/// Finds the end of a usage limit in a notice.
#[must_use]
pub fn find(text: &str) -> Option<LimitEnd> {
    let text = &text[text.ceil_char_boundary(text.len().saturating_sub(MOST_BYTES))..];
    // The same length, so positions in one are positions in the other.
    let lower = text.to_ascii_lowercase();
    if let Some(at) = bar_moment(&lower) {
        return Some(at);
    }
    let mut from = 0;
    while let Some((at, lead)) = next_lead(&lower, from) {
        from = at + lead.len();
        if let Some(end) = time(&text[from..]) {
            return Some(end);
        }
    }
    None
}

/// The end in the value of a header or a field: a number of seconds, a duration such as `6m0s`, or a moment.
#[must_use]
pub fn value(text: &str) -> Option<LimitEnd> {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(number) => of_number(number),
        Err(_) => moment(text).or_else(|| duration(text).map(|(time, _)| LimitEnd::After(time))),
    }
}

/// Claude Code: `Claude AI usage limit reached|1749924000`.
fn bar_moment(lower: &str) -> Option<LimitEnd> {
    let (before, after) = lower.split_once('|')?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    let number: f64 = digits.parse().ok().filter(|number| *number >= LEAST_MOMENT)?;
    if before.contains("limit reached") { of_number(number) } else { None }
}

/// The first lead at or after a position.
fn next_lead(lower: &str, from: usize) -> Option<(usize, &'static str)> {
    let found = LEADS.iter().filter_map(|lead| lower[from..].find(lead).map(|at| (from + at, *lead)));
    // Prefer the longer of two leads at one place.
    found.min_by_key(|(at, lead)| (*at, std::cmp::Reverse(lead.len())))
}

/// A time soon after a lead.
fn time(text: &str) -> Option<LimitEnd> {
    let reach = text.char_indices().nth(REACH).map_or(text.len(), |(at, _)| at);
    let mut rest = text;
    loop {
        let before = rest;
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        // A time in the past, not a dash before a word or a time of day.
        if before[..before.len() - rest.len()].ends_with('-')
            && clock(rest).is_none()
            && rest.starts_with(char::is_numeric)
        {
            return None;
        }
        if text.len() - rest.len() > reach || rest.is_empty() {
            return None;
        }
        if let Some(end) = here(rest) {
            return Some(end);
        }
        let word: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
        if !FILLERS.contains(&word.to_ascii_lowercase().as_str()) {
            return None;
        }
        rest = &rest[word.len()..];
    }
}

/// A time at the beginning of a text.
fn here(text: &str) -> Option<LimitEnd> {
    moment(text)
        .or_else(|| date(text).or_else(|| weekday(text)).map(LimitEnd::Clock))
        .or_else(|| clock(text).map(|(time, rest)| LimitEnd::Clock(in_zone(time, rest))))
        .or_else(|| duration(text).map(|(time, _)| LimitEnd::After(time)))
        .or_else(|| {
            let (number, rest) = number(text)?;
            // `25:00` is neither a time of day nor a duration.
            let is_alone = !rest.trim_start().starts_with(|c: char| c.is_alphanumeric() || c == ':');
            of_number(number).filter(|_| is_alone)
        })
}

fn of_number(number: f64) -> Option<LimitEnd> {
    if !(0.0..9e15).contains(&number) {
        return None;
    }
    Some(match number {
        number if number >= LEAST_MILLISECONDS => LimitEnd::At(number as u64),
        number if number >= LEAST_MOMENT => LimitEnd::At((number * 1000.0) as u64),
        number => LimitEnd::After(Duration::from_secs_f64(number)),
    })
}

/// The number at the beginning of a text, and what follows.
fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let digits = text[..end].trim_end_matches('.');
    Some((digits.parse().ok()?, &text[digits.len()..]))
}

/// A duration at the beginning of a text, and what follows: `2 days 3 hours`, `5h13m20s`, `34.07s`, `12ms`.
fn duration(text: &str) -> Option<(Duration, &str)> {
    let (mut seconds, mut rest) = (0.0, text);
    let mut is_any = false;
    loop {
        let next = rest.trim_start_matches([' ', ',', '\n']);
        let next = next.strip_prefix("and ").unwrap_or(next);
        let Some((number, after)) = number(next) else { break };
        let after = after.trim_start();
        let unit: String = after.chars().take_while(char::is_ascii_alphabetic).collect();
        let Some(of_unit) = seconds_of(&unit.to_ascii_lowercase()) else { break };
        seconds += number * of_unit;
        rest = &after[unit.len()..];
        is_any = true;
    }
    Duration::try_from_secs_f64(seconds).ok().filter(|_| is_any).map(|time| (time, rest))
}

fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        "w" | "wk" | "wks" | "week" | "weeks" => 7.0 * 86_400.0,
        _ => return None,
    })
}

/// A time of day at the beginning of a text, and what follows: `3pm`, `3:04 PM`, `16:11:46`. An hour alone does not count.
fn clock(text: &str) -> Option<(ClockTime, &str)> {
    let (hour, rest) = whole(text, 24)?;
    let minute = rest.strip_prefix(':').and_then(|rest| whole(rest, 59));
    let second = minute.and_then(|(_, rest)| rest.strip_prefix(':')).and_then(|rest| whole(rest, 60));
    let after = second.or(minute).map_or(rest, |(_, rest)| rest);
    let half = after.trim_start_matches([' ', '\u{a0}', '\u{202f}']);
    let is_half = |word: &str| {
        let head = half.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        head && !half[word.len()..].starts_with(char::is_alphanumeric)
    };
    let (hour, rest) = match (is_half("am"), is_half("pm")) {
        (true, _) if (1..=12).contains(&hour) => (hour % 12, &half[2..]),
        (_, true) if (1..=12).contains(&hour) => (hour % 12 + 12, &half[2..]),
        (false, false) if minute.is_some() && hour < 24 => (hour, after),
        _ => return None,
    };
    let of = |part: Option<(i8, &str)>| part.map_or(0, |(number, _)| number);
    Some((ClockTime { hour, minute: of(minute), second: of(second).min(59), ..ClockTime::default() }, rest))
}

/// One or two digits at the beginning of a text, up to a limit, and what follows.
fn whole(text: &str, most: i8) -> Option<(i8, &str)> {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let number = text[..digits].parse().ok().filter(|number| (1..=2).contains(&digits) && *number <= most)?;
    Some((number, &text[digits..]))
}

/// A date and a time: `Jul 5th, 2026 8:19 PM`, `Dec 1 at 3pm (Europe/Berlin)`. Without a time, the day begins at midnight.
fn date(text: &str) -> Option<ClockTime> {
    let letters: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
    let name = letters.to_ascii_lowercase();
    let month = MONTHS.iter().position(|month| name.starts_with(month))?;
    let rest = text[letters.len()..].trim_start_matches(['.', ' ']);
    let (day, rest) = whole(rest, 31).filter(|(day, _)| *day > 0)?;
    let rest = ["st", "nd", "rd", "th"].iter().find_map(|ending| rest.strip_prefix(ending)).unwrap_or(rest);
    let behind_day = rest;
    let rest = rest.trim_start_matches([',', ' ']);
    let year = rest.get(..4).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
    let (year, behind_day) = year.map_or((None, behind_day), |digits| (digits.parse().ok(), &rest[4..]));
    let (time, rest) = time_of_day(behind_day);
    let day = Some((i8::try_from(month + 1).ok()?, day));
    Some(in_zone(ClockTime { year, day, ..time }, rest))
}

/// A day of the week, and a date or a time: `Mon 12:00 AM`, `Sunday`, `Mon, Dec 7 at 3pm`.
fn weekday(text: &str) -> Option<ClockTime> {
    let letters: String = text.chars().take_while(|c| c.is_alphanumeric()).collect();
    let name = letters.to_ascii_lowercase();
    let at = WEEKDAYS.iter().position(|day| name.len() >= LEAST_LETTERS && day.starts_with(&name))?;
    let behind = text[letters.len()..].trim_start_matches('.');
    if let Some(date) = date(behind.trim_start_matches([',', ' '])) {
        return Some(date);
    }
    let (time, rest) = time_of_day(behind);
    Some(in_zone(ClockTime { weekday: i8::try_from(at).ok(), ..time }, rest))
}

/// The time of day behind a day, midnight if it is left out, and the rest of the text.
fn time_of_day(behind: &str) -> (ClockTime, &str) {
    let text = behind.trim_start_matches([',', ' ']);
    let text = text.strip_prefix("at ").unwrap_or(text);
    clock(text).unwrap_or_else(|| (ClockTime::default(), behind))
}

/// A moment with a full date: RFC 3339, or `2026-07-30 16:11:46 +0800 CST`.
fn moment(text: &str) -> Option<LimitEnd> {
    let bytes = text.as_bytes();
    let is_date = bytes.len() >= 16 && (bytes[4], bytes[7]) == (b'-', b'-') && matches!(bytes[10], b'T' | b't' | b' ');
    if !is_date {
        return None;
    }
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i16>().ok();
    let (month, day) = (i8::try_from(number(5, 7)?).ok()?, i8::try_from(number(8, 10)?).ok()?);
    let (time, rest) = clock(&text[11..])?;
    let fraction = rest.strip_prefix('.').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let time = ClockTime { year: Some(number(0, 4)?), day: Some((month, day)), ..time };
    Some(LimitEnd::Clock(in_zone(time, fraction.unwrap_or(rest))))
}

/// A time with the zone that follows it: `(Europe/Berlin)`, `GMT-3`, `UTC`, `Z`, `+0800`. On the next line only one in parentheses, because
/// another sentence may begin there.
fn in_zone(time: ClockTime, rest: &str) -> ClockTime {
    let begin = rest.trim_start();
    let is_next_line = rest[..rest.len() - begin.len()].contains('\n');
    let word = begin.trim_start_matches('(');
    if is_next_line && word.len() == begin.len() {
        return time;
    }
    let end = word.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '/' | '_' | '+' | '-' | ':'));
    let word = &word[..end.unwrap_or(word.len())];
    ClockTime { zone: zone(word), ..time }
}

fn zone(word: &str) -> Option<ZoneName> {
    let upper = word.to_ascii_uppercase();
    let of_utc = upper.strip_prefix("UTC").or_else(|| upper.strip_prefix("GMT"));
    if upper == "Z" || of_utc == Some("") {
        return Some(ZoneName::Offset(0));
    }
    if let Some(offset) = offset(of_utc.unwrap_or(&upper)) {
        return Some(ZoneName::Offset(offset));
    }
    let is_short = ABBREVIATION.contains(&word.len()) && word.bytes().all(|letter| letter.is_ascii_uppercase());
    // `/upgrade` is a command, and `and/or` is prose.
    let is_long = word.contains('/') && word.starts_with(|first: char| first.is_ascii_uppercase());
    (is_long || is_short).then(|| ZoneName::Named(word.to_owned()))
}

/// Minutes ahead of UTC: `+02:00`, `+0800`, `-3`.
fn offset(text: &str) -> Option<i32> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: String = text[1..].chars().filter(|c| *c != ':').collect();
    let number: i32 = digits.parse().ok().filter(|_| digits.chars().all(|c| c.is_ascii_digit()))?;
    let minutes = if digits.len() <= 2 { number * 60 } else { number / 100 * 60 + number % 100 };
    (minutes <= 18 * 60).then_some(sign * minutes)
}

#[cfg(test)]
mod tests {
    use proptest::strategy::Strategy;

    use super::*;

    fn after(seconds: u64) -> Option<LimitEnd> {
        Some(LimitEnd::After(Duration::from_secs(seconds)))
    }

    fn at_clock(hour: i8, minute: i8, zone: Option<ZoneName>) -> Option<LimitEnd> {
        Some(LimitEnd::Clock(ClockTime { hour, minute, zone, ..ClockTime::default() }))
    }

    #[test]
    fn ends_of_notices_are_found() {
        let named = |name: &str| Some(ZoneName::Named(name.to_owned()));
        let cases = [
            ("Claude AI usage limit reached|1749924000", Some(LimitEnd::At(1_749_924_000_000))),
            ("5-hour limit reached ∙ resets 2am", at_clock(2, 0, None)),
            ("You've hit your limit · resets 3pm (Europe/Vienna)", at_clock(15, 0, named("Europe/Vienna"))),
            (
                "You've hit your session limit · resets 2:30pm (America/New_York)",
                at_clock(14, 30, named("America/New_York")),
            ),
            ("Claude usage limit reached. Your limit will reset at 12am.", at_clock(0, 0, None)),
            (
                "Claude usage limit reached. Your limit will reset at 1pm (Etc/GMT+5).",
                at_clock(13, 0, named("Etc/GMT+5")),
            ),
            ("You've hit your usage limit. Upgrade to Pro, or try again at 3:04 PM.", at_clock(15, 4, None)),
            (
                "You've hit your usage limit. Try again in 4 days 20 hours 9 minutes.",
                after(4 * 86_400 + 20 * 3600 + 540),
            ),
            ("or try again in 5 days 22 hours 11\nminutes.", after(5 * 86_400 + 22 * 3600 + 660)),
            ("Your quota will reset after 5h13m20s.", after(5 * 3600 + 13 * 60 + 20)),
            ("Access resets at 11:00 PM PST.", at_clock(23, 0, named("PST"))),
            ("Access resets at 10:57 PM GMT-3.", at_clock(22, 57, Some(ZoneName::Offset(-180)))),
            ("Please retry in 34s.", after(34)),
            ("5-hour limit reached ∙ resets 3pm\n/upgrade to increase your usage limit.", at_clock(15, 0, None)),
            ("limit reached ∙ resets 3pm /upgrade to increase your limit", at_clock(15, 0, None)),
            ("limit reached ∙ resets 3pm\nPST is not a command", at_clock(15, 0, None)),
            ("limit reached ∙ resets 3pm\n(Europe/Berlin)", at_clock(15, 0, named("Europe/Berlin"))),
            ("try again in 1 week 2 days", after(9 * 86_400)),
            (r#""retryDelay": "34s""#, after(34)),
            (r#"{"resets_in_seconds":3600}"#, after(3600)),
            (r#"{"resets_at":1749924000}"#, Some(LimitEnd::At(1_749_924_000_000))),
            ("retrying in 6h16m - attempt #1", after(6 * 3600 + 16 * 60)),
            ("Rate limit exceeded. Please try again later.", None),
            ("It resets every 5 hours", None),
            ("The limit is 5", None),
            ("try again at 25:00", None),
            ("try again in -3 hours", None),
            ("try again in - 3 hours", after(3 * 3600)),
        ];
        for (text, end) in cases {
            assert_eq!(find(text), end, "{text}");
        }
    }

    #[test]
    fn ends_may_have_dates() {
        let evening = ClockTime { hour: 20, minute: 19, day: Some((7, 5)), year: Some(2026), ..ClockTime::default() };
        assert_eq!(find("or try again at Jul 5th, 2026 8:19 PM."), Some(LimitEnd::Clock(evening)));
        let berlin = Some(ZoneName::Named("Europe/Berlin".to_owned()));
        let weekly = ClockTime { hour: 15, day: Some((12, 1)), zone: berlin, ..ClockTime::default() };
        assert_eq!(find("weekly limit · resets Dec 1 at 3pm (Europe/Berlin)"), Some(LimitEnd::Clock(weekly.clone())));
        assert_eq!(find("weekly limit · resets Dec 1, 3pm (Europe/Berlin)"), Some(LimitEnd::Clock(weekly)));
        let china = ClockTime {
            year: Some(2026),
            day: Some((7, 30)),
            hour: 16,
            minute: 11,
            second: 46,
            zone: Some(ZoneName::Offset(480)),
            ..ClockTime::default()
        };
        assert_eq!(find("It will reset at 2026-07-30 16:11:46 +0800 CST."), Some(LimitEnd::Clock(china)));
    }

    #[test]
    fn ends_may_have_days_without_dates_or_times() {
        let december = |hour, zone| ClockTime { day: Some((12, 6)), hour, zone, ..ClockTime::default() };
        let monday = |hour, zone| ClockTime { weekday: Some(0), hour, zone, ..ClockTime::default() };
        let berlin = || Some(ZoneName::Named("Europe/Berlin".to_owned()));
        for (text, time) in [
            ("weekly limit · resets Dec 6", december(0, None)),
            ("weekly limit · resets Dec 6.\n/upgrade to increase it", december(0, None)),
            ("weekly limit · resets Dec 6 (Europe/Berlin)", december(0, berlin())),
            ("weekly limit · resets Dec 6, 2026", ClockTime { year: Some(2026), ..december(0, None) }),
            ("weekly limit · resets Mon 12:00 AM", monday(0, None)),
            ("weekly limit · resets Monday at 3pm (Europe/Berlin)", monday(15, berlin())),
            ("weekly limit · resets on Mon.", monday(0, None)),
            ("weekly limit · resets Sun, Dec 6 at 3pm", december(15, None)),
        ] {
            assert_eq!(find(text), Some(LimitEnd::Clock(time)), "{text}");
        }
        assert_eq!(find("the limit resets monthly"), None);
    }

    #[test]
    fn header_values_are_ends() {
        assert_eq!(value("30"), after(30));
        assert_eq!(value("6m0s"), after(360));
        assert_eq!(value("12ms"), Some(LimitEnd::After(Duration::from_millis(12))));
        assert_eq!(value("1749924000"), Some(LimitEnd::At(1_749_924_000_000)));
        let noon = ClockTime {
            year: Some(2026),
            day: Some((11, 28)),
            hour: 12,
            zone: Some(ZoneName::Offset(0)),
            ..ClockTime::default()
        };
        assert_eq!(value("2026-11-28T12:00:00Z"), Some(LimitEnd::Clock(noon.clone())));
        assert_eq!(value("2026-11-28T12:00:00.500Z"), Some(LimitEnd::Clock(noon)));
        assert_eq!(value("soon"), None);
    }

    #[test]
    fn any_text_is_read() {
        for text in [
            "resets ",
            "resets 99:99pm",
            "reset Jul",
            "reset ä",
            "try again at 2026-1ä-30 16:11",
            "|",
            "retry 1e999s",
            "resets 5 Z",
            "weekly limit reached, resets Dec 1, 3pm…",
            "resets Mon",
            "resets Tueä",
        ] {
            let _ = (find(text), value(text));
        }
    }

    #[test]
    fn end_is_read_at_end_of_long_text() {
        let noise = "ä retry ".repeat(MOST_BYTES);
        assert_eq!(find(&format!("{noise}in 34s")), after(34));
        assert_eq!(find(&format!("retry in 34s {}", "ä".repeat(MOST_BYTES))), None);
    }

    proptest::proptest! {
        #[test]
        fn texts_of_any_letters_are_read(
            lead in proptest::sample::select(vec!["resets ", "resets Dec 1, ", "resets Mon", "reset at Jul 5th ", "try again at 2026-1", "limit reached|", ""]),
            pieces in proptest::collection::vec(
                proptest::prop_oneof![
                    proptest::sample::select(vec!["3pm", "12", ":", "2026", "-", " ", "T", "Z", "+08", "5h", "…", "ä", "(", "/"])
                        .prop_map(str::to_owned),
                    proptest::prelude::any::<char>().prop_map(|letter| letter.to_string()),
                ],
                0..9,
            ),
        ) {
            let text = format!("{lead}{}", pieces.concat());
            let _ = (find(&text), value(&text), value(&text[lead.len()..]));
        }
    }
}
