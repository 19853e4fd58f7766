//! `/workflows/NAME/start`: the form that starts a thread.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use maud::{Markup, html};
use serde_json::Value;
use uwf_core::config::{UwfConfig, WorkspaceKind};
use uwf_core::text::one_line;
use uwf_core::workflow::{Role, Workflow, role_order};
use uwf_engine::root::home::Home;
use uwf_engine::root::{ids, project};
use uwf_engine::verbs::workflows::ShownWorkflow;

use crate::api::start::{COMMAND, LABEL, begin};
use crate::api::workflows::workflow_by_name_or_hash;
use crate::app::AppState;
use crate::command_line::json_name;
use crate::failure::HttpFailure;
use crate::fields::RequestFields;
use crate::pages::forms::FieldFault;
use crate::pages::layout::{DashboardPage, NavSection};
use crate::pages::parts;
use crate::pages::workflows::inputs;
use crate::url::encoded;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/workflows/{workflow}/start", get(page).post(start))
}

/// The choices of the form.
struct StartFormChoices {
    typed: String,
    shown: ShownWorkflow,
    config: UwfConfig,
    /// Why there are no agents to choose from.
    config_problem: Option<String>,
}

fn read(home: &Home, typed: String, cwd: &std::path::Path) -> Result<StartFormChoices, HttpFailure> {
    let (shown, _) = workflow_by_name_or_hash(home, &typed, cwd)?;
    let (config, config_problem) = match project::config(home, cwd) {
        Ok(config) => (config, None),
        Err(error) => (UwfConfig::default(), Some(error.to_string())),
    };
    Ok(StartFormChoices { typed, shown, config, config_problem })
}

async fn page(State(app): State<AppState>, Path(typed): Path<String>) -> Result<Response, HttpFailure> {
    if app.is_read_only() {
        return Err(HttpFailure::new(StatusCode::FORBIDDEN, "this server is read-only, so it starts no thread")
            .hint("start it without --read-only, or use the command line"));
    }
    let cwd = app.cwd().to_owned();
    let offer = app.read(move |home| read(home, typed, &cwd)).await?;
    Ok(shown(&app, &offer, &RequestFields::default(), None))
}

/// Starts a thread and redirects to it. If that fails, shows the form again with the typed values.
async fn start(
    State(app): State<AppState>,
    Path(workflow): Path<String>,
    fields: RequestFields,
) -> Result<Response, HttpFailure> {
    match begin(&app, &fields).await {
        Ok(report) => {
            Ok(Redirect::to(&format!("/threads/{}", report["thread"].as_str().unwrap_or_default())).into_response())
        }
        Err(failure) => again(&app, workflow, &fields, failure).await,
    }
}

/// The form again, with the typed values and the reason why no thread was started.
///
/// # Errors
/// The failure itself if the workflow does not exist.
async fn again(
    app: &AppState,
    workflow: String,
    typed: &RequestFields,
    failure: HttpFailure,
) -> Result<Response, HttpFailure> {
    let cwd = app.cwd().to_owned();
    match app.read(move |home| read(home, workflow, &cwd)).await {
        Ok(offer) => Ok((failure.status, shown(app, &offer, typed, Some(&failure))).into_response()),
        Err(_) => Err(failure),
    }
}

fn shown(app: &AppState, offer: &StartFormChoices, typed: &RequestFields, failure: Option<&HttpFailure>) -> Response {
    let name = &offer.shown.name;
    let back = format!("/workflows/{}", encoded(&offer.typed));
    let fault = failure.and_then(|failure| FieldFault::find(failure, typed));
    let fault = fault.as_ref();
    let body = html! {
        p.quiet.crumbs {
            a href="/workflows" { "Workflows" } " / " a href=(back) data-key="Escape" { (name) }
        }
        h1 { "Start a thread of " (name) }
        @let description = one_line(&offer.shown.workflow.description);
        @if !description.is_empty() { p.quiet { (description) } }
        @if let Some(failure) = failure { (problem(failure)) }
        form.start method="post" action={(back) "/start"} {
            input type="hidden" name="workflow" value=(offer.typed);
            // A form that is sent twice starts one thread. A form that started no thread gets another id, because the earlier values
            // may have started a thread after all.
            input type="hidden" name="id" value=(ids::new_thread_id());
            (task(typed, fault))
            (inputs::fields(&offer.shown.inputs, typed, fault))
            (place(app, offer, typed, fault))
            (agents(offer, typed))
            (limits(app, &offer.shown.workflow, typed, fault))
            (label(typed, fault))
            div.actions {
                button { "Start" }
                button.primary name="run" value="yes" { "Start and run" }
                a.button href=(back) { "Cancel" }
            }
            p.quiet.small { i { "Start" } " only creates the thread. " i { "Start and run" } " continues until it finishes, needs you or reaches a limit." }
        }
    };
    DashboardPage::new(format!("Start {name}"), NavSection::Workflows, body).into_response(app)
}

fn problem(failure: &HttpFailure) -> Markup {
    html! {
        div.failure role="alert" {
            p { strong { "No thread was started. " } (parts::message(&failure.message)) }
            @if !failure.hints.is_empty() {
                ul { @for hint in &failure.hints { li { (parts::message(hint)) } } }
            }
        }
    }
}

fn task(typed: &RequestFields, fault: Option<&FieldFault>) -> Markup {
    let (is_invalid, message) = FieldFault::marks(fault, "prompt");
    html! {
        div.field {
            label for="prompt" { "Task" }
            textarea #prompt name="prompt" rows="8" required autofocus[fault.is_none() || is_invalid.is_some()] aria-describedby="prompt-hint" aria-invalid=[is_invalid] aria-errormessage=[message] {
                // A browser drops a line break that comes first.
                "\n" (typed.text("prompt").unwrap_or_default())
            }
            (FieldFault::below(fault, "prompt"))
            p #prompt-hint .quiet.small { "Every role sees it." }
        }
    }
}

/// The directory agents work in. A thread runs programs there, so the form names it.
fn place(app: &AppState, offer: &StartFormChoices, typed: &RequestFields, fault: Option<&FieldFault>) -> Markup {
    let (is_invalid, message) = FieldFault::marks(fault, "cwd");
    let cwd = app.cwd().display().to_string();
    let workflow = &offer.shown.workflow;
    let configured = offer.config.workspaces.get(&workflow.name).unwrap_or(&workflow.workspace);
    let by_default = match configured {
        WorkspaceKind::Worktree => "As configured: a worktree",
        WorkspaceKind::Directory => "As configured: the directory itself",
    };
    let chosen = typed.text("worktree").unwrap_or_default();
    html! {
        fieldset {
            legend { "Where agents work" }
            div.field {
                label for="cwd" { "Directory" }
                input #cwd.mono name="cwd" required spellcheck="false" autocomplete="off" value=(typed.text("cwd").unwrap_or(&cwd))
                    autofocus[is_invalid.is_some()] aria-describedby="cwd-hint" aria-invalid=[is_invalid] aria-errormessage=[message];
                (FieldFault::below(fault, "cwd"))
                p #cwd-hint .quiet.small { "On the machine of this server. Agents read and write files and run commands there." }
            }
            div.field {
                label for="worktree" { "Git worktree" }
                select #worktree name="worktree" {
                    @for (value, words) in [("", by_default), ("yes", "Its own worktree and branch"), ("no", "The directory itself")] {
                        option value=(value) selected[value == chosen] { (words) }
                    }
                }
            }
        }
    }
}

fn agents(offer: &StartFormChoices, typed: &RequestFields) -> Markup {
    let StartFormChoices { shown, config, config_problem, .. } = offer;
    html! {
        fieldset {
            legend { "Agents" }
            @if let Some(problem) = config_problem {
                p.problem.small { "The configuration cannot be read: " (parts::sentence(problem)) }
            } @else if config.agents.is_empty() {
                p.quiet.small { "No agents are configured. " code { "uwf setup" } " chooses one." }
            }
            div.roles {
                @for role in role_order(&shown.workflow) {
                    @if let Some(described) = shown.workflow.roles.get(role).filter(|role| has_agent(role)) {
                        (agent(config, &shown.name, role, &described.description, typed))
                    }
                }
            }
        }
    }
}

/// Whether an agent plays the role. A command and a group need none.
fn has_agent(role: &Role) -> bool {
    role.more.run.is_none() && role.more.play.is_none()
}

fn agent(config: &UwfConfig, workflow: &str, role: &str, description: &str, typed: &RequestFields) -> Markup {
    let field = format!("agent.{role}");
    let chosen = typed.text(&field).unwrap_or_default();
    let by_default = config.agent_for(workflow, role);
    html! {
        div.field {
            label for=(field) { (role) }
            select id=(field) name=(field) title=(one_line(description)) {
                option value="" { @match by_default { Some(alias) => { "As configured: " (alias) }, None => "As configured: none" } }
                @for (alias, agent) in &config.agents {
                    option value=(alias) selected[alias == chosen] {
                        (alias) @if let Some(model) = &agent.model { " (" (model) ")" }
                    }
                }
            }
        }
    }
}

/// A label, by which lists and costs can be filtered.
fn label(typed: &RequestFields, fault: Option<&FieldFault>) -> Markup {
    let (is_invalid, message) = FieldFault::marks(fault, LABEL);
    html! {
        div.field {
            label for="label" { "Label" span.quiet.small { " (optional)" } }
            input #label name=(LABEL) autocomplete="off" placeholder="KEY=VALUE" value=(typed.text(LABEL).unwrap_or_default())
                autofocus[is_invalid.is_some()] aria-describedby="label-hint" aria-invalid=[is_invalid] aria-errormessage=[message];
            (FieldFault::below(fault, LABEL))
            p #label-hint .quiet.small { "Lists and costs can be filtered by labels, for example " code { "team=search" } "." }
        }
    }
}

/// The keys that a phone shows for a value of this schema.
fn keys(schema: &Value) -> &'static str {
    match schema["type"].as_str() {
        Some("integer") => "numeric",
        Some("number") => "decimal",
        _ => "text",
    }
}

/// Limits; an empty field keeps the limit of the workflow.
fn limits(app: &AppState, workflow: &Workflow, typed: &RequestFields, fault: Option<&FieldFault>) -> Markup {
    let own = workflow.limits;
    let number = |limit: Option<u64>| limit.map(|limit| limit.to_string());
    let fields = [
        ("max-steps", "Steps", number(own.max_steps)),
        ("max-time", "Time", number(own.max_time).map(|seconds| format!("{seconds}s"))),
        ("max-tokens", "Tokens", number(own.max_tokens)),
        ("max-cost", "US dollars", own.max_cost.map(|cost| format!("{cost:.2}"))),
    ];
    let commands = app.commands();
    html! {
        fieldset {
            legend { "Limits" }
            div.limits {
                @for (option, label, default) in fields {
                    @let name = json_name(option);
                    @let described = commands.option_schema(COMMAND, option);
                    @let (is_invalid, message) = FieldFault::marks(fault, &name);
                    div.field {
                        label for=(name) title=[described["description"].as_str()] { (label) }
                        input id=(name) name=(name) inputmode=(keys(&described)) autocomplete="off" value=(typed.text(&name).unwrap_or_default())
                            placeholder=(default.as_deref().unwrap_or("no limit"))
                            autofocus[is_invalid.is_some()] aria-invalid=[is_invalid] aria-errormessage=[message];
                        (FieldFault::below(fault, &name))
                    }
                }
            }
            p.quiet.small { "Times: for example 90s, 15m, 2h or 1d. Limits are checked before each step." }
        }
    }
}
