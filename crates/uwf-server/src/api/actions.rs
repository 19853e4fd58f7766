//! Actions on a thread: `POST /api/threads/{thread}/{action}`. Each action is a command, and this table names the options that are fields.
//! The OpenAPI document takes the rest from the commands.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use axum::{Json, Router};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};
use uwf_core::thread::ThreadId;
use uwf_engine::root::thread_ids;
use uwf_engine::verbs::fork::ForkReport;
use uwf_engine::verbs::kill::KillReport;
use uwf_engine::verbs::pause::PauseReport;
use uwf_engine::verbs::settings::label::LabelReport;
use uwf_engine::verbs::settings::limit::LimitReport;
use uwf_engine::verbs::step::StepReport;
use uwf_engine::views::show::{self, ThreadStatus};

use super::and_run::{self, RUN};
use super::answer;
use super::start::{AGENT, INPUT, INPUT_OF, LABEL, STRICT_LIMITS, with_agents, with_labels, with_strict_limits};
use super::yes_or_no::yes_or_no;
use crate::app::AppState;
use crate::changes::{self, ChangeCommand, ChangeOutcome};
use crate::command_line::{WAIT_OPTION, json_name};
use crate::failure::{self, HttpFailure, SentForm};
use crate::fields::RequestFields;
use crate::respond::wants_json;
use crate::url::is_own_path;

/// Default number of seconds that a request waits for a step. A longer step continues by itself.
const WAIT: u64 = 30;

/// Most seconds that a request can wait.
const MOST: u64 = 3600;

/// How long a form waits: long enough to see that a step is rejected, short enough for a person.
const FORM_WAIT: Duration = Duration::from_millis(800);

/// Generates a schema; the generator collects the types it references.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// An action on a thread. The option of the command defines the meaning and the type of a field.
pub(crate) struct ApiAction {
    /// Its path.
    pub(crate) name: &'static str,
    /// The command.
    pub(crate) command: &'static str,
    /// The options that are fields, by their names in JSON (see [`json_name`]).
    pub(crate) options: &'static [&'static str],
    /// Whether an agent may run, so that the action can take long.
    pub(crate) is_long: bool,
    /// Differences from the command.
    pub(crate) note: &'static str,
    /// Schema of its report.
    pub(crate) report: SchemaOf,
}

/// Option with the expected attempt. The expected head is not enough: it does not move if an attempt fails or its agent asks a question.
pub(crate) const EXPECT_ATTEMPT: &str = "expect-attempt";

/// The field with the copy of a group that is taken.
pub(crate) const COPY: &str = "copy";

/// All actions.
pub(crate) const ACTIONS: &[ApiAction] = &[
    ApiAction {
        name: "step",
        command: "thread step",
        options: &["agent", EXPECT_ATTEMPT],
        is_long: true,
        note: "",
        report: SchemaGenerator::subschema_for::<StepReport>,
    },
    ApiAction {
        name: "run",
        command: "run",
        options: &["until", "steps", WAIT_OPTION, EXPECT_ATTEMPT],
        is_long: true,
        note: "",
        report: SchemaGenerator::subschema_for::<StepReport>,
    },
    ApiAction {
        name: "retry",
        command: "thread retry",
        options: &["agent", EXPECT_ATTEMPT],
        is_long: true,
        note: "With `run`, `agent` plays the role for the rest of the thread.",
        report: SchemaGenerator::subschema_for::<StepReport>,
    },
    ApiAction {
        name: "pause",
        command: "thread pause",
        options: &["reason"],
        is_long: false,
        note: "",
        report: SchemaGenerator::subschema_for::<PauseReport>,
    },
    ApiAction {
        name: "resume",
        command: "thread resume",
        options: &[],
        is_long: false,
        note: "",
        report: SchemaGenerator::subschema_for::<PauseReport>,
    },
    ApiAction {
        name: "kill",
        command: "thread kill",
        options: &[],
        is_long: false,
        note: "",
        report: SchemaGenerator::subschema_for::<KillReport>,
    },
    ApiAction {
        name: "limit",
        command: "thread limit",
        options: &["steps", "time", "tokens", "cost"],
        is_long: false,
        note: "Limits are whole amounts, so that the request can be repeated.",
        report: SchemaGenerator::subschema_for::<LimitReport>,
    },
    ApiAction {
        name: "label",
        command: "thread label",
        options: &["set", "remove"],
        is_long: false,
        note: "One label can be set and one removed at a time.",
        report: SchemaGenerator::subschema_for::<LabelReport>,
    },
    ApiAction {
        name: "fork",
        command: "thread fork",
        options: &["id", "from-role", "redo", "cwd", AGENT, LABEL, "max-steps", "max-time", "max-tokens", "max-cost"],
        is_long: false,
        note: "",
        report: SchemaGenerator::subschema_for::<ForkReport>,
    },
    ApiAction {
        name: "answer",
        command: "thread answer",
        options: &[EXPECT_ATTEMPT, "by", "branch"],
        is_long: false,
        note: "`output.KEY` is a key of the output, as forms send it.",
        report: SchemaGenerator::subschema_for::<StepReport>,
    },
    ApiAction {
        name: "take",
        command: "thread take",
        options: &["message"],
        is_long: false,
        note: "",
        report: SchemaGenerator::subschema_for::<StepReport>,
    },
];

/// Whether an action accepts the attempt it is meant for.
pub(crate) fn names_attempt(action: &str) -> bool {
    ACTIONS.iter().any(|known| known.name == action && known.options.contains(&EXPECT_ATTEMPT))
}

/// Fields of every action that are not options of its command. A form has the page to go back to, and every request may wait.
const OF_EVERY_ACTION: [&str; 3] = ["expectedHead", "wait", "back"];

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/threads/{thread}/{action}", post(act))
}

async fn act(
    State(app): State<AppState>,
    Path((typed, name)): Path<(String, String)>,
    headers: HeaderMap,
    fields: RequestFields,
) -> Result<Response, HttpFailure> {
    let action = ACTIONS.iter().find(|action| action.name == name).ok_or_else(|| {
        let names: Vec<&str> = ACTIONS.iter().map(|action| action.name).collect();
        HttpFailure::not_found(format!("nothing is called {name}; a thread has {}", names.join(", ")))
    })?;
    let thread = app.read(move |home| Ok(thread_ids::resolve(home, None, &typed)?)).await?;
    if fields.is_form && !wants_json(&headers) {
        let done = by_form(&app, action, &thread, &fields).await;
        return done.map_err(|failure| failure.of_form(sent(action, &thread, fields)));
    }
    let change = change(&app, action, &thread, &fields).await?;
    let wait = Duration::from_secs(wait(&fields)?);
    match perform(&app, action, (&thread, &fields), change, wait).await? {
        ChangeOutcome::Reported(code, report) => Ok((failure::status(code), Json(report)).into_response()),
        ChangeOutcome::GoesOn => {
            let status = status(&app, thread).await?;
            Ok((StatusCode::ACCEPTED, Json(json!(status))).into_response())
        }
    }
}

async fn by_form(
    app: &AppState,
    action: &ApiAction,
    thread: &ThreadId,
    fields: &RequestFields,
) -> Result<Response, HttpFailure> {
    let change = change(app, action, thread, fields).await?;
    in_browser(action, thread, fields, perform(app, action, (thread, fields), change, FORM_WAIT).await)
}

/// Makes a change, and runs the thread if the request asks for it. A long change continues by itself after `wait`.
async fn perform(
    app: &AppState,
    action: &ApiAction,
    (thread, fields): (&ThreadId, &RequestFields),
    change: ChangeCommand,
    wait: Duration,
) -> Result<ChangeOutcome, HttpFailure> {
    let wait = action.is_long.then_some(wait);
    let done = match and_run::is_asked(action.name, fields)? {
        true => {
            let agent = fields.text("agent").filter(|agent| action.name == "retry" && !agent.is_empty());
            and_run::change_and_run(app, change, thread.clone(), agent.map(str::to_owned), wait).await
        }
        false => changes::run(app, ChangeCommand { wait, ..change }).await,
    };
    done.map_err(|failure| failure.of_fields(action.options))
}

fn sent(action: &ApiAction, thread: &ThreadId, fields: RequestFields) -> SentForm {
    let page = fields.text("back").filter(|path| is_own_path(path)).map(str::to_owned);
    let page = page.unwrap_or_else(|| format!("/threads/{thread}"));
    SentForm { action: format!("/api/threads/{thread}/{}", action.name), page, fields }
}

/// Where a browser goes after a form. A failed attempt is shown on the thread's page; a rejected action is a failure of the request.
fn in_browser(
    action: &ApiAction,
    thread: &ThreadId,
    fields: &RequestFields,
    done: Result<ChangeOutcome, HttpFailure>,
) -> Result<Response, HttpFailure> {
    let report = match done {
        Ok(ChangeOutcome::Reported(_, report)) => Some(report),
        Ok(ChangeOutcome::GoesOn) => None,
        Err(failure) if failure.status == StatusCode::UNPROCESSABLE_ENTITY && !failure.still_waits() => None,
        Err(failure) => return Err(failure),
    };
    // The report of another action may be about a branch.
    let new = report.as_ref().filter(|_| action.name == "fork").and_then(|report| report["thread"].as_str());
    let back = fields.text("back").filter(|path| is_own_path(path) && new.is_none());
    let path = back.map_or_else(|| format!("/threads/{}", new.unwrap_or(thread.as_str())), str::to_owned);
    Ok(Redirect::to(&path).into_response())
}

async fn status(app: &AppState, thread: ThreadId) -> Result<ThreadStatus, HttpFailure> {
    app.read(move |home| Ok(show::show(home, &thread)?)).await
}

fn wait(fields: &RequestFields) -> Result<u64, HttpFailure> {
    let Some(text) = fields.text("wait") else { return Ok(WAIT) };
    let seconds = text.parse().ok().filter(|seconds| *seconds <= MOST);
    seconds.ok_or_else(|| HttpFailure::bad_request(format!("`wait` is a number of seconds, 0 to {MOST}")))
}

/// The command for an action and its fields.
async fn change(
    app: &AppState,
    action: &ApiAction,
    thread: &ThreadId,
    fields: &RequestFields,
) -> Result<ChangeCommand, HttpFailure> {
    let options: Vec<(String, &str)> = action.options.iter().map(|option| (json_name(option), *option)).collect();
    let own = own_fields(action.name);
    let is_own = |name: &str| {
        own.iter().any(|field| match field.split_once('.') {
            Some((family, _)) => name.strip_prefix(family).is_some_and(|rest| rest.starts_with('.')),
            None => *field == name,
        })
    };
    let is_known = |name: &str| match name {
        RUN => and_run::is_possible(action.name),
        name => OF_EVERY_ACTION.contains(&name) || is_own(name) || options.iter().any(|(field, _)| field == name),
    };
    if let Some(unknown) = fields.names().find(|name| !is_known(name)) {
        let known = options.iter().map(|(field, _)| field.as_str()).chain(["expectedHead"]).chain(own.iter().copied());
        return Err(HttpFailure::bad_request(format!("`{}` has no field `{unknown}`", action.name))
            .hint(format!("it takes {}", known.collect::<Vec<_>>().join(", "))));
    }
    let mut change = ChangeCommand::new(action.command.split(' '));
    for (field, option) in &options {
        if *option == WAIT_OPTION {
            if yes_or_no(fields, field)? == Some(true) {
                change.line.push(format!("--{option}"));
            }
            continue;
        }
        if let Some(value) = fields.text(field).filter(|value| !value.is_empty()) {
            if fields.is_structured(field) {
                return Err(HttpFailure::bad_request(format!("`{field}` must be one text or number"))
                    .hint("send a request for each value"));
            }
            if action.name == "limit" && value.starts_with('+') {
                return Err(HttpFailure::bad_request(format!("`{field}` must be the whole limit, not how much more"))
                    .hint("a request that is repeated would add it twice"));
            }
            change = change.option(&format!("--{option}"), value);
        }
    }
    let step = fields.text("step").filter(|step| !step.is_empty() && action.name == "fork");
    // A step never changes, so forking it needs no expected head.
    if step.is_none() {
        change = match fields.text("expectedHead") {
            Some(head) if action.name != "fork" => change.option("--expect-head", head),
            Some(_) => change,
            None => return Err(needs_head(action)),
        };
    }
    change = match action.name {
        "fork" => {
            change = with_input(with_prompt(change, fields), fields)?;
            with_strict_limits(with_labels(with_agents(change, fields), fields), fields)?
        }
        "answer" => answer::given(app, change, thread, fields).await?,
        _ => change,
    };
    change.line.extend(["--".to_owned(), step.unwrap_or(thread.as_str()).to_owned()]);
    if action.name == "take" {
        let copy = fields.text(COPY).filter(|copy| !copy.is_empty());
        let copy = copy.ok_or_else(|| HttpFailure::bad_request("`take` needs `copy`, such as `drafts.2`"))?;
        change.line.push(copy.to_owned());
    }
    Ok(change)
}

/// Fields of one action that are not options of its command. After a dot comes any name.
fn own_fields(action: &str) -> &'static [&'static str] {
    match action {
        "fork" => &["step", "prompt", INPUT, "input.NAME", "agent.ROLE", "label.KEY", STRICT_LIMITS],
        "answer" => &["data", "text", "question", "output.KEY"],
        "take" => &[COPY],
        _ => &[],
    }
}

fn with_prompt(change: ChangeCommand, fields: &RequestFields) -> ChangeCommand {
    match fields.text("prompt").filter(|prompt| !prompt.trim().is_empty()) {
        Some(prompt) => ChangeCommand { input: prompt.to_owned(), ..change.option("--prompt", "-") },
        None => change,
    }
}

/// Adds the other values of the input: the members of `input`, and each `input.NAME`.
fn with_input(mut change: ChangeCommand, fields: &RequestFields) -> Result<ChangeCommand, HttpFailure> {
    change.line.push("--requested".to_owned());
    if let Some(text) = fields.text(INPUT).filter(|text| !text.trim().is_empty()) {
        let Ok(Value::Object(values)) = json_cas::json_value(text) else {
            return Err(HttpFailure::bad_request("`input` is an object of names and values"));
        };
        for (name, value) in values {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            change = change.option("--set", format!("{name}={value}"));
        }
    }
    for (name, value) in fields.all().filter(|(_, value)| !value.trim().is_empty()) {
        if let Some(name) = name.strip_prefix(INPUT_OF) {
            change = change.option("--set", format!("{name}={value}"));
        }
    }
    Ok(change)
}

fn needs_head(action: &ApiAction) -> HttpFailure {
    HttpFailure::bad_request(format!("`{}` needs `expectedHead`, the head of the thread it is meant for", action.name))
        .hint("`head` of GET /api/threads/ID: if the head differs, the server rejects the request (409)")
}
