//! The steps of a thread on a time line.

use maud::{Markup, html};
use serde_json::Value;
use uwf_core::text;
use uwf_engine::views::groups::{BranchStatus, GroupStatus};
use uwf_engine::views::timeline::TimedStep;

use super::super::excerpt::excerpt;
use super::super::{parts, values};
use super::child_work::ChildWork;
use super::current::CurrentStep;
use super::read::{SHOWN, ThreadView};
use super::time_bars::{TimeAxis, WAIT};
use super::{branches, current_row, nested, reason, time_bars};
use crate::markdown::markdown;

/// A wait that the line of its step names, in milliseconds.
const LONG_WAIT: u64 = 60_000;

/// Number of the newest steps that can be unfolded here; older steps have their own pages.
const UNFOLDED: usize = 30;

/// Bytes of a text shown in an unfolded step.
const TEXT: usize = 8 << 10;

/// The steps, oldest first, and the step that is played.
pub(super) fn steps(shown: &ThreadView) -> Markup {
    let ThreadView { status, range, .. } = shown;
    let first_unfolded = shown.steps.len().saturating_sub(UNFOLDED);
    let begun = status.started_at.filter(|_| range.start == 0);
    let current = shown.current.as_ref().filter(|_| range.end == status.steps);
    let axis = axis(shown, begun, current);
    let has_axis = shown.steps.len() > 1 || current.is_some();
    html! {
        section #steps aria-label="Steps" {
            h2 { "Steps" }
            @if range.start > 0 {
                p { a.button data-key="[" href={"?from=" (range.start.saturating_sub(SHOWN) + 1)} { "Steps " (range.start.saturating_sub(SHOWN) + 1) " to " (range.start) } }
            }
            @if shown.steps.is_empty() && current.is_none() { p.quiet { "No step yet." } }
            @if has_axis { (axis.ticks()) }
            ol.steps start=(range.start + 1) {
                @for position in 0..shown.steps.len() {
                    (StepRow::new(shown, position, begun).draw(&axis, position >= first_unfolded))
                }
                @if let Some(current) = current { (current_row::row(shown, current, &axis)) }
            }
            @if range.end < status.steps {
                p { a.button data-key="]" href={"?from=" (range.end + 1)} { "Steps from " (range.end + 1) } }
            } @else if let (Some(next), None) = (&shown.next, current) { (current_row::ahead(next)) }
        }
    }
}

fn axis(shown: &ThreadView, begun: Option<u64>, current: Option<&CurrentStep>) -> TimeAxis {
    let mut busy: Vec<(u64, u64)> =
        shown.steps.iter().flat_map(|timed| time_bars::busy(timed, shown.times_below(timed.step.hash))).collect();
    if let Some(current) = current {
        busy.extend(current.busy(shown.running_group()));
    }
    let first = busy.iter().map(|(from, _)| *from).min().unwrap_or_default();
    TimeAxis::over(busy, begun.map_or(first, |begun| begun.min(first)), current.is_some_and(CurrentStep::waits))
}

/// A step of the list.
struct StepRow<'s> {
    shown: &'s ThreadView,
    timed: &'s TimedStep,
    group: Option<&'s GroupStatus>,
    child: Option<&'s ChildWork>,
    /// Why it has its role.
    reason: Option<Markup>,
    /// Keys of its output that sent the thread back.
    bad: Vec<String>,
    /// The condition that sent the thread back, if one did.
    sent_back_by: &'s str,
    /// The wait before it.
    waited: Option<(u64, u64)>,
}

impl<'s> StepRow<'s> {
    /// The row at a position on the page; `begun` is the beginning of the thread, if its first step is there.
    fn new(shown: &'s ThreadView, position: usize, begun: Option<u64>) -> StepRow<'s> {
        let timed = &shown.steps[position];
        let group = shown.group_of(timed.step.hash);
        let before = position.checked_sub(1).map(|before| shown.steps[before].step.timestamp).or(begun);
        let child = shown.child_of(timed.step.hash);
        let first = time_bars::busy(timed, shown.times_below(timed.step.hash))
            .into_iter()
            .map(|(from, _)| from)
            .min()
            .unwrap_or_default();
        let at = shown.range.start + position;
        let considered =
            shown.reasons.get(&(at + 1)).map(Vec::as_slice).or_else(|| shown.considered_next(at)).unwrap_or_default();
        let mut played: Vec<&str> = Vec::new();
        for timed in &shown.steps[..=position] {
            if !played.contains(&timed.step.role.as_str()) {
                played.push(&timed.step.role);
            }
        }
        let taken = considered.iter().find(|line| line.matched && played.contains(&line.role.as_str()));
        StepRow {
            reason: shown
                .reasons
                .get(&at)
                .and_then(|considered| reason::reason(considered, &format!("r-{}", timed.step.hash))),
            bad: reason::keys_that_sent_back(considered, &timed.step.role, &played),
            sent_back_by: taken.and_then(|line| line.expression.as_deref()).unwrap_or_default(),
            waited: before.filter(|before| first.saturating_sub(*before) >= WAIT).map(|before| (before, first)),
            shown,
            timed,
            group,
            child,
        }
    }

    fn draw(&self, axis: &TimeAxis, unfolds: bool) -> Markup {
        let step = &self.timed.step;
        let path = format!("/threads/{}/steps/{}", self.shown.status.thread, step.hash);
        html! {
            li.step #{"s-" (step.hash)} data-row=(step.hash) data-copy=(step.hash) tabindex="-1" {
                @if let Some(reason) = &self.reason { (reason) }
                a.open.small data-open href=(path) { "Open" span.hidden { " step " (step.index) } }
                @if unfolds {
                    details #{"d-" (step.hash)} {
                        summary { (self.line(axis)) }
                        (inside(self.timed, self.group, &path))
                    }
                } @else { div.summary { (self.line(axis)) } }
                @if let Some(group) = self.group { (nested::branches(group, axis, &|branch| self.of_branch(branch))) }
                @if let Some(child) = self.child { (nested::child(child, axis)) }
            }
        }
    }

    fn line(&self, axis: &TimeAxis) -> Markup {
        let TimedStep { step, spent, took_ms, .. } = self.timed;
        html! {
            span.index { (step.index) }
            b.role { (step.role) }
            span.took title=(if self.group.is_some() { "From its first branch to its last" } else { "How long its agent took" }) { (axis.step(self.timed, self.waited)) span { (parts::duration(*took_ms)) } }
            span.outcome {
                @match self.group {
                    Some(group) if !group.branches.is_empty() => span.excerpt { (branches::counts(group)) },
                    _ => span.excerpt { (excerpt(&step.output, &self.bad)) },
                }
                span.facts.quiet {
                    @match self.group {
                        Some(group) => span { (parts::many_of(group.branches.len(), "branch", "branches")) },
                        None => (parts::agent(&step.agent, step.alias.as_deref())),
                    }
                    @if let Some(tokens) = parts::tokens(&spent.tokens) { span { (tokens) " tokens" } }
                    @if let Some(money) = spent.known_cost() { span { (money) } }
                    @if let Some(by) = &step.answered_by { span { "answered by " (by) } }
                    @if let Some((from, to)) = self.waited.filter(|(from, to)| to - from >= LONG_WAIT) { span { "waited " (parts::duration(to - from)) } }
                    @if !step.denied.is_empty() { span.warn { "denied: " (step.denied.join(", ")) } }
                    @if spent.failed_attempts > 0 { span.warn { (parts::many(spent.failed_attempts, "failed attempt")) } }
                }
            }
        }
    }

    /// The output of a branch on one line. A `false` that the condition names sent the thread back.
    fn of_branch(&self, branch: &BranchStatus) -> Markup {
        let output = match &self.timed.step.output {
            Value::Array(items) => {
                branch.name.parse::<usize>().ok().and_then(|number| items.get(number.checked_sub(1)?))
            }
            outputs => outputs.get(&branch.name),
        };
        let is_bad =
            |key: &String, value: &Value| *value == Value::Bool(false) && reason::names_key(self.sent_back_by, key);
        let fields = output.and_then(Value::as_object).into_iter().flatten();
        let bad: Vec<String> = fields.filter(|(key, value)| is_bad(key, value)).map(|(key, _)| key.clone()).collect();
        html! { @if let Some(output) = output { (excerpt(output, &bad)) } }
    }
}

/// Contents of an unfolded step: the branches of a group, its output, and the agent's text.
fn inside(timed: &TimedStep, group: Option<&GroupStatus>, path: &str) -> Markup {
    let step = &timed.step;
    html! {
        div.inside {
            @if let Some(group) = group { (branches::branches(group)) }
            @for exchange in &step.exchanges {
                p.small.quiet { "Asked" }
                div.text { (markdown(&text::without_end(&exchange.question, TEXT), 3)) }
                p.small.quiet { "Reply" @if let Some(by) = &exchange.by { " by " (by) } }
                div.text { (markdown(&text::without_end(&exchange.reply, TEXT), 3)) }
            }
            @if let Some(why) = &step.unreadable.output { p.problem { "Its output is not readable: " (why) } }
            @else { (values::output(&step.output, None)) }
            (values::header(&step.header))
            @if let Some(message) = step.message.as_deref().filter(|message| !message.trim().is_empty()) {
                div.text { (markdown(&text::without_end(message, TEXT), 3)) }
            }
            p.small.quiet {
                (parts::time(step.timestamp)) " · "
                @if let Some(by) = &step.extracted_by { "output by " (by) " · " }
                a data-key="w" href={(path) "#why"} { "Why this role" } " · "
                a href=(path) { "Prompt, turns and tool calls" } " · "
                a href={"/cas/" (step.hash)} { code { (step.hash) } }
            }
        }
    }
}
