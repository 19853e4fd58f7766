//! Reads the value in a reply: the arguments of the call, or a text that is only the value.

use serde_json::Value;

use crate::error::{Error, Result};
use crate::mode::StructuredMode;
use crate::reply::{ChatReply, FinishReason};
use crate::strict::without_nulls;
use crate::whole_json::whole_json;

use super::ValueSpec;
use super::form::{WRAPPED, is_object};

/// The value in a reply of `model`, and its source text.
///
/// # Errors
/// `Truncated` or `Ended` if the reply did not end well, whatever it contains; `DifferingValues`; `NoValue`.
pub(super) fn read(
    model: &str,
    shape: &ValueSpec<'_>,
    mode: StructuredMode,
    reply: &ChatReply,
) -> Result<(Value, String)> {
    let mut calls = reply.tool_calls.iter().filter(|call| call.name == shape.name);
    let call = calls.next();
    // A model that does not call the tool often writes the value as text.
    let text = call.map_or(&reply.text, |call| &call.arguments);
    if let Some(fault) = reply.finish.fault() {
        let (model, partial) = (model.to_owned(), text.clone());
        return Err(match &reply.finish {
            FinishReason::Length(word) => Error::Truncated { model, word: word.clone(), partial },
            _ => Error::Ended { model, fault, partial },
        });
    }
    let first = call.map(|call| whole_json(&call.arguments));
    if calls.any(|other| Some(whole_json(&other.arguments)) != first) {
        return Err(Error::DifferingValues { model: model.to_owned() });
    }
    let is_wrapped = !is_object(shape.schema) && mode != StructuredMode::PlainText;
    let found = whole_json(text).map(|found| reread(found, shape.schema));
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

/// Some models encode the arguments as JSON twice.
fn reread(found: Value, schema: &Value) -> Value {
    match &found {
        Value::String(text) if is_object(schema) => yaml_tree::json_value(text).unwrap_or(found),
        _ => found,
    }
}
