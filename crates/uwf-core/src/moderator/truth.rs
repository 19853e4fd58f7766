//! Decides which results of a condition count as true.

use serde_json::Value;

/// Whether a condition's result matches, by the rules of JSONata's `$boolean`: nothing, `null`, `false`, `0`, `""`, `[]` and `{}` are
/// false; an array is true if any member is. `None` is a missing value.
///
/// Functions and regular expressions are also false; they arrive here as `""`.
#[must_use]
pub fn truth(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Bool(value)) => *value,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => items.iter().any(|item| truth(Some(item))),
        Some(Value::Object(fields)) => !fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_missing_value_and_empty_things_are_false() {
        assert!(!truth(None));
        for value in [
            json!(null),
            json!(false),
            json!(0),
            json!(-0.0),
            json!(""),
            json!([]),
            json!({}),
            json!([0, "", null, [], [[]], {}]),
        ] {
            assert!(!truth(Some(&value)), "{value} counts as true");
        }
    }

    #[test]
    fn anything_else_is_true() {
        for value in [
            json!(true),
            json!(-1),
            json!(0.1),
            json!("false"),
            json!("0"),
            json!({"a": false}),
            json!([0, 1]),
            json!([[0, [false, "x"]]]),
            json!([{"a": null}]),
        ] {
            assert!(truth(Some(&value)), "{value} counts as false");
        }
    }
}
