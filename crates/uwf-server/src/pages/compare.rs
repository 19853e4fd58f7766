//! `/compare/A..B`: two threads, steps or versions of a workflow side by side.

mod pairs;
mod runs;
mod sides;
mod steps;
mod workflows;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, http};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};
use uwf_core::text;
use uwf_engine::root::home::Home;
use uwf_engine::root::project;
use uwf_engine::verbs::diff::{self, DiffOptions};
use uwf_engine::views::list::NamedThreadRow;

use self::sides::CompareSide;
use super::files;
use super::layout::{DashboardPage, NavSection};
use super::parts;
use crate::app::{AppState, ServerCaches};
use crate::failure::HttpFailure;
use crate::filter::ThreadListQuery;
use crate::respond::wants_json;
use crate::url::encoded;

/// Threads to choose from in the fields of the form.
const CHOICES: usize = 50;

/// Threads that are listed below the form.
const LISTED: usize = 12;

/// Characters of a task in the list to choose from.
const TASK: usize = 60;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/compare", get(chosen)).route("/compare/{pair}", get(compare))
}

/// Input of the form.
#[derive(Debug, Default, Deserialize)]
struct CompareForm {
    #[serde(default)]
    a: String,
    #[serde(default)]
    b: String,
}

/// `/compare?a=&b=`: redirects to the comparison of the two, or shows the form if one is missing.
async fn chosen(State(app): State<AppState>, Query(CompareForm { a, b }): Query<CompareForm>) -> Response {
    let (a, b) = (a.trim(), b.trim());
    if !a.is_empty() && !b.is_empty() {
        return Redirect::to(&format!("/compare/{}..{}", encoded(a), encoded(b))).into_response();
    }
    let memory = app.memory();
    let newest = app.read(move |home| Ok(newest(home, &memory))).await.unwrap_or_default();
    let one = if a.is_empty() { b } else { a };
    let body = html! {
        h1 { "Compare" }
        p { "Two threads, two steps, or two versions of a workflow." }
        (form(a, b, &newest))
        (candidates(one, &newest))
    };
    DashboardPage::new("Compare", NavSection::None, body).into_response(&app)
}

/// The newest threads, to choose from; none if they can't be read.
fn newest(home: &Home, memory: &ServerCaches) -> Vec<NamedThreadRow> {
    let query = ThreadListQuery { limit: CHOICES.to_string(), ..ThreadListQuery::default() };
    query.find_for_people(home, memory).map(|found| found.rows).unwrap_or_default()
}

fn form(a: &str, b: &str, newest: &[NamedThreadRow]) -> Markup {
    let field = |id: &str, name: &str, value: &str| {
        html! {
            input id=(id) name=(name) value=(value) list="newest-threads" placeholder="thread, hash or workflow" autocomplete="off" spellcheck="false";
        }
    };
    html! {
        form #pick.pick action="/compare" {
            label for="pick-a" { "Left" }
            (field("pick-a", "a", a))
            label for="pick-b" { "Right" }
            (field("pick-b", "b", b))
            datalist #newest-threads {
                @for named in newest {
                    option value=(named.row.thread) {
                        (named.workflow_name.as_deref().unwrap_or_default()) " " (named.row.state.name()) ": "
                        (text::ellipsize(named.task.as_deref().unwrap_or_default(), TASK))
                    }
                }
            }
            button { "Compare" }
        }
    }
}

/// Threads to compare with the chosen one; threads of the same workflow come first. If none is chosen, threads to choose.
fn candidates(one: &str, newest: &[NamedThreadRow]) -> Markup {
    let chosen = newest.iter().find(|named| named.row.thread.as_str() == one);
    let mut others: Vec<_> = newest.iter().filter(|named| named.row.thread.as_str() != one).collect();
    if let Some(chosen) = chosen {
        others.sort_by_key(|named| named.row.workflow != chosen.row.workflow);
    }
    // A branch is compared with branches, and any other thread with threads that a person started.
    others.sort_by_key(|named| {
        named.parent_thread.is_some() != chosen.is_some_and(|chosen| chosen.parent_thread.is_some())
    });
    let href = |thread: &str| match one {
        "" => format!("/compare?a={thread}"),
        one => format!("/compare/{}..{thread}", encoded(one)),
    };
    html! {
        @if !others.is_empty() {
            h2 { @if one.is_empty() { "Choose the first thread" } @else { "Compare with" } }
            ul.rows {
                @for NamedThreadRow { row, workflow_name, task, .. } in others.into_iter().take(LISTED) {
                    li.row data-row=(row.thread) tabindex="-1" {
                        (parts::thread_line(
                            row,
                            workflow_name.as_deref().unwrap_or_default(),
                            &href(row.thread.as_str()),
                            task.as_deref().unwrap_or("no readable task"),
                        ))
                    }
                }
            }
        }
    }
}

/// Query of the page.
#[derive(Debug, Default, Deserialize)]
struct CompareQuery {
    /// Number of differing rows to skip.
    #[serde(default)]
    after: String,
    /// Whether to show the differences within files, not only the names of changed files.
    patch: Option<String>,
}

async fn compare(
    State(app): State<AppState>,
    Path(pair): Path<String>,
    Query(asked): Query<CompareQuery>,
    headers: HeaderMap,
) -> Response {
    let answer = if wants_json(&headers) {
        report(&app, pair).await.map(IntoResponse::into_response)
    } else {
        page(&app, pair, asked).await
    };
    ([(header::VARY, http::HeaderValue::from_static("accept"))], answer).into_response()
}

/// The two names in a path.
fn two(pair: &str) -> Result<(String, String), HttpFailure> {
    match pair.split_once("..") {
        Some((a, b)) if !a.is_empty() && !b.is_empty() => Ok((a.to_owned(), b.to_owned())),
        _ => {
            Err(HttpFailure::bad_request(format!("`{pair}` does not name two"))
                .hint("write them as /compare/ONE..OTHER"))
        }
    }
}

/// The report of `uwf thread diff` for threads and steps; for two workflows, the values that differ.
async fn report(app: &AppState, pair: String) -> Result<Json<Value>, HttpFailure> {
    let cwd = app.cwd().to_owned();
    app.read(move |home| {
        let (a, b) = two(&pair)?;
        let sides = (sides::side(home, &a, &cwd)?, sides::side(home, &b, &cwd)?);
        match sides {
            (CompareSide::Workflow(a), CompareSide::Workflow(b)) => {
                let changes = diff::changes(json!(a.workflow), json!(b.workflow));
                Ok(Json(json!({ "a": a.hash, "b": b.hash, "changes": changes })))
            }
            (a, b) => {
                let (a, b) = (sides::run(&a)?, sides::run(&b)?);
                let wanted = DiffOptions { outputs: true, files: true, patch: true };
                Ok(Json(json!(diff::compare(home, &a, Some(&b), wanted, &cwd)?)))
            }
        }
    })
    .await
}

async fn page(app: &AppState, pair: String, asked: CompareQuery) -> Result<Response, HttpFailure> {
    let (cwd, memory) = (app.cwd().to_owned(), app.memory());
    let (title, body) = app
        .read(move |home| {
            let (a, b) = two(&pair)?;
            let sides = (sides::side(home, &a, &cwd)?, sides::side(home, &b, &cwd)?);
            let compared = match sides {
                (CompareSide::Workflow(one), CompareSide::Workflow(other)) => workflows::compared(home, &one, &other),
                (one, other) => {
                    let two = [sides::run(&one)?, sides::run(&other)?];
                    runs(home, &two, &asked, &cwd)?
                }
            };
            let title = format!("Compare {a} and {b}");
            Ok((title, html! { (compared) section #other aria-labelledby="other-title" { h2 #other-title { "Compare others" } (form(&a, &b, &newest(home, &memory))) } }))
        })
        .await?;
    Ok(DashboardPage::new(title, NavSection::None, body).into_response(app))
}

fn runs(
    home: &Home,
    two: &[diff::DiffSubject; 2],
    asked: &CompareQuery,
    cwd: &std::path::Path,
) -> Result<Markup, HttpFailure> {
    let config = project::config(home, cwd).unwrap_or_default();
    let files = files::compare(home, two, asked.patch.is_some(), cwd);
    runs::compared(home, &config, two, asked.after.parse().unwrap_or(0), &files)
}
