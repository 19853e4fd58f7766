//! Rows below a step, on its time axis: the branches of a group, and the roles and groups of a child thread.

use maud::{Markup, html};
use uwf_core::text;
use uwf_engine::views::groups::{BranchStatus, GroupStatus};
use uwf_engine::views::timeline::TimedWork;

use super::super::parts;
use super::branches;
use super::child_work::ChildWork;
use super::time_bars::{TimeAxis, merged, of_branches};

/// Most rows below a step. The list in the step has all branches.
const MOST: usize = 12;

/// The branches of a group, each with its state unless it has completed; `output` draws the output of one.
pub(super) fn branches(group: &GroupStatus, axis: &TimeAxis, output: &dyn Fn(&BranchStatus) -> Markup) -> Markup {
    html! {
        @if !group.branches.is_empty() {
            ol.nested aria-label={"Branches of " (group.role)} { (rows(group, axis, 0, output)) }
        }
    }
}

/// The rows of the branches, `depth` levels below the step.
fn rows(group: &GroupStatus, axis: &TimeAxis, depth: usize, output: &dyn Fn(&BranchStatus) -> Markup) -> Markup {
    let all = group.all_branches();
    let left = all.len().saturating_sub(MOST);
    // The path of a branch of this group.
    let above = group.branches.first().map_or(0, |branch| branch.branch.matches('.').count());
    html! {
        @for branch in all.iter().take(MOST) {
            @let depth = depth + branch.branch.matches('.').count().saturating_sub(above);
            li {
                span.name.deeper[depth > 0] title=(branch.branch) {
                    @match &branch.thread { Some(thread) => a href={"/threads/" (thread)} { (branch.name) }, None => (branch.name) }
                }
                span.took { (axis.branch(branch)) span { @if branch.agent.is_some() { (parts::duration(branch.took_ms)) } } }
                @let is_plain = branch.state_in_words() == "completed";
                span.excerpt {
                    @if !is_plain { (branches::state(branch)) " " }
                    (output(branch))
                }
            }
        }
        @if left > 0 { li.quiet { span.name { (left) " more" } } }
    }
}

/// Why a branch does not continue, on one line.
pub(super) fn why(branch: &BranchStatus) -> Markup {
    html! { @if let Some(why) = &branch.why { span.quiet { (parts::engine_text(&text::one_line(parts::without_command(why)))) } } }
}

/// The roles and the groups that a child thread played, in the order in which they began.
pub(super) fn child(child: &ChildWork, axis: &TimeAxis) -> Markup {
    let mut roles: Vec<(&str, Vec<&TimedWork>)> = Vec::new();
    for work in &child.work {
        match roles.iter_mut().find(|(role, _)| *role == work.role) {
            Some((_, known)) => known.push(work),
            None => roles.push((&work.role, vec![work])),
        }
    }
    let took = |work: &[&TimedWork]| work.iter().map(|work| work.to.saturating_sub(work.from)).sum();
    let mut drawn: Vec<(u64, Markup)> = Vec::new();
    for (role, work) in roles.iter().take(MOST) {
        let row = html! { li { span.name { (role) } span.took { (axis.works(work)) span { (parts::duration(took(work))) } } } };
        drawn.push((work.iter().map(|work| work.from).min().unwrap_or_default(), row));
    }
    for group in &child.groups {
        let work = merged(of_branches(group));
        let first = work.first().map_or(u64::MAX, |(from, _)| *from);
        let row = html! {
            li {
                span.name { (group.role) }
                span.took { (axis.spans(&work)) span { @if !work.is_empty() { (parts::duration(work.iter().map(|(from, to)| to - from).sum())) } } }
                span.excerpt.quiet { (branches::counts(group)) }
            }
            (rows(group, axis, 1, &why))
        };
        drawn.push((first, row));
    }
    drawn.sort_by_key(|(first, _)| *first);
    html! {
        @if let Some(thread) = &child.thread {
            p.child.small { "Played by the child thread " a href={"/threads/" (thread)} { (parts::short_id(thread.as_str())) } }
        }
        @if !drawn.is_empty() {
            ol.nested aria-label="Roles of the child thread" { @for (_, row) in &drawn { (row) } }
        }
    }
}
