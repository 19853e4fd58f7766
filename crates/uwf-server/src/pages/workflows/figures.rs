//! A table of results for each role of a workflow.

use maud::{Markup, html};
use uwf_core::workflow::{Workflow, role_order};
use uwf_engine::views::figures::{RoleFigures, WorkflowFigures};

use super::roles::anchor;
use crate::pages::{parts, spent};

/// Most threads that are read. The page shows how many were.
pub(super) const MOST_THREADS: usize = 200;

/// The table: a row for each role of this version, then for roles that only other versions have.
pub(super) fn table(workflow: &Workflow, figures: &WorkflowFigures) -> Markup {
    let own = role_order(workflow);
    let other = figures.roles.keys().map(String::as_str).filter(|role| !own.contains(role));
    let rows = own.iter().copied().chain(other).map(|role| (role, figures.roles.get(role)));
    html! {
        table.figures {
            thead {
                tr {
                    th scope="col" { "Role" }
                    th.number scope="col" { "Steps" }
                    th.number scope="col" { "Failed" }
                    th.number scope="col" { "Median time" }
                    th.number scope="col" { "Tokens" }
                    th.number scope="col" { "Cost" }
                }
            }
            tbody {
                @for (role, figures) in rows {
                    tr id={ "figures-" (role) } data-row { (cells(role, workflow.roles.contains_key(role), figures)) }
                }
            }
        }
        p.quiet.small { (scope(figures)) " " (counted(figures)) }
    }
}

/// Failed attempts as a percentage of all attempts; `None` if none failed.
fn failed_share(figures: &RoleFigures) -> Option<usize> {
    let (steps, failed) = (figures.spent.steps, figures.spent.failed_attempts);
    (failed > 0).then(|| parts::percent(failed, steps + failed))
}

fn cells(role: &str, is_here: bool, figures: Option<&RoleFigures>) -> Markup {
    let nothing = html! { span.quiet { "–" } };
    html! {
        th scope="row" {
            @if is_here { a data-open href={ "#" (anchor(role)) } { (role) } } @else { (role) " " span.badge { "other version" } }
        }
        @match figures {
            None => { @for label in ["Steps", "Failed", "Median time", "Tokens", "Cost"] { td.number data-label=(label) { (nothing) } } },
            Some(figures) => {
                td.number data-label="Steps" { (figures.spent.steps) }
                td.number data-label="Failed" { (failed(figures)) }
                td.number data-label="Median time" { @match figures.median_ms { Some(ms) => (parts::duration(ms)), None => (nothing) } }
                td.number data-label="Tokens" { (spent::tokens(&figures.spent)) }
                td.number data-label="Cost" { (spent::money(&figures.spent)) }
            },
        }
    }
}

/// Failed attempts, as a number and as a percentage of all attempts.
fn failed(figures: &RoleFigures) -> Markup {
    html! {
        (figures.spent.failed_attempts)
        @if let Some(share) = failed_share(figures) { span.quiet { " (" (share) " %)" } }
    }
}

/// Steps and threads that the figures cover.
fn scope(figures: &WorkflowFigures) -> String {
    let (steps, threads) = (parts::many(figures.steps, "step"), parts::many(figures.of, "thread"));
    match figures {
        WorkflowFigures { of: 0, .. } => "No thread yet.".to_owned(),
        WorkflowFigures { threads: read, of, .. } if read < of => {
            format!("From {steps} of the newest {} of {threads}.", parts::grouped(*read))
        }
        WorkflowFigures { is_cut: true, .. } => format!("From the newest {steps} of {threads}."),
        WorkflowFigures { .. } => format!("From {steps} of {threads}."),
    }
}

/// How the figures were counted.
fn counted(figures: &WorkflowFigures) -> String {
    let mut text =
        "Steps that forks share count once. A role that a child thread plays includes the child's usage.".to_owned();
    if figures.unreadable > 0 {
        text.push_str(&format!(" {} not readable and not in the figures.", parts::many(figures.unreadable, "step")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_threads_are_mentioned() {
        let scope_of = |threads, of, steps, is_cut| {
            scope(&WorkflowFigures { roles: Default::default(), threads, of, steps, is_cut, unreadable: 0 })
        };
        assert_eq!(scope_of(0, 0, 0, false), "No thread yet.");
        assert_eq!(scope_of(2, 2, 7, false), "From 7 steps of 2 threads.");
        assert_eq!(scope_of(57, 57, 400, true), "From the newest 400 steps of 57 threads.");
        assert_eq!(scope_of(200, 950, 390, false), "From 390 steps of the newest 200 of 950 threads.");
    }
}
