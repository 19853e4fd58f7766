//! The value in a reply, wherever the model has put it.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::find_json::find_json;
use crate::mode::Mode;
use crate::reply::{ChatReply, Finish};
use crate::strict::without_nulls;

use super::Shape;
use super::form::{WRAPPED, is_object};

/// The value in a reply of `model`, and the text it was read from.
///
/// # Errors
/// `NoValue`, or `Truncated` when the reply ends before its value does.
pub(super) fn read(model: &str, shape: &Shape<'_>, mode: Mode, reply: &ChatReply) -> Result<(Value, String)> {
    let call = reply.tool_calls.iter().rfind(|call| call.name == shape.name);
    // A model that does not call the tool often writes the value instead.
    let text = call.map_or(&reply.text, |call| &call.arguments);
    if reply.finish == Finish::Length && serde_json::from_str::<Value>(text).is_err() {
        return Err(Error::Truncated { model: model.to_owned(), partial: text.clone() });
    }
    let is_wrapped = !is_object(shape.schema) && mode != Mode::PlainText;
    let accepts = |value: &Value| match value {
        Value::Object(fields) => is_wrapped || has_required(shape.schema, fields),
        _ => !is_object(shape.schema),
    };
    let found = find_json(text, &accepts).map(|found| reread(found, shape.schema));
    let Some(found) = found.filter(|found| found.is_object() || !is_object(shape.schema)) else {
        return Err(Error::NoValue { model: model.to_owned(), text: text.clone() });
    };
    let value = match found {
        Value::Object(mut fields) if is_wrapped && fields.len() == 1 && fields.contains_key(WRAPPED) => {
            fields.remove(WRAPPED).unwrap_or_default()
        }
        other => other,
    };
    Ok((without_nulls(value, shape.schema), text.clone()))
}

/// Some models write the arguments as a text that is JSON once more.
fn reread(found: Value, schema: &Value) -> Value {
    match &found {
        Value::String(text) if is_object(schema) => serde_json::from_str(text).unwrap_or(found),
        _ => found,
    }
}

fn has_required(schema: &Value, fields: &Map<String, Value>) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str).all(|name| fields.contains_key(name))
}
