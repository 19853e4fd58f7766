//! `/machines`: the machines of the gateway and what their threads do.

use std::collections::HashMap;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;
use uwf_core::text;
use uwf_core::thread::ThreadId;
use uwf_engine::thread::state::ThreadState;

use super::layout::{DashboardPage, NavSection};
use super::parts;
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::gateway::{EVENTS, lists};
use crate::machines::{MachineSnapshot, MachineSummary};

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
    parent_thread: Option<ThreadId>,
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
                div.what { a.task data-open href=(first_page) { (machine.name) } }
                span.facts.plain {
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
            (true, Some(since)) => span { "connected " (parts::ago(since)) },
            (false, Some(since)) => span.problem { "not connected, last seen " (parts::ago(since)) },
            (_, None) => span { "not connected since the gateway started" },
        }
    }
}

/// The number of a machine's threads in each state, linked to those threads.
fn counts(machine: &MachineSnapshot, first_page: &str) -> Markup {
    let MachineSummary { counts, shown, .. } = &*machine.summary;
    let counts = if shown.is_empty() { counts } else { shown };
    let count = |state: ThreadState| counts.get(state.name()).copied().filter(|count| *count > 0);
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

/// The threads of a machine. A child thread is a part of its parent, unless it needs a person and its parent does not.
fn rows_of(machine: &MachineSnapshot) -> Vec<(&MachineSnapshot, MachineThreadRow)> {
    let rows = machine.summary.threads.iter().filter_map(|row| MachineThreadRow::deserialize(row).ok());
    let rows: Vec<MachineThreadRow> = rows.collect();
    let urgencies: HashMap<ThreadId, u8> = rows.iter().map(|row| (row.thread.clone(), urgency(row.state))).collect();
    let is_part = |row: &MachineThreadRow| {
        let above = row.parent_thread.as_ref().and_then(|parent| urgencies.get(parent));
        above.is_some_and(|above| urgency(row.state) > 0 || *above == 0)
    };
    rows.into_iter().filter(|row| !is_part(row)).map(|row| (machine, row)).collect()
}

fn thread_row(machine: &MachineSnapshot, row: &MachineThreadRow) -> Markup {
    let workflow = row.workflow_name.as_deref();
    let task = row.task.as_deref().filter(|task| !task.is_empty());
    html! {
        li.row #{(machine.name) "-" (row.thread)} data-row=(row.thread) data-prefix=(machine.name.prefix()) tabindex="-1" {
            div.line {
                (parts::state(row.state, row.pausing, row.outcome.as_deref()))
                div.what {
                    a.task data-open href={(machine.name.prefix()) "/threads/" (row.thread)} { (parts::ticks(task.or(workflow).unwrap_or(row.thread.as_str()))) }
                    @if let Some(why) = &row.why { span.why { (parts::ticks(&text::ellipsize(why.split(": uwf ").next().unwrap_or(why), WHY))) } }
                }
                span.facts {
                    span.workflow {
                        (machine.name) @if !machine.is_connected { span.problem { " (not connected)" } }
                        @for part in [workflow, row.at_role.as_deref().or(row.role.as_deref())].into_iter().flatten() { " · " (part) }
                    }
                    @if let Some(changed) = row.changed_at { (parts::ago(changed)) }
                    (parts::short_id(row.thread.as_str()))
                }
            }
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
