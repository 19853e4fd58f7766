//! The versions of a workflow, with the results of their threads.

use std::collections::BTreeMap;

use json_cas::NodeHash;
use maud::{Markup, html};
use uwf_core::config::UwfConfig;
use uwf_core::money;
use uwf_core::outcome::SUCCEEDED;
use uwf_core::spending::SpendingTotals;
use uwf_engine::root::home::Home;

use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::workflows::WorkflowVersion;
use uwf_engine::views::list::{self, ThreadFilter, ThreadListing};

use crate::app::ServerCaches;
use crate::failure::HttpFailure;
use crate::pages::{parts, spent};

/// Most threads that are read, the newest ones. Costs of a thread come from all its steps.
const MOST_THREADS: usize = 100;

/// Completed threads of a version. Killed ones say nothing about it.
#[derive(Debug, Default)]
pub(super) struct VersionResults {
    completed: usize,
    succeeded: usize,
    /// Time of the agents of each thread whose costs are readable, in milliseconds.
    times: Vec<u64>,
    /// Cost of each thread, by currency. A thread without a known cost is left out.
    costs: BTreeMap<String, Vec<f64>>,
}

/// Results of each version, from the newest completed threads of all of them.
pub(super) fn results(
    home: &Home,
    config: &UwfConfig,
    memory: &ServerCaches,
    versions: &[WorkflowVersion],
) -> Result<BTreeMap<NodeHash, VersionResults>, HttpFailure> {
    if versions.is_empty() {
        return Ok(BTreeMap::new());
    }
    let workflows = Some(versions.iter().map(|version| version.hash).collect());
    let filter = ThreadFilter { all: true, workflows, limit: Some(MOST_THREADS), ..ThreadFilter::default() };
    let ThreadListing { rows, .. } = list::list(home, &filter)?;
    let completed: Vec<_> = rows.into_iter().filter(|row| row.state == ThreadState::Completed).collect();
    let spending = spent::by_thread(home, config, memory, completed.iter().map(|row| row.thread.clone()).collect());
    let mut results: BTreeMap<NodeHash, VersionResults> = BTreeMap::new();
    for row in &completed {
        let Some(version) = row.workflow else { continue };
        let result = results.entry(version).or_default();
        result.completed += 1;
        result.succeeded += usize::from(row.outcome.as_deref() == Some(SUCCEEDED));
        result.add(spending.get(row.thread.as_str()));
    }
    Ok(results)
}

impl VersionResults {
    fn add(&mut self, spent: Option<&SpendingTotals>) {
        let Some(spent) = spent else { return };
        self.times.push(spent.duration_ms);
        if spent.is_cost_whole() {
            for (currency, amount) in spent.by_currency() {
                self.costs.entry(currency.to_owned()).or_default().push(amount);
            }
        }
    }

    /// `9 of 12 (75 %)`.
    fn success(&self) -> String {
        format!("{} of {} ({} %)", self.succeeded, self.completed, parts::percent(self.succeeded, self.completed))
    }

    fn median_time(&self) -> Option<String> {
        median(&self.times, u64::cmp).map(parts::duration)
    }

    fn median_cost(&self) -> Option<String> {
        let costs = self
            .costs
            .iter()
            .filter_map(|(currency, amounts)| Some(money::money(median(amounts, f64::total_cmp)?, currency)));
        let costs: Vec<String> = costs.collect();
        (!costs.is_empty()).then(|| costs.join(" + "))
    }
}

/// The value in the middle; of two in the middle the lower one.
fn median<T: Copy>(values: &[T], compare: fn(&T, &T) -> std::cmp::Ordering) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(compare);
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

/// The table: newest version first, so each is compared with the next one in the list.
pub(super) fn table(
    versions: &[WorkflowVersion],
    shown: NodeHash,
    results: &BTreeMap<NodeHash, VersionResults>,
) -> Markup {
    let before = versions.iter().skip(1).map(Some).chain([None]);
    html! {
        table.keys {
            thead {
                tr {
                    th scope="col" { "Version" }
                    th scope="col" { "Since" }
                    th.number scope="col" { "Succeeded" }
                    th.number scope="col" { "Median agent time" }
                    th.number scope="col" { "Median cost" }
                    th scope="col" { "Changes" }
                }
            }
            tbody {
                @for (at, (version, before)) in versions.iter().zip(before).enumerate() {
                    tr id={ "version-" (versions.len() - at) } {
                        th scope="row" {
                            code { a href={ "/workflows/" (version.hash) } { (version.hash) } }
                            @if version.current { " " span.badge { "current" } }
                            @if version.hash == shown { " " span.badge { "this page" } }
                        }
                        td data-label="Since" {
                            @if version.timestamp == 0 { span.quiet { "unknown" } } @else { (parts::time(version.timestamp)) }
                        }
                        (figures(results.get(&version.hash)))
                        td data-label="Changes" {
                            @match before {
                                Some(before) => a href={ "/compare/" (before.hash) ".." (version.hash) } { "Compare with the previous version" },
                                None => span.quiet { "first version" },
                            }
                        }
                    }
                }
            }
        }
        p.quiet.small { "From the completed threads among the newest " (MOST_THREADS) " of all versions." }
    }
}

fn figures(result: Option<&VersionResults>) -> Markup {
    let cells = [
        ("Succeeded", result.map(VersionResults::success)),
        ("Median agent time", result.and_then(VersionResults::median_time)),
        ("Median cost", result.and_then(VersionResults::median_cost)),
    ];
    html! {
        @for (label, text) in cells {
            td.number data-label=(label) { @match text { Some(text) => (text), None => span.quiet { "–" } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_shares_are_of_completed_threads() {
        let mut result = VersionResults { completed: 3, succeeded: 1, ..VersionResults::default() };
        assert_eq!((result.median_time(), result.median_cost()), (None, None));
        result.times = vec![4000, 1000, 90_000];
        result.costs = BTreeMap::from([("USD".to_owned(), vec![0.5, 0.1])]);
        assert_eq!(result.success(), "1 of 3 (33 %)");
        assert_eq!((result.median_time().as_deref(), result.median_cost().as_deref()), (Some("4.0 s"), Some("$0.10")));
    }
}
