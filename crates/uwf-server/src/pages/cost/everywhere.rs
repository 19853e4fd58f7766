//! Costs of this server's threads, and on a gateway also of all machines.

use std::collections::HashMap;

use maud::{Markup, html};
use uwf_core::number::MAX_MONEY;
use uwf_core::spending::{SpendingTotals, TokenSums};
use uwf_engine::views::cost::{CostBy, CostReport, CostRow};

use super::cells;
use crate::api::cost::{CostQuery, costs};
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::gateway::costs::MachineCosts;
use crate::gateway::lists;
use crate::machines::name::MachineName;

/// Largest number of a machine: thousands of them can be added up.
const MOST: u64 = 1 << 50;

/// A row, and the machine that it is of.
pub(super) struct CostLine {
    pub(super) row: CostRow,
    /// `None` for rows of this server, and for sums over machines.
    pub(super) machine: Option<MachineName>,
}

/// Costs of all machines together.
pub(super) struct CostsEverywhere {
    /// This server's report; its total includes all machines.
    pub(super) report: CostReport,
    /// The rows; rows with the same name are one, but for threads.
    pub(super) lines: Vec<CostLine>,
    /// The totals of this server and of each machine; `None` if it did not answer. Empty without machines.
    machines: Vec<(Option<MachineName>, Option<SpendingTotals>)>,
}

/// Reads the costs here, and asks all machines of a gateway at once.
///
/// # Errors
/// 400 for an invalid period; failures to read the threads or the tokens of machines.
pub(super) async fn everywhere(app: &AppState, query: CostQuery) -> Result<CostsEverywhere, HttpFailure> {
    let (own, by) = (costs(app, None, query.clone()), query.by.unwrap_or_default());
    let zone = query.time_zone.unwrap_or_default();
    let (since, until) = (query.since.unwrap_or_default(), query.until.unwrap_or_default());
    let of_machines = async {
        match app.gateway() {
            Some(gateway) => lists::costs(gateway, (&since, &until), &zone, by).await,
            None => Ok(Vec::new()),
        }
    };
    let (mut report, machines) = tokio::try_join!(own, of_machines)?;
    let rows = std::mem::take(&mut report.rows);
    let lines = rows.into_iter().map(|row| CostLine { row, machine: None }).collect();
    let mut all = CostsEverywhere { report, lines, machines: Vec::new() };
    if !machines.is_empty() {
        all.machines.push((None, Some(all.report.total.clone())));
    }
    for (name, costs) in machines {
        let total = costs.as_ref().map(|costs| bounded(costs.total.clone()));
        costs.into_iter().for_each(|costs| all.add(&name, costs));
        all.machines.push((Some(name), total));
    }
    Ok(all)
}

/// Numbers of a machine, which may send any, so that sums stay numbers.
fn bounded(spent: SpendingTotals) -> SpendingTotals {
    let SpendingTotals { steps, failed_attempts, running, tokens, tokens_unknown, cost, cost_unknown, duration_ms } =
        spent;
    let (count, whole) = (|count: usize| count.min(MOST as usize), |number: Option<u64>| number.map(|it| it.min(MOST)));
    SpendingTotals {
        steps: count(steps),
        failed_attempts: count(failed_attempts),
        running: count(running),
        tokens: TokenSums {
            input: whole(tokens.input),
            cached: whole(tokens.cached),
            output: whole(tokens.output),
            reasoning: whole(tokens.reasoning),
        },
        tokens_unknown: count(tokens_unknown),
        cost: cost.into_iter().map(|(key, amount)| (key, amount.clamp(0.0, MAX_MONEY))).collect(),
        cost_unknown: count(cost_unknown),
        duration_ms: duration_ms.min(MOST),
    }
}

impl CostsEverywhere {
    fn add(&mut self, machine: &MachineName, costs: MachineCosts) {
        self.report.total.merge(bounded(costs.total));
        let is_of_thread = self.report.by == CostBy::Thread;
        let known = self.lines.iter().enumerate().map(|(at, line)| (line.row.name.clone(), at));
        let known: HashMap<Option<String>, usize> = known.collect();
        for row in costs.rows {
            match known.get(&row.name).filter(|_| !is_of_thread) {
                Some(at) => self.lines[*at].row.spent.merge(bounded(row.spent)),
                None => self.lines.push(CostLine {
                    row: CostRow { name: row.name, workflow: row.workflow, spent: bounded(row.spent) },
                    machine: is_of_thread.then(|| machine.clone()),
                }),
            }
        }
        if self.report.by == CostBy::Day {
            self.lines.sort_by(|a, b| a.row.name.cmp(&b.row.name));
        }
    }

    /// Whether rows can be of several machines.
    pub(super) fn has_machines(&self) -> bool {
        !self.machines.is_empty()
    }

    /// A table of the machines; empty without any.
    pub(super) fn by_machine(&self, query: &str) -> Markup {
        html! {
            @if self.has_machines() {
                table.spent {
                    caption { "Machines" }
                    thead {
                        tr {
                            th scope="col" { "Machine" }
                            @for heading in ["Steps", "Failed", "Input tokens", "Output tokens", "Agent time", "Cost"] { th.number scope="col" { (heading) } }
                        }
                    }
                    tbody {
                        @for (name, total) in &self.machines {
                            tr {
                                th scope="row" {
                                    @match name {
                                        Some(name) => a href={ (name.prefix()) "/cost" (query) } { (name) },
                                        None => "This gateway",
                                    }
                                }
                                @match total {
                                    Some(total) => (cells(total)),
                                    None => td colspan="6" { "did not answer, so its costs are missing" },
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
