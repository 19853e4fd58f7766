//! Roles whose output is a text.

use serde_json::{Value, json};

/// Keywords of a schema that leave a text as it is. A schema with others, such as `enum`, asks for a value.
const KEYWORDS: [&str; 9] =
    ["$comment", "$schema", "default", "description", "examples", "maxLength", "minLength", "title", "type"];

/// The schema of a role without `meta`.
#[must_use]
pub(super) fn text_schema() -> Value {
    json!({ "type": "string" })
}

/// Whether a role with this schema delivers a text: its whole answer is the output, and nothing in it is parsed.
#[must_use]
pub fn is_text(schema: &Value) -> bool {
    schema.as_object().is_some_and(|keywords| {
        keywords.get("type").and_then(Value::as_str) == Some("string")
            && keywords.keys().all(|keyword| KEYWORDS.contains(&keyword.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_free_text_is_text() {
        for schema in [text_schema(), json!({ "type": "string", "title": "w.r", "minLength": 3 })] {
            assert!(is_text(&schema), "{schema}");
        }
        for schema in [
            json!(true),
            json!({}),
            json!({ "type": ["string", "null"] }),
            json!({ "type": "string", "enum": ["yes", "no"] }),
            json!({ "type": "string", "format": "cas_ref" }),
            json!({ "type": "string", "pattern": "^v" }),
        ] {
            assert!(!is_text(&schema), "{schema}");
        }
    }
}
