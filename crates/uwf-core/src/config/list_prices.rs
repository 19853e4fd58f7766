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

/// Hosts of the APIs whose prices the table has. Elsewhere, a model of the same name may cost nothing, or something else.
const HOSTS: [(&str, &str); 9] = [
    ("api.anthropic.com", "anthropic"),
    ("api.openai.com", "openai"),
    ("generativelanguage.googleapis.com", "google"),
    ("api.x.ai", "xai"),
    ("api.deepseek.com", "deepseek"),
    ("api.moonshot.ai", "moonshot"),
    ("api.z.ai", "zai"),
    ("api.mistral.ai", "mistral"),
    ("dashscope-intl.aliyuncs.com", "dashscope"),
];

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

    /// The price of a model at the API with this URL; `None` for other APIs, such as a server on this machine.
    pub(crate) fn price_at(&self, base_url: &str, name: &str) -> Option<&ModelPrice> {
        let host = base_url.split_once("://")?.1.split(['/', ':']).next()?;
        let (_, provider) = HOSTS.iter().find(|(known, _)| host.eq_ignore_ascii_case(known))?;
        // Google's API writes `models/NAME`.
        self.providers.get(*provider)?.get(name.strip_prefix("models/").unwrap_or(name))
    }

    /// The price of a model that an agent's program uses, by its name at the provider, with or without the provider: `openai/gpt-5`.
    pub(crate) fn price(&self, name: &str) -> Option<&ModelPrice> {
        let Some((provider, model)) = name.split_once('/') else {
            return self.providers.values().find_map(|models| models.get(name));
        };
        let provider = if provider == "gemini" { "google" } else { provider };
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
        assert_eq!((table.price("openai/claude-sonnet-4-5"), table.price("gpt-none")), (None, None));
    }

    #[test]
    fn list_price_needs_api_of_provider() {
        let table = ListPrices::shipped();
        let google = "https://generativelanguage.googleapis.com/v1beta/openai";
        assert_eq!(table.price_at(google, "models/gemini-2.5-pro"), table.price("google/gemini-2.5-pro"));
        assert!(table.price_at("https://API.openai.com:443/v1", "gpt-4.1").is_some());
        let others = ["http://localhost:11434/v1", "https://api.openai.com.example/v1", "https://api.x.ai", "here"];
        assert_eq!(others.map(|url| table.price_at(url, "gpt-4.1")), [None; 4]);
    }

    #[test]
    fn each_table_has_its_host() {
        let named: Vec<&str> = HOSTS.iter().map(|(_, provider)| *provider).collect();
        let mut known: Vec<&str> = ListPrices::shipped().providers.keys().map(String::as_str).collect();
        known.sort_by_key(|provider| named.iter().position(|name| name == provider));
        assert_eq!(known, named);
    }
}
