//! The path below which a page is served.
//!
//! Pages don't need to know it. They write links as if the server had the whole address for itself (`/threads/…`). When a page is drawn,
//! [`PageLocation::prefixed`] adds the server's own path ([`crate::entry::own_path`]), and `/m/NAME` on a page of a machine.

use axum::http::{HeaderValue, header};
use axum::response::Response;
use url::form_urlencoded;

use crate::machines::name::MachineName;
use crate::url::is_own_path;

/// The header in which a gateway names the client. A machine trusts it because it comes through the tunnel.
pub(crate) const USER_HEADER: &str = "x-uwf-user";

/// The cookie with the time until which a person has seen finished threads, in Unix milliseconds. A gateway passes on only this cookie,
/// [`VIEWS`] and [`ZONE`], and only below the path of the machine.
pub(crate) const SEEN: &str = "uwf-seen";

/// The cookie of [`SEEN`] with a time in Unix milliseconds, for all pages of this server.
pub(crate) fn seen_cookie(unix_ms: u64) -> String {
    format!("{SEEN}={unix_ms}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Strict")
}

/// The cookie with the names of saved views and their queries, in the form of a query.
pub(crate) const VIEWS: &str = "uwf-views";

/// The cookie with the name of the reader's time zone, which a script sets.
pub(crate) const ZONE: &str = "uwf-zone";

/// Most bytes of [`VIEWS`]. Browsers keep 4096.
const MAX_VIEWS: usize = 3500;

/// The views in the value of the cookie [`VIEWS`], with their queries. Other texts than queries are left out: they could lead elsewhere.
pub(crate) fn stored_views(value: &str) -> Vec<(String, String)> {
    let views = form_urlencoded::parse(value.as_bytes()).into_owned();
    views.filter(|(_, query)| query.starts_with('?')).collect()
}

/// The cookie of [`VIEWS`] with these views; `None` if it would be too long for a browser.
pub(crate) fn views_cookie(views: &[(String, String)]) -> Option<String> {
    let stored = form_urlencoded::Serializer::new(String::new()).extend_pairs(views).finish();
    let is_short = stored.len() <= MAX_VIEWS;
    is_short.then(|| format!("{VIEWS}={stored}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Strict"))
}

/// Attributes that hold a path of this server.
const PATHS: [&str; 6] = ["href", "src", "action", "formaction", "data-live", "data-prefix"];

/// The end of a tag whose link goes from a machine's page to the gateway.
const OUTSIDE: &str = " data-outside>";

tokio::task_local! {
    static PLACE: PageLocation;
}

/// Where a page is served.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PageLocation {
    /// Secret path of this server; empty if its pages are at `/`.
    own: String,
    /// The machine whose page this is; `None` for this server's own pages.
    machine: Option<MachineName>,
}

impl PageLocation {
    /// The place of the page that is being drawn.
    pub(crate) fn current() -> PageLocation {
        PLACE.try_with(PageLocation::clone).unwrap_or_default()
    }

    /// This server's pages below its own path.
    pub(crate) fn below(own: &str) -> PageLocation {
        PageLocation { own: own.to_owned(), machine: None }
    }

    /// The pages of a machine at this place.
    pub(crate) fn of_machine(self, name: &MachineName) -> PageLocation {
        PageLocation { machine: Some(name.clone()), ..self }
    }

    /// Runs `work` with this as the current place.
    pub(crate) async fn scope<F: Future>(self, work: F) -> F::Output {
        PLACE.scope(self, work).await
    }

    /// Runs `work` with this as the current place, without waiting for anything.
    pub(crate) fn sync_scope<T>(self, work: impl FnOnce() -> T) -> T {
        PLACE.sync_scope(self, work)
    }

    /// The machine whose page this is.
    pub(crate) fn machine(&self) -> Option<&MachineName> {
        self.machine.as_ref()
    }

    /// The path of the gateway's own pages, without `/` at its end.
    pub(crate) fn root(&self) -> &str {
        &self.own
    }

    /// The path before every path of the page.
    pub(crate) fn prefix(&self) -> String {
        self.machine.as_ref().map_or_else(|| self.own.clone(), |name| format!("{}{}", self.own, name.prefix()))
    }

    /// A page with the prefix added to each path in its tags. Agents' texts can't look like tags: in text every `<` is escaped, and in
    /// attributes every quote.
    pub(crate) fn prefixed(&self, page: String) -> String {
        let prefix = self.prefix();
        if prefix.is_empty() {
            return page;
        }
        let mut out = String::with_capacity(page.len() + page.len() / 16);
        let mut rest = page.as_str();
        while let Some(start) = rest.find('<') {
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            let (tag, after) = rest.split_at(end_of_tag(rest));
            push_prefixed(&mut out, tag, if tag.ends_with(OUTSIDE) { &self.own } else { &prefix });
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

/// Adds a prefix to the paths in an answer's headers: redirects, and the paths of cookies.
pub(crate) fn prefix_headers(response: &mut Response, prefix: &str) {
    let headers = response.headers_mut();
    let target = headers.get(header::LOCATION).and_then(|target| target.to_str().ok());
    let target = target.filter(|target| is_own_path(target)).map(|target| format!("{prefix}{target}"));
    if let Some(target) = target.and_then(|target| HeaderValue::from_str(&target).ok()) {
        headers.insert(header::LOCATION, target);
    }
    let cookies: Vec<HeaderValue> = headers
        .get_all(header::SET_COOKIE)
        .iter()
        .filter_map(|cookie| cookie.to_str().ok())
        .filter_map(|cookie| HeaderValue::from_str(&cookie.replacen("; Path=/", &format!("; Path={prefix}/"), 1)).ok())
        .collect();
    headers.remove(header::SET_COOKIE);
    headers.extend(cookies.into_iter().map(|cookie| (header::SET_COOKIE, cookie)));
}

/// End of a tag: after the first `>` outside a value.
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

/// Appends a tag with the prefix added to each path.
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
    use axum::response::IntoResponse;

    use super::*;

    fn machine() -> PageLocation {
        PageLocation::below("/~s").of_machine(&"a".parse().unwrap())
    }

    #[test]
    fn only_paths_of_this_server_get_the_prefix() {
        for (page, expected) in [
            ("<a href=\"/threads/X?a=1\">x</a>", "<a href=\"/~s/m/a/threads/X?a=1\">x</a>"),
            ("<a class=\"b\" href=\"/\">x</a>", "<a class=\"b\" href=\"/~s/m/a/\">x</a>"),
            ("<form method=\"post\" action=\"/a\">", "<form method=\"post\" action=\"/~s/m/a/a\">"),
            ("<main data-live=\"/api/events\">", "<main data-live=\"/~s/m/a/api/events\">"),
            ("<script src=\"/assets/x\"></script>", "<script src=\"/~s/m/a/assets/x\"></script>"),
            ("<a href=\"/\" data-outside>x</a>", "<a href=\"/~s/\" data-outside>x</a>"),
            ("<a href=\"//evil.example\">x</a>", "<a href=\"//evil.example\">x</a>"),
            ("<a href=\"https://x.example/a\">x</a>", "<a href=\"https://x.example/a\">x</a>"),
            ("<a href=\"#main\" title=\"href=/x\">x</a>", "<a href=\"#main\" title=\"href=/x\">x</a>"),
            ("<p>a href=\"/x\" &lt;a href=\"/x\"&gt;</p>", "<p>a href=\"/x\" &lt;a href=\"/x\"&gt;</p>"),
            ("<p title=\"&lt;a href=/x> <b\" id=\"/x\">", "<p title=\"&lt;a href=/x> <b\" id=\"/x\">"),
        ] {
            assert_eq!(machine().prefixed(page.to_owned()), expected);
        }
        let page = "<a href=\"/x\">".to_owned();
        assert_eq!(PageLocation::default().prefixed(page.clone()), page);
    }

    #[test]
    fn redirects_and_cookies_get_the_prefix() {
        let cookies = [(header::SET_COOKIE, "a=1; Path=/; HttpOnly"), (header::LOCATION, "/threads?x=/y")];
        let mut response = cookies.into_response();
        response.headers_mut().append(header::SET_COOKIE, HeaderValue::from_static("b=2; Path=/m/a/; HttpOnly"));
        prefix_headers(&mut response, "/~s");
        let all: Vec<&HeaderValue> = response.headers().get_all(header::SET_COOKIE).iter().collect();
        assert_eq!(all, ["a=1; Path=/~s/; HttpOnly", "b=2; Path=/~s/m/a/; HttpOnly"]);
        assert_eq!(response.headers()[header::LOCATION], "/~s/threads?x=/y");
        let mut elsewhere = [(header::LOCATION, "https://x.example/")].into_response();
        prefix_headers(&mut elsewhere, "/~s");
        assert_eq!(elsewhere.headers()[header::LOCATION], "https://x.example/");
    }
}
