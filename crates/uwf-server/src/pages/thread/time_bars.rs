//! Bars of a time axis: when agents worked, when they failed, and when a thread waited.

use maud::{Markup, html};
use uwf_engine::root::ids;
use uwf_engine::views::groups::{BranchStatus, GroupStatus};
use uwf_engine::views::timeline::{TimedStep, TimedWork};

use super::super::parts;

/// Width of the axis.
const WIDTH: f64 = 100.0;

/// Minimum width of a bar.
const LEAST: f64 = 0.8;

/// Shortest time between two steps that counts as waiting, in milliseconds: each step begins a process.
const WAIT: u64 = 2_000;

/// Most lanes below the bar of a step.
const LANES: usize = 12;

/// A span of time that is drawn from left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeAxis {
    from: u64,
    to: u64,
}

impl TimeAxis {
    /// An axis between two times in Unix milliseconds.
    pub(super) fn new(from: u64, to: u64) -> TimeAxis {
        TimeAxis { from, to: to.max(from + 1) }
    }

    /// The axis of the steps on a page. `begun` is when the first of them could begin.
    pub(super) fn from_steps(steps: &[TimedStep], begun: Option<u64>) -> TimeAxis {
        let began = |timed: &TimedStep| timed.step.timestamp.saturating_sub(timed.took_ms);
        let from = steps.iter().map(began).chain(begun).min().unwrap_or(0);
        let to = steps.iter().map(|timed| timed.step.timestamp).max().unwrap_or(0);
        TimeAxis::new(from, to)
    }

    fn place(self, ms: u64) -> f64 {
        (ms.saturating_sub(self.from) as f64 / (self.to - self.from) as f64 * WIDTH).clamp(0.0, WIDTH)
    }

    fn rect(self, class: &str, (from, to): (u64, u64), (y, height): (u8, u8), title: Option<&str>) -> Markup {
        let width = (self.place(to) - self.place(from)).max(LEAST);
        let x = self.place(from).min(WIDTH - width);
        html! {
            rect class=(class) x=(format!("{x:.2}")) y=(y) width=(format!("{width:.2}")) height=(height) rx="1" {
                @if let Some(title) = title { title { (title) } }
            }
        }
    }

    fn worked(self, work: &TimedWork) -> Markup {
        let class = if work.has_failed { "fails" } else { "works" };
        let time = parts::duration(work.to.saturating_sub(work.from));
        let title = format!("{}{} {time}", work.role, if work.has_failed { ", failed after" } else { "" });
        self.rect(class, (work.from, work.to), (1, 8), Some(&title))
    }

    /// The time of a step: what its agent did, what was waited for before, and a lane for each branch of its group.
    pub(super) fn step(self, timed: &TimedStep, group: Option<&GroupStatus>, before: Option<u64>) -> Markup {
        let TimedStep { step, took_ms, work, .. } = timed;
        let whole = (step.timestamp.saturating_sub(*took_ms), step.timestamp);
        let begun = work.iter().map(|work| work.from).min().unwrap_or(whole.0);
        let waited = before.filter(|before| begun.saturating_sub(*before) >= WAIT).map(|before| (before, begun));
        html! {
            span.lanes {
                (lane(&html! {
                    @if let Some(waited) = waited {
                        (self.rect("waits", waited, (4, 2), Some(&format!("waited {}", parts::duration(waited.1 - waited.0)))))
                    }
                    @if work.is_empty() { (self.rect("works", whole, (1, 8), None)) }
                    @for work in work { (self.worked(work)) }
                }))
                @for branch in group.iter().flat_map(|group| &group.branches).take(LANES) {
                    (lane(&html! { (self.spans(branch)) }))
                }
            }
        }
    }

    /// The time of a branch: a bar for each attempt, and a thin one while the branch waits.
    pub(super) fn branch(self, branch: &BranchStatus) -> Markup {
        lane(&self.spans(branch))
    }

    fn spans(self, branch: &BranchStatus) -> Markup {
        let end = branch.ended_at.unwrap_or(self.to);
        html! {
            @if let Some(started) = branch.started_at { (self.rect("waits", (started, end), (4, 2), Some(&branch.branch))) }
            @for attempt in &branch.attempts {
                (self.rect("works", (attempt.from, attempt.to.unwrap_or_else(ids::now_ms)), (1, 8), Some(&branch.branch)))
            }
        }
    }

    /// Time since the beginning of the axis, at its beginning, its middle and its end.
    pub(super) fn ticks(self) -> Markup {
        let length = self.to - self.from;
        html! {
            div.step-axis.small.quiet aria-hidden="true" {
                span.ticks {
                    @for at in [0, length / 2, length] { span { (parts::duration(at)) } }
                }
            }
        }
    }
}

fn lane(bars: &Markup) -> Markup {
    html! { svg.bar-of-time viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" { (bars) } }
}
