//! Bars of a time axis: when agents worked, when they failed, and when a thread waited.

use maud::{Markup, html};
use uwf_engine::root::ids;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::groups::{BranchStatus, GroupStatus};
use uwf_engine::views::timeline::{TimedStep, TimedWork};

use super::super::parts;

/// Width of the axis.
const WIDTH: f64 = 100.0;

/// Minimum width of a bar.
const LEAST: f64 = 0.8;

/// Shortest time between two steps that counts as waiting, in milliseconds: each step begins a process.
pub(super) const WAIT: u64 = 2_000;

/// A long pause is drawn as long as the whole work divided by this. A night without work would leave no room for the rest.
const PAUSE: u64 = 8;

/// A span of time in Unix milliseconds.
pub(super) type Span = (u64, u64);

/// Spans of time that are drawn from left to right. Long pauses are shortened.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TimeAxis {
    /// Points in time with their places, in order.
    knots: Vec<(u64, f64)>,
    /// The shortened pauses.
    pauses: Vec<Span>,
    /// Whether it ends with a wait that has not ended.
    is_open: bool,
}

impl TimeAxis {
    /// An axis over busy times, which are in any order. `begun` is its beginning, if it is earlier. A wait that has not ended has the length of
    /// a shortened pause, so that the page of a waiting thread stays the same.
    pub(super) fn over(mut busy: Vec<Span>, begun: u64, is_open: bool) -> TimeAxis {
        busy.push((begun, begun));
        let merged = merged(busy);
        let worked: u64 = merged.iter().map(|(from, to)| to - from).sum();
        let longest = (worked / PAUSE).max(WAIT);
        let (mut at, mut knots, mut pauses) = (0, Vec::new(), Vec::new());
        for (position, (from, to)) in merged.iter().enumerate() {
            if let Some(before) = position.checked_sub(1).map(|before| merged[before].1) {
                let pause = from - before;
                // A pause that is a little longer is drawn as it is.
                let is_short = pause <= 2 * longest;
                at += if is_short { pause } else { longest };
                pauses.extend((!is_short).then_some((before, *from)));
            }
            knots.push((*from, at as f64));
            at += to - from;
            knots.push((*to, at as f64));
        }
        if let Some((end, _)) = knots.last().filter(|_| is_open).copied() {
            at += longest;
            knots.push((end.saturating_add(longest), at as f64));
        }
        let scale = WIDTH / at.max(1) as f64;
        knots.iter_mut().for_each(|(_, place)| *place *= scale);
        TimeAxis { knots, pauses, is_open }
    }

    fn place(&self, ms: u64) -> f64 {
        let after = self.knots.partition_point(|(at, _)| *at <= ms);
        let Some((from, left)) = after.checked_sub(1).map(|before| self.knots[before]) else { return 0.0 };
        let Some((to, right)) = self.knots.get(after).copied() else { return WIDTH };
        left + (right - left) * (ms - from) as f64 / (to - from).max(1) as f64
    }

    /// The time at a place.
    fn time_at(&self, place: f64) -> u64 {
        let after = self.knots.partition_point(|(_, at)| *at < place);
        let Some((to, right)) = self.knots.get(after).copied() else {
            return self.knots.last().map_or(0, |(at, _)| *at);
        };
        let Some((from, left)) = after.checked_sub(1).map(|before| self.knots[before]) else { return to };
        from + ((to - from) as f64 * (place - left) / (right - left).max(f64::EPSILON)) as u64
    }

    fn rect(&self, class: &str, (from, to): Span, (y, height): (u8, u8), title: Option<&str>) -> Markup {
        let width = (self.place(to) - self.place(from)).max(LEAST);
        let x = self.place(from).min(WIDTH - width);
        html! {
            rect class=(class) x=(format!("{x:.2}")) y=(y) width=(format!("{width:.2}")) height=(height) rx="1" {
                @if let Some(title) = title { title { (title) } }
            }
        }
    }

    /// A time without work, with a gap at each shortened pause.
    fn waits(&self, (from, to): Span, title: &str) -> Markup {
        let pauses = self.pauses.iter().filter(|pause| pause.0 >= from && pause.1 <= to);
        let gaps = pauses.map(|(from, to)| (self.place(*from) + self.place(*to)) / 2.0);
        html! {
            (self.rect("waits", (from, to), (4, 2), Some(title)))
            @for gap in gaps { rect.gap x=(format!("{:.2}", gap - 0.5)) y="2" width="1" height="6" {} }
        }
    }

    fn worked(&self, work: &TimedWork, is_running: bool) -> Markup {
        let class = match (work.has_failed, is_running) {
            (true, _) => "fails",
            (false, true) => "runs",
            (false, false) => "works",
        };
        let time = parts::duration(work.to.saturating_sub(work.from));
        let title = format!("{}{} {time}", work.role, if work.has_failed { ", failed after" } else { "" });
        self.rect(class, (work.from, work.to), (1, 8), Some(&title))
    }

    /// Work of the agents of a step, and the wait before it.
    pub(super) fn step(&self, timed: &TimedStep, waited: Option<Span>) -> Markup {
        let whole = (timed.step.timestamp.saturating_sub(timed.took_ms), timed.step.timestamp);
        lane(&html! {
            @if let Some((from, to)) = waited { (self.waits((from, to), &format!("waited {}", parts::duration(to - from)))) }
            @if timed.work.is_empty() { (self.rect("works", whole, (1, 8), None)) }
            @for work in &timed.work { (self.worked(work, false)) }
        })
    }

    /// The attempts at the step that comes next. `is_running` says whether the last one runs; `waits` is the beginning of a wait that has not
    /// ended, with its title.
    pub(super) fn attempts(&self, attempts: &[TimedWork], is_running: bool, waits: Option<(u64, &str)>) -> Markup {
        lane(&html! {
            @if let Some((from, title)) = waits { (self.rect("waits", (from, u64::MAX), (4, 2), Some(title))) }
            @for (position, work) in attempts.iter().enumerate() { (self.worked(work, is_running && position + 1 == attempts.len())) }
        })
    }

    /// Times of the branches of a group, which have bars of their own below, and the wait that has not ended.
    pub(super) fn group(&self, spans: &[Span], is_running: bool, waits: Option<(u64, &str)>) -> Markup {
        let class = if is_running { "runs" } else { "works" };
        lane(&html! {
            @if let Some(((from, _), (_, to))) = spans.first().zip(spans.last()).filter(|(first, last)| first != last) {
                (self.waits((*from, *to), "the group"))
            }
            @if let Some((from, title)) = waits { (self.rect("waits", (from, u64::MAX), (4, 2), Some(title))) }
            @for span in spans { (self.rect(class, *span, (1, 8), None)) }
        })
    }

    /// Times of work, in order.
    pub(super) fn spans(&self, spans: &[Span]) -> Markup {
        lane(&html! { @for span in spans { (self.rect("works", *span, (1, 8), None)) } })
    }

    /// Work of a child thread.
    pub(super) fn works(&self, work: &[&TimedWork]) -> Markup {
        lane(&html! { @for work in work { (self.worked(work, false)) } })
    }

    /// The time of a branch: a bar for each attempt, and a thin one while the branch waits.
    pub(super) fn branch(&self, branch: &BranchStatus) -> Markup {
        let last = branch.attempts.len().saturating_sub(1);
        let end = branch.ended_at.unwrap_or_else(ids::now_ms);
        let has_failed = branch.failed || branch.state == Some(ThreadState::Stuck);
        let class = |position: usize, has_ended: bool| match (has_ended, position == last) {
            (false, _) => "runs",
            (true, true) if !has_failed => "works",
            // Only a failed attempt is followed by another one.
            (true, _) => "fails",
        };
        lane(&html! {
            @if let Some(started) = branch.started_at { (self.waits((started, end), &branch.branch)) }
            @for (position, attempt) in branch.attempts.iter().enumerate() {
                (self.rect(class(position, attempt.to.is_some()), (attempt.from, attempt.to.unwrap_or_else(ids::now_ms)), (1, 8), Some(&branch.branch)))
            }
        })
    }

    /// Time since the beginning of the axis, at its beginning, its middle and its end.
    pub(super) fn ticks(&self) -> Markup {
        let begun = self.time_at(0.0);
        html! {
            div.step-axis.small.quiet aria-hidden="true" {
                span.ticks {
                    span { "0 s" }
                    span { (parts::duration(self.time_at(WIDTH / 2.0).saturating_sub(begun))) }
                    span { @if self.is_open { "now" } @else { (parts::duration(self.time_at(WIDTH).saturating_sub(begun))) } }
                }
            }
        }
    }
}

/// The times at which anything happened in a step; `below` has the times of its branches and its child thread.
pub(super) fn busy(timed: &TimedStep, below: impl Iterator<Item = Span>) -> Vec<Span> {
    let TimedStep { step, took_ms, work, .. } = timed;
    let own = work.iter().map(|work| (work.from, work.to));
    let all: Vec<Span> = own.chain(below).collect();
    if all.is_empty() { vec![(step.timestamp.saturating_sub(*took_ms), step.timestamp)] } else { all }
}

/// When the agents of a group's branches worked, in any order; a running one until now.
pub(super) fn of_branches(group: &GroupStatus) -> Vec<Span> {
    let now = ids::now_ms();
    let attempts = group.all_branches().into_iter().flat_map(|branch| &branch.attempts);
    attempts.map(|attempt| (attempt.from, attempt.to.unwrap_or(now))).collect()
}

/// Spans in order; those that overlap are one.
pub(super) fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut merged: Vec<Span> = Vec::new();
    for (from, to) in spans {
        match merged.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => merged.push((from, to.max(from))),
        }
    }
    merged
}

fn lane(bars: &Markup) -> Markup {
    html! { svg.bar-of-time viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" { (bars) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_shortens_long_pauses() {
        let day = 24 * 3600 * 1000;
        let axis = TimeAxis::over(vec![(day, day + 8_000), (0, 8_000)], 0, false);
        assert_eq!(axis.pauses, [(8_000, day)]);
        let places = [0, 4_000, 8_000, day, day + 8_000].map(|ms| axis.place(ms).round() as u64);
        assert_eq!(places, [0, 22, 44, 56, 100]);
        assert_eq!([0.0, WIDTH].map(|place| axis.time_at(place)), [0, day + 8_000]);
        assert_eq!(axis.time_at(axis.place(4_000)), 4_000);
    }

    #[test]
    fn axis_keeps_short_pauses() {
        let axis = TimeAxis::over(vec![(1_000, 2_000), (3_000, 5_000)], 0, false);
        assert_eq!(axis.pauses, []);
        assert_eq!([0, 1_000, 2_500, 5_000].map(|ms| axis.place(ms)), [0.0, 20.0, 50.0, 100.0]);
        let waiting = TimeAxis::over(vec![(0, 8_000)], 0, true);
        assert_eq!([8_000, u64::MAX].map(|ms| waiting.place(ms)), [80.0, 100.0]);
    }
}
