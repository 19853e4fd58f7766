//! One `NAME=VALUE`, read as the schema has it.

use std::collections::BTreeSet;

use json_cas::pointer::join;
use serde_json::{Map, Value};

use super::door::InputDoor;
use super::problem::InputProblem;
use crate::document::SourceDocument;
use crate::schema_shape::{SchemaShape, shape, type_name};

/// A value for one name.
pub(super) struct InputAssignment {
    /// The name as it was typed.
    name: String,
    /// The keys to the value.
    path: Vec<String>,
    value: Value,
    door: InputDoor,
}

impl InputAssignment {
    /// Reads a `NAME=VALUE`. A text stays as it is; a value of another type is read as YAML.
    pub(super) fn read(text: &str, root: &Value, door: InputDoor) -> Result<InputAssignment, InputProblem> {
        let refused = |message: String| InputProblem {
            place: String::new(),
            message,
            hint: Some("write `--set NAME=VALUE`".to_owned()),
            missing: None,
        };
        let Some((name, value)) = text.split_once('=') else {
            return Err(refused(format!("`--set {text}` has no `=`")));
        };
        let (path, shape) = path(name, root);
        if path.iter().any(String::is_empty) {
            return Err(refused(format!("`--set {text}` has no name")));
        }
        let value = typed(&door.place(name), value, &shape, root)?;
        Ok(InputAssignment { name: name.to_owned(), path, value, door })
    }

    /// The place in messages.
    pub(super) fn place(&self) -> String {
        self.door.place(&self.name)
    }

    pub(super) fn pointer(&self) -> String {
        self.path.iter().fold(String::new(), |pointer, key| join(&pointer, key))
    }

    /// Whether one of them sets the other's value, or a part of it.
    pub(super) fn overlaps(&self, other: &InputAssignment) -> bool {
        self.path.starts_with(&other.path) || other.path.starts_with(&self.path)
    }

    /// The problem of coming after another assignment that it overlaps.
    pub(super) fn after(&self, other: &InputAssignment) -> InputProblem {
        let message = if self.path == other.path {
            format!("`{}` is set twice", self.name)
        } else {
            let (short, long) =
                if self.path.len() < other.path.len() { (&self.name, &other.name) } else { (&other.name, &self.name) };
            format!("`{short}` and `{long}` overlap")
        };
        InputProblem { place: self.place(), message, hint: None, missing: None }
    }

    /// Puts the value into an object.
    pub(super) fn put(&self, object: &mut Map<String, Value>) -> Option<InputProblem> {
        let (last, before) = self.path.split_last()?;
        let mut here = object;
        for key in before {
            let below = here.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
            match below {
                Value::Object(below) => here = below,
                other => {
                    let message = format!("`{key}` is {} in the given values, so it has no names", type_name(other));
                    return Some(InputProblem { place: self.place(), message, hint: None, missing: None });
                }
            }
        }
        here.insert(last.clone(), self.value.clone());
        None
    }
}

/// The keys that a name means, and the shape of the value there. A name of the schema may have a dot.
fn path<'s>(name: &str, root: &'s Value) -> (Vec<String>, SchemaShape<'s>) {
    let mut here = shape(root, &[root]);
    let mut rest = name;
    let mut path = Vec::new();
    loop {
        let whole = here.property(rest).map(|schemas| (rest, "", schemas));
        let first = || {
            let (key, below) = rest.split_once('.').unwrap_or((rest, ""));
            (key, below, here.property(key).unwrap_or_default())
        };
        let has_more = rest.contains('.');
        let (key, below, schemas) = whole.clone().unwrap_or_else(first);
        path.push(key.to_owned());
        here = shape(root, &schemas);
        if whole.is_some() || !has_more {
            return (path, here);
        }
        rest = below;
    }
}

fn typed(place: &str, text: &str, shape: &SchemaShape<'_>, root: &Value) -> Result<Value, InputProblem> {
    let as_text = || Value::String(text.to_owned());
    let types = shape.types(root);
    let is_allowed_text = shape.allowed().is_some_and(|values| values.iter().any(|value| value.as_str() == Some(text)));
    // An empty text is a text where one may stand: `null` can be written.
    let is_only_text =
        |types: &BTreeSet<&str>| types.iter().all(|name| *name == "string" || text.is_empty() && *name == "null");
    if is_allowed_text || types.as_ref().is_some_and(is_only_text) {
        return Ok(as_text());
    }
    let read = if matches!(text.trim(), "" | "null" | "~") {
        Ok(Value::Null)
    } else {
        SourceDocument::parse(text, place).map(|document| document.value)
    };
    match read {
        Ok(value) if types.is_none() || !shape.may_be(root, "string") => Ok(value),
        Ok(value) if !value.is_string() && shape.may_be(root, type_name(&value)) => Ok(value),
        _ if shape.may_be(root, "string") => Ok(as_text()),
        Ok(value) => Ok(value),
        Err(problems) => {
            let message = problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
            Err(InputProblem { place: place.to_owned(), message, hint: None, missing: None })
        }
    }
}
