//! A parsed YAML or JSON file in which every value knows its place.

use serde_json::{Map, Number, Value};

use super::problem::{Position, Problems};

/// A value and where it starts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) data: Data,
}

/// Scalars stay text until somebody knows what they are to be: `0123456789012` is a number to YAML and a
/// hash to a reader of `meta`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    /// `plain` scalars were written without quotes and may stand for null, a boolean or a number.
    Scalar {
        text: String,
        plain: bool,
    },
    Sequence(Vec<Node>),
    Mapping(Vec<Entry>),
}

/// One key of a mapping with its value; keys are unique.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_at: Position,
    pub(crate) value: Node,
}

impl Node {
    /// Whether this is null or nothing at all.
    pub(crate) fn is_null(&self) -> bool {
        match &self.data {
            Data::Scalar { text, plain } => *plain && scalar(text) == Scalar::Null,
            Data::Sequence(_) | Data::Mapping(_) => false,
        }
    }

    /// The text of a scalar that is a text, not a number, boolean or null.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.data {
            Data::Scalar { text, plain } if !plain || scalar(text) == Scalar::Text => Some(text),
            Data::Scalar { .. } | Data::Sequence(_) | Data::Mapping(_) => None,
        }
    }

    /// The text of any scalar as it was written, unless it is null.
    pub(crate) fn as_raw(&self) -> Option<&str> {
        match &self.data {
            Data::Scalar { text, .. } if !self.is_null() => Some(text),
            Data::Scalar { .. } | Data::Sequence(_) | Data::Mapping(_) => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match &self.data {
            Data::Scalar { text, plain: true } => match scalar(text) {
                Scalar::Bool(value) => Some(value),
                Scalar::Null | Scalar::Number(_) | Scalar::NotFinite | Scalar::Text => None,
            },
            Data::Scalar { .. } | Data::Sequence(_) | Data::Mapping(_) => None,
        }
    }

    pub(crate) fn as_number(&self) -> Option<Number> {
        match &self.data {
            Data::Scalar { text, plain: true } => match scalar(text) {
                Scalar::Number(value) => Some(value),
                Scalar::Null | Scalar::Bool(_) | Scalar::NotFinite | Scalar::Text => None,
            },
            Data::Scalar { .. } | Data::Sequence(_) | Data::Mapping(_) => None,
        }
    }

    /// What this is, for messages: `a text`, `a number`, …
    pub(crate) fn kind(&self) -> &'static str {
        match &self.data {
            Data::Scalar { plain: false, .. } => "a text",
            Data::Scalar { text, plain: true } => match scalar(text) {
                Scalar::Null => "null",
                Scalar::Bool(_) => "a boolean",
                Scalar::Number(_) | Scalar::NotFinite => "a number",
                Scalar::Text => "a text",
            },
            Data::Sequence(_) => "a list",
            Data::Mapping(_) => "a mapping",
        }
    }

    /// The value as JSON. Numbers JSON cannot hold (`.inf`, `.nan`) are reported and become null.
    pub(crate) fn to_json(&self, problems: &mut Problems) -> Value {
        match &self.data {
            Data::Scalar { text, plain: false } => Value::String(text.clone()),
            Data::Scalar { text, plain: true } => match scalar(text) {
                Scalar::Null => Value::Null,
                Scalar::Bool(value) => Value::Bool(value),
                Scalar::Number(value) => Value::Number(value),
                Scalar::Text => Value::String(text.clone()),
                Scalar::NotFinite => {
                    let message = format!("`{text}` is not a number JSON can hold");
                    problems.error("not-finite", self.at, message, None);
                    Value::Null
                }
            },
            Data::Sequence(items) => items.iter().map(|item| item.to_json(problems)).collect(),
            Data::Mapping(entries) => {
                let pairs = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json(problems)));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }
}

#[derive(Debug, PartialEq)]
enum Scalar {
    Null,
    Bool(bool),
    Number(Number),
    NotFinite,
    Text,
}

/// Whether a plain scalar of this text is a text.
pub(crate) fn is_plain_text(text: &str) -> bool {
    scalar(text) == Scalar::Text
}

/// What a plain scalar stands for by the core schema of YAML 1.2 (§10.3.2): `no`, `on` and `yes` are texts.
/// One departure: a number with needless leading zeros is a text, because what people write that way are
/// hashes, ids and versions.
fn scalar(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "true" | "True" | "TRUE" => return Scalar::Bool(true),
        "false" | "False" | "FALSE" => return Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Scalar::NotFinite,
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Scalar::NotFinite;
    }
    if let Some((digits, radix)) = text.strip_prefix("0x").map(|d| (d, 16)).or(text.strip_prefix("0o").map(|d| (d, 8)))
        && let Ok(value) = u64::from_str_radix(digits, radix)
        && !digits.starts_with('+')
    {
        return Scalar::Number(value.into());
    }
    if !is_decimal(unsigned) {
        return Scalar::Text;
    }
    let positive = text.strip_prefix('+').unwrap_or(text);
    if let Ok(value) = positive.parse::<u64>() {
        return Scalar::Number(value.into());
    }
    if let Ok(value) = positive.parse::<i64>() {
        return Scalar::Number(value.into());
    }
    match positive.parse::<f64>().ok().and_then(Number::from_f64) {
        Some(value) => Scalar::Number(value),
        None => Scalar::NotFinite,
    }
}

/// `[0-9]+ ( . [0-9]* )? ( e [-+]? [0-9]+ )?` or the same starting with `.`, without leading zeros.
fn is_decimal(text: &str) -> bool {
    let is_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (mantissa, ""),
    };
    let exponent_ok = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && is_digits(digits)
    });
    let zero_led = whole.len() > 1 && whole.starts_with('0');
    exponent_ok && !zero_led && is_digits(whole) && is_digits(fraction) && whole.len() + fraction.len() > 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plain(text: &str) -> Value {
        let mut problems = Problems::new("t.yaml");
        let node = Node { at: Position::FIRST, data: Data::Scalar { text: text.to_owned(), plain: true } };
        let value = node.to_json(&mut problems);
        assert_eq!(problems.finish(), []);
        value
    }

    #[test]
    fn only_the_words_of_yaml_1_2_are_booleans_and_null() {
        for word in ["yes", "no", "on", "off", "Yes", "NO", "y", "n", "nil", "tRue"] {
            assert_eq!(plain(word), json!(word));
        }
        assert_eq!(
            [plain("true"), plain("False"), plain("~"), plain("")],
            [json!(true), json!(false), json!(null), json!(null)]
        );
    }

    #[test]
    fn numbers_come_out_as_numbers() {
        for (text, value) in [
            ("0", json!(0)),
            ("-0", json!(0)),
            ("17", json!(17)),
            ("+17", json!(17)),
            ("-3", json!(-3)),
            ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
            ("18446744073709551616", json!(18_446_744_073_709_551_616_f64)),
            ("0x1F", json!(31)),
            ("0o17", json!(15)),
            ("0.1", json!(0.1)),
            (".5", json!(0.5)),
            ("2.", json!(2.0)),
            ("1e3", json!(1000.0)),
            ("-1.5E-3", json!(-0.0015)),
        ] {
            assert_eq!(plain(text), value, "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_a_number_stays_text() {
        for text in [
            "007",
            "0000000000000",
            "1.2.3",
            "1_000",
            "12e",
            "e5",
            ".",
            "-",
            "+",
            "0x",
            "0xG",
            "0x+1",
            "1 2",
            "--1",
            "2026-11-05",
            "12:30",
        ] {
            assert_eq!(plain(text), json!(text));
        }
    }

    #[test]
    fn infinity_is_refused_where_it_stands() {
        for text in [".inf", "-.inf", ".NaN", "1e999"] {
            let mut problems = Problems::new("t.yaml");
            let at = Position { line: 3, column: 7 };
            let node = Node { at, data: Data::Scalar { text: text.to_owned(), plain: true } };
            assert_eq!(node.to_json(&mut problems), Value::Null);
            let found: Vec<String> = problems.finish().iter().map(ToString::to_string).collect();
            assert_eq!(found, [format!("t.yaml:3:7: error[not-finite]: `{text}` is not a number JSON can hold")]);
        }
    }
}
