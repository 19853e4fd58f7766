//! `/workflows/NAME` and `/workflows/HASH`: a workflow.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use json_cas::NodeHash;
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;
use uwf_core::config::{UwfConfig, WorkspaceKind};
use uwf_core::money;
use uwf_core::workflow::{GraphDrawing, GraphOnPage, Workflow};
use uwf_engine::root::home::Home;
use uwf_engine::root::{project, registry};
use uwf_engine::verbs::workflows::find_workflow::WorkflowOrigin;
use uwf_engine::verbs::workflows::{self, ShownWorkflow, WorkflowVersion};
use uwf_engine::views::figures::{self, WorkflowFigures};

use super::figures::MOST_THREADS;
use super::inputs;
use super::roles;
use super::versions::{self, VersionResults};
use crate::api::workflows::{show, source_by_name_or_hash, workflow_by_name_or_hash};
use crate::app::{AppState, ServerCaches};
use crate::failure::HttpFailure;
use crate::markdown::markdown;
use crate::pages::layout::{DashboardPage, NavSection};
use crate::pages::parts;
use crate::respond::wants_json;
use crate::url::encoded;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/workflows/{workflow}", get(workflow))
}

/// Query of the page.
#[derive(Debug, Deserialize)]
struct WorkflowQuery {
    /// Versions that the figures cover.
    #[serde(default)]
    figures: FiguresOf,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FiguresOf {
    #[default]
    All,
    This,
}

/// `GET /workflows/{workflow}`: a page, or the API's report if the client wants JSON.
async fn workflow(
    state: State<AppState>,
    path: Path<String>,
    asked: Query<WorkflowQuery>,
    headers: HeaderMap,
) -> Response {
    if wants_json(&headers) {
        show(state, path).await.into_response()
    } else {
        page(state, path, asked).await.into_response()
    }
}

/// Contents of the page.
struct WorkflowView {
    typed: String,
    shown: ShownWorkflow,
    origin: WorkflowOrigin,
    /// Versions that had the name; empty if the name is not in the registry.
    versions: Vec<WorkflowVersion>,
    results: BTreeMap<NodeHash, VersionResults>,
    figures: WorkflowFigures,
    figures_of: FiguresOf,
    /// The text of its file.
    source: String,
    /// Why prices are not known.
    config_problem: Option<String>,
}

fn read(
    home: &Home,
    typed: String,
    cwd: &std::path::Path,
    memory: &ServerCaches,
    figures_of: FiguresOf,
) -> Result<WorkflowView, HttpFailure> {
    let (shown, origin) = workflow_by_name_or_hash(home, &typed, cwd)?;
    let is_named = registry::read(home)?.contains_key(&shown.name);
    let versions = if is_named { workflows::history(home, &shown.name, cwd)? } else { Vec::new() };
    let mut counted = vec![shown.hash];
    if figures_of == FiguresOf::All {
        counted.extend(versions.iter().map(|version| version.hash));
    }
    // Don't fail if prices can't be read: everything else can be shown.
    let (config, config_problem) = match project::config(home, cwd) {
        Ok(config) => (config, None),
        Err(error) => (UwfConfig::default(), Some(error.to_string())),
    };
    let figures = figures::of_roles(home, &config, counted, MOST_THREADS)?;
    let results = versions::results(home, &config, memory, &versions)?;
    let source = source_by_name_or_hash(home, &typed, cwd)?;
    Ok(WorkflowView { typed, shown, origin, versions, results, figures, figures_of, source, config_problem })
}

async fn page(
    State(app): State<AppState>,
    Path(typed): Path<String>,
    Query(asked): Query<WorkflowQuery>,
) -> Result<Response, HttpFailure> {
    let (cwd, memory) = (app.cwd().to_owned(), app.memory());
    let known = app.read(move |home| read(home, typed, &cwd, &memory, asked.figures)).await?;
    let workflow = &known.shown.workflow;
    let body = html! {
        p.quiet.crumbs { a href="/workflows" data-key="Escape" { "Workflows" } }
        (head(&app, &known))
        div.beside {
            section #graph aria-labelledby="graph-title" {
                h2 #graph-title { "Graph" }
                (picture(workflow))
                details #transitions {
                    summary { "View as table" }
                    (roles::transitions(workflow))
                }
            }
            section aria-labelledby="figures" {
                h2 #figures { "Role statistics" }
                (versions_of_figures(&known))
                @if let Some(problem) = &known.config_problem {
                    p.problem.small { "Prices are unknown: " (parts::sentence(problem)) }
                }
                (super::figures::table(workflow, &known.figures))
            }
        }
        @if !workflow.conditions.is_empty() {
            section aria-labelledby="conditions" {
                h2 #conditions { "Conditions" }
                p.quiet.small { "JSONata over the steps so far. Transitions are tried in order; the first whose condition is true is taken." }
                (roles::conditions(workflow))
            }
        }
        @if !known.shown.inputs.is_empty() {
            section aria-labelledby="inputs" { h2 #inputs { "Inputs" } (inputs::table(&known.shown.inputs)) }
        }
        section aria-labelledby="roles" { h2 #roles { "Roles" } (roles::sections(&known.shown)) }
        @if !known.versions.is_empty() {
            section aria-labelledby="versions" {
                h2 #versions { "Versions" }
                (versions::table(&known.versions, known.shown.hash, &known.results))
            }
        }
        section aria-labelledby="source" {
            h2 #source { "Source" }
            details {
                summary { "YAML source" }
                p.small { a href={ "/api" (path(&known)) "/source" } { "Only the file" } }
                pre { (known.source) }
            }
        }
    };
    Ok(DashboardPage::new(known.shown.name.clone(), NavSection::Workflows, body).into_response(&app))
}

fn head(app: &AppState, known: &WorkflowView) -> Markup {
    let ShownWorkflow { hash, name, timestamp, workflow, .. } = &known.shown;
    // A link by hash would not do for a file of the project, which may not be stored.
    let path = path(known);
    html! {
        header.flow-head {
            div {
                h1 { (name) }
                @if !workflow.description.is_empty() { div.text { (markdown(&workflow.description, 1)) } }
            }
            @if !app.is_read_only() {
                div.actions {
                    a.button.primary href={ (path) "/start" } data-key="s" { "Start a thread" }
                    // A file of the project is edited where it is.
                    @if !matches!(known.origin, WorkflowOrigin::Project { .. }) { a.button href={ (path) "/edit" } data-key="e" { "Edit" } }
                }
            }
        }
        dl.facts {
            dt { "Version" }
            dd { code { a href={ "/workflows/" (hash) } { (hash) } } @if is_old(known) { " " span.badge { "earlier version" } } }
            @match &known.origin {
                WorkflowOrigin::Project { file, shadows } => {
                    dt { "From" }
                    dd {
                        code { (file.display()) }
                        @if *shadows { p.quiet.small { "It takes precedence over the workflow of this name in the registry." } }
                    }
                },
                WorkflowOrigin::File(_) | WorkflowOrigin::Registry | WorkflowOrigin::Store => {},
            }
            dt { "Stored" }
            dd { @if *timestamp == 0 { span.quiet { "not yet: the first thread stores it" } } @else { (parts::time(*timestamp)) } }
            @if let Some(limits) = limits(known) { dt { "Limits" } dd { (limits) } }
            @if workflow.workspace == WorkspaceKind::Worktree { dt { "Works in" } dd { "a git worktree of each thread" } }
        }
    }
}

/// Path of the page, with the name or hash that was requested.
fn path(known: &WorkflowView) -> String {
    format!("/workflows/{}", encoded(&known.typed))
}

fn is_old(known: &WorkflowView) -> bool {
    let hash = known.shown.hash;
    known.versions.iter().any(|version| version.hash == hash && !version.current)
        && !known.versions.iter().any(|version| version.hash == hash && version.current)
}

/// Default limits of the workflow's threads.
fn limits(known: &WorkflowView) -> Option<String> {
    let limits = known.shown.workflow.limits;
    let parts = [
        limits.max_steps.map(|steps| format!("{steps} steps")),
        limits.max_time.map(|seconds| parts::duration(seconds.saturating_mul(1000))),
        limits.max_tokens.map(|tokens| format!("{} tokens", parts::count(tokens))),
        limits.max_cost.map(money::dollars),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The graph. A role links to its section below, an arrow to its first condition.
fn picture(workflow: &Workflow) -> Markup {
    let node_href = |role: &str| workflow.roles.contains_key(role).then(|| format!("#{}", roles::anchor(role)));
    let edge_href = |from: &str, to: &str| {
        let mut transitions = workflow.graph.get(from)?.iter().filter(|transition| transition.role == to);
        transitions.find_map(|transition| transition.condition.as_ref()).map(|name| format!("#condition-{name}"))
    };
    let page = GraphOnPage {
        ids: "graph",
        node_href: &node_href,
        branch_href: &|_, branch| node_href(branch),
        edge_href: &edge_href,
        edge_note: &|_, _| None,
    };
    PreEscaped(GraphDrawing::from_workflow(workflow, None).svg_for_page(&page))
}

fn versions_of_figures(known: &WorkflowView) -> Markup {
    let all: std::collections::BTreeSet<NodeHash> =
        known.versions.iter().map(|version| version.hash).chain([known.shown.hash]).collect();
    let current = |of| (of == known.figures_of).then_some("true");
    html! {
        @if all.len() > 1 {
            nav.choices aria-label="Versions in the figures" {
                a href={ (path(known)) "#figures" } aria-current=[current(FiguresOf::All)] { "All versions" }
                a href={ (path(known)) "?figures=this#figures" } aria-current=[current(FiguresOf::This)] { "This version" }
            }
        }
    }
}
