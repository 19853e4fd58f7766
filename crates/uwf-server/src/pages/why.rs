//! Decisions of the moderator: each transition that was tried, with its input, result and target.

use maud::{Markup, html};
use serde_json::Value;
use uwf_core::workflow::{END, START, Transition, Workflow};
use uwf_engine::thread::moderate::{ConsideredTransition, ReadValue};
use uwf_engine::views::why::StepRouting;

use super::{texts, values};

/// How a role was chosen after another role, or at the start.
pub(crate) fn routing(after: &str, routing: &StepRouting, workflow: Option<&Workflow>) -> Markup {
    let explained = match routing {
        StepRouting::Explained(explained) => explained,
        StepRouting::Unexplained { error } => {
            return html! { p.problem { "The decision cannot be repeated: " (error) } };
        }
    };
    let transitions = workflow.and_then(|workflow| workflow.graph.get(after)).map_or(&[][..], Vec::as_slice);
    let untried = transitions.get(explained.considered.len()..).unwrap_or_default();
    let is_matched = explained.considered.iter().any(|line| line.matched);
    html! {
        p.quiet { (place(after)) ", the transitions were tried in this order:" }
        ol.transitions {
            @for line in &explained.considered { (transition(line)) }
            @if let Some(workflow) = workflow {
                @for transition in untried { (not_tried(transition, workflow)) }
            }
        }
        @if !is_matched { p { "No transition matched, which ends a thread." } }
    }
}

/// The branches of a group: which were played, and why the others were left out. Nothing if none has a condition.
pub(crate) fn branches(considered: &[ConsideredTransition]) -> Markup {
    html! {
        @if !considered.is_empty() {
            p.quiet { "Conditions chose among its branches:" }
            ol.transitions { @for branch in considered { (considered_line(branch, ["played: ", "left out: "])) } }
        }
    }
}

/// Place in the graph where a decision was made.
fn place(after: &str) -> String {
    if after == START { "At the start".to_owned() } else { format!("After {after}") }
}

/// Readable name of a role or of the end.
pub(crate) fn target(role: &str) -> &str {
    if role == END { "the end" } else { role }
}

/// Transitions that were tried.
pub(crate) fn considered(lines: &[ConsideredTransition]) -> Markup {
    html! { ol.transitions { @for line in lines { (transition(line)) } } }
}

fn transition(line: &ConsideredTransition) -> Markup {
    considered_line(line, ["taken: ", "not taken: "])
}

fn considered_line(line: &ConsideredTransition, [taken, passed]: [&str; 2]) -> Markup {
    let class = if line.matched { "taken" } else { "passed" };
    let passed = if line.error.is_some() { "undecided: " } else { passed };
    html! {
        li class=(class) {
            p.topic {
                span.verdict aria-hidden="true" { @if line.matched { "✓" } @else { "✕" } }
                @if line.matched { (taken) } @else { (passed) }
                strong { (target(&line.role)) }
                @if let Some(condition) = &line.condition { " if " code { (condition) } }
            }
            @if let Some(description) = &line.description { p { (description) } }
            @if let Some(expression) = &line.expression {
                p { code.formula { (expression) } " gave " (value(line.value.as_ref())) }
            }
            @if !line.reads.is_empty() {
                dl.facts.reads { @for read in &line.reads { dt { code { (read.what) } } dd { (read_value(read)) } } }
            }
            // The value of a condition is beside its expression.
            @if !matches!(line.value, Some(Value::Bool(_))) { p.small.quiet { (super::parts::sentence(&line.why)) } }
        }
    }
}

fn not_tried(transition: &Transition, workflow: &Workflow) -> Markup {
    let named = transition.condition.as_ref().and_then(|name| workflow.conditions.get(name));
    html! {
        li.untried {
            p.topic {
                span.verdict aria-hidden="true" { "·" }
                "not tried, next: " strong { (target(&transition.role)) }
                @if let Some(condition) = &transition.condition { " if " code { (condition) } }
            }
            @if let Some(named) = named.filter(|named| !named.description.is_empty()) { p { (named.description) } }
            @if let Some(named) = named { p { code.formula { (named.expression) } } }
        }
    }
}

fn read_value(read: &ReadValue) -> Markup {
    match (&read.error, read.bytes) {
        (Some(error), _) => html! { span.problem { "not known: " (error) } },
        (None, Some(bytes)) => html! { span.quiet { "a value of " (texts::size(bytes)) } },
        (None, None) => value(read.value.as_ref()),
    }
}

fn value(value: Option<&Value>) -> Markup {
    html! {
        @match value {
            Some(value) => code { (values::short(value)) },
            None => span.quiet { "nothing" },
        }
    }
}
