//! What of a value some subschema has looked at, which the `unevaluated…` keywords ask.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::applicators::{branches, dependent, for_item, for_key, single};
use super::document::Place;
use super::evaluate::Evaluator;

/// Keys and items that some subschema has looked at.
#[derive(Default)]
pub(super) struct Seen {
    keys: HashSet<String>,
    items: HashSet<usize>,
}

impl Seen {
    pub(super) fn key(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    pub(super) fn item(&self, index: usize) -> bool {
        self.items.contains(&index)
    }
}

impl<'s> Evaluator<'_, 's> {
    /// What of a value the subschemas beside an `unevaluated…` keyword have looked at.
    pub(super) fn seen_in_place(&mut self, place: Place<'s>, value: &Value, path: &str) -> Seen {
        let mut seen = Seen::default();
        let mut looked_at = HashSet::from([place.id()]);
        let mut waiting = self.beside(place, value, path);
        self.own(place, value, path, &mut seen, false);
        while let Some(next) = waiting.pop() {
            if looked_at.insert(next.id()) && self.fits(next, value, path) {
                self.own(next, value, path, &mut seen, true);
                waiting.extend(self.beside(next, value, path));
            }
        }
        seen
    }

    /// Subschemas that apply to the same value, whether or not it fits them.
    fn beside(&mut self, place: Place<'s>, value: &Value, path: &str) -> Vec<Place<'s>> {
        let mut beside = self.document.targets(place).to_vec();
        for keyword in ["allOf", "anyOf", "oneOf"] {
            beside.extend(branches(place, keyword));
        }
        if let Some(condition) = single(place, "if") {
            let holds = self.fits(condition, value, path);
            beside.push(condition);
            beside.extend(single(place, if holds { "then" } else { "else" }));
        }
        for (key, schema) in dependent(place) {
            if value.get(key).is_some() {
                beside.push(schema);
            }
        }
        beside
    }

    /// What one subschema looks at; its own `unevaluated…` counts only when it is not the one
    /// that asks.
    fn own(&mut self, place: Place<'s>, value: &Value, path: &str, seen: &mut Seen, unevaluated_too: bool) {
        self.spend(value.as_object().map_or(0, Map::len) + value.as_array().map_or(0, Vec::len));
        let counts = |keyword: &str| unevaluated_too || !keyword.starts_with("unevaluated");
        for key in value.as_object().into_iter().flat_map(Map::keys) {
            if for_key(self.document, place, key).iter().any(|(keyword, _)| counts(keyword)) {
                seen.keys.insert(key.clone());
            }
        }
        let wanted = single(place, "contains");
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            let ruled = for_item(place, index).iter().any(|(keyword, _)| counts(keyword));
            let contained = wanted.is_some_and(|wanted| self.fits(wanted, item, &format!("{path}/{index}")));
            if ruled || contained {
                seen.items.insert(index);
            }
        }
    }
}
