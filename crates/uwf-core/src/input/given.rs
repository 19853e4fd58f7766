//! Values as they were given, and where each came from.

use std::collections::BTreeMap;

use json_cas::pointer::join;
use serde_json::{Map, Value};

use super::assignment::InputAssignment;
use super::door::InputDoor;
use super::problem::InputProblem;
use crate::document::SourceDocument;

/// The problem of an input of another type.
pub const NOT_A_MAPPING: &str = "the input must be a mapping of names to values";

/// The values for a new thread.
#[derive(Clone, Debug, Default)]
pub struct InputRequest {
    /// All values at once.
    pub values: Option<InputValues>,
    /// Assignments `NAME=VALUE`, which win over the values. Each is typed by the schema.
    pub set: Vec<String>,
    /// How the values came.
    pub door: InputDoor,
}

/// An object of values.
#[derive(Clone, Debug)]
pub enum InputValues {
    /// A file that a person wrote.
    Document(Box<SourceDocument>),
    /// A value that a program made.
    Value {
        /// The object.
        value: Value,
        /// Its name in messages, such as `input`.
        origin: String,
    },
}

impl InputRequest {
    /// Whether nothing was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_none() && self.set.is_empty()
    }

    /// The values together, with their places, and the problems of reading them.
    pub(super) fn gather(&self, root: &Value) -> (Map<String, Value>, ValuePlaces<'_>, Vec<InputProblem>) {
        let mut places = ValuePlaces { values: self.values.as_ref(), set: BTreeMap::new() };
        let mut problems = Vec::new();
        let mut gathered = Map::new();
        match self.values.as_ref().map(InputValues::value) {
            None => {}
            Some(Value::Object(values)) => gathered = values.clone(),
            Some(_) => problems.push(InputProblem {
                place: places.place_of(""),
                message: NOT_A_MAPPING.to_owned(),
                hint: None,
                missing: None,
            }),
        }
        let mut read: Vec<InputAssignment> = Vec::new();
        for text in &self.set {
            let assignment = match InputAssignment::read(text, root, self.door) {
                Ok(assignment) => assignment,
                Err(problem) => {
                    problems.push(problem);
                    continue;
                }
            };
            if let Some(other) = read.iter().find(|other| other.overlaps(&assignment)) {
                problems.push(assignment.after(other));
                continue;
            }
            if let Some(problem) = assignment.put(&mut gathered) {
                problems.push(problem);
            }
            places.set.insert(assignment.pointer(), assignment.place());
            read.push(assignment);
        }
        (gathered, places, problems)
    }
}

impl InputValues {
    fn value(&self) -> &Value {
        match self {
            InputValues::Document(document) => &document.value,
            InputValues::Value { value, .. } => value,
        }
    }
}

/// Where each value came from.
pub(super) struct ValuePlaces<'g> {
    values: Option<&'g InputValues>,
    /// Pointer → the place of its assignment.
    set: BTreeMap<String, String>,
}

impl ValuePlaces<'_> {
    /// The place of the value at a pointer, or of the nearest value around it.
    pub(super) fn place_of(&self, pointer: &str) -> String {
        let around = std::iter::successors(Some(pointer), |pointer| pointer.rfind('/').map(|end| &pointer[..end]));
        if let Some(place) = around.filter_map(|pointer| self.set.get(pointer)).next() {
            return place.clone();
        }
        let below = join(pointer, "");
        if let Some((_, place)) = self.set.iter().find(|(set, _)| !pointer.is_empty() && set.starts_with(&below)) {
            return place.clone();
        }
        match self.values {
            Some(InputValues::Document(document)) => document.place(pointer),
            Some(InputValues::Value { origin, .. }) => origin.clone(),
            None => String::new(),
        }
    }
}
