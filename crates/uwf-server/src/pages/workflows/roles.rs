//! The roles and conditions of a workflow, in full.

use maud::{Markup, html};
use uwf_core::text::one_line;
use uwf_core::workflow::{Role, START, Workflow, role_order};
use uwf_engine::verbs::workflows::ShownWorkflow;

use super::schema;
use crate::markdown::markdown;

/// Most roles of a workflow that are not folded at first.
const UNFOLDED: usize = 3;

/// Bytes of a description that the line of its role has in full.
const SHORT: usize = 80;

/// The id of a role's section.
pub(super) fn anchor(role: &str) -> String {
    format!("role-{role}")
}

/// All roles, in the order of the graph.
pub(super) fn sections(shown: &ShownWorkflow) -> Markup {
    let roles = role_order(&shown.workflow).into_iter();
    let roles = roles.filter_map(|name| Some((name, shown.workflow.roles.get(name)?)));
    let is_open = shown.workflow.roles.len() <= UNFOLDED;
    html! {
        @for (name, role) in roles {
            details.role #{ "fold-" (name) } open[is_open] {
                summary { h3 { (name) } span.quiet.one-line { (in_short(role)) } }
                // A link to an element inside unfolds it.
                div id=(anchor(name)) {
                    (texts(role))
                    (played_by(role))
                    h4 { "Output" }
                    @if !role.output.is_empty() { div.text { (markdown(&role.output, 4)) } }
                    (schema::table(name, shown.schemas.get(name).and_then(Option::as_ref)))
                }
            }
        }
    }
}

fn texts(role: &Role) -> Markup {
    html! {
        @if role.description.len() > SHORT || role.description.trim().contains('\n') {
            div.text.quiet { (markdown(&role.description, 4)) }
        }
        @if !role.goal.is_empty() { h4 { "Goal" } div.text { (markdown(&role.goal, 4)) } }
        @if !role.capabilities.is_empty() {
            h4 { "Capabilities" }
            ul.tags { @for capability in &role.capabilities { li { (capability) } } }
        }
        @if !role.procedure.is_empty() { h4 { "Procedure" } div.text { (markdown(&role.procedure, 4)) } }
    }
}

/// A role on one line: its description, command, branches or goal.
fn in_short(role: &Role) -> String {
    match (&role.more.run, &role.more.play) {
        _ if !role.description.is_empty() => one_line(&role.description),
        (Some(run), _) => format!("runs {}", one_line(&run.command)),
        (_, Some(group)) => format!("plays {}", group.played().collect::<Vec<_>>().join(", ")),
        (None, None) => one_line(&role.goal),
    }
}

/// The command or the group that plays a role; empty for a role that an agent plays.
fn played_by(role: &Role) -> Markup {
    html! {
        @if let Some(run) = &role.more.run { h4 { "Command" } pre { (run.command.trim_end()) } }
        @if let Some(group) = &role.more.play {
            h4 { "Branches" }
            ul.tags { @for name in group.played() { li { (name) } } }
        }
    }
}

/// The conditions that transitions use.
pub(super) fn conditions(workflow: &Workflow) -> Markup {
    let has_meaning = workflow.conditions.values().any(|condition| !condition.description.is_empty());
    html! {
        table.keys {
            thead { tr { th scope="col" { "Condition" } th scope="col" { "Expression" } @if has_meaning { th scope="col" { "Meaning" } } } }
            tbody {
                @for (name, condition) in &workflow.conditions {
                    tr id={ "condition-" (name) } {
                        th scope="row" { code { (name) } }
                        td data-label="Expression" { code.expression { (condition.expression.trim()) } }
                        @if has_meaning { td data-label="Meaning" { (condition.description) } }
                    }
                }
            }
        }
    }
}

/// The graph as a table: the targets of each role, in the order in which they are tried.
pub(super) fn transitions(workflow: &Workflow) -> Markup {
    let position = |name: &str| {
        html! { @if workflow.roles.contains_key(name) { a href={ "#" (anchor(name)) } { (name) } } @else { (name) } }
    };
    html! {
        table.keys {
            thead { tr { th scope="col" { "From" } th scope="col" { "To" } th scope="col" { "If" } } }
            tbody {
                @for from in std::iter::once(START).chain(role_order(workflow)) {
                    @for (index, transition) in workflow.graph.get(from).into_iter().flatten().enumerate() {
                        tr {
                            th scope="row" { (position(from)) }
                            td data-label="To" { (position(&transition.role)) }
                            td data-label="If" {
                                @match &transition.condition {
                                    Some(name) => a href={ "#condition-" (name) } { code { (name) } },
                                    None => span.quiet { @if index == 0 { "always" } @else { "otherwise" } },
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
