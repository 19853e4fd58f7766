//! `/api/threads`: lists and shows threads.

use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use uwf_engine::root::thread_ids;
use uwf_engine::views::groups::{self, GroupStatus};
use uwf_engine::views::ps;
use uwf_engine::views::show::{self, ThreadStatus};
use uwf_engine::views::steps::{self, StepEntry};
use uwf_engine::views::thread_now::ThreadNow;

use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::filter;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/threads", get(listed))
        .route("/running", get(running))
        .route("/threads/{thread}", get(status))
        .route("/threads/{thread}/groups", get(groups))
}

/// `GET /api/threads`: the report of `uwf thread list --all`. If there are more, the header `Link` has the next page.
pub(crate) async fn listed(
    State(app): State<AppState>,
    Query(query): Query<filter::ThreadListQuery>,
) -> Result<Response, HttpFailure> {
    let (asked, memory) = (query.clone(), app.memory());
    let found = app.read(move |home| asked.find(home, &memory)).await?;
    let mut answer = Json(json!(found.rows)).into_response();
    let last = found.rows.last().filter(|_| found.has_more);
    if let Some(last) = last {
        let next = format!("</api/threads{}>; rel=\"next\"", query.with("after", last.row.thread.as_str()));
        answer.headers_mut().extend(HeaderValue::from_str(&next).ok().map(|next| (header::LINK, next)));
    }
    Ok(answer)
}

/// `GET /api/running`: the report of `uwf thread ps`.
async fn running(State(app): State<AppState>) -> Result<Json<Value>, HttpFailure> {
    let memory = app.memory();
    let running = app.read(move |home| Ok(memory.with_running(|known| ps::ps(home, known))?)).await?;
    Ok(Json(json!(running)))
}

/// A thread with its steps.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ThreadAnswer {
    #[serde(flatten)]
    status: ThreadStatus,
    /// The group that it plays, or played last.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<GroupStatus>,
    /// Tool calls that were denied to the agent of its newest attempt, or of its last step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    denied: Vec<String>,
    /// The start and the steps, as `uwf thread steps` reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<Vec<StepEntry>>,
    /// Why there are no records.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Most groups in one answer, the newest.
const GROUPS: usize = 100;

/// `GET /api/threads/{thread}/groups`: the newest groups of a thread with their branches.
async fn groups(
    State(app): State<AppState>,
    Path(thread): Path<String>,
) -> Result<Json<Vec<GroupStatus>>, HttpFailure> {
    app.read(move |home| {
        let id = thread_ids::resolve(home, None, &thread)?;
        let now = ThreadNow::read(home, &id)?;
        Ok(Json(groups::all(&now, &home.config().unwrap_or_default(), GROUPS)?))
    })
    .await
}

/// `GET /api/threads/{thread}`: the report of `uwf thread show`, and as `records` the start and the steps of `uwf thread steps`.
pub(crate) async fn status(
    State(app): State<AppState>,
    Path(thread): Path<String>,
) -> Result<Json<ThreadAnswer>, HttpFailure> {
    app.read(move |home| {
        let id = thread_ids::resolve(home, None, &thread)?;
        let now = ThreadNow::read(home, &id)?;
        let status = show::status(&now)?;
        // A damaged step must not hide the rest of its thread.
        let (records, problem) = match steps::steps_in(&now.thread, 0..usize::MAX) {
            Ok(steps) => (Some(steps.steps), None),
            Err(error) => (None, Some(error.message)),
        };
        let group = groups::newest(&now, &home.config().unwrap_or_default()).unwrap_or_default();
        let denied = show::denied(&now);
        Ok(Json(ThreadAnswer { status, group, denied, records, problem }))
    })
    .await
}
