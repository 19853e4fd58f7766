//! `/threads/ID`: a thread with its graph and steps, the running attempt, the reason for its state, and the possible actions.

mod branches;
mod child_work;
mod current;
mod current_row;
mod fork_choices;
mod fork_form;
mod forks;
mod labels;
mod nested;
mod now;
mod pull_requests;
mod read;
mod reason;
mod result;
mod role_sums;
mod steps;
mod time_bars;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;
use uwf_core::spending::SpendingTotals;
use uwf_core::text;
use uwf_engine::root::{ids, thread_ids};
use uwf_engine::thread::state::ThreadState;

use self::read::ThreadView;
use super::forms::{self, ActionButton, FormSubject};
use super::layout::{DashboardPage, NavSection};
use super::need::OpenRequest;
use super::{files, parts, texts};
use crate::api;
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::markdown::{in_one_line, markdown};
use crate::respond::wants_json;

/// Characters of a task in the title of the tab.
const TITLE: usize = 90;

/// Characters of a task's first line in the heading. A longer task, and one with more lines, is also below in full.
const HEADING: usize = 320;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/threads/{thread}", get(thread))
}

/// First step to show, from 1; the newest steps if not given.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ThreadQuery {
    from: String,
    /// Whether to show the changed files; any value.
    patch: String,
}

async fn thread(state: State<AppState>, path: Path<String>, query: Query<ThreadQuery>, headers: HeaderMap) -> Response {
    if wants_json(&headers) {
        return api::status(state, path).await.into_response();
    }
    page(state, path, query).await.into_response()
}

async fn page(
    State(app): State<AppState>,
    Path(typed): Path<String>,
    Query(asked): Query<ThreadQuery>,
) -> Result<Response, HttpFailure> {
    let (from, has_patch) = (asked.from.parse::<usize>().ok(), !asked.patch.is_empty());
    let (memory, cwd) = (app.memory(), app.cwd().to_owned());
    let asked = typed.clone();
    let read = app.read(move |home| {
        let shown = ThreadView::read(home, &memory, (&asked, &cwd), from)?;
        let changed = if has_patch || shown.is_decision() { shown.changed_files(home, &cwd) } else { None };
        Ok((shown, changed))
    });
    let (shown, changed) = match read.await {
        Ok(read) => read,
        Err(failure) => return damaged(&app, &typed, failure).await,
    };
    let status = &shown.status;
    let title = text::ellipsize(&in_one_line(&status.task).replace('`', ""), TITLE).into_owned();
    let attempt = status.last_attempt.as_deref();
    let about = FormSubject { thread: &status.thread, head: status.head, attempt, back: None };
    let body = html! {
        (head(&shown))
        (actions(&app, about, &shown))
        @let is_decision = shown.is_decision();
        @let decided = changed.as_ref().filter(|_| is_decision).map(files::folded).unwrap_or_default();
        (needs(&app, about, &shown, &decided))
        @if let Some(changed) = changed.as_ref().filter(|_| !is_decision) { (files::section(changed, "Files changed")) }
        (result::result(&shown))
        (forks::forks(&shown))
        @if let Some(now) = &shown.now { (now::now(now, status, shown.running_group())) }
        div.split {
            (steps::steps(&shown))
            (graph(&shown))
        }
        (facts(&shown))
    };
    // An ended thread never changes.
    let page = DashboardPage::new(title, NavSection::Threads, body);
    let page = if status.done { page } else { page.live(format!("/api/threads/{}/events?tail=0", status.thread)) };
    Ok(page.into_response(&app))
}

/// The page of a thread whose nodes are not readable, with the problem and the repair.
///
/// # Errors
/// The failure, if it is not about the nodes of a thread.
async fn damaged(app: &AppState, typed: &str, failure: HttpFailure) -> Result<Response, HttpFailure> {
    let typed = typed.to_owned();
    let known = app.read(move |home| Ok(thread_ids::resolve(home, None, &typed)?)).await;
    let Some(id) = known.ok().filter(|_| failure.status == StatusCode::BAD_REQUEST) else { return Err(failure) };
    let body = html! {
        header.thread-head {
            p.quiet.crumbs { a href="/" { "Threads" } }
            h1 { "Damaged thread " (parts::short_id(id.as_str())) }
            p.facts { (parts::state(ThreadState::Corrupt, false, None)) code.id data-copy=(id) title=(id) { (id) } }
        }
        section #needs .note data-state=(ThreadState::Corrupt.name()) {
            h2 { "Some steps are not readable" }
            p { (parts::message(&failure.message)) }
            ul { @for hint in &failure.hints { li { (parts::message(hint)) } } }
            p { "To replace the unreadable steps, so that the thread can continue:" }
            pre { "uwf thread repair " (id) }
            p { "To see everything that is missing: " code { "uwf thread verify " (id) } ". The steps before are not affected." }
        }
    };
    Ok(DashboardPage::new("Damaged thread", NavSection::Threads, body).into_response(app))
}

fn head(shown: &ThreadView) -> Markup {
    let status = &shown.status;
    let task = status.task.trim();
    let first = in_one_line(task.lines().next().unwrap_or_default());
    let elapsed = status.started_at.map(|begun| {
        let end = if status.done { status.changed_at } else { None };
        end.unwrap_or_else(ids::now_ms).saturating_sub(begun)
    });
    html! {
        header.thread-head {
            p.quiet.crumbs { a href="/" { "Threads" } " / " a href={"/workflows/" (status.workflow)} { (shown.workflow_name) } }
            h1 { (parts::ticks(&text::ellipsize(&first, HEADING))) }
            p.facts {
                (parts::state(status.state, status.pausing, status.outcome.as_deref()))
                span { (parts::many(status.steps, "step")) }
                @if let Some(elapsed) = elapsed { span { (parts::duration(elapsed)) } }
                @if let Some(tokens) = shown.spent.as_ref().and_then(|spent| parts::tokens(&spent.tokens)) { span { (tokens) " tokens" } }
                @if let Some(money) = shown.spent.as_ref().and_then(SpendingTotals::known_cost) { span { (money) } }
                @if let Some((_, sums)) = shown.files.filter(|(_, sums)| sums.files > 0) {
                    a href=(if shown.is_decision() { "#files" } else { "?patch=1#files" }) { (files::in_words(sums)) }
                }
                (pull_requests::links(&shown.steps))
                @if let Some(changed) = status.since.filter(|_| status.state.has_stopped()).or(status.changed_at) { span { "changed " (parts::ago(changed)) } }
                code.id data-copy=(status.thread) title=(status.thread) { (status.thread) }
            }
            (labels::shown(status))
            @if let Some(parent) = &status.parent_thread {
                p {
                    @if let Some(branch) = &status.branch { "Branch " b { (branch) } " of " } @else { "Child of " }
                    a href={"/threads/" (parent)} { (parts::short_id(parent.as_str())) } "."
                }
            }
            @if first.chars().count() > HEADING || task.contains('\n') {
                details #task { summary { "Full task" } div.text { (markdown(&status.task, 2)) } }
            }
            @if let Some(input) = &status.input {
                details #input { summary { "Input" } (texts::json(input, None)) }
            }
        }
    }
}

fn actions(app: &AppState, about: FormSubject<'_>, shown: &ThreadView) -> Markup {
    let status = &shown.status;
    let plain = |action, label, key| forms::button(app, about, &ActionButton::new(action, label, key));
    let kill = ActionButton {
        class: "danger",
        confirm: "Kill this thread? Its steps are kept.",
        ..ActionButton::new("kill", "Kill", "")
    };
    html! {
        div #actions .actions {
            @match status.state {
                ThreadState::Active => { (plain("step", "Step", "s")) (plain("run", "Run", "r")) (plain("pause", "Pause", "p")) }
                ThreadState::Running => @if status.pausing { (plain("resume", "Do not pause", "p")) } @else { (plain("pause", "Pause after this step", "p")) },
                ThreadState::Paused => { (plain("resume", "Resume", "p")) }
                ThreadState::Waiting | ThreadState::Limited => { (plain("pause", "Pause", "p")) }
                ThreadState::Stuck => { (plain("pause", "Pause", "p")) }
                ThreadState::Completed | ThreadState::Killed | ThreadState::Corrupt => {}
            }
            (fork_form::fork_form(app, about, shown))
            a.button href={"/compare?a=" (status.thread)} data-key="d" { "Compare" }
            (labels::form(app, about, status))
            @if !status.done { (forms::button(app, about, &kill)) }
        }
    }
}

/// Why the thread does not continue, and the possible actions. `files` are the changed files that a person decides about.
fn needs(app: &AppState, about: FormSubject<'_>, shown: &ThreadView, files: &Markup) -> Markup {
    let status = &shown.status;
    // The form already shows the question.
    let has_form = matches!(shown.need, Some(OpenRequest::Answer(_) | OpenRequest::Child(_)));
    let why = status.why.as_deref().filter(|_| !has_form).map(|why| parts::message(parts::without_command(why)));
    let role = status.at_role.as_deref().map(|role| format!(" at {role}")).unwrap_or_default();
    let since = status.since.filter(|_| status.state != ThreadState::Running);
    let can_act = shown.need.is_some() && !app.is_read_only();
    html! {
        @if matches!(status.state, ThreadState::Waiting | ThreadState::Stuck | ThreadState::Limited | ThreadState::Paused | ThreadState::Corrupt) {
            section #needs .note data-state=(status.state.name()) {
                h2 { (parts::capitalised(status.state.name())) (role) @if let Some(since) = since { span.quiet.small { " for " span data-since=(since) { (parts::duration(ids::now_ms().saturating_sub(since))) } } } }
                @if let Some(why) = why { p { (why) } }
                @let hints: Vec<&String> = status.hints.iter().filter(|hint| !(can_act && is_button(hint))).collect();
                @if !hints.is_empty() { ul { @for hint in hints { li { (parts::message(hint)) } } } }
                @if let Some(need) = &shown.need { (need.action(app, about, "s", files)) }
            }
        }
        @if status.done && status.why.as_deref().is_some_and(|why| why != "end") {
            p.quiet { "It ended: " (status.why.as_deref().unwrap_or_default()) "." }
        }
        @if !shown.failures.is_empty() {
            details #failures {
                summary { (parts::many(shown.failures.len(), "failed attempt")) " since the last step" }
                ul.rows {
                    @for failure in &shown.failures {
                        li.row {
                            p { b { (failure.role) } @if let Some(agent) = &failure.agent { " by " (agent.short()) } @if let Some(code) = failure.exit_code { ", exit code " (code) } @if let Some((at, took)) = failure.ended { span.quiet { ", after " (parts::duration(took)) ", " (parts::ago(at)) } } }
                            pre { (failure.error) }
                            @if !failure.denied.is_empty() { p.warn { "denied: " (failure.denied.join(", ")) } }
                            p.small { a href={"/cas/" (failure.attempt)} { "Output" } }
                        }
                    }
                }
            }
        }
    }
}

/// Whether a hint begins with a command for which the page has a button.
fn is_button(hint: &str) -> bool {
    let command = hint.strip_prefix("`uwf ").unwrap_or_default();
    let buttons = ["run ", "thread retry ", "thread step ", "thread answer ", "thread limit ", "thread resume "];
    buttons.iter().any(|button| command.starts_with(button))
}

/// The graph, with time, tokens and money of each role.
fn graph(shown: &ThreadView) -> Markup {
    html! { section #graph aria-label="Graph" { @if let Some(picture) = &shown.graph { (picture) } } }
}

fn facts(shown: &ThreadView) -> Markup {
    let status = &shown.status;
    html! {
        section #facts {
            h2 { "About this thread" }
            dl.facts {
                @if let Some(started) = status.started_at { dt { "Started" } dd { (parts::time(started)) } }
                @if let Some(workspace) = &status.workspace { dt { "Directory" } dd { code { (workspace.display()) } } }
                @if let Some(worktree) = &status.worktree { dt { "Branch" } dd { code { (worktree.branch) } } }
            }
            details {
                summary { "Hashes" }
                dl.facts {
                    dt { "Thread" } dd { code { (status.thread) } }
                    dt { "Head" } dd { a href={"/cas/" (status.head)} { code { (status.head) } } }
                    dt { "Workflow" } dd { a href={"/workflows/" (status.workflow)} { (shown.workflow_name) } " " code.quiet { (status.workflow) } }
                    @if let Some(digest) = &status.digest { dt { "Digest" } dd { code { (digest) } } }
                    @if let Some(end) = &status.end { dt { "End" } dd { a href={"/cas/" (end)} { code { (end) } } } }
                }
            }
        }
    }
}
