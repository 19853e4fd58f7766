//! Why an attempt failed: its class, and the end of a usage limit. This is the only place that decides both.
//!
//! Code that knows the status of a provider, an event of a trace, or the words of a program adds it with [`Error::with_notice`] and
//! [`Error::with_last_words`]. The message of an error never counts: it names the agent, and may quote its work.

use std::time::Duration;

use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};
use uwf_core::failure_class::{FailureClass, FailureNotice};
use uwf_core::failure_words::printed_notice;
use uwf_core::limit_end::{ClockTime, LimitEnd, ZoneName};

use crate::error::{AttemptFailure, Error, ErrorCause, ErrorKind};
use crate::root::agent_limits::{self, AgentLimit, LONGEST_LIMIT};
use crate::root::ids;

/// A usage limit whose end is unknown is assumed to last this long.
const UNKNOWN_LIMIT: Duration = Duration::from_mins(15);

/// A time of day without a date is not of tomorrow if it has passed more recently: the notice is late, or the clocks differ.
const JUST_PASSED_MS: i64 = 60 * 60 * 1000;

/// Milliseconds of a minute.
const MINUTE_MS: i64 = 60_000;

/// Last lines of a program's output that explain its failure.
const LAST_LINES: usize = 12;

/// Bytes read of a notice, such as an error of an API with its JSON.
const LAST_BYTES: usize = 8 << 10;

impl AttemptFailure {
    /// The failure that a notice describes. An unknown end is assumed.
    fn of_notice(notice: &FailureNotice, now: u64) -> AttemptFailure {
        let end = notice.end.as_ref().and_then(|end| moment(end, now));
        let is_possible = |end: &u64| *end > now && *end <= now.saturating_add(millis(LONGEST_LIMIT));
        let end = end.filter(is_possible);
        let is_limit = notice.class == FailureClass::UsageLimit;
        AttemptFailure {
            class: notice.class,
            until: is_limit.then(|| end.unwrap_or_else(|| now.saturating_add(millis(UNKNOWN_LIMIT)))),
            is_assumed: is_limit && end.is_none(),
            is_for_all_tasks: notice.is_for_all_tasks,
            is_silent: false,
        }
    }

    /// The failure of an attempt that ended with this error. `None` if the attempt did not fail: it waits, was stopped, or only its result
    /// could not be kept.
    pub(crate) fn of_attempt(error: &Error) -> Option<AttemptFailure> {
        match error.kind {
            _ if error.failure().is_some() => error.failure(),
            ErrorKind::AgentFailed | ErrorKind::NotExtractable => {
                Some(AttemptFailure::new(FailureClass::Unknown, None))
            }
            ErrorKind::Config => Some(AttemptFailure::new(FailureClass::Fatal, None)),
            _ => None,
        }
    }
}

impl Error {
    /// Adds why the attempt failed.
    #[must_use]
    pub(crate) fn with_failure(self, failure: AttemptFailure) -> Error {
        self.with_cause(ErrorCause::Attempt(failure))
    }

    /// Adds what a structured source says about the failure.
    #[must_use]
    pub fn with_notice(self, notice: &FailureNotice) -> Error {
        self.with_failure(AttemptFailure::of_notice(notice, ids::now_ms()))
    }

    /// Adds what the last words of a program say about the failure.
    #[must_use]
    pub fn with_last_words(self, text: &str) -> Error {
        self.with_known_class(&last_words(text))
    }

    /// Adds what the last words of a program that uwf does not know say about the failure.
    #[must_use]
    pub(crate) fn with_last_words_of_unknown(self, text: &str) -> Error {
        self.with_known_class(&FailureNotice::read_of_unknown(last_part(text)))
    }

    /// Adds what a program without words on stderr says about the failure among the work that it printed.
    #[must_use]
    pub fn with_last_printed(self, text: &str) -> Error {
        self.with_last_words(printed_notice(last_part(text)))
    }

    /// Adds what a program that uwf does not know says about the failure among the work that it printed.
    #[must_use]
    pub(crate) fn with_last_printed_of_unknown(self, text: &str) -> Error {
        let text = last_part(text);
        match FailureNotice::read_of_unknown(text) {
            notice @ FailureNotice { class: FailureClass::UsageLimit, .. } => self.with_notice(&notice),
            _ => self.with_known_class(&FailureNotice::read_of_unknown(printed_notice(text))),
        }
    }

    fn with_known_class(self, notice: &FailureNotice) -> Error {
        if notice.class == FailureClass::Unknown { self } else { self.with_notice(notice) }
    }

    /// The agent has reached its usage limit. `notice` is what the agent said.
    pub(crate) fn usage_limit(limit: &AgentLimit, notice: &str) -> Error {
        let AgentLimit { agent, until, is_assumed } = limit;
        let said = if notice.is_empty() { String::new() } else { format!(": {notice}") };
        let failure =
            AttemptFailure { is_assumed: *is_assumed, ..AttemptFailure::new(FailureClass::UsageLimit, Some(*until)) };
        let message = agent_limits::at_limit(&format!("agent `{agent}`"), *until, *is_assumed);
        Error::limit(format!("{message}{said}")).with_failure(failure)
    }

    /// Hints for a person about a usage limit of a thread's agent. The first one is about the thread with all its children.
    #[must_use]
    pub fn limit_hints(thread: &str) -> [String; 2] {
        [
            format!("`uwf run {thread} --wait` waits until then and continues"),
            format!(
                "`uwf thread step {thread} --agent NAME` lets another agent play the role; `uwf thread retry {thread}` tries now"
            ),
        ]
    }

    /// The hint for a person about a thread whose agent failed.
    #[must_use]
    pub fn retry_hint(thread: &str) -> String {
        format!("`uwf thread retry {thread}` repeats the step; `--agent NAME` lets another agent play it")
    }

    /// The hint for a person about a thread whose worktree could not be prepared.
    #[must_use]
    pub fn preparation_hint(thread: &str) -> String {
        format!("`uwf thread retry {thread}` then runs all commands again; no agent was run")
    }

    /// The hint for a person about a thread whose role is a command that failed.
    #[must_use]
    pub fn command_hint(thread: &str) -> String {
        format!("`uwf thread retry {thread}` runs the command again; a changed `run` needs a new thread")
    }
}

/// The notice in the last lines of a text.
fn last_words(text: &str) -> FailureNotice {
    FailureNotice::read(last_part(text))
}

/// The last lines of a text.
fn last_part(text: &str) -> &str {
    let text = text.trim();
    let from =
        text.lines().rev().take(LAST_LINES).last().map_or(0, |first| first.as_ptr() as usize - text.as_ptr() as usize);
    &text[text.ceil_char_boundary(from.max(text.len().saturating_sub(LAST_BYTES)))..]
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The moment that is meant, in Unix milliseconds.
fn moment(end: &LimitEnd, now: u64) -> Option<u64> {
    match end {
        LimitEnd::At(at) => Some(*at),
        LimitEnd::After(time) => now.checked_add(millis(*time)),
        LimitEnd::Clock(clock) => clock_moment(clock, now),
    }
}

/// The next moment at which clocks in the time zone show a time. Don't guess for an unknown zone: the result may be off by a day.
fn clock_moment(clock: &ClockTime, now: u64) -> Option<u64> {
    let zone = match &clock.zone {
        None => TimeZone::system(),
        Some(ZoneName::Named(name)) => TimeZone::get(name).ok()?,
        Some(ZoneName::Offset(minutes)) => TimeZone::fixed(Offset::from_seconds(minutes.checked_mul(60)?).ok()?),
    };
    let now = i64::try_from(now).ok()?;
    let today = zone.to_datetime(Timestamp::from_millisecond(now).ok()?).date();
    let on = |date: Date| -> Option<i64> {
        let time = jiff::civil::Time::new(clock.hour, clock.minute, clock.second, 0).ok()?;
        Some(zone.to_timestamp(DateTime::from_parts(date, time)).ok()?.as_millisecond())
    };
    let is_over = |then: &i64| then.saturating_add(JUST_PASSED_MS) < now;
    let then = match clock.day {
        None => {
            let days = clock.weekday.map_or(0, |weekday| {
                (i64::from(weekday) - i64::from(today.weekday().to_monday_zero_offset())).rem_euclid(7)
            });
            let next = if clock.weekday.is_some() { 7 } else { 1 };
            match on(today.checked_add(days.days()).ok()?)? {
                then if is_over(&then) => on(today.checked_add((days + next).days()).ok()?)?,
                then => then,
            }
        }
        Some((month, day)) => {
            let in_year = |year: i16| on(Date::new(year, month, day).ok()?);
            match (clock.year, in_year(clock.year.unwrap_or(today.year()))?) {
                (None, then) if is_over(&then) => in_year(today.year() + 1)?,
                (_, then) => then,
            }
        }
    };
    // A program that shows minutes means a moment in that minute.
    let end_of_minute = then.saturating_add(MINUTE_MS);
    let is_now = clock.second == 0 && (then..end_of_minute).contains(&now);
    u64::try_from(if is_now { end_of_minute } else { then }).ok()
}

#[cfg(test)]
mod tests {
    use uwf_core::view;

    use super::*;

    /// 2026-11-28 12:00 UTC.
    const NOON: u64 = 1_795_867_200_000;

    const HOUR: u64 = 3_600_000;

    fn until(text: &str, now: u64) -> u64 {
        AttemptFailure::of_notice(&FailureNotice::read(text), now).until.unwrap()
    }

    #[test]
    fn ends_are_moments_in_their_zones() {
        assert_eq!(view::time(NOON), "2026-11-28 12:00:00");
        for (text, hours) in [
            ("You've hit your limit · resets 3pm (Europe/Berlin)", 2),
            ("You've hit your limit · resets 3pm (America/New_York)", 8),
            ("You've hit your limit · resets 9am (Asia/Tokyo)", 12),
            ("usage limit, try again in 2 days 3 hours", 51),
            ("Usage limit reached. Access resets at 11:00 AM GMT-3.", 2),
            ("weekly limit reached, resets Dec 1 at 3pm (Europe/Berlin)", 74),
            ("usage limit; it will reset at 2026-11-28 22:00:00 +0800 CST", 2),
            ("usage limit reached|1795874400", 2),
            ("weekly limit reached, resets Mon 12:00 AM (UTC)", 36),
            ("weekly limit reached, resets Sat 3pm (UTC)", 3),
            ("weekly limit reached, resets Sat 9am (UTC)", 7 * 24 - 3),
            ("weekly limit reached, resets Dec 6 (UTC)", 7 * 24 + 12),
            ("weekly limit reached, try again in 1 week 2 days", 9 * 24),
        ] {
            assert_eq!((until(text, NOON) - NOON) / HOUR, hours, "{text}");
        }
        let january = "limit reached, resets Jan 2, 1pm (UTC)";
        assert_eq!(until(january, NOON) - NOON, (35 * 24 + 1) * HOUR);
    }

    #[test]
    fn current_minute_ends_with_its_last_second() {
        let (now, minute) = (NOON + 46_000, 60_000);
        assert_eq!(until("usage limit, try again at 12:00 PM (UTC)", now), NOON + minute);
        assert_eq!(until("usage limit, try again at 12:01 PM (UTC)", now), NOON + minute);
        assert_eq!(until("usage limit, try again at 11:59 AM (UTC)", now), now + HOUR / 4, "it has passed");
    }

    #[test]
    fn unknown_ends_are_assumed() {
        for text in [
            "rate limit",
            "limit reached · resets 11:30am (UTC)",
            "usage limit reached|1700000000",
            "usage limit reached, resets 3pm (Nowhere/Atall)",
            "usage limit reached, resets 11:00 PM PST",
            "usage limit, try again in 90 days",
        ] {
            assert_eq!(until(text, NOON) - NOON, HOUR / 4, "{text}");
        }
    }

    #[test]
    fn last_lines_explain_failure() {
        let long = format!("rate limit\n{}no such file\n", "ä\n".repeat(20));
        assert_eq!(last_words(&long).class, FailureClass::Unknown);
        assert_eq!(
            last_words(&format!("{}\n{{\n  \"code\": 429\n}}", "x".repeat(20_000))).class,
            FailureClass::UsageLimit
        );
        assert_eq!(last_words("").class, FailureClass::Unknown);
    }
}
