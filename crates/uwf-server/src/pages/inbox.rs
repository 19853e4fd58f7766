//! `/`: threads that need a person, run, or have ended. `/threads`: all threads, filtered by the query in the URL.

mod read;
mod views;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use maud::{Markup, html};
use serde::Deserialize;
use uwf_core::node::TokenCounts;
use uwf_core::spending::SpendingTotals;
use uwf_core::text;
use uwf_core::workflow::END;
use uwf_engine::root::ids;
use uwf_engine::thread::state::ThreadState;

use self::read::{InboxThread, InboxView};
use self::views::SavedViews;
use super::forms::{self, ActionButton, FormSubject};
use super::layout::{DashboardPage, NavSection};
use super::need::OpenRequest;
use super::{parts, texts};
use crate::api;
use crate::app::AppState;
use crate::drawn::{DrawnInbox, InboxRow};
use crate::failure::HttpFailure;
use crate::gateway::lists;
use crate::place::{SEEN, seen_cookie};
use crate::respond::{cookie, wants_json};
use crate::url::encoded;
use crate::{filter, gateway};

/// Characters of a task on its line.
const TASK: usize = 160;

/// Characters of a reason on its line.
const WHY: usize = 200;

/// Characters of a reason in the open form.
const FULL: usize = 2000;

/// Ended threads count as new for this long if the browser has no mark of seen threads.
const DAY_MS: u64 = 24 * 3600 * 1000;

/// States of threads that need a person.
const NEEDS: [ThreadState; 4] = [ThreadState::Waiting, ThreadState::Stuck, ThreadState::Limited, ThreadState::Corrupt];

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/", get(page))
        .route("/threads", get(threads))
        .route("/seen", post(seen))
        .route(views::PATH, post(views::change))
        .route(gateway::inbox::PATH, get(for_gateway))
}

#[derive(Debug, Deserialize)]
struct InboxPeriod {
    /// Time of the last visit, in Unix milliseconds.
    since: u64,
}

/// `GET /api/gateway/inbox`: this page for the first page of a gateway.
async fn for_gateway(
    State(app): State<AppState>,
    Query(InboxPeriod { since }): Query<InboxPeriod>,
    Query(query): Query<filter::ThreadListQuery>,
) -> Result<Json<DrawnInbox>, HttpFailure> {
    Ok(Json(drawn(&app, &query, since).await?))
}

/// `GET /threads`: all threads as a page, or the API's list if the client wants JSON.
async fn threads(app: State<AppState>, Query(query): Query<filter::ThreadListQuery>, headers: HeaderMap) -> Response {
    if wants_json(&headers) {
        return api::listed(app, Query(query)).await.into_response();
    }
    let query = filter::ThreadListQuery { all: "1".to_owned(), ..query };
    page(app, Query(query), headers).await.into_response()
}

/// `POST /seen`: marks ended threads as seen. The mark is stored in the browser, because the server has no user accounts.
async fn seen() -> Response {
    ([(header::SET_COOKIE, seen_cookie(ids::now_ms()))], Redirect::to("/")).into_response()
}

async fn page(
    app: State<AppState>,
    query: Query<filter::ThreadListQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpFailure> {
    let (State(app), Query(query)) = (app, query);
    let seen = cookie(&headers, SEEN).and_then(|value| value.parse().ok());
    let since = seen.unwrap_or_else(|| ids::now_ms().saturating_sub(DAY_MS));
    let own = drawn(&app, &query, since).await?;
    let views = SavedViews::of_request(&headers);
    let inbox = match app.gateway() {
        // A page of older threads is one of this server's own; `All threads on X` is the link to the threads of a machine.
        Some(gateway) if query.after.is_empty() => {
            own.with_machines(lists::inboxes(&app, gateway, &query, since).await?)
        }
        _ => own,
    };
    let body = html! {
        div.title-row {
            h1 { "Threads" }
            button #notify.quiet type="button" hidden { "Notify me" }
            (chips(&inbox, &query, &views))
        }
        @if inbox.is_filtered { (filtered(&inbox, &query, &views)) } @else {
            @if inbox.is_empty() { (nothing()) }
            (sections(&inbox, seen.is_some()))
        }
        (inbox.silent())
    };
    let events = if app.gateway().is_some() { gateway::EVENTS } else { "/api/events" };
    let waiting = inbox.count_of(&NEEDS);
    // The title of a tab says how many threads need its reader.
    let title = match waiting {
        1.. if !inbox.is_filtered => format!("({}) Threads", parts::grouped(waiting)),
        _ => "Threads".to_owned(),
    };
    Ok(DashboardPage::new(title, NavSection::Threads, body).live(events).into_response(&app))
}

/// The threads of this server, drawn.
///
/// # Errors
/// 400 for an invalid query, and failures to read the threads.
pub(crate) async fn drawn(
    app: &AppState,
    query: &filter::ThreadListQuery,
    since: u64,
) -> Result<DrawnInbox, HttpFailure> {
    let (asked, memory) = (query.clone(), app.memory());
    let inbox = app.read(move |home| InboxView::read(home, &memory, &asked, since)).await?;
    let rows = |items: &[InboxThread], has_actions: bool| {
        items
            .iter()
            .map(|item| InboxRow::new(&item.named.row, line(item), row_actions(app, item, has_actions)))
            .collect()
    };
    let InboxView { counts, is_filtered, has_more, needs, running, ready, done, done_count } = &inbox;
    Ok(DrawnInbox {
        counts: counts.iter().map(|(state, count)| (state.name().to_owned(), *count)).collect(),
        is_filtered: *is_filtered,
        has_more: *has_more,
        // A filtered list has no forms.
        needs: rows(needs, !is_filtered),
        running: rows(running, true),
        ready: rows(ready, true),
        done: rows(done, false),
        done_count: *done_count,
        ..DrawnInbox::default()
    })
}

/// The number of threads in each state. Keys 1 to 9 press them in this order.
fn chips(inbox: &DrawnInbox, query: &filter::ThreadListQuery, views: &SavedViews) -> Markup {
    let all: usize = inbox.counts.values().sum();
    let current = |state: &str| query.is_filter() && query.state == state;
    html! {
        nav.chips aria-label="Threads by state" {
            a href="/" aria-current=[(!query.is_filter()).then_some("page")] data-key="0" { "Inbox" }
            @for (position, state) in ThreadState::ALL.into_iter().enumerate() {
                @let count = inbox.count_of(&[state]);
                @if count > 0 || current(state.name()) {
                    a href={"/" (filter::ThreadListQuery { after: String::new(), all: String::new(), ..query.clone() }.with("state", state.name()))}
                        aria-current=[current(state.name()).then_some("page")] data-key=(position + 1) {
                        (parts::state(state, false, None)) " " span.number { (parts::grouped(count)) }
                    }
                }
            }
            a href="/?all=1" aria-current=[(query.is_filter() && query.state.is_empty()).then_some("page")] {
                "all " span.number { (parts::grouped(all)) }
            }
            (views.links(query))
        }
    }
}

fn sections(inbox: &DrawnInbox, has_seen: bool) -> Markup {
    let DrawnInbox { needs, running, ready, done, .. } = inbox;
    html! {
        @if !needs.is_empty() {
            section #needs {
                h2 { "Needs you " span.number { (inbox.count_of(&NEEDS)) } }
                ul.rows { @for row in needs { (row.draw()) } }
                (more(needs.len(), inbox.count_of(&NEEDS), "waiting,stuck,limited,corrupt"))
            }
        }
        @if !running.is_empty() {
            section #running {
                h2 { "Running " span.number { (inbox.count_of(&[ThreadState::Running])) } }
                ul.rows { @for row in running { (row.draw()) } }
                (more(running.len(), inbox.count_of(&[ThreadState::Running]), "running"))
            }
        }
        @if !ready.is_empty() {
            section #ready {
                h2 { "Ready for the next step " span.number { (inbox.count_of(&[ThreadState::Active])) } }
                ul.rows { @for row in ready { (row.draw()) } }
                (more(ready.len(), inbox.count_of(&[ThreadState::Active]), "active"))
            }
        }
        @if !done.is_empty() {
            section #done {
                div.title-row {
                    h2 { @if has_seen { "Done since you looked " } @else { "Done today " } span.number { (inbox.done_count) } }
                    form method="post" action="/seen" { button.quiet { "Mark as seen" } }
                }
                ul.rows { @for row in done { (row.draw()) } }
                (more(done.len(), inbox.done_count, "completed,killed"))
            }
        }
    }
}

fn nothing() -> Markup {
    html! {
        section.empty {
            p { "Nothing needs you, and nothing is running." }
            p.quiet { a href="/workflows" { "Start a workflow" } ", or " a href="/?all=1" { "show all threads" } "." }
        }
    }
}

fn more(shown: usize, all: usize, states: &str) -> Markup {
    html! { @if all > shown { p { a href={"/?state=" (encoded(states))} { "All " (parts::grouped(all)) } } } }
}

fn filtered(inbox: &DrawnInbox, query: &filter::ThreadListQuery, views: &SavedViews) -> Markup {
    let last = inbox.needs.iter().rfind(|row| row.machine.is_none()).filter(|_| inbox.has_more);
    let filter::ThreadListQuery { state, outcome, workflow, role, label, q, .. } = query;
    let is_filtered = [outcome, workflow, role, label, q].iter().any(|value| !value.is_empty());
    html! {
        // On a narrow screen, the form unfolds.
        input #show-filter.fold type="checkbox" checked[is_filtered];
        label for="show-filter" { "Filter and save" }
        form.filter action="/" {
            @if !state.is_empty() { input type="hidden" name="state" value=(state); }
            @if state.is_empty() { input type="hidden" name="all" value="1"; }
            (field("q", "Text", q)) (field("workflow", "Workflow", workflow)) (field("role", "Last role", role))
            (field("outcome", "Outcome", outcome)) (field("label", "Label", label))
            button { "Filter" }
        }
        (views.form(query))
        @if inbox.needs.is_empty() { p.empty { "No thread matches." } }
        ul #found.rows { @for row in &inbox.needs { (row.draw()) } }
        @if let Some(row) = last {
            p { a.button rel="next" href={"/" (query.with("after", &row.thread))} data-key="]" { "Older threads" } }
        }
        @for machine in &inbox.with_more {
            p { a.button href={ (machine.prefix()) "/" (query.with("after", "")) } { "All threads on " (machine) } }
        }
    }
}

fn field(name: &str, label: &str, value: &str) -> Markup {
    html! { label { (label) " " input name=(name) value=(value) size="14"; } }
}

fn row_actions(app: &AppState, item: &InboxThread, has_actions: bool) -> Markup {
    if has_actions && !app.is_read_only() {
        actions(app, item)
    } else {
        html! {}
    }
}

/// A thread on one line: state, task, reason or activity, facts.
fn line(item: &InboxThread) -> Markup {
    let row = &item.named.row;
    let name = item.named.workflow_name.clone().or(row.workflow.map(|hash| hash.to_string())).unwrap_or_default();
    let task =
        item.overview.as_ref().map(|overview| text::ellipsize(&text::one_line(&overview.task), TASK).into_owned());
    let task = task.filter(|task| !task.is_empty());
    let role = item.overview.as_ref().and_then(|overview| overview.role.clone()).filter(|role| role != END);
    let steps = item.overview.as_ref().and_then(|overview| overview.steps);
    html! {
        div.line {
            (parts::state(row.state, row.pausing, row.outcome.as_deref()))
            div.what {
                a.task data-open href={"/threads/" (row.thread)} {
                    @match task { Some(task) => (parts::ticks(&task)), None => { "Damaged thread " (parts::short_id(row.thread.as_str())) } }
                }
                @match &item.running { Some(step) => (at_work(step)), None => (reason(item)) }
            }
            span.facts {
                span.workflow { (name) }
                @if let Some(branch) = &item.named.branch { span.role { (text::ellipsize(branch, TASK)) } }
                @else if let Some(role) = role { span.role { (role) } }
                @if let Some(steps) = steps { span.steps { (parts::many(steps, "step")) } }
                @if let Some(money) = item.spent.as_ref().and_then(SpendingTotals::known_cost) { span { (money) } }
                @if let Some(changed) = row.changed_at { (parts::ago(changed)) }
                (parts::short_id(row.thread.as_str()))
            }
        }
    }
}

/// Why a thread does not continue, or how it ended.
fn reason(item: &InboxThread) -> Markup {
    // A question is a text of any length, so its first line represents it.
    let question = match &item.need {
        Some(OpenRequest::Answer(form)) => {
            form.asked.question.as_ref().map(|question| texts::first_line(&question.text))
        }
        _ => None,
    };
    let why = question.or_else(|| item.named.row.why.as_deref().map(text::one_line));
    html! { @if let Some(why) = why { span.why title=(why) { (parts::ticks(&text::ellipsize(&why, WHY))) } } }
}

/// The agent's current activity.
fn at_work(step: &uwf_engine::views::ps::RunningStep) -> Markup {
    let tokens = step.tokens.as_ref().and_then(TokenCounts::total);
    html! {
        span.why.work {
            b { (step.role) } " by " (step.agent.short()) " for " span data-since=(step.since) { (parts::duration(ids::now_ms().saturating_sub(step.since))) }
            @if let Some(tokens) = tokens { " · " (parts::count(tokens)) " tokens" }
            @match &step.doing {
                Some(doing) => { " · " code.doing { (doing) } },
                None => { " · last sign " (parts::ago(step.last_sign)) },
            }
        }
    }
}

/// The possible actions: buttons, or a form that opens below the line.
fn actions(app: &AppState, item: &InboxThread) -> Markup {
    let row = &item.named.row;
    let about = FormSubject { thread: &row.thread, head: row.head, attempt: item.attempt.as_deref(), back: Some("/") };
    let plain = |action, label, key| forms::button(app, about, &ActionButton::new(action, label, key));
    match (&item.need, row.state) {
        (Some(need), _) => html! {
            details.act #(about.id("act")) name="act" {
                summary.button data-key="a" { (need.name()) }
                @if let Some(why) = &row.why { @if !matches!(need, OpenRequest::Answer(_)) { p.full { (parts::message(&text::ellipsize(why, FULL))) } } }
                (need.action(app, about, "s"))
            }
        },
        (None, ThreadState::Running) => html! { div.actions { (plain("pause", "Pause", "p")) } },
        (None, ThreadState::Active) => {
            html! { div.actions { (plain("step", "Step", "s")) (plain("run", "Run", "r")) } }
        }
        (None, _) => html! {},
    }
}
