//! Where a page is read: at this server itself, or behind a gateway, which has the pages of a machine below `/m/NAME`.
//!
//! No page needs to know. Links are written as if the server were reached directly (`/threads/…`); what leaves through the
//! tunnel gets the prefix here, in one place: links, forms, scripts and styles of pages, and where answers redirect to. Scripts
//! find the prefix in `data-prefix` of the root element.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The header in which a gateway says below which path a machine's pages are. Only what comes through the tunnel is believed.
pub(crate) const PREFIX_HEADER: &str = "x-forwarded-prefix";

/// The header in which it says who asks.
pub(crate) const USER_HEADER: &str = "x-uwf-user";

/// The header in which it names all its machines, for the menu: `NAME` or `NAME=away`, separated by commas.
pub(crate) const MACHINES_HEADER: &str = "x-uwf-machines";

/// The cookie that says until when somebody has seen what is done, in Unix milliseconds. Of all cookies it alone passes a
/// gateway, below the machine's path.
pub(crate) const SEEN: &str = "uwf-seen";

/// Attributes that hold a path of this server.
const PATHS: [&str; 5] = ["href", "src", "action", "formaction", "data-live"];

/// What a link ends with that leads to the gateway itself.
const OUTSIDE: &str = " data-outside>";

/// Largest page.
const MAX_PAGE: usize = 64 << 20;

tokio::task_local! {
    static PLACE: Place;
}

/// A place behind a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// What paths begin with.
    pub(crate) prefix: String,
    /// The gateway's machines, and whether they are connected.
    pub(crate) machines: Vec<(String, bool)>,
}

impl Place {
    /// Where the page is read that is being drawn; `None` at this server itself.
    pub(crate) fn current() -> Option<Place> {
        PLACE.try_with(Place::clone).ok()
    }

    fn of(headers: &HeaderMap) -> Option<Place> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let prefix = text(PREFIX_HEADER)?.to_owned();
        let machines = text(MACHINES_HEADER).unwrap_or_default().split(',').filter(|entry| !entry.is_empty());
        let machines = machines.map(|entry| match entry.split_once('=') {
            Some((name, _)) => (name.to_owned(), false),
            None => (entry.to_owned(), true),
        });
        Some(Place { prefix, machines: machines.collect() })
    }
}

/// Answers below the prefix that the gateway names.
pub(crate) async fn below_prefix(request: Request, next: Next) -> Response {
    let Some(place) = Place::of(request.headers()) else { return next.run(request).await };
    let prefix = place.prefix.clone();
    let mut response = PLACE.scope(place, next.run(request)).await;
    if let Some(target) = response.headers().get(header::LOCATION).and_then(|target| target.to_str().ok())
        && is_own_path(target)
        && let Ok(target) = HeaderValue::from_str(&format!("{prefix}{target}"))
    {
        response.headers_mut().insert(header::LOCATION, target);
    }
    if let Some(cookie) = response.headers().get(header::SET_COOKIE).and_then(|cookie| cookie.to_str().ok())
        && let Ok(cookie) = HeaderValue::from_str(&cookie.replacen("; Path=/;", &format!("; Path={prefix}/;"), 1))
    {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("text/html")) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(page) = to_bytes(body, MAX_PAGE).await else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(prefixed(&String::from_utf8_lossy(&page), &prefix)))
}

/// Whether a link leads to a path of this server; `//` begins the name of another one.
fn is_own_path(target: &str) -> bool {
    target.starts_with('/') && !target.starts_with("//")
}

/// A page of this server with the prefix before each of its paths. Only tags are looked at: what agents wrote is text, in
/// which every `<` is escaped, or the value of an attribute, in which every quote is.
fn prefixed(page: &str, prefix: &str) -> String {
    let mut out = String::with_capacity(page.len() + page.len() / 16);
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let (tag, after) = rest.split_at(end_of_tag(rest));
        if tag.ends_with(OUTSIDE) {
            out.push_str(tag);
        } else {
            push_prefixed(&mut out, tag, prefix);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Where a tag ends: at the first `>` that is in no value.
fn end_of_tag(tag: &str) -> usize {
    let mut is_value = false;
    for (at, byte) in tag.bytes().enumerate() {
        match byte {
            b'"' => is_value = !is_value,
            b'>' if !is_value => return at + 1,
            _ => {}
        }
    }
    tag.len()
}

/// A tag with the prefix before each path in it.
fn push_prefixed(out: &mut String, tag: &str, prefix: &str) {
    let mut parts = tag.split('"');
    while let Some(name) = parts.next() {
        out.push_str(name);
        let Some(value) = parts.next() else { break };
        out.push('"');
        let attribute = name.strip_suffix('=').and_then(|name| name.rsplit(char::is_whitespace).next());
        if attribute.is_some_and(|name| PATHS.contains(&name)) && is_own_path(value) {
            out.push_str(prefix);
        }
        out.push_str(value);
        out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::prefixed;

    #[test]
    fn paths_of_this_server_get_the_prefix_and_nothing_else_does() {
        for (page, expected) in [
            ("<a href=\"/threads/X?a=1\">x</a>", "<a href=\"/m/a/threads/X?a=1\">x</a>"),
            ("<a class=\"b\" href=\"/\">x</a>", "<a class=\"b\" href=\"/m/a/\">x</a>"),
            (
                "<form method=\"post\" action=\"/x\"><button formaction=\"/y\">",
                "<form method=\"post\" action=\"/m/a/x\"><button formaction=\"/m/a/y\">",
            ),
            ("<main data-live=\"/api/events\">", "<main data-live=\"/m/a/api/events\">"),
            ("<script src=\"/assets/1/a.js\"></script>", "<script src=\"/m/a/assets/1/a.js\"></script>"),
            ("<a href=\"https://x.example/\">", "<a href=\"https://x.example/\">"),
            ("<a href=\"//x.example/\">", "<a href=\"//x.example/\">"),
            ("<a href=\"#x\">", "<a href=\"#x\">"),
            ("<a href=\"/machines\" data-outside>", "<a href=\"/machines\" data-outside>"),
            ("<p>an agent wrote href=\"/x\" here</p>", "<p>an agent wrote href=\"/x\" here</p>"),
            ("<p title=\"> href=\" data-x=\"/x\">", "<p title=\"> href=\" data-x=\"/x\">"),
            ("<p title=\"href=&quot;/x&quot;\">", "<p title=\"href=&quot;/x&quot;\">"),
            ("<!DOCTYPE html><html lang=\"en\">a & b", "<!DOCTYPE html><html lang=\"en\">a & b"),
            ("", ""),
        ] {
            assert_eq!(prefixed(page, "/m/a"), expected, "{page}");
        }
    }
}
