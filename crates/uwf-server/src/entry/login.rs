//! The login page and its cookie.

use axum::Form;
use axum::Router;
use axum::extract::{Query, State};
use axum::http::{Extensions, HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::html;
use serde::Deserialize;

use super::comes_from_here;
use super::own_path::{is_encrypted, of_cookie};
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::guard::attempts::{self, LoginVerdict};
use crate::guard::token::SECRET_VARIABLE;
use crate::guard::{RequestGuard, peer};
use crate::pages::layout;
use crate::place::{self, PageLocation};
use crate::url::{encoded, is_own_path};

/// Seconds a browser keeps the cookie: 30 days.
const KEPT: u64 = 30 * 24 * 3600;

/// Routes that need no login.
pub(crate) fn routes() -> Router<AppState> {
    Router::new().route("/login", get(page).post(log_in)).route("/logout", post(log_out))
}

/// Login path for a browser without the cookie. After the login, the browser returns to `path`.
pub(super) fn path_back_to(path: &str) -> String {
    if path == "/" { "/login".to_owned() } else { format!("/login?next={}", encoded(path)) }
}

#[derive(Deserialize)]
struct LoginQuery {
    /// The secret from the link that `uwf serve` prints.
    token: Option<String>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct LoginForm {
    secret: String,
    next: Option<String>,
}

async fn page(
    State(app): State<AppState>,
    Query(asked): Query<LoginQuery>,
    headers: HeaderMap,
    extensions: Extensions,
) -> Response {
    let next = asked.next.as_deref();
    match asked.token {
        // Any web site can make a browser request this, again and again.
        Some(token) if comes_from_another_site(&headers) => offered(&token, next),
        Some(token) => checked(&app, &headers, &extensions, &token, next),
        None => shown(&app, StatusCode::OK, None, next),
    }
}

async fn log_in(
    State(app): State<AppState>,
    headers: HeaderMap,
    extensions: Extensions,
    Form(given): Form<LoginForm>,
) -> Response {
    if !comes_from_here(&app, &headers) {
        return HttpFailure::new(StatusCode::FORBIDDEN, "this form does not come from this server").into_response();
    }
    checked(&app, &headers, &extensions, &given.secret, given.next.as_deref())
}

/// Gives the cookie to a browser that knows the secret, and redirects it to its destination.
fn checked(app: &AppState, headers: &HeaderMap, extensions: &Extensions, secret: &str, next: Option<&str>) -> Response {
    // Behind a gateway, people log in at the gateway.
    let Some(guard) = app.guard() else { return Redirect::to("/").into_response() };
    match guard.attempts.judge(&guard.secret, secret.trim(), peer(extensions)) {
        LoginVerdict::Right => with_cookie(guard, headers, guard.secret.session(), KEPT, own_path(next)),
        LoginVerdict::Wrong => {
            shown(app, StatusCode::UNAUTHORIZED, Some("This is not the secret of this server."), next)
        }
        LoginVerdict::TooMany(wait) => attempts::too_many(&guard.secret, wait),
    }
}

async fn log_out(State(app): State<AppState>, headers: HeaderMap) -> Response {
    if !comes_from_here(&app, &headers) {
        return HttpFailure::new(StatusCode::FORBIDDEN, "this form does not come from this server").into_response();
    }
    let Some(guard) = app.guard() else { return Redirect::to("/").into_response() };
    with_cookie(guard, &headers, "", 0, "/login")
}

/// Sets the cookie and redirects to a path of this server. With TLS, the browser never sends the cookie without TLS.
fn with_cookie(guard: &RequestGuard, headers: &HeaderMap, value: &str, seconds: u64, next: &str) -> Response {
    let secure = if is_encrypted(guard, headers) { "; Secure" } else { "" };
    let name = guard.cookie();
    let cookie = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    let mut response = ([(header::SET_COOKIE, cookie)], Redirect::to(next)).into_response();
    // Below the server's own path, every answer gets the path added.
    if PageLocation::current().root().is_empty() {
        place::prefix_headers(&mut response, of_cookie(guard, headers));
    }
    response
}

/// Path to redirect to after the login. Only a path of this server, so that a link to the login page can't lead to another site.
fn own_path(next: Option<&str>) -> &str {
    next.filter(|path| is_own_path(path)).unwrap_or("/")
}

/// Whether a browser follows a link from another web site. Links that are typed, or opened by another program, come from no site.
fn comes_from_another_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    site.is_some_and(|site| !["none", "same-origin"].contains(&site))
}

/// A button instead of the login that a link from another site requests.
fn offered(token: &str, next: Option<&str>) -> Response {
    let form = html! {
        form.login method="post" action="/login" {
            h1 { "uwf" }
            input type="hidden" name="secret" value=(token);
            @if let Some(next) = next { input type="hidden" name="next" value=(next); }
            button.primary autofocus { "Log in" }
        }
    };
    layout::bare("Log in", &form)
}

fn shown(app: &AppState, status: StatusCode, problem: Option<&str>, next: Option<&str>) -> Response {
    let is_chosen = app.guard().is_some_and(|guard| guard.secret.is_chosen());
    let form = html! {
        form.login method="post" action="/login" {
            h1 { "uwf" }
            @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
            label for="secret" { "Server secret" }
            input #secret name="secret" type="password" required autofocus autocomplete="current-password";
            @if let Some(next) = next { input type="hidden" name="next" value=(next); }
            button.primary { "Log in" }
            @if is_chosen {
                p.quiet { "It is the " code { (SECRET_VARIABLE) } " that " code { "uwf serve" } " was started with." }
            } @else {
                p.quiet { code { "uwf serve" } " printed a link that logs you in." }
            }
        }
    };
    (status, layout::bare("Log in", &form)).into_response()
}
