//! The row of the step that comes next, and why it has its role.

use maud::{Markup, html};
use uwf_engine::root::ids;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::why::{StepRouting, ThreadOutlook};

use super::super::{parts, why};
use super::current::CurrentStep;
use super::read::ThreadView;
use super::time_bars::{TimeAxis, WAIT, merged, of_branches};
use super::{branches, nested};

/// The row of the step.
pub(super) fn row(shown: &ThreadView, current: &CurrentStep, axis: &TimeAxis) -> Markup {
    let status = &shown.status;
    let CurrentStep { role, agent, attempts, waits_since, child } = current;
    let group = shown.running_group();
    let is_running = status.state == ThreadState::Running;
    let failed = attempts.iter().filter(|work| work.has_failed).count();
    let worked: u64 = attempts.iter().map(|work| work.to.saturating_sub(work.from)).sum();
    let title = waits_since
        .map(|since| format!("{} for {}", status.state.name(), parts::duration(ids::now_ms().saturating_sub(since))));
    let begin = shown
        .steps
        .last()
        .map(|timed| timed.step.timestamp)
        .into_iter()
        .chain(attempts.last().map(|work| work.to))
        .max();
    let from = waits_since.map(|since| begin.filter(|begin| since.abs_diff(*begin) < WAIT).unwrap_or(since));
    let waits = from.zip(title.as_deref());
    let line = html! {
        span.index { (status.steps + 1) }
        b.role { (role) }
        span.took {
            @match group {
                Some(group) => (axis.group(&merged(of_branches(group)), is_running, waits)),
                None => (axis.attempts(attempts, is_running, waits)),
            }
            @match status.since.filter(|_| is_running) {
                Some(since) => span data-since=(since) { (parts::duration(ids::now_ms().saturating_sub(since))) },
                None => span { @if worked > 0 { (parts::duration(worked)) } },
            }
        }
        span.outcome {
            span.excerpt {
                (parts::state(status.state, status.pausing, None))
                @if let Some(group) = group { " " (branches::counts(group)) }
            }
            span.facts.quiet {
                @if let Some(agent) = agent { (parts::agent(&agent.agent, agent.alias.as_deref())) }
                @if failed > 0 { span.warn { (parts::many(failed, "failed attempt")) } }
                @if let Some(since) = waits_since { (parts::ago(*since)) }
            }
        }
    };
    html! {
        li.step.current #next data-state=(status.state.name()) {
            @if shown.next.is_some() || group.is_some() {
                details #next-why {
                    summary { (line) }
                    div.inside {
                        @if let Some(group) = group { (branches::branches(group)) }
                        @if let Some(next) = &shown.next { (considered(next)) }
                    }
                }
            } @else { div.summary { (line) } }
            @if let Some(group) = group { (nested::branches(group, axis, &nested::why)) }
            @if let Some(child) = child { (nested::child(child, axis)) }
        }
    }
}

/// The next role of a thread that nothing has been tried for.
pub(super) fn ahead(next: &ThreadOutlook) -> Markup {
    html! {
        @match &next.routing {
            StepRouting::Unexplained { .. } => div #next { (considered(next)) },
            StepRouting::Explained(explained) => {
                details #next {
                    summary { "Next: " b { (why::target(&explained.next)) } }
                    (considered(next))
                }
            }
        }
    }
}

/// The transitions that were considered.
fn considered(next: &ThreadOutlook) -> Markup {
    html! {
        @match &next.routing {
            StepRouting::Unexplained { error } => p.problem { "The next role cannot be decided: " (error) },
            StepRouting::Explained(explained) => {
                ul { @for transition in &explained.considered {
                    li { (why::target(&transition.role)) @if let Some(name) = &transition.condition { " if " (name) } ": " (transition.why) }
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
