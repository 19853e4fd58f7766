//! Why a step has its role: the transition that was taken, with the values that its condition read.

use maud::{Markup, html};
use uwf_core::text;
use uwf_engine::thread::moderate::{ConsideredTransition, ReadValue};

use super::super::{parts, values, why};

/// Values that are shown of one condition.
const READS: usize = 3;

/// Characters of a value.
const VALUE: usize = 40;

/// The beginning of a reference to the output of the last step.
const LAST: &str = "steps[-1].output.";

/// The line above a step, which unfolds into all transitions that were tried; `None` if no condition was. `id` is the element's.
pub(super) fn reason(considered: &[ConsideredTransition], id: &str) -> Option<Markup> {
    let taken = considered.iter().find(|line| line.matched)?;
    let deciding: Vec<&ConsideredTransition> = match &taken.condition {
        Some(_) => vec![taken],
        None => considered.iter().filter(|line| line.condition.is_some() && !line.matched).collect(),
    };
    if deciding.is_empty() {
        return None;
    }
    Some(html! {
        details.reason #(id) {
            summary {
                "↳ "
                @for (position, line) in deciding.iter().enumerate() {
                    @if position > 0 { ", " }
                    @let facts = facts(line);
                    @let name = line.condition.as_deref().unwrap_or_default();
                    @let about = line.description.as_deref().map(parts::sentence);
                    @match (line.matched, facts.is_empty()) {
                        // The value says more than that the condition does not hold.
                        (false, false) => span title=(format!("not {name}")) { (facts.join(", ")) },
                        (false, true) => { "not " span title=[about] { (name) } }
                        (true, _) => {
                            span title=[about] { (name) }
                            @if !facts.is_empty() { " (" (facts.join(", ")) ")" }
                        }
                    }
                }
                " → " b { (why::target(&taken.role)) }
            }
            (why::considered(considered))
        }
    })
}

/// `approved is false`, for each value that a condition read.
fn facts(line: &ConsideredTransition) -> Vec<String> {
    let is_known = |read: &&ReadValue| read.error.is_none() && read.bytes.is_none();
    let read = |read: &ReadValue| fact(&read.what, read.value.as_ref());
    let facts: Vec<String> = line.reads.iter().filter(is_known).take(READS).map(read).collect();
    match &line.value {
        // The whole expression is a reference.
        Some(value) if facts.is_empty() && line.reads.is_empty() => line
            .expression
            .iter()
            .filter(|expression| is_reference(expression))
            .map(|what| fact(what, Some(value)))
            .collect(),
        _ => facts,
    }
}

fn fact(what: &str, value: Option<&serde_json::Value>) -> String {
    let value = value.map_or_else(
        || "missing".to_owned(),
        |value| match value.as_str() {
            Some(word) => text::one_line(word),
            None => values::short(value),
        },
    );
    format!("{} is {}", subject(what), text::ellipsize(&value, VALUE))
}

/// A reference as people name it: `approved`, `planner.steps`.
fn subject(what: &str) -> String {
    if let Some(field) = what.strip_prefix(LAST) {
        return field.to_owned();
    }
    let of_role = what.strip_prefix("$last(").and_then(|rest| rest.split_once(')'));
    match of_role {
        Some((role, field)) => format!("{}{field}", role.trim_matches(['\'', '"'])),
        None => what.to_owned(),
    }
}

fn is_reference(expression: &str) -> bool {
    expression.chars().all(|symbol| symbol.is_alphanumeric() || "_.$()[]-'\"".contains(symbol))
}

/// The keys of the last output whose values sent the thread back: from `role` to one that played earlier. `played` are the roles in the order
/// of their first steps. A transition without a condition was taken because the others did not hold.
pub(super) fn keys_that_sent_back(considered: &[ConsideredTransition], role: &str, played: &[&str]) -> Vec<String> {
    let Some(taken) = considered.iter().find(|line| line.matched) else { return Vec::new() };
    let position = |role: &str| played.iter().position(|played| *played == role);
    let goes_back = position(&taken.role).zip(position(role)).is_some_and(|(to, from)| to < from);
    if !goes_back {
        return Vec::new();
    }
    let deciding: Vec<&ConsideredTransition> = match &taken.condition {
        Some(_) => vec![taken],
        None => considered.iter().filter(|line| line.condition.is_some()).collect(),
    };
    let mut keys: Vec<String> = deciding.into_iter().flat_map(keys_of_last_output).collect();
    keys.sort();
    keys.dedup();
    keys
}

fn keys_of_last_output(line: &ConsideredTransition) -> Vec<String> {
    let whole = line.expression.iter().map(String::as_str);
    let parts = line.reads.iter().map(|read| read.what.as_str()).chain(whole);
    let keys = parts.filter_map(|part| part.strip_prefix(LAST)).filter_map(|key| key.split(['.', '[', ' ']).next());
    keys.map(str::to_owned).collect()
}

/// Whether an expression has a key as a whole word.
pub(super) fn names_key(expression: &str, key: &str) -> bool {
    expression.split(|symbol: char| !symbol.is_alphanumeric() && symbol != '_').any(|word| word == key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(
        role: &str,
        condition: Option<&str>,
        reads: &[(&str, serde_json::Value)],
        matched: bool,
    ) -> ConsideredTransition {
        ConsideredTransition {
            role: role.to_owned(),
            condition: condition.map(str::to_owned),
            description: None,
            expression: condition.map(|_| "steps[-1].output.passed = false".to_owned()),
            reads: reads
                .iter()
                .map(|(what, value)| ReadValue {
                    what: (*what).to_owned(),
                    value: Some(value.clone()),
                    bytes: None,
                    error: None,
                })
                .collect(),
            value: Some(json!(matched)),
            matched,
            why: String::new(),
            error: None,
        }
    }

    #[test]
    fn key_is_a_whole_word_of_an_expression() {
        let expression = "$count($last('reviews').*[is_ok = false]) > 0";
        assert_eq!(
            ["is_ok", "ok", "reviews", "view"].map(|key| names_key(expression, key)),
            [true, false, true, false]
        );
    }

    #[test]
    fn reason_names_target_and_values() {
        let taken = line("coder", Some("untested"), &[("steps[-1].output.passed", json!(false))], true);
        let shown = |lines: &[ConsideredTransition]| reason(lines, "r").map(Markup::into_string).unwrap_or_default();
        let text = shown(std::slice::from_ref(&taken));
        assert!(text.contains("<span>untested</span> (passed is false) → <b>coder</b>"), "{text}");
        let refused = line("coder", Some("untested"), &[("$last('planner').steps", json!("none"))], false);
        let text = shown(&[refused, line("reviewer", None, &[], true)]);
        assert!(text.contains("title=\"not untested\">planner.steps is none</span> → <b>reviewer</b>"), "{text}");
        assert_eq!(shown(&[line("reviewer", None, &[], true)]), "");
        let played = ["coder", "tester", "reviewer"];
        assert_eq!(keys_that_sent_back(std::slice::from_ref(&taken), "tester", &played), ["passed"]);
        assert_eq!(keys_that_sent_back(std::slice::from_ref(&taken), "planner", &["planner"]), [""; 0]);
        let forwards = line("reviewer", Some("tested"), &[("steps[-1].output.passed", json!(true))], true);
        assert_eq!(keys_that_sent_back(std::slice::from_ref(&forwards), "tester", &played), [""; 0]);
        let approved = line("reviewer", Some("approved"), &[("steps[-1].output.approved", json!(false))], false);
        assert_eq!(
            keys_that_sent_back(&[approved, line("coder", None, &[], true)], "tester", &played),
            ["approved", "passed"]
        );
    }
}
