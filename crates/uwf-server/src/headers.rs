//! What a browser is told about every answer: run and load nothing but our own, tell no other server where it came from.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;

/// Scripts and styles only from files of this server, none in a page; pictures also as data; no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// For everything that is no page: if a browser shows it by itself, it can't run, load or send anything, and is of no origin.
const NO_PAGE: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// Adds the headers.
pub(crate) async fn protect(response: Response) -> Response {
    protected(response)
}

/// The same at once.
pub(crate) fn protected(mut response: Response) -> Response {
    // Of an answer "not modified" a browser takes over the headers for the page that it has.
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
        // nginx would keep events until it has a buffer full of them.
        headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    }
    response
}

/// Whom a browser tells that it comes from here. From a page only this server: with `no-referrer` it would hide from us that a
/// form is one of ours, and send `Origin: null`. All other answers send no referrer: links with the secret among them, data.
fn referrer_policy(is_page: bool) -> &'static str {
    if is_page { "same-origin" } else { "no-referrer" }
}

fn is_of_kind(headers: &HeaderMap, kind: &str) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(kind.as_bytes()))
}
