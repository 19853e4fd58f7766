//! Reads a verified delivery. Its sender is known, but strangers may have written a part, such as the title of an issue.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, StatusCode, header};
use serde_json::Value;
use url::form_urlencoded;
use uwf_engine::verbs::hook::{self, HookDelivery};

use crate::failure::HttpFailure;

/// The deepest payload. Processes pass it on inside other JSON, which is read up to 128 levels.
const MAX_DEPTH: usize = 100;

/// Headers that expressions never see: they are credentials, not data.
const HIDDEN: [&str; 5] = ["authorization", "cookie", "proxy-authorization", "x-hub-signature", "x-hub-signature-256"];

/// The delivery in a request.
///
/// # Errors
/// 400 for a body that is not JSON or an unusable id, 415 for another type of content.
pub(super) fn delivery(id: String, headers: &HeaderMap, body: &[u8]) -> Result<HookDelivery, HttpFailure> {
    if let Some(why) = hook::fault_of_delivery(&id) {
        return Err(HttpFailure::bad_request(why));
    }
    let payload = payload(headers, body)?;
    if depth(&payload) > MAX_DEPTH {
        return Err(HttpFailure::bad_request(format!("the payload is nested more than {MAX_DEPTH} deep")));
    }
    let mut readable = BTreeMap::new();
    for name in headers.keys().filter(|name| !HIDDEN.contains(&name.as_str())) {
        let values: Vec<&str> = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
        readable.insert(name.as_str().to_owned(), values.join(", "));
    }
    Ok(HookDelivery { delivery: id, headers: readable, payload })
}

fn payload(headers: &HeaderMap, body: &[u8]) -> Result<Value, HttpFailure> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind.as_str() {
        "application/json" => json(
            str::from_utf8(body)
                .map_err(|error| HttpFailure::bad_request(format!("the body is not UTF-8: {error}")))?,
        ),
        "application/x-www-form-urlencoded" => {
            let field = form_urlencoded::parse(body).find(|(name, _)| name == "payload");
            json(&field.ok_or_else(|| HttpFailure::bad_request("the form has no field `payload`"))?.1)
        }
        _ => Err(HttpFailure::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "a delivery is application/json, or application/x-www-form-urlencoded with a field `payload`",
        )),
    }
}

fn json(text: &str) -> Result<Value, HttpFailure> {
    json_cas::json_value(text).map_err(|error| HttpFailure::bad_request(format!("the payload is not JSON: {error}")))
}

/// Levels of arrays and objects. The parser has limited them already.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
