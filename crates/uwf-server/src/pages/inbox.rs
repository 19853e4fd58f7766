//! `/`: threads that need a person, run, or have ended. `/threads`: all threads, filtered by the query in the URL.

mod filter_form;
mod read;
mod views;

use std::collections::BTreeSet;
use std::path::Path;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use maud::{Markup, html};
use serde::Deserialize;
use uwf_core::label::ThreadLabels;
use uwf_core::node::TokenCounts;
use uwf_core::spending::SpendingTotals;
use uwf_core::text;
use uwf_core::workflow::END;
use uwf_engine::root::home::Home;
use uwf_engine::root::{ids, project_files, registry};
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::list::{BranchCounts, PlayedBranch};

use self::filter_form::FilterChoices;
use self::read::{InboxSection, InboxThread, InboxView, SHOWN};
use self::views::SavedViews;
use super::excerpt::excerpt;
use super::forms::{self, ActionButton, FormSubject};
use super::layout::{DashboardPage, NavSection};
use super::need::{self, OpenRequest};
use super::{files, parts, texts};
use crate::api;
use crate::app::AppState;
use crate::drawn::{DrawnInbox, InboxRow};
use crate::failure::HttpFailure;
use crate::gateway::lists;
use crate::markdown::in_one_line;
use crate::place::{SEEN, seen_cookie};
use crate::respond::{cookie, wants_json};
use crate::url::encoded;
use crate::{filter, gateway};

/// Characters of a task on its line.
const TASK: usize = 160;

/// Characters of a reason on its line.
const WHY: usize = 200;

/// Labels on a line.
const LABELS: usize = 2;

/// Characters of a label on a line.
const LABEL: usize = 24;

/// Most branches of a thread that a row links to.
const BRANCHES: usize = 50;

/// Characters of a reason in the open form.
const FULL: usize = 2000;

/// Most workflows in the menu that starts a thread.
const STARTED: usize = 15;

/// Ended threads count as new for this long if the browser has no mark of seen threads.
const DAY_MS: u64 = 24 * 3600 * 1000;

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
    let (own, problem) = match drawn(&app, &query, since).await {
        // A typing mistake in the filter, which keeps its form.
        Err(failure) if failure.status == StatusCode::NOT_FOUND && !query.workflow.is_empty() => {
            (DrawnInbox { is_filtered: true, ..DrawnInbox::default() }, Some(failure.message))
        }
        own => (own?, None),
    };
    let views = SavedViews::of_request(&headers);
    let inbox = match app.gateway() {
        // A page of older threads is one of this server's own; `All threads on X` is the link to the threads of a machine.
        Some(gateway) if query.after.is_empty() => {
            own.with_machines(lists::inboxes(&app, gateway, &query, since).await?)
        }
        _ => own,
    };
    let is_filtered = inbox.is_filtered;
    let choices = match is_filtered {
        true => Some(app.read(FilterChoices::read).await?),
        false => None,
    };
    let cwd = app.cwd().to_owned();
    let startable = match app.is_read_only() {
        true => None,
        false => Some(app.read(move |home| startable(home, &cwd)).await?),
    };
    let body = html! {
        div.title-row {
            h1 { "Threads" }
            @if let Some(workflows) = &startable { (start_menu(workflows)) }
            button #notify.quiet type="button" hidden { "Notify me" }
            (chips(&inbox, &query, &views))
        }
        @if let Some(problem) = &problem { p.problem role="alert" { (parts::message(problem)) } }
        @if let Some(choices) = &choices { (filtered(&inbox, &query, &views, choices)) } @else {
            @if inbox.is_empty() { (nothing()) }
            (sections(&inbox, seen.is_some()))
        }
        (inbox.silent())
        // For a retry of several threads.
        @if !app.is_read_only() { div #agents hidden { (need::agent_choice(&inbox.agents, "all")) } }
    };
    let events = if app.gateway().is_some() { gateway::EVENTS } else { "/api/events" };
    // The title of a tab says how many threads need its reader.
    let title = match inbox.needs_count {
        waiting @ 1.. if !inbox.is_filtered => format!("({}) Threads", parts::grouped(waiting)),
        _ => "Threads".to_owned(),
    };
    Ok(DashboardPage::new(title, NavSection::Threads, body).live(events).into_response(&app))
}

/// Names of the workflows in the registry and in the project of a directory.
fn startable(home: &Home, cwd: &Path) -> Result<BTreeSet<String>, HttpFailure> {
    let of_project = project_files::all(cwd).into_iter().map(|(name, _)| name);
    Ok(registry::read(home)?.into_keys().chain(of_project).collect())
}

/// A link to the form of each workflow that starts a thread; if there are many, to the list of workflows.
fn start_menu(workflows: &BTreeSet<String>) -> Markup {
    html! {
        @if (1..=STARTED).contains(&workflows.len()) {
            details #start.menu {
                summary.button { "Start a thread" }
                ul { @for name in workflows { li { a href={"/workflows/" (encoded(name)) "/start"} { (name) } } } }
            }
        } @else {
            a.button href="/workflows" { "Start a thread" }
        }
    }
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
    let back = format!("/{}", query.with("after", &query.after));
    let back = if query.is_filter() { back.as_str() } else { "/" };
    let rows = |section: &InboxSection, has_actions: bool| {
        let row = |(position, item): (usize, &InboxThread)| {
            let acts = has_actions && position < SHOWN && !app.is_read_only();
            InboxRow::new(
                &item.named.row,
                line(item),
                if acts {
                    actions(app, item, back)
                } else {
                    html! {}
                },
            )
        };
        section.threads.iter().enumerate().map(row).collect()
    };
    let InboxView { counts, all, is_filtered, has_more, needs, running, ready, done, agents } = &inbox;
    let all_threads = [needs, running, ready, done].into_iter().flat_map(|section| &section.threads);
    let labels = all_threads.flat_map(|item| &item.named.labels).map(|(key, value)| format!("{key}={value}")).collect();
    Ok(DrawnInbox {
        counts: counts.iter().map(|(state, count)| (state.name().to_owned(), *count)).collect(),
        all_count: *all,
        is_filtered: *is_filtered,
        has_more: *has_more,
        needs: rows(needs, true),
        running: rows(running, true),
        ready: rows(ready, true),
        done: rows(done, false),
        needs_count: needs.count,
        running_count: running.count,
        ready_count: ready.count,
        done_count: done.count,
        agents: agents.clone(),
        labels,
        ..DrawnInbox::default()
    })
}

/// The number of threads that the list of each state shows. Keys 1 to 9 press them in this order.
fn chips(inbox: &DrawnInbox, query: &filter::ThreadListQuery, views: &SavedViews) -> Markup {
    let states = query.states().unwrap_or_default();
    let current = |state: ThreadState| states.contains(&state);
    html! {
        nav.chips aria-label="Threads by state" {
            a href="/" aria-current=[(!query.is_filter()).then_some("page")] data-key="0" { "Inbox" }
            @for (position, state) in ThreadState::ALL.into_iter().enumerate() {
                @let count = inbox.count_of(&[state]);
                @if count > 0 || current(state) {
                    a href={"/" (filter::ThreadListQuery { after: String::new(), all: String::new(), ..query.clone() }.with("state", state.name()))}
                        aria-current=[current(state).then_some("page")] data-key=(position + 1) {
                        (parts::state(state, false, None)) " " span.number { (parts::grouped(count)) }
                    }
                }
            }
            a href="/?all=1" aria-current=[(query.is_filter() && query.state.is_empty()).then_some("page")] {
                "all " span.number { (parts::grouped(inbox.all_count)) }
            }
            (views.links(query))
        }
    }
}

fn sections(inbox: &DrawnInbox, has_seen: bool) -> Markup {
    let DrawnInbox { needs, running, ready, done, needs_count, running_count, ready_count, .. } = inbox;
    html! {
        @if !needs.is_empty() {
            section #needs {
                h2 { "Needs you " span.number { (parts::grouped(*needs_count)) } }
                ul.rows { @for row in needs { (row.draw()) } }
                (more(needs.len(), *needs_count, "waiting,stuck,limited,corrupt"))
            }
        }
        @if !running.is_empty() {
            section #running {
                h2 { "Running " span.number { (parts::grouped(*running_count)) } }
                ul.rows { @for row in running { (row.draw()) } }
                (more(running.len(), *running_count, "running"))
            }
        }
        @if !ready.is_empty() {
            section #ready {
                h2 { "Ready for the next step " span.number { (parts::grouped(*ready_count)) } }
                ul.rows { @for row in ready { (row.draw()) } }
                (more(ready.len(), *ready_count, "active"))
            }
        }
        @if !done.is_empty() {
            section #done {
                div.title-row {
                    h2 { @if has_seen { "Done since you looked " } @else { "Done today " } span.number { (parts::grouped(inbox.done_count)) } }
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

fn filtered(
    inbox: &DrawnInbox,
    query: &filter::ThreadListQuery,
    views: &SavedViews,
    choices: &FilterChoices,
) -> Markup {
    let last = inbox.needs.iter().rfind(|row| row.machine.is_none()).filter(|_| inbox.has_more);
    let filter::ThreadListQuery { outcome, workflow, role, label, q, .. } = query;
    let is_filtered = [outcome, workflow, role, label, q].iter().any(|value| !value.is_empty());
    html! {
        // On a narrow screen, the forms unfold.
        input #show-filter.fold type="checkbox" checked[is_filtered];
        label for="show-filter" { "Filters" }
        div.filters {
            (choices.form(query, &inbox.labels))
            (views.form(query))
        }
        @if inbox.needs.is_empty() { p.empty { "No threads match." } }
        ul #found.rows { @for row in &inbox.needs { (row.draw()) } }
        @if let Some(row) = last {
            p { a.button rel="next" href={"/" (query.with("after", &row.thread))} data-key="]" { "Older threads" } }
        }
        @for machine in &inbox.with_more {
            p { a.button href={ (machine.prefix()) "/" (query.with("after", "")) } { "All threads on " (machine) } }
        }
    }
}

/// A thread on one line: state, task, reason or activity, facts.
fn line(item: &InboxThread) -> Markup {
    let row = &item.named.row;
    let name = item.named.workflow_name.clone().or(row.workflow.map(|hash| hash.to_string())).unwrap_or_default();
    let is_part = item.named.parent_thread.is_some();
    let task = item.overview.as_ref().map(|overview| {
        // The task of a part is the task of its parent, with sections about the part.
        let own = overview.task.split("\n# ").next().filter(|own| is_part && !own.trim().is_empty());
        text::ellipsize_words(&in_one_line(own.unwrap_or(&overview.task)), TASK).into_owned()
    });
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
                @match (&item.running, &item.result) {
                    (Some(step), _) => (at_work(step, &item.branches)),
                    (None, Some(result)) => span.why.excerpt { (excerpt(result, &[])) },
                    (None, None) => (reason(item)),
                }
                (labels(&item.named.labels))
            }
            span.facts {
                @let place = item.named.branch.as_deref().map(|branch| text::ellipsize(branch, TASK).into_owned()).or(role);
                span.workflow title=[place.as_ref().map(|place| format!("{name} · {place}"))] { (name) @if let Some(place) = &place { " · " (place) } }
                @if let Some(steps) = steps { span.steps { (parts::many(steps, "step")) } }
                @if let Some(money) = item.spent.as_ref().and_then(SpendingTotals::known_cost) { span.cost { (money) } }
                @if let Some(changed) = item.since.or(row.changed_at) { (parts::ago(changed)) }
                (parts::short_id(row.thread.as_str()))
            }
        }
        (branches(item))
    }
}

/// The first labels of a thread; each leads to the threads with it.
fn labels(labels: &ThreadLabels) -> Markup {
    html! {
        @if !labels.is_empty() {
            span.tags {
                @for (key, value) in labels.iter().take(LABELS) {
                    @let label = format!("{key}={value}");
                    a href={"/?label=" (encoded(&label))} { (text::ellipsize(&label, LABEL)) }
                }
                @if let more @ 1.. = labels.len().saturating_sub(LABELS) { " +" (more) }
            }
        }
    }
}

/// The branches that a thread is playing, folded.
fn branches(item: &InboxThread) -> Markup {
    let played = &item.branches;
    let BranchCounts { active, ended } = BranchCounts::count(played);
    let states = active.iter().map(|(state, count)| format!("{count} {}", state.name()));
    let states: Vec<String> = states.chain((ended > 0).then(|| format!("{ended} ended"))).collect();
    html! {
        @if !played.is_empty() {
            details.played.small #{"branches-" (item.named.row.thread)} {
                summary { (parts::many_of(played.len(), "branch", "branches")) ": " (states.join(", ")) }
                ul {
                    @for branch in played.iter().take(BRANCHES) {
                        @let name = branch.path.clone().unwrap_or_else(|| branch.thread.to_string());
                        li {
                            a href={"/threads/" (branch.thread)} { (text::ellipsize(&name, TASK)) } " "
                            @match branch.state { Some(state) => (parts::state(state, false, None)), None => span.quiet { "ended" } }
                        }
                    }
                    @if let more @ 1.. = played.len().saturating_sub(BRANCHES) { li.quiet { (more) " more" } }
                }
            }
        }
    }
}

/// Why a thread does not continue, or how it ended.
fn reason(item: &InboxThread) -> Markup {
    // A question or a goal is a text of any length, so its first line represents it.
    let question = match &item.need {
        Some(OpenRequest::Answer(form)) => {
            let asked = form.asked.question.as_ref().map_or(form.goal.as_str(), |question| &question.text);
            Some(asked).filter(|asked| !asked.trim().is_empty()).map(|asked| in_one_line(&texts::first_line(asked)))
        }
        _ => None,
    };
    let plain = |why: &str| text::one_line(parts::without_command(why));
    let why = question.or_else(|| item.named.row.why.as_deref().map(plain));
    let branch = item.asking.as_ref().and_then(|asking| asking.path.as_deref());
    html! {
        @if let Some(why) = why {
            span.why title=(why) {
                @if let Some(branch) = branch { b { (text::ellipsize(branch, TASK)) } ": " }
                (parts::engine_text(&text::ellipsize_words(&why, WHY)))
            }
        }
    }
}

/// The agent's current activity, or the branches at work.
fn at_work(step: &uwf_engine::views::ps::RunningStep, branches: &[PlayedBranch]) -> Markup {
    let tokens = step.tokens.as_ref().and_then(TokenCounts::total);
    let running = branches.iter().filter(|branch| branch.state == Some(ThreadState::Running));
    let names = running.filter_map(|branch| branch.path.as_deref()?.rsplit('.').next()).collect::<Vec<_>>().join(", ");
    html! {
        span.why.work {
            b { (step.role) }
            @if names.is_empty() { " by " (step.agent.short()) } @else { ": " (text::ellipsize(&names, TASK)) }
            " for " span data-since=(step.since) { (parts::duration(ids::now_ms().saturating_sub(step.since))) }
            @if let Some(tokens) = tokens { " · " (parts::count(tokens)) " tokens" }
            @match &step.doing {
                Some(doing) => { " · " code.doing { (doing) } },
                None => { " · last output " (parts::ago(step.last_sign)) },
            }
        }
    }
}

/// The possible actions: buttons, or a form that opens below the line.
fn actions(app: &AppState, item: &InboxThread, back: &str) -> Markup {
    let row = &item.named.row;
    let (thread, head) = item.subject();
    let about = FormSubject { thread, head, attempt: item.attempt.as_deref(), back: Some(back) };
    let changed = html! { @if item.has_files { (files::on_request(thread, head)) } };
    let plain = |action, label, key| forms::button(app, about, &ActionButton::new(action, label, key));
    match (&item.need, row.state) {
        (Some(need), _) => html! {
            details.act #(about.id("act")) name="act" {
                summary.button data-key="a" { (need.name()) }
                @if let Some(why) = &row.why { @if !matches!(need, OpenRequest::Answer(_)) { p.full { (parts::message(&text::ellipsize(why, FULL))) } } }
                (need.action(app, about, "s", &changed))
            }
        },
        (None, ThreadState::Running) => html! { div.actions { (plain("pause", "Pause", "p")) } },
        (None, ThreadState::Active) => {
            html! { div.actions { (plain("step", "Step", "s")) (plain("run", "Run", "r")) } }
        }
        (None, _) => html! {},
    }
}
