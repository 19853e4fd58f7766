//! Input of a request: the fields of a form, or the members of a JSON object.

use serde_json::{Map, Value};

/// Fields by name. A form has only texts; JSON may have other values.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestFields {
    /// Whether they come from a form, so that the browser expects a page.
    pub(crate) is_form: bool,
    texts: Vec<(String, String)>,
    /// Names of the fields whose value is a JSON array or object.
    structured: Vec<String>,
}

impl RequestFields {
    /// The first value of a field, as text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.texts.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether a field is a JSON array or object, which is no value for an option.
    pub(crate) fn is_structured(&self, name: &str) -> bool {
        self.structured.iter().any(|known| known == name)
    }

    /// The names of all fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|(name, _)| name.as_str())
    }

    /// All fields.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Fields of a form, which sends the lines of a text area with CR LF.
    pub(crate) fn of_form(texts: Vec<(String, String)>) -> RequestFields {
        let texts = texts.into_iter().map(|(name, value)| (name, value.replace("\r\n", "\n"))).collect();
        RequestFields { is_form: true, texts, structured: Vec::new() }
    }

    /// Members of a JSON object. Texts are kept as they are, other values as JSON.
    pub(crate) fn of_json(object: Map<String, Value>) -> RequestFields {
        let text = |value| match value {
            Value::String(text) => Some(text),
            Value::Null => None,
            other => Some(other.to_string()),
        };
        let is_structured = |value: &Value| value.is_array() || value.is_object();
        let structured =
            object.iter().filter(|(_, value)| is_structured(value)).map(|(name, _)| name.clone()).collect();
        let texts = object.into_iter().filter_map(|(name, value)| Some((name, text(value)?))).collect();
        RequestFields { is_form: false, texts, structured }
    }
}
