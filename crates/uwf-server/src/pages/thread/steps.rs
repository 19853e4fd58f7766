//! The steps of a thread on a time line.

use maud::{Markup, html};
use serde_json::Value;
use uwf_core::moderator::{MatchReason, TriedTransition};
use uwf_core::{text, view};
use uwf_engine::views::groups::GroupStatus;
use uwf_engine::views::timeline::TimedStep;
use uwf_engine::views::why::{StepRouting, ThreadOutlook};

use super::super::markdown::markdown;
use super::super::{parts, values};
use super::branches::branches;
use super::read::{SHOWN, ThreadView};
use super::time_bars::TimeAxis;

/// Characters of an output on the step's line.
const EXCERPT: usize = 140;

/// Bytes of a text that is shown before longer ones.
const SHORT: usize = 40;

/// Number of the newest steps that can be unfolded here; older steps have their own pages.
const UNFOLDED: usize = 30;

/// Bytes of a text shown in an unfolded step.
const TEXT: usize = 8 << 10;

/// The steps, oldest first.
pub(super) fn steps(shown: &ThreadView) -> Markup {
    let ThreadView { status, range, .. } = shown;
    let first_unfolded = shown.steps.len().saturating_sub(UNFOLDED);
    let before = status.started_at.filter(|_| range.start == 0);
    let axis = TimeAxis::from_steps(&shown.steps, before);
    html! {
        section #steps aria-label="Steps" {
            h2 { "Steps" }
            @if range.start > 0 {
                p { a.button data-key="[" href={"?from=" (range.start.saturating_sub(SHOWN) + 1)} { "Steps " (range.start.saturating_sub(SHOWN) + 1) " to " (range.start) } }
            }
            @if shown.steps.is_empty() { p.quiet { "No step yet." } }
            @if shown.steps.len() > 1 { (axis.ticks()) }
            ol.steps start=(range.start + 1) {
                @for (position, timed) in shown.steps.iter().enumerate() {
                    @let reason = shown.reasons.get(&(range.start + position)).and_then(|tried| reason(tried));
                    @let group = shown.group_of(timed.step.hash);
                    @let before = position.checked_sub(1).map(|before| shown.steps[before].step.timestamp).or(before);
                    (step(status.thread.as_str(), (timed, group), reason.as_deref(), &axis.step(timed, group, before), position >= first_unfolded))
                }
            }
            @if range.end < status.steps {
                p { a.button data-key="]" href={"?from=" (range.end + 1)} { "Steps from " (range.end + 1) } }
            } @else if let Some(next) = &shown.next { (ahead(next)) }
        }
    }
}

fn step(
    thread: &str,
    (timed, group): (&TimedStep, Option<&GroupStatus>),
    reason: Option<&str>,
    bars: &Markup,
    unfolds: bool,
) -> Markup {
    let TimedStep { step, spent, took_ms, child, .. } = timed;
    let path = format!("/threads/{thread}/steps/{}", step.hash);
    let line = html! {
        span.index { (step.index) }
        b.role { (step.role) }
        span.took title="How long its agent took" { (bars) span { (parts::duration(*took_ms)) } }
        span.outcome {
            span.excerpt { (excerpt(&step.output)) }
            span.facts.quiet {
                @match group {
                    Some(group) => span { (parts::many_of(group.branches.len(), "branch", "branches")) },
                    None => span { (view::agent_name(&step.agent, step.alias.as_deref())) },
                }
                @if let Some(tokens) = parts::tokens(&spent.tokens) { span { (tokens) " tokens" } }
                @if let Some(money) = spent.known_cost() { span { (money) } }
                @if let Some(by) = &step.answered_by { span { "answered by " (by) } }
                @if !step.denied.is_empty() { span.warn { "denied: " (step.denied.join(", ")) } }
                @if spent.failed_attempts > 0 { span.warn { (parts::many(spent.failed_attempts, "failed attempt")) } }
            }
        }
    };
    html! {
        li.step #{"s-" (step.hash)} data-row=(step.hash) data-copy=(step.hash) tabindex="-1" {
            @if let Some(reason) = reason { p.reason { "↳ " (reason) } }
            @if unfolds {
                details #{"d-" (step.hash)} {
                    summary { (line) }
                    (inside(timed, group, &path))
                }
            } @else { div.summary { (line) } }
            @if let Some(child) = child.as_ref().filter(|_| group.is_none()) { p.child.small { "Played by the child thread " a href={"/threads/" (child)} { (parts::short_id(child.as_str())) } } }
            a.open.small data-open href=(path) { "Open" span.hidden { " step " (step.index) } }
        }
    }
}

/// Contents of an unfolded step: the branches of a group, its output, and the agent's text.
fn inside(timed: &TimedStep, group: Option<&GroupStatus>, path: &str) -> Markup {
    let step = &timed.step;
    html! {
        div.inside {
            @if let Some(group) = group { (branches(group)) }
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

/// The condition that led to a step; `None` if no condition was tried.
fn reason(tried: &[TriedTransition]) -> Option<String> {
    let taken = tried.iter().find(|transition| transition.matched)?;
    let value = |transition: &TriedTransition| match (&transition.note, &transition.value) {
        (MatchReason::Counted, Some(value)) => format!(" ({})", values::short(value)),
        _ => String::new(),
    };
    if let Some(name) = &taken.condition {
        return Some(format!("{name}{}", value(taken)));
    }
    let refused: Vec<String> = tried
        .iter()
        .filter_map(|transition| Some(format!("not {}{}", transition.condition.as_ref()?, value(transition))))
        .collect();
    (!refused.is_empty()).then(|| refused.join(", "))
}

/// An output on one line: its short values first, lists as their lengths, and a `false` in the colour of a failure.
fn excerpt(value: &Value) -> Markup {
    let Value::Object(fields) = value else {
        let text = value.as_str().map_or_else(|| value.to_string(), text::one_line);
        return html! { (text::ellipsize(&text, EXCERPT)) };
    };
    let is_long = |value: &Value| value.as_str().is_some_and(|text| text.len() > SHORT);
    let mut fields: Vec<(&String, &Value)> = fields.iter().filter(|(_, value)| !value.is_null()).collect();
    fields.sort_by_key(|(_, value)| (!value.is_boolean(), is_long(value)));
    let mut room = EXCERPT;
    let mut parts = Vec::new();
    for (name, value) in fields {
        let (part, length) = excerpt_of(name, value, room);
        parts.push(part);
        room = room.saturating_sub(length);
        if room == 0 {
            break;
        }
    }
    html! { @for part in &parts { span { (part) } } }
}

/// A key and its value in at most `room` characters, with their number.
fn excerpt_of(name: &str, value: &Value, room: usize) -> (Markup, usize) {
    let words = match value {
        Value::Bool(true) => format!("✓ {name}"),
        Value::Bool(false) => return (html! { span.bad { "✗ " (name) } }, name.len() + 2),
        Value::String(text) => format!("{name}: {}", text::one_line(text)),
        Value::Array(items) => format!("{} {name}", items.len()),
        Value::Object(fields) => format!("{name}: {}", parts::many(fields.len(), "field")),
        other => format!("{name}: {other}"),
    };
    let shown = text::ellipsize(&words, room);
    let length = shown.chars().count();
    (html! { (shown) }, length)
}

/// The next role.
fn ahead(next: &ThreadOutlook) -> Markup {
    html! {
        @match &next.routing {
            StepRouting::Unexplained { error } => p #next .problem { "The next role cannot be decided: " (error) },
            StepRouting::Explained(explained) => {
                details #next {
                    summary { "Next: " b { (explained.next) } }
                    ul { @for transition in &explained.considered {
                        li { (transition.role) @if let Some(name) = &transition.condition { " if " (name) } ": " (transition.why) }
                    } }
                    @if !next.branches.is_empty() {
                        p { "Branches:" }
                        ul { @for branch in &next.branches {
                            li { (branch.role) @if let Some(name) = &branch.condition { " if " (name) } ": " (branch.why) }
                        } }
                    }
                }
            }
        }
    }
}
