//! Parses fields from a request.

use axum::Form;
use axum::extract::{FromRequest, Request};
use axum::http::header;
use json_cas::json_value;
use serde_json::Value;

use crate::failure::HttpFailure;
use crate::fields::RequestFields;

impl<S: Send + Sync> FromRequest<S> for RequestFields {
    type Rejection = HttpFailure;

    async fn from_request(request: Request, state: &S) -> Result<RequestFields, HttpFailure> {
        let fields = read(request, state).await?;
        // Fields become arguments and texts of files, which cannot contain NUL.
        let has_nul = |(name, text): &(&str, &str)| name.contains('\0') || text.contains('\0');
        let refused = fields.all().find(has_nul).map(|(name, _)| format!("the field {name:?} has a NUL symbol"));
        refused.map_or(Ok(fields), |why| Err(HttpFailure::bad_request(why)))
    }
}

async fn read<S: Send + Sync>(request: Request, state: &S) -> Result<RequestFields, HttpFailure> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("application/x-www-form-urlencoded") {
        let form = Form::<Vec<(String, String)>>::from_request(request, state).await;
        let Form(texts) =
            form.map_err(|error| HttpFailure::new(error.status(), format!("the form cannot be read: {error}")))?;
        return Ok(RequestFields::of_form(texts));
    }
    let body = axum::body::Bytes::from_request(request, state).await;
    let body =
        body.map_err(|error| HttpFailure::new(error.status(), format!("the request cannot be read: {error}")))?;
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(RequestFields::default());
    }
    let text = str::from_utf8(&body)
        .map_err(|error| HttpFailure::bad_request(format!("the request is not UTF-8: {error}")))?;
    match json_value(text) {
        Ok(Value::Object(object)) => Ok(RequestFields::of_json(object)),
        Ok(_) => Err(HttpFailure::bad_request("the request must be a JSON object")),
        Err(error) => Err(HttpFailure::bad_request(format!("the request can't be read: {error}"))),
    }
}
