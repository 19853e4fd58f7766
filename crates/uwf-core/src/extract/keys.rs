//! The keys of an answer.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::scalar::{normal, normal_key};
use crate::schema_shape::SchemaShape;
use crate::thread::ALWAYS_ALLOWED;

/// The keys of one object, found in any case and with any separators.
#[derive(Debug, Clone)]
pub(super) struct SchemaKeys<'s> {
    listed: BTreeMap<String, &'s str>,
    exact: BTreeSet<&'s str>,
    extras: bool,
}

impl<'s> SchemaKeys<'s> {
    /// The keys that a place lists, including those in its alternatives.
    pub(super) fn of_shape(root: &'s Value, shape: &SchemaShape<'s>) -> SchemaKeys<'s> {
        let keys = shape.keys_of_all(root);
        let listed = keys.iter().map(|key| (normal(key), *key)).collect();
        SchemaKeys { listed, exact: keys.into_iter().collect(), extras: false }
    }

    /// The same keys, and the keys every header may carry.
    pub(super) fn of_header(root: &'s Value, shape: &SchemaShape<'s>) -> SchemaKeys<'s> {
        SchemaKeys { extras: true, ..SchemaKeys::of_shape(root, shape) }
    }

    /// Whether the schema lists no keys.
    pub(super) fn is_empty(&self) -> bool {
        self.exact.is_empty()
    }

    /// The listed keys, sorted.
    pub(super) fn names(&self) -> impl Iterator<Item = &'s str> {
        self.exact.iter().copied()
    }

    /// The listed key that a word means.
    pub(super) fn listed(&self, word: &str) -> Option<&'s str> {
        self.exact.get(word).or_else(|| self.listed.get(&normal_key(word)?)).copied()
    }

    /// Whether a word is listed with exactly this spelling.
    pub(super) fn has(&self, word: &str) -> bool {
        self.exact.contains(word)
    }

    /// Whether a word is a key here.
    pub(super) fn knows(&self, word: &str) -> bool {
        self.listed(word).is_some() || (self.extras && ALWAYS_ALLOWED.contains(&word))
    }

    /// The always-allowed key that a word means, if the schema lists keys but not this one.
    pub(super) fn extra(&self, word: &str) -> Option<&'static str> {
        let extra = ALWAYS_ALLOWED.into_iter().find(|extra| word.eq_ignore_ascii_case(extra))?;
        (!self.is_empty() && self.listed(word).is_none()).then_some(extra)
    }
}
