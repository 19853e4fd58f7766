//! Reads a written scalar as one of the types a schema allows.

use std::collections::BTreeSet;

use serde_json::{Number, Value};

use super::tree::{RawScalar, RawScalarStyle};

/// A reading of a scalar that fits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScalarReading {
    pub(super) value: Value,
    /// The tolerance that was needed, in words.
    pub(super) fix: Option<String>,
    /// Whether the text would by itself be a number or a word like `true`. Other readings are preferred to such a reading.
    pub(super) strained: bool,
}

impl ScalarReading {
    fn plain(value: Value) -> ScalarReading {
        ScalarReading { value, fix: None, strained: false }
    }

    fn fixed(value: Value, fix: String) -> ScalarReading {
        ScalarReading { value, fix: Some(fix), strained: false }
    }
}

/// Returns the best reading as one of the types; `None` if nothing fits.
pub(super) fn read(written: &RawScalar, types: Option<&BTreeSet<&str>>) -> Option<ScalarReading> {
    let Some(types) = types else { return Some(untyped(written)) };
    // `None` is Python's word for null. A header rarely means it as a text.
    if types.contains("null") && written.style.is_bare() && written.uncut.is_none() && written.text == "None" {
        return Some(fixed_as("None", Value::Null));
    }
    let fits = ["null", "boolean", "integer", "number", "string"]
        .into_iter()
        .filter(|name| types.contains(name))
        .filter_map(|name| read_as(written, name));
    fits.min_by_key(|fit| (fit.fix.is_some(), fit.strained))
}

fn read_as(written: &RawScalar, name: &str) -> Option<ScalarReading> {
    match name {
        "null" => null(written),
        "boolean" => boolean(written),
        "integer" => number(written, true),
        "number" => number(written, false),
        "string" => string(written),
        _ => None,
    }
}

/// Reads a scalar without a type from the schema, as YAML 1.2 does. Digits stay text if the number would be printed differently (`1.10`,
/// `007`, `12345678901E5`).
fn untyped(written: &RawScalar) -> ScalarReading {
    if written.style.is_bare() && written.uncut.is_none() {
        let value = itself(written);
        if !value.is_string() {
            return ScalarReading::plain(value);
        }
    }
    string(written).unwrap_or_else(|| ScalarReading::plain(Value::Null))
}

/// The value of a scalar by itself: a JSON number, whose digits may be written in many ways, or a bare text.
fn itself(written: &RawScalar) -> Value {
    match (written.style, serde_json::from_str(&written.text)) {
        (RawScalarStyle::Token, Ok(value)) => value,
        _ => core(&written.text),
    }
}

/// The value of a bare text by itself.
pub(super) fn core(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    match serde_json::from_str::<Number>(text) {
        Ok(number) if number.to_string() == text => Value::Number(number),
        _ => Value::String(text.to_owned()),
    }
}

fn null(written: &RawScalar) -> Option<ScalarReading> {
    if written.style.is_bare() && core(&written.text).is_null() && written.uncut.is_none() {
        return Some(ScalarReading::plain(Value::Null));
    }
    let words = ["", "null", "~", "none", "nil", "n/a"];
    let text = written.text.trim();
    words.iter().any(|word| text.eq_ignore_ascii_case(word)).then(|| fixed_as(text, Value::Null))
}

fn boolean(written: &RawScalar) -> Option<ScalarReading> {
    let text = bare(&written.text);
    let value = match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "y" => true,
        "false" | "no" | "off" | "n" => false,
        _ => return None,
    };
    if written.style.is_bare() && written.uncut.is_none() && core(&written.text).is_boolean() {
        return Some(ScalarReading::plain(Value::Bool(value)));
    }
    Some(fixed_as(written.text.trim(), Value::Bool(value)))
}

fn number(written: &RawScalar, whole: bool) -> Option<ScalarReading> {
    let text = bare(&written.text);
    let digits = without_grouping(text)?;
    let value = parse_number(&digits, whole)?;
    let natural = written.style.is_bare() && written.uncut.is_none() && digits == written.text;
    // Reading `3.0` as an integer is a fix. Reading `3` or `1e3` as a number is not.
    if natural && (!whole || core(&digits) == value)
        || written.style == RawScalarStyle::Token && itself(written) == value
    {
        return Some(ScalarReading::plain(value));
    }
    Some(fixed_as(written.text.trim(), value))
}

/// The text without `_` or `,` between groups of digits and without a leading `+`.
fn without_grouping(text: &str) -> Option<String> {
    let text = text.strip_prefix('+').unwrap_or(text);
    for separator in [',', '_'] {
        let mut groups = text.split(separator);
        let first = groups.next()?.trim_start_matches('-');
        let rest: Vec<&str> = groups.collect();
        let digits = |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
        // `0,500` is a fraction in many languages.
        let is_grouped = digits(first) && first.len() <= 3 && !first.starts_with('0');
        if !rest.is_empty() && is_grouped && rest.iter().all(|g| digits(g) && g.len() == 3) {
            return Some(text.replace(separator, ""));
        }
    }
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.').then(|| text.to_owned())
}

fn parse_number(text: &str, whole: bool) -> Option<Value> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    if let Ok(number) = text.parse::<u64>() {
        return Some(number.into());
    }
    // Don't read such a large whole number as a float, because it would change.
    if text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: f64 =
        text.parse().ok().filter(|number: &f64| number.is_finite() && yaml_tree::keeps_digits(text, *number))?;
    if !whole {
        return Number::from_f64(number).map(Value::Number);
    }
    /// Above 2^53 a float may stand for several whole numbers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
    (number.fract() == 0.0 && number.abs() < EXACT).then(|| Value::from(number as i64))
}

fn string(written: &RawScalar) -> Option<ScalarReading> {
    if let Some(uncut) = &written.uncut {
        return Some(ScalarReading::fixed(
            uncut.as_str().into(),
            "kept the text from ` #` on, which YAML takes for a comment".to_owned(),
        ));
    }
    let text = written.text.as_str();
    match written.style {
        RawScalarStyle::Quoted => Some(ScalarReading::plain(text.into())),
        RawScalarStyle::Plain => {
            let alone = core(&written.text);
            (!alone.is_null()).then(|| ScalarReading { value: text.into(), fix: None, strained: !alone.is_string() })
        }
        // JSON distinguishes `3` from `"3"`.
        RawScalarStyle::Token => {
            let fit = || ScalarReading { strained: true, ..fixed_as(text, text.into()) };
            (!core(&written.text).is_null()).then(fit)
        }
    }
}

/// The allowed value of an `enum` or `const` that the text means, if there is exactly one.
pub(super) fn choose(written: &RawScalar, allowed: &[&Value]) -> Option<ScalarReading> {
    let text = written.text.trim();
    let same = |value: &&&Value| match value {
        Value::String(word) => word == text,
        other => written.style.is_bare() && itself(written) == ***value && !other.is_string(),
    };
    if let Some(exact) = allowed.iter().find(same) {
        let exact = (**exact).clone();
        return Some(match &written.uncut {
            None if written.style == RawScalarStyle::Token && exact.is_string() => fixed_as(text, exact),
            None => ScalarReading::plain(exact),
            Some(_) => ScalarReading::fixed(exact, "left out a comment".to_owned()),
        });
    }
    // `C++` is not `C`, and `!approve` is not `approve`.
    let is_word = |symbol: char| symbol.is_alphanumeric() || matches!(symbol, ' ' | '_' | '-' | '/' | '.' | '&' | '\'');
    let begins_with_sign = bare(text).starts_with(|first: char| !first.is_alphanumeric());
    let meant = if bare(text).chars().all(is_word) && !begins_with_sign { normal(bare(text)) } else { String::new() };
    let mut near = allowed.iter().filter(|value| match value {
        Value::String(word) => normal(word) == meant && !meant.is_empty(),
        Value::Bool(said) => boolean(written).is_some_and(|fit| fit.value == Value::Bool(*said)),
        Value::Number(_) => number(written, false).is_some_and(|fit| fit.value == ***value),
        Value::Null => null(written).is_some(),
        Value::Array(_) | Value::Object(_) => false,
    });
    match (near.next(), near.next()) {
        // `C` does not mean `C++`, even if no other value is near.
        (Some(Value::String(word)), None) if !word.chars().all(is_word) => None,
        (Some(only), None) => Some(fixed_as(text, (**only).clone())),
        _ => None,
    }
}

fn fixed_as(text: &str, value: Value) -> ScalarReading {
    let fix = format!("read `{text}` as {value}");
    ScalarReading::fixed(value, fix)
}

/// A text without the marks that chat models put around a word: quotes, backticks, asterisks, a final full stop.
fn bare(text: &str) -> &str {
    let marks = ['`', '*', '"', '\'', '“', '”', '‘', '’', '_'];
    text.trim().trim_matches(marks).trim_end_matches(['.', ',', ';']).trim_matches(marks).trim()
}

/// Whether a bare text says that a value is absent: `none`, `N/A`.
pub(super) fn says_none(text: &str) -> bool {
    ["none", "nothing", "n/a", "nil", "no", "-"].iter().any(|word| bare(text).eq_ignore_ascii_case(word))
}

/// A written key without case and separators. `None` for text with other signs, which may negate it: `!approved`, `~~approved~~`.
pub(super) fn normal_key(key: &str) -> Option<String> {
    let key = key.trim().trim_matches(['"', '\'', '`', '*', '_', ' ']).trim_end_matches('?');
    let is_sign = |symbol: char| !(symbol.is_alphanumeric() || matches!(symbol, ' ' | '_' | '-' | '.' | '/' | '\''));
    let is_plain = key.starts_with(char::is_alphanumeric) && !key.contains(is_sign);
    is_plain.then(|| normal(key))
}

/// A word without case and separators, so that `In progress`, `in_progress` and `inProgress` are equal.
pub(super) fn normal(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plain(text: &str) -> RawScalar {
        RawScalar { text: text.to_owned(), style: RawScalarStyle::Plain, uncut: None }
    }

    fn quoted(text: &str) -> RawScalar {
        RawScalar { text: text.to_owned(), style: RawScalarStyle::Quoted, uncut: None }
    }

    fn value(written: RawScalar, types: &[&str]) -> Option<Value> {
        read(&written, Some(&types.iter().copied().collect())).map(|fit| fit.value)
    }

    #[test]
    fn digits_stay_text_where_the_schema_says_text() {
        for text in ["1234567890123", "12345678901E5", "0000000000000", "1.10", "no", "true"] {
            assert_eq!(value(plain(text), &["string"]), Some(json!(text)));
            assert_eq!(value(plain(text), &["string", "null"]), Some(json!(text)));
        }
    }

    #[test]
    fn each_type_tolerates_what_is_meant() {
        assert_eq!(value(plain("no"), &["boolean"]), Some(json!(false)));
        assert_eq!(value(quoted("True"), &["boolean"]), Some(json!(true)));
        assert_eq!(value(plain("maybe"), &["boolean"]), None);
        assert_eq!(value(quoted("0.9"), &["number"]), Some(json!(0.9)));
        assert_eq!(value(plain("3.0"), &["integer"]), Some(json!(3)));
        assert_eq!(value(plain("3.5"), &["integer"]), None);
        assert_eq!(value(plain("1,000"), &["integer"]), Some(json!(1000)));
        assert_eq!(value(plain("1,2"), &["integer"]), None);
        assert_eq!(value(plain("nan"), &["number"]), None);
        assert_eq!(value(plain("1e999"), &["number"]), None);
        assert_eq!(value(plain("~"), &["null", "string"]), Some(json!(null)));
        assert_eq!(value(plain("n/a"), &["null", "integer"]), Some(json!(null)));
        assert_eq!(value(quoted("null"), &["null", "string"]), Some(json!("null")));
        assert_eq!(value(plain("5"), &["integer", "string"]), Some(json!(5)));
        assert_eq!(value(quoted("5"), &["integer", "string"]), Some(json!("5")));
        assert_eq!(value(plain(""), &["string"]), None);
        assert_eq!(value(quoted(""), &["string"]), Some(json!("")));
    }

    #[test]
    fn without_a_type_only_undoubtful_digits_are_numbers() {
        for (text, expected) in [
            ("5", json!(5)),
            ("0.5", json!(0.5)),
            ("1.10", json!("1.10")),
            ("007", json!("007")),
            ("no", json!("no")),
            ("true", json!(true)),
            ("12345678901E5", json!("12345678901E5")),
            ("", json!(null)),
        ] {
            assert_eq!(read(&plain(text), None).map(|fit| fit.value), Some(expected));
        }
    }

    #[test]
    fn allowed_values_match_only_when_unambiguous() {
        let allowed = [&json!("in-progress"), &json!("done"), &json!("Done!"), &json!(2), &json!(null)];
        let value = |written: RawScalar| choose(&written, &allowed).map(|fit| fit.value);
        assert_eq!(value(plain("done")), Some(json!("done")));
        assert_eq!(value(plain("In Progress")), Some(json!("in-progress")));
        assert_eq!(value(plain("**in_progress**.")), Some(json!("in-progress")));
        assert_eq!(value(plain("DONE")), None, "`done` and `Done!` are both near");
        assert_eq!(value(plain("2")), Some(json!(2)));
        assert_eq!(value(plain("~")), Some(json!(null)));
        assert_eq!(value(plain("other")), None);
    }
}
