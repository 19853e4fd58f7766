//! One JSON value of a schema, out of whatever way of asking the model understands.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::error::{Error, Result};
use crate::find_json::find_json;
use crate::message::Message;
use crate::mode::{Mode, ModeCache};
use crate::reply::{Finish, Reply};
use crate::request::{ChatRequest, ResponseFormat, Tool, ToolChoice};
use crate::strict::{strict, without_nulls};
use crate::usage::Usage;

/// The property a value is wrapped in when it is not an object itself: arguments of tools have to be.
const WRAPPED: &str = "value";

/// What the value is to be.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// Name of the value, which becomes that of the tool or schema: letters, digits, `_` and `-`.
    pub name: &'a str,
    /// What the value is, for the model to read.
    pub description: &'a str,
    /// JSON Schema of the value.
    pub schema: &'a Value,
    /// Only this mode, whatever was learned about the model.
    pub mode: Option<Mode>,
}

/// One exchange on the way to a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// How it was asked for.
    pub mode: Mode,
    /// What came, if anything did.
    pub reply: Option<Reply>,
    /// Why it was not it.
    pub error: Option<Error>,
}

/// A value and how it was got.
#[derive(Debug, Clone, PartialEq)]
pub struct Structured {
    /// The value. It is JSON; whether it is valid under the schema is for the caller to check.
    pub value: Value,
    /// What it was read from: the arguments of the call, or the text.
    pub text: String,
    /// How it was asked for.
    pub mode: Mode,
    /// Counts of tokens of all attempts together.
    pub usage: Option<Usage>,
    /// All exchanges; the last is the one the value is from.
    pub attempts: Vec<Attempt>,
}

/// No value, and everything that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Unstructured {
    /// Why the last attempt failed.
    pub error: Error,
    /// All exchanges.
    pub attempts: Vec<Attempt>,
}

impl fmt::Display for Unstructured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Unstructured {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Asks for a value. Begins with what worked with this model the last time (`cache`), else with the most dependable
/// way, and steps down when the provider refuses it (400, 404, 422) or the model gives no JSON; what works is remembered.
/// Tools and format of `request` are replaced. The value is not validated.
///
/// # Errors
/// [`Unstructured`] when no way works, or something else is wrong; it carries every reply, for they were paid for.
pub fn structured(
    client: &Client,
    cache: &ModeCache,
    request: &ChatRequest,
    shape: &Shape<'_>,
) -> std::result::Result<Structured, Unstructured> {
    let known = cache.get(client.endpoint());
    let first = shape.mode.or(known).unwrap_or(Mode::ForcedTool);
    let ladder =
        Mode::from(first, client.endpoint().wire).take(if shape.mode.is_some() { 1 } else { Mode::LADDER.len() });
    let mut attempts = Vec::new();
    for mode in ladder {
        let reply = match client.chat(&prepared(request, shape, mode)) {
            Ok(reply) => reply,
            Err(error) => {
                let refused = error.is_refusal();
                attempts.push(Attempt { mode, reply: None, error: Some(error.clone()) });
                if refused { continue } else { return Err(Unstructured { error, attempts }) }
            }
        };
        match read(client, shape, mode, &reply) {
            Ok((value, text)) => {
                attempts.push(Attempt { mode, reply: Some(reply), error: None });
                if shape.mode.is_none() && known != Some(mode) {
                    // A cache that cannot be written costs one refused request the next time, no more.
                    let _ = cache.remember(client.endpoint(), mode);
                }
                return Ok(Structured { value, text, mode, usage: usage(&attempts), attempts });
            }
            Err(error) => {
                let cut = matches!(error, Error::Truncated { .. });
                attempts.push(Attempt { mode, reply: Some(reply), error: Some(error.clone()) });
                if cut {
                    return Err(Unstructured { error, attempts });
                }
            }
        }
    }
    let error = attempts.last().and_then(|attempt| attempt.error.clone());
    let none = || Error::NoValue { model: client.endpoint().model.clone(), text: String::new() };
    Err(Unstructured { error: error.unwrap_or_else(none), attempts })
}

/// The request as a mode makes it.
fn prepared(request: &ChatRequest, shape: &Shape<'_>, mode: Mode) -> ChatRequest {
    let mut request = ChatRequest { tools: Vec::new(), tool_choice: None, response_format: None, ..request.clone() };
    match mode {
        Mode::ForcedTool | Mode::ToolAuto => {
            let (name, description) = (shape.name.to_owned(), shape.description.to_owned());
            request.tools = vec![Tool { name, description, parameters: wrapped(shape.schema) }];
            request.tool_choice = Some(match mode {
                Mode::ForcedTool => ToolChoice::Tool(shape.name.to_owned()),
                _ => ToolChoice::Auto,
            });
            if mode == Mode::ToolAuto {
                let told = format!("Give your answer by calling the tool `{}`, exactly once.", shape.name);
                request.messages.push(Message::User(told));
            }
        }
        Mode::JsonSchema => {
            let wrapped = wrapped(shape.schema);
            let strict = strict(&wrapped);
            request.response_format = Some(ResponseFormat::JsonSchema {
                name: shape.name.to_owned(),
                strict: strict.is_some(),
                schema: strict.unwrap_or(wrapped),
            });
        }
        Mode::JsonObject => {
            request.response_format = Some(ResponseFormat::JsonObject);
            request.messages.push(Message::User(in_words(&wrapped(shape.schema))));
        }
        Mode::PlainText => request.messages.push(Message::User(in_words(shape.schema))),
    }
    request
}

/// The schema as part of the prompt.
fn in_words(schema: &Value) -> String {
    format!("Answer with one JSON value that is valid under this JSON Schema, and with nothing else:\n\n{schema}")
}

/// A schema of objects: the schema itself, or one with the value as its only property.
fn wrapped(schema: &Value) -> Value {
    if is_object(schema) {
        return schema.clone();
    }
    let mut inner = schema.clone();
    let mut outer = Map::new();
    outer.insert("type".to_owned(), json!("object"));
    // References begin at the root, so the definitions have to be there.
    for definitions in ["$defs", "definitions"] {
        if let Some(moved) = inner.as_object_mut().and_then(|fields| fields.shift_remove(definitions)) {
            outer.insert(definitions.to_owned(), moved);
        }
    }
    outer.insert("properties".to_owned(), json!({ WRAPPED: inner }));
    outer.insert("required".to_owned(), json!([WRAPPED]));
    Value::Object(outer)
}

fn is_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

/// The value in a reply, and the text it was read from.
fn read(client: &Client, shape: &Shape<'_>, mode: Mode, reply: &Reply) -> Result<(Value, String)> {
    let call = reply.tool_calls.iter().rfind(|call| call.name == shape.name);
    // A model that does not call the tool often writes the value instead.
    let text = call.map_or(&reply.text, |call| &call.arguments);
    let model = || client.endpoint().model.clone();
    if reply.finish == Finish::Length && serde_json::from_str::<Value>(text).is_err() {
        return Err(Error::Truncated { model: model(), partial: text.clone() });
    }
    let is_wrapped = !is_object(shape.schema) && mode != Mode::PlainText;
    let accepts = |value: &Value| match value {
        Value::Object(fields) => is_wrapped || has_required(shape.schema, fields),
        _ => !is_object(shape.schema),
    };
    let found = find_json(text, &accepts).map(|found| reread(found, shape.schema));
    let Some(found) = found.filter(|found| found.is_object() || !is_object(shape.schema)) else {
        return Err(Error::NoValue { model: model(), text: text.clone() });
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

/// All attempts together; unknown as soon as one of the replies is.
fn usage(attempts: &[Attempt]) -> Option<Usage> {
    let mut counts = attempts.iter().filter_map(|attempt| attempt.reply.as_ref()).map(|reply| reply.usage);
    counts.next()?.and_then(|first| counts.try_fold(first, |sum, next| Some(sum.plus(next?))))
}
