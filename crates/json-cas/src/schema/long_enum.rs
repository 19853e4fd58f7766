//! Looks a value up in a long `enum` without comparing it with each: an answer may have as many values as the enum.

use std::collections::HashSet;

use serde_json::Value;

use super::document::Subschema;
use crate::cbor;

/// Values of an `enum`, or alternatives, that the validator is left to compare one after the other with each value.
pub(super) const MAX_PLAIN_LIST: usize = 256;

/// The values of an `enum` that is too long to be compared one by one.
pub(super) fn long_enum(subschema: Subschema<'_>) -> Option<&[Value]> {
    let options = subschema.keyword("enum")?.as_array()?;
    (options.len() > MAX_PLAIN_LIST).then_some(options)
}

/// Values by the bytes they are stored as: two that mean the same (`1` and `1.0`, keys in another order) have the same.
pub(super) struct AllowedValues(HashSet<Vec<u8>>);

impl AllowedValues {
    pub(super) fn of(options: &[Value]) -> AllowedValues {
        // What cannot be stored is the value of no payload either.
        AllowedValues(options.iter().filter_map(|option| cbor::encode(option).ok()).collect())
    }

    pub(super) fn has(&self, value: &Value) -> bool {
        cbor::encode(value).is_ok_and(|bytes| self.0.contains(&bytes))
    }
}
