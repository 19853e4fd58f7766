//! `submit`: how the role's output is handed in.

use json_cas::{Schema, Violation};
use serde_json::{Map, Value, json};

/// What the model calls it by.
pub const NAME: &str = "submit";

/// What it does, for the model.
pub(crate) const DESCRIPTION: &str = "Hands in the output of your role. Call it once, when the work is done: the work ends with it. \
     What you write beside the call is kept as your report.";

/// Name of the one argument when the output is not an object: arguments of tools are always objects.
const WRAPPED: &str = "value";

/// The submit tool of one role.
#[derive(Debug, Clone, Copy)]
pub struct Submit<'a> {
    schema: &'a Schema,
}

impl<'a> Submit<'a> {
    /// For outputs of a schema.
    pub fn new(schema: &'a Schema) -> Submit<'a> {
        Submit { schema }
    }

    /// JSON Schema of its arguments: the role's own where that describes objects.
    pub fn parameters(&self) -> Value {
        let schema = self.schema.value();
        if self.is_object() {
            return schema.clone();
        }
        let mut parameters = json!({ "type": "object", "required": [WRAPPED], "additionalProperties": false });
        let mut inner = schema.clone();
        // References begin at the root, so the definitions must be there.
        for definitions in ["$defs", "definitions"] {
            if let Some(moved) = inner.as_object_mut().and_then(|fields| fields.shift_remove(definitions)) {
                parameters[definitions] = moved;
            }
        }
        parameters["properties"] = json!({ WRAPPED: inner });
        parameters
    }

    /// Returns the output in a call's arguments; `violations` returns what keeps a value from being stored.
    ///
    /// # Errors
    /// Everything that is wrong with it, as facts: a tool's answer is data to a model, not an order.
    pub fn check(
        &self,
        arguments: &Map<String, Value>,
        violations: &dyn Fn(&Value) -> Vec<Violation>,
    ) -> Result<Value, String> {
        let value = if self.is_object() {
            Value::Object(arguments.clone())
        } else {
            arguments.get(WRAPPED).cloned().ok_or_else(|| format!("invalid arguments: `{WRAPPED}` is missing"))?
        };
        let violations = violations(&value);
        if violations.is_empty() {
            return Ok(value);
        }
        let problems: Vec<String> = violations.iter().map(|violation| format!("- {violation}")).collect();
        Err(format!("not accepted, the output is not valid:\n{}", problems.join("\n")))
    }

    fn is_object(&self) -> bool {
        self.schema.value().get("type").and_then(Value::as_str) == Some("object")
    }
}
