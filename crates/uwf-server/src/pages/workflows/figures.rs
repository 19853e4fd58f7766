//! How the roles of a workflow fared, as a table.

use maud::{Markup, html};
use uwf_core::workflow::{Workflow, role_order};
use uwf_engine::verbs::figures::{Figures, RoleFigures};

use super::roles::anchor;
use crate::pages::{parts, spent};

/// Threads that are looked at. The page says how many that were.
pub(super) const MOST_THREADS: usize = 200;

/// The table: a row for each role of this version, then those that only other versions have.
pub(super) fn table(workflow: &Workflow, figures: &Figures) -> Markup {
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
        p.quiet.small { (scope(figures)) }
    }
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

/// Failed attempts, and what part of all attempts that is.
fn failed(figures: &RoleFigures) -> Markup {
    let (steps, failed) = (figures.spent.steps, figures.spent.failed_attempts);
    html! {
        @if failed == 0 {
            "0"
        } @else {
            (failed) span.quiet { " (" (failed * 100 / (steps + failed)) " %)" }
        }
    }
}

/// What the figures are of.
fn scope(figures: &Figures) -> String {
    let mut text = match (figures.threads, figures.of) {
        (threads, of) if threads == of => format!("Over {}.", parts::many(of, "thread")),
        (threads, of) => format!("Over the newest {threads} of {}.", parts::many(of, "thread")),
    };
    text.push_str(
        " A step that forks share counts once; a role that a child thread plays has all that the child took.",
    );
    if figures.unreadable > 0 {
        text.push_str(&format!(" {} not readable and in no figure.", parts::many(figures.unreadable, "step")));
    }
    text
}
