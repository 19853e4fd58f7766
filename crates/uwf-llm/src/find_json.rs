//! Finds the JSON value in what a model wrote around it.

use serde_json::Value;

/// Most places of a text where a value is looked for.
const MAX_PLACES: usize = 2000;

/// The value a text holds: all of it, or what stands in a fenced block, or in braces or brackets anywhere. Of several,
/// the last that `accepts`; if none does, the last object or list. Models repeat examples first and answer last.
pub fn find_json(text: &str, accepts: &dyn Fn(&Value) -> bool) -> Option<Value> {
    let text = text.trim().trim_start_matches('\u{feff}');
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let mut found = fenced(text);
    if !found.iter().any(accepts) {
        found.extend(anywhere(text));
    }
    let chosen = found.iter().rposition(accepts).or_else(|| found.len().checked_sub(1))?;
    Some(found.swap_remove(chosen))
}

/// Blocks between lines of three backquotes that are one JSON value.
fn fenced(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            match block.take() {
                Some(text) => found.extend(serde_json::from_str(&text).ok()),
                None => block = Some(String::new()),
            }
        } else if let Some(block) = &mut block {
            block.push_str(line);
            block.push('\n');
        }
    }
    found
}

/// Objects and lists that begin anywhere; those inside another are not looked at.
fn anywhere(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut at = 0;
    for _ in 0..MAX_PLACES {
        let Some(start) = text[at..].find(['{', '[']).map(|place| at + place) else { break };
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                found.push(value);
                at = start + values.byte_offset();
            }
            _ => at = start + 1,
        }
    }
    found
}
