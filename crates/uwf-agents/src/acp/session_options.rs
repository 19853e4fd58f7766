//! Modes and models that a new session offers. Agents offer them as configuration options, older agents as separate lists.

use serde_json::{Value, json};

/// A choice, as a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOption {
    /// Method of the request.
    pub method: &'static str,
    /// `mode` or `model`.
    pub what: &'static str,
    /// The chosen value.
    pub value: String,
    /// The configuration option, if it is one.
    option: Option<String>,
}

impl SessionOption {
    /// Parameters of the request.
    pub fn params(&self, session: &str) -> Value {
        let value = &self.value;
        match (&self.option, self.what) {
            (Some(option), _) => json!({ "sessionId": session, "configId": option, "value": value }),
            (None, "mode") => json!({ "sessionId": session, "modeId": value }),
            (None, _) => json!({ "sessionId": session, "modelId": value }),
        }
    }
}

/// Names for the model that an agent chooses.
const CHOSEN_LATER: [&str; 2] = ["default", "auto"];

/// The choice of a mode in the reply to `session/new`.
///
/// # Errors
/// The modes on offer, if this one is not among them.
pub fn mode(new: &Value, asked: &str) -> Result<SessionOption, Vec<String>> {
    choice(new, asked, "mode", "session/set_mode", ("/modes/availableModes", "id"))
}

/// The choice of a model in the reply to `session/new`.
///
/// # Errors
/// The models on offer, if this one is not among them.
pub fn model(new: &Value, asked: &str) -> Result<SessionOption, Vec<String>> {
    choice(new, asked, "model", "session/set_model", ("/models/availableModels", "modelId"))
}

/// The model of a new session, by the agent's name for it; `None` if it says none, or that the agent chooses one.
#[must_use]
pub fn current_model(new: &Value) -> Option<&str> {
    let listed = new.pointer("/models/currentModelId");
    let current = listed.or_else(|| option_for(new, "model")?.get("currentValue"))?.as_str()?;
    Some(current).filter(|model| !CHOSEN_LATER.contains(model))
}

/// The configuration option of a new session for something.
fn option_for<'n>(new: &'n Value, what: &str) -> Option<&'n Value> {
    let options = new.get("configOptions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    options.iter().find(|option| option.get("category").and_then(Value::as_str) == Some(what))
}

fn choice(
    new: &Value,
    asked: &str,
    what: &'static str,
    method: &'static str,
    (list, key): (&str, &str),
) -> Result<SessionOption, Vec<String>> {
    let listed = texts(new.pointer(list), key);
    if listed.iter().any(|known| known == asked) {
        return Ok(SessionOption { method, what, value: asked.to_owned(), option: None });
    }
    // Some agents put the provider before the id; people know the name.
    let items = new.pointer(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let named = items.iter().find(|item| item.get("name").and_then(Value::as_str) == Some(asked));
    if let Some(id) = named.and_then(|item| item.get(key)).and_then(Value::as_str) {
        return Ok(SessionOption { method, what, value: id.to_owned(), option: None });
    }
    let option = option_for(new, what);
    let values = option.map(option_values).unwrap_or_default();
    let id = option.and_then(|option| option.get("id")).and_then(Value::as_str);
    match id {
        Some(id) if values.iter().any(|known| known == asked) => Ok(SessionOption {
            method: "session/set_config_option",
            what,
            value: asked.to_owned(),
            option: Some(id.to_owned()),
        }),
        _ => Err(if listed.is_empty() { values } else { listed }),
    }
}

/// Values of a configuration option. They may be grouped.
fn option_values(option: &Value) -> Vec<String> {
    let mut values = texts(option.get("options"), "value");
    let groups = option.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    values.extend(groups.iter().flat_map(|group| texts(group.get("options"), "value")));
    values
}

fn texts(list: Option<&Value>, key: &str) -> Vec<String> {
    let items = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| Some(item.get(key)?.as_str()?.to_owned())).collect()
}
