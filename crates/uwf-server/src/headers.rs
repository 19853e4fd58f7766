//! Headers of every answer: pages run and load only the server's own files, and hide from other servers where a visitor came from.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;

/// Scripts and styles only from files of this server, never inline; images also as data; no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// For everything but pages: if a browser shows such an answer by itself, it can't run, load or send anything, and has no origin.
const NO_PAGE: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// Adds the headers to an answer.
pub(crate) async fn protect(response: Response) -> Response {
    protected(response)
}

/// Adds the headers without waiting.
pub(crate) fn protected(mut response: Response) -> Response {
    // On "not modified", a browser applies the headers to the page that it already has.
    let is_kept = response.status() == StatusCode::NOT_MODIFIED;
    let is_page = is_of_kind(response.headers(), "text/html");
    let headers = response.headers_mut();
    for name in [header::REFERRER_POLICY, header::CONTENT_SECURITY_POLICY] {
        headers.remove(name);
    }
    if !is_kept {
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static(referrer_policy(is_page)));
        let policy = if is_page { POLICY } else { NO_PAGE };
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    }
    let fixed: [(HeaderName, &str); 4] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if is_of_kind(headers, "text/event-stream") {
        // nginx would hold events back until a buffer is full.
        headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    }
    response
}

/// Who learns that a request comes from this page. Pages send a referrer only to this server: with `no-referrer`, a browser would send
/// `Origin: null`, and the server could not recognize its own forms. All other answers send no referrer, among them data and the answers to
/// links with the secret.
fn referrer_policy(is_page: bool) -> &'static str {
    if is_page { "same-origin" } else { "no-referrer" }
}

fn is_of_kind(headers: &HeaderMap, kind: &str) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(kind.as_bytes()))
}
