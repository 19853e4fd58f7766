//! Content of conversations in the form of the conventions: messages of parts, as JSON.

use json_cas::text::ellipsize;
use serde_json::{Value, json};

/// Maximum length of a sent text.
const MAX_TEXT: usize = 16 << 10;

/// Messages in the form of the conventions: here always one.
pub(super) fn messages(role: &str, parts: impl IntoIterator<Item = Value>) -> Value {
    json!([{ "role": role, "parts": parts.into_iter().collect::<Vec<_>>() }])
}

pub(super) fn text_part(text: &str) -> Value {
    json!({ "type": "text", "content": cut(text) })
}

/// The beginning of a text.
pub(super) fn cut(text: &str) -> String {
    ellipsize(text, MAX_TEXT).into_owned()
}
