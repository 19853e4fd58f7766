//! The keywords of JSON Schema, and which of them contain subschemas.

use serde_json::Value;

use crate::pointer;

/// The kind of value that a keyword holds.
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
pub(super) enum KeywordValueKind {
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
const KEYWORDS: &[(&str, KeywordValueKind)] = &[
    ("$anchor", KeywordValueKind::Data),
    ("$comment", KeywordValueKind::Data),
    ("$defs", KeywordValueKind::Named),
    ("$dynamicAnchor", KeywordValueKind::Data),
    ("$dynamicRef", KeywordValueKind::Data),
    ("$id", KeywordValueKind::Data),
    ("$recursiveAnchor", KeywordValueKind::Data),
    ("$recursiveRef", KeywordValueKind::Data),
    ("$ref", KeywordValueKind::Data),
    ("$schema", KeywordValueKind::Data),
    ("$vocabulary", KeywordValueKind::Data),
    ("additionalItems", KeywordValueKind::Schema),
    ("additionalProperties", KeywordValueKind::Schema),
    ("allOf", KeywordValueKind::Schemas),
    ("anyOf", KeywordValueKind::Schemas),
    ("const", KeywordValueKind::Data),
    ("contains", KeywordValueKind::Schema),
    ("contentEncoding", KeywordValueKind::Data),
    ("contentMediaType", KeywordValueKind::Data),
    ("contentSchema", KeywordValueKind::Schema),
    ("default", KeywordValueKind::Data),
    ("definitions", KeywordValueKind::Named),
    ("dependencies", KeywordValueKind::Dependencies),
    ("dependentRequired", KeywordValueKind::Data),
    ("dependentSchemas", KeywordValueKind::Named),
    ("deprecated", KeywordValueKind::Data),
    ("description", KeywordValueKind::Data),
    ("else", KeywordValueKind::Schema),
    ("enum", KeywordValueKind::Data),
    ("examples", KeywordValueKind::Data),
    ("exclusiveMaximum", KeywordValueKind::Data),
    ("exclusiveMinimum", KeywordValueKind::Data),
    ("format", KeywordValueKind::Data),
    ("if", KeywordValueKind::Schema),
    ("items", KeywordValueKind::SchemaOrSchemas),
    ("maxContains", KeywordValueKind::Data),
    ("maxItems", KeywordValueKind::Data),
    ("maxLength", KeywordValueKind::Data),
    ("maxProperties", KeywordValueKind::Data),
    ("maximum", KeywordValueKind::Data),
    ("minContains", KeywordValueKind::Data),
    ("minItems", KeywordValueKind::Data),
    ("minLength", KeywordValueKind::Data),
    ("minProperties", KeywordValueKind::Data),
    ("minimum", KeywordValueKind::Data),
    ("multipleOf", KeywordValueKind::Data),
    ("not", KeywordValueKind::Schema),
    ("oneOf", KeywordValueKind::Schemas),
    ("pattern", KeywordValueKind::Data),
    ("patternProperties", KeywordValueKind::Named),
    ("prefixItems", KeywordValueKind::Schemas),
    ("properties", KeywordValueKind::Named),
    ("propertyNames", KeywordValueKind::Schema),
    ("readOnly", KeywordValueKind::Data),
    ("required", KeywordValueKind::Data),
    ("then", KeywordValueKind::Schema),
    ("title", KeywordValueKind::Data),
    ("type", KeywordValueKind::Data),
    ("unevaluatedItems", KeywordValueKind::Schema),
    ("unevaluatedProperties", KeywordValueKind::Schema),
    ("uniqueItems", KeywordValueKind::Data),
    ("writeOnly", KeywordValueKind::Data),
];

/// The kind of value that a keyword holds; `None` if the word is not a keyword.
pub(super) fn holds(keyword: &str) -> Option<KeywordValueKind> {
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
        (Some(KeywordValueKind::Schema | KeywordValueKind::SchemaOrSchemas), Value::Object(_) | Value::Bool(_)) => {
            vec![(path.to_owned(), value)]
        }
        (Some(KeywordValueKind::Schemas | KeywordValueKind::SchemaOrSchemas), Value::Array(items)) => {
            items.iter().enumerate().map(|(index, item)| (format!("{path}/{index}"), item)).collect()
        }
        (Some(KeywordValueKind::Named | KeywordValueKind::Dependencies), Value::Object(map)) => {
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
        assert_eq!(holds("allOf"), Some(KeywordValueKind::Schemas));
        assert_eq!(holds("allof"), None);
    }
}
