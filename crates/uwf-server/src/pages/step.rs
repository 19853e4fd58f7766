//! `/threads/ID/steps/HASH`: a step: its output, how it was obtained, why this role was chosen, and the whole conversation.

mod attempts;
mod obtained;
mod prompt;
mod turns;

use std::path::Path as FilePath;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use json_cas::NodeHash;
use maud::{Markup, html};
use serde::Deserialize;
use uwf_core::config::UwfConfig;
use uwf_core::node::{AgentNode, NodeKind, ReactSession};
use uwf_core::spending::SpendingTotals;
use uwf_engine::root::home::Home;
use uwf_engine::root::{ids, project};
use uwf_engine::thread::nodes;
use uwf_engine::verbs::diff::DiffSubject;
use uwf_engine::views::cost;
use uwf_engine::views::step_at::{self, StepAt};
use uwf_engine::views::thread_now::ThreadNow;
use uwf_engine::views::why::{self, ReasonedStep, ThreadExplanation};

use super::layout::{DashboardPage, NavSection};
use super::{files, parts, texts, values};
use crate::api;
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::named;
use crate::respond::wants_json;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/threads/{thread}/steps/{step}", get(step))
}

/// Query of the page.
#[derive(Debug, Default, Deserialize)]
struct StepQuery {
    /// The first turn to show, from 1.
    #[serde(default)]
    turns: String,
    /// Whether to show the differences within files; any value.
    #[serde(default)]
    patch: String,
}

async fn step(
    state: State<AppState>,
    path: Path<(String, String)>,
    Query(asked): Query<StepQuery>,
    headers: HeaderMap,
) -> Response {
    if wants_json(&headers) {
        api::details(state, path).await.into_response()
    } else {
        page(state, path, asked).await.into_response()
    }
}

/// A page that was drawn.
struct StepPage {
    path: String,
    title: String,
    /// Whether a next step may still come, which the page would link.
    may_go_on: bool,
    body: Markup,
}

async fn page(
    State(app): State<AppState>,
    Path((thread, step)): Path<(String, String)>,
    asked: StepQuery,
) -> Result<Response, HttpFailure> {
    let (cwd, can_change) = (app.cwd().to_owned(), !app.is_read_only());
    let (of_thread, typed) = (thread.clone(), step.clone());
    let drawn = app
        .read(move |home| {
            let (id, hash) = (named::thread(home, &of_thread)?, named::node(home, &typed)?);
            let now = ThreadNow::read(home, &id)?;
            let at = step_at::step_at(&now.thread, hash)?.ok_or_else(|| api::no_step(&id, hash))?;
            // If the configuration can't be read, only prices are missing.
            let config = project::config(home, &cwd).unwrap_or_default();
            let view = StepView::read_step(&now, &config, at);
            Ok(StepPage {
                path: format!("/threads/{id}/steps/{hash}"),
                title: format!("{}. {} · {}", view.at.step.index, view.at.step.role, view.task),
                may_go_on: view.at.after.is_none() && !now.has_ended(),
                body: body(home, &view, &asked, (&cwd, can_change)),
            })
        })
        .await?;
    if drawn.path != format!("/threads/{thread}/steps/{step}") {
        return Ok(Redirect::to(&drawn.path).into_response());
    }
    let page = DashboardPage::new(drawn.title, NavSection::Threads, drawn.body);
    let page = if drawn.may_go_on { page.live(format!("/api/threads/{thread}/events")) } else { page };
    Ok(page.into_response(&app))
}

/// Contents of a step's page.
struct StepView {
    at: StepAt,
    /// The beginning of the thread's task.
    task: String,
    /// The thread's start.
    start: NodeHash,
    /// Node of its output.
    output: Option<NodeHash>,
    session: Option<ReactSession>,
    /// Whether the agent continued the session of its last visit.
    is_resumed: bool,
    agent: Option<AgentNode>,
    spent: SpendingTotals,
    reasons: Result<Option<ThreadExplanation>, String>,
}

impl StepView {
    /// Reads the contents. Unreadable parts are left out, and the page reports the error in their place.
    fn read_step(now: &ThreadNow<'_>, config: &UwfConfig, at: StepAt) -> StepView {
        let home = now.thread.home();
        let store = home.store();
        let detail = store.get(at.step.detail).ok();
        let detail = detail.filter(|detail| NodeKind::from_type_hash(detail.type_hash) == Some(NodeKind::ReactSession));
        let session = detail.as_ref().and_then(|node| nodes::payload::<ReactSession>(at.step.detail, node).ok());
        StepView {
            task: texts::first_line(&now.thread.start.prompt),
            start: now.thread.start_hash,
            output: nodes::step_node(store, at.step.hash).ok().map(|(step, _)| step.output),
            is_resumed: detail.is_some_and(|node| node.payload["resumed"] == true),
            agent: session.as_ref().and_then(|session| nodes::typed(store, session.agent).ok()),
            spent: cost::of_step(home, config, at.step.hash),
            reasons: why::of_step_in(&now.thread, &now.record, at.step.hash).map_err(|error| error.message),
            session,
            at,
        }
    }

    fn reasoned(&self) -> Option<&ReasonedStep> {
        self.reasons.as_ref().ok()?.as_ref()?.step.as_ref()
    }
}

fn body(home: &Home, view: &StepView, asked: &StepQuery, (cwd, can_change): (&FilePath, bool)) -> Markup {
    let StepAt { step, .. } = &view.at;
    let first_turn = asked.turns.parse().unwrap_or(1);
    html! {
        (head(view, can_change))
        div.sides {
            section #output aria-labelledby="output-title" {
                h2 #output-title { "Output" }
                @match &step.unreadable.output {
                    Some(why) => p.problem { "It is not readable: " (why) },
                    None => {
                        (values::output(&step.output, view.output))
                        (values::header(&step.header))
                        details #output-json {
                            summary { "As JSON" }
                            (texts::json(&step.output, view.output))
                        }
                    }
                }
            }
            @if !step.exchanges.is_empty() {
                section #questions aria-labelledby="questions-title" {
                    h2 #questions-title { "Questions and replies" }
                    @for exchange in &step.exchanges {
                        p.small.quiet { "Asked" }
                        (texts::prose(&exchange.question, 2, None))
                        p.small.quiet { "Reply" @if let Some(by) = &exchange.by { " by " (by) } }
                        (texts::prose(&exchange.reply, 2, None))
                    }
                }
            }
            section #message aria-labelledby="message-title" {
                h2 #message-title { "Agent's text" }
                @match (&step.message, &step.unreadable.detail) {
                    (Some(message), _) => (texts::prose(message, 2, view.session.as_ref().map(|session| session.raw))),
                    (None, Some(why)) => p.problem { "It is not readable: " (why) },
                    (None, None) => p.quiet { "Nothing beside its output." },
                }
            }
        }
        (changed_files(home, view, !asked.patch.is_empty(), cwd))
        (reasons(home, view))
        @if let Some(session) = &view.session {
            (turns::turns(home, session, first_turn))
            (prompt::prompt(home, &view.at, session))
        }
        (obtained::obtained(home, view))
        @if let Some(session) = &view.session { (attempts::attempts(home, session)) }
    }
}

/// The files that the step changed; empty if they are not recorded.
fn changed_files(home: &Home, view: &StepView, patch: bool, cwd: &FilePath) -> Markup {
    let before = view.at.before.unwrap_or(view.start);
    let two = [DiffSubject::Node(before), DiffSubject::Node(view.at.step.hash)];
    let compared = files::compare(home, &two, patch, cwd);
    let is_known = compared.as_ref().is_ok_and(|compared| compared.files.is_some());
    html! { @if is_known { (files::section(&compared, "Files changed")) } }
}

fn head(view: &StepView, can_change: bool) -> Markup {
    let StepAt { thread, workflow, workflow_name, step, steps, before, after, last_visit, child } = &view.at;
    let thread_path = format!("/threads/{thread}");
    let at = |hash: &NodeHash| format!("{thread_path}/steps/{hash}");
    html! {
        header #head {
            nav.trail aria-label="Where this is" {
                a href=(thread_path) title={(workflow_name.clone().unwrap_or_else(|| workflow.to_string())) " " (thread)} { (view.task) }
                span.quiet { "step " (step.index) " of " (steps) }
                @if let Some(before) = before { a rel="prev" href=(at(before)) data-key="[" { "‹ previous" } }
                @if let Some(after) = after { a rel="next" href=(at(after)) data-key="]" { "next ›" } }
            }
            h1 { span.quiet { (step.index) ". " } (step.role) }
            (facts(view))
            div.actions {
                a.button href="#why" data-key="w" { "Why this role" }
                @if let Some(last) = last_visit {
                    a.button href={"/compare/" (last) ".." (step.hash)} data-key="d" { "Compare with its last visit" }
                }
                @if let Some(child) = child { a.button href={"/threads/" (child)} { "Open the child thread" } }
                @if can_change {
                    form method="post" action={"/api" (thread_path) "/fork"} {
                        input type="hidden" name="step" value=(step.hash);
                        input type="hidden" name="id" value=(ids::new_thread_id());
                        button data-key="F" { "Fork from here" }
                    }
                }
                button type="button" data-copy={"/cas/" (step.hash)} data-key="y" hidden { "Copy permalink" }
            }
        }
    }
}

fn facts(view: &StepView) -> Markup {
    let StepAt { step, .. } = &view.at;
    let spent = &view.spent;
    let took = view.session.as_ref().map_or(spent.duration_ms, |session| session.duration_ms);
    html! {
        dl.facts {
            dt { "By" }
            dd { (agent(view)) @if view.is_resumed { ", in the session of its previous visit" } }
            dt { "Done" }
            dd { (parts::time(step.timestamp)) " after " (parts::duration(took)) }
            dt { "Usage" }
            dd {
                (tokens(spent)) ", cost: " (spent.cost_text())
                @if spent.failed_attempts > 0 {
                    span.quiet { ", with " a href="#attempts" { (parts::many(spent.failed_attempts, "failed attempt")) } }
                }
            }
            dt { "Permalink" }
            dd { a href={"/cas/" (step.hash)} { code { (step.hash) } } }
        }
    }
}

fn tokens(spent: &SpendingTotals) -> Markup {
    let kinds = [
        ("in", spent.tokens.input),
        ("cached", spent.tokens.cached),
        ("out", spent.tokens.output),
        ("reasoning", spent.tokens.reasoning),
    ];
    let known: Vec<String> =
        kinds.into_iter().filter_map(|(kind, count)| Some(format!("{} {kind}", parts::count(count?)))).collect();
    html! {
        @if known.is_empty() {
            @if !spent.are_tokens_whole() { "tokens unknown" } @else { "no tokens" }
        } @else {
            "tokens: " @if !spent.are_tokens_whole() { "at least " } (known.join(", "))
        }
    }
}

fn agent(view: &StepView) -> Markup {
    let step = &view.at.step;
    html! {
        @match &view.agent {
            Some(agent) => {
                strong { (agent.name) }
                @if agent.command != agent.name { " " code { (agent.command) } }
                @if let Some(model) = &agent.model { ", model " (model) }
                @if let Some(version) = &agent.version { ", version " (version) }
            },
            None if step.is_child_thread => "a child thread",
            None => strong { (step.agent) },
        }
    }
}

fn reasons(home: &Home, view: &StepView) -> Markup {
    let workflow = nodes::workflow(home.store(), view.at.workflow).ok();
    html! {
        section #why aria-labelledby="why-title" tabindex="-1" {
            h2 #why-title { "Why " (view.at.step.role) }
            @match (&view.reasons, view.reasoned()) {
                (_, Some(step)) => {
                    (super::why::routing(&step.after, &step.routing, workflow.as_ref()))
                    (super::why::branches(&step.branches))
                    @if !step.as_chosen {
                        p.problem { "The step is one of " (step.role) ": it was added by hand, or by another program." }
                    }
                },
                (Err(why), None) => p.problem { "The reason is unknown: " (why) },
                (Ok(_), None) => p.quiet { "No reason is recorded." },
            }
        }
    }
}
