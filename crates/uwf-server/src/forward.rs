//! `/m/NAME/…`: forwards a request to a machine. The gateway rewrites the answer ([`answer`]). Bodies stream in both directions. A browser
//! that disconnects also ends the request on the machine.

mod answer;

use std::net::IpAddr;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::any;

use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::guard;
use crate::machines::MachineGateway;
use crate::machines::name::{MachineName, NotAName};
use crate::place::{SEEN, USER_HEADER, VIEWS, ZONE};
use crate::respond::cookie;

/// Request headers that are forwarded to a machine. Cookies, `Authorization` and the path in `Referer` stay at the gateway.
const FORWARDED: [HeaderName; 5] = [
    header::ACCEPT,
    header::ACCEPT_LANGUAGE,
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    HeaderName::from_static("last-event-id"),
];

pub(crate) fn routes() -> Router<AppState> {
    Router::new()
        .route("/m/{name}", any(first_page))
        .route("/m/{name}/", any(forward))
        .route("/m/{name}/{*path}", any(forward))
}

/// Redirects to the machine's first page: links on it begin below the machine's name.
async fn first_page(Path(name): Path<String>) -> Result<Response, HttpFailure> {
    let name = machine(&name)?;
    Ok(Redirect::permanent(&format!("{}/", name.prefix())).into_response())
}

async fn forward(
    State(app): State<AppState>,
    Path(parts): Path<Vec<(String, String)>>,
    request: Request,
) -> Result<Response, HttpFailure> {
    let Some(gateway) = app.gateway() else {
        return Err(HttpFailure::not_found("this server is not a gateway").hint("start it with --gateway"));
    };
    let name = machine(parts.first().map(|(_, name)| name.as_str()).unwrap_or_default())?;
    let Some(mut requests) = gateway.requests(&name) else { return Err(away(gateway, &name).await) };
    let request = addressed(&name, request)?;
    let method = request.method().clone();
    let broke = |error: hyper::Error| broken(&name, &error);
    requests.ready().await.map_err(broke)?;
    let sent = requests.send_request(request).await.map_err(broke)?;
    answer::rewritten(&app, &name, &method, sent).await
}

fn machine(name: &str) -> Result<MachineName, HttpFailure> {
    name.parse().map_err(|error: NotAName| HttpFailure::not_found(error.to_string()))
}

/// The request as the machine gets it: without the path prefix, and with few headers.
fn addressed(name: &MachineName, request: Request) -> Result<Request, HttpFailure> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let Some(path) = path.strip_prefix(&name.prefix()) else {
        return Err(HttpFailure::not_found("the name of the machine is written in another way"));
    };
    parts.uri = Uri::builder()
        .scheme("http")
        .authority(name.as_str())
        .path_and_query(path)
        .build()
        .map_err(|error| HttpFailure::bad_request(error.to_string()))?;
    parts.version = axum::http::Version::HTTP_2;
    let user = user(&parts.headers, guard::peer(&parts.extensions));
    let mut headers = forwarded(&parts.headers);
    headers.insert(USER_HEADER, HeaderValue::from_str(&user).map_err(HttpFailure::internal)?);
    parts.headers = headers;
    parts.extensions = axum::http::Extensions::new();
    Ok(Request::from_parts(parts, body))
}

/// The headers for a machine.
fn forwarded(headers: &HeaderMap) -> HeaderMap {
    let mut forwarded: HeaderMap = FORWARDED
        .iter()
        .flat_map(|name| headers.get_all(name).iter().map(move |value| (name.clone(), value.clone())))
        .collect();
    let pairs = [SEEN, VIEWS, ZONE].into_iter().filter_map(|name| Some(format!("{name}={}", cookie(headers, name)?)));
    let cookies = pairs.filter_map(|pair| HeaderValue::from_str(&pair).ok());
    forwarded.extend(cookies.map(|pair| (header::COOKIE, pair)));
    forwarded
}

/// The client, as far as the gateway knows. There is only one secret, so this is how the client sent it, and its address.
fn user(headers: &HeaderMap, from: Option<IpAddr>) -> String {
    let what = if headers.contains_key(header::AUTHORIZATION) { "script" } else { "browser" };
    from.map_or_else(|| what.to_owned(), |from| format!("{what} at {from}"))
}

/// Failure for a machine that is not connected.
async fn away(gateway: &std::sync::Arc<MachineGateway>, name: &MachineName) -> HttpFailure {
    let machines = match gateway.all().await {
        Ok(machines) => machines,
        Err(failure) => return failure,
    };
    let Some(machine) = machines.into_iter().find(|machine| machine.name == *name) else {
        return HttpFailure::not_found(format!("unknown machine {name}"))
            .hint("`uwf gateway token NAME` on the gateway's machine lets one connect");
    };
    let why = match machine.since {
        Some(since) => format!("the machine {name} has not been connected since {} UTC", uwf_core::view::time(since)),
        None => format!("the machine {name} has not connected since this gateway was started"),
    };
    HttpFailure::new(StatusCode::BAD_GATEWAY, why)
        .hint("`uwf connect` on that machine connects it; it comes back by itself when it is running")
}

fn broken(name: &MachineName, error: &hyper::Error) -> HttpFailure {
    HttpFailure::new(StatusCode::BAD_GATEWAY, format!("the connection of the machine {name} has ended: {error}"))
        .hint("if this was a change, check whether it was made before you repeat it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_request_has_no_authentication_headers() {
        let headers: HeaderMap = [
            ("cookie", "uwf-7717=x; uwf-seen=7; other=y"),
            ("authorization", "Bearer x"),
            ("connection", "keep-alive, X-Own"),
            ("x-own", "1"),
            ("x-forwarded-for", "192.0.2.1"),
            ("x-uwf-user", "root"),
            ("origin", "http://gateway.example"),
            ("referer", "http://gateway.example/~secret/m/a/"),
            ("accept", "text/html"),
            ("last-event-id", "7"),
        ]
        .into_iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect();
        let forwarded = forwarded(&headers);
        let mut names: Vec<&str> = forwarded.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "cookie", "last-event-id"]);
        assert_eq!(forwarded[header::COOKIE], "uwf-seen=7");
    }
}
