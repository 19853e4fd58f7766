//! The keywords of JSON Schema, and which of them contain subschemas.

use serde_json::Value;

use crate::pointer;

/// The kind of value that a keyword holds.
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
pub(super) enum Holds {
    /// Data without schemas.
    Data,
    /// One schema.
    Schema,
    /// An array of schemas.
    Schemas,
    /// An object whose values are schemas.
    Named,
    /// One schema, or an array of schemas in older drafts.
    SchemaOrSchemas,
    /// An object whose values are schemas or, in older drafts, arrays of keys.
    Dependencies,
}

/// Every keyword of draft 2020-12, and the older keywords that it replaced.
const KEYWORDS: &[(&str, Holds)] = &[
    ("$anchor", Holds::Data),
    ("$comment", Holds::Data),
    ("$defs", Holds::Named),
    ("$dynamicAnchor", Holds::Data),
    ("$dynamicRef", Holds::Data),
    ("$id", Holds::Data),
    ("$recursiveAnchor", Holds::Data),
    ("$recursiveRef", Holds::Data),
    ("$ref", Holds::Data),
    ("$schema", Holds::Data),
    ("$vocabulary", Holds::Data),
    ("additionalItems", Holds::Schema),
    ("additionalProperties", Holds::Schema),
    ("allOf", Holds::Schemas),
    ("anyOf", Holds::Schemas),
    ("const", Holds::Data),
    ("contains", Holds::Schema),
    ("contentEncoding", Holds::Data),
    ("contentMediaType", Holds::Data),
    ("contentSchema", Holds::Schema),
    ("default", Holds::Data),
    ("definitions", Holds::Named),
    ("dependencies", Holds::Dependencies),
    ("dependentRequired", Holds::Data),
    ("dependentSchemas", Holds::Named),
    ("deprecated", Holds::Data),
    ("description", Holds::Data),
    ("else", Holds::Schema),
    ("enum", Holds::Data),
    ("examples", Holds::Data),
    ("exclusiveMaximum", Holds::Data),
    ("exclusiveMinimum", Holds::Data),
    ("format", Holds::Data),
    ("if", Holds::Schema),
    ("items", Holds::SchemaOrSchemas),
    ("maxContains", Holds::Data),
    ("maxItems", Holds::Data),
    ("maxLength", Holds::Data),
    ("maxProperties", Holds::Data),
    ("maximum", Holds::Data),
    ("minContains", Holds::Data),
    ("minItems", Holds::Data),
    ("minLength", Holds::Data),
    ("minProperties", Holds::Data),
    ("minimum", Holds::Data),
    ("multipleOf", Holds::Data),
    ("not", Holds::Schema),
    ("oneOf", Holds::Schemas),
    ("pattern", Holds::Data),
    ("patternProperties", Holds::Named),
    ("prefixItems", Holds::Schemas),
    ("properties", Holds::Named),
    ("propertyNames", Holds::Schema),
    ("readOnly", Holds::Data),
    ("required", Holds::Data),
    ("then", Holds::Schema),
    ("title", Holds::Data),
    ("type", Holds::Data),
    ("unevaluatedItems", Holds::Schema),
    ("unevaluatedProperties", Holds::Schema),
    ("uniqueItems", Holds::Data),
    ("writeOnly", Holds::Data),
];

/// The kind of value that a keyword holds; `None` if the word is not a keyword.
pub(super) fn holds(keyword: &str) -> Option<Holds> {
    KEYWORDS.binary_search_by_key(&keyword, |(name, _)| name).ok().map(|at| KEYWORDS[at].1)
}

/// All keywords.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KEYWORDS.iter().map(|(name, _)| *name)
}

/// The subschemas directly in the value of a keyword, each with its pointer. `path` is the pointer of that value. Values that should be
/// schemas but have another type are skipped.
pub(super) fn subschemas<'s>(keyword: &str, value: &'s Value, path: &str) -> Vec<(String, &'s Value)> {
    let mut found = match (holds(keyword), value) {
        (Some(Holds::Schema | Holds::SchemaOrSchemas), Value::Object(_) | Value::Bool(_)) => {
            vec![(path.to_owned(), value)]
        }
        (Some(Holds::Schemas | Holds::SchemaOrSchemas), Value::Array(items)) => {
            items.iter().enumerate().map(|(index, item)| (format!("{path}/{index}"), item)).collect()
        }
        (Some(Holds::Named | Holds::Dependencies), Value::Object(map)) => {
            map.iter().map(|(key, item)| (pointer::join(path, key), item)).collect()
        }
        (Some(_) | None, _) => Vec::new(),
    };
    found.retain(|(_, schema)| schema.is_object() || schema.is_boolean());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_for_the_search() {
        assert!(KEYWORDS.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(holds("allOf"), Some(Holds::Schemas));
        assert_eq!(holds("allof"), None);
    }
}
