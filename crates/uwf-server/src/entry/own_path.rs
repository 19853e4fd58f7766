//! The server's own path, which only logged-in visitors know.
//!
//! A cookie belongs to a host name, not to a port. On loopback, every user of the machine can listen on another port, direct a browser
//! there and read its cookies. So the cookie is sent only below a path that is as hard to guess as the cookie itself. A browser learns the
//! path when it logs in; answers to other clients never contain it. A separate host name for each server would work as well, but Safari
//! does not resolve `NAME.localhost`.
//!
//! TLS makes the path unnecessary: other users have no certificate for this host name, and the cookie is never sent without TLS.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use crate::app::AppState;
use crate::guard::RequestGuard;
use crate::place::{self, PageLocation};

/// Answers requests below the server's own path as if they came without it, and adds it to the paths in the answer.
pub(crate) async fn below(State(app): State<AppState>, mut request: Request, next: Next) -> Response {
    let own = app.guard().map(|guard| guard.secret.own_path());
    let Some((own, rest)) = own.and_then(|own| Some((own, inside(own, request.uri())?))) else {
        return next.run(request).await;
    };
    let Ok(uri) = rest.parse() else { return Redirect::to(&format!("{own}/")).into_response() };
    *request.uri_mut() = uri;
    let mut response = PageLocation::below(own).scope(next.run(request)).await;
    place::prefix_headers(&mut response, own);
    response
}

/// The path and query of a request without the server's own path; empty for that path alone.
fn inside(own: &str, uri: &Uri) -> Option<String> {
    let rest = uri.path_and_query()?.as_str().strip_prefix(own)?;
    (rest.is_empty() || rest.starts_with(['/', '?'])).then(|| rest.to_owned())
}

/// The path below which a browser sends the cookie. Empty if the browser uses TLS, because then every request may carry it.
pub(super) fn of_cookie<'g>(guard: &'g RequestGuard, headers: &HeaderMap) -> &'g str {
    if is_encrypted(guard, headers) { "" } else { guard.secret.own_path() }
}

/// Whether a browser uses TLS with this server or, as a header says, with a proxy. A visitor who forges it only
/// makes their own cookie less safe.
pub(super) fn is_encrypted(guard: &RequestGuard, headers: &HeaderMap) -> bool {
    guard.has_tls || headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https")
}

#[cfg(test)]
mod tests {
    use super::inside;

    #[test]
    fn only_the_whole_path_is_the_servers_own() {
        let rest = |uri: &str| inside("/~a1", &uri.parse().unwrap());
        assert_eq!(rest("/~a1/threads/X?a=/b").as_deref(), Some("/threads/X?a=/b"));
        assert_eq!(rest("/~a1").as_deref(), Some(""));
        for other in ["/", "/threads", "/~a", "/~a12", "/x/~a1/", "/%7Ea1/"] {
            assert_eq!(rest(other), None, "{other}");
        }
    }
}
