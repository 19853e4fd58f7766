//! A structured output as a list.

use serde_json::{Map, Value};

use super::embed::embed;
use super::inline::inline;
use crate::extract::clean;
use crate::prompt::fence::fenced;

/// Longest value on the line of its name, in characters. Longer ones get lines of their own.
const LINE: usize = 100;

/// Deepest nesting that lists can show. Deeper values are shown as JSON.
const DEPTH: usize = 3;

/// A structured output as a markdown list: a line for each field, longer texts and nested values below their names.
/// Ends with a newline.
pub fn output(value: &Value) -> String {
    match value {
        Value::Object(fields) if fields.is_empty() => "(no fields)\n".to_owned(),
        Value::Object(fields) => list(fields, 0),
        other => match line(other) {
            Some(text) => format!("{text}\n"),
            None => below(other, 0),
        },
    }
}

fn list(fields: &Map<String, Value>, depth: usize) -> String {
    fields.iter().map(|(name, value)| entry(name, value, depth)).collect()
}

fn entry(name: &str, value: &Value, depth: usize) -> String {
    let name = inline(name);
    match line(value).or_else(|| sentence(value)) {
        Some(text) => format!("- **{name}**: {text}\n"),
        None => format!("- **{name}**:\n{}", indented(&below(value, depth + 1))),
    }
}

/// A longer text without line breaks, as markdown that can't break out of its line.
fn sentence(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    (!text.contains('\n') && embed(text, 4).trim_end() == text).then(|| text.to_owned())
}

/// A value that does not fit on one line.
fn below(value: &Value, depth: usize) -> String {
    match value {
        Value::String(text) => format!("\n{}\n", lines(text)),
        Value::Object(fields) if depth <= DEPTH => list(fields, depth),
        Value::Array(items) if depth <= DEPTH => match items.iter().map(item).collect::<Option<Vec<String>>>() {
            Some(lines) => lines.concat(),
            None => json(value),
        },
        _ => json(value),
    }
}

/// An item of a list: a short value, or an object of short values.
fn item(value: &Value) -> Option<String> {
    if let Some(text) = line(value) {
        return Some(format!("- {text}\n"));
    }
    match value {
        Value::Object(fields) => {
            let parts: Option<Vec<String>> =
                fields.iter().map(|(name, value)| Some(format!("{}: {}", inline(name), line(value)?))).collect();
            parts.map(|parts| format!("- {}\n", parts.join("; ")))
        }
        Value::String(text) => Some(format!("- {}", indented(&lines(text)).trim_start())),
        _ => None,
    }
}

/// A longer text. Several lines are fenced: markdown would join them.
fn lines(text: &str) -> String {
    let clean = clean::clean(text);
    let clean = clean.trim_end().trim_start_matches('\n');
    if clean.contains('\n') { fenced("text", clean) } else { embed(text, 4) }
}

/// A value in one short line.
fn line(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => {
            if text.trim_end().contains('\n') || text.chars().count() > LINE {
                return None;
            }
            inline(text)
        }
        Value::Array(items) if items.is_empty() => "(none)".to_owned(),
        Value::Array(items) => {
            let short = |item: &Value| (!item.is_array() && !item.is_object()).then(|| line(item)).flatten();
            items.iter().map(short).collect::<Option<Vec<String>>>()?.join(", ")
        }
        Value::Object(fields) if fields.is_empty() => "(no fields)".to_owned(),
        Value::Object(_) => return None,
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    (text.chars().count() <= LINE + 2).then_some(text)
}

fn json(value: &Value) -> String {
    fenced("json", &format!("{value:#}"))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::output;

    #[test]
    fn fields_are_a_list() {
        let value = json!({
            "title": "Fix #42",
            "ok": true,
            "none": null,
            "n": 1.5,
            "tags": ["a", "*.rs"],
            "empty": [],
            "author": {"name": "Ada"},
            "phases": [{"name": "one", "done": true}, {"name": "two", "done": false}],
        });
        insta::assert_snapshot!(output(&value), @r"
        - **title**: Fix #42
        - **ok**: true
        - **none**: null
        - **n**: 1.5
        - **tags**: a, `*.rs`
        - **empty**: (none)
        - **author**:
          - **name**: Ada
        - **phases**:
          - name: one; done: true
          - name: two; done: false
        ");
    }

    #[test]
    fn longer_texts_stay_below_their_name() {
        let sentence = "A long `sentence` that is markdown itself. ".repeat(3);
        let value = json!({"report": "# Report\n\n- a\n- b\n\n```\nopen", "next": sentence, "open": format!("<!-- {sentence}")});
        insta::assert_snapshot!(output(&value), @r"
        - **report**:

          ````text
          # Report

          - a
          - b

          ```
          open
          ````

        - **next**: A long `sentence` that is markdown itself. A long `sentence` that is markdown itself. A long `sentence` that is markdown itself.
        - **open**:

          ```text
          <!-- A long `sentence` that is markdown itself. A long `sentence` that is markdown itself. A long `sentence` that is markdown itself.
          ```
        ");
    }

    #[test]
    fn nested_values_are_shown_as_json() {
        let value = json!({"a": {"b": {"c": {"d": {"e": [[1], [2]]}}}}, "list": [[1, 2], {"x": [1, {"y": 2}]}]});
        insta::assert_snapshot!(output(&value), @r#"
        - **a**:
          - **b**:
            - **c**:
              - **d**:
                ```json
                {
                  "e": [
                    [
                      1
                    ],
                    [
                      2
                    ]
                  ]
                }
                ```
        - **list**:
          ```json
          [
            [
              1,
              2
            ],
            {
              "x": [
                1,
                {
                  "y": 2
                }
              ]
            }
          ]
          ```
        "#);
    }

    #[test]
    fn any_value_can_be_an_output() {
        let outputs: Vec<String> = [
            json!(null),
            json!("x"),
            json!(3),
            json!([]),
            json!({}),
            json!(["a", "b"]),
            json!("a\nb"),
            json!([{"a": 1}]),
        ]
        .iter()
        .map(output)
        .collect();
        insta::assert_debug_snapshot!(outputs, @r#"
        [
            "null\n",
            "x\n",
            "3\n",
            "(none)\n",
            "(no fields)\n",
            "a, b\n",
            "\n```text\na\nb\n```\n\n",
            "- a: 1\n",
        ]
        "#);
    }
}
