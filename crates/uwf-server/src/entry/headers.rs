//! What a browser is told about every answer: run and load nothing but our own, tell no other server where it came from.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;

/// Scripts and styles only from files of this server, none in a page; pictures also as data; no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Adds the headers.
pub(crate) async fn protect(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let fixed: [(HeaderName, &str); 5] = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Not `no-referrer`, with which browsers hide from us, too, that a form is one of ours: they send `Origin: null`.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
        // nginx would keep events until it has a buffer full of them.
        headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    }
    response
}
