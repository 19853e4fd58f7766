//! `submit`: submits the role's output.

use json_cas::{CompiledSchema, SchemaViolation};
use serde_json::{Map, Value, json};

/// Its name for the model.
pub const NAME: &str = "submit";

/// Its description for the model.
pub(crate) const DESCRIPTION: &str = "Hands in the output of your role. Call it once, when the work is done: the call \
                                      ends the work. Text beside the call is kept as your report.";

/// Name of the only argument if the output is not an object: arguments of tools are always objects.
const WRAPPED: &str = "value";

/// The submit tool of one role.
#[derive(Debug, Clone, Copy)]
pub struct SubmitTool<'a> {
    schema: &'a CompiledSchema,
}

impl<'a> SubmitTool<'a> {
    /// The tool for outputs of this schema.
    pub fn new(schema: &'a CompiledSchema) -> SubmitTool<'a> {
        SubmitTool { schema }
    }

    /// JSON Schema of its arguments: the role's own schema if that describes objects.
    pub fn parameters(&self) -> Value {
        let schema = self.schema.value();
        if self.is_object() {
            return schema.clone();
        }
        let mut parameters = json!({ "type": "object", "required": [WRAPPED], "additionalProperties": false });
        let mut inner = schema.clone();
        // References start at the root, so the definitions must be there.
        for definitions in ["$defs", "definitions"] {
            if let Some(moved) = inner.as_object_mut().and_then(|fields| fields.shift_remove(definitions)) {
                parameters[definitions] = moved;
            }
        }
        parameters["properties"] = json!({ WRAPPED: inner });
        parameters
    }

    /// Returns the output in a call's arguments; `violations` returns the reasons why a value cannot be stored.
    ///
    /// # Errors
    /// Everything that is wrong with it, stated as facts: a model treats a tool's answer as data, not as an order.
    pub fn check(
        &self,
        arguments: &Map<String, Value>,
        violations: &dyn Fn(&Value) -> Vec<SchemaViolation>,
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
