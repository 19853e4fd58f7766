//! Parses a reply that is only a JSON value.

use serde_json::Value;
use yaml_tree::json_value;

/// Returns the value if the text is one JSON value, or one code block with nothing around it. A value within other text may be an example
/// or a quotation, so it is not read.
pub fn whole_json(text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}').trim();
    json_value(text).ok().or_else(|| json_value(only_block(text)?).ok())
}

/// The contents of a text that is one code block.
fn only_block(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n')?;
    let language = first.strip_prefix("```")?;
    let inside = rest.strip_suffix("```")?;
    let is_one = !inside.contains("\n```") && matches!(language.trim(), "" | "json" | "JSON" | "jsonc");
    is_one.then_some(inside)
}
