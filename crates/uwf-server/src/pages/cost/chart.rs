//! The columns of the cost page: one for each day, and the sum of the period before.

use std::collections::HashMap;

use maud::{Markup, html};
use uwf_core::spending::SpendingTotals;
use uwf_engine::root::ids;
use uwf_engine::views::cost::{CostBy, DayZone, days_after};

use super::everywhere::everywhere;
use crate::api::cost::CostQuery;
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::pages::parts;

/// Most columns.
const MOST: i64 = 90;

/// Most columns that have a label each. Of more, the first, the middle and the last day are named.
const LABELLED: usize = 10;

/// Height of the highest column, in pixels.
const HEIGHT: f64 = 110.0;

/// A day of the chart.
struct ChartDay {
    name: String,
    spent: SpendingTotals,
}

/// The chart of a period that ends now, with the period before in words; empty for other periods.
pub(super) async fn chart(app: &AppState, since: &str, until: &str, zone: &DayZone) -> Result<Markup, HttpFailure> {
    let Some(count) = days(since).filter(|_| until.is_empty()) else { return Ok(html! {}) };
    let today = zone.day_of(ids::now_ms());
    let days = (0..2 * count).rev().filter_map(|ago| days_after(&today, -ago)).collect::<Vec<String>>();
    let query = CostQuery {
        since: days.first().cloned(),
        by: Some(CostBy::Day),
        time_zone: Some(zone.name().to_owned()),
        ..CostQuery::default()
    };
    let lines = everywhere(app, query).await?.lines;
    let mut spent: HashMap<String, SpendingTotals> =
        lines.into_iter().filter_map(|line| Some((line.row.name?, line.row.spent))).collect();
    let mut days: Vec<ChartDay> = days
        .into_iter()
        .map(|name| {
            let spent = spent.remove(&name).unwrap_or_default();
            ChartDay { name, spent }
        })
        .collect();
    let shown = days.split_off(days.len() / 2);
    let mut before = SpendingTotals::default();
    days.into_iter().for_each(|day| before.merge(day.spent));
    Ok(drawn(&shown, &before))
}

/// Number of days of a period that has a chart.
fn days(since: &str) -> Option<i64> {
    since.strip_suffix('d')?.parse().ok().filter(|days| (2..=MOST).contains(days))
}

/// The day after a day.
pub(super) fn day_after(name: &str) -> String {
    days_after(name, 1).unwrap_or_else(|| name.to_owned())
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
    let what = if has_money { "Cost per day" } else { "Tokens per day" };
    let is_labelled = days.len() <= LABELLED;
    html! {
        figure.chart {
            figcaption {
                b { (what) }
                @if let Some(today) = days.last() { " · " span.quiet { "today so far: " (in_words(&today.spent, has_money)) } }
                " · " span.quiet { "the " (days.len()) " days before: " (in_words(before, has_money)) }
            }
            ol.columns aria-label=(what) {
                @for (at, day) in days.iter().enumerate() {
                    @let is_today = at + 1 == days.len();
                    @let tall = amount(&day.spent, has_money) / most * HEIGHT;
                    @let short = in_words(&day.spent, has_money);
                    @let words = format!("{short}{}", if is_today { " so far" } else { "" });
                    li {
                        a href={"/cost?by=thread&since=" (day.name) "&until=" (day_after(&day.name))} title={ (day.name) ": " (words) } {
                            @if is_labelled { span.amount { @if tall > 0.0 { (short.trim_end_matches(" tokens")) } } }
                            @else { span.hidden { (day.name) ": " (words) } }
                            // The height of the drawing, so that the amount is on top of the column.
                            svg height=(number(tall)) viewBox="0 0 10 10" preserveAspectRatio="none" aria-hidden="true" { rect.column.today[is_today] width="10" height="10" {} }
                            @if is_labelled { span.day { @if is_today { "today" } @else { (&day.name[5..]) } } }
                        }
                    }
                }
            }
            @if !is_labelled {
                p.days aria-hidden="true" {
                    @for day in [days.first(), days.get(days.len() / 2)].into_iter().flatten() { span { (&day.name[5..]) } }
                    span { "today" }
                }
            }
        }
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
    fn only_periods_of_days_have_a_chart() {
        assert_eq!([days("7d"), days("1d"), days("12h"), days("")], [Some(7), None, None, None]);
    }
}
