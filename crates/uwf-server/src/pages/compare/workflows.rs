//! The differences between two versions of a workflow: description, roles, conditions, graph.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use serde_json::json;
use uwf_core::workflow::{Role, Transition, Workflow};
use uwf_engine::root::home::Home;

use super::sides::ComparedWorkflow;
use crate::pages::why::target;
use crate::pages::words;

/// Both versions and their differences.
pub(super) fn compared(home: &Home, one: &ComparedWorkflow, other: &ComparedWorkflow) -> Markup {
    let (a, b) = (&one.workflow, &other.workflow);
    html! {
        header #head {
            h1 { "Compare " (a.name) @if b.name != a.name { " and " (b.name) } }
            div.sides { (named("a", one)) (named("b", other)) }
            @if a == b { p { strong { "The two are the same." } } }
        }
        @if a != b {
            (text_section("name", "Name", &a.name, &b.name))
            (text_section("description", "Description", &a.description, &b.description))
            (section("roles", "Roles", &a.roles, &b.roles, |role| fields_of(home, role)))
            (section("conditions", "Conditions", &a.conditions, &b.conditions, |condition| {
                vec![("Description", condition.description.clone()), ("Expression", condition.expression.clone())]
            }))
            (section("graph", "Graph", &a.graph, &b.graph, |transitions| vec![("Transitions", lines(transitions))]))
            (text_section("settings", "Limits and workspace", &settings(a), &settings(b)))
        }
    }
}

fn named(side: &str, version: &ComparedWorkflow) -> Markup {
    html! {
        p {
            span.badge { (side) } " "
            @match version.hash {
                Some(hash) => a href={"/workflows/" (hash)} { (version.workflow.name) " " code { (hash) } },
                None => { (version.workflow.name) span.quiet { " as its file has it" } }
            }
        }
    }
}

fn settings(workflow: &Workflow) -> String {
    format!("{:#}", json!({ "limits": workflow.limits, "workspace": workflow.workspace }))
}

/// A text of both versions; empty if it is the same.
fn text_section(id: &str, title: &str, one: &str, other: &str) -> Markup {
    html! {
        @if one != other {
            section id=(id) aria-labelledby={(id) "-title"} {
                h2 id={(id) "-title"} { (title) }
                (words::inline(one, other))
            }
        }
    }
}

/// Named parts of both versions that were added, removed or changed; empty if all are the same.
fn section<T: PartialEq>(
    id: &str,
    title: &str,
    one: &BTreeMap<String, T>,
    other: &BTreeMap<String, T>,
    fields: impl Fn(&T) -> Vec<(&'static str, String)>,
) -> Markup {
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let changed: Vec<&String> = names.iter().copied().filter(|name| one.get(*name) != other.get(*name)).collect();
    let same = names.len() - changed.len();
    html! {
        @if !changed.is_empty() {
            section id=(id) aria-labelledby={(id) "-title"} {
                h2 id={(id) "-title"} { (title) @if same > 0 { span.quiet.small { " " (same) " the same" } } }
                @for name in changed {
                    @let (a, b) = (one.get(name), other.get(name));
                    @let (class, word) = match (a, b) { (None, _) => ("added", "added"), (_, None) => ("removed", "removed"), _ => ("changed", "changed") };
                    div.change.(class) data-row tabindex="-1" id={(id) "-" (name)} {
                        h3 { a data-open href={"#" (id) "-" (name)} { (name) } " " span.badge { (word) } }
                        dl.facts.values { (differing(a.map(&fields), b.map(&fields))) }
                    }
                }
            }
        }
    }
}

fn differing(one: Option<Vec<(&'static str, String)>>, other: Option<Vec<(&'static str, String)>>) -> Markup {
    let names: Vec<&'static str> = one.iter().chain(&other).flatten().map(|(name, _)| *name).collect();
    let mut told = BTreeSet::new();
    let value = |fields: &Option<Vec<(&'static str, String)>>, name| {
        let mut fields = fields.iter().flatten();
        fields.find(|(field, _)| *field == name).map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let rows =
        names.into_iter().filter(|name| told.insert(*name)).map(|name| (name, value(&one, name), value(&other, name)));
    html! {
        @for (name, a, b) in rows.filter(|(_, a, b)| a != b) { dt { (name) } dd { (words::inline(&a, &b)) } }
    }
}

fn fields_of(home: &Home, role: &Role) -> Vec<(&'static str, String)> {
    let schema = home.store().get(role.meta);
    vec![
        ("Description", role.description.clone()),
        ("Goal", role.goal.clone()),
        ("Capabilities", role.capabilities.join("\n")),
        ("Procedure", role.procedure.clone()),
        ("Output", role.output.clone()),
        ("Schema", schema.map_or_else(|error| error.to_string(), |node| format!("{:#}", node.payload))),
    ]
}

/// The transitions after a role, one line each.
fn lines(transitions: &[Transition]) -> String {
    let line = |transition: &Transition| match &transition.condition {
        Some(condition) => format!("to {} if {condition}\n", target(&transition.role)),
        None => format!("to {}\n", target(&transition.role)),
    };
    transitions.iter().map(line).collect()
}
