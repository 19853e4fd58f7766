//! Tolerant access to JSON from other programs.

use serde_json::Value;
use uwf_core::node::TokenCounts;
use uwf_core::number;

/// The JSON objects of a text, either one per line or one object after any other text, and the number of lines that are not objects.
pub(super) fn objects(text: &str) -> (Vec<Value>, usize) {
    let mut unread = 0;
    let lines: Vec<Value> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .filter_map(|line| {
            let object = object(line);
            unread += usize::from(object.is_none());
            object
        })
        .collect();
    if unread == 0 {
        return (lines, 0);
    }
    // An object over several lines contains lines that are objects as well.
    let begin = if text.starts_with('{') { Some(0) } else { text.find("\n{").map(|at| at + 1) };
    match begin.and_then(|at| object(text[at..].trim_end()).map(|whole| (whole, at))) {
        Some((whole, at)) => (vec![whole], text[..at].lines().filter(|line| !line.trim().is_empty()).count()),
        None => (lines, unread),
    }
}

fn object(text: &str) -> Option<Value> {
    if !text.starts_with('{') {
        return None;
    }
    serde_json::from_str(text).ok().filter(Value::is_object)
}

/// The text under a key; empty if the key is missing.
pub(super) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The text under a key, if it is not empty.
pub(super) fn some_text(value: &Value, key: &str) -> Option<String> {
    Some(text(value, key)).filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// The type of an event, with the type of its subject.
pub(super) fn event_name(event: &Value) -> Option<String> {
    let kind = some_text(event, "type")?;
    let inner = ["payload", "item", "part"].into_iter().find_map(|key| some_text(event.get(key)?, "type"));
    Some(match inner.filter(|inner| *inner != kind) {
        Some(inner) => format!("{kind} ({inner})"),
        None => kind,
    })
}

/// The list under a key; empty if the key is missing.
pub(super) fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The count under a key, if it is in range.
pub(super) fn count(value: &Value, key: &str) -> Option<u64> {
    number::count(value.get(key)?)
}

/// The US dollars under a key, if they are in range.
pub(super) fn dollars(value: &Value, key: &str) -> Option<f64> {
    number::money(value.get(key)?)
}

/// Token counts of a program that counts the cache separately from other input, by its names for them: input, read from the cache, written
/// to it, output.
pub(super) fn tokens(counts: &Value, [input, read, written, output]: [&str; 4]) -> Option<TokenCounts> {
    let (cached, cache_write) = (count(counts, read), count(counts, written));
    let cache = number::sum(cached.unwrap_or(0), cache_write.unwrap_or(0));
    let input = number::sum(count(counts, input)?, cache);
    Some(TokenCounts {
        input: Some(input),
        output: count(counts, output),
        cached,
        cache_write,
        ..TokenCounts::default()
    })
}

/// A value as text: text as it is, anything else as JSON, nothing for null.
pub(super) fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The text of a message's content: a text, or a list of blocks, some with text.
pub(super) fn content(value: Option<&Value>) -> String {
    match value {
        Some(Value::Array(blocks)) => {
            let texts: Vec<String> = blocks
                .iter()
                .map(|block| match block.get("text").or_else(|| block.get("content")) {
                    Some(Value::String(text)) => text.clone(),
                    Some(inner @ Value::Array(_)) => content(Some(inner)),
                    _ if block.is_string() => shown(Some(block)),
                    _ => format!("[{}]", text(block, "type")),
                })
                .collect();
            texts.join("\n\n")
        }
        other => shown(other),
    }
}
