//! `POST /hooks/NAME`: deliveries of webhooks. A delivery needs no login, because it is signed. Its body is parsed only once its signature
//! is verified. It starts a thread at most once, whatever becomes of the connection, this server or its other deliveries.

mod received;
mod signature;
pub(crate) mod waiting;

use std::net::IpAddr;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{Extensions, HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use uwf_core::config::HookSignature;
use uwf_engine::root::env_file;
use uwf_engine::root::home::Home;
use uwf_engine::verbs::hook::HookDelivery;

pub use self::signature::is_hook_secret;

use self::signature::HookKey;
use crate::api::and_run;
use crate::app::AppState;
use crate::changes::{self, ChangeCommand, ChangeOutcome};
use crate::failure::HttpFailure;
use crate::guard::attempts::{self, LoginVerdict};
use crate::guard::peer;

/// Largest body of a delivery. Most are below 100 KiB. GitHub sends up to 25 MiB, but clients without the secret can also send bodies, and
/// the server holds each in memory until it knows.
const MAX_BODY: usize = 1 << 20;

/// The event that GitHub sends once a hook is created.
const PING: &str = "ping";

/// The header with the kind of GitHub's event.
const EVENT: &str = "x-github-event";

/// The route of all hooks; it answers 404 unless the server serves hooks.
pub(crate) fn routes(has_hooks: bool) -> Router<AppState> {
    let route = if has_hooks { post(receive) } else { post(not_served) };
    Router::new().route("/hooks/{name}", route.layer(DefaultBodyLimit::max(MAX_BODY)))
}

async fn not_served() -> HttpFailure {
    HttpFailure::not_found("this server serves no hooks").hint("start it with --hooks")
}

async fn receive(
    State(app): State<AppState>,
    Path(name): Path<String>,
    headers: HeaderMap,
    extensions: Extensions,
    body: Bytes,
) -> Result<Response, HttpFailure> {
    let from = peer(&extensions);
    // A task of its own, because a sender that hangs up must not stop it between start and run.
    let done = tokio::spawn(async move { answer(&app, name, &headers, (from, &body)).await }).await;
    done.map_err(HttpFailure::internal)?
}

async fn answer(
    app: &AppState,
    name: String,
    headers: &HeaderMap,
    (from, body): (Option<IpAddr>, &[u8]),
) -> Result<Response, HttpFailure> {
    let hook = name.clone();
    let (signature, key) = app.read(move |home| key(home, &hook)).await?;
    let id = signature::verified(signature, &key, headers, body);
    let compared = key.comparison(id.is_some());
    let verdict = app.guard().map(|guard| guard.signatures.judge_comparison(compared, from));
    if let Some(LoginVerdict::TooMany(wait)) = verdict {
        return Ok(attempts::too_many_signatures(wait));
    }
    let id = id.ok_or_else(|| {
        // Without details: they would help only a forger.
        HttpFailure::new(StatusCode::UNAUTHORIZED, "this delivery is not signed with the secret of this hook")
    })?;
    let delivery = received::delivery(id, headers, body)?;
    if delivery.headers.get(EVENT).is_some_and(|event| event == PING) {
        return Ok(Json(json!({ "status": "pong", "hook": name, "delivery": delivery.delivery })).into_response());
    }
    deliver(app, &name, &delivery).await
}

/// How deliveries of a hook are signed, and the key.
fn key(home: &Home, name: &str) -> Result<(HookSignature, HookKey), HttpFailure> {
    // A stranger must learn neither paths nor names of variables.
    let unusable = || {
        HttpFailure::new(StatusCode::SERVICE_UNAVAILABLE, "this server can't verify deliveries of this hook now")
            .hint("`uwf config validate` on the server's machine says why")
    };
    let config = home.config().map_err(|_| unusable())?;
    let hook = config.hooks.get(name).ok_or_else(|| HttpFailure::not_found("no hook has this name"))?;
    let env_file = env_file::read(&home.env_file()).map_err(|_| unusable())?;
    let secret = env_file::value_of(&hook.secret_env, &env_file);
    let key = secret.and_then(|secret| HookKey::of_secret(hook.signature, &secret)).ok_or_else(unusable)?;
    Ok((hook.signature, key))
}

/// Starts the command that carries the delivery out, and then the run of its thread.
async fn deliver(app: &AppState, name: &str, delivery: &HookDelivery) -> Result<Response, HttpFailure> {
    let mut command = ChangeCommand::new(["hook", "deliver", "--", name]);
    command.input = json!(delivery).to_string();
    let ChangeOutcome::Reported(_, mut report) = changes::run(app, command).await.map_err(unprocessable)? else {
        return Err(HttpFailure::internal("a command that is waited for has ended"));
    };
    let status = if report["status"] == "started" { StatusCode::CREATED } else { StatusCode::OK };
    let is_first = ["started", "answered"].iter().any(|first| report["status"] == *first);
    let run = report.as_object_mut().and_then(|report| report.shift_remove("run"));
    if let Some(run) = run {
        let ran = run_thread(app, &run).await;
        // A repeated delivery finds the thread running, or beyond.
        if is_first {
            report["run"] = ran;
        }
    }
    let location = report["thread"].as_str().map(|thread| format!("/api/threads/{thread}"));
    let mut response = (status, Json(report)).into_response();
    if let Some(location) = location.filter(|_| status == StatusCode::CREATED).and_then(|path| path.parse().ok()) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

async fn run_thread(app: &AppState, run: &Value) -> Value {
    let mut command = ChangeCommand::new(["run"]);
    for (field, option) in [("expectHead", "--expect-head"), ("expectAttempt", "--expect-attempt")] {
        if let Some(value) = run[field].as_str() {
            command = command.option(option, value);
        }
    }
    // No person looks at the run, so it continues by itself when a usage limit has ended.
    command.line.extend(["--wait".to_owned(), "--".to_owned(), run["thread"].as_str().unwrap_or_default().to_owned()]);
    and_run::begin(app, command).await
}

/// A delivery that a hook can't use is the fault of neither sender nor server: the expressions and the payload do not fit.
fn unprocessable(mut failure: HttpFailure) -> HttpFailure {
    // A workflow that does not exist is not the path of the request either.
    if matches!(failure.status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND) {
        failure.status = StatusCode::UNPROCESSABLE_ENTITY;
    }
    failure
}
