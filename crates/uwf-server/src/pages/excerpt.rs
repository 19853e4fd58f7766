//! The output of a step on one line, by the types of its values.

use maud::{Markup, html};
use serde_json::{Map, Value};
use uwf_core::text;

use super::parts;

/// Characters of an output on its line.
const LENGTH: usize = 140;

/// Bytes of a text that is shown with its key; a longer one is a sentence of its own and comes last.
const SHORT: usize = 40;

/// An output on one line: short values first, then the longest text. The keys in `bad` have the colour of a failure.
pub(super) fn excerpt(value: &Value, bad: &[String]) -> Markup {
    let Value::Object(fields) = value else {
        return html! { (parts::ticks(&text::ellipsize_words(&words(value), LENGTH))) };
    };
    let mut room = LENGTH;
    let mut shown = Vec::new();
    for (name, value) in in_order(fields) {
        let words = field(name, value);
        let words = text::ellipsize_words(&words, room).into_owned();
        room = room.saturating_sub(words.chars().count());
        shown.push((words, bad.contains(name)));
        if room == 0 {
            break;
        }
    }
    html! { @for (words, is_bad) in &shown { span class=[is_bad.then_some("bad")] { (parts::ticks(words)) } } }
}

/// Booleans, short values, then sentences. Missing values and empty texts are left out.
fn in_order(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let is_empty = |value: &Value| value.is_null() || value == "";
    let mut fields: Vec<(&String, &Value)> = fields.iter().filter(|(_, value)| !is_empty(value)).collect();
    fields.sort_by_key(|(_, value)| (!value.is_boolean(), is_sentence(value)));
    fields
}

fn is_sentence(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.len() > SHORT)
}

/// A key with its value. A list is its only item, or the number of its items.
fn field(name: &str, value: &Value) -> String {
    match value {
        Value::Bool(is) => format!("{name}: {}", if *is { "yes" } else { "no" }),
        Value::String(text) if is_sentence(value) => text::one_line(text),
        Value::Array(items) => match items.as_slice() {
            [] => format!("{name}: none"),
            [one @ (Value::String(_) | Value::Number(_))] => format!("{name}: {}", words(one)),
            _ => format!("{name}: {}", items.len()),
        },
        Value::Object(fields) => format!("{name}: {}", parts::many(fields.len(), "field")),
        other => format!("{name}: {}", words(other)),
    }
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), text::one_line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_shown_by_type() {
        let output = json!({
            "summary": "search() folds case by the rules of Unicode", "approved": false, "draft": false, "changes": ["a.rs"],
            "findings": [], "steps": [1, 2], "note": null, "verdict": "reject",
        });
        let shown = excerpt(&output, &["approved".to_owned()]).into_string();
        let fields = ["approved: no", "draft: no", "changes: a.rs", "findings: none", "steps: 2", "verdict: reject"];
        for field in fields {
            assert!(shown.contains(&format!(">{field}</span>")), "{field}: {shown}");
        }
        assert!(shown.ends_with("<span>search() folds case by the rules of Unicode</span>"), "{shown}");
        assert_eq!(shown.matches("class=\"bad\"").count(), 1, "{shown}");
    }
}
