//! Decides whether a value of a schema can have a field at a path.
//!
//! JSON Schema allows properties that a schema doesn't mention, but extraction yields only mentioned ones. So a schema that lists
//! properties and says nothing about others counts as closed.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::moderator::WILDCARD;

/// The answer of [`can_have`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PathPossibility {
    /// Some value of the schema has the path.
    Possible,
    /// Objects there have other fields.
    NoField {
        /// The first part of the path that can't exist.
        field: String,
        /// The fields that can exist there.
        known: BTreeSet<String>,
    },
    /// No value there can be an object.
    NotAnObject {
        /// The part of the path that must be an object; `output` for a whole output.
        field: String,
    },
}

/// Whether some value of `schema` has a value at `path`, which passes through arrays as in JSONata.
pub(super) fn can_have(schema: &Value, path: &[String]) -> PathPossibility {
    match descend(schema, path) {
        Ok(_) => PathPossibility::Possible,
        Err(verdict) => verdict,
    }
}

/// The schemas of the value at `path`; empty if the schema says nothing about it.
pub(super) fn descend<'s>(schema: &'s Value, path: &[String]) -> Result<Vec<&'s Value>, PathPossibility> {
    let mut here = vec![schema];
    let mut field = "output".to_owned();
    for key in path {
        let mut objects = ObjectProperties::new(schema);
        for one in here {
            objects.collect(one);
        }
        if key == WILDCARD {
            if objects.open {
                return Ok(Vec::new());
            }
            if objects.properties.is_empty() {
                return Err(PathPossibility::NotAnObject { field });
            }
            here = objects.properties.into_iter().map(|(_, below)| below).collect();
        } else if objects.open || objects.properties.iter().any(|(name, _)| *name == key) {
            here = objects.properties.into_iter().filter(|(name, _)| *name == key).map(|(_, below)| below).collect();
            if here.is_empty() {
                return Ok(here);
            }
        } else if objects.properties.is_empty() {
            return Err(PathPossibility::NotAnObject { field });
        } else {
            let known = objects.properties.iter().map(|(name, _)| (*name).clone()).collect();
            return Err(PathPossibility::NoField { field: key.clone(), known });
        }
        key.clone_into(&mut field);
    }
    Ok(here)
}

/// The possible properties of the objects under some schemas, including objects in arrays.
struct ObjectProperties<'s> {
    root: &'s Value,
    properties: Vec<(&'s String, &'s Value)>,
    /// Whether they may have other fields.
    open: bool,
    /// Visited schemas, by address, because references may form cycles.
    seen: BTreeSet<usize>,
}

impl<'s> ObjectProperties<'s> {
    fn new(root: &'s Value) -> ObjectProperties<'s> {
        ObjectProperties { root, properties: Vec::new(), open: false, seen: BTreeSet::new() }
    }

    fn collect(&mut self, schema: &'s Value) {
        if !self.seen.insert(std::ptr::from_ref(schema).addr()) {
            return;
        }
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(false) => return,
            // `true` allows anything. Anything else is not a schema, which is reported elsewhere.
            _ => {
                self.open = true;
                return;
            }
        };
        let before = self.seen.len();
        self.collect_applied(map);
        let applies_others = self.seen.len() > before || map.contains_key("$ref");
        self.collect_own(map, applies_others);
    }

    /// Collects the subschemas that apply to the same value.
    fn collect_applied(&mut self, map: &'s Map<String, Value>) {
        for key in ["allOf", "anyOf", "oneOf"] {
            for branch in map.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.collect_branch(branch);
            }
        }
        for key in ["then", "else"] {
            map.get(key).into_iter().for_each(|branch| self.collect_branch(branch));
        }
        for branch in map.get("dependentSchemas").and_then(Value::as_object).into_iter().flat_map(Map::values) {
            self.collect_branch(branch);
        }
        match map.get("$ref").and_then(Value::as_str) {
            None => {}
            Some(reference) => match resolve(self.root, reference) {
                Some(target) => self.collect(target),
                None => self.open = true,
            },
        }
        self.open |= map.contains_key("$dynamicRef");
    }

    /// Collects a branch. A branch that only adds constraints (`required`, `const`, …) opens nothing.
    fn collect_branch(&mut self, branch: &'s Value) {
        let says_shape = |map: &Map<String, Value>| {
            [
                "type",
                "properties",
                "patternProperties",
                "additionalProperties",
                "items",
                "prefixItems",
                "$ref",
                "$dynamicRef",
                "allOf",
                "anyOf",
                "oneOf",
            ]
            .iter()
            .any(|key| map.contains_key(*key))
        };
        match branch {
            Value::Object(map) if says_shape(map) => self.collect(branch),
            Value::Object(_) | Value::Bool(_) => {
                self.seen.insert(std::ptr::from_ref(branch).addr());
            }
            _ => self.open = true,
        }
    }

    /// Collects the schema's own keywords. If `applies_others`, other schemas apply to the same value, so a schema that says nothing opens
    /// nothing.
    fn collect_own(&mut self, map: &'s Map<String, Value>, applies_others: bool) {
        let types: Option<Vec<&str>> = match map.get("type") {
            Some(Value::String(one)) => Some(vec![one]),
            Some(Value::Array(many)) => Some(many.iter().filter_map(Value::as_str).collect()),
            _ => None,
        };
        let may_be = |name: &str| types.as_ref().is_none_or(|types| types.contains(&name));
        let shapes_object = may_be("object") && self.collect_properties(map);
        let shapes_array = may_be("array") && self.collect_items(map);
        match types {
            // A type without any rule for its content.
            Some(types) => {
                let bare = |name: &str, shapes: bool| types.contains(&name) && !shapes;
                self.open |= !applies_others && (bare("object", shapes_object) || bare("array", shapes_array));
            }
            None => {
                let values = map.get("enum").and_then(Value::as_array).into_iter().flatten().chain(map.get("const"));
                self.open |= values.into_iter().any(|value| value.is_object() || value.is_array());
                let listed = map.contains_key("enum") || map.contains_key("const");
                self.open |= !listed && !shapes_object && !shapes_array && !applies_others;
            }
        }
    }

    /// Whether the schema says which properties exist.
    fn collect_properties(&mut self, map: &'s Map<String, Value>) -> bool {
        const OTHERS: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];
        let properties = map.get("properties").and_then(Value::as_object);
        self.properties.extend(properties.into_iter().flatten());
        let is_false = |key: &&str| map.get(*key) == Some(&Value::Bool(false));
        let opens = |key: &&str| map.contains_key(*key) && !is_false(key);
        self.open |= map.contains_key("patternProperties") || OTHERS.iter().any(opens);
        properties.is_some_and(|properties| !properties.is_empty()) || OTHERS.iter().any(is_false)
    }

    /// Whether the schema describes the items of an array. Collects the items as well.
    fn collect_items(&mut self, map: &'s Map<String, Value>) -> bool {
        let prefix = map.get("prefixItems").and_then(Value::as_array).into_iter().flatten();
        let rest = ["items", "contains", "unevaluatedItems"].into_iter().filter_map(|key| map.get(key));
        let items: Vec<&Value> = prefix.chain(rest).collect();
        items.iter().for_each(|item| self.collect(item));
        !items.is_empty()
    }
}

/// The target of a reference within the same schema.
pub(super) fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = reference.strip_prefix('#')?;
    // The pointer of a fragment is percent-encoded. Such names are rare, so they count as allowing anything.
    if pointer.contains('%') { None } else { root.pointer(pointer) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(schema: Value, path: &str) -> String {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        match can_have(&schema, &path) {
            PathPossibility::Possible => "possible".to_owned(),
            PathPossibility::NoField { field, known } => {
                format!("no {field} among {}", known.into_iter().collect::<Vec<_>>().join(" "))
            }
            PathPossibility::NotAnObject { field } => format!("nothing below {field}"),
        }
    }

    #[test]
    fn listed_properties_are_all_there_are() {
        let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}, "note": {}}});
        assert_eq!(ask(schema.clone(), "ok"), "possible");
        assert_eq!(ask(schema.clone(), "okay"), "no okay among note ok");
        assert_eq!(ask(schema.clone(), "note.anything"), "possible");
        assert_eq!(ask(schema, "ok.really"), "nothing below ok");
        assert_eq!(ask(json!({"properties": {"ok": true}}), "okay"), "no okay among ok");
        assert_eq!(ask(json!({"type": "string"}), "x"), "nothing below output");
        assert_eq!(ask(json!({"enum": ["a", "b"]}), "x"), "nothing below output");
        assert_eq!(ask(json!({"type": "object", "additionalProperties": false}), "x"), "nothing below output");
    }

    #[test]
    fn open_schemas_can_have_anything() {
        for schema in [
            json!({}),
            json!(true),
            json!({"type": "object"}),
            json!({"type": "array"}),
            json!({"type": ["object", "null"]}),
            json!({"properties": {"a": {}}, "additionalProperties": true}),
            json!({"properties": {"a": {}}, "additionalProperties": {"type": "string"}}),
            json!({"properties": {"a": {}}, "patternProperties": {"^x": {}}}),
            json!({"properties": {"a": {}}, "unevaluatedProperties": {}}),
            json!({"anyOf": [{"properties": {"a": {}}}, {"type": "object"}]}),
            json!({"const": {"x": 1}}),
            json!({"$ref": "other.json"}),
            json!({"$dynamicRef": "#node"}),
            json!({"type": "object", "properties": {}}),
        ] {
            assert_eq!(ask(schema.clone(), "x"), "possible", "{schema}");
        }
    }

    #[test]
    fn branches_and_references_count_together() {
        let schema = json!({
            "allOf": [{"$ref": "#/$defs/base"}, {"required": ["a"]}],
            "anyOf": [{"properties": {"b": {}}}, {"type": "null"}, {"required": ["c"]}],
            "if": {"properties": {"a": {"const": 1}}},
            "then": {"properties": {"d": {}}},
            "$defs": {"base": {"type": "object", "properties": {"a": {"type": "integer"}}}},
        });
        for key in ["a", "b", "d"] {
            assert_eq!(ask(schema.clone(), key), "possible", "{key}");
        }
        assert_eq!(ask(schema, "e"), "no e among a b d");
    }

    #[test]
    fn arrays_are_entered_and_recursion_ends() {
        let schema = json!({
            "type": "object",
            "properties": {
                "phases": {"type": "array", "items": {"type": "object", "properties": {"hash": {"type": "string"}}}},
                "pair": {"prefixItems": [{"properties": {"left": {}}}, {"properties": {"right": {}}}]},
                "child": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
                "loop": {"$ref": "#/properties/loop"},
            },
        });
        assert_eq!(ask(schema.clone(), "phases.hash"), "possible");
        assert_eq!(ask(schema.clone(), "phases.title"), "no title among hash");
        assert_eq!(ask(schema.clone(), "pair.right"), "possible");
        assert_eq!(ask(schema.clone(), "child.child.child.phases.hash"), "possible");
        assert_eq!(ask(schema.clone(), "child.child.phase"), "no phase among child loop pair phases");
        assert_eq!(ask(schema, "loop.x"), "nothing below loop");
    }
}
