//! Adds a report to errors that come from below the routes, such as an unsupported method or an unreadable form, so that they look like all
//! other errors.

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::failure::HttpFailure;
use crate::headers;

/// Most bytes read of an error's text; every such text is shorter.
const MOST_WORDS: usize = 64 << 10;

/// Adds a report to an error that has none, unless it is a page.
pub(crate) async fn reported(request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let response = next.run(request).await;
    match is_bare(&response) {
        true => report(&method, response).await,
        false => response,
    }
}

/// Whether an error has at most one line of text.
fn is_bare(response: &Response) -> bool {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    (status.is_client_error() || status.is_server_error())
        && response.extensions().get::<HttpFailure>().is_none()
        && kind.is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"))
}

async fn report(method: &Method, response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let words = to_bytes(body, MOST_WORDS).await.unwrap_or_default();
    let failure = failure(method, parts.status, &parts.headers, String::from_utf8_lossy(&words).trim());
    let mut reported = failure.into_response();
    for (name, value) in &parts.headers {
        // The headers of the old body don't apply to the new one.
        if ![header::CONTENT_TYPE, header::CONTENT_LENGTH].contains(name) {
            reported.headers_mut().append(name, value.clone());
        }
    }
    reported
}

fn failure(method: &Method, status: StatusCode, headers: &HeaderMap, words: &str) -> HttpFailure {
    if status == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = headers.get(header::ALLOW).and_then(|allowed| allowed.to_str().ok()).unwrap_or_default();
        let failure = HttpFailure::new(status, format!("this path does not take {method}"));
        return if allowed.is_empty() {
            failure
        } else {
            failure.hint(format!("it takes {}", allowed.replace(',', ", ")))
        };
    }
    let reason = || status.canonical_reason().unwrap_or("the request is refused").to_owned();
    HttpFailure::new(status, if words.is_empty() { reason() } else { words.to_owned() })
}

/// The whole answer, as raw bytes, to input that is not an HTTP request. The connection ends after it.
pub(crate) fn of_no_request(status: StatusCode) -> Vec<u8> {
    let why = match status {
        StatusCode::URI_TOO_LONG => "the path of the request is too long",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => "the request has too many headers, or too long ones",
        _ => "this is not an HTTP/1.1 request",
    };
    let failure = HttpFailure::new(status, why);
    let body = failure.report().to_string();
    let response = headers::protected(failure.into_response());
    let mut answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\n").into_bytes();
    for (name, value) in response.headers() {
        if name != header::CONTENT_LENGTH {
            answer.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
    }
    answer.extend(format!("content-length: {}\r\n\r\n{body}", body.len()).into_bytes());
    answer
}
