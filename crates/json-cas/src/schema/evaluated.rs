//! Collects the keys and items that some subschema has evaluated: `unevaluated…` applies to the rest.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::applicators::{branches, dependent, for_item, for_key, single};
use super::document::ScopedSubschema;
use super::evaluate::SchemaEvaluator;

/// Keys and items that some subschema has evaluated.
#[derive(Default)]
pub(super) struct EvaluatedParts {
    pub(super) keys: HashSet<String>,
    pub(super) items: HashSet<usize>,
}

impl<'s> SchemaEvaluator<'_, 's> {
    /// The keys and items evaluated by the subschemas beside an `unevaluated…` keyword.
    pub(super) fn evaluated_in_place(
        &mut self,
        subschema: ScopedSubschema<'s>,
        value: &Value,
        path: &str,
    ) -> EvaluatedParts {
        let mut evaluated = EvaluatedParts::default();
        let mut visited = HashSet::from([subschema.id()]);
        let mut waiting = self.beside(subschema, value, path);
        self.own(subschema, value, path, &mut evaluated, false);
        while let Some(next) = waiting.pop() {
            if visited.insert(next.id()) && self.fits(next, value, path) {
                self.own(next, value, path, &mut evaluated, true);
                waiting.extend(self.beside(next, value, path));
            }
        }
        evaluated
    }

    /// Subschemas that apply to the same value, whether or not it fits them.
    fn beside(&mut self, subschema: ScopedSubschema<'s>, value: &Value, path: &str) -> Vec<ScopedSubschema<'s>> {
        let mut beside = self.document.targets(subschema).to_vec();
        for keyword in ["allOf", "anyOf", "oneOf"] {
            beside.extend(branches(subschema, keyword));
        }
        if let Some(condition) = single(subschema, "if") {
            let holds = self.fits(condition, value, path);
            beside.push(condition);
            beside.extend(single(subschema, if holds { "then" } else { "else" }));
        }
        for (key, schema) in dependent(subschema) {
            if value.get(key).is_some() {
                beside.push(schema);
            }
        }
        beside
    }

    /// Adds the keys and items that one subschema evaluates. Its own `unevaluated…` counts only if it is not the keyword being evaluated.
    fn own(
        &mut self,
        subschema: ScopedSubschema<'s>,
        value: &Value,
        path: &str,
        evaluated: &mut EvaluatedParts,
        unevaluated_too: bool,
    ) {
        self.spend(value.as_object().map_or(0, Map::len) + value.as_array().map_or(0, Vec::len));
        let counts = |keyword: &str| unevaluated_too || !keyword.starts_with("unevaluated");
        for key in value.as_object().into_iter().flat_map(Map::keys) {
            if for_key(self.document, subschema, key).iter().any(|(keyword, _)| counts(keyword)) {
                evaluated.keys.insert(key.clone());
            }
        }
        let wanted = single(subschema, "contains");
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            let ruled = for_item(subschema, index).iter().any(|(keyword, _)| counts(keyword));
            let contained = wanted.is_some_and(|wanted| self.fits(wanted, item, &format!("{path}/{index}")));
            if ruled || contained {
                evaluated.items.insert(index);
            }
        }
    }
}
