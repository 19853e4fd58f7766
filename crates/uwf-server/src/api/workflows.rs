//! `/api/workflows`: lists, shows and stores workflows.

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use uwf_engine::root::home::Home;
use uwf_engine::verbs::workflows::find_workflow::WorkflowOrigin;
use uwf_engine::verbs::workflows::{self, ShownWorkflow};

use crate::app::AppState;
use crate::changes::{self, ChangeCommand, ChangeOutcome};
use crate::failure::HttpFailure;
use crate::fields::RequestFields;
use crate::url::encoded;

/// The command that stores a workflow.
pub(super) const COMMAND: &str = "workflow put";

/// Its options that are fields.
pub(super) const OPTIONS: [&str; 2] = ["name", "expect"];

/// The field with the text of the file.
pub(crate) const SOURCE: &str = "source";

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/workflows", get(list).post(put))
        .route("/workflows/{workflow}", get(show))
        .route("/workflows/{workflow}/history", get(history))
        .route("/workflows/{workflow}/source", get(source))
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

/// `GET /api/workflows/{workflow}/source`: the workflow as a file.
async fn source(State(app): State<AppState>, Path(typed): Path<String>) -> Result<Response, HttpFailure> {
    let cwd = app.cwd().to_owned();
    let text = app.read(move |home| source_by_name_or_hash(home, &typed, &cwd)).await?;
    Ok(([(header::CONTENT_TYPE, "application/yaml; charset=utf-8")], text).into_response())
}

/// `POST /api/workflows`
async fn put(State(app): State<AppState>, fields: RequestFields) -> Result<Response, HttpFailure> {
    if let Some(unknown) = fields.names().find(|name| *name != SOURCE && !OPTIONS.contains(name)) {
        return Err(HttpFailure::bad_request(format!("storing a workflow takes no field `{unknown}`"))
            .hint(format!("it takes {SOURCE}, {}", OPTIONS.join(", "))));
    }
    let report = store(&app, &fields).await?;
    let location = format!("/api/workflows/{}", encoded(report["name"].as_str().unwrap_or_default()));
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(report)).into_response())
}

/// Stores the workflow of the field `source`, and returns the report of the command. The commands of its roles stay untrusted: who may use
/// the dashboard may not thereby run any program of the machine.
///
/// # Errors
/// Errors of the command, and 400 without a text.
pub(crate) async fn store(app: &AppState, fields: &RequestFields) -> Result<Value, HttpFailure> {
    let Some(source) = fields.text(SOURCE).filter(|text| !text.trim().is_empty()) else {
        return Err(HttpFailure::bad_request("`source` is needed: the text of a workflow file"));
    };
    let mut change = ChangeCommand::new(COMMAND.split(' ').chain(["--no-trust"]));
    for option in OPTIONS {
        if let Some(value) = fields.text(option).filter(|value| !value.is_empty()) {
            change = change.option(&format!("--{option}"), value);
        }
    }
    change.line.extend(["--".to_owned(), "-".to_owned()]);
    change.input = source.to_owned();
    match changes::run(app, change).await.map_err(|failure| failure.of_fields(&OPTIONS))? {
        ChangeOutcome::Reported(_, report) => Ok(report),
        ChangeOutcome::GoesOn => Err(HttpFailure::internal("a command that is waited for has ended")),
    }
}

/// The text of a workflow with a name or a hash.
pub(crate) fn source_by_name_or_hash(home: &Home, typed: &str, cwd: &std::path::Path) -> Result<String, HttpFailure> {
    refuse_path(typed)?;
    Ok(workflows::source(home, typed, cwd)?)
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
    refuse_path(typed)?;
    Ok(workflows::resolve_and_show(home, typed, cwd)?)
}

fn refuse_path(typed: &str) -> Result<(), HttpFailure> {
    let is_path = typed.contains('/') || [".yaml", ".yml", ".json"].iter().any(|extension| typed.ends_with(extension));
    if is_path {
        return Err(HttpFailure::not_found(format!("{typed} is not the name of a workflow"))
            .hint("this shows workflows by name or hash; `uwf workflow put FILE` gives one a name"));
    }
    Ok(())
}
