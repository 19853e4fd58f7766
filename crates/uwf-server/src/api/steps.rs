//! `/api/threads/ID/steps` and `/why`: what the commands report of steps.

use axum::extract::{Path, State};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
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
