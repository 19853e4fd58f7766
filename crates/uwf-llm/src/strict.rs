//! The strict copy of a schema, for a provider that enforces it.
//!
//! Such providers support a subset of JSON Schema: every object lists its properties, requires all of them and allows no others, without
//! bounds, patterns or formats. The copy is derived: optional properties become required but nullable, and everything unenforceable is
//! dropped. After the reply, [`without_nulls`] removes those nulls. The caller still validates the value against the original schema.

use serde_json::{Map, Value, json};

/// Depth limit of a schema. Providers have far lower limits.
const MAX_DEPTH: usize = 64;

/// Most references in a chain without a step into the value.
const MAX_REFS: usize = 32;

/// Keywords that are kept unchanged.
const KEPT: [&str; 5] = ["type", "enum", "const", "title", "description"];

/// Keywords for values that the subset cannot describe.
const INEXPRESSIBLE: [&str; 8] =
    ["patternProperties", "prefixItems", "not", "if", "dependentSchemas", "dependentRequired", "contains", "allOf"];

/// The strict copy; `None` if the schema describes values that the subset cannot, such as objects with free keys.
pub fn strict(schema: &Value) -> Option<Value> {
    let root = strict_at(schema, 0)?;
    (root.get("type") == Some(&json!("object"))).then_some(root)
}

fn strict_at(schema: &Value, depth: usize) -> Option<Value> {
    let fields = schema.as_object().filter(|fields| depth < MAX_DEPTH && !fields.is_empty())?;
    if INEXPRESSIBLE.iter().any(|keyword| fields.contains_key(*keyword)) {
        return None;
    }
    let mut copy = Map::new();
    for (keyword, value) in fields {
        let (keyword, value) = match keyword.as_str() {
            "$ref" => ("$ref", value.clone()),
            "$defs" | "definitions" => (keyword.as_str(), strict_each(value, depth)?),
            "anyOf" | "oneOf" => ("anyOf", strict_branches(value, depth)?),
            "items" => ("items", strict_at(value, depth + 1)?),
            "properties" => ("properties", strict_properties(fields, value, depth)?),
            kept if KEPT.contains(&kept) => (kept, value.clone()),
            _ => continue,
        };
        copy.insert(keyword.to_owned(), value);
    }
    complete(fields, &mut copy)?;
    Some(Value::Object(copy))
}

/// Adds what the subset requires of every schema: a type, and closed properties for objects.
fn complete(fields: &Map<String, Value>, copy: &mut Map<String, Value>) -> Option<()> {
    if !copy.contains_key("type") && copy.contains_key("properties") {
        copy.insert("type".to_owned(), json!("object"));
    }
    if let Some(kind) = listed_type(copy).filter(|_| !copy.contains_key("type")) {
        copy.insert("type".to_owned(), json!(kind));
    }
    if allows(copy.get("type"), "object") {
        let open = matches!(fields.get("additionalProperties"), Some(Value::Object(_) | Value::Bool(true)));
        let names: Vec<String> = copy.get("properties")?.as_object()?.keys().cloned().collect();
        if open || names.is_empty() {
            return None;
        }
        copy.insert("required".to_owned(), json!(names));
        copy.insert("additionalProperties".to_owned(), json!(false));
    }
    if allows(copy.get("type"), "array") && !copy.contains_key("items") {
        return None;
    }
    ["type", "$ref", "anyOf"].iter().any(|keyword| copy.contains_key(*keyword)).then_some(())
}

/// True if `type` is this type, or a list with it.
fn allows(types: Option<&Value>, wanted: &str) -> bool {
    match types {
        Some(Value::String(kind)) => kind == wanted,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
        _ => false,
    }
}

/// The common type of `const` or of all values in `enum`.
fn listed_type(fields: &Map<String, Value>) -> Option<&'static str> {
    let constant = fields.get("const").map(std::slice::from_ref);
    let listed = constant.or_else(|| fields.get("enum")?.as_array().map(Vec::as_slice))?;
    let first = type_name(listed.first()?);
    listed.iter().all(|value| type_name(value) == first).then_some(first)
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn strict_each(definitions: &Value, depth: usize) -> Option<Value> {
    let definitions = definitions.as_object()?.iter();
    definitions.map(|(name, schema)| Some((name.clone(), strict_at(schema, depth + 1)?))).collect()
}

fn strict_branches(branches: &Value, depth: usize) -> Option<Value> {
    branches.as_array()?.iter().map(|branch| strict_at(branch, depth + 1)).collect()
}

fn strict_properties(object: &Map<String, Value>, properties: &Value, depth: usize) -> Option<Value> {
    let strict_property = |(name, schema): (&String, &Value)| {
        let copy = strict_at(schema, depth + 1)?;
        Some((name.clone(), if is_required(object, name) { copy } else { nullable(copy) }))
    };
    properties.as_object()?.iter().map(strict_property).collect()
}

fn is_required(object: &Map<String, Value>, name: &str) -> bool {
    object.get("required").and_then(Value::as_array).is_some_and(|required| required.iter().any(|one| one == name))
}

/// The same schema, with null allowed.
fn nullable(schema: Value) -> Value {
    let plain = ["$ref", "anyOf", "const"].iter().all(|keyword| schema.get(keyword).is_none());
    let Value::Object(mut fields) = schema else { return schema };
    match fields.get_mut("type") {
        Some(Value::String(kind)) if plain && kind != "null" => {
            let kind = std::mem::take(kind);
            fields.insert("type".to_owned(), json!([kind, "null"]));
        }
        Some(Value::Array(kinds)) if plain => {
            if !kinds.iter().any(|kind| kind == "null") {
                kinds.push(json!("null"));
            }
        }
        Some(Value::String(_)) if plain => {}
        _ => return json!({ "anyOf": [fields, { "type": "null" }] }),
    }
    if let Some(Value::Array(listed)) = fields.get_mut("enum")
        && !listed.contains(&Value::Null)
    {
        listed.push(Value::Null);
    }
    Value::Object(fields)
}

/// A value without the nulls of omitted optional properties. A null that the schema itself allows stays.
pub fn without_nulls(value: Value, schema: &Value) -> Value {
    NullStripper { root: schema }.strip(value, schema)
}

struct NullStripper<'a> {
    root: &'a Value,
}

impl<'a> NullStripper<'a> {
    fn strip(&self, value: Value, schema: &'a Value) -> Value {
        let schema = self.branch(self.resolved(schema), &value);
        match value {
            Value::Object(fields) => Value::Object(self.strip_object(fields, schema)),
            Value::Array(items) => match schema.get("items") {
                Some(item) => items.into_iter().map(|value| self.strip(value, item)).collect(),
                None => Value::Array(items),
            },
            other => other,
        }
    }

    fn strip_object(&self, fields: Map<String, Value>, schema: &'a Value) -> Map<String, Value> {
        let Some(object) = schema.as_object() else { return fields };
        let Some(properties) = object.get("properties").and_then(Value::as_object) else { return fields };
        let mut kept = Map::new();
        for (name, value) in fields {
            let value = match properties.get(&name) {
                Some(property) if value.is_null() && !is_required(object, &name) && !self.takes_null(property, 0) => {
                    continue;
                }
                Some(property) => self.strip(value, property),
                None => value,
            };
            kept.insert(name, value);
        }
        kept
    }

    /// The schema at the end of a chain of local references.
    fn resolved(&self, mut schema: &'a Value) -> &'a Value {
        for _ in 0..MAX_REFS {
            let target = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
            let Some(next) = target.and_then(|pointer| self.root.pointer(pointer)) else { break };
            schema = next;
        }
        schema
    }

    /// The alternative that a value was written for: it has all the value's keys and no conflicting constant.
    fn branch(&self, schema: &'a Value, value: &Value) -> &'a Value {
        let mut schema = schema;
        for _ in 0..MAX_REFS {
            let branches = ["anyOf", "oneOf"].iter().find_map(|keyword| schema.get(keyword)?.as_array());
            let Some(branches) = branches else { break };
            let Some(next) = branches.iter().map(|one| self.resolved(one)).find(|one| fits(value, one)) else { break };
            schema = next;
        }
        schema
    }

    fn takes_null(&self, schema: &'a Value, depth: usize) -> bool {
        let schema = self.resolved(schema);
        if depth > MAX_REFS {
            return false;
        }
        let listed = schema.get("enum").and_then(Value::as_array);
        if schema.get("const").is_some_and(|constant| !constant.is_null())
            || listed.is_some_and(|listed| !listed.contains(&Value::Null))
        {
            return false;
        }
        let branches = ["anyOf", "oneOf"].iter().find_map(|keyword| schema.get(keyword)?.as_array());
        match (schema.get("type"), branches) {
            (Some(types), _) => allows(Some(types), "null"),
            (None, Some(branches)) => branches.iter().any(|branch| self.takes_null(branch, depth + 1)),
            (None, None) => true,
        }
    }
}

/// Compares only the surface: type, keys, and constants of properties.
fn fits(value: &Value, schema: &Value) -> bool {
    let kind = type_name(value);
    let types = schema.get("type");
    if types.is_some() && !(allows(types, kind) || (kind == "integer" && allows(types, "number"))) {
        return false;
    }
    let (Some(fields), Some(properties)) = (value.as_object(), schema.get("properties").and_then(Value::as_object))
    else {
        return true;
    };
    fields.iter().all(|(name, value)| {
        properties.get(name).is_some_and(|property| {
            let other = property.get("const").is_some_and(|constant| constant != value);
            let listed = property.get("enum").and_then(Value::as_array);
            !other && (value.is_null() || listed.is_none_or(|listed| listed.contains(value)))
        })
    })
}
