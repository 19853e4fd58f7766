//! The rules of a JSON Schema for one place in a value, for the answer reader and the prompt writer.
//!
//! This is a reading aid, not a validator: it resolves local `$ref`s, flattens `allOf`, and lists the alternatives of `anyOf` and `oneOf`.
//! Validation is left to `json_cas::schema`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Most subschemas flattened for one place. Only maliciously built schemas have more.
const MAX_FLATTENED: usize = 512;

/// Depth to which alternatives are searched for the types they allow.
const MAX_ALTERNATIVE_DEPTH: usize = 8;

/// Schemas that all apply to one place.
pub(crate) type Schemas<'s> = Vec<&'s Value>;

/// The schema's rule for keys it does not list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum UnlistedKeyRule<'s> {
    /// None: JSON Schema allows them, but the author didn't ask for them.
    Unspecified,
    /// They are rejected.
    Refused,
    /// They are allowed, with these schemas.
    Allowed(Schemas<'s>),
}

/// The rules for one place.
#[derive(Debug, Default, Clone)]
pub(crate) struct SchemaShape<'s> {
    /// Schema objects that all apply, `$ref` and `allOf` resolved.
    pub(crate) all: Vec<&'s Map<String, Value>>,
    /// Groups of alternatives (`anyOf`, `oneOf`) without a choice yet.
    pub(crate) groups: Vec<&'s [Value]>,
    /// Schema objects that may apply (`if`, `then`, `else`, `dependentSchemas`).
    maybe: Vec<&'s Map<String, Value>>,
    /// Groups with a choice, so that alternatives which refer back to them end.
    taken: Vec<&'s [Value]>,
}

/// The shape of a place, given the root schema its `$ref`s point into.
pub(crate) fn shape<'s>(root: &'s Value, schemas: &[&'s Value]) -> SchemaShape<'s> {
    let mut shape = SchemaShape::default();
    let mut seen = BTreeSet::new();
    let mut open: Vec<(&'s Value, bool)> = schemas.iter().rev().map(|schema| (*schema, true)).collect();
    while let Some((schema, certain)) = open.pop() {
        let Value::Object(map) = schema else { continue };
        if seen.len() >= MAX_FLATTENED || !seen.insert(std::ptr::from_ref(map)) {
            continue;
        }
        if certain { &mut shape.all } else { &mut shape.maybe }.push(map);
        let mut found: Vec<(&'s Value, bool)> = Vec::new();
        found.extend(map.get("$ref").and_then(|target| resolve(root, target)).map(|target| (target, certain)));
        found.extend(list(map.get("allOf")).iter().map(|part| (part, certain)));
        for key in ["if", "then", "else"] {
            found.extend(map.get(key).map(|part| (part, false)));
        }
        if let Some(Value::Object(dependent)) = map.get("dependentSchemas") {
            found.extend(dependent.values().map(|part| (part, false)));
        }
        for key in ["anyOf", "oneOf"] {
            match map.get(key) {
                Some(Value::Array(group)) if certain => shape.groups.push(group),
                Some(Value::Array(group)) => found.extend(group.iter().map(|part| (part, false))),
                _ => {}
            }
        }
        open.extend(found.into_iter().rev());
    }
    shape
}

/// The subschema that a local `$ref` points to: `#` or `#/a/b`.
fn resolve<'s>(root: &'s Value, target: &Value) -> Option<&'s Value> {
    root.pointer(target.as_str()?.strip_prefix('#')?)
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

impl<'s> SchemaShape<'s> {
    /// Every value of a keyword, in order.
    pub(crate) fn keyword(&self, key: &str) -> impl Iterator<Item = &'s Value> {
        let values: Vec<&'s Value> = self.all.iter().filter_map(|map| map.get(key)).collect();
        values.into_iter()
    }

    /// First text of a keyword.
    pub(crate) fn text(&self, key: &str) -> Option<&'s str> {
        self.keyword(key).find_map(Value::as_str)
    }

    /// The same place with one more schema, and one group of alternatives fewer.
    pub(crate) fn choose(&self, root: &'s Value, group: usize, branch: &'s Value) -> SchemaShape<'s> {
        let mut chosen = self.clone();
        chosen.taken.push(chosen.groups.remove(group));
        let more = shape(root, &[branch]);
        for map in more.all {
            if !chosen.all.iter().any(|known| std::ptr::eq(*known, map)) {
                chosen.all.push(map);
            }
        }
        for group in more.groups {
            if !chosen.taken.iter().chain(&chosen.groups).any(|known| std::ptr::eq(*known, group)) {
                chosen.groups.push(group);
            }
        }
        chosen.maybe.extend(more.maybe);
        chosen
    }

    /// Types allowed by `type`, `enum` and `const`, without alternatives. `None` if the schema doesn't restrict them. Without these
    /// keywords, `properties` implies an object and `items` a list.
    pub(crate) fn own_types(&self) -> Option<BTreeSet<&'s str>> {
        let mut types: Option<BTreeSet<&str>> = None;
        for said in self.keyword("type") {
            let said: BTreeSet<&str> = match said {
                Value::String(one) => BTreeSet::from([one.as_str()]),
                Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
                _ => continue,
            };
            types = Some(match types {
                None => said,
                Some(before) => meet(&before, &said),
            });
        }
        if types.is_none() {
            let allowed = self.allowed();
            types = allowed.map(|values| values.iter().map(|value| type_name(value)).collect());
        }
        let has = |key: &str| self.all.iter().any(|map| map.contains_key(key));
        match types {
            None if has("properties") || has("required") => Some(BTreeSet::from(["object"])),
            None if has("items") || has("prefixItems") => Some(BTreeSet::from(["array"])),
            types => types,
        }
    }

    /// Types allowed here, including alternatives. `None` allows any type.
    pub(crate) fn types(&self, root: &'s Value) -> Option<BTreeSet<&'s str>> {
        self.types_to_depth(root, MAX_ALTERNATIVE_DEPTH)
    }

    fn types_to_depth(&self, root: &'s Value, depth: usize) -> Option<BTreeSet<&'s str>> {
        if let Some(own) = self.own_types() {
            return Some(own);
        }
        let group = self.groups.first().filter(|_| depth > 0)?;
        let mut types = BTreeSet::new();
        for branch in *group {
            types.extend(shape(root, &[branch]).types_to_depth(root, depth - 1)?);
        }
        Some(types)
    }

    /// Whether a value of this type is allowed here.
    pub(crate) fn may_be(&self, root: &'s Value, name: &str) -> bool {
        self.types(root).is_none_or(|types| types.contains(name) || (name == "integer" && types.contains("number")))
    }

    /// The values `const` or `enum` allow.
    pub(crate) fn allowed(&self) -> Option<Vec<&'s Value>> {
        if let Some(only) = self.keyword("const").next() {
            return Some(vec![only]);
        }
        let mut enums = self.keyword("enum").filter_map(Value::as_array);
        let first = enums.next()?;
        let rest: Vec<&Vec<Value>> = enums.collect();
        Some(first.iter().filter(|value| rest.iter().all(|other| other.contains(value))).collect())
    }

    /// Number of values in its `enum`s.
    pub(crate) fn listed_values(&self) -> usize {
        self.keyword("enum").filter_map(Value::as_array).map(Vec::len).sum()
    }

    /// Listed keys in the order of the schema. Keys that only `required` or a condition names come last.
    pub(crate) fn keys(&self) -> Vec<&'s str> {
        let mut keys: Vec<&str> = Vec::new();
        let mut seen = BTreeSet::new();
        let listed = self.all.iter().chain(&self.maybe).filter_map(|map| map.get("properties")?.as_object());
        let named = listed.flat_map(|properties| properties.keys().map(String::as_str)).chain(self.required());
        for key in named {
            if seen.insert(key) {
                keys.push(key);
            }
        }
        keys
    }

    /// Listed keys, including the keys of all alternatives.
    pub(crate) fn keys_of_all(&self, root: &'s Value) -> Vec<&'s str> {
        let mut keys = self.keys();
        let mut open: Vec<(&'s [Value], usize)> =
            self.groups.iter().map(|group| (*group, MAX_ALTERNATIVE_DEPTH)).collect();
        while let Some((group, depth)) = open.pop() {
            for branch in group {
                let branch = shape(root, &[branch]);
                keys.extend(branch.keys());
                if depth > 0 && keys.len() < MAX_FLATTENED {
                    open.extend(branch.groups.iter().map(|group| (*group, depth - 1)));
                }
            }
        }
        let mut seen = BTreeSet::new();
        keys.retain(|key| seen.insert(*key));
        keys
    }

    /// Values that `const` and `enum` list for a key, in any alternative.
    pub(crate) fn values_of_all(&self, root: &'s Value, key: &str) -> Vec<&'s Value> {
        let mut values = Vec::new();
        let mut open: Vec<(SchemaShape<'s>, usize)> = vec![(self.clone(), MAX_ALTERNATIVE_DEPTH)];
        while let Some((here, depth)) = open.pop() {
            let mut of_key: Vec<(SchemaShape<'s>, usize)> =
                here.property(key).map(|schemas| (shape(root, &schemas), MAX_ALTERNATIVE_DEPTH)).into_iter().collect();
            while let Some((here, depth)) = of_key.pop() {
                values.extend(here.allowed().unwrap_or_default());
                of_key.extend(here.branches(root, depth));
            }
            if values.len() > MAX_FLATTENED {
                break;
            }
            open.extend(here.branches(root, depth));
        }
        values
    }

    /// The branches of all alternatives, with the depth that is left for theirs.
    fn branches(&self, root: &'s Value, depth: usize) -> Vec<(SchemaShape<'s>, usize)> {
        let depth = depth.checked_sub(1);
        let branches = depth.into_iter().flat_map(|depth| {
            self.groups.iter().flat_map(move |group| group.iter().map(move |branch| (shape(root, &[branch]), depth)))
        });
        branches.collect()
    }

    /// Required keys.
    pub(crate) fn required(&self) -> Vec<&'s str> {
        self.keyword("required").flat_map(|keys| list(Some(keys))).filter_map(Value::as_str).collect()
    }

    /// Schemas of a listed key. Empty if only `required` names the key, `None` if it is not listed.
    pub(crate) fn property(&self, key: &str) -> Option<Schemas<'s>> {
        let of = |maps: &[&'s Map<String, Value>]| -> Schemas<'s> {
            maps.iter().filter_map(|map| map.get("properties")?.get(key)).collect()
        };
        let mut schemas = of(&self.all);
        if schemas.is_empty() {
            schemas = of(&self.maybe);
            schemas.truncate(1);
        }
        (!schemas.is_empty() || self.required().contains(&key)).then_some(schemas)
    }

    /// The rule for unlisted keys.
    pub(crate) fn unlisted(&self) -> UnlistedKeyRule<'s> {
        let mut allowed: Option<Schemas<'s>> = None;
        for key in ["additionalProperties", "unevaluatedProperties"] {
            for said in self.keyword(key) {
                match said {
                    Value::Bool(false) => return UnlistedKeyRule::Refused,
                    Value::Bool(true) => allowed = Some(allowed.unwrap_or_default()),
                    schema => allowed.get_or_insert_default().push(schema),
                }
            }
        }
        let patterns: Vec<&Map<String, Value>> =
            self.keyword("patternProperties").filter_map(Value::as_object).collect();
        if !patterns.is_empty() {
            // The validator decides which pattern a key matches. A single pattern is unambiguous.
            let schemas: Schemas<'s> = patterns.iter().flat_map(|map| map.values()).collect();
            return UnlistedKeyRule::Allowed(if schemas.len() == 1 { schemas } else { Vec::new() });
        }
        match allowed {
            Some(schemas) => UnlistedKeyRule::Allowed(schemas),
            None if self.keys().is_empty() && self.groups.is_empty() => UnlistedKeyRule::Allowed(Vec::new()),
            None => UnlistedKeyRule::Unspecified,
        }
    }

    /// Schemas of one member of a list.
    pub(crate) fn item(&self, index: usize) -> Schemas<'s> {
        let positional = |map: &&'s Map<String, Value>| -> Option<&'s Value> {
            list(map.get("prefixItems")).get(index).or_else(|| map.get("items"))
        };
        self.all.iter().filter_map(positional).collect()
    }
}

/// Types that both sides allow. An integer is also a number.
fn meet<'s>(left: &BTreeSet<&'s str>, right: &BTreeSet<&'s str>) -> BTreeSet<&'s str> {
    let has =
        |types: &BTreeSet<&str>, name: &str| types.contains(name) || (name == "integer" && types.contains("number"));
    left.union(right).filter(|name| has(left, name) && has(right, name)).copied().collect()
}

/// The JSON Schema name of a value's type.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn refs_and_all_of_are_flattened() {
        let root = json!({
            "$ref": "#/$defs/base", "required": ["b"],
            "$defs": {"base": {"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"minLength": 1}}}]}},
        });
        let shape = shape(&root, &[&root]);
        assert_eq!(shape.keys(), ["a", "b"]);
        assert_eq!(shape.property("a"), Some(vec![&json!({"type": "string"}), &json!({"minLength": 1})]));
        assert_eq!(shape.property("b"), Some(vec![]));
        assert_eq!(shape.property("c"), None);
        assert_eq!(shape.unlisted(), UnlistedKeyRule::Unspecified);
    }

    #[test]
    fn endless_references_end() {
        let root = json!({"$ref": "#"});
        assert_eq!(shape(&root, &[&root]).types(&root), None);
        let root = json!({"anyOf": [{"$ref": "#"}, {"type": "null"}]});
        assert_eq!(shape(&root, &[&root]).types(&root), None);
    }

    #[test]
    fn types_come_from_type_enum_and_alternatives() {
        let types = |schema: Value| -> Option<Vec<String>> {
            shape(&schema, &[&schema]).types(&schema).map(|types| types.iter().map(|t| (*t).to_owned()).collect())
        };
        assert_eq!(types(json!({})), None);
        assert_eq!(types(json!({"enum": ["a", null]})), Some(vec!["null".into(), "string".into()]));
        assert_eq!(
            types(json!({"allOf": [{"type": ["integer", "string"]}, {"type": "number"}]})),
            Some(vec!["integer".into()])
        );
        assert_eq!(
            types(json!({"anyOf": [{"type": "string"}, {"type": "null"}]})),
            Some(vec!["null".into(), "string".into()])
        );
        assert_eq!(types(json!({"items": {}})), Some(vec!["array".into()]));
    }
}
