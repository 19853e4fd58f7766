//! References in a payload.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::CAS_REF;
use super::applicators::{branches, dependent, for_item, for_key, single};
use super::document::{SchemaDocument, ScopedSubschema};
use super::key_order::required_first;
use crate::hash::NodeHash;

/// A schema prepared for finding references, without a validator.
#[derive(Debug)]
pub(crate) struct ReferenceFinder {
    value: Arc<Value>,
    /// Whether it can match any reference; most schemas have none.
    any: bool,
}

impl ReferenceFinder {
    pub(crate) fn new(mut value: Value) -> ReferenceFinder {
        required_first(&mut value);
        let any = mentions_cas_ref(&value);
        ReferenceFinder { value: Arc::new(value), any }
    }

    pub(crate) fn value(&self) -> &Arc<Value> {
        &self.value
    }

    /// The references in a payload, in order of appearance, each once.
    pub(crate) fn find_in(&self, payload: &Value) -> Vec<NodeHash> {
        if !self.any {
            return Vec::new();
        }
        let document = SchemaDocument::new(&self.value);
        let mut search = ReferenceSearch { document: &document, found: Vec::new(), seen: HashSet::new() };
        search.value(payload, vec![document.root()]);
        search.found
    }
}

fn mentions_cas_ref(value: &Value) -> bool {
    match value {
        Value::String(text) => text == CAS_REF,
        Value::Array(items) => items.iter().any(mentions_cas_ref),
        Value::Object(map) => map.values().any(mentions_cas_ref),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

struct ReferenceSearch<'d, 's> {
    document: &'d SchemaDocument<'s>,
    found: Vec<NodeHash>,
    seen: HashSet<NodeHash>,
}

impl<'s> ReferenceSearch<'_, 's> {
    /// Searches a value to which any of `subschemas` may apply. Visits each value once and, for each value, each subschema once, so a
    /// self-multiplying schema costs nothing extra.
    fn value(&mut self, value: &Value, subschemas: Vec<ScopedSubschema<'s>>) {
        if subschemas.is_empty() {
            return;
        }
        match value {
            Value::String(text) => self.text(text, &self.applying(subschemas)),
            Value::Array(items) => {
                let applying = self.applying(subschemas);
                for (index, item) in items.iter().enumerate() {
                    let below = applying
                        .iter()
                        .flat_map(|subschema| {
                            let contains = single(*subschema, "contains");
                            let rules = for_item(*subschema, index).into_iter();
                            rules.map(|(_, subschema)| subschema).chain(contains)
                        })
                        .collect();
                    self.value(item, below);
                }
            }
            Value::Object(map) => {
                let applying = self.applying(subschemas);
                for (key, item) in map {
                    let below = applying
                        .iter()
                        .flat_map(|subschema| for_key(self.document, *subschema, key))
                        .map(|(_, subschema)| subschema)
                        .collect();
                    self.value(item, below);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str, applying: &[ScopedSubschema<'s>]) {
        let is_ref =
            |subschema: &ScopedSubschema<'s>| subschema.keyword("format").and_then(Value::as_str) == Some(CAS_REF);
        if !applying.iter().any(is_ref) {
            return;
        }
        if let Ok(hash) = text.parse()
            && self.seen.insert(hash)
        {
            self.found.push(hash);
        }
    }

    /// `subschemas` and all others that apply to the same value with them.
    fn applying(&self, subschemas: Vec<ScopedSubschema<'s>>) -> Vec<ScopedSubschema<'s>> {
        let mut seen = HashSet::new();
        let mut all: Vec<ScopedSubschema<'s>> = Vec::new();
        let mut waiting = subschemas;
        while let Some(subschema) = waiting.pop() {
            if !seen.insert(subschema.id()) {
                continue;
            }
            all.push(subschema);
            waiting.extend(self.document.targets(subschema).iter());
            for keyword in ["allOf", "anyOf", "oneOf"] {
                waiting.extend(branches(subschema, keyword));
            }
            for keyword in ["if", "then", "else"] {
                waiting.extend(single(subschema, keyword));
            }
            waiting.extend(dependent(subschema).into_iter().map(|(_, subschema)| subschema));
        }
        all
    }
}
