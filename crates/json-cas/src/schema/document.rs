//! A schema as a document, in which a `$ref` names a subschema.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::keywords::subschemas;
use super::validator_options;
use crate::pointer;

/// A subschema and the resource it belongs to. Its references are resolved against the resource.
#[derive(Debug, Copy, Clone)]
pub(super) struct ScopedSubschema<'s> {
    pub(super) schema: &'s Value,
    resource: &'s Value,
}

impl<'s> ScopedSubschema<'s> {
    /// Identifies the subschema while the document is borrowed.
    pub(super) fn id(self) -> usize {
        std::ptr::from_ref(self.schema) as usize
    }

    /// A subschema of this one. An `$id` starts a new resource.
    pub(super) fn enter(self, schema: &'s Value) -> ScopedSubschema<'s> {
        let resource = match own_id(schema) {
            Some(_) => schema,
            None => self.resource,
        };
        ScopedSubschema { schema, resource }
    }

    /// The value of a keyword.
    pub(super) fn keyword(self, name: &str) -> Option<&'s Value> {
        self.schema.as_object()?.get(name)
    }
}

/// A whole schema, with everything that its references can name.
pub(super) struct SchemaDocument<'s> {
    root: &'s Value,
    /// Maps each absolute `$id` to its resource.
    resources: HashMap<String, &'s Value>,
    /// Maps each resource to its absolute `$id`.
    ids: HashMap<usize, String>,
    /// Maps each anchor to all subschemas that have it.
    anchors: HashMap<&'s str, Vec<ScopedSubschema<'s>>>,
    /// Patterns of keys met so far, because compiling one takes longer than matching a thousand keys.
    patterns: RefCell<HashMap<&'s str, Option<Validator>>>,
    /// Cached targets of the references of subschemas.
    targets: RefCell<HashMap<usize, Rc<[ScopedSubschema<'s>]>>>,
    /// Whether a `$ref` overrides the keywords beside it, as before draft 2019-09.
    refs_stand_alone: bool,
}

impl<'s> SchemaDocument<'s> {
    pub(super) fn new(root: &'s Value) -> SchemaDocument<'s> {
        let mut document = SchemaDocument {
            root,
            resources: HashMap::new(),
            ids: HashMap::new(),
            anchors: HashMap::new(),
            patterns: RefCell::default(),
            targets: RefCell::default(),
            refs_stand_alone: is_before_2019(root),
        };
        let base = own_id(root).unwrap_or_default().to_owned();
        document.collect(document.root(), &base);
        document
    }

    /// The document as a subschema.
    pub(super) fn root(&self) -> ScopedSubschema<'s> {
        ScopedSubschema { schema: self.root, resource: self.root }
    }

    fn collect(&mut self, subschema: ScopedSubschema<'s>, base: &str) {
        let Some(map) = subschema.schema.as_object() else {
            return;
        };
        let base = match own_id(subschema.schema) {
            Some(id) => {
                let id = resolve_uri(base, id);
                self.resources.insert(id.clone(), subschema.schema);
                self.ids.insert(subschema.id(), id.clone());
                id
            }
            None => base.to_owned(),
        };
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(Value::String(name)) = map.get(keyword) {
                self.anchors.entry(name).or_default().push(subschema);
            }
        }
        for (keyword, value) in map {
            for (_, schema) in subschemas(keyword, value, "") {
                self.collect(subschema.enter(schema), &base);
            }
        }
    }

    /// The targets of the references of `subschema`: one per `$ref`, and every possible target of a `$dynamicRef`, whose meaning depends
    /// on the path by which it was reached.
    pub(super) fn targets(&self, subschema: ScopedSubschema<'s>) -> Rc<[ScopedSubschema<'s>]> {
        self.targets.borrow_mut().entry(subschema.id()).or_insert_with(|| self.find_targets(subschema).into()).clone()
    }

    fn find_targets(&self, subschema: ScopedSubschema<'s>) -> Vec<ScopedSubschema<'s>> {
        let text = |keyword: &str| subschema.keyword(keyword).and_then(Value::as_str);
        let mut targets = Vec::new();
        targets.extend(text("$ref").and_then(|text| self.resolve(subschema, text)));
        targets.extend(text("$recursiveRef").and_then(|text| self.resolve(subschema, text)));
        if let Some(text) = text("$dynamicRef") {
            let name = text.split_once('#').map_or("", |(_, fragment)| fragment);
            match self.anchors.get(name) {
                Some(subschemas) => targets.extend(subschemas),
                None => targets.extend(self.resolve(subschema, text)),
            }
        }
        targets
    }

    /// Whether the `$ref` of a subschema overrides all of its other keywords.
    pub(super) fn is_only_a_reference(&self, subschema: ScopedSubschema<'s>) -> bool {
        self.refs_stand_alone && subschema.keyword("$ref").is_some_and(Value::is_string)
    }

    /// Whether a pattern matches a key, by the validator's engine. A pattern that does not compile counts as matching: one reference too
    /// many is better than one lost.
    pub(super) fn key_matches(&self, pattern: &'s str, key: &str) -> bool {
        let mut patterns = self.patterns.borrow_mut();
        let validator =
            patterns.entry(pattern).or_insert_with(|| validator_options().build(&json!({ "pattern": pattern })).ok());
        validator.as_ref().is_none_or(|validator| validator.is_valid(&Value::from(key)))
    }

    /// The subschema that a reference in `subschema` names; `None` if it is not in the document.
    pub(super) fn resolve(&self, subschema: ScopedSubschema<'s>, reference: &str) -> Option<ScopedSubschema<'s>> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if uri.is_empty() {
            subschema.resource
        } else {
            let base = self.ids.get(&(std::ptr::from_ref(subschema.resource) as usize)).map_or("", String::as_str);
            self.resources.get(&resolve_uri(base, uri)).copied()?
        };
        let found = ScopedSubschema { schema: resource, resource };
        if fragment.is_empty() {
            return Some(found);
        }
        if fragment.starts_with('/') {
            return descend(found, &percent_decoded(fragment)?);
        }
        let id = found.id();
        self.anchors
            .get(fragment)?
            .iter()
            .copied()
            .find(|subschema| std::ptr::from_ref(subschema.resource) as usize == id)
    }
}

/// Follows a JSON pointer from a resource.
fn descend<'s>(from: ScopedSubschema<'s>, pointer: &str) -> Option<ScopedSubschema<'s>> {
    pointer.split('/').skip(1).try_fold(from, |subschema, segment| {
        let segment = pointer::unescape(segment);
        let next = match subschema.schema {
            Value::Object(map) => map.get(&segment)?,
            Value::Array(items) => items.get(segment.parse::<usize>().ok()?)?,
            _ => return None,
        };
        Some(subschema.enter(next))
    })
}

/// The `$id` that makes a schema its own resource. An `$id` that is only a fragment is an anchor of an older draft.
fn own_id(schema: &Value) -> Option<&str> {
    let id = schema.as_object()?.get("$id")?.as_str()?;
    let id = id.strip_suffix('#').unwrap_or(id);
    (!id.is_empty() && !id.starts_with('#')).then_some(id)
}

fn is_before_2019(root: &Value) -> bool {
    let dialect = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
    ["draft-04", "draft-06", "draft-07"].iter().any(|draft| dialect.contains(draft))
}

/// Resolves a reference against a base: absolute, relative to the root of the host, or relative to the base.
fn resolve_uri(base: &str, reference: &str) -> String {
    if has_scheme(reference) {
        return reference.to_owned();
    }
    let after_scheme = base.find("://").map_or(0, |at| at + 3);
    let kept = if reference.starts_with('/') {
        base[after_scheme..].find('/').map_or(base.len(), |at| after_scheme + at)
    } else {
        base[after_scheme..].rfind('/').map_or(0, |at| after_scheme + at + 1)
    };
    format!("{}{reference}", &base[..kept])
}

/// Whether a URI reference begins with a scheme (RFC 3986 §3.1).
fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn resolves_pointers_anchors_and_ids() {
        let schema = json!({
            "$id": "https://example.org/a/root",
            "$defs": {
                "a b/c": {"title": "pointer"},
                "anchored": {"$anchor": "here", "title": "anchor"},
                "other": {
                    "$id": "other",
                    "$defs": {"inner": {"title": "inner"}, "same": {"$anchor": "here", "title": "its"}}
                }
            }
        });
        let document = SchemaDocument::new(&schema);
        let root = document.root();
        let title = |from, reference: &str| {
            let found = document.resolve(from, reference)?;
            Some(found.schema.get("title")?.as_str()?.to_owned())
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(title(root, "#/$defs/a%20b~1c"), some("pointer"));
        assert_eq!(title(root, "#here"), some("anchor"));
        assert_eq!(title(root, "other#/$defs/inner"), some("inner"));
        assert_eq!(title(root, "https://example.org/a/other#here"), some("its"));
        assert_eq!(title(root, "/a/other#here"), some("its"));
        let other = document.resolve(root, "other").unwrap();
        assert_eq!(title(other, "#here"), some("its"));
        assert_eq!(title(other, "root#here"), some("anchor"));
        assert_eq!(title(root, "#/$defs/inner"), None);
        assert_eq!(title(root, "elsewhere"), None);
        assert_eq!(title(root, "#/%zz"), None);
    }
}
