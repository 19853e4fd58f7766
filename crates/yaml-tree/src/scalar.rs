//! The meaning of plain scalars.

use serde_json::Number;

#[derive(Debug, PartialEq)]
pub(crate) enum PlainScalar {
    Null,
    Bool(bool),
    Number(Number),
    /// A number that JSON or a double can't hold.
    Unstorable,
    Text,
}

/// Whether a plain scalar with this text is a text.
pub(crate) fn is_plain_text(text: &str) -> bool {
    scalar(text) == PlainScalar::Text
}

/// The meaning of a plain scalar in the core schema of YAML 1.2 (§10.3.2): `no`, `on` and `yes` are texts. One exception: a number with
/// leading zeros is a text, because people write hashes, ids and versions that way.
pub(crate) fn scalar(text: &str) -> PlainScalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return PlainScalar::Null,
        "true" | "True" | "TRUE" => return PlainScalar::Bool(true),
        "false" | "False" | "FALSE" => return PlainScalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return PlainScalar::Unstorable,
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return PlainScalar::Unstorable;
    }
    if let Some((digits, radix)) = text.strip_prefix("0x").map(|d| (d, 16)).or(text.strip_prefix("0o").map(|d| (d, 8)))
        && let Ok(value) = u64::from_str_radix(digits, radix)
        && !digits.starts_with('+')
    {
        return PlainScalar::Number(value.into());
    }
    if !is_decimal(unsigned) {
        return PlainScalar::Text;
    }
    let positive = text.strip_prefix('+').unwrap_or(text);
    if let Ok(value) = positive.parse::<u64>() {
        return PlainScalar::Number(value.into());
    }
    if let Ok(value) = positive.parse::<i64>() {
        return PlainScalar::Number(value.into());
    }
    let float = positive.parse::<f64>().ok().filter(|float| keeps_digits(positive, *float));
    match float.and_then(Number::from_f64) {
        Some(value) => PlainScalar::Number(value),
        None => PlainScalar::Unstorable,
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

/// Whether `float` is the number that these digits write. The digits of a fraction may be rounded.
#[must_use]
pub fn keeps_digits(digits: &str, float: f64) -> bool {
    #[expect(clippy::cast_possible_truncation, reason = "the loss is what is looked for")]
    match digits.parse::<i128>() {
        Ok(whole) => float as i128 == whole,
        Err(_) => float.fract() != 0.0 || significant(digits) == significant(&format!("{float:e}")),
    }
}

/// The digits of a number without its sign, point, exponent and outer zeros.
fn significant(number: &str) -> String {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn plain(text: &str) -> Value {
        match scalar(text) {
            PlainScalar::Null => Value::Null,
            PlainScalar::Bool(value) => Value::Bool(value),
            PlainScalar::Number(value) => Value::Number(value),
            PlainScalar::Text => Value::String(text.to_owned()),
            PlainScalar::Unstorable => panic!("{text} is finite"),
        }
    }

    #[test]
    fn only_yaml12_words_are_booleans_and_null() {
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
    fn text_that_resembles_a_number_stays_text() {
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
    fn numbers_that_json_lacks_are_recognised() {
        for text in [".inf", "-.inf", ".NaN", "1e999"] {
            assert_eq!(scalar(text), PlainScalar::Unstorable, "{text}");
        }
    }
}
