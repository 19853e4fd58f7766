//! Reads a file by a schema: reports problems in words, each with its place, and returns the value without the invalid parts.
//!
//! It supports the part of JSON Schema that our file types use. `format` names a kind of text with a rule in Rust: a rule can check more
//! than a pattern, and it explains errors in words.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};
use yaml_tree::{MappingEntry, TextPosition, YamlContent, YamlNode};

use super::fields::{wrong_type, wrong_type_with};
use super::problem::ProblemCollector;
use super::to_json;
use json_cas::nearest::did_you_mean;

/// The format of a scalar that is read as text in any form: `5`, `true`.
pub(crate) const AS_WRITTEN: &str = "as-written";

/// The keyword of a mapping in which an unknown key is an error in any file, because ignoring it would do harm. Its value is `error`.
pub(crate) const UNKNOWN: &str = "x-unknown";

/// The keyword of a mapping whose keys are named in messages with all keys around them. Its value is `whole`.
pub(crate) const NAMES: &str = "x-names";

/// An error of a text that breaks the rule of its format.
pub(crate) struct TextFault {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// Checks a text at `key` by its format.
pub(crate) type TextRule = fn(format: &str, key: &str, text: &str) -> Option<TextFault>;

/// The schema that a type is read by, complete and without references.
pub(crate) fn schema_of_type<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The publisher of the schema adds its dialect.
    schema.remove("$schema");
    schema.remove("title");
    schema.remove("description");
    // Keys of a flattened struct are included by now, and editors support only the other keyword.
    if let Some(none) = schema.remove("unevaluatedProperties") {
        schema.insert("additionalProperties".to_owned(), none);
    }
    schema.into()
}

/// The value of a key as a `T`; `None` if it does not fit.
pub(crate) fn entry<T: JsonSchema + DeserializeOwned>(
    entry: &MappingEntry,
    rule: TextRule,
    problems: &mut ProblemCollector,
) -> Option<T> {
    let (_, value) = SchemaReader { rule, refuses_unknown: false, hidden: &[], problems }.entry(
        &schema_of_type::<T>(),
        entry,
        (&entry.key, &entry.key),
        None,
    )?;
    serde_json::from_value(value).ok()
}

/// Settings for reading a file.
pub(crate) struct SchemaReadOptions<'w> {
    /// Name of the file in messages.
    pub(crate) name: &'w str,
    /// Checks texts.
    pub(crate) rule: TextRule,
    /// Whether an unknown key is an error; otherwise it is ignored with a warning.
    pub(crate) refuses_unknown: bool,
    /// Whole keys that hints don't offer, because the caller rejects them in this file.
    pub(crate) hidden: &'w [&'w str],
}

/// The value of `root` by `schema`. Invalid parts are reported and dropped. For an optional key, null counts as a missing key. `None` if
/// nothing is left.
pub(crate) fn read(
    schema: &Value,
    root: &YamlNode,
    reading: &SchemaReadOptions<'_>,
    problems: &mut ProblemCollector,
) -> Option<Value> {
    let SchemaReadOptions { name, rule, refuses_unknown, hidden } = *reading;
    if !matches!(root.data, YamlContent::Mapping(_)) {
        problems.error("wrong-type", root.at, format!("{name} must be a mapping, not {}", root.kind()), None);
        return None;
    }
    SchemaReader { rule, refuses_unknown, hidden, problems }.value(
        schema,
        root,
        &ValueLocation { key: name, label: "", path: "", at: root.at, owner: None },
    )
}

struct SchemaReader<'p> {
    rule: TextRule,
    refuses_unknown: bool,
    hidden: &'p [&'p str],
    problems: &'p mut ProblemCollector,
}

/// The place of a value.
#[derive(Clone, Copy)]
struct ValueLocation<'a> {
    /// Its key, or the key of the list it is in.
    key: &'a str,
    /// Its name in messages, for [`wrong_type`]: the key, with the keys of the maps around it.
    label: &'a str,
    /// The key with all keys around it.
    path: &'a str,
    /// Position of its key, otherwise its own position.
    at: TextPosition,
    /// Kind and name of the mapping around it.
    owner: Option<(&'a str, &'a str)>,
}

impl SchemaReader<'_> {
    fn value(&mut self, schema: &Value, node: &YamlNode, place: &ValueLocation<'_>) -> Option<Value> {
        let Some(shape) = alternatives(schema).into_iter().find(|shape| takes(shape, node)) else {
            match hint(schema) {
                None => wrong_type(node, place.label, &wanted(schema), self.problems),
                hint => wrong_type_with(node, place.label, &wanted(schema), hint, self.problems),
            }
            return None;
        };
        if is_open(shape) {
            return Some(to_json(node, self.problems));
        }
        match &node.data {
            YamlContent::Mapping(entries) => self.mapping(shape, entries, place),
            YamlContent::Sequence(items) => Some(self.list(shape, items, place)),
            YamlContent::Scalar { .. } if node.is_null() && format(shape) != Some(AS_WRITTEN) => {
                if has_type(shape, "null") { Some(Value::Null) } else { self.mapping(shape, &[], place) }
            }
            YamlContent::Scalar { .. } => self.scalar(shape, node, place),
        }
    }

    fn mapping(&mut self, shape: &Value, entries: &[MappingEntry], place: &ValueLocation<'_>) -> Option<Value> {
        let known = shape["properties"].as_object();
        let mut values = Map::new();
        for entry in entries {
            if let Some(schema) = known.and_then(|known| known.get(&entry.key)) {
                if !is_absent(shape, schema, entry) {
                    let owner = shape["title"].as_str().map(|title| (title, place.key));
                    let path = whole(place.path, &entry.key);
                    let label = if shape[NAMES] == "whole" { &path } else { &entry.key };
                    values.extend(self.entry(schema, entry, (label, &path), owner));
                }
                continue;
            }
            match shape.get("additionalProperties") {
                Some(Value::Bool(false)) => self.unknown(entry, known, place.path, shape[UNKNOWN] == "error"),
                Some(schema) if schema.is_object() => {
                    let name_format = format(&shape["propertyNames"]);
                    if self.fits(name_format, place.label, &entry.key, entry.key_at) {
                        let (label, path) = (whole(place.label, &entry.key), whole(place.path, &entry.key));
                        values.extend(self.entry(schema, entry, (&label, &path), None));
                    }
                }
                _ => values.extend([(entry.key.clone(), to_json(&entry.value, self.problems))]),
            }
        }
        let is_given = |key: &str| entries.iter().any(|entry| entry.key == key && !entry.value.is_null());
        let is_complete = self.has_all(shape, entries, place) && self.has_one(shape, &is_given, place);
        let is_whole = strings(&shape["required"]).all(|key| values.contains_key(key));
        (is_complete && is_whole).then_some(Value::Object(values))
    }

    fn entry(
        &mut self,
        schema: &Value,
        entry: &MappingEntry,
        (label, path): (&str, &str),
        owner: Option<(&str, &str)>,
    ) -> Option<(String, Value)> {
        let place = ValueLocation { key: &entry.key, label, path, at: entry.key_at, owner };
        Some((entry.key.clone(), self.value(schema, &entry.value, &place)?))
    }

    fn unknown(&mut self, entry: &MappingEntry, known: Option<&Map<String, Value>>, path: &str, is_error: bool) {
        if self.problems.is_full() {
            return;
        }
        let known = known.into_iter().flat_map(Map::keys).map(String::as_str);
        let known: Vec<&str> = known.filter(|key| !self.hidden.contains(&whole(path, key).as_str())).collect();
        let hint = did_you_mean(&entry.key, known.iter().copied());
        let hint = hint.unwrap_or_else(|| format!("known here: {}", known.join(", ")));
        let message = format!("the key `{}` is not known here", entry.key);
        if self.refuses_unknown || is_error {
            self.problems.error("unknown-key", entry.key_at, message, Some(hint));
        } else {
            self.problems.warning("unknown-key", entry.key_at, format!("{message} and is ignored"), Some(hint));
        }
    }

    /// Whether all required keys are present, and one of the keys in `anyOf`.
    fn has_all(&mut self, shape: &Value, entries: &[MappingEntry], place: &ValueLocation<'_>) -> bool {
        let is_given = |key: &str| entries.iter().any(|entry| entry.key == key && !entry.value.is_null());
        let mistyped = |missing: &str| {
            let unknown = entries.iter().find(|entry| {
                shape["properties"].get(&entry.key).is_none() && did_you_mean(&entry.key, [missing]).is_some()
            })?;
            Some(format!("`{}` is not a key: did you mean `{missing}`?", unknown.key))
        };
        let mut missing: Vec<&str> = strings(&shape["required"]).filter(|key| !is_given(key)).collect();
        let enough = required_by(&shape["anyOf"]);
        if !enough.is_empty() && !enough.iter().any(|key| is_given(key)) {
            missing.push(enough[0]);
        }
        let title = shape["title"].as_str().unwrap_or("mapping");
        for key in &missing {
            let message = format!("the {title} `{}` has no `{key}`", place.key);
            self.problems.error("missing-key", place.at, message, mistyped(key));
        }
        missing.is_empty()
    }

    /// Whether exactly one of several exclusive keys is present.
    fn has_one(&mut self, shape: &Value, is_given: &dyn Fn(&str) -> bool, place: &ValueLocation<'_>) -> bool {
        let keys = required_by(&shape["oneOf"]);
        if keys.is_empty() || keys.iter().filter(|key| is_given(key)).count() == 1 {
            return true;
        }
        let message = format!("`{}` needs exactly one of {}", name(place), listed(&keys));
        self.problems.error("bad-value", place.at, message, None);
        false
    }

    fn list(&mut self, shape: &Value, items: &[YamlNode], place: &ValueLocation<'_>) -> Value {
        let label = format!("{}[]", place.label);
        let read = |item: &YamlNode| {
            let place = ValueLocation { label: &label, at: item.at, ..*place };
            self.value(&shape["items"], item, &place)
        };
        Value::Array(items.iter().filter_map(read).collect())
    }

    fn scalar(&mut self, shape: &Value, node: &YamlNode, place: &ValueLocation<'_>) -> Option<Value> {
        if let Some(format) = format(shape) {
            let text = node.as_raw()?;
            if format == "not-blank" && text.trim().is_empty() {
                let of = place.owner.map(|(title, name)| format!(" of the {title} `{name}`")).unwrap_or_default();
                self.problems.error("wrong-type", node.at, format!("`{}`{of} is empty", place.key), None);
                return None;
            }
            return self.fits(Some(format), name(place), text, node.at).then(|| Value::from(text));
        }
        if let Some(number) = node.as_number() {
            return self.number(shape, &number, node, place);
        }
        let words = words(shape);
        match node.as_text() {
            Some(text) if !words.is_empty() && !words.contains(&text) => {
                let or = if words.len() == 2 { " or " } else { ", " };
                let message = format!("`{}` is `{text}`; it can be {}", name(place), words.join(or));
                self.problems.error("bad-value", node.at, message, did_you_mean(text, words.iter().copied()));
                None
            }
            _ => Some(to_json(node, self.problems)),
        }
    }

    /// Whether a text follows the rule of its format.
    fn fits(&mut self, format: Option<&str>, key: &str, text: &str, at: TextPosition) -> bool {
        let Some(TextFault { code, message, hint }) = format.and_then(|format| (self.rule)(format, key, text)) else {
            return true;
        };
        self.problems.error(code, at, message, hint);
        false
    }

    fn number(&mut self, shape: &Value, number: &Number, node: &YamlNode, place: &ValueLocation<'_>) -> Option<Value> {
        let float = number.as_f64().filter(|float| float.is_finite());
        let bound = |keyword: &str| shape.get(keyword).and_then(Value::as_f64);
        let is_within = float.is_some_and(|float| {
            bound("minimum").is_none_or(|least| float >= least)
                && bound("exclusiveMinimum").is_none_or(|least| float > least)
                && bound("maximum").is_none_or(|most| float <= most)
        });
        // To JSON Schema, 3.0 is a whole number.
        let whole =
            number.as_u64().or(float.filter(|float| float.fract() == 0.0 && *float >= 0.0).map(|float| float as u64));
        let found = if has_type(shape, "integer") { whole.map(Value::from) } else { float.map(Value::from) };
        if is_within && found.is_some() {
            return found;
        }
        let message = format!("`{}` is {number}; it must be {}", name(place), range(shape));
        self.problems.error("bad-value", node.at, message, hint(shape));
        None
    }
}

/// A key with the keys around it.
fn whole(around: &str, key: &str) -> String {
    if around.is_empty() { key.to_owned() } else { format!("{around}.{key}") }
}

/// Names a value in messages; an item is named after its list.
fn name<'a>(place: &ValueLocation<'a>) -> &'a str {
    place.label.trim_end_matches("[]")
}

/// The alternative shapes of a value.
fn alternatives(schema: &Value) -> Vec<&Value> {
    match schema["anyOf"].as_array() {
        Some(shapes) if schema.get("type").is_none() => shapes.iter().flat_map(alternatives).collect(),
        _ => vec![schema],
    }
}

/// Whether a value of this kind can have the shape.
fn takes(shape: &Value, node: &YamlNode) -> bool {
    let is = |name: &str| has_type(shape, name);
    match &node.data {
        YamlContent::Mapping(_) => is("object"),
        YamlContent::Sequence(_) => is("array"),
        YamlContent::Scalar { .. } if format(shape) == Some(AS_WRITTEN) => true,
        // Null counts as a mapping without keys.
        YamlContent::Scalar { .. } if node.is_null() => is("null") || is("object"),
        YamlContent::Scalar { .. } if node.as_bool().is_some() => is("boolean"),
        YamlContent::Scalar { .. } if node.as_text().is_some() => is("string"),
        YamlContent::Scalar { .. } => is("number") || is("integer"),
    }
}

/// Whether a shape accepts values of a type; a schema without types accepts all.
fn has_type(shape: &Value, name: &str) -> bool {
    match &shape["type"] {
        Value::String(only) => only == name,
        Value::Array(types) => types.iter().any(|one| one == name),
        _ => shape["oneOf"].as_array().is_none_or(|branches| branches.iter().any(|branch| has_type(branch, name))),
    }
}

/// Whether a known key with the value null counts as absent. If the schema accepts every value, null is a value.
fn is_absent(shape: &Value, schema: &Value, entry: &MappingEntry) -> bool {
    let is_required = strings(&shape["required"]).any(|key| key == entry.key);
    let takes_null = || alternatives(schema).into_iter().any(|shape| takes(shape, &entry.value));
    entry.value.is_null() && !is_open(schema) && (is_required || takes_null())
}

/// Whether the schema accepts any value.
fn is_open(shape: &Value) -> bool {
    ["type", "oneOf", "anyOf"].iter().all(|keyword| shape.get(keyword).is_none())
}

/// Hint for a value that does not fit.
fn hint(shape: &Value) -> Option<String> {
    shape["x-hint"].as_str().map(str::to_owned)
}

/// The kind of text that the shape accepts, if there is one.
fn format(shape: &Value) -> Option<&str> {
    shape["format"].as_str().filter(|_| has_type(shape, "string"))
}

/// The allowed words of a text; empty if any text is allowed.
fn words(shape: &Value) -> Vec<&str> {
    let constants = shape["oneOf"].as_array().into_iter().flatten().filter_map(|branch| branch["const"].as_str());
    strings(&shape["enum"]).chain(constants).collect()
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The first key that each branch requires.
fn required_by(branches: &Value) -> Vec<&str> {
    branches.as_array().into_iter().flatten().filter_map(|branch| strings(&branch["required"]).next()).collect()
}

/// Description of a valid value, for a message.
fn wanted(schema: &Value) -> String {
    let mut wanted: Vec<&str> = Vec::new();
    for shape in alternatives(schema) {
        let of_texts = has_type(shape, "array") && has_type(&shape["items"], "string");
        let kinds = [
            ("integer", "a whole number"),
            ("number", "a number"),
            ("string", "a text"),
            ("array", if of_texts { "a list of texts" } else { "a list" }),
            ("object", "a mapping"),
            ("boolean", "a boolean"),
        ];
        match shape["title"].as_str().filter(|_| format(shape).is_some()) {
            Some(title) => wanted.push(title),
            None => wanted.extend(kinds.iter().filter(|(name, _)| has_type(shape, name)).map(|(_, kind)| *kind)),
        }
    }
    match wanted[..] {
        ["a boolean"] => "true or false".to_owned(),
        _ => wanted.join(" or "),
    }
}

/// The allowed numbers, for a message.
fn range(shape: &Value) -> String {
    let kind = if has_type(shape, "integer") { "a whole number" } else { "a number" };
    // As a float, a whole number is printed without a decimal point.
    let bound = |keyword: &str| shape.get(keyword).and_then(Value::as_f64);
    match (bound("exclusiveMinimum"), bound("minimum"), bound("maximum")) {
        (Some(least), _, Some(most)) => format!("{kind} above {least} and at most {most}"),
        (_, Some(least), Some(most)) => format!("{kind} from {least} to {most}"),
        (_, Some(least), None) => format!("{kind} of at least {least}"),
        _ => kind.to_owned(),
    }
}

/// `a`, `b` and `c`.
fn listed(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    match keys.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => keys.concat(),
    }
}
