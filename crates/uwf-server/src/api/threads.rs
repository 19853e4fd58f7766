//! `/api/threads`: listing and looking at threads.

use axum::extract::{Path, State};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use uwf_engine::verbs::{list, show};

use crate::app::App;
use crate::failure::Failure;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/threads", get(listed)).route("/threads/{thread}", get(status))
}

/// `GET /api/threads`
pub(crate) async fn listed(State(app): State<App>) -> Result<Json<Value>, Failure> {
    let rows =
        app.read(|home| Ok(list::list(home, &list::Filter { all: true, ..list::Filter::default() })?.rows)).await?;
    Ok(Json(json!(rows)))
}

/// `GET /api/threads/{thread}`
pub(crate) async fn status(State(app): State<App>, Path(thread): Path<String>) -> Result<Json<Value>, Failure> {
    let status = app
        .read(move |home| {
            let id = uwf_engine::root::thread_ids::resolve(home, &thread)?;
            Ok(show::show(home, &id)?)
        })
        .await?;
    Ok(Json(json!(status)))
}
