//! Writes keys and values that parse to the same values, even with YAML 1.1.

use serde_json::Value;
use yaml_tree::YamlScalarStyle;
use yaml_tree::write::{ScalarContext, needs_escape, quoted, scalar as in_yaml};

/// Output language.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigLanguage {
    Yaml,
    Json,
}

/// A value on one line.
pub(super) fn inline(value: &Value, language: ConfigLanguage) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => scalar(text, language),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| inline(item, language)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let pair =
                |(key, value): (&String, &Value)| format!("{}: {}", scalar(key, language), inline(value, language));
            let pairs: Vec<String> = map.iter().map(pair).collect();
            let blank = if language == ConfigLanguage::Json || map.is_empty() { "" } else { " " };
            format!("{{{blank}{}{blank}}}", pairs.join(", "))
        }
    }
}

/// A value that replaces one of this style, which a text keeps.
pub(super) fn instead_of(style: YamlScalarStyle, value: &Value, language: ConfigLanguage) -> String {
    match (style, value) {
        (YamlScalarStyle::DoubleQuoted, Value::String(text)) => quoted(text),
        (YamlScalarStyle::SingleQuoted, Value::String(text))
            if !text.contains(|c: char| c == '\'' || needs_escape(c)) =>
        {
            format!("'{text}'")
        }
        _ => inline(value, language),
    }
}

/// A text or a key.
pub(super) fn scalar(text: &str, language: ConfigLanguage) -> String {
    match language {
        ConfigLanguage::Yaml => in_yaml(text, ScalarContext::Flow),
        ConfigLanguage::Json => quoted(text),
    }
}
