//! What a request brings: the fields of a form, or the members of a JSON object.

use axum::Form;
use axum::extract::{FromRequest, Request};
use axum::http::header;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Fields by their names. A form has texts only; JSON may have numbers and values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields {
    /// Whether they come from a form, so that a browser waits for a page.
    pub(crate) is_form: bool,
    texts: Vec<(String, String)>,
}

impl Fields {
    /// The first value of a field, as text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.texts.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The names that are there.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|(name, _)| name.as_str())
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Members of a JSON object; values are kept as JSON, texts as they are.
    fn of_json(object: Map<String, Value>) -> Fields {
        let text = |value| match value {
            Value::String(text) => Some(text),
            Value::Null => None,
            other => Some(other.to_string()),
        };
        let texts = object.into_iter().filter_map(|(name, value)| Some((name, text(value)?))).collect();
        Fields { is_form: false, texts }
    }
}

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Fields, Failure> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("application/x-www-form-urlencoded") {
            let form = Form::<Vec<(String, String)>>::from_request(request, state).await;
            let Form(texts) =
                form.map_err(|error| Failure::bad_request(format!("the form cannot be read: {error}")))?;
            return Ok(Fields { is_form: true, texts });
        }
        let body = axum::body::Bytes::from_request(request, state).await;
        let body =
            body.map_err(|error| Failure::new(error.status(), format!("the request cannot be read: {error}")))?;
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Fields::default());
        }
        match serde_json::from_slice(&body) {
            Ok(Value::Object(object)) => Ok(Fields::of_json(object)),
            Ok(_) => Err(Failure::bad_request("the request has to be a JSON object")),
            Err(error) => Err(Failure::bad_request(format!("the request is no JSON: {error}"))),
        }
    }
}
