//! Rewrites a machine's answer for the browser.
//!
//! An attacker who controls a machine controls every byte of its answer, and a browser shows that answer with a person's rights at the
//! gateway. So the gateway passes on nothing just because it looks harmless. It writes each header itself, from a few constants and values
//! that it has parsed. It draws pages around a body that it has cleaned ([`crate::untrusted_html`]). It drops everything else.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;

use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::machines::name::MachineName;
use crate::pages::layout::{DashboardPage, SENT_PAGE};
use crate::place::{self, PageLocation, SEEN, VIEWS, seen_cookie, stored_views, views_cookie};
use crate::untrusted_html;

/// Largest page of a machine, in bytes.
const MAX_PAGE: usize = 16 << 20;

/// How long a machine may take to send a whole page.
const PATIENCE: Duration = Duration::from_mins(1);

/// Longest file name of a download.
const MAX_FILE_NAME: usize = 100;

const HTML: &str = "text/html; charset=utf-8";

/// Content types that are passed on unchanged. With `nosniff`, a browser runs none of them as a script or a style sheet.
const PLAIN: [(&str, &str); 4] = [
    ("application/json", "application/json"),
    ("text/event-stream", "text/event-stream"),
    ("text/plain", "text/plain; charset=utf-8"),
    ("text/csv", "text/csv; charset=utf-8"),
];

/// Content type for everything else.
const UNKNOWN: &str = "application/octet-stream";

/// The answer of a machine, with the gateway's headers.
///
/// # Errors
/// Bad gateway if the machine redirects elsewhere or sends an invalid page.
pub(super) async fn rewritten(
    app: &AppState,
    name: &MachineName,
    method: &Method,
    answer: axum::http::Response<Incoming>,
) -> Result<Response, HttpFailure> {
    let (parts, body) = answer.into_parts();
    let place = PageLocation::current().of_machine(name);
    let mut response = match essence(&parts.headers) {
        Some(kind) if kind == SENT_PAGE && *method != Method::HEAD => page(app, name, place, body).await?,
        kind => ([(header::CONTENT_TYPE, constant(kind.as_deref()))], Body::new(body)).into_response(),
    };
    *response.status_mut() = parts.status;
    response.headers_mut().extend(passed(&parts.headers));
    let target = text(&parts.headers, &header::LOCATION).and_then(untrusted_html::own_path);
    let target = target.and_then(|target| HeaderValue::from_str(&target).ok());
    if target.is_none() && parts.status.is_redirection() {
        return Err(untrusted(name, "redirects to an address that is not its own"));
    }
    response.headers_mut().extend(target.map(|target| (header::LOCATION, target)));
    place::prefix_headers(&mut response, &name.prefix());
    Ok(response)
}

/// A page, drawn around the cleaned body from the machine.
async fn page(
    app: &AppState,
    name: &MachineName,
    place: PageLocation,
    body: Incoming,
) -> Result<Response, HttpFailure> {
    let read = tokio::time::timeout(PATIENCE, to_bytes(Body::new(body), MAX_PAGE)).await;
    let bytes =
        read.ok().and_then(Result::ok).ok_or_else(|| untrusted(name, "sends a page that is too large or too slow"))?;
    let page: DashboardPage =
        serde_json::from_slice(&bytes).map_err(|_| untrusted(name, "sends a page of another format"))?;
    let here = app.clone();
    let is_own_host = move |host: &str| here.guard().is_some_and(|guard| guard.is_own_host(host));
    let page = page.cleaned(untrusted_html::own_path, |body| untrusted_html::cleaned(body, is_own_host));
    Ok(place.sync_scope(|| page.draw(app)).into_response())
}

fn untrusted(name: &MachineName, what: &str) -> HttpFailure {
    HttpFailure::new(StatusCode::BAD_GATEWAY, format!("the machine {name} {what}"))
        .hint("check that the machine runs the same version of uwf as this gateway")
}

/// The content type without its parameters. `None` unless there is exactly one, because browsers use the last of several.
fn essence(headers: &HeaderMap) -> Option<String> {
    let kind = text(headers, &header::CONTENT_TYPE)?;
    Some(kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

fn constant(kind: Option<&str>) -> &'static str {
    match kind {
        // The body of an answer to HEAD is empty.
        Some(SENT_PAGE) => HTML,
        kind => PLAIN.iter().find(|(name, _)| Some(*name) == kind).map_or(UNKNOWN, |(_, constant)| constant),
    }
}

/// Headers that are passed on. Each is written from a parsed value.
fn passed(headers: &HeaderMap) -> Vec<(HeaderName, HeaderValue)> {
    let disposition = text(headers, &header::CONTENT_DISPOSITION).and_then(download);
    let retry = text(headers, &header::RETRY_AFTER).and_then(number).map(|seconds| seconds.to_string());
    let seen = headers.get_all(header::SET_COOKIE).iter().find_map(|cookie| {
        let cookie = cookie.to_str().ok()?;
        seen(cookie).or_else(|| views(cookie))
    });
    [(header::CONTENT_DISPOSITION, disposition), (header::RETRY_AFTER, retry), (header::SET_COOKIE, seen)]
        .into_iter()
        .filter_map(|(name, value)| Some((name, HeaderValue::from_str(&value?).ok()?)))
        .collect()
}

/// The value of a header, if there is exactly one and it is ASCII.
fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// `Content-Disposition` of a download; never `inline`.
fn download(value: &str) -> Option<String> {
    let rest = value.strip_prefix("attachment")?;
    let name = rest.strip_prefix("; filename=\"").and_then(|rest| rest.strip_suffix('"')).filter(|name| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        name.len() <= MAX_FILE_NAME
            && name.bytes().all(is_plain)
            && name.bytes().any(|byte| byte.is_ascii_alphanumeric())
    });
    Some(name.map_or_else(|| "attachment".to_owned(), |name| format!("attachment; filename=\"{name}\"")))
}

/// The cookie with saved views, checked and made again.
fn views(cookie: &str) -> Option<String> {
    let value = cookie.strip_prefix(VIEWS)?.strip_prefix('=')?.split(';').next()?;
    views_cookie(&stored_views(value))
}

/// The cookie with the time until which a person has seen finished threads.
fn seen(cookie: &str) -> Option<String> {
    let value = cookie.strip_prefix(SEEN)?.strip_prefix('=')?.split(';').next()?;
    Some(seen_cookie(number(value)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static [u8])]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn content_types_are_constants_of_the_gateway() {
        let sent = |values: &[&'static [u8]]| {
            let pairs: Vec<_> = values.iter().map(|value| ("content-type", *value)).collect();
            constant(essence(&headers(&pairs)).as_deref())
        };
        assert_eq!(sent(&[b"application/json"]), "application/json");
        assert_eq!(sent(&[b"Text/Plain; charset=latin1"]), "text/plain; charset=utf-8");
        assert_eq!(sent(&[b"text/plain;charset=utf-8,text/javascript"]), "text/plain; charset=utf-8");
        for values in [
            &[b"text/html".as_slice()][..],
            &[b"text/html;,text/javascript"],
            &[b"text/javascript"],
            &[b"text/css"],
            &[b"image/svg+xml"],
            &[b"text/plain, text/javascript"],
            &[b"text/plain", b"text/javascript"],
            &[b"text/javascript;x=\xe9"],
            &[b""],
            &[],
        ] {
            assert_eq!(sent(values), UNKNOWN, "{values:?}");
        }
    }

    #[test]
    fn only_parsed_values_of_four_headers_pass() {
        let sent = headers(&[
            ("clear-site-data", b"\"cookies\""),
            ("refresh", b"0;url=https://evil.example/"),
            ("www-authenticate", b"Basic"),
            ("link", b"</m/victim/x>; rel=prefetch"),
            ("access-control-allow-origin", b"*"),
            ("content-encoding", b"gzip"),
            ("cache-control", b"public, max-age=31536000"),
            ("set-cookie", b"uwf-7717=x; Path=/"),
            ("set-cookie", b"uwf-seen=12; Domain=example; Path=/m/victim/"),
            ("retry-after", b"7"),
            ("content-disposition", b"attachment; filename=\"cost.csv\""),
        ]);
        let passed: Vec<String> =
            passed(&sent).iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        let expected = [
            "content-disposition: attachment; filename=\"cost.csv\"",
            "retry-after: 7",
            "set-cookie: uwf-seen=12; Path=/; Max-Age=31536000; HttpOnly; SameSite=Strict",
        ];
        assert_eq!(passed, expected);
    }

    #[test]
    fn a_download_keeps_only_a_plain_name() {
        assert_eq!(download("attachment; filename=\"..\"").as_deref(), Some("attachment"));
        assert_eq!(download("attachment; filename=\"a\"; x=\"b\"").as_deref(), Some("attachment"));
        assert_eq!(download("attachment; filename=\"a/b\"").as_deref(), Some("attachment"));
        assert_eq!(download("inline"), None);
    }
}
