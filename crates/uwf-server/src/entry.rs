//! Access control: the host name, the secret, and no forms of other sites.

pub(crate) mod login;
pub(crate) mod own_path;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::guard::attempts::{self, LoginVerdict};
use crate::guard::token::SECRET_VARIABLE;
use crate::guard::{RequestGuard, bearer, peer};
use crate::metrics;
use crate::respond::{cookie, wants_json};

/// Rejects requests that were meant for another server.
pub(crate) async fn expected_host(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let is_own = |guard: &RequestGuard| named.is_some_and(|host| guard.is_own_host(host));
    // A probe asks by the address of a container. Its answer reveals nothing.
    let is_probe = [metrics::HEALTH, metrics::READINESS].contains(&request.uri().path());
    // Behind a gateway, the host is the gateway's, which has already checked it.
    if is_probe || app.guard().is_none_or(is_own) {
        return next.run(request).await;
    }
    HttpFailure::new(
        StatusCode::MISDIRECTED_REQUEST,
        format!("this server is not called {}", named.unwrap_or("(nothing)")),
    )
    .hint("to use that name, start it with --host NAME")
    .into_response()
}

/// Paths of changes that are stored in the browser: its mark of seen threads, and its views. They change nothing in the storage root.
const IN_BROWSER: [&str; 2] = ["/seen", "/views"];

/// How a client proved that it is allowed in.
enum AccessProof {
    /// The request comes through the tunnel of a gateway, which has checked it.
    Tunnel,
    /// A script sent `Authorization: Bearer`.
    Bearer,
    /// A browser sent the cookie of the login page.
    Cookie,
}

/// Admits only clients that know the secret, and only changes that come from a page of this server.
pub(crate) async fn admit(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let proof = match proof(&app, &request) {
        Ok(proof) => proof,
        Err(refused) => return *refused,
    };
    let is_change = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if is_change && matches!(proof, AccessProof::Cookie) && !comes_from_here(&app, request.headers()) {
        return HttpFailure::new(StatusCode::FORBIDDEN, "this change does not come from a page of this server")
            .into_response();
    }
    if is_change && app.is_read_only() && !IN_BROWSER.contains(&request.uri().path()) {
        return HttpFailure::new(StatusCode::FORBIDDEN, "this server is read-only")
            .hint("start it without --read-only, or use the command line")
            .into_response();
    }
    next.run(request).await
}

fn proof(app: &AppState, request: &Request) -> Result<AccessProof, Box<Response>> {
    let Some(guard) = app.guard() else { return Ok(AccessProof::Tunnel) };
    if request.headers().contains_key(header::AUTHORIZATION) {
        let given = bearer(request.headers()).unwrap_or_default();
        return match guard.attempts.judge(&guard.secret, given, peer(request.extensions())) {
            LoginVerdict::Right => Ok(AccessProof::Bearer),
            LoginVerdict::Wrong => Err(Box::new(unauthorized(guard, "this is not the secret of this server"))),
            LoginVerdict::TooMany(wait) => Err(Box::new(attempts::too_many(&guard.secret, wait))),
        };
    }
    if cookie(request.headers(), &guard.cookie()).is_some_and(|value| guard.secret.is_session(value)) {
        return Ok(AccessProof::Cookie);
    }
    let wants_page = request.method() == Method::GET && !wants_json(request.headers());
    if wants_page && !is_of_api(request.uri().path()) {
        let back = request.uri().path_and_query().map_or("/", |path| path.as_str());
        return Err(Box::new(Redirect::to(&login::path_back_to(back)).into_response()));
    }
    Err(Box::new(unauthorized(guard, "this needs the secret of this server")))
}

/// Whether a path belongs to the API of this server or of a machine.
fn is_of_api(path: &str) -> bool {
    let below = path.strip_prefix("/m/").and_then(|rest| rest.find('/').and_then(|end| rest.get(end..)));
    below.unwrap_or(path).starts_with("/api/") || path == "/metrics"
}

fn unauthorized(guard: &RequestGuard, why: &str) -> Response {
    let source = match guard.secret.is_chosen() {
        true => format!("the server got it from {SECRET_VARIABLE}"),
        false => "`uwf serve` printed it".to_owned(),
    };
    let failure = HttpFailure::new(StatusCode::UNAUTHORIZED, why)
        .hint(format!("send it as `Authorization: Bearer SECRET`; {source}"));
    ([(header::WWW_AUTHENTICATE, "Bearer")], failure).into_response()
}

/// Whether a browser says that the change comes from a page of this server. Browsers send `Origin` with every POST; if it is missing,
/// `Sec-Fetch-Site` counts. With TLS the origin must have TLS as well: `http://` is another server.
fn comes_from_here(app: &AppState, headers: &HeaderMap) -> bool {
    let is_encrypted = app.guard().is_some_and(|guard| own_path::is_encrypted(guard, headers));
    is_from_here(headers, is_encrypted)
}

fn is_from_here(headers: &HeaderMap, is_encrypted: bool) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    match (text(header::ORIGIN).map(|origin| origin.split_once("://")), text(header::HOST)) {
        // A proxy may use TLS without saying so.
        (Some(Some((scheme, name))), Some(host)) => {
            name == host && (scheme == "https" || scheme == "http" && !is_encrypted)
        }
        (Some(None), _) => false,
        _ => text(header::HeaderName::from_static("sec-fetch-site")) == Some("same-origin"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_to_come_from_here() {
        let headers =
            |pairs: &[(&'static str, &'static str)]| {
                HeaderMap::from_iter(pairs.iter().map(|(name, value)| {
                    (header::HeaderName::from_static(name), header::HeaderValue::from_static(value))
                }))
            };
        let comes_from_here = |headers: &HeaderMap| is_from_here(headers, false);
        assert!(comes_from_here(&headers(&[("host", "localhost:1"), ("origin", "http://localhost:1")])));
        assert!(comes_from_here(&headers(&[("host", "localhost:1"), ("sec-fetch-site", "same-origin")])));
        assert!(!comes_from_here(&headers(&[("host", "localhost:1"), ("origin", "http://localhost:2")])));
        assert!(!comes_from_here(&headers(&[("host", "localhost:1"), ("origin", "null")])));
        assert!(!comes_from_here(&headers(&[("host", "localhost:1"), ("sec-fetch-site", "cross-site")])));
        assert!(!comes_from_here(&headers(&[("host", "localhost:1")])));
        let by = |scheme: &'static str| headers(&[("host", "x.example"), ("origin", scheme)]);
        let (plain, tls) = (by("http://x.example"), by("https://x.example"));
        assert!(is_from_here(&tls, true) && is_from_here(&tls, false) && !is_from_here(&plain, true));
        assert!(!is_from_here(&by("ftp://x.example"), false));
    }
}
