//! What was said, as the conventions have it: messages of parts, as JSON.

use json_cas::text::ellipsize;
use serde_json::{Value, json};

/// Characters of a text that are sent.
const MAX_TEXT: usize = 16 << 10;

/// Messages as the conventions have them: here always one.
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
