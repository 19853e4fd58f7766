//! Costs of machines, for the cost page of their gateway.

use serde::Deserialize;
use uwf_core::spending::SpendingTotals;
use uwf_engine::views::cost::CostBy;

use crate::url::encoded;

/// The costs that a machine reports.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct MachineCosts {
    /// Its rows.
    pub(crate) rows: Vec<MachineCostRow>,
    /// Its total.
    pub(crate) total: SpendingTotals,
}

/// A row of a machine. Its texts may be anything.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct MachineCostRow {
    /// The thread, role, agent, model, workflow, label or day.
    pub(crate) name: Option<String>,
    /// For a thread: the name of its workflow.
    pub(crate) workflow: Option<String>,
    /// Its costs.
    #[serde(flatten)]
    pub(crate) spent: SpendingTotals,
}

/// Path and query of the report. Machines have the days of the page.
pub(super) fn path((since, until): (&str, &str), zone: &str, by: CostBy) -> String {
    let by = serde_json::to_value(by).unwrap_or_default();
    let by = by.as_str().unwrap_or_default();
    format!("/api/cost?since={}&until={}&by={by}&timeZone={}", encoded(since), encoded(until), encoded(zone))
}
