//! Table cells for tokens and money. Unknown amounts are marked, never shown as zero.

use std::collections::HashMap;

use maud::{Markup, html};
use uwf_core::config::UwfConfig;
use uwf_core::spending::SpendingTotals;
use uwf_core::thread::ThreadId;
use uwf_engine::root::home::Home;
use uwf_engine::views::cost::{self, CostBy, CostRequest};

use super::parts;
use crate::app::ServerCaches;

const AT_LEAST: &str = "At least: some usage is unknown";

/// Spending of each of these threads; empty if one of them does not exist any more.
pub(super) fn by_thread(
    home: &Home,
    config: &UwfConfig,
    memory: &ServerCaches,
    threads: Vec<ThreadId>,
) -> HashMap<String, SpendingTotals> {
    if threads.is_empty() {
        return HashMap::new();
    }
    let request = CostRequest { threads, by: CostBy::Thread, ..CostRequest::default() };
    let costs = memory.with_costs(|memory| cost::cost_again(home, config, &request, memory));
    let rows = costs.map(|costs| costs.rows).unwrap_or_default();
    rows.into_iter().filter_map(|row| Some((row.name?, row.spent))).collect()
}

/// Tokens read and written; "≥" if some were not counted.
pub(super) fn tokens(spent: &SpendingTotals) -> Markup {
    amount(parts::tokens(&spent.tokens), !spent.are_tokens_whole())
}

/// Tokens of one kind.
pub(super) fn some_tokens(sum: Option<u64>, is_whole: bool) -> Markup {
    amount(sum.map(parts::count), !is_whole)
}

/// Money; "≥" if the cost of some runs is not known.
pub(super) fn money(spent: &SpendingTotals) -> Markup {
    let unknown = format!("The cost of {} is unknown", parts::many(spent.cost_unknown + spent.running, "run"));
    html! {
        @match (spent.known_cost(), !spent.is_cost_whole()) {
            (Some(cost), true) => span title=(unknown) { (cost) },
            (None, true) => span.quiet title=(unknown) { (spent.cost_text()) },
            (_, false) => (spent.cost_text()),
        }
    }
}

fn amount(known: Option<String>, lacks_some: bool) -> Markup {
    html! {
        @match (known, lacks_some) {
            (Some(amount), false) => (amount),
            (Some(amount), true) => span title=(AT_LEAST) { "≥ " (amount) },
            (None, true) => span.quiet { "unknown" },
            (None, false) => "0",
        }
    }
}
