//! The branches of a group on one time axis.

use maud::{Markup, html};
use uwf_core::agent_name::AgentName;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::groups::{BranchStatus, GroupStatus};

use super::super::parts;
use super::time_bars::{TimeAxis, of_branches};

/// How many branches are in each state.
pub(super) fn counts(group: &GroupStatus) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for branch in &group.branches {
        let word = branch.state_in_words();
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    counts.iter().map(|(word, count)| format!("{count} {word}")).collect::<Vec<_>>().join(" · ")
}

/// The branches of a group, each with a bar on the common time axis.
pub(super) fn branches(group: &GroupStatus) -> Markup {
    let span = group.span();
    let busy = |to| of_branches(group).into_iter().chain([(to, to)]).collect();
    let axis = span.map(|(from, to)| TimeAxis::over(busy(to), from, false));
    html! {
        ol.branches {
            @for branch in group.all_branches() { (line(branch, axis.as_ref())) }
            @if let Some((from, to)) = span {
                li.axis.small.quiet {
                    span.ends { span { (parts::time(from)) } span { (parts::duration(to.saturating_sub(from))) } }
                }
            }
        }
        @if !group.left_out.is_empty() { p.small.quiet { "Left out by conditions: " (group.left_out.join(", ")) } }
    }
}

fn line(branch: &BranchStatus, axis: Option<&TimeAxis>) -> Markup {
    let id = branch.thread.as_ref().map_or_else(|| branch.branch.clone(), ToString::to_string);
    let has_worked = branch.agent.is_some();
    html! {
        li #{"b-" (id)} {
            span.name {
                @match &branch.thread {
                    Some(thread) => a href={"/threads/" (thread)} { (branch.branch) },
                    None => (branch.branch),
                }
            }
            (state(branch))
            span.took title="When its agents worked, and when they waited" {
                @if let Some(axis) = axis { (axis.branch(branch)) }
                @if has_worked || branch.waited_ms > 0 { span { (work_time(branch)) } }
            }
            span.facts.quiet.small {
                @if branch.role != branch.name { span { (branch.role) } }
                @if let Some(agent) = &branch.agent { span { (AgentName::short(agent)) } }
                @if let Some(tokens) = parts::tokens(&branch.spent.tokens) { span { (tokens) " tokens" } }
                @if let Some(money) = branch.spent.known_cost() { span { (money) } }
                @if branch.spent.failed_attempts > 0 { span.warn { (parts::many(branch.spent.failed_attempts, "failed attempt")) } }
            }
            @if let Some(why) = &branch.why { p.why.small { (parts::message(parts::without_command(why))) } }
        }
    }
}

/// How long its agents worked in all attempts, and how long they waited.
fn work_time(branch: &BranchStatus) -> Markup {
    html! {
        (parts::duration(branch.took_ms))
        @if branch.attempts.len() > 1 { " in " (branch.attempts.len()) " attempts" }
        @if branch.waited_ms > 0 { " (waited " (parts::duration(branch.waited_ms)) ")" }
    }
}

/// The state of a branch.
pub(super) fn state(branch: &BranchStatus) -> Markup {
    match branch.state {
        Some(state) if !branch.failed && !branch.picked => parts::state(state, false, branch.unsuccessful()),
        _ => {
            let is_bad = branch.failed || branch.unsuccessful().is_some();
            let colour = match branch.picked {
                true => ThreadState::Completed.name(),
                false if is_bad => ThreadState::Stuck.name(),
                false => "",
            };
            html! { span.state data-state=(colour) { (branch.state_in_words()) } }
        }
    }
}
