//! Checks a schema before it is stored.

use jsonschema::Draft;
use serde_json::{Map, Value, json};

use super::describe::{brief, kind};
use super::document::{SchemaDocument, ScopedSubschema};
use super::keywords::{self, KeywordValueKind, subschemas};
use super::problem::{SchemaProblem, SchemaSeverity};
use super::{MAX_PATTERN_SIZE, expansion, validator_options, violations, warnings};
use crate::nearest::nearest;
use crate::pointer;

/// Maximum nesting of schemas as written. People write fewer levels, and every reader of schemas here recurses.
pub const MAX_SCHEMA_DEPTH: usize = 48;

/// Maximum number of patterns in a schema, because every reader compiles each pattern, up to [`MAX_PATTERN_SIZE`].
const MAX_PATTERNS: usize = 200;

/// Maximum number of keys that one schema lists in `properties` or `required`, because readers compare each with each. Hand-written
/// schemas have dozens.
const MAX_KEYS: usize = 5_000;

/// The type names that `type` accepts.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// All problems of a schema at once.
///
/// Errors:
///
/// * keywords with invalid values
/// * references to anything outside the schema, or to something missing
/// * patterns that the linear-time engine does not support
/// * more than 4096 references when written out, [`MAX_SCHEMA_DEPTH`] levels, 200 patterns, or 5000 keys in one list
/// * a schema that refers to itself by `$dynamicRef`
///
/// Warnings: unknown keywords, unknown formats, required keys that are not among the properties, limits that no value fits. A note:
/// `required` and `properties` in different orders.
pub fn check(schema: &Value) -> Vec<SchemaProblem> {
    if !schema.is_object() && !schema.is_boolean() {
        let message = format!("a schema is an object, true or false, not {}", kind(schema));
        return vec![SchemaProblem::error("", message)];
    }
    if let Some(path) = too_deep(schema, String::new(), 0) {
        let message = format!("schemas are nested deeper than {MAX_SCHEMA_DEPTH} levels");
        return vec![SchemaProblem::error(path, message)];
    }
    let document = SchemaDocument::new(schema);
    let mut lint = SchemaLinter { document: &document, problems: Vec::new(), patterns: 0 };
    lint.schema(document.root(), "");
    let patterns = lint.patterns;
    let mut problems = lint.problems;
    if patterns > MAX_PATTERNS {
        problems.push(SchemaProblem::error("", format!("it has {patterns} patterns, more than {MAX_PATTERNS}")));
        return problems;
    }
    if let Some(path) = too_many_keys(schema, "") {
        problems.push(SchemaProblem::error(path, format!("it lists more than {MAX_KEYS} keys")));
        return problems;
    }
    against_meta_schema(schema, &mut problems);
    if !has_errors(&problems) {
        problems.extend(expansion::problem(&document).or_else(|| expansion::unjudgeable(schema)));
    }
    if !has_errors(&problems)
        && let Err(error) = validator_options().build(schema)
    {
        problems.push(SchemaProblem::error("", error.to_string()));
    }
    problems
}

fn has_errors(problems: &[SchemaProblem]) -> bool {
    problems.iter().any(|problem| problem.severity == SchemaSeverity::Error)
}

/// Whether a `$ref` names its target by URI. Such a target is outside the schema unless an `$id` in the schema is that URI.
pub fn is_remote_ref(reference: &str) -> bool {
    !reference.starts_with('#')
}

/// Finds a list of keys that is too long. Data that looks like such a list counts as well.
fn too_many_keys(schema: &Value, path: &str) -> Option<String> {
    let below = |key: &str, value: &Value| too_many_keys(value, &pointer::join(path, key));
    match schema {
        Value::Object(map) => map.iter().find_map(|(key, value)| {
            let keys = match (key.as_str(), value) {
                ("properties" | "dependentRequired", Value::Object(keys)) => keys.len(),
                ("required", Value::Array(keys)) => keys.len(),
                _ => 0,
            };
            if keys > MAX_KEYS { Some(pointer::join(path, key)) } else { below(key, value) }
        }),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| too_many_keys(item, &format!("{path}/{index}")))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Finds the first value beyond the nesting limit. Every value counts, because a reference can name any of them.
fn too_deep(value: &Value, path: String, depth: usize) -> Option<String> {
    // Each schema takes two levels: its own, and the keyword that holds several.
    if depth > 2 * MAX_SCHEMA_DEPTH {
        return Some(path);
    }
    match value {
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| too_deep(item, format!("{path}/{index}"), depth + 1))
        }
        Value::Object(map) => map.iter().find_map(|(key, item)| too_deep(item, pointer::join(&path, key), depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Adds the findings of the meta-schema, except where the lint has a better message for the same place.
fn against_meta_schema(schema: &Value, problems: &mut Vec<SchemaProblem>) {
    let Ok(meta) = jsonschema::meta::validator_for(schema) else {
        let message = "an unknown dialect; leave `$schema` out or name draft 2020-12";
        problems.push(SchemaProblem::error("/$schema", message));
        return;
    };
    for violation in violations::of_meta_schema(&meta, schema) {
        let is_known = |problem: &SchemaProblem| {
            problem.severity == SchemaSeverity::Error
                && (violation.path == problem.path || violation.path.starts_with(&format!("{}/", problem.path)))
        };
        if !problems.iter().any(is_known) {
            problems.push(SchemaProblem::error(violation.path, violation.message));
        }
    }
}

struct SchemaLinter<'d, 's> {
    document: &'d SchemaDocument<'s>,
    problems: Vec<SchemaProblem>,
    /// Number of patterns met, for values and keys.
    patterns: usize,
}

impl<'s> SchemaLinter<'_, 's> {
    fn schema(&mut self, subschema: ScopedSubschema<'s>, path: &str) {
        let Some(map) = subschema.schema.as_object() else {
            return;
        };
        self.problems.extend(warnings::find_warnings(map, path));
        for (keyword, value) in map {
            let below = pointer::join(path, keyword);
            match keyword.as_str() {
                "type" => self.types(value, &below),
                "$ref" | "$dynamicRef" | "$recursiveRef" => self.reference(subschema, value, &below),
                "pattern" => self.pattern(value.as_str(), &below),
                "patternProperties" => self.patterns(value, &below),
                "format" => self.format(value, &below),
                _ => {}
            }
            self.keyword(keyword, value, &below);
            for (path, schema) in subschemas(keyword, value, &below) {
                self.schema(subschema.enter(schema), &path);
            }
        }
    }

    /// Whether the schema names a dialect in which `items` may be a list.
    fn is_older_dialect(&self) -> bool {
        let dialect = self.document.root().keyword("$schema");
        dialect.is_some_and(|uri| uri.as_str().is_some_and(|uri| !uri.contains("2020-12")))
    }

    fn error(&mut self, path: &str, message: String) {
        self.problems.push(SchemaProblem::error(path, message));
    }

    /// Reports unknown keywords, and keywords that should hold a schema but don't.
    fn keyword(&mut self, keyword: &str, value: &Value, path: &str) {
        let Some(holds) = keywords::holds(keyword) else {
            // By convention, `x-` marks custom keywords.
            if !keyword.starts_with("x-") {
                let hint = nearest(keyword, keywords::names())
                    .map(|name| format!("; did you mean `{name}`?"))
                    .unwrap_or_default();
                let message = format!("`{keyword}` is not a keyword and has no effect{hint}");
                self.problems.push(SchemaProblem::warning(path, message));
            }
            return;
        };
        let wanted = match (holds, value) {
            (KeywordValueKind::Schema | KeywordValueKind::SchemaOrSchemas, Value::Object(_) | Value::Bool(_))
            | (KeywordValueKind::Named | KeywordValueKind::Dependencies, Value::Object(_))
            | (KeywordValueKind::Schemas, Value::Array(_))
            | (KeywordValueKind::Data, _) => return,
            (KeywordValueKind::SchemaOrSchemas, Value::Array(_)) if self.is_older_dialect() => return,
            (KeywordValueKind::SchemaOrSchemas, Value::Array(_)) => {
                let message = "`items` holds one schema for all items; use `prefixItems` for a list";
                return self.error(path, message.to_owned());
            }
            (KeywordValueKind::Schema | KeywordValueKind::SchemaOrSchemas, _) => "a schema (an object, true or false)",
            (KeywordValueKind::Schemas, _) => "a list of schemas",
            (KeywordValueKind::Named | KeywordValueKind::Dependencies, _) => "an object of schemas",
        };
        self.error(path, format!("expected {wanted}, found {}", kind(value)));
    }

    fn types(&mut self, value: &Value, path: &str) {
        let names = match value {
            Value::Array(names) if !names.is_empty() => names.iter().collect(),
            Value::String(_) => vec![value],
            _ => {
                let message = format!("expected a type or a list of types, found {}", kind(value));
                return self.error(path, message);
            }
        };
        for (index, name) in names.iter().enumerate() {
            let Some(name) = name.as_str() else {
                self.error(path, format!("expected the name of a type, found {}", kind(name)));
                continue;
            };
            if names[..index].contains(&&Value::from(name)) {
                self.error(path, format!("`{name}` is listed twice"));
            }
            if !TYPES.contains(&name) {
                let hint = match nearest(name, TYPES) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("use one of {}", TYPES.join(", ")),
                };
                self.error(path, format!("`{name}` is not a type; {hint}"));
            }
        }
    }

    fn reference(&mut self, subschema: ScopedSubschema<'s>, value: &Value, path: &str) {
        let Some(text) = value.as_str() else {
            return;
        };
        if self.document.resolve(subschema, text).is_some() {
            return;
        }
        let message = if is_remote_ref(text) {
            format!("`{text}` is outside this schema; copy what it names into `$defs`")
        } else {
            format!("`{text}` names nothing in this schema")
        };
        self.error(path, message);
    }

    fn pattern(&mut self, pattern: Option<&str>, path: &str) {
        self.patterns += 1;
        if let Some(pattern) = pattern
            && self.patterns <= MAX_PATTERNS
            && validator_options().build(&json!({ "pattern": pattern })).is_err()
        {
            // A repetition may have made it too large; the engine does not say.
            let size = match pattern.contains('{') {
                true => {
                    format!(", or takes more than {} MiB when its repetitions are written out", MAX_PATTERN_SIZE >> 20)
                }
                false => String::new(),
            };
            let message = format!(
                "`{}` is not a regular expression that runs in linear time (no look-around, no back-references){size}",
                brief(pattern)
            );
            self.error(path, message);
        }
    }

    fn patterns(&mut self, value: &Value, path: &str) {
        for pattern in value.as_object().into_iter().flat_map(Map::keys) {
            self.pattern(Some(pattern), &pointer::join(path, pattern));
        }
    }

    fn format(&mut self, value: &Value, path: &str) {
        let Some(name) = value.as_str() else {
            return;
        };
        let draft = Draft::Draft202012;
        if validator_options().is_known_format(draft, name) {
            return;
        }
        let hint = nearest(name, FORMATS).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let message = format!("the format `{name}` is unknown and not checked{hint}");
        self.problems.push(SchemaProblem::warning(path, message));
    }
}

/// Formats for suggestions.
const FORMATS: [&str; 18] = [
    super::CAS_REF,
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];
