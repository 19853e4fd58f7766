//! `POST /api/threads/{thread}/{action}`: what can be done with a thread. Each action is a command; this table says how its
//! fields become arguments, and is also what the OpenAPI document is made of.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use axum::{Json, Router};
use schemars::SchemaGenerator;
use serde_json::json;
use uwf_core::thread::ThreadId;
use uwf_engine::root::thread_ids;
use uwf_engine::verbs::fork::Forked;
use uwf_engine::verbs::kill::KillReport;
use uwf_engine::verbs::limit::Limits;
use uwf_engine::verbs::pause::PauseReport;
use uwf_engine::verbs::show::{self, ThreadStatus};
use uwf_engine::verbs::step::StepReport;

use super::answer;
use super::openapi::SchemaOf;
use crate::app::App;
use crate::changes::{self, Change, Done};
use crate::failure::{self, Failure, SentForm};
use crate::fields::Fields;
use crate::respond::wants_json;
use crate::url::is_own_path;

/// Seconds a script waits for a step when it does not say. What takes longer continues by itself.
const WAIT: u64 = 30;

/// Most seconds somebody may wait.
const MOST: u64 = 3600;

/// How long a form waits: long enough to see that a step is refused, short enough for a person.
const FORM_WAIT: Duration = Duration::from_millis(800);

/// A field of an action.
pub(crate) struct Field {
    /// Its name in JSON and in forms.
    pub(crate) name: &'static str,
    /// Its JSON type.
    pub(crate) kind: &'static str,
    /// The option of the command.
    option: &'static str,
    /// What it means.
    pub(crate) description: &'static str,
}

/// What can be done with a thread.
pub(crate) struct Action {
    /// Its path.
    pub(crate) name: &'static str,
    /// The command.
    command: &'static [&'static str],
    /// What it takes beside the thread.
    pub(crate) fields: &'static [Field],
    /// Whether an agent may run meanwhile, so that it can take long.
    pub(crate) is_long: bool,
    /// What it does.
    pub(crate) description: &'static str,
    /// Schema of its report.
    pub(crate) report: SchemaOf,
}

const fn field(name: &'static str, kind: &'static str, option: &'static str, description: &'static str) -> Field {
    Field { name, kind, option, description }
}

const AGENT: Field = field("agent", "string", "--agent", "Agent for this step only: an alias, or a command line.");

/// The head stays where it is when an attempt fails or its agent asks something.
const ATTEMPT: Field = field(
    "expectedAttempt",
    "string",
    "--expect-attempt",
    "Newest attempt at that head (`lastAttempt` of the thread), or `none`. If there is another one, nothing is done (409).",
);

const MAX_STEPS: Field = field("maxSteps", "integer", "--max-steps", "Most steps the thread may have.");
const MAX_TIME: Field = field("maxTime", "string", "--max-time", "Longest time, as 90s, 15m, 2h or 1d.");
const MAX_TOKENS: Field = field("maxTokens", "integer", "--max-tokens", "Most tokens it may use.");
const MAX_COST: Field = field("maxCost", "number", "--max-cost", "Most US dollars it may cost.");

/// All actions.
pub(crate) const ACTIONS: &[Action] = &[
    Action {
        name: "step",
        command: &["thread", "step"],
        fields: &[AGENT, ATTEMPT],
        is_long: true,
        description: "Do one step: choose the next role, let its agent play it, keep the result.",
        report: SchemaGenerator::subschema_for::<StepReport>,
    },
    Action {
        name: "run",
        command: &["run"],
        fields: &[
            field("until", "string", "--until", "Stop before this role would be played."),
            field("steps", "integer", "--steps", "Stop after this many steps."),
            ATTEMPT,
        ],
        is_long: true,
        description: "Step the thread until it is done, waits for a person, is stuck or at a limit.",
        report: SchemaGenerator::subschema_for::<StepReport>,
    },
    Action {
        name: "retry",
        command: &["thread", "retry"],
        fields: &[AGENT, ATTEMPT],
        is_long: true,
        description: "Do the step again whose last attempt failed.",
        report: SchemaGenerator::subschema_for::<StepReport>,
    },
    Action {
        name: "pause",
        command: &["thread", "pause"],
        fields: &[field("reason", "string", "--reason", "Why, for whoever wonders.")],
        is_long: false,
        description: "Let no further step begin.",
        report: SchemaGenerator::subschema_for::<PauseReport>,
    },
    Action {
        name: "resume",
        command: &["thread", "resume"],
        fields: &[],
        is_long: false,
        description: "Let steps begin again after a pause.",
        report: SchemaGenerator::subschema_for::<PauseReport>,
    },
    Action {
        name: "kill",
        command: &["thread", "kill"],
        fields: &[],
        is_long: false,
        description: "End the thread and its running agent. What was done is kept.",
        report: SchemaGenerator::subschema_for::<KillReport>,
    },
    Action {
        name: "limit",
        command: &["thread", "limit"],
        fields: &[
            field("steps", "integer", "--steps", "Most steps."),
            field("time", "string", "--time", "Longest time since its beginning, as 90s, 15m, 2h or 1d."),
            field("tokens", "integer", "--tokens", "Most tokens."),
            field("cost", "number", "--cost", "Most US dollars."),
        ],
        is_long: false,
        description: "Change how far the thread may go. Limits are whole amounts, so that the request can be repeated.",
        report: SchemaGenerator::subschema_for::<Limits>,
    },
    Action {
        name: "fork",
        command: &["thread", "fork"],
        fields: &[
            field("id", "string", "--id", "Id of the new thread, a ULID: with it the request can be repeated."),
            field("fromRole", "string", "--from-role", "Fork before the last time this role was played."),
            field("cwd", "string", "--cwd", "Directory the agents of the new thread work in."),
            MAX_STEPS,
            MAX_TIME,
            MAX_TOKENS,
            MAX_COST,
        ],
        is_long: false,
        description: "Begin a second thread at the head, or at an earlier step (`step`), or with another task (`prompt`).",
        report: SchemaGenerator::subschema_for::<Forked>,
    },
    Action {
        name: "answer",
        command: &["thread", "answer"],
        fields: &[ATTEMPT],
        is_long: false,
        description: "Play a role that a person plays, or reply to what an agent asks: `data` is the output as JSON, `text` a text \
                      under a header; or `output.KEY` for each key.",
        report: SchemaGenerator::subschema_for::<StepReport>,
    },
];

/// Whether an action can be told which attempt it is meant for.
pub(crate) fn names_attempt(action: &str) -> bool {
    let of_action = |known: &&Action| known.name == action;
    ACTIONS.iter().find(of_action).is_some_and(|action| action.fields.iter().any(|field| field.name == ATTEMPT.name))
}

/// Fields that are no options of a command, of every action or of one.
const OWN: [&str; 8] = ["expectedHead", "wait", "back", "step", "prompt", "data", "text", "question"];

pub(super) fn routes() -> Router<App> {
    Router::new().route("/threads/{thread}/{action}", post(act))
}

async fn act(
    State(app): State<App>,
    Path((typed, name)): Path<(String, String)>,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response, Failure> {
    let action = ACTIONS.iter().find(|action| action.name == name).ok_or_else(|| {
        let names: Vec<&str> = ACTIONS.iter().map(|action| action.name).collect();
        Failure::not_found(format!("nothing is called {name}; a thread has {}", names.join(", ")))
    })?;
    let thread = app.read(move |home| Ok(thread_ids::resolve(home, &typed)?)).await?;
    if fields.is_form && !wants_json(&headers) {
        let done = by_form(&app, action, &thread, &fields).await;
        return done.map_err(|failure| failure.of_form(sent(action, &thread, fields)));
    }
    let change = change(&app, action, &thread, &fields).await?;
    let wait = Duration::from_secs(wait(&fields)?);
    match changes::run(&app, if action.is_long { change.waits(wait) } else { change }).await? {
        Done::Reported(code, report) => Ok((failure::status(code), Json(report)).into_response()),
        Done::GoesOn => {
            let status = status(&app, thread).await?;
            Ok((StatusCode::ACCEPTED, Json(json!(status))).into_response())
        }
    }
}

async fn by_form(app: &App, action: &Action, thread: &ThreadId, fields: &Fields) -> Result<Response, Failure> {
    let change = change(app, action, thread, fields).await?;
    let done = changes::run(app, if action.is_long { change.waits(FORM_WAIT) } else { change }).await;
    in_browser(thread, fields, done)
}

fn sent(action: &Action, thread: &ThreadId, fields: Fields) -> SentForm {
    let page = fields.text("back").filter(|path| is_own_path(path)).map(str::to_owned);
    let page = page.unwrap_or_else(|| format!("/threads/{thread}"));
    SentForm { action: format!("/api/threads/{thread}/{}", action.name), page, fields }
}

/// Where a browser goes after a form. A failed attempt is news about the thread, whose page shows it; what could not be done
/// at all is a failure of the request.
fn in_browser(thread: &ThreadId, fields: &Fields, done: Result<Done, Failure>) -> Result<Response, Failure> {
    let report = match done {
        Ok(Done::Reported(_, report)) => Some(report),
        Ok(Done::GoesOn) => None,
        Err(failure) if failure.status == StatusCode::UNPROCESSABLE_ENTITY && !failure.still_waits() => None,
        Err(failure) => return Err(failure),
    };
    // A fork is a thread of its own, to which whoever made it wants to go.
    let new = report.as_ref().and_then(|report| report["thread"].as_str()).filter(|id| *id != thread.as_str());
    let back = fields.text("back").filter(|path| is_own_path(path) && new.is_none());
    let path = back.map_or_else(|| format!("/threads/{}", new.unwrap_or(thread.as_str())), str::to_owned);
    Ok(Redirect::to(&path).into_response())
}

async fn status(app: &App, thread: ThreadId) -> Result<ThreadStatus, Failure> {
    app.read(move |home| Ok(show::show(home, &thread)?)).await
}

fn wait(fields: &Fields) -> Result<u64, Failure> {
    let Some(text) = fields.text("wait") else { return Ok(WAIT) };
    let seconds = text.parse().ok().filter(|seconds| *seconds <= MOST);
    seconds.ok_or_else(|| Failure::bad_request(format!("`wait` is a number of seconds, 0 to {MOST}")))
}

/// The command for an action and its fields.
async fn change(app: &App, action: &Action, thread: &ThreadId, fields: &Fields) -> Result<Change, Failure> {
    let keys_of_output = |name: &str| action.name == "answer" && name.starts_with(answer::KEY);
    let is_known = |name: &str| OWN.contains(&name) || action.fields.iter().any(|field| field.name == name);
    if let Some(unknown) = fields.names().find(|name| !is_known(name) && !keys_of_output(name)) {
        let known: Vec<&str> = action.fields.iter().map(|field| field.name).chain(["expectedHead"]).collect();
        return Err(Failure::bad_request(format!("`{}` has no field `{unknown}`", action.name))
            .hint(format!("it takes {}", known.join(", "))));
    }
    let mut change = Change::new(action.command.iter().copied());
    for field in action.fields {
        if let Some(value) = fields.text(field.name).filter(|value| !value.is_empty()) {
            if action.name == "limit" && value.starts_with('+') {
                return Err(Failure::bad_request(format!(
                    "`{}` must be the whole limit, not how much more",
                    field.name
                ))
                .hint("a request that is repeated would add it twice"));
            }
            change = change.option(field.option, value);
        }
    }
    let step = fields.text("step").filter(|step| !step.is_empty() && action.name == "fork");
    // A step never changes, so a fork of it needs no head to be expected.
    if step.is_none() {
        change = match fields.text("expectedHead") {
            Some(head) if action.name != "fork" => change.option("--expect-head", head),
            Some(_) => change,
            None => return Err(needs_head(action)),
        };
    }
    change = match action.name {
        "fork" => with_prompt(change, fields),
        "answer" => answer::given(app, change, thread, fields).await?,
        _ => change,
    };
    change.line.extend(["--".to_owned(), step.unwrap_or(thread.as_str()).to_owned()]);
    Ok(change)
}

fn with_prompt(change: Change, fields: &Fields) -> Change {
    match fields.text("prompt").filter(|prompt| !prompt.trim().is_empty()) {
        Some(prompt) => Change { input: prompt.to_owned(), ..change.option("--prompt", "-") },
        None => change,
    }
}

fn needs_head(action: &Action) -> Failure {
    Failure::bad_request(format!("`{}` needs `expectedHead`, the head of the thread it is meant for", action.name))
        .hint("`head` of GET /api/threads/ID: if the thread has moved on since, nothing is done (409)")
}
