//! Writes keys and values so that they are read back as they were meant, by readers of YAML 1.1 too.

use saphyr_parser::ScalarStyle;
use serde_json::Value;

use crate::workflow::tree::is_plain_text;

/// Words YAML 1.1 takes for booleans.
const OLD_BOOLEANS: [&str; 6] = ["yes", "no", "on", "off", "y", "n"];

/// In which language something is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Yaml,
    Json,
}

/// A value on one line.
pub(super) fn inline(value: &Value, language: Language) -> String {
    match value {
        _ if language == Language::Json => json(value),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => scalar(text, language),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| inline(item, language)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let pairs: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", scalar(key, language), inline(value, language)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
    }
}

/// A value in place of one that was written in a style, which a text keeps.
pub(super) fn instead_of(style: ScalarStyle, value: &Value, language: Language) -> String {
    match (style, value) {
        (ScalarStyle::DoubleQuoted, Value::String(text)) => quoted(text),
        (ScalarStyle::SingleQuoted, Value::String(text)) if !text.contains(|c: char| c == '\'' || needs_escape(c)) => {
            format!("'{text}'")
        }
        _ => inline(value, language),
    }
}

/// A text or a key.
pub(super) fn scalar(text: &str, language: Language) -> String {
    if language == Language::Yaml && is_plain(text) { text.to_owned() } else { quoted(text) }
}

fn json(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let pairs: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", quoted(key), json(value))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Whether a text means itself without quotes, in a flow collection too.
fn is_plain(text: &str) -> bool {
    let mut symbols = text.chars().peekable();
    // An option of a program is a text, a lone dash an item of a list.
    let first = text.strip_prefix("--").or(text.strip_prefix('-')).unwrap_or(text).chars().next();
    let starts = first.is_some_and(|first| first.is_alphanumeric() || matches!(first, '_' | '/' | '.'));
    let fits = |symbol: char, next: Option<&char>| match symbol {
        ' ' => next.is_some_and(|next| next.is_alphanumeric()),
        ':' => next.is_some_and(|next| next.is_alphanumeric() || *next == '/'),
        '_' | '/' | '.' | '-' | '+' | '@' | '=' | '~' => true,
        _ => symbol.is_alphanumeric(),
    };
    while let Some(symbol) = symbols.next() {
        if !fits(symbol, symbols.peek()) {
            return false;
        }
    }
    let old = OLD_BOOLEANS.iter().any(|word| word.eq_ignore_ascii_case(text));
    starts && !old && !is_number_like(text) && is_plain_text(text)
}

/// Dates, times, versions and everything else that some reader of YAML takes for a number.
fn is_number_like(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, '.' | ':' | '_' | '-' | '+' | 'x' | 'o' | ' '))
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for symbol in text.chars() {
        match symbol {
            '"' | '\\' => out.extend(['\\', symbol]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ if needs_escape(symbol) => out.push_str(&format!("\\u{:04x}", u32::from(symbol))),
            _ => out.push(symbol),
        }
    }
    out.push('"');
    out
}

/// Characters that are no part of a line, or that nobody sees. All of them are below U+10000.
fn needs_escape(symbol: char) -> bool {
    symbol.is_control() || matches!(symbol, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
