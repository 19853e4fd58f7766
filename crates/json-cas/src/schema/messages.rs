//! Messages for the validator's errors.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use super::CAS_REF;
use super::describe::{a_type, brief, found, json, listed, listed_values};
use crate::nearest::nearest;

/// Number of allowed values that are searched for a suggestion.
const MAX_CANDIDATES: usize = 1000;

/// The message for an error, without using the surrounding schema.
pub(super) fn message(error: &ValidationError<'_>) -> String {
    let value = error.instance();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            format!("missing key `{}`", property.as_str().unwrap_or_default())
        }
        ValidationErrorKind::Type { kind } => {
            format!("expected {}, found {}", listed(&wanted_types(kind), "or"), found(value))
        }
        ValidationErrorKind::Enum { options } => options_message(options.as_array().map_or(&[], Vec::as_slice), value),
        ValidationErrorKind::Constant { expected_value } => {
            format!("expected {}, found {}", json(expected_value), json(value))
        }
        ValidationErrorKind::Format { format } if format == CAS_REF => {
            format!("expected the hash of a node (13 symbols, 0-9 and A-Z), found {}", json(value))
        }
        ValidationErrorKind::Format { format } => {
            format!("expected {}, found {}", a_format(format), json(value))
        }
        ValidationErrorKind::Pattern { pattern } => {
            format!("{} does not match the pattern `{}`", json(value), brief(pattern))
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let keys: Vec<String> = unexpected.iter().map(|key| format!("`{key}`")).collect();
            format!("unknown keys {}", listed(&keys, "and"))
        }
        ValidationErrorKind::FalseSchema => "nothing is allowed here".to_owned(),
        kind => bounds(kind, value).unwrap_or_else(|| {
            // The library's message, without a whole payload in it.
            error.masked_with(found(value)).to_string()
        }),
    }
}

/// The types a value may have, each with its article; null comes last.
pub(super) fn wanted_types(kind: &TypeKind) -> Vec<String> {
    let mut names: Vec<String> = match kind {
        TypeKind::Single(single) => vec![a_type(&single.to_string())],
        TypeKind::Multiple(set) => set.iter().map(|one| a_type(&one.to_string())).collect(),
    };
    names.sort_by_key(|name| name == "null");
    names
}

/// The message for a value that is not among the allowed ones.
pub(super) fn options_message(options: &[Value], value: &Value) -> String {
    let found = json(value);
    let candidates: Vec<String> = options.iter().take(MAX_CANDIDATES).map(json).collect();
    let hint = nearest(&found, candidates.iter().map(String::as_str))
        .map(|near| format!("; did you mean {near}?"))
        .unwrap_or_default();
    format!("expected {}, found {found}{hint}", listed_values(options, "or"))
}

fn a_format(format: &str) -> String {
    match format {
        "date" => "a date like 2026-01-31".to_owned(),
        "date-time" => "a time like 2026-01-31T12:00:00Z".to_owned(),
        "time" => "a time of day like 12:00:00Z".to_owned(),
        "duration" => "a duration like PT1H30M".to_owned(),
        "email" => "an e-mail address".to_owned(),
        "uri" => "an absolute URI".to_owned(),
        "regex" => "a regular expression".to_owned(),
        _ => format!("a value of format `{format}`"),
    }
}

/// Limits on lengths and sizes.
fn bounds(kind: &ValidationErrorKind, value: &Value) -> Option<String> {
    let characters = || value.as_str().map_or(0, |text| text.chars().count());
    let items = || value.as_array().map_or(0, Vec::len);
    let keys = || value.as_object().map_or(0, serde_json::Map::len);
    Some(match kind {
        ValidationErrorKind::MinLength { limit: 1 } => "the text is empty".to_owned(),
        ValidationErrorKind::MinLength { limit } => at_least(*limit, "character", characters()),
        ValidationErrorKind::MaxLength { limit } => at_most(*limit, "character", characters()),
        ValidationErrorKind::MinItems { limit } => at_least(*limit, "item", items()),
        ValidationErrorKind::MaxItems { limit } => at_most(*limit, "item", items()),
        ValidationErrorKind::MinProperties { limit } => at_least(*limit, "key", keys()),
        ValidationErrorKind::MaxProperties { limit } => at_most(*limit, "key", keys()),
        ValidationErrorKind::Minimum { limit } => {
            format!("expected {limit} or more, found {}", json(value))
        }
        ValidationErrorKind::Maximum { limit } => {
            format!("expected {limit} or less, found {}", json(value))
        }
        ValidationErrorKind::ExclusiveMinimum { limit } => {
            format!("expected more than {limit}, found {}", json(value))
        }
        ValidationErrorKind::ExclusiveMaximum { limit } => {
            format!("expected less than {limit}, found {}", json(value))
        }
        ValidationErrorKind::MultipleOf { multiple_of } => {
            format!("expected a multiple of {multiple_of}, found {}", json(value))
        }
        ValidationErrorKind::UniqueItems => "the items must all be different".to_owned(),
        _ => return None,
    })
}

/// "expected at least 2 items, found 1".
pub(super) fn at_least(limit: u64, what: &str, has: usize) -> String {
    format!("expected at least {}, found {has}", counted(limit, what))
}

/// "expected at most 1 key, found 2".
pub(super) fn at_most(limit: u64, what: &str, has: usize) -> String {
    format!("expected at most {}, found {has}", counted(limit, what))
}

fn counted(limit: u64, what: &str) -> String {
    format!("{limit} {what}{}", if limit == 1 { "" } else { "s" })
}
