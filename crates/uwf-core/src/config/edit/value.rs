//! Parses values typed on a command line.

use serde_json::Value;
use yaml_tree::YamlScalarStyle;

use super::tree::{EditTree, ValueForm};
use crate::document::{SourceDocument, has_no_content};

/// Why a text is not a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    /// It is empty.
    #[error("the value is empty")]
    Empty,
    /// It is not YAML.
    #[error("the value is not YAML: {0}")]
    Syntax(String),
    /// It is YAML on several lines, like `a: b` or `- a`.
    #[error("the value is not a text, number, [list] or {{mapping}}, but YAML that needs several lines")]
    Block,
    /// A part would be read as a comment.
    #[error("a part of the value is a comment to YAML")]
    Comment,
}

/// The value of a text: a scalar (`true`, `5`, `30m`, `null`) or a flow collection (`[a, b]`, `{a: 1}`).
///
/// # Errors
/// [`BadValue`]. A caller that wants the text itself need not call this.
pub fn value(text: &str) -> Result<Value, BadValue> {
    let text = text.trim();
    match text {
        "" => return Err(BadValue::Empty),
        "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        _ if has_no_content(text) => return Err(BadValue::Comment),
        _ => {}
    }
    let document = SourceDocument::parse(text, "value").map_err(|problems| {
        let said = problems.first().map_or("it is not readable", |problem| problem.message.as_str());
        BadValue::Syntax(said.trim_start_matches("not valid YAML: ").to_owned())
    })?;
    let end = match EditTree::read(text, "value").root {
        Some(root) => match ValueForm::from_node(&root) {
            ValueForm::Scalar(YamlScalarStyle::Block) | ValueForm::Block(_) | ValueForm::List => {
                return Err(BadValue::Block);
            }
            ValueForm::Scalar(_) | ValueForm::FlowList | ValueForm::Flow(_) | ValueForm::Nothing | ValueForm::Alias => {
                root.span.end
            }
        },
        None => text.len(),
    };
    if text[end..].trim().is_empty() { Ok(document.value) } else { Err(BadValue::Comment) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scalars_and_flow_collections_are_values() {
        for (text, expected) in [
            ("true", json!(true)),
            ("30m", json!("30m")),
            (" 5 ", json!(5)),
            ("no", json!("no")),
            ("~", json!(null)),
            ("two words", json!("two words")),
            ("'5'", json!("5")),
            ("[a, 'b c', 1]", json!(["a", "b c", 1])),
            ("{a: {b: [c]}}", json!({"a": {"b": ["c"]}})),
            ("{\"a\": 1}", json!({"a": 1})),
            ("https://example.com/v1", json!("https://example.com/v1")),
            ("-t", json!("-t")),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn values_that_would_change_meaning_are_rejected() {
        for (text, expected) in [
            ("", BadValue::Empty),
            ("#5", BadValue::Comment),
            ("a # b", BadValue::Comment),
            ("'a' # b", BadValue::Comment),
            ("a: b", BadValue::Block),
            ("- a", BadValue::Block),
            ("|\n  a", BadValue::Block),
        ] {
            assert_eq!(value(text), Err(expected), "{text}");
        }
        for text in ["[a", "{a: 1", "'a", "@a", "*a", "a\n---\nb"] {
            assert!(matches!(value(text), Err(BadValue::Syntax(_))), "{text}: {:?}", value(text));
        }
    }
}
