//! `POST /api/threads`: starts a thread, and runs it on request.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use uwf_core::thread::ThreadId;
use uwf_engine::thread::load::Thread;

use super::and_run::{self, RUN};
use super::yes_or_no::yes_or_no;
use crate::app::AppState;
use crate::changes::{self, ChangeCommand, ChangeOutcome};
use crate::command_line::json_name;
use crate::failure::HttpFailure;
use crate::fields::RequestFields;
use crate::respond::wants_json;

/// Prefix of the name of a field with the agent of a role.
pub(crate) const AGENT_OF: &str = "agent.";

/// Prefix of the name of a field with a label.
pub(super) const LABEL_OF: &str = "label.";

/// Prefix of the name of a field with one value of the input.
pub(crate) const INPUT_OF: &str = "input.";

/// The command.
pub(crate) const COMMAND: &str = "thread start";

/// Its options that are fields.
pub(super) const OPTIONS: [&str; 8] = ["id", "cwd", AGENT, LABEL, "max-steps", "max-time", "max-tokens", "max-cost"];

/// The option that a field `agent.ROLE` sets as well.
pub(super) const AGENT: &str = "agent";

/// The option that a field `label.KEY` sets as well.
pub(crate) const LABEL: &str = "label";

/// Fields that are not options of the same name.
const OWN: [&str; 6] = ["workflow", "prompt", INPUT, "worktree", STRICT_LIMITS, RUN];

/// The field that makes limits without effect an error.
pub(super) const STRICT_LIMITS: &str = "strictLimits";

/// The field with the values of the input.
pub(super) const INPUT: &str = "input";

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/threads", post(start))
}

async fn start(
    State(app): State<AppState>,
    headers: HeaderMap,
    fields: RequestFields,
) -> Result<Response, HttpFailure> {
    let report = begin(&app, &fields).await?;
    let thread = report["thread"].as_str().unwrap_or_default();
    if fields.is_form && !wants_json(&headers) {
        return Ok(Redirect::to(&format!("/threads/{thread}")).into_response());
    }
    let location = format!("/api/threads/{thread}");
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(report)).into_response())
}

/// Starts the thread, and returns the report of the command. If the thread should run, `run` is the report of the run, or why it did not
/// begin, or null if it continues.
///
/// # Errors
/// Errors of the command, and 400 for invalid fields.
pub(crate) async fn begin(app: &AppState, fields: &RequestFields) -> Result<Value, HttpFailure> {
    let is_run = yes_or_no(fields, RUN)?.unwrap_or(false);
    check_directory(app, fields).await?;
    let mut start = change(fields)?;
    if is_run {
        start.line.insert(2, "--runs".to_owned());
    }
    let started = changes::run(app, start).await.map_err(|failure| failure.of_fields(&OPTIONS));
    let ChangeOutcome::Reported(_, mut report) = started? else {
        return Err(HttpFailure::internal("a command that is waited for has ended"));
    };
    let thread = report["thread"].as_str().and_then(|thread| thread.parse::<ThreadId>().ok());
    if let Some(thread) = thread.filter(|_| is_run) {
        report[RUN] = run(app, thread).await;
    }
    Ok(report)
}

/// Rejects a missing directory. To the command this is a failure of the machine; here it is a typing mistake.
async fn check_directory(app: &AppState, fields: &RequestFields) -> Result<(), HttpFailure> {
    let Some(typed) = fields.text("cwd").map(str::trim).filter(|typed| !typed.is_empty()).map(str::to_owned) else {
        return Ok(());
    };
    let dir = app.cwd().join(&typed);
    match app.read(move |_| Ok(dir.is_dir())).await? {
        true => Ok(()),
        false => Err(HttpFailure::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("directory {typed} does not exist on this server's machine"),
        )),
    }
}

/// Runs a thread from its beginning. If the request is repeated after the thread has moved on, nothing happens.
async fn run(app: &AppState, thread: ThreadId) -> Value {
    let id = thread.clone();
    match app.read(move |home| Ok(Thread::any(home, &id)?.start_hash)).await {
        Ok(start) => and_run::run(app, &thread, Some(start)).await,
        Err(failure) => json!({ "error": { "message": failure.message, "hints": failure.hints } }),
    }
}

fn change(fields: &RequestFields) -> Result<ChangeCommand, HttpFailure> {
    let options = OPTIONS.map(|option| (json_name(option), option));
    let is_option = |name: &str| options.iter().any(|(field, _)| field == name);
    let is_known = |name: &str| {
        OWN.contains(&name)
            || is_option(name)
            || [AGENT_OF, INPUT_OF, LABEL_OF].iter().any(|prefix| name.starts_with(prefix))
    };
    if let Some(unknown) = fields.names().find(|name| !is_known(name)) {
        let known: Vec<&str> = OWN.into_iter().chain(options.iter().map(|(field, _)| field.as_str())).collect();
        return Err(HttpFailure::bad_request(format!("starting a thread takes no field `{unknown}`")).hint(format!(
            "it takes {}, agent.ROLE for the agent of a role, input.NAME for one value of the input, and label.KEY for a label",
            known.join(", ")
        )));
    }
    let given = |name: &str| fields.text(name).filter(|value| !value.trim().is_empty());
    let workflow =
        given("workflow").ok_or_else(|| HttpFailure::bad_request("`workflow` is needed: its name or hash"))?;
    let prompt = given("prompt")
        .ok_or_else(|| HttpFailure::bad_request("a task is needed").hint("give the thread a task: `prompt` in JSON"))?;
    let mut change = ChangeCommand::new(["thread", "start", "--posted"]);
    let set = fields.names().filter_map(|name| {
        let (key, value) = (name.strip_prefix(INPUT_OF)?, given(name)?);
        Some(format!("{key}={value}"))
    });
    // The first field of a name counts.
    let set: BTreeSet<String> = set.collect();
    // A text that is not JSON is YAML, which the command reads.
    let input = given(INPUT).map(|text| json_cas::json_value(text).unwrap_or_else(|_| Value::from(text)));
    change.input = json!({ "prompt": prompt, "input": input, "set": set }).to_string();
    for (field, option) in &options {
        if let Some(value) = given(field) {
            change = change.option(&format!("--{option}"), value.trim());
        }
    }
    change = with_labels(with_agents(change, fields), fields);
    match yes_or_no(fields, "worktree")? {
        Some(true) => change.line.push("--worktree".to_owned()),
        Some(false) => change.line.push("--no-worktree".to_owned()),
        None => {}
    }
    change = with_strict_limits(change, fields)?;
    change.line.extend(["--".to_owned(), workflow.to_owned()]);
    Ok(change)
}

/// Adds each `agent.ROLE`.
pub(super) fn with_agents(mut change: ChangeCommand, fields: &RequestFields) -> ChangeCommand {
    for (name, agent) in fields.all().filter(|(_, agent)| !agent.trim().is_empty()) {
        if let Some(role) = name.strip_prefix(AGENT_OF) {
            change = change.option("--agent", format!("{role}={agent}"));
        }
    }
    change
}

/// Adds each `label.KEY`.
pub(super) fn with_labels(mut change: ChangeCommand, fields: &RequestFields) -> ChangeCommand {
    for (name, value) in fields.all().filter(|(_, value)| !value.trim().is_empty()) {
        if let Some(key) = name.strip_prefix(LABEL_OF) {
            change = change.option("--label", format!("{key}={value}"));
        }
    }
    change
}

/// Adds the option that makes limits without effect an error, if a field asks for it.
pub(super) fn with_strict_limits(
    mut change: ChangeCommand,
    fields: &RequestFields,
) -> Result<ChangeCommand, HttpFailure> {
    if yes_or_no(fields, STRICT_LIMITS)? == Some(true) {
        change.line.push("--strict-limits".to_owned());
    }
    Ok(change)
}
