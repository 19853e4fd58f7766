//! `/machines`: the machines of the gateway and what their threads do.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;
use uwf_core::view;
use uwf_engine::thread::state::State as ThreadState;

use super::layout::{Page, Section};
use super::parts;
use crate::app::App;
use crate::failure::Failure;
use crate::gateway::lists;
use crate::machines::Seen;
use crate::url::encoded;

/// Most threads on the page.
const MOST_SHOWN: usize = 500;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/machines", get(page))
}

/// What a machine reports of a thread, as far as it is shown. Another version may say more, or less.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    thread: String,
    state: ThreadState,
    #[serde(default)]
    pausing: bool,
    workflow_name: Option<String>,
    role: Option<String>,
    why: Option<String>,
    changed_at: Option<u64>,
}

async fn page(State(app): State<App>) -> Result<Response, Failure> {
    let machines = lists::seen(&lists::gateway(&app)?).await?;
    let body = html! {
        h1 { "Machines" }
        @if machines.is_empty() {
            p { "No machine has a token yet. " code { "uwf gateway token NAME" } " on this machine makes one." }
        } @else {
            (list_of(&machines))
            (threads_of(&machines))
        }
    };
    Ok(Page::new("Machines", Section::None, body).into_response(&app))
}

/// The threads of all machines as a section of a page; nothing at a server that is no gateway, or whose machines have none.
///
/// # Errors
/// Those of the tokens' file.
pub(crate) async fn section(app: &App) -> Result<Markup, Failure> {
    match app.gateway() {
        Some(gateway) => Ok(threads_of(&lists::glanced(gateway).await?)),
        None => Ok(html! {}),
    }
}

fn list_of(machines: &[Seen]) -> Markup {
    html! {
        table {
            thead { tr { th { "Machine" } th { "Connection" } th { "Threads" } th { "Version" } } }
            tbody {
                @for machine in machines {
                    tr id={"machine-" (machine.name)} {
                        td { a href={(machine.name.prefix()) "/"} { (machine.name) } }
                        td { (connection(machine)) }
                        td { (counts(machine)) }
                        td.quiet {
                            @if let Some(about) = &machine.about {
                                (about.version) @if about.read_only { " " span.badge { "read-only" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn connection(machine: &Seen) -> Markup {
    html! {
        @match (machine.is_connected, machine.since) {
            (true, Some(since)) => { "connected, since " (clock(since)) }
            (false, Some(since)) => { span.problem { "not connected since " (clock(since)) } }
            (_, None) => { span.quiet { "has not connected since the gateway was started" } }
        }
    }
}

/// A point of time as it is said: hours and minutes (UTC, until a script makes it local), and in full for whoever asks.
fn clock(unix_ms: u64) -> Markup {
    let full = view::time(unix_ms);
    let short = full.get(..16).unwrap_or(&full);
    html! { time datetime=(full.replacen(' ', "T", 1) + "Z") title=(format!("{full} UTC")) { (short) " UTC" } }
}

fn counts(machine: &Seen) -> String {
    let counts = machine.summary.counts.iter().map(|(state, count)| format!("{count} {state}"));
    counts.collect::<Vec<_>>().join(", ")
}

fn threads_of(machines: &[Seen]) -> Markup {
    let mut rows: Vec<(&Seen, Row)> = machines.iter().flat_map(rows_of).collect();
    if rows.is_empty() {
        return html! {};
    }
    // Those that need somebody first, the newest first among them.
    rows.sort_by_key(|(_, row)| (urgency(row.state), std::cmp::Reverse(row.changed_at)));
    let left_out = rows.len().saturating_sub(MOST_SHOWN);
    rows.truncate(MOST_SHOWN);
    html! {
        section #machines-threads {
            h2 { "On all machines" }
            table {
                thead { tr { th { "Machine" } th { "Thread" } th { "State" } th { "Workflow" } th { "Role" } th { "Changed" } } }
                tbody { @for (machine, row) in &rows { (line(machine, row)) } }
            }
            @if left_out > 0 { p.quiet { (parts::many(left_out, "more thread")) } }
        }
    }
}

fn rows_of(machine: &Seen) -> Vec<(&Seen, Row)> {
    let rows = machine.summary.threads.iter().filter_map(|row| Row::deserialize(row).ok());
    rows.map(|row| (machine, row)).collect()
}

fn line(machine: &Seen, row: &Row) -> Markup {
    html! {
        tr id={(machine.name) "-" (row.thread)} {
            td {
                (machine.name)
                @if !machine.is_connected { span.quiet { " (not connected)" } }
            }
            td { a href={(machine.name.prefix()) "/threads/" (encoded(&row.thread))} { (parts::short_id(&row.thread)) } }
            td {
                (parts::state(row.state, row.pausing))
                @if let Some(why) = &row.why { div.quiet.small { (why) } }
            }
            td { (row.workflow_name.as_deref().unwrap_or("–")) }
            td { (row.role.as_deref().unwrap_or("–")) }
            td { @if let Some(changed) = row.changed_at { (parts::ago(changed)) } }
        }
    }
}

/// How soon somebody should look.
fn urgency(state: ThreadState) -> u8 {
    match state {
        ThreadState::Waiting | ThreadState::Stuck | ThreadState::Limited | ThreadState::Corrupt => 0,
        ThreadState::Running => 1,
        ThreadState::Active | ThreadState::Paused => 2,
        ThreadState::Completed | ThreadState::Killed => 3,
    }
}
