//! A row of a comparison: two steps side by side.

use json_cas::NodeHash;
use maud::{Markup, html};
use serde_json::{Map, Value};
use uwf_core::config::UwfConfig;
use uwf_core::thread::Step;
use uwf_core::workflow::GROUP_AGENT;
use uwf_engine::root::home::Home;
use uwf_engine::thread::message;
use uwf_engine::views::why::{self, StepRouting};
use uwf_engine::views::{cost, step_at};

use super::pairs::{StepPair, same_words};
use super::sides::ComparedRun;
use crate::failure::HttpFailure;
use crate::pages::{parts, texts, values, words};

/// Draws a row, after a line about the equal rows before it.
pub(super) fn row(
    home: &Home,
    config: &UwfConfig,
    runs: &[ComparedRun<'_>; 2],
    pair: StepPair,
    same_before: usize,
) -> Result<Markup, HttpFailure> {
    let step = |run: &ComparedRun<'_>, index: Option<usize>| match index {
        Some(index) => run.step(index),
        None => Ok(None),
    };
    let (a, b) = (step(&runs[0], pair.a)?, step(&runs[1], pair.b)?);
    let outputs = outputs(a.as_ref(), b.as_ref());
    let is_same_role = a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| a.role == b.role);
    let id = [&a, &b].into_iter().flatten().map(|step| step.hash.to_string()).next().unwrap_or_default();
    let sides = html! {
        div.sides {
            (side(home, config, &runs[0], a.as_ref(), &outputs[0], is_same_role))
            (side(home, config, &runs[1], b.as_ref(), &outputs[1], is_same_role))
        }
    };
    Ok(html! {
        @if same_before > 0 { p.quiet.same { (same_words(same_before)) } }
        @match (&a, &b) {
            (Some(a), Some(b)) => article.pair data-row tabindex="-1" id={"row-" (id)} {
                @if a.role != b.role { p.route { "The routes differ: " strong { (a.role) } " and " strong { (b.role) } "." } }
                (sides)
                @if is_same_role { (prompts(home, a, b)) }
            },
            (one, other) => details.pair data-row tabindex="-1" id={"row-" (id)} {
                summary.route { "Only the " (if one.is_some() { "left" } else { "right" }) " one took step " @for step in [one, other].into_iter().flatten() { (step.index) ", " strong { (step.role) } } }
                (sides)
            },
        }
    })
}

fn side(
    home: &Home,
    config: &UwfConfig,
    run: &ComparedRun<'_>,
    step: Option<&Step>,
    output: &Markup,
    is_same_role: bool,
) -> Markup {
    let Some(step) = step else { return html! { div.side {} } };
    let spent = cost::of_step(home, config, step.hash);
    let about = [
        Some(parts::duration(spent.duration_ms)),
        parts::tokens(&spent.tokens).map(|count| format!("{count} tokens")),
        spent.known_cost(),
    ];
    html! {
        div.side {
            h3 {
                a data-open href=(run.path(step.hash)) { @if step.index > 0 { span.quiet { (step.index) ". " } } (step.role) }
            }
            p.small.quiet { (parts::agent(&step.agent, step.alias.as_deref())) " · " (about.into_iter().flatten().collect::<Vec<_>>().join(" · ")) }
            @if !is_same_role { (reason(run, step)) }
            (output)
        }
    }
}

/// Why the role was chosen, on one line.
fn reason(run: &ComparedRun<'_>, step: &Step) -> Markup {
    if !run.is_whole {
        return html! {};
    }
    let reasons = why::of_step_in(&run.thread, &run.record, step.hash).ok().flatten();
    let Some(reasoned) = reasons.and_then(|reasons| reasons.step) else { return html! {} };
    let StepRouting::Explained(explained) = &reasoned.routing else { return html! {} };
    html! {
        @if let Some(taken) = explained.considered.iter().find(|line| line.matched) {
            p.small {
                "After " (reasoned.after) ": "
                @match (&taken.condition, &taken.value) {
                    (Some(condition), Some(value)) => { code { (condition) } " gave " code { (values::short(value)) } },
                    (Some(condition), None) => code { (condition) },
                    (None, _) => "no condition",
                }
            }
        }
    }
}

/// Both outputs, field by field, with different words marked.
fn outputs(a: Option<&Step>, b: Option<&Step>) -> [Markup; 2] {
    match (a.map(by_branch), b.map(by_branch)) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => fields(&one, &other),
        (Some(one), Some(other)) => words::sides(&text(&one), &text(&other)),
        (one, other) => {
            [one, other].map(|output| html! { @if let Some(output) = output { (values::output(&output, None)) } })
        }
    }
}

/// An output; a list of a group as a map by the names of its branches.
fn by_branch(step: &Step) -> Value {
    match &step.output {
        Value::Array(items) if step.agent == GROUP_AGENT => {
            let items = items.iter().enumerate().map(|(index, item)| ((index + 1).to_string(), item.clone()));
            Value::Object(items.collect())
        }
        other => other.clone(),
    }
}

fn fields(one: &Map<String, Value>, other: &Map<String, Value>) -> [Markup; 2] {
    let names: Vec<&String> = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name))).collect();
    let differing: Vec<&String> = names.iter().copied().filter(|name| one.get(*name) != other.get(*name)).collect();
    let same = names.len() - differing.len();
    let mut sides = [Vec::new(), Vec::new()];
    for name in &differing {
        let [left, right] = match (one.get(*name), other.get(*name)) {
            (Some(a), Some(b)) => words::sides(&text(a), &text(b)),
            (a, b) => [a, b].map(|value| match value {
                Some(value) => html! { (values::output(value, None)) },
                None => html! { span.quiet { "(absent)" } },
            }),
        };
        sides[0].push(left);
        sides[1].push(right);
    }
    sides.map(|values| {
        html! {
            dl.facts.values { @for (name, value) in differing.iter().zip(&values) { dt { (name) } dd { (value) } } }
            @if same > 0 { p.small.quiet { (parts::many(same, "field")) " the same" } }
        }
    })
}

/// A value as a text to compare by words; an object or array gets a line for each of its values.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => yaml_tree::write::block(value).trim_end().to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// The differences between both prompts, folded.
fn prompts(home: &Home, a: &Step, b: &Step) -> Markup {
    let [one, other] = [a, b].map(|step| step_at::prompt(home, step.hash));
    let only = |of: &[NodeHash], not_in: &[NodeHash]| {
        of.iter().copied().filter(|hash| !not_in.contains(hash)).collect::<Vec<_>>()
    };
    let (only_one, only_other) = (only(&one, &other), only(&other, &one));
    if only_one.is_empty() && only_other.is_empty() {
        return html! {};
    }
    let pairs = (0..only_one.len().max(only_other.len()))
        .map(|at| (said(home, only_one.get(at)), said(home, only_other.get(at))));
    html! {
        details.prompts {
            summary { "Their prompts differ in " (parts::many(only_one.len().max(only_other.len()), "text")) }
            @for (one, other) in pairs { (words::inline(&one, &other)) }
        }
    }
}

/// A text of a prompt, cut for a row.
fn said(home: &Home, hash: Option<&NodeHash>) -> String {
    let text = hash.and_then(|hash| home.store().get(*hash).ok()).and_then(|node| message::text_of(&node.payload));
    let text = text.unwrap_or_default();
    text[..text.floor_char_boundary(texts::SHOWN)].to_owned()
}
