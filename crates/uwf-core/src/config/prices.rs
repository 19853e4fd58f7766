//! `prices`: prices of models, for providers that don't report costs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::node::TokenCounts;

/// The default currency of prices, and the currency of providers' reports.
pub const DEFAULT_CURRENCY: &str = "USD";

/// Number of tokens that a price is for.
const PER: f64 = 1_000_000.0;

/// A table of prices on a certain day.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceTable {
    /// `prices.date`: the day they applied, as written: `2026-11-01`.
    pub date: String,
    /// `prices.currency`: three capital letters.
    pub currency: String,
    /// `prices.models`: a model's alias, or its provider's name for it → its price.
    pub models: BTreeMap<String, ModelPrice>,
}

/// Prices of a million tokens of a model.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "price")]
pub struct ModelPrice {
    /// Tokens read.
    #[schemars(range(min = 0))]
    pub input: f64,
    /// Tokens written.
    #[schemars(range(min = 0))]
    pub output: f64,
    /// The part of those read that came from a cache; as `input` when it is not said.
    #[schemars(range(min = 0))]
    pub cached: Option<f64>,
    /// The part of those read that was written to a cache; as `input` when it is not said.
    #[serde(rename = "cacheWrite")]
    #[schemars(range(min = 0))]
    pub cache_write: Option<f64>,
    /// The part of those written that was reasoning; as `output` when it is not said.
    #[schemars(range(min = 0))]
    pub reasoning: Option<f64>,
}

impl ModelPrice {
    /// The cost of these tokens; `None` if they were not counted.
    #[must_use]
    pub(crate) fn cost_of_tokens(&self, tokens: &TokenCounts) -> Option<f64> {
        // The agent reports these numbers, so a part may be larger than the whole.
        let (input, output) = (tokens.input?, tokens.output?);
        let cached = tokens.cached.unwrap_or(0).min(input);
        let reasoning = tokens.reasoning.unwrap_or(0).min(output);
        let cache_write = tokens.cache_write.unwrap_or(0).min(input - cached);
        let plain = input - cached - cache_write;
        let read = plain as f64 * self.input
            + cached as f64 * self.cached.unwrap_or(self.input)
            + cache_write as f64 * self.cache_write.unwrap_or(self.input);
        let written =
            (output - reasoning) as f64 * self.output + reasoning as f64 * self.reasoning.unwrap_or(self.output);
        Some((read + written) / PER)
    }
}

/// Whether a text is a day like `2026-11-01`.
#[must_use]
pub fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let number = |text: &str, digits: usize, most: u32| {
        let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number && text.parse().is_ok_and(|number: u32| (1..=most).contains(&number))
    };
    number(year, 4, 9999) && number(month, 2, 12) && number(day, 2, 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: ModelPrice =
        ModelPrice { input: 2.0, output: 10.0, cached: Some(0.5), cache_write: None, reasoning: None };

    fn tokens(input: u64, output: u64, cached: Option<u64>, reasoning: Option<u64>) -> TokenCounts {
        TokenCounts { input: Some(input), output: Some(output), cached, reasoning, ..TokenCounts::default() }
    }

    #[test]
    fn cached_and_reasoning_tokens_are_included_in_totals() {
        for (price, tokens, cost) in [
            (PRICE, tokens(1_000_000, 100_000, None, None), 3.0),
            (PRICE, tokens(1_000_000, 100_000, Some(400_000), Some(50_000)), 2.4),
            (ModelPrice { reasoning: Some(20.0), ..PRICE }, tokens(0, 100_000, None, Some(50_000)), 1.5),
            (ModelPrice { cached: None, ..PRICE }, tokens(1_000_000, 0, Some(1_000_000), None), 2.0),
            (PRICE, tokens(10, 0, Some(20), Some(5)), 0.000_005),
            (PRICE, tokens(0, 0, None, None), 0.0),
        ] {
            let got = price.cost_of_tokens(&tokens).unwrap();
            assert!((got - cost).abs() < 1e-12, "{tokens:?}: {got}, not {cost}");
        }
    }

    #[test]
    fn cache_writes_have_their_own_price() {
        let written =
            |cache_write| TokenCounts { cache_write: Some(cache_write), ..tokens(1_000_000, 0, Some(400_000), None) };
        let priced = ModelPrice { cache_write: Some(2.5), ..PRICE };
        for (price, tokens, cost) in [
            (priced, written(200_000), 0.2 + 0.5 + 0.8),
            (priced, written(0), 0.2 + 1.2),
            (PRICE, written(200_000), 0.2 + 1.2),
            (priced, written(9_000_000), 0.2 + 1.5),
        ] {
            let got = price.cost_of_tokens(&tokens).unwrap();
            assert!((got - cost).abs() < 1e-12, "{tokens:?}: {got}, not {cost}");
        }
    }

    #[test]
    fn tokens_that_were_not_counted_have_no_cost() {
        assert_eq!(PRICE.cost_of_tokens(&TokenCounts { input: Some(1), ..TokenCounts::default() }), None);
        assert_eq!(PRICE.cost_of_tokens(&TokenCounts { output: Some(1), ..TokenCounts::default() }), None);
    }

    #[test]
    fn a_day_has_one_form() {
        assert!(is_date("2026-11-01"));
        for text in ["2026-11", "2026-13-01", "2026-00-10", "2026-1-1", "01.11.2026", "2026-11-01T00", "+026-11-01", ""]
        {
            assert!(!is_date(text), "{text}");
        }
    }
}
