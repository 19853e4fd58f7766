//! `/api/workflows`: lists and shows workflows.

use axum::extract::{Path, State};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use uwf_engine::root::home::Home;
use uwf_engine::verbs::workflows::find_workflow::WorkflowOrigin;
use uwf_engine::verbs::workflows::{self, ShownWorkflow};

use crate::app::AppState;
use crate::failure::HttpFailure;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/workflows", get(list))
        .route("/workflows/{workflow}", get(show))
        .route("/workflows/{workflow}/history", get(history))
}

/// `GET /api/workflows`
pub(crate) async fn list(State(app): State<AppState>) -> Result<Json<Value>, HttpFailure> {
    let cwd = app.cwd().to_owned();
    let rows = app.read(move |home| Ok(workflows::list(home, &cwd)?)).await?;
    Ok(Json(json!(rows)))
}

/// `GET /api/workflows/{workflow}`
pub(crate) async fn show(State(app): State<AppState>, Path(typed): Path<String>) -> Result<Json<Value>, HttpFailure> {
    let cwd = app.cwd().to_owned();
    let (shown, _) = app.read(move |home| workflow_by_name_or_hash(home, &typed, &cwd)).await?;
    Ok(Json(json!(shown)))
}

/// `GET /api/workflows/{workflow}/history`
async fn history(State(app): State<AppState>, Path(name): Path<String>) -> Result<Json<Value>, HttpFailure> {
    let cwd = app.cwd().to_owned();
    let versions = app.read(move |home| Ok(workflows::history(home, &name, &cwd)?)).await?;
    Ok(Json(json!(versions)))
}

/// Shows the workflow with a name or a hash. The command also takes the path of a file; don't accept one here, because a reader of
/// workflows must not read any file of the machine.
///
/// # Errors
/// `NotFound` for a path, and errors of [`workflows::resolve_and_show`].
pub(crate) fn workflow_by_name_or_hash(
    home: &Home,
    typed: &str,
    cwd: &std::path::Path,
) -> Result<(ShownWorkflow, WorkflowOrigin), HttpFailure> {
    let is_path = typed.contains('/') || [".yaml", ".yml", ".json"].iter().any(|extension| typed.ends_with(extension));
    if is_path {
        return Err(HttpFailure::not_found(format!("{typed} is not the name of a workflow"))
            .hint("this shows workflows by name or hash; `uwf workflow put FILE` gives one a name"));
    }
    Ok(workflows::resolve_and_show(home, typed, cwd)?)
}
