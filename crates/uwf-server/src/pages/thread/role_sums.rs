//! Steps, time, tokens and money of each role, below the graph.

use std::collections::BTreeMap;

use maud::{Markup, html};
use uwf_core::spending::SpendingTotals;
use uwf_core::workflow::Workflow;

use super::super::{parts, spent};

/// The table; `played` are the roles of all steps in order. Tokens and money have columns only if some are known. The roles of a child
/// thread count for the role that it plays.
pub(super) fn table(
    played: &[String],
    workflow: &Workflow,
    roles: &BTreeMap<String, SpendingTotals>,
    total: &SpendingTotals,
) -> Markup {
    let has_tokens = parts::tokens(&total.tokens).is_some();
    let has_money = total.known_cost().is_some();
    let steps = |role: &str| played.iter().filter(|name| *name == role).count();
    let mut order: Vec<&String> = Vec::new();
    for role in played.iter().chain(roles.keys()) {
        if roles.contains_key(role) && workflow.roles.contains_key(role) && !order.contains(&role) {
            order.push(role);
        }
    }
    let cells = |steps: usize, spent: &SpendingTotals| {
        html! {
            td.number { (steps) }
            td.number { (parts::duration(spent.duration_ms)) }
            @if has_tokens { td.number { (spent::tokens(spent)) } }
            @if has_money { td.number { (spent::money(spent)) } }
        }
    };
    html! {
        table.role-sums {
            thead {
                tr {
                    th scope="col" { "Role" }
                    th.number scope="col" { "Steps" }
                    th.number scope="col" { "Agent time" }
                    @if has_tokens { th.number scope="col" { "Tokens" } }
                    @if has_money { th.number scope="col" { "Cost" } }
                }
            }
            tbody { @for role in &order { tr { th scope="row" { (role) } (cells(steps(role), &roles[*role])) } } }
            @if order.len() > 1 { tfoot { tr { th scope="row" { "All" } (cells(played.len(), total)) } } }
        }
    }
}
