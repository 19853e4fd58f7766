//! Sums over runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{AttemptUsage, ExtractionUsage, ModelSpending, MoneySource, PriceQuote, RunPrices};
use crate::money;
use crate::node::TokenCounts;
use crate::number;

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
    #[serde(default, skip_serializing_if = "number::is_zero")]
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

    /// The cost as people read it: the known cost; `$0.00` if nothing costs, or `≥ $0.00` if that is known of some runs only; `unknown` if no
    /// cost is known.
    #[must_use]
    pub fn cost_text(&self) -> String {
        let are_all_unknown = self.cost_unknown >= self.steps + self.failed_attempts;
        self.known_cost().unwrap_or_else(|| match (self.is_cost_whole(), are_all_unknown) {
            (true, _) => money::dollars(0.0),
            (false, false) => format!("≥ {}", money::dollars(0.0)),
            (false, true) => "unknown".to_owned(),
        })
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::ModelPrice;

    const PRICE: ModelPrice = ModelPrice { input: 1.0, output: 4.0, cached: None, cache_write: None, reasoning: None };

    fn counted(input: u64, output: u64, cost: Option<f64>) -> AttemptUsage {
        let tokens = TokenCounts { input: Some(input), output: Some(output), cost, ..TokenCounts::default() };
        AttemptUsage { tokens: Some(tokens), duration_ms: 1500, ..AttemptUsage::default() }
    }

    fn sum<'p>(runs: impl IntoIterator<Item = (AttemptUsage, Option<PriceQuote<'p>>)>) -> SpendingTotals {
        let mut spent = SpendingTotals::default();
        runs.into_iter().for_each(|(run, agent)| spent.add(&run, RunPrices { agent, reading: None }));
        spent
    }

    #[test]
    fn a_reading_has_its_own_price() {
        let reading = ExtractionUsage { tokens: counted(1_000_000, 0, None).tokens, is_partial: false };
        let run = AttemptUsage { reading: Some(reading), ..counted(10, 10, Some(0.5)) };
        let priced = RunPrices {
            agent: None,
            reading: Some(PriceQuote { price: &PRICE, currency: "USD", source: MoneySource::Prices }),
        };
        let mut spent = SpendingTotals::default();
        spent.add(&run, priced);
        assert_eq!((spent.steps, spent.cost_unknown, spent.by_currency()), (1, 0, BTreeMap::from([("USD", 1.5)])));
        assert_eq!((run.amount(priced).cost, run.amount(priced).tokens), (1.5, 1_000_020));
        let mut spent = SpendingTotals::default();
        spent.add(&run, RunPrices::default());
        assert_eq!((spent.steps, spent.cost_unknown, spent.by_currency()), (1, 1, BTreeMap::from([("USD", 0.5)])));
        let mut alone = SpendingTotals::default();
        spent.add(&AttemptUsage { is_free: true, ..run.clone() }, RunPrices::default());
        alone.add_reading(run.reading.as_ref().unwrap(), priced.reading);
        assert_eq!((spent.cost_unknown, alone.steps, alone.cost_unknown), (2, 0, 0), "a free agent's reading costs");
    }

    #[test]
    fn cost_uses_provider_figure_before_prices() {
        let price = Some(PriceQuote { price: &PRICE, currency: "EUR", source: MoneySource::Prices });
        let spent = sum([
            (counted(1_000_000, 0, Some(0.25)), price),
            (counted(1_000_000, 500_000, None), price),
            (counted(10, 10, Some(0.5)), None),
        ]);
        assert_eq!(
            serde_json::to_value(&spent).unwrap(),
            json!({
                "steps": 3,
                "failedAttempts": 0,
                "tokens": { "input": 2_000_010, "cached": null, "output": 500_010, "reasoning": null },
                "tokensUnknown": 0,
                "cost": [
                    { "currency": "EUR", "amount": 3.0, "from": "prices" },
                    { "currency": "USD", "amount": 0.75, "from": "provider" },
                ],
                "costUnknown": 0,
                "durationMs": 4500,
            })
        );
        assert_eq!(spent.by_currency(), BTreeMap::from([("EUR", 3.0), ("USD", 0.75)]));
    }

    #[test]
    fn cost_text_marks_unknown_parts() {
        let text = |runs: &[Option<f64>]| sum(runs.iter().map(|cost| (counted(1, 1, *cost), None))).cost_text();
        assert_eq!(
            [text(&[]), text(&[None]), text(&[Some(0.5)]), text(&[Some(0.5), None])],
            ["$0.00", "unknown", "$0.50", "≥ $0.50"]
        );
        let free = AttemptUsage { is_free: true, ..AttemptUsage::default() };
        let unknown = (counted(1, 1, None), None);
        assert_eq!(
            [sum([(free.clone(), None)]), sum([(free, None), unknown])].map(|all| all.cost_text()),
            ["$0.00", "≥ $0.00"]
        );
    }

    #[test]
    fn parts_sum_to_whole() {
        let price = Some(PriceQuote { price: &PRICE, currency: "EUR", source: MoneySource::Prices });
        let runs =
            || [(counted(3, 4, Some(0.5)), price), (counted(5, 6, None), price), (AttemptUsage::default(), None)];
        let mut parts = SpendingTotals::default();
        runs().into_iter().for_each(|run| parts.merge(sum([run])));
        assert_eq!(parts, sum(runs()));
    }

    #[test]
    fn unknown_figures_count_as_unknown_not_zero() {
        let price = Some(PriceQuote { price: &PRICE, currency: "USD", source: MoneySource::Prices });
        let failed = AttemptUsage { has_failed: true, ..AttemptUsage::default() };
        let partial = AttemptUsage { is_partial: true, ..counted(5, 5, None) };
        let half = AttemptUsage {
            tokens: Some(TokenCounts { input: Some(7), ..TokenCounts::default() }),
            ..AttemptUsage::default()
        };
        let nonsense = counted(1, 1, Some(f64::NAN));
        let spent =
            sum([(counted(3, 4, None), None), (failed, price), (partial, price), (half, price), (nonsense, None)]);
        assert_eq!((spent.steps, spent.failed_attempts), (4, 1));
        assert_eq!(spent.tokens, TokenSums { input: Some(16), output: Some(10), ..TokenSums::default() });
        assert_eq!((spent.tokens_unknown, spent.cost_unknown), (3, 5));
        assert_eq!(spent.by_currency(), BTreeMap::from([("USD", 25.0 / 1e6)]), "what is known of the partial one");
    }

    #[test]
    fn steps_without_model_cost_known_zero() {
        let spent = sum([(AttemptUsage { is_free: true, duration_ms: 9, ..AttemptUsage::default() }, None)]);
        assert_eq!(spent, SpendingTotals { steps: 1, duration_ms: 9, ..SpendingTotals::default() });
    }

    #[test]
    fn a_whole_cost_without_every_count_is_known() {
        let tokens = Some(TokenCounts { cost: Some(0.1), ..TokenCounts::default() });
        let spent = sum([(AttemptUsage { tokens, ..AttemptUsage::default() }, None)]);
        assert_eq!((spent.tokens_unknown, spent.cost_unknown), (1, 0));
    }
}
