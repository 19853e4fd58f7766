//! Writes values, keys and texts so that readers of YAML 1.2 and YAML 1.1 read the same value back.

use serde_json::Value;

use crate::scalar::is_plain_text;

/// Words that YAML 1.1 reads as booleans.
const OLD_BOOLEANS: [&str; 6] = ["yes", "no", "on", "off", "y", "n"];

/// Longest key, in bytes, that YAML readers accept without a `?` before it.
const LONGEST_SIMPLE_KEY: usize = 1_000;

/// The surroundings of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarContext {
    /// On its own line, where brackets and commas have no meaning.
    Block,
    /// In brackets or braces, or on a line that may later be put into them.
    Flow,
}

/// A value as block YAML, with keys and items on separate lines, ending in a newline. Texts of several lines are written as block scalars
/// if possible.
#[must_use]
pub fn block(value: &Value) -> String {
    let mut text = String::new();
    put(value, 0, LinePrefix::Nothing, &mut text);
    text
}

/// The part of the line before a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LinePrefix {
    Nothing,
    Key,
    Dash,
}

/// Writes a value whose key or dash is indented by `column` spaces.
fn put(value: &Value, column: usize, after: LinePrefix, out: &mut String) {
    let gap = if after == LinePrefix::Nothing { "" } else { " " };
    let below = if after == LinePrefix::Nothing { column } else { column + 2 };
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (index, (key, value)) in map.iter().enumerate() {
                start_line(index, below, after, out);
                let key = scalar(key, ScalarContext::Block);
                if key.len() > LONGEST_SIMPLE_KEY {
                    out.push_str(&format!("? {key}\n{}:", " ".repeat(below)));
                } else {
                    out.push_str(&format!("{key}:"));
                }
                put(value, below, LinePrefix::Key, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            // Dashes are aligned with the first letter of the key.
            let below = if after == LinePrefix::Key { column } else { below };
            for (index, item) in items.iter().enumerate() {
                start_line(index, below, after, out);
                out.push('-');
                put(item, below, LinePrefix::Dash, out);
            }
        }
        Value::String(text) if is_literal(text) => {
            let chomp = match text.len() - text.trim_end_matches('\n').len() {
                0 => "-",
                1 => "",
                _ => "+",
            };
            out.push_str(&format!("{gap}|{chomp}\n"));
            for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
                let indent = if line.is_empty() { 0 } else { column + 2 };
                out.push_str(&format!("{}{line}\n", " ".repeat(indent)));
            }
        }
        Value::String(text) => out.push_str(&format!("{gap}{}\n", scalar(text, ScalarContext::Block))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            out.push_str(&format!("{gap}{value}\n"));
        }
    }
}

/// Starts the line of an entry. The first entry inside a list item follows the dash; the first entry below a key starts a new line.
fn start_line(index: usize, column: usize, after: LinePrefix, out: &mut String) {
    match (index, after) {
        (0, LinePrefix::Nothing) => {}
        (0, LinePrefix::Dash) => out.push(' '),
        (0, LinePrefix::Key) => out.push_str(&format!("\n{}", " ".repeat(column))),
        _ => out.push_str(&" ".repeat(column)),
    }
}

/// Whether a text of several lines can be written as a block scalar.
fn is_literal(text: &str) -> bool {
    text.contains('\n')
        // The first line that is not empty determines the indentation.
        && text.trim_start_matches('\n').starts_with(|symbol: char| !symbol.is_whitespace())
        && !text.chars().any(|symbol| symbol != '\n' && symbol != '\t' && needs_escape(symbol))
}

/// A text or a key, in double quotes if YAML would read it as something else.
#[must_use]
pub fn scalar(text: &str, context: ScalarContext) -> String {
    if is_plain(text, context) { text.to_owned() } else { quoted(text) }
}

/// Whether YAML reads a text as itself without quotes.
fn is_plain(text: &str, context: ScalarContext) -> bool {
    let mut symbols = text.chars().peekable();
    // A program's option (`--option`) is a text; a lone dash is a list item.
    let first = text.strip_prefix("--").or(text.strip_prefix('-')).unwrap_or(text).chars().next();
    let starts = first.is_some_and(|first| first.is_alphanumeric() || matches!(first, '_' | '/' | '.'));
    let fits = |symbol: char, next: Option<&char>| match symbol {
        ' ' if context == ScalarContext::Block => next.is_some_and(|next| !matches!(next, '#' | ' ')),
        ' ' => next.is_some_and(|next| next.is_alphanumeric()),
        ':' => next.is_some_and(|next| next.is_alphanumeric() || *next == '/'),
        '_' | '/' | '.' | '-' | '+' | '@' | '=' | '~' => true,
        _ if context == ScalarContext::Block && symbol.is_ascii_graphic() => symbol != '#',
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

/// Whether some reader of YAML takes a text for a number: dates, times, versions and so on.
fn is_number_like(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, '.' | ':' | '_' | '-' | '+' | 'x' | 'o' | ' '))
}

/// A text in double quotes, escaped in a way that is also valid JSON.
#[must_use]
pub fn quoted(text: &str) -> String {
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

/// Whether a character must be escaped because it breaks the line or is invisible. All of these are below U+10000.
#[must_use]
pub fn needs_escape(symbol: char) -> bool {
    symbol.is_control() || matches!(symbol, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::parse;

    fn read(text: &str) -> Value {
        let root = parse(text).unwrap().unwrap();
        root.to_json(&mut |_, number| panic!("{number} is finite"))
    }

    #[test]
    fn lists_and_mappings_have_lines_of_their_own() {
        let value = json!({
            "title": "Fix #42", "hash": "1234567890123", "none": null, "empty": [{}, []],
            "steps": [{ "role": "writer", "tags": ["a", "*.rs"] }, ["x", ["z"]]],
            "text": "one\n\n  two\n", "more": "no end\nhere", "odd": " x\ny", "words": "it's done, (nearly)",
        });
        let expected = "title: \"Fix #42\"\nhash: \"1234567890123\"\nnone: null\nempty:\n- {}\n- []\nsteps:\n- role: writer\n  tags:\n  - a\n  - \"*.rs\"\n- - x\n  - - z\ntext: |\n  one\n\n    two\nmore: |-\n  no end\n  here\nodd: \" x\\ny\"\nwords: it's done, (nearly)\n";
        assert_eq!(block(&value), expected);
        assert_eq!(read(expected), value);
    }

    #[test]
    fn a_long_key_is_marked_as_one() {
        let value = json!([{ "k".repeat(2_000): { "a": [1] } }]);
        assert_eq!(read(&block(&value)), value);
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "[ -~\n\té\u{2028}]{0,12}",
            "(yes|no|null|~|[0-9]{1,3}|[0-9.:eE+-]{1,6}|<<|- a|a: b|a #b|\\.inf)",
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            let entries = prop::collection::vec((text.clone(), inner.clone()), 0..4);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                entries.prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn written_yaml_is_read_back(value in values()) {
            let text = block(&value);
            prop_assert_eq!(read(&text), value, "{}", text);
        }
    }
}
