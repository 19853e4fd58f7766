//! References in a payload.

use std::collections::HashSet;
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::CAS_REF;
use super::document::{Document, Place};
use super::options;
use crate::hash::Hash;

/// Keywords whose subschemas apply to the same value.
const IN_PLACE: [&str; 6] = ["allOf", "anyOf", "oneOf", "if", "then", "else"];

/// A schema read for its references, which needs no validator.
#[derive(Debug)]
pub(crate) struct References {
    value: Arc<Value>,
    /// Whether anything in it can be a reference; most role schemas have none.
    any: bool,
}

impl References {
    pub(crate) fn new(value: Arc<Value>) -> References {
        let any = mentions_cas_ref(&value);
        References { value, any }
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
        let mut search = Search {
            document: &document,
            found: Vec::new(),
            seen: HashSet::new(),
        };
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
                        .flat_map(|place| for_item(*place, index))
                        .collect();
                    self.value(item, below);
                }
            }
            Value::Object(map) => {
                let applying = self.applying(places);
                for (key, item) in map {
                    let below = applying
                        .iter()
                        .flat_map(|place| for_key(*place, key))
                        .collect();
                    self.value(item, below);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str, applying: &[Place<'s>]) {
        let is_ref = |place: &Place<'s>| {
            place.keyword("format").and_then(Value::as_str) == Some(CAS_REF)
        };
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
            waiting.extend(self.document.targets(place));
            for keyword in IN_PLACE {
                match place.keyword(keyword) {
                    Some(Value::Array(branches)) => {
                        waiting.extend(branches.iter().map(|branch| place.enter(branch)));
                    }
                    Some(branch) => waiting.push(place.enter(branch)),
                    None => {}
                }
            }
            for keyword in ["dependentSchemas", "dependencies"] {
                let dependent = place.keyword(keyword).and_then(Value::as_object);
                waiting.extend(dependent.into_iter().flat_map(Map::values).map(|schema| place.enter(schema)));
            }
        }
        all
    }
}

/// What a subschema says of an item of an array.
fn for_item<'s>(place: Place<'s>, index: usize) -> Vec<Place<'s>> {
    let mut below = Vec::new();
    let tuple = ["prefixItems", "items"]
        .into_iter()
        .find_map(|keyword| place.keyword(keyword).and_then(Value::as_array));
    match tuple.and_then(|tuple| tuple.get(index)) {
        Some(schema) => below.push(schema),
        None => {
            let rest = ["items", "additionalItems"];
            below.extend(rest.iter().filter_map(|keyword| place.keyword(keyword)));
        }
    }
    below.extend(place.keyword("contains"));
    below.extend(place.keyword("unevaluatedItems"));
    entered(place, below)
}

/// What a subschema says of the value of a key.
fn for_key<'s>(place: Place<'s>, key: &str) -> Vec<Place<'s>> {
    let mut below: Vec<&Value> = Vec::new();
    let map = |keyword: &str| place.keyword(keyword).and_then(Value::as_object);
    below.extend(map("properties").and_then(|named| named.get(key)));
    for (pattern, schema) in map("patternProperties").into_iter().flatten() {
        if matches(pattern, key) {
            below.push(schema);
        }
    }
    if below.is_empty() {
        below.extend(place.keyword("additionalProperties"));
    }
    below.extend(place.keyword("unevaluatedProperties"));
    entered(place, below)
}

fn entered<'s>(place: Place<'s>, below: Vec<&'s Value>) -> Vec<Place<'s>> {
    below
        .into_iter()
        .filter(|schema| schema.is_object())
        .map(|schema| place.enter(schema))
        .collect()
}

/// Whether a pattern matches a key, by the same engine that validates. A pattern it cannot
/// compile is taken to match: a reference too many is better than one lost.
fn matches(pattern: &str, key: &str) -> bool {
    pattern_validator(pattern).is_none_or(|validator| validator.is_valid(&Value::from(key)))
}

/// The validator of a single pattern; `None` when the pattern is not one.
pub(super) fn pattern_validator(pattern: &str) -> Option<Validator> {
    options()
        .build(&serde_json::json!({ "pattern": pattern }))
        .ok()
}
