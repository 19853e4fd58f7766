//! Decides between page and JSON, and avoids sending an answer again that the client already has.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::failure::HttpFailure;

/// Answers up to this size get an `ETag`: pages and reports, not streams.
const MAX_TAGGED: u64 = 8 << 20;

/// Whether a client wants JSON rather than a page. A browser also accepts `text/html`.
pub(crate) fn wants_json(headers: &HeaderMap) -> bool {
    let accepted = |kind| {
        headers
            .get_all(header::ACCEPT)
            .iter()
            .any(|value| value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains(kind)))
    };
    accepted("application/json") && !accepted("text/html")
}

/// The value of a cookie.
pub(crate) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = pairs.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Tags answers to GET by their content, and sends 304 to a client that already has that content. So a page that is requested after every
/// change is sent only if it looks different.
pub(crate) async fn tagged(request: Request, next: Next) -> Response {
    let is_get = request.method() == Method::GET;
    let known = request.headers().get(header::IF_NONE_MATCH).cloned();
    let response = next.run(request).await;
    if !is_get || response.status() != StatusCode::OK || response.headers().contains_key(header::ETAG) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let size = axum::body::HttpBody::size_hint(&body).exact();
    if size.is_none_or(|size| size > MAX_TAGGED) {
        return Response::from_parts(parts, body);
    }
    let bytes = match to_bytes(body, usize::MAX).await {
        Ok(bytes) => bytes,
        Err(error) => return HttpFailure::internal(error).into_response(),
    };
    let tag = format!("\"{:016x}\"", json_cas::xxh64(&bytes).as_u64());
    if let Ok(value) = HeaderValue::from_str(&tag) {
        parts.headers.insert(header::ETAG, value);
    }
    parts.headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
    if known.is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.remove(header::CONTENT_TYPE);
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, Body::from(bytes))
}
