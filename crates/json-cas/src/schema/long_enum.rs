//! Looks a value up in a long `enum` without comparing it with each entry, because an answer may have as many values as the enum.

use std::collections::HashSet;

use serde_json::Value;

use super::document::ScopedSubschema;
use crate::cbor;

/// Number of `enum` values, or alternatives, up to which the validator may compare them with each value one by one.
pub(super) const MAX_PLAIN_LIST: usize = 256;

/// The values of an `enum` that is too long to be compared one by one.
pub(super) fn long_enum(subschema: ScopedSubschema<'_>) -> Option<&[Value]> {
    let options = subschema.keyword("enum")?.as_array()?;
    (options.len() > MAX_PLAIN_LIST).then_some(options)
}

/// Values by their stored bytes. Equal values (`1` and `1.0`, keys in another order) have the same bytes.
pub(super) struct AllowedValues(HashSet<Vec<u8>>);

impl AllowedValues {
    pub(super) fn from_options(options: &[Value]) -> AllowedValues {
        // A value that can't be stored can't occur in a payload either.
        AllowedValues(options.iter().filter_map(|option| cbor::encode(option).ok()).collect())
    }

    pub(super) fn has(&self, value: &Value) -> bool {
        cbor::encode(value).is_ok_and(|bytes| self.0.contains(&bytes))
    }
}
