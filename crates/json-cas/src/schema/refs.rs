//! References in a payload.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::CAS_REF;
use super::applicators::{branches, dependent, for_item, for_key, single};
use super::document::{Document, Place};
use super::key_order::required_first;
use crate::hash::Hash;

/// A schema read for its references, which needs no validator.
#[derive(Debug)]
pub(crate) struct References {
    value: Arc<Value>,
    /// Whether anything in it can be a reference; most schemas have none.
    any: bool,
}

impl References {
    pub(crate) fn new(mut value: Value) -> References {
        required_first(&mut value);
        let any = mentions_cas_ref(&value);
        References { value: Arc::new(value), any }
    }

    pub(crate) fn value(&self) -> &Arc<Value> {
        &self.value
    }

    /// The references in a payload, in order of appearance, each once.
    pub(crate) fn of(&self, payload: &Value) -> Vec<Hash> {
        if !self.any {
            return Vec::new();
        }
        let document = Document::new(&self.value);
        let mut search = Search { document: &document, found: Vec::new(), seen: HashSet::new() };
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

struct Search<'d, 's> {
    document: &'d Document<'s>,
    found: Vec<Hash>,
    seen: HashSet<Hash>,
}

impl<'s> Search<'_, 's> {
    /// Looks through a value to which any of `places` can apply. Each value is visited once and,
    /// for it, each subschema once, so a schema that multiplies itself costs nothing more.
    fn value(&mut self, value: &Value, places: Vec<Place<'s>>) {
        if places.is_empty() {
            return;
        }
        match value {
            Value::String(text) => self.text(text, &self.applying(places)),
            Value::Array(items) => {
                let applying = self.applying(places);
                for (index, item) in items.iter().enumerate() {
                    let below = applying
                        .iter()
                        .flat_map(|place| {
                            let contains = single(*place, "contains");
                            let rules = for_item(*place, index).into_iter();
                            rules.map(|(_, place)| place).chain(contains)
                        })
                        .collect();
                    self.value(item, below);
                }
            }
            Value::Object(map) => {
                let applying = self.applying(places);
                for (key, item) in map {
                    let below = applying
                        .iter()
                        .flat_map(|place| for_key(self.document, *place, key))
                        .map(|(_, place)| place)
                        .collect();
                    self.value(item, below);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str, applying: &[Place<'s>]) {
        let is_ref = |place: &Place<'s>| place.keyword("format").and_then(Value::as_str) == Some(CAS_REF);
        if !applying.iter().any(is_ref) {
            return;
        }
        if let Ok(hash) = text.parse()
            && self.seen.insert(hash)
        {
            self.found.push(hash);
        }
    }

    /// `places` and everything that applies in place along with them.
    fn applying(&self, places: Vec<Place<'s>>) -> Vec<Place<'s>> {
        let mut seen = HashSet::new();
        let mut all: Vec<Place<'s>> = Vec::new();
        let mut waiting = places;
        while let Some(place) = waiting.pop() {
            if !seen.insert(place.id()) {
                continue;
            }
            all.push(place);
            waiting.extend(self.document.targets(place).iter());
            for keyword in ["allOf", "anyOf", "oneOf"] {
                waiting.extend(branches(place, keyword));
            }
            for keyword in ["if", "then", "else"] {
                waiting.extend(single(place, keyword));
            }
            waiting.extend(dependent(place).into_iter().map(|(_, place)| place));
        }
        all
    }
}
