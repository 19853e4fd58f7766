//! The list prices that ship with uwf, for models without a price in the configuration.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::prices::ModelPrice;

/// Made by scripts/update-prices.py.
static LIST_PRICES: LazyLock<ListPrices> = LazyLock::new(|| {
    let table = serde_json::from_str(include_str!("list-prices.json"));
    table.unwrap_or_else(|error| unreachable!("a test reads the table: {error}"))
});

/// Prices that providers publish, in US dollars.
#[derive(Debug, Deserialize)]
pub struct ListPrices {
    /// The day they applied.
    pub date: String,
    /// Provider → its name of a model → the price.
    providers: BTreeMap<String, BTreeMap<String, ModelPrice>>,
}

impl ListPrices {
    /// The table.
    #[must_use]
    pub fn shipped() -> &'static ListPrices {
        &LIST_PRICES
    }

    /// The price of a model, by its name at the provider, with or without the provider: `openai/gpt-5`.
    pub(crate) fn price(&self, name: &str) -> Option<&ModelPrice> {
        let Some((provider, model)) = name.split_once('/') else {
            return self.providers.values().find_map(|models| models.get(name));
        };
        // Google's API writes `models/NAME`.
        let provider = if matches!(provider, "gemini" | "models") { "google" } else { provider };
        self.providers.get(provider)?.get(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::is_date;

    #[test]
    fn shipped_table_prices_each_model_once() {
        let table = ListPrices::shipped();
        assert!(is_date(&table.date), "{}", table.date);
        let names: Vec<&String> = table.providers.values().flat_map(BTreeMap::keys).collect();
        let unique: std::collections::BTreeSet<&String> = names.iter().copied().collect();
        assert_eq!(unique.len(), names.len(), "a name without its provider has one price");
        let prices = || table.providers.values().flat_map(BTreeMap::values);
        assert!(prices().all(|price| price.input > 0.0 && price.output > 0.0), "unknown is never 0");
    }

    #[test]
    fn provider_before_a_name_must_be_its_own() {
        let table = ListPrices::shipped();
        let sonnet = table.price("claude-sonnet-4-5");
        assert_eq!(sonnet.map(|price| (price.input, price.output, price.cached)), Some((3.0, 15.0, Some(0.3))));
        assert_eq!(table.price("anthropic/claude-sonnet-4-5"), sonnet);
        assert!(table.price("gemini/gemini-2.5-pro").is_some());
        assert_eq!(table.price("models/gemini-2.5-pro"), table.price("google/gemini-2.5-pro"));
        assert_eq!((table.price("openai/claude-sonnet-4-5"), table.price("gpt-none")), (None, None));
    }
}
