//! Numbers from other programs: their valid range, and their form in nodes.
//!
//! A node holds whole numbers up to [`MAX_WHOLE`] as such. A larger one becomes a floating-point number, which is neither exact nor read as
//! a count. So numbers are checked twice: on receipt, and when they are written to or read from a node, because agents also store nodes
//! themselves.

use json_cas::{SchemaViolation, pointer};
use serde_json::{Number, Value};

/// The largest whole number that nodes and JSON readers hold exactly: 2^53−1.
pub const MAX_WHOLE: u64 = (1 << 53) - 1;

/// The largest valid amount of money, in any currency.
pub const MAX_MONEY: f64 = 1e12;

/// Returns a violation for each whole number that a node would round: beyond 2^53, it is written as a double.
#[must_use]
pub fn unstorable_numbers(value: &Value) -> Vec<SchemaViolation> {
    let mut found = Vec::new();
    add_unstorable(value, "", &mut found);
    found
}

fn add_unstorable(value: &Value, place: &str, found: &mut Vec<SchemaViolation>) {
    match value {
        Value::Number(number) if !is_double(number) => found.push(SchemaViolation {
            path: place.to_owned(),
            keyword: "type".to_owned(),
            message: format!("the whole number {number} can't be kept exactly; give a smaller one, or a text"),
        }),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                add_unstorable(item, &pointer::join(place, &index.to_string()), found);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                add_unstorable(field, &pointer::join(place, key), found);
            }
        }
        _ => {}
    }
}

/// Whether a number is the same as a double.
fn is_double(number: &Number) -> bool {
    number.as_f64().is_some_and(|float| yaml_tree::keeps_digits(&number.to_string(), float))
}

/// A reported count of tokens or milliseconds; `None` if it is out of range. A fraction is dropped.
#[must_use]
pub fn count(value: &Value) -> Option<u64> {
    let number =
        without_fraction(value.as_number().filter(|number| number.as_f64().is_some_and(|number| number >= 0.0))?);
    u64::try_from(number).ok().filter(|number| *number <= MAX_WHOLE)
}

/// A reported amount of money; `None` if it is out of range.
#[must_use]
pub fn money(value: &Value) -> Option<f64> {
    value.as_f64().filter(|amount| is_money(*amount))
}

/// Whether an amount of money is valid: neither negative nor above [`MAX_MONEY`].
#[must_use]
pub fn is_money(amount: f64) -> bool {
    (0.0..=MAX_MONEY).contains(&amount)
}

/// Whether a count is 0, for fields that are left out then.
#[must_use]
pub fn is_zero<N: Default + PartialEq>(count: &N) -> bool {
    *count == N::default()
}

/// The sum of two counts, at most [`MAX_WHOLE`].
#[must_use]
pub fn sum(one: u64, other: u64) -> u64 {
    one.saturating_add(other).min(MAX_WHOLE)
}

/// A whole number in a payload.
pub(crate) trait WholeNumber: Copy + Into<i128> + TryFrom<i128> {
    const LEAST: i128;
    const MOST: i128;

    /// The nearest number of this type.
    fn nearest(number: i128) -> Self {
        let Ok(nearest) = Self::try_from(number.clamp(Self::LEAST, Self::MOST)) else {
            unreachable!("the type contains the range")
        };
        nearest
    }
}

impl WholeNumber for u64 {
    const LEAST: i128 = 0;
    const MOST: i128 = MAX_WHOLE as i128;
}

impl WholeNumber for u32 {
    const LEAST: i128 = 0;
    const MOST: i128 = u32::MAX as i128;
}

impl WholeNumber for i32 {
    const LEAST: i128 = i32::MIN as i128;
    const MOST: i128 = i32::MAX as i128;
}

/// A number without its fraction, clamped to the range of the type.
fn without_fraction(number: &Number) -> i128 {
    let whole = number.as_u64().map(i128::from).or_else(|| number.as_i64().map(i128::from));
    whole.unwrap_or_else(|| number.as_f64().unwrap_or_default() as i128)
}

/// Serialises a whole number in a payload as the nearest one in its range.
pub(crate) mod nearest {
    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::Number;

    use super::{WholeNumber, without_fraction};

    pub(crate) fn serialize<T: WholeNumber, S: Serializer>(number: &T, serializer: S) -> Result<S::Ok, S::Error> {
        let number: i128 = T::nearest((*number).into()).into();
        // All of them fit into an `i64`.
        serializer.serialize_i64(number as i64)
    }

    pub(crate) fn deserialize<'de, T: WholeNumber, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        Number::deserialize(deserializer).map(|number| T::nearest(without_fraction(&number)))
    }
}

/// As `nearest`, for an optional number.
pub(crate) mod nearest_if_any {
    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::Number;

    use super::{WholeNumber, nearest, without_fraction};

    pub(crate) fn serialize<T: WholeNumber, S: Serializer>(
        number: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match number {
            Some(number) => nearest::serialize(number, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, T: WholeNumber, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        let number = Option::<Number>::deserialize(deserializer)?;
        Ok(number.map(|number| T::nearest(without_fraction(&number))))
    }
}

/// Serialises a count that may be unknown. A count out of range is unknown.
pub(crate) mod known {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    use super::{MAX_WHOLE, count};

    pub(crate) fn is_unknown(number: &Option<u64>) -> bool {
        number.is_none_or(|number| number > MAX_WHOLE)
    }

    pub(crate) fn serialize<S: Serializer>(number: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        number.filter(|number| *number <= MAX_WHOLE).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        Ok(Option::<Value>::deserialize(deserializer)?.as_ref().and_then(count))
    }
}

/// As `known`, for an amount of money.
pub(crate) mod known_money {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    use super::{is_money, money};

    pub(crate) fn is_unknown(amount: &Option<f64>) -> bool {
        amount.is_none_or(|amount| !is_money(amount))
    }

    pub(crate) fn serialize<S: Serializer>(amount: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        amount.filter(|amount| is_money(*amount)).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Ok(Option::<Value>::deserialize(deserializer)?.as_ref().and_then(money))
    }
}
