//! Sums over runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{AttemptUsage, ExtractionUsage, ModelSpending, MoneySource, PriceQuote, RunPrices};
use crate::money;
use crate::node::TokenCounts;

/// A sum of money, as in reports.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Money")]
struct MoneyAmount<'c> {
    currency: &'c str,
    amount: f64,
    from: MoneySource,
}

/// The total of some runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpendingTotals {
    /// Runs that became steps.
    pub steps: usize,
    /// Runs that failed.
    pub failed_attempts: usize,
    /// Runs of models in progress. The sums have the usage that is known so far, so they are minimums.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub running: usize,
    /// Known tokens.
    pub tokens: TokenSums,
    /// Ended runs with unknown or incomplete tokens.
    pub tokens_unknown: usize,
    /// Known money: a sum for each currency and source.
    #[serde(serialize_with = "amounts", deserialize_with = "sums_of_amounts")]
    #[schemars(with = "Vec<MoneyAmount<'_>>")]
    pub cost: BTreeMap<(String, MoneySource), f64>,
    /// Ended runs with unknown or incomplete cost.
    pub cost_unknown: usize,
    /// Milliseconds that agents worked.
    pub duration_ms: u64,
}

/// Token sums of several runs; a kind that no run reports is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenSums {
    /// Input tokens.
    pub input: Option<u64>,
    /// Input tokens that came from a cache.
    pub cached: Option<u64>,
    /// Output tokens.
    pub output: Option<u64>,
    /// Output tokens for reasoning.
    pub reasoning: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn amounts<S: serde::Serializer>(
    cost: &BTreeMap<(String, MoneySource), f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let amounts = cost.iter().map(|((currency, from), amount)| MoneyAmount {
        currency,
        amount: money::rounded(*amount),
        from: *from,
    });
    serializer.collect_seq(amounts)
}

fn sums_of_amounts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<(String, MoneySource), f64>, D::Error> {
    #[derive(Deserialize)]
    struct ReportedMoney {
        currency: String,
        amount: f64,
        from: MoneySource,
    }
    let amounts = Vec::<ReportedMoney>::deserialize(deserializer)?;
    Ok(amounts.into_iter().map(|ReportedMoney { currency, amount, from }| ((currency, from), amount)).collect())
}

impl SpendingTotals {
    /// Adds a run. The prices apply if the provider has not reported the cost.
    pub fn add(&mut self, run: &AttemptUsage, prices: RunPrices<'_>) {
        match (run.is_running, run.has_failed) {
            (true, _) => self.running += usize::from(!run.is_free),
            (false, true) => self.failed_attempts += 1,
            (false, false) => self.steps += 1,
        }
        self.duration_ms = self.duration_ms.saturating_add(run.duration_ms);
        let (tokens_unknown, cost_unknown) = (self.tokens_unknown, self.cost_unknown);
        self.add_parts(run.parts(prices));
        if run.is_running {
            (self.tokens_unknown, self.cost_unknown) = (tokens_unknown, cost_unknown);
        }
    }

    /// Adds a reading without the run whose answer it read.
    pub fn add_reading(&mut self, reading: &ExtractionUsage, price: Option<PriceQuote<'_>>) {
        self.add_parts([reading.part(price)].into_iter());
    }

    /// Adds the parts of one run. The run counts as unknown once, even if several parts are unknown.
    fn add_parts<'r>(&mut self, parts: impl Iterator<Item = ModelSpending<'r>>) {
        let (mut is_counted, mut is_cost_known) = (true, true);
        for part in parts {
            self.tokens.add(part.tokens);
            is_counted &= part.is_counted();
            is_cost_known &= part.is_cost_known();
            if let Some((currency, from, amount)) = part.money() {
                *self.cost.entry((currency.to_owned(), from)).or_default() += amount;
            }
        }
        self.tokens_unknown += usize::from(!is_counted);
        self.cost_unknown += usize::from(!is_cost_known);
    }

    /// Adds a run without any known numbers.
    pub fn add_unknown(&mut self) {
        self.tokens_unknown += 1;
        self.cost_unknown += 1;
    }

    /// Adds the total of other runs.
    pub fn merge(&mut self, other: SpendingTotals) {
        let SpendingTotals { steps, failed_attempts, running, tokens, tokens_unknown, cost, cost_unknown, duration_ms } =
            other;
        self.running = self.running.saturating_add(running);
        self.steps = self.steps.saturating_add(steps);
        self.failed_attempts = self.failed_attempts.saturating_add(failed_attempts);
        self.tokens.merge(tokens);
        self.tokens_unknown = self.tokens_unknown.saturating_add(tokens_unknown);
        self.cost_unknown = self.cost_unknown.saturating_add(cost_unknown);
        self.duration_ms = self.duration_ms.saturating_add(duration_ms);
        for (key, amount) in cost {
            *self.cost.entry(key).or_default() += amount;
        }
    }

    /// Whether the tokens of all runs are known and no run is in progress.
    #[must_use]
    pub fn are_tokens_whole(&self) -> bool {
        self.tokens_unknown == 0 && self.running == 0
    }

    /// Whether the cost of all runs is known and no run is in progress.
    #[must_use]
    pub fn is_cost_whole(&self) -> bool {
        self.cost_unknown == 0 && self.running == 0
    }

    /// The known cost as people read it: `$0.50`, or `≥ $0.50 + 3.10 EUR` if the cost of some runs is unknown. `None` if no amount is known.
    #[must_use]
    pub fn known_cost(&self) -> Option<String> {
        let sums = self.by_currency().into_iter().map(|(currency, amount)| money::money(amount, currency));
        let sums = sums.collect::<Vec<_>>().join(" + ");
        let least = if self.is_cost_whole() { "" } else { "≥ " };
        (!sums.is_empty()).then(|| format!("{least}{sums}"))
    }

    /// The cost as people read it: the known cost, `unknown`, or `$0.00` if nothing costs.
    #[must_use]
    pub fn cost_text(&self) -> String {
        let without = || if self.is_cost_whole() { money::dollars(0.0) } else { "unknown".to_owned() };
        self.known_cost().unwrap_or_else(without)
    }

    /// The sum of each currency, over all sources.
    #[must_use]
    pub fn by_currency(&self) -> BTreeMap<&str, f64> {
        let mut sums = BTreeMap::new();
        for ((currency, _), amount) in &self.cost {
            *sums.entry(currency.as_str()).or_default() += amount;
        }
        sums
    }
}

impl TokenSums {
    /// Known input and output tokens.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.input.unwrap_or(0).saturating_add(self.output.unwrap_or(0))
    }

    fn add(&mut self, tokens: Option<&TokenCounts>) {
        let Some(tokens) = tokens else { return };
        let TokenCounts { input, cached, output, reasoning, .. } = *tokens;
        self.merge(TokenSums { input, cached, output, reasoning });
    }

    fn merge(&mut self, more: TokenSums) {
        let sums = [&mut self.input, &mut self.cached, &mut self.output, &mut self.reasoning];
        for (sum, more) in sums.into_iter().zip([more.input, more.cached, more.output, more.reasoning]) {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        }
    }
}
