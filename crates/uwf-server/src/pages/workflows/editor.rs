//! `/workflows/NAME/edit` and `/new-workflow`: a workflow file with its problems and its graph, saved as a new version.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use json_cas::NodeHash;
use maud::{Markup, PreEscaped, html};
use serde_json::json;
use uwf_core::document::{FileProblem, SchemaSeverity};
use uwf_core::workflow::{GraphDrawing, GraphOnPage, Workflow};
use uwf_engine::root::home::Home;
use uwf_engine::root::registry;
use uwf_engine::verbs::validate::{self, WorkflowValidation};
use uwf_engine::verbs::workflows::find_workflow::WorkflowOrigin;

use crate::api::workflows::{SOURCE, source_by_name_or_hash, store, workflow_by_name_or_hash};
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::fields::RequestFields;
use crate::pages::layout::{DashboardPage, NavSection};
use crate::pages::parts;
use crate::url::encoded;

/// Most problems that are listed.
const LISTED: usize = 50;

/// Text of a new workflow.
const FIRST: &str = "\
name: write-text
description: A writer and a reviewer.
roles:
  writer:
    description: writes the text
    goal: Write what the task asks for.
  reviewer:
    description: approves the text or says what is missing
    goal: Compare the text with the task.
    meta:
      type: object
      properties: { approved: { type: boolean }, missing: { type: string } }
      required: [approved]
conditions:
  rejected: steps[-1].output.approved = false
graph:
  $START: [ { role: writer } ]
  writer: [ { role: reviewer } ]
  reviewer: [ { role: writer, condition: rejected }, { role: $END } ]
";

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/workflows/{workflow}/edit", get(edit).post(save_version))
        .route("/new-workflow", get(create).post(save_new))
}

/// The form: the text, and the version that it would replace.
#[derive(Debug, Clone)]
struct EditorForm {
    /// Path of the page; the form is sent to it.
    path: String,
    /// Path of the page before.
    back: String,
    source: String,
    /// Name in the registry; empty for a new workflow.
    name: String,
    /// Name that the file had at first. Another one makes another workflow.
    own_name: String,
    /// Version that the name had when the page was opened, or `none`.
    expect: String,
}

impl EditorForm {
    fn new_workflow() -> EditorForm {
        EditorForm {
            path: "/new-workflow".to_owned(),
            back: "/workflows".to_owned(),
            source: FIRST.to_owned(),
            name: String::new(),
            own_name: String::new(),
            expect: "none".to_owned(),
        }
    }

    fn read(home: &Home, typed: &str, cwd: &std::path::Path) -> Result<EditorForm, HttpFailure> {
        let (shown, origin) = workflow_by_name_or_hash(home, typed, cwd)?;
        if let WorkflowOrigin::Project { file, .. } = origin {
            let message = format!("`{typed}` is a file of the project; it is not edited here");
            return Err(HttpFailure::bad_request(message).hint(format!("edit {}", file.display())));
        }
        let registry = registry::read(home)?;
        let name = if registry.contains_key(typed) { typed } else { &shown.name };
        let current: Option<NodeHash> = registry.get(name).map(|entry| entry.hash);
        let page = format!("/workflows/{}", encoded(typed));
        Ok(EditorForm {
            path: format!("{page}/edit"),
            back: page,
            source: source_by_name_or_hash(home, typed, cwd)?,
            name: name.to_owned(),
            own_name: shown.name.clone(),
            expect: current.map_or_else(|| "none".to_owned(), |hash| hash.to_string()),
        })
    }

    /// The form as it was sent.
    fn sent(path: String, back: &str, fields: &RequestFields) -> EditorForm {
        let text = |name| fields.text(name).unwrap_or_default().to_owned();
        EditorForm {
            path,
            back: back.to_owned(),
            source: text(SOURCE),
            name: text("name"),
            own_name: text("own_name"),
            expect: text("expect"),
        }
    }

    /// Fields that store the workflow: under the name that is edited, or under a new one if the file has another name now.
    fn to_store(&self, file_name: &str) -> RequestFields {
        let is_same = file_name == self.own_name;
        let (name, expect) = if is_same { (&*self.name, &*self.expect) } else { (file_name, "none") };
        let fields = json!({ SOURCE: self.source, "name": name, "expect": expect });
        RequestFields::of_json(fields.as_object().cloned().unwrap_or_default())
    }
}

/// The text as far as it can be used.
struct CheckedSource {
    problems: Vec<FileProblem>,
    workflow: Option<Workflow>,
}

impl CheckedSource {
    fn read(home: &Home, source: String) -> Result<CheckedSource, HttpFailure> {
        let WorkflowValidation { problems, draft, .. } = validate::text(home, source, "the file", None)?;
        Ok(CheckedSource { problems, workflow: draft.map(validate::resolved).transpose()? })
    }
}

async fn create(State(app): State<AppState>) -> Result<Response, HttpFailure> {
    refuse_read_only(&app)?;
    page(&app, EditorForm::new_workflow(), None).await
}

async fn edit(State(app): State<AppState>, Path(typed): Path<String>) -> Result<Response, HttpFailure> {
    refuse_read_only(&app)?;
    let cwd = app.cwd().to_owned();
    let form = app.read(move |home| EditorForm::read(home, &typed, &cwd)).await?;
    page(&app, form, None).await
}

async fn save_new(State(app): State<AppState>, fields: RequestFields) -> Result<Response, HttpFailure> {
    let form = EditorForm::sent("/new-workflow".to_owned(), "/workflows", &fields);
    check_or_save(&app, form, &fields).await
}

async fn save_version(
    State(app): State<AppState>,
    Path(typed): Path<String>,
    fields: RequestFields,
) -> Result<Response, HttpFailure> {
    let page = format!("/workflows/{}", encoded(&typed));
    check_or_save(&app, EditorForm::sent(format!("{page}/edit"), &page, &fields), &fields).await
}

fn refuse_read_only(app: &AppState) -> Result<(), HttpFailure> {
    match app.is_read_only() {
        true => Err(HttpFailure::new(StatusCode::FORBIDDEN, "this server is read-only, so it stores no workflow")
            .hint("start it without --read-only, or use the command line")),
        false => Ok(()),
    }
}

/// Saves the workflow and redirects to it. Otherwise shows the form again with the same text, and why it was not saved.
async fn check_or_save(app: &AppState, form: EditorForm, fields: &RequestFields) -> Result<Response, HttpFailure> {
    if fields.text("do") != Some("save") {
        return page(app, form, None).await;
    }
    let source = form.source.clone();
    let CheckedSource { workflow, .. } = app.read(move |home| CheckedSource::read(home, source)).await?;
    let Some(workflow) = workflow else {
        let failure = HttpFailure::new(StatusCode::UNPROCESSABLE_ENTITY, "the file has errors");
        return page(app, form, Some(failure)).await;
    };
    match store(app, &form.to_store(&workflow.name)).await {
        Ok(report) => {
            let name = report["name"].as_str().unwrap_or_default();
            Ok(Redirect::to(&format!("/workflows/{}", encoded(name))).into_response())
        }
        Err(failure) => page(app, form, Some(failure)).await,
    }
}

async fn page(app: &AppState, form: EditorForm, failure: Option<HttpFailure>) -> Result<Response, HttpFailure> {
    let source = form.source.clone();
    let checked = app.read(move |home| CheckedSource::read(home, source)).await?;
    let title = if form.name.is_empty() { "New workflow".to_owned() } else { format!("Edit {}", form.name) };
    let body = html! {
        p.quiet.crumbs {
            a href="/workflows" { "Workflows" }
            @if !form.name.is_empty() { " / " a href=(form.back) data-key="Escape" { (form.name) } }
        }
        h1 { (title) }
        @if let Some(failure) = &failure { (not_saved(failure)) }
        form.editor method="post" action=(form.path) {
            @for (name, value) in [("name", &form.name), ("own_name", &form.own_name), ("expect", &form.expect)] {
                input type="hidden" name=(name) value=(value);
            }
            div.source {
                label for="source" { "Workflow file (YAML)" }
                // A browser drops a line break that comes first.
                div.numbered {
                    pre #lines aria-hidden="true" {}
                    textarea #source .mono name=(SOURCE) rows="32" required spellcheck="false" autocomplete="off" autocapitalize="off" aria-describedby="verdict" {
                        "\n" (form.source)
                    }
                }
                div.actions {
                    button.primary name="do" value="save" { @if form.name.is_empty() { "Save" } @else { "Save as a new version" } }
                    button name="do" value="check" { "Check" }
                    a.button href=(form.back) { "Cancel" }
                }
                p.quiet.small {
                    "Threads keep the version they began with. Commands of roles (" code { "run" } ") do not run until you run "
                    code { "uwf workflow trust" } " on this machine."
                }
            }
            (found(&checked))
        }
    };
    let status = failure.map_or(StatusCode::OK, |failure| failure.status);
    Ok((status, DashboardPage::new(title, NavSection::Workflows, body).into_response(app)).into_response())
}

fn not_saved(failure: &HttpFailure) -> Markup {
    html! {
        div.failure role="alert" {
            p { strong { "Not saved. " } (parts::message(&failure.message)) }
            @if !failure.hints.is_empty() { ul { @for hint in &failure.hints { li { (parts::message(hint)) } } } }
        }
    }
}

/// The problems of the text, and its graph.
fn found(checked: &CheckedSource) -> Markup {
    html! {
        section #checked tabindex="0" aria-label="Problems and graph" {
            p #verdict role="status" { (verdict(&checked.problems)) }
            @if !checked.problems.is_empty() {
                ul.problems { @for problem in checked.problems.iter().take(LISTED) { (line(problem)) } }
            }
            @if let Some(workflow) = &checked.workflow { (picture(workflow)) }
        }
    }
}

/// How many problems there are, in words.
fn verdict(problems: &[FileProblem]) -> String {
    let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
    let counts =
        [(SchemaSeverity::Error, "error"), (SchemaSeverity::Warning, "warning"), (SchemaSeverity::Note, "note")];
    let counts = counts.into_iter().map(|(severity, word)| (count(severity), word)).filter(|(count, _)| *count > 0);
    let words: Vec<String> = counts.map(|(count, word)| parts::many(count, word)).collect();
    if words.is_empty() { "No problems.".to_owned() } else { format!("{}.", words.join(", ")) }
}

fn line(problem: &FileProblem) -> Markup {
    html! {
        li data-severity=(problem.severity.as_str()) {
            a href="#source" data-line=(problem.line) data-column=(problem.column) { "Line " (problem.line) }
            " " (parts::message(&problem.message))
            @if let Some(hint) = &problem.hint { p.quiet.small { (parts::message(hint)) } }
        }
    }
}

fn picture(workflow: &Workflow) -> Markup {
    let page = GraphOnPage {
        ids: "graph",
        node_href: &|_| None,
        branch_href: &|_, _| None,
        edge_href: &|_, _| None,
        edge_note: &|_, _| None,
    };
    PreEscaped(GraphDrawing::from_workflow(workflow, None).svg_for_page(&page))
}
