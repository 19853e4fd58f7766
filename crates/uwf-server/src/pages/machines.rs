//! `/machines`: the machines of the gateway and what their threads do.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;
use uwf_core::thread::ThreadId;
use uwf_core::{text, view};
use uwf_engine::thread::state::ThreadState;

use super::layout::{DashboardPage, NavSection};
use super::parts;
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::gateway::{EVENTS, lists};
use crate::machines::MachineSnapshot;

/// Most threads on the page.
const MOST_SHOWN: usize = 500;

/// Characters of the reason for a thread's state.
const WHY: usize = 400;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/machines", get(page))
}

/// The fields of a machine's report that the page shows. Another version may send more or fewer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MachineThreadRow {
    thread: ThreadId,
    state: ThreadState,
    #[serde(default)]
    pausing: bool,
    outcome: Option<String>,
    workflow_name: Option<String>,
    /// Role of its last step.
    role: Option<String>,
    /// Role that is running, waiting or next.
    at_role: Option<String>,
    task: Option<String>,
    why: Option<String>,
    changed_at: Option<u64>,
}

async fn page(State(app): State<AppState>) -> Result<Response, HttpFailure> {
    let machines = lists::seen(&lists::gateway(&app)?).await?;
    let body = html! {
        h1 { "Machines" }
        @if machines.is_empty() {
            p { "No machine has a token yet. " code { "uwf gateway token NAME" } " on this machine creates one." }
        } @else {
            (list_of(&machines))
            (threads_of(&machines))
        }
    };
    Ok(DashboardPage::new("Machines", NavSection::None, body).live(EVENTS).into_response(&app))
}

fn list_of(machines: &[MachineSnapshot]) -> Markup {
    html! { ul.rows { @for machine in machines { (of_machine(machine)) } } }
}

fn of_machine(machine: &MachineSnapshot) -> Markup {
    let first_page = format!("{}/", machine.name.prefix());
    html! {
        li.row #{"machine-" (machine.name)} data-row tabindex="-1" {
            div.line {
                @if machine.is_connected { span.state data-state="connected" { "connected" } } @else { span.state data-state="away" { "away" } }
                a.task data-open href=(first_page) { (machine.name) }
                span.facts {
                    (connection(machine))
                    @if let Some(about) = &machine.about {
                        span { "uwf " (about.version) }
                        @if about.read_only { span { "read-only" } }
                    }
                }
            }
            (counts(machine, &first_page))
        }
    }
}

fn connection(machine: &MachineSnapshot) -> Markup {
    html! {
        @match (machine.is_connected, machine.since) {
            (true, Some(since)) => { span { "since " (clock(since)) } }
            (false, Some(since)) => { span.problem { "not connected since " (clock(since)) } }
            (_, None) => { span { "has not connected since the gateway was started" } }
        }
    }
}

/// A point in time to the minute; the tooltip has the seconds.
fn clock(unix_ms: u64) -> Markup {
    let full = view::time(unix_ms);
    let short = full.get(..16).unwrap_or(&full);
    html! { time datetime=(full.replacen(' ', "T", 1) + "Z") title=(format!("{full} UTC")) { (short) " UTC" } }
}

/// The number of a machine's threads in each state, linked to those threads.
fn counts(machine: &MachineSnapshot, first_page: &str) -> Markup {
    let count = |state: ThreadState| machine.summary.counts.get(state.name()).copied().filter(|count| *count > 0);
    let counts: Vec<(ThreadState, u64)> =
        ThreadState::ALL.into_iter().filter_map(|state| Some((state, count(state)?))).collect();
    html! {
        @if !counts.is_empty() {
            nav.chips aria-label={"Threads of " (machine.name) " by state"} {
                @for (state, count) in counts {
                    a href={(first_page) "?state=" (state.name())} { (parts::state(state, false, None)) " " span.number { (count) } }
                }
            }
        }
    }
}

fn threads_of(machines: &[MachineSnapshot]) -> Markup {
    let mut rows: Vec<(&MachineSnapshot, MachineThreadRow)> = machines.iter().flat_map(rows_of).collect();
    if rows.is_empty() {
        return html! {};
    }
    // Threads that need a person first, and among them the newest first.
    rows.sort_by_key(|(_, row)| (urgency(row.state), std::cmp::Reverse(row.changed_at)));
    let all = rows.len();
    rows.truncate(MOST_SHOWN);
    html! {
        section #machines-threads {
            h2 { "On all machines " span.number { (all) } }
            ul.rows { @for (machine, row) in &rows { (thread_row(machine, row)) } }
            @if all > rows.len() { p.quiet { (parts::many(all - rows.len(), "more thread")) } }
        }
    }
}

fn rows_of(machine: &MachineSnapshot) -> Vec<(&MachineSnapshot, MachineThreadRow)> {
    let rows = machine.summary.threads.iter().filter_map(|row| MachineThreadRow::deserialize(row).ok());
    rows.map(|row| (machine, row)).collect()
}

fn thread_row(machine: &MachineSnapshot, row: &MachineThreadRow) -> Markup {
    let workflow = row.workflow_name.as_deref();
    let task = row.task.as_deref().filter(|task| !task.is_empty());
    html! {
        li.row #{(machine.name) "-" (row.thread)} data-row=(row.thread) data-prefix=(machine.name.prefix()) tabindex="-1" {
            div.line {
                (parts::state(row.state, row.pausing, row.outcome.as_deref()))
                a.task data-open href={(machine.name.prefix()) "/threads/" (row.thread)} { (task.or(workflow).unwrap_or(row.thread.as_str())) }
                span.facts {
                    span.machine { (machine.name) @if !machine.is_connected { span.problem { " (not connected)" } } }
                    @if let Some(workflow) = workflow { span.workflow { (workflow) } }
                    @if let Some(role) = row.at_role.as_deref().or(row.role.as_deref()) { span.role { (role) } }
                    @if let Some(changed) = row.changed_at { (parts::ago(changed)) }
                    (parts::short_id(row.thread.as_str()))
                }
            }
            @if let Some(why) = &row.why { p.why { (parts::ticks(&text::ellipsize(why, WHY))) } }
        }
    }
}

/// How urgently a thread needs a person.
fn urgency(state: ThreadState) -> u8 {
    match state {
        ThreadState::Waiting | ThreadState::Stuck | ThreadState::Limited | ThreadState::Corrupt => 0,
        ThreadState::Running => 1,
        ThreadState::Active | ThreadState::Paused => 2,
        ThreadState::Completed | ThreadState::Killed => 3,
    }
}
