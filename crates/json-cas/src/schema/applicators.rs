//! Finds the subschemas that apply to a part of a value.

use serde_json::Value;

use super::document::{SchemaDocument, ScopedSubschema};

/// A subschema for one item or key, and the keyword that contains it.
pub(super) type Rule<'s> = (&'static str, ScopedSubschema<'s>);

/// The subschemas that apply to the item at `index` of an array, except `contains`.
pub(super) fn for_item(subschema: ScopedSubschema<'_>, index: usize) -> Vec<Rule<'_>> {
    // In drafts before 2020-12, the list was `items` itself, and the rest `additionalItems`.
    for (tuple, rest) in [("prefixItems", "items"), ("items", "additionalItems")] {
        let Some(items) = subschema.keyword(tuple).and_then(Value::as_array) else {
            continue;
        };
        return match items.get(index) {
            Some(schema) => rules(subschema, vec![(tuple, schema)]),
            None => rules(subschema, present(subschema, &[rest, "unevaluatedItems"])),
        };
    }
    rules(subschema, present(subschema, &["items", "unevaluatedItems"]))
}

/// The subschemas that apply to the value of `key`.
pub(super) fn for_key<'s>(document: &SchemaDocument<'s>, subschema: ScopedSubschema<'s>, key: &str) -> Vec<Rule<'s>> {
    let mut found = Vec::new();
    let named = |keyword: &str| subschema.keyword(keyword).and_then(Value::as_object);
    if let Some(schema) = named("properties").and_then(|named| named.get(key)) {
        found.push(("properties", schema));
    }
    for (pattern, schema) in named("patternProperties").into_iter().flatten() {
        if document.key_matches(pattern, key) {
            found.push(("patternProperties", schema));
        }
    }
    if found.is_empty() {
        found = present(subschema, &["additionalProperties", "unevaluatedProperties"]);
    }
    rules(subschema, found)
}

fn present<'s>(subschema: ScopedSubschema<'s>, keywords: &[&'static str]) -> Vec<(&'static str, &'s Value)> {
    keywords.iter().filter_map(|keyword| Some((*keyword, subschema.keyword(keyword)?))).collect()
}

fn rules<'s>(subschema: ScopedSubschema<'s>, found: Vec<(&'static str, &'s Value)>) -> Vec<Rule<'s>> {
    found
        .into_iter()
        .filter(|(_, schema)| schema.is_object() || schema.is_boolean())
        .map(|(keyword, schema)| (keyword, subschema.enter(schema)))
        .collect()
}

/// The schemas in a keyword that holds a list.
pub(super) fn branches<'s>(subschema: ScopedSubschema<'s>, keyword: &str) -> Vec<ScopedSubschema<'s>> {
    subschema
        .keyword(keyword)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|schema| subschema.enter(schema))
        .collect()
}

/// The schema in a keyword that holds a single one.
pub(super) fn single<'s>(subschema: ScopedSubschema<'s>, keyword: &str) -> Option<ScopedSubschema<'s>> {
    subschema.keyword(keyword).map(|schema| subschema.enter(schema))
}

/// Schemas that apply if a key exists, each with its key.
pub(super) fn dependent(subschema: ScopedSubschema<'_>) -> Vec<(&str, ScopedSubschema<'_>)> {
    ["dependentSchemas", "dependencies"]
        .into_iter()
        .filter_map(|keyword| subschema.keyword(keyword)?.as_object())
        .flatten()
        .filter(|(_, schema)| schema.is_object() || schema.is_boolean())
        .map(|(key, schema)| (key.as_str(), subschema.enter(schema)))
        .collect()
}
