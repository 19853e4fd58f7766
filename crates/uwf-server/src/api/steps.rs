//! `/api/threads/ID/steps`, `/why` and `/cost`, and `/api/cost`: what the commands report of steps.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use uwf_engine::root::project;
use uwf_engine::verbs::cost::{self, CostBy, CostRequest};
use uwf_engine::verbs::{step_details, steps, why};

use crate::app::App;
use crate::failure::Failure;
use crate::named;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/threads/{thread}/steps", get(listed))
        .route("/threads/{thread}/steps/{step}", get(details))
        .route("/threads/{thread}/steps/{step}/why", get(why_step))
        .route("/threads/{thread}/why", get(why_thread))
        .route("/threads/{thread}/cost", get(cost_of_thread))
        .route("/cost", get(cost_of_all))
}

/// `GET /api/threads/{thread}/steps`: what `uwf thread steps` reports.
async fn listed(State(app): State<App>, Path(thread): Path<String>) -> Result<Json<Value>, Failure> {
    app.read(move |home| {
        let id = named::thread(home, &thread)?;
        Ok(Json(json!(steps::steps(home, &id, 0..usize::MAX)?)))
    })
    .await
}

/// `GET /api/threads/{thread}/steps/{step}`: what `uwf thread step-details` reports.
pub(crate) async fn details(
    State(app): State<App>,
    Path((_, step)): Path<(String, String)>,
) -> Result<Json<Value>, Failure> {
    app.read(move |home| {
        let hash = named::node(home, &step)?;
        Ok(Json(step_details::expand(home.store(), hash)?.value))
    })
    .await
}

/// `GET /api/threads/{thread}/steps/{step}/why`: what `uwf thread why` reports of a step.
async fn why_step(
    State(app): State<App>,
    Path((thread, step)): Path<(String, String)>,
) -> Result<Json<Value>, Failure> {
    app.read(move |home| {
        let (id, hash) = (named::thread(home, &thread)?, named::node(home, &step)?);
        let reasons = why::of_step_in(home, &id, hash)?.ok_or_else(|| no_step(&id, hash))?;
        Ok(Json(json!(reasons)))
    })
    .await
}

/// What is said of a step that a thread does not have.
pub(crate) fn no_step(thread: &uwf_core::thread::ThreadId, step: json_cas::Hash) -> Failure {
    Failure::not_found(format!("thread {thread} has no step {step}"))
        .hint(format!("/cas/{step} shows the node, whatever it is"))
}

/// `GET /api/threads/{thread}/why`: what `uwf thread why` reports of a thread.
async fn why_thread(State(app): State<App>, Path(thread): Path<String>) -> Result<Json<Value>, Failure> {
    app.read(move |home| {
        let id = named::thread(home, &thread)?;
        Ok(Json(json!(why::of_thread(home, &id)?)))
    })
    .await
}

/// Which costs are asked for, as the options of `uwf thread cost` have it.
#[derive(Debug, Clone, Default, Deserialize)]
struct Asked {
    /// Since when: so long ago (`7d`), or a day.
    since: Option<String>,
    /// What a row is of.
    #[serde(default)]
    by: CostBy,
}

/// `GET /api/threads/{thread}/cost`: what `uwf thread cost` reports of a thread.
async fn cost_of_thread(
    State(app): State<App>,
    Path(thread): Path<String>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<Value>, Failure> {
    costs(&app, Some(thread), asked).await
}

/// `GET /api/cost`: what `uwf thread cost` reports of all threads.
async fn cost_of_all(
    State(app): State<App>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<Value>, Failure> {
    costs(&app, None, asked).await
}

async fn costs(
    app: &App,
    thread: Option<String>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<Value>, Failure> {
    let Query(Asked { since, by }) = asked.map_err(|rejection| Failure::bad_request(rejection.body_text()))?;
    let cwd = app.cwd().to_owned();
    app.read(move |home| {
        let since = since.map(|typed| since_when(&typed)).transpose()?;
        let threads = thread.iter().map(|typed| named::thread(home, typed)).collect::<Result<_, _>>()?;
        let config = project::config(home, &cwd)?;
        Ok(Json(json!(cost::cost(home, &config, &CostRequest { threads, since, by })?)))
    })
    .await
}

fn since_when(typed: &str) -> Result<u64, Failure> {
    cost::since(typed).ok_or_else(|| {
        Failure::bad_request(format!("`{typed}` is no time"))
            .hint("write how long ago, 7d or 12h, or a day, 2026-11-01")
    })
}
