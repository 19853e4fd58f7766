//! `/workflows`: all workflows, and how much they are used.

mod detail;
mod editor;
mod figures;
pub(crate) mod inputs;
mod roles;
mod schema;
pub(crate) mod start;
mod used;
mod versions;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use json_cas::NodeHash;
use maud::{Markup, html};
use uwf_core::text::one_line;
use uwf_engine::root::home::Home;
use uwf_engine::root::registry;
use uwf_engine::verbs::workflows::{self, NamedWorkflow};
use uwf_engine::views::workflow_names;

use self::used::{UsedWorkflows, WorkflowThreadCounts};
use super::layout::{DashboardPage, NavSection};
use super::parts;
use crate::api::workflows::{list, workflow_by_name_or_hash};
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::gateway::lists::{self, MachineWorkflow};
use crate::machines::name::MachineName;
use crate::respond::wants_json;
use crate::url::{encoded, segment};

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/workflows", get(listed))
        .merge(detail::routes())
        .merge(editor::routes())
        .merge(start::routes())
}

/// `GET /workflows`: the API's list, if the client wants JSON.
async fn listed(state: State<AppState>, headers: HeaderMap) -> Response {
    if wants_json(&headers) { list(state).await.into_response() } else { page(state).await.into_response() }
}

/// Contents of a workflow's row.
struct WorkflowTableRow {
    named: NamedWorkflow,
    description: String,
    roles: usize,
    /// Number of versions that had the name.
    versions: usize,
    used: WorkflowThreadCounts,
}

/// A workflow that has threads but no name.
struct NamelessWorkflow {
    hash: NodeHash,
    name: Option<String>,
    used: WorkflowThreadCounts,
}

async fn page(State(app): State<AppState>) -> Result<Response, HttpFailure> {
    let cwd = app.cwd().to_owned();
    let (rows, nameless) = app.read(move |home| read(home, &cwd)).await?;
    let machines = match app.gateway() {
        Some(gateway) => lists::workflows(gateway).await?,
        None => Vec::new(),
    };
    let body = html! {
        header.flow-head {
            h1 { "Workflows" }
            @if !app.is_read_only() { div.actions { a.button href="/new-workflow" { "New workflow" } } }
        }
        @if rows.is_empty() {
            p { "No workflow is stored yet." }
            p.quiet { code { "uwf workflow put FILE" } " stores one under its name; " code { "uwf init workflow" } " creates a first one." }
        } @else {
            (table(&app, &rows))
        }
        @if !nameless.is_empty() {
            section aria-labelledby="nameless" {
                h2 #nameless { "Without a name" }
                p.quiet { "Threads ran these workflows from files, or under names that were removed." }
                (nameless_table(&nameless))
            }
        }
        @for (machine, workflows) in &machines { (of_machine(machine, workflows.as_deref())) }
    };
    Ok(DashboardPage::new("Workflows", NavSection::Workflows, body).live("/api/events").into_response(&app))
}

fn read(home: &Home, cwd: &std::path::Path) -> Result<(Vec<WorkflowTableRow>, Vec<NamelessWorkflow>), HttpFailure> {
    let registry = registry::read(home)?;
    let mut used = UsedWorkflows::count_threads(home)?;
    let mut rows = Vec::new();
    for named in workflows::list(home, cwd)? {
        let entry = registry.get(&named.name);
        let past = entry.into_iter().flat_map(|entry| entry.history.iter().map(|past| past.hash).chain([entry.hash]));
        let versions: Vec<NodeHash> = past.collect();
        let shown = match named.hash.filter(|_| named.problem.is_none()) {
            Some(hash) if named.origin == workflows::REGISTRY => workflows::show(home, hash).ok(),
            Some(_) => workflow_by_name_or_hash(home, &named.name, cwd).ok().map(|(shown, _)| shown),
            None => None,
        };
        rows.push(WorkflowTableRow {
            description: shown.as_ref().map(|shown| one_line(&shown.workflow.description)).unwrap_or_default(),
            roles: shown.as_ref().map_or(0, |shown| shown.workflow.roles.len()),
            versions: versions.len(),
            used: used.take(versions.into_iter().chain(named.hash)),
            named,
        });
    }
    let rest = used.into_rest().into_iter();
    let rest = rest.map(|(hash, used)| NamelessWorkflow { hash, name: workflow_names::own_name(home, hash), used });
    Ok((rows, rest.collect()))
}

/// The workflows of a machine.
fn of_machine(machine: &MachineName, workflows: Option<&[MachineWorkflow]>) -> Markup {
    let id = format!("on-{machine}");
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { "On " a href={ (machine.prefix()) "/workflows" } { (machine) } }
            @match workflows {
                None => p.quiet { "The machine did not answer." },
                Some([]) => p.quiet { "No workflow is stored there." },
                Some(workflows) => ul.names {
                    @for workflow in workflows {
                        @if let Some(name) = segment(&workflow.name) {
                            li { a href={ (machine.prefix()) "/workflows/" (name) } { (workflow.name) } }
                        }
                    }
                },
            }
        }
    }
}

fn table(app: &AppState, rows: &[WorkflowTableRow]) -> Markup {
    html! {
        table.flows {
            thead {
                tr {
                    th scope="col" { "Workflow" }
                    th.number scope="col" { "Roles" }
                    th.number scope="col" { "Versions" }
                    th scope="col" { "Threads" }
                    th.number scope="col" { "Succeeded" }
                    th scope="col" { "Last used" }
                    @if !app.is_read_only() { th scope="col" { span.hidden { "Start" } } }
                }
            }
            tbody { @for row in rows { (line(app, row)) } }
        }
    }
}

fn line(app: &AppState, row: &WorkflowTableRow) -> Markup {
    let NamedWorkflow { name, hash, origin, problem, .. } = &row.named;
    let is_of_project = origin != workflows::REGISTRY;
    // If two workflows have the same name, the name means the project's.
    let id = if is_of_project { format!("project-{name}") } else { format!("workflow-{name}") };
    let path = format!("/workflows/{}", encoded(name));
    html! {
        tr id=(id) data-row {
            th scope="row" {
                @match hash {
                    Some(_) => a data-open href=(path) { (name) },
                    None => (name),
                }
                @if is_of_project { " " span.badge title=(origin) { "project" } }
                @if !row.description.is_empty() { p.quiet.small { (row.description) } }
                @if let Some(problem) = problem { p.problem.small { (parts::ticks(problem)) } }
            }
            td.number data-label="Roles" { (row.roles) }
            td.number data-label="Versions" { (row.versions.max(1)) }
            td data-label="Threads" { (row.used.words(Some(name))) }
            td.number data-label="Succeeded" { (row.used.success()) }
            td data-label="Last used" { (row.used.last()) }
            @if !app.is_read_only() {
                td { @if problem.is_none() { a.button href={ (path) "/start" } aria-label={ "Start " (name) } { "Start" } } }
            }
        }
    }
}

fn nameless_table(nameless: &[NamelessWorkflow]) -> Markup {
    html! {
        table.flows {
            thead {
                tr { th scope="col" { "Workflow" } th scope="col" { "Threads" } th scope="col" { "Last used" } }
            }
            tbody {
                @for NamelessWorkflow { hash, name, used } in nameless {
                    tr id={ "workflow-" (hash) } data-row {
                        th scope="row" {
                            a data-open href={ "/workflows/" (hash) } { (name.as_deref().unwrap_or("not readable")) }
                            " " code.quiet { (hash) }
                        }
                        td data-label="Threads" { (used.words(None)) }
                        td data-label="Last used" { (used.last()) }
                    }
                }
            }
        }
    }
}
