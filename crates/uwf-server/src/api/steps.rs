//! `/api/threads/ID/steps` and `/why`: the commands' reports about steps.

use axum::extract::{Path, State};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use uwf_engine::views::thread_now::ThreadNow;
use uwf_engine::views::{step_details, steps, why};

use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::named;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/threads/{thread}/steps", get(listed))
        .route("/threads/{thread}/steps/{step}", get(details))
        .route("/threads/{thread}/steps/{step}/why", get(why_step))
        .route("/threads/{thread}/why", get(why_thread))
}

/// `GET /api/threads/{thread}/steps`: the report of `uwf thread steps`.
async fn listed(State(app): State<AppState>, Path(thread): Path<String>) -> Result<Json<Value>, HttpFailure> {
    app.read(move |home| {
        let id = named::thread(home, &thread)?;
        Ok(Json(json!(steps::steps(home, &id, 0..usize::MAX)?)))
    })
    .await
}

/// `GET /api/threads/{thread}/steps/{step}`: the report of `uwf thread step-details`.
pub(crate) async fn details(
    State(app): State<AppState>,
    Path((_, step)): Path<(String, String)>,
) -> Result<Json<Value>, HttpFailure> {
    app.read(move |home| {
        let hash = named::node(home, &step)?;
        Ok(Json(step_details::expand(home.store(), hash)?.value))
    })
    .await
}

/// `GET /api/threads/{thread}/steps/{step}/why`: the report of `uwf thread why` for a step.
async fn why_step(
    State(app): State<AppState>,
    Path((thread, step)): Path<(String, String)>,
) -> Result<Json<Value>, HttpFailure> {
    app.read(move |home| {
        let (id, hash) = (named::thread(home, &thread)?, named::node(home, &step)?);
        let now = ThreadNow::read(home, &id)?;
        let reasons = why::of_step_in(&now.thread, &now.record, hash)?.ok_or_else(|| no_step(&id, hash))?;
        Ok(Json(json!(reasons)))
    })
    .await
}

/// The failure for a step that a thread does not have.
pub(crate) fn no_step(thread: &uwf_core::thread::ThreadId, step: json_cas::NodeHash) -> HttpFailure {
    HttpFailure::not_found(format!("thread {thread} has no step {step}"))
        .hint(format!("/cas/{step} shows the node, whatever it is"))
}

/// `GET /api/threads/{thread}/why`: the report of `uwf thread why` for a thread.
async fn why_thread(State(app): State<AppState>, Path(thread): Path<String>) -> Result<Json<Value>, HttpFailure> {
    app.read(move |home| {
        let id = named::thread(home, &thread)?;
        Ok(Json(json!(why::of_thread(home, &id)?)))
    })
    .await
}
