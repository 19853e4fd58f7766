//! The names of an input with their rules, for people and forms.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::schema_shape::{SchemaShape, shape};

/// One name of a workflow's input.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct InputField {
    /// The name.
    pub name: String,
    /// The types of its value, sorted; empty if any type is allowed.
    #[serde(rename = "type")]
    pub types: Vec<String>,
    /// Whether each thread needs a value.
    pub required: bool,
    /// The value of threads that are given none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The only values that are allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Value>>,
    /// Its meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl InputField {
    /// Its type or values and its meaning in a few words; empty if the schema has neither.
    #[must_use]
    pub fn in_words(&self) -> String {
        let kind = self.values.as_ref().map_or_else(
            || self.types.join(" or "),
            |values| {
                let values: Vec<String> = values
                    .iter()
                    .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                    .collect();
                format!("one of {}", values.join(", "))
            },
        );
        let description = self.description.as_deref().map(str::trim).unwrap_or_default();
        [kind.as_str(), description].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
    }
}

/// The names of an input in the order of its schema.
#[must_use]
pub fn fields(schema: &Value) -> Vec<InputField> {
    let whole = shape(schema, &[schema]);
    let required = whole.required();
    let field = |name: &str| {
        let below = shape(schema, &whole.property(name).unwrap_or_default());
        InputField {
            name: name.to_owned(),
            types: types(schema, &below),
            required: required.contains(&name),
            default: below.keyword("default").next().cloned(),
            values: below.allowed().map(|values| values.into_iter().cloned().collect()),
            description: below.text("description").map(str::to_owned),
        }
    };
    whole.keys().into_iter().map(field).collect()
}

fn types<'s>(root: &'s Value, shape: &SchemaShape<'s>) -> Vec<String> {
    shape.types(root).into_iter().flatten().map(str::to_owned).collect()
}
