//! The columns of the cost page: one for each day, and the sum of the period before.

use maud::{Markup, html};
use uwf_core::spending::SpendingTotals;
use uwf_core::view;
use uwf_engine::root::ids;
use uwf_engine::views::cost::{CostBy, CostRow};

use super::everywhere::everywhere;
use crate::api::cost::CostQuery;
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::pages::parts;

/// Milliseconds of a day.
const DAY_MS: u64 = 24 * 3600 * 1000;

/// Most columns.
const MOST: u64 = 90;

/// Width and height of the drawing, in its own units. A column and the gap beside it share the width.
const SIZE: (f64, f64) = (720.0, 120.0);

/// Room for the labels below the columns.
const LABELS: f64 = 18.0;

/// A day of the chart.
struct ChartDay {
    name: String,
    spent: SpendingTotals,
}

/// The chart of a period that ends now, with the period before in words; empty for other periods.
pub(super) async fn chart(app: &AppState, since: &str, until: &str) -> Result<Markup, HttpFailure> {
    let Some(days) = days(since).filter(|_| until.is_empty()) else { return Ok(html! {}) };
    let today = ids::now_ms() / DAY_MS;
    let begin = day((today + 1).saturating_sub(2 * days));
    let query = CostQuery { since: Some(begin), by: Some(CostBy::Day), ..CostQuery::default() };
    let days_of_all = everywhere(app, query).await?.lines;
    let rows: Vec<CostRow> = days_of_all.into_iter().map(|line| line.row).collect();
    let of = |day: &str| rows.iter().find(|row| row.name.as_deref() == Some(day));
    let spent = |from: u64| {
        let name = day(from);
        let spent = of(&name).map(|row| row.spent.clone()).unwrap_or_default();
        ChartDay { name, spent }
    };
    let shown: Vec<ChartDay> = ((today + 1).saturating_sub(days)..=today).map(spent).collect();
    let mut before = SpendingTotals::default();
    ((today + 1).saturating_sub(2 * days)..(today + 1).saturating_sub(days))
        .map(spent)
        .for_each(|day| before.merge(day.spent));
    Ok(drawn(&shown, &before))
}

/// Number of days of a period that has a chart.
fn days(since: &str) -> Option<u64> {
    since.strip_suffix('d')?.parse().ok().filter(|days| (2..=MOST).contains(days))
}

/// A day by its number since 1970.
fn day(number: u64) -> String {
    view::time(number * DAY_MS).chars().take(10).collect()
}

/// The day after a day.
pub(super) fn day_after(name: &str) -> String {
    view::day_start(name).map_or_else(|| name.to_owned(), |start| day(start / DAY_MS + 1))
}

/// The height of a column: money if there is one currency, else tokens.
fn amount(spent: &SpendingTotals, has_money: bool) -> f64 {
    if has_money { spent.by_currency().values().sum() } else { spent.tokens.total() as f64 }
}

fn in_words(spent: &SpendingTotals, has_money: bool) -> String {
    match has_money {
        true => spent.cost_text(),
        false => format!("{} tokens", parts::count(spent.tokens.total())),
    }
}

fn drawn(days: &[ChartDay], before: &SpendingTotals) -> Markup {
    let currencies = |spent: &SpendingTotals| spent.by_currency().len();
    let has_money =
        days.iter().any(|day| currencies(&day.spent) == 1) && days.iter().all(|day| currencies(&day.spent) <= 1);
    let most = days.iter().map(|day| amount(&day.spent, has_money)).fold(0.0, f64::max);
    if most <= 0.0 {
        return html! {};
    }
    let (width, height) = SIZE;
    let step = width / days.len() as f64;
    // The first, the middle and the last day have a label.
    let is_labelled = |at: usize| at == 0 || at + 1 == days.len() || at == days.len() / 2;
    let what = if has_money { "Cost per day" } else { "Tokens per day" };
    html! {
        figure.chart {
            figcaption { (what) }
            svg viewBox={"0 0 " (width) " " (height + LABELS)} role="group" aria-label=(what) {
                @for (at, day) in days.iter().enumerate() {
                    @let tall = (amount(&day.spent, has_money) / most * (height - 4.0)).max(0.0);
                    @let x = at as f64 * step;
                    a href={"/cost?by=thread&since=" (day.name) "&until=" (day_after(&day.name))} {
                        title { (day.name) ": " (in_words(&day.spent, has_money)) }
                        rect.room x=(number(x)) y="0" width=(number(step)) height=(number(height)) {}
                        rect.column x=(number(x + step * 0.1)) y=(number(height - tall)) width=(number(step * 0.8)) height=(number(tall)) {}
                    }
                    @if is_labelled(at) {
                        text.day x=(number(x + step / 2.0)) y=(number(height + 14.0)) text-anchor=(anchor(at, days.len())) { (&day.name[5..]) }
                    }
                }
            }
            p.small.quiet { "The " (days.len()) " days before: " (in_words(before, has_money)) }
        }
    }
}

/// Where a label is anchored, so that none leaves the drawing.
fn anchor(at: usize, count: usize) -> &'static str {
    match at {
        0 => "start",
        at if at + 1 == count => "end",
        _ => "middle",
    }
}

/// A length without a negative zero.
fn number(value: f64) -> String {
    format!("{:.1}", value + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_the_calendar() {
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day_after("2026-02-28"), "2026-03-01");
        assert_eq!(day_after("2026-12-31"), "2027-01-01");
        assert_eq!([days("7d"), days("1d"), days("12h"), days("")], [Some(7), None, None, None]);
    }
}
