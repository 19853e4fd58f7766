//! `/cost`: spending by day, workflow, role, agent, model or thread.

mod chart;
mod everywhere;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use uwf_core::spending::{MoneySource, SpendingTotals};
use uwf_core::text::beginning;
use uwf_core::thread::ThreadId;
use uwf_engine::root::home::Home;
use uwf_engine::thread::load::Thread;
use uwf_engine::views::cost::{CostBy, CostReport, CostRow, DayZone};

use self::everywhere::{CostLine, CostsEverywhere, everywhere};
use super::layout::{DashboardPage, NavSection};
use super::{parts, spent};
use crate::api::cost::{CostQuery, report};
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::machines::name::MachineName;
use crate::markdown::in_one_line;
use crate::place::ZONE;
use crate::respond::{cookie, wants_json};
use crate::url::encoded;

/// Default time span.
const SINCE: &str = "7d";

/// Rows shown for threads; the CSV file has all.
const MOST_THREADS: usize = 100;

/// Bytes of a thread's task in its row.
const TASK: usize = 80;

/// Choices of time: the value in the query, and its label.
const TIMES: [(&str, &str); 5] =
    [("1d", "24 hours"), ("7d", "7 days"), ("30d", "30 days"), ("90d", "90 days"), ("", "All time")];

const BY: [(CostBy, &str, &str); 8] = [
    (CostBy::Day, "day", "Day"),
    (CostBy::Workflow, "workflow", "Workflow"),
    (CostBy::Role, "role", "Role"),
    (CostBy::Branch, "branch", "Branch"),
    (CostBy::Agent, "agent", "Agent"),
    (CostBy::Model, "model", "Model"),
    (CostBy::Label, "label", "Label"),
    (CostBy::Thread, "thread", "Thread"),
];

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/cost", get(cost))
}

/// `GET /cost`: a page, or the API's report if the client wants JSON.
async fn cost(state: State<AppState>, asked: Query<CostQuery>, headers: HeaderMap) -> Response {
    if wants_json(&headers) {
        report(state, Ok(asked)).await.into_response()
    } else {
        page(state, asked, headers).await.into_response()
    }
}

async fn page(
    State(app): State<AppState>,
    Query(asked): Query<CostQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpFailure> {
    let (zone, is_of_reader) = zone(&asked, &headers)?;
    let since = asked.since.unwrap_or_else(|| SINCE.to_owned());
    let until = asked.until.unwrap_or_default();
    let by = asked.by.unwrap_or(CostBy::Day);
    let time_zone = Some(zone.name().to_owned());
    let query = CostQuery { since: Some(since.clone()), until: Some(until.clone()), by: Some(by), time_zone };
    // One after the other, because the second adds up with what the first has read.
    let mut costs = everywhere(&app, query).await?;
    let chart = chart::chart(&app, &since, &until, &zone).await?;
    order(&mut costs);
    let (costs, tasks) = app
        .read(move |home| {
            let shown = costs.lines.iter().take(MOST_THREADS);
            let tasks = shown.map(|line| task(home, costs.report.by, line)).collect::<Vec<_>>();
            Ok((costs, tasks))
        })
        .await?;
    let body = html! {
        h1 { "Cost" }
        (choices(&since, by))
        p.quiet.small data-zone=(zone.name()) {
            "Days are in the time zone " b { (zone.name()) } @if is_of_reader { ", as in your browser." } @else { ", as on the server." }
        }
        @if !until.is_empty() { p { "From " (since) " until " (until) ". " a href="/cost" { "The last 7 days" } } }
        (summary(&costs.report.total))
        (chart)
        @let end = if until.is_empty() { String::new() } else { format!("&until={}", encoded(&until)) };
        @let query = format!("?since={}&by={}{end}", encoded(&since), word(by));
        @let in_zone = format!("{query}&timeZone={}", encoded(zone.name()));
        (costs.by_machine(&query))
        @if costs.lines.is_empty() {
            p.quiet { "No spending in this period." }
        } @else {
            (table(&costs, &tasks))
        }
        (notes(&costs))
        p {
            a href={ "/api/cost.csv" (in_zone) } download="cost.csv" {
                @if costs.has_machines() { "All rows of this gateway as CSV" } @else { "All rows as CSV" }
            }
        }
    };
    Ok(DashboardPage::new("Cost", NavSection::Cost, body).into_response(&app))
}

/// The time zone of the days, and whether the reader's browser named it.
///
/// # Errors
/// 400 for an unknown one in the query.
fn zone(asked: &CostQuery, headers: &HeaderMap) -> Result<(DayZone, bool), HttpFailure> {
    let of_reader =
        cookie(headers, ZONE).and_then(|name| DayZone::named(name).ok()).filter(|_| asked.time_zone.is_none());
    let is_of_reader = of_reader.is_some();
    Ok((of_reader.map_or_else(|| asked.zone(), Ok)?, is_of_reader))
}

/// Days newest first; rows of anything else by cost, then by tokens.
fn order(costs: &mut CostsEverywhere) {
    if costs.report.by == CostBy::Day {
        costs.lines.reverse();
        return;
    }
    let money = |line: &CostLine| line.row.spent.by_currency().values().sum::<f64>();
    let tokens = |line: &CostLine| line.row.spent.tokens.total();
    costs.lines.sort_by(|a, b| money(b).total_cmp(&money(a)).then_with(|| tokens(b).cmp(&tokens(a))));
}

fn word(by: CostBy) -> &'static str {
    BY.iter().find(|(of, ..)| *of == by).map_or("thread", |(_, word, _)| word)
}

/// The task of a row's thread.
fn task(home: &Home, by: CostBy, line: &CostLine) -> Option<String> {
    let CostLine { row, machine: None } = line else { return None };
    let id = row.name.as_ref().filter(|_| by == CostBy::Thread)?.parse().ok()?;
    let task = in_one_line(&Thread::any(home, &id).ok()?.start.prompt);
    let short = beginning(&task, TASK);
    Some(if short.len() < task.len() { format!("{short}…") } else { task })
}

fn choices(since: &str, by: CostBy) -> Markup {
    let current = |is: bool| is.then_some("true");
    html! {
        div.filters {
            nav.choices aria-label="Time" {
                @for (time, words) in TIMES {
                    a href={ "/cost?since=" (time) "&by=" (word(by)) } aria-current=[current(time == since)] { (words) }
                }
            }
            nav.choices aria-label="A row is of" {
                @for (of, name, words) in BY {
                    a href={ "/cost?since=" (encoded(since)) "&by=" (name) } aria-current=[current(of == by)] { (words) }
                }
            }
        }
    }
}

/// The totals.
fn summary(total: &SpendingTotals) -> Markup {
    let facts = [
        ("Cost", spent::money(total)),
        ("Tokens", spent::tokens(total)),
        ("Steps", html! { (total.steps) }),
        ("Failed attempts", html! { (total.failed_attempts) }),
        ("Agent time", html! { (parts::duration(total.duration_ms)) }),
    ];
    html! {
        dl.sums { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } }
    }
}

/// The amount that shares are computed from.
enum ShareBasis {
    /// Money, if all of it is in one currency.
    Money(String),
    Tokens,
    Time,
}

impl ShareBasis {
    fn for_total(total: &SpendingTotals) -> ShareBasis {
        let sums = total.by_currency();
        match (sums.len(), sums.iter().next()) {
            (1, Some((currency, amount))) if *amount > 0.0 => ShareBasis::Money((*currency).to_owned()),
            _ if count(total) > 0 => ShareBasis::Tokens,
            _ => ShareBasis::Time,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            ShareBasis::Money(_) => "Share of the cost",
            ShareBasis::Tokens => "Share of the tokens",
            ShareBasis::Time => "Share of the time",
        }
    }

    fn amount(&self, spent: &SpendingTotals) -> f64 {
        match self {
            ShareBasis::Money(currency) => spent.by_currency().get(currency.as_str()).copied().unwrap_or(0.0),
            ShareBasis::Tokens => count(spent) as f64,
            ShareBasis::Time => spent.duration_ms as f64,
        }
    }
}

fn count(spent: &SpendingTotals) -> u64 {
    spent.tokens.total()
}

fn table(everywhere: &CostsEverywhere, tasks: &[Option<String>]) -> Markup {
    let CostsEverywhere { report: costs, lines, .. } = everywhere;
    let shares = ShareBasis::for_total(&costs.total);
    let heading = BY.iter().find(|(of, ..)| *of == costs.by).map_or("", |(.., words)| words);
    let shown = if costs.by == CostBy::Thread { MOST_THREADS } else { usize::MAX };
    html! {
        table.spent {
            thead {
                tr {
                    th scope="col" { (heading) @if costs.by == CostBy::Day { " (" (costs.time_zone) ")" } }
                    th.number.less scope="col" { "Steps" }
                    th.number.less scope="col" { "Failed" }
                    th.number.less scope="col" { "Input tokens" }
                    th.number.less scope="col" { "Output tokens" }
                    th.number scope="col" { "Agent time" }
                    th.number scope="col" { "Cost" }
                    th scope="col" { (shares.name()) }
                }
            }
            tbody {
                @for (at, line) in lines.iter().take(shown).enumerate() {
                    @let CostLine { row, machine } = line;
                    @let task = tasks.get(at).and_then(Option::as_deref);
                    @let amount = shares.amount(&row.spent);
                    tr data-row id={ "row-" (row.name.as_deref().unwrap_or("unknown")) } {
                        th scope="row" {
                            @match machine {
                                Some(machine) => (thread_of_machine(machine, row)),
                                None => (name(costs.by, row, task, everywhere.has_machines())),
                            }
                        }
                        (cells(&row.spent))
                        td data-label=(shares.name()) { (share(amount, shares.amount(&costs.total))) }
                    }
                }
            }
            tfoot { tr { th scope="row" { "Total" } (cells(&costs.total)) td {} } }
        }
        @if lines.len() > shown {
            p.quiet.small { (lines.len() - shown) " more threads are not shown; the total and the CSV include them." }
        }
    }
}

/// A thread of a machine, which may send any text.
fn thread_of_machine(machine: &MachineName, row: &CostRow) -> Markup {
    let id = row.name.as_deref().and_then(|id| id.parse::<ThreadId>().ok());
    html! {
        @match id {
            Some(id) => a data-open href={ (machine.prefix()) "/threads/" (id) } { (parts::short_id(id.as_str())) },
            None => span.quiet { "unknown" },
        }
        " " span.quiet.small { (row.workflow.as_deref().unwrap_or_default()) " on " (machine) }
    }
}

/// The name of a row. If it may be of several machines, a workflow has no page.
fn name(by: CostBy, row: &CostRow, task: Option<&str>, is_of_all: bool) -> Markup {
    let name = row.name.as_deref();
    html! {
        @match (by, name) {
            (CostBy::Label, None) => span.quiet { "no label" },
            (_, None) => span.quiet { "unknown" },
            (CostBy::Workflow, Some(name)) if !is_of_all => a data-open href={ "/workflows/" (encoded(name)) } { (name) },
            (CostBy::Thread, Some(id)) => {
                a data-open href={ "/threads/" (id) } { (parts::ticks(task.unwrap_or(id))) }
                " " span.quiet.small.whole { (row.workflow.as_deref().unwrap_or_default()) " " (parts::short_id(id)) }
            },
            (CostBy::Day, Some(day)) => a data-open href={ "/cost?by=thread&since=" (day) "&until=" (chart::day_after(day)) } { (day) },
            (CostBy::Label, Some(label)) => a data-open href={ "/?label=" (encoded(label)) } { (label) },
            (CostBy::Role, Some(role)) => a data-open href={ "/?all=1&role=" (encoded(role)) } { (role) },
            (CostBy::Workflow | CostBy::Branch | CostBy::Agent | CostBy::Model, Some(name)) => (name),
        }
    }
}

fn cells(spent: &SpendingTotals) -> Markup {
    let is_whole = spent.are_tokens_whole();
    html! {
        td.number.less data-label="Steps" { (spent.steps) }
        td.number.less data-label="Failed" { (spent.failed_attempts) }
        td.number.less data-label="Input tokens" { (spent::some_tokens(spent.tokens.input, is_whole)) }
        td.number.less data-label="Output tokens" { (spent::some_tokens(spent.tokens.output, is_whole)) }
        td.number data-label="Agent time" { (parts::duration(spent.duration_ms)) }
        td.number data-label="Cost" { (spent::money(spent)) }
    }
}

/// A bar with the percentage of the total.
fn share(amount: f64, all: f64) -> Markup {
    let part = if all > 0.0 { (amount / all * 100.0).clamp(0.0, 100.0) } else { 0.0 };
    html! {
        span.share {
            svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                rect.bar-fill width=(format!("{part:.1}")) height="8" {}
            }
            span { (format!("{part:.0} %")) }
        }
    }
}

/// Sources of the figures, and what is missing from them.
fn notes(everywhere: &CostsEverywhere) -> Markup {
    let costs = &everywhere.report;
    let CostReport { total, prices, list_prices, unpriced, shared_steps, unreadable, .. } = costs;
    let runs = total.steps + total.failed_attempts;
    let from = |source: MoneySource| total.cost.keys().any(|(_, from)| *from == source);
    let unknown = total.cost_unknown.saturating_sub(unreadable.len());
    let uncounted = total.tokens_unknown.saturating_sub(unreadable.len());
    let models: Vec<&str> = unpriced.iter().map(|model| model.as_deref().unwrap_or("no model named")).collect();
    let mut notes = Vec::new();
    if from(MoneySource::Provider) {
        notes.push("Costs are as reported by the provider.".to_owned());
    }
    if let Some(prices) = prices.as_ref().filter(|_| from(MoneySource::Prices)) {
        notes.push(format!(
            "Other costs are computed from tokens and the prices of {} in the configuration.",
            prices.date
        ));
    }
    if let Some(prices) = list_prices {
        notes.push(format!("For other models, the list prices of {} that ship with uwf apply.", prices.date));
    }
    if unknown > 0 {
        let of = parts::many(runs, "run");
        notes.push(format!(
            "The cost of {unknown} of {of} is unknown and left out of the sums ({}).",
            models.join(", ")
        ));
        notes
            .push("Set the prices of models under `prices` in the configuration: `uwf help configuration`.".to_owned());
    }
    if uncounted > 0 {
        notes.push(format!("The tokens of {uncounted} of {} were not counted.", parts::many(runs, "run")));
    }
    if !unreadable.is_empty() {
        let threads = parts::many(unreadable.len(), "thread");
        notes.push(format!(
            "{threads} cannot be read completely, so the sums lack some usage. Run `uwf cas verify` for the reason."
        ));
    }
    if everywhere.has_machines() {
        notes.push("The costs of machines are as each machine reports them.".to_owned());
    }
    if *shared_steps > 0 && costs.by == CostBy::Thread {
        let shared = parts::many(*shared_steps, "step");
        notes.push(format!("{shared} shared by forks: in the row of each, in the total once."));
    } else {
        notes.push("Steps that forks share count once.".to_owned());
    }
    html! { ul.notes { @for note in &notes { li { (parts::ticks(note)) } } } }
}
