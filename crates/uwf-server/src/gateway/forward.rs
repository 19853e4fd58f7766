//! `/m/NAME/…`: a request goes to the machine as it is, and its answer comes back as it is. Bodies stream in both directions,
//! and who leaves ends the request on the machine, too.

use std::net::IpAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::any;

use crate::app::App;
use crate::failure::Failure;
use crate::guard;
use crate::machines::Gateway;
use crate::machines::name::{MachineName, NotAName};
use crate::place::{MACHINES_HEADER, PREFIX_HEADER, SEEN, USER_HEADER};
use crate::respond::cookie;

/// Headers between two neighbours (RFC 9110, 7.6.1), which HTTP/2 does not have.
const HOP: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::HOST,
];

/// What proves to the gateway who somebody is: nothing of the machine's business.
const PROOFS: [HeaderName; 3] = [header::COOKIE, header::AUTHORIZATION, header::PROXY_AUTHORIZATION];

/// What a proxy in front says; a machine believes only the gateway.
const OF_PROXIES: [&str; 2] = ["x-forwarded-", "x-uwf-"];

/// What a machine may answer. Nothing of it runs: a page may use scripts of this server only, and with `nosniff` no answer is taken
/// for a script that does not say so. A machine that somebody has broken into reaches no other one by whoever looks at it.
const HARMLESS: [&str; 7] =
    ["text/html", "application/json", "text/event-stream", "text/plain", "text/csv", "image/svg+xml", "image/png"];

/// What everything else is said to be.
const UNKNOWN: HeaderValue = HeaderValue::from_static("application/octet-stream");

fn is_harmless(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    HARMLESS.contains(&kind.as_str())
}

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/m/{name}", any(first_page))
        .route("/m/{name}/", any(forward))
        .route("/m/{name}/{*path}", any(forward))
}

/// Links on a page of the machine begin below its name.
async fn first_page(Path(name): Path<String>) -> Result<Response, Failure> {
    let name = machine(&name)?;
    Ok(Redirect::permanent(&format!("{}/", name.prefix())).into_response())
}

async fn forward(
    State(app): State<App>,
    Path(parts): Path<Vec<(String, String)>>,
    request: Request,
) -> Result<Response, Failure> {
    let Some(gateway) = app.gateway() else {
        return Err(Failure::not_found("this server is no gateway").hint("start it with --gateway"));
    };
    let name = machine(parts.first().map(|(_, name)| name.as_str()).unwrap_or_default())?;
    let Some(mut requests) = gateway.requests(&name) else { return Err(away(gateway, &name).await) };
    let request = addressed(gateway, &name, request)?;
    let broke = |error: hyper::Error| broken(&name, &error);
    requests.ready().await.map_err(broke)?;
    let mut response = requests.send_request(request).await.map_err(broke)?.map(Body::new);
    HOP.iter().for_each(|name| drop(response.headers_mut().remove(name)));
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if kind.is_some_and(|kind| !is_harmless(kind)) {
        response.headers_mut().insert(header::CONTENT_TYPE, UNKNOWN);
    }
    keep_own_cookies(response.headers_mut(), &name);
    Ok(response)
}

/// The cookies of this address are the gateway's; a machine may set only its own mark of what was seen, below its own path.
fn keep_own_cookies(headers: &mut HeaderMap, name: &MachineName) {
    let (begin, path) = (format!("{SEEN}="), format!("; Path={}/;", name.prefix()));
    let is_own =
        |cookie: &HeaderValue| cookie.to_str().is_ok_and(|text| text.starts_with(&begin) && text.contains(&path));
    let own: Vec<HeaderValue> =
        headers.get_all(header::SET_COOKIE).iter().filter(|cookie| is_own(cookie)).cloned().collect();
    headers.remove(header::SET_COOKIE);
    headers.extend(own.into_iter().map(|cookie| (header::SET_COOKIE, cookie)));
}

fn machine(name: &str) -> Result<MachineName, Failure> {
    name.parse().map_err(|error: NotAName| Failure::not_found(error.to_string()))
}

/// The request as the machine gets it: without the prefix of its path, and without what proves who somebody is.
fn addressed(gateway: &Gateway, name: &MachineName, request: Request) -> Result<Request, Failure> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let Some(path) = path.strip_prefix(&name.prefix()) else {
        return Err(Failure::not_found("the name of the machine is written in another way"));
    };
    parts.uri = Uri::builder()
        .scheme("http")
        .authority(name.as_str())
        .path_and_query(path)
        .build()
        .map_err(|error| Failure::bad_request(error.to_string()))?;
    parts.version = axum::http::Version::HTTP_2;
    let user = user(&parts.headers, guard::peer(&parts.extensions));
    let mut headers = kept(&parts.headers);
    let names =
        gateway.menu().into_iter().map(|(name, connected)| format!("{name}{}", if connected { "" } else { "=away" }));
    let names = names.collect::<Vec<_>>().join(",");
    for (name, value) in [(PREFIX_HEADER, name.prefix()), (USER_HEADER, user), (MACHINES_HEADER, names)] {
        let value = HeaderValue::from_str(&value).map_err(Failure::internal)?;
        headers.insert(HeaderName::from_static(name), value);
    }
    parts.headers = headers;
    parts.extensions = axum::http::Extensions::new();
    Ok(Request::from_parts(parts, body))
}

/// The headers that are the machine's business.
fn kept(headers: &HeaderMap) -> HeaderMap {
    // What `Connection` names is between the neighbours as well.
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<String> =
        named.flat_map(|value| value.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect();
    let is_kept = |name: &HeaderName| {
        !HOP.contains(name)
            && !PROOFS.contains(name)
            && !named.iter().any(|other| other == name.as_str())
            && !OF_PROXIES.iter().any(|prefix| name.as_str().starts_with(prefix))
    };
    let mut kept: HeaderMap =
        headers.iter().filter(|(name, _)| is_kept(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
    let seen = cookie(headers, SEEN).and_then(|seen| HeaderValue::from_str(&format!("{SEEN}={seen}")).ok());
    kept.extend(seen.map(|seen| (header::COOKIE, seen)));
    kept
}

/// Who asks, as far as the gateway knows: it knows one secret, so by what it was proved, and where from.
fn user(headers: &HeaderMap, from: Option<IpAddr>) -> String {
    let what = if headers.contains_key(header::AUTHORIZATION) { "script" } else { "browser" };
    from.map_or_else(|| what.to_owned(), |from| format!("{what} at {from}"))
}

/// A machine that cannot be asked.
async fn away(gateway: &std::sync::Arc<Gateway>, name: &MachineName) -> Failure {
    let machines = match gateway.all().await {
        Ok(machines) => machines,
        Err(failure) => return failure,
    };
    let Some(machine) = machines.into_iter().find(|machine| machine.name == *name) else {
        return Failure::not_found(format!("there is no machine {name}"))
            .hint("`uwf gateway token NAME` on the gateway's machine lets one connect");
    };
    let why = match machine.since {
        Some(since) => format!("the machine {name} has not been connected since {} UTC", uwf_core::view::time(since)),
        None => format!("the machine {name} has not connected since this gateway was started"),
    };
    Failure::new(StatusCode::BAD_GATEWAY, why)
        .hint("`uwf connect` on that machine connects it; it comes back by itself when it is running")
}

fn broken(name: &MachineName, error: &hyper::Error) -> Failure {
    Failure::new(StatusCode::BAD_GATEWAY, format!("the connection of the machine {name} has ended: {error}"))
        .hint("if this was a change, look whether it was made before you repeat it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_sets_no_cookie_of_the_gateway() {
        let name: MachineName = "a".parse().unwrap();
        let mut headers = HeaderMap::new();
        for cookie in
            ["uwf-7717=x; Path=/m/a/; HttpOnly", "uwf-seen=1; Path=/; HttpOnly", "uwf-seen=2; Path=/m/a/; HttpOnly"]
        {
            headers.append(header::SET_COOKIE, HeaderValue::from_static(cookie));
        }
        keep_own_cookies(&mut headers, &name);
        let kept: Vec<&HeaderValue> = headers.get_all(header::SET_COOKIE).iter().collect();
        assert_eq!(kept, ["uwf-seen=2; Path=/m/a/; HttpOnly"]);
    }

    #[test]
    fn no_script_of_a_machine_runs() {
        assert!(is_harmless("text/html; charset=utf-8") && is_harmless("application/json"));
        for kind in ["text/javascript", "application/javascript", "Text/JavaScript; charset=utf-8", "text/css", "", "x"]
        {
            assert!(!is_harmless(kind), "{kind}");
        }
    }

    #[test]
    fn what_proves_who_somebody_is_stays_here() {
        let headers: HeaderMap = [
            ("cookie", "uwf-7717=x; uwf-seen=7; other=y"),
            ("authorization", "Bearer x"),
            ("connection", "keep-alive, X-Own"),
            ("x-own", "1"),
            ("x-forwarded-prefix", "/evil"),
            ("x-uwf-user", "root"),
            ("accept", "text/html"),
            ("last-event-id", "7"),
        ]
        .into_iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect();
        let kept = kept(&headers);
        let mut names: Vec<&str> = kept.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "cookie", "last-event-id"]);
        assert_eq!(kept[header::COOKIE], "uwf-seen=7");
    }
}
