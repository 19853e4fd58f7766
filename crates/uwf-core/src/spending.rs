//! Spending of threads: sums of tokens, money and time over runs of agents.
//!
//! Unknown numbers never count as 0: each sum also says how many runs lack the number.

mod totals;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{DEFAULT_CURRENCY, EXTRACT, ListPrices, ModelConfig, ModelPrice, OutputMode, UwfConfig};
use crate::model_option;
use crate::node::{self, TokenCounts};
use crate::number;
use crate::usage;
use crate::workflow::GROUP_AGENT;

pub use self::totals::{SpendingTotals, TokenSums};

/// The program that asks a person.
const PERSON: &str = "uwf-human";

/// Built-in agents that take no model.
const WITHOUT_MODEL: [&str; 6] = ["uwf-docx-diff", PERSON, "uwf-mock", "uwf-office", GROUP_AGENT, "uwf-workflow"];

/// Built-in agents that use the default model unless they get another one.
const WITH_DEFAULT_MODEL: [&str; 2] = ["uwf-llm", "uwf-react"];

/// One run of an agent: a step, or a failed attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptUsage {
    /// Tokens, `None` if they were not counted.
    pub tokens: Option<TokenCounts>,
    /// Whether some of its turns were not counted, so that `tokens` is a lower bound.
    pub is_partial: bool,
    /// Milliseconds it took.
    pub duration_ms: u64,
    /// Whether it failed.
    pub has_failed: bool,
    /// Whether it is in progress: neither a step nor a failed attempt yet.
    pub is_running: bool,
    /// Whether it takes no model: a person, a script. Then its cost is known to be 0.
    pub is_free: bool,
    /// Usage of the model that read its answer, if one did. It isn't part of `tokens`, because that model has its own price.
    pub reading: Option<ExtractionUsage>,
}

/// Usage of a model that read the answer of an agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtractionUsage {
    /// Tokens, `None` if they were not counted.
    pub tokens: Option<TokenCounts>,
    /// Whether `tokens` is incomplete.
    pub is_partial: bool,
}

/// The prices of the models that a run used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunPrices<'p> {
    /// Price of the agent's model.
    pub agent: Option<PriceQuote<'p>>,
    /// Price of the model that read the answer.
    pub reading: Option<PriceQuote<'p>>,
}

/// The part of a run that one model was paid for.
struct ModelSpending<'r> {
    tokens: Option<&'r TokenCounts>,
    is_partial: bool,
    price: Option<PriceQuote<'r>>,
}

impl<'r> ModelSpending<'r> {
    /// Whether all tokens are counted.
    fn is_counted(&self) -> bool {
        !self.is_partial && self.tokens.is_some_and(|tokens| tokens.input.is_some() && tokens.output.is_some())
    }

    fn money(&self) -> Option<(&'r str, MoneySource, f64)> {
        money(self.tokens?, self.price)
    }

    /// Whether its whole cost is known. The provider's figure covers everything, even if the provider did not count each kind of token.
    fn is_cost_known(&self) -> bool {
        match self.money() {
            Some((_, MoneySource::Provider, _)) => !self.is_partial,
            Some((_, MoneySource::Prices | MoneySource::List, _)) => self.is_counted(),
            None => false,
        }
    }
}

impl AttemptUsage {
    /// The contribution to the usage of a thread. Unknown numbers count as 0 here. Money is in US dollars, so prices in another currency
    /// add nothing.
    #[must_use]
    pub fn amount(&self, prices: RunPrices<'_>) -> usage::UsageAmount {
        let mut sum = usage::UsageAmount { seconds: self.duration_ms as f64 / 1000.0, ..usage::UsageAmount::default() };
        for part in self.parts(prices) {
            let Some(tokens) = part.tokens else { continue };
            let count = tokens.input.unwrap_or(0).saturating_add(tokens.output.unwrap_or(0));
            let dollars = part.money().filter(|(currency, ..)| *currency == DEFAULT_CURRENCY);
            sum.add(usage::UsageAmount {
                tokens: count,
                cost: dollars.map_or(0.0, |(.., amount)| amount),
                ..usage::UsageAmount::default()
            });
        }
        sum
    }

    fn parts<'r>(&'r self, prices: RunPrices<'r>) -> impl Iterator<Item = ModelSpending<'r>> {
        let own = ModelSpending { tokens: self.tokens.as_ref(), is_partial: self.is_partial, price: prices.agent };
        let own = Some(own).filter(|_| !self.is_free);
        own.into_iter().chain(self.reading.as_ref().map(|reading| reading.part(prices.reading)))
    }
}

impl ExtractionUsage {
    fn part<'r>(&'r self, price: Option<PriceQuote<'r>>) -> ModelSpending<'r> {
        ModelSpending { tokens: self.tokens.as_ref(), is_partial: self.is_partial, price }
    }
}

/// An agent as a cause of costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpendingAgent {
    /// Its name in the configuration.
    pub alias: Option<String>,
    /// Its model, by alias or by the provider's name.
    pub model: Option<String>,
    /// Whether it takes no model.
    pub is_free: bool,
    /// Whether it asks a person, whose time is not an agent's.
    pub is_person: bool,
}

impl SpendingAgent {
    /// An agent with its model. If none was recorded, the configured one.
    #[must_use]
    pub fn from_agent(agent: &node::AgentNode, config: &UwfConfig) -> SpendingAgent {
        let command = agent.command.as_str();
        // A command whose exit code is its output, such as a test run.
        let is_exit = agent.config.get("output").is_some_and(|output| output == OutputMode::Exit.as_str());
        let by_arguments = || model_in_arguments(agent);
        let own = agent.model.clone().or_else(|| configured_model(agent));
        let is_alias = own.as_ref().is_some_and(|model| config.models.contains_key(model));
        // The program may report another name of this model, for which the configuration has no price.
        let priced = by_arguments().filter(|name| !is_alias && has_own_price(config, name));
        let by_default = || config.default_model.clone().filter(|_| WITH_DEFAULT_MODEL.contains(&command));
        SpendingAgent {
            alias: Some(agent.name.clone()),
            model: priced.or(own).or_else(by_arguments).or_else(by_default),
            is_free: WITHOUT_MODEL.contains(&command) || is_exit,
            is_person: command == PERSON,
        }
    }
}

/// The model in the arguments of its program, which the preset of a built-in agent names.
fn model_in_arguments(agent: &node::AgentNode) -> Option<String> {
    let program = agent.config.get("preset").and_then(Value::as_str).unwrap_or(&agent.command);
    model_option::in_arguments(program, &agent.args)
}

/// An agent with the model that its program reported, unless its settings name one with a price of its own.
#[must_use]
pub fn with_reported_model(agent: node::AgentNode, reported: Option<&str>) -> node::AgentNode {
    // Short names such as `opus` have no list price, because each release of the program gives them another meaning.
    let by_arguments = || model_in_arguments(&agent);
    let is_named = agent.model.is_some()
        || configured_model(&agent).is_some()
        || by_arguments().is_some_and(|name| ListPrices::shipped().price(&name).is_some());
    match reported.filter(|_| !is_named) {
        Some(reported) => node::AgentNode { model: Some(reported.to_owned()), ..agent },
        None => agent,
    }
}

/// The model in the `config` of an agent.
fn configured_model(agent: &node::AgentNode) -> Option<String> {
    agent.config.get("model").and_then(|model| model.as_str()).map(str::to_owned)
}

/// Whether the configuration itself has a price for this name.
fn has_own_price(config: &UwfConfig, name: &str) -> bool {
    config.prices.as_ref().is_some_and(|prices| prices.models.contains_key(name))
}

/// The price of a model. The configuration lists it by its alias or by the provider's name; otherwise its list price applies.
#[must_use]
pub fn price<'c>(config: &'c UwfConfig, model: Option<&str>) -> Option<PriceQuote<'c>> {
    let model = model?;
    let declared = config.models.get(model);
    let name = declared.map_or(model, |model| &model.name);
    let configured = config.prices.as_ref().and_then(|prices| {
        let price = prices.models.get(model).or_else(|| prices.models.get(name))?;
        Some(PriceQuote { price, currency: &prices.currency, source: MoneySource::Prices })
    });
    let at_provider = |declared: &ModelConfig| {
        ListPrices::shipped().price_at(&config.providers.get(&declared.provider)?.base_url, name)
    };
    let list =
        || declared.map_or_else(|| ListPrices::shipped().price(name), at_provider).filter(|_| config.has_list_prices);
    let quote = |price| PriceQuote { price, currency: DEFAULT_CURRENCY, source: MoneySource::List };
    configured.or_else(|| list().map(quote))
}

/// The configured model that reads answers of agents.
#[must_use]
pub fn reading_model(config: &UwfConfig) -> Option<&str> {
    config.model_for(EXTRACT)
}

/// The prices of a run, by the model of its agent.
#[must_use]
pub fn run_prices<'c>(config: &'c UwfConfig, model: Option<&str>) -> RunPrices<'c> {
    RunPrices { agent: price(config, model), reading: price(config, reading_model(config)) }
}

/// The source of an amount of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MoneySource {
    /// Reported by the provider, or by the agent's program, with the answer.
    Provider,
    /// The tokens times the prices of the configuration.
    Prices,
    /// The tokens times the list prices that ship with uwf.
    List,
}

/// A price with its currency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriceQuote<'p> {
    /// The price.
    pub price: &'p ModelPrice,
    /// Its currency.
    pub currency: &'p str,
    /// The table it is from.
    pub source: MoneySource,
}

fn money<'p>(tokens: &TokenCounts, price: Option<PriceQuote<'p>>) -> Option<(&'p str, MoneySource, f64)> {
    // An agent's program may report any number.
    if let Some(cost) = tokens.cost.filter(|cost| number::is_money(*cost)) {
        return Some((DEFAULT_CURRENCY, MoneySource::Provider, cost));
    }
    let priced = price?;
    Some((priced.currency, priced.source, priced.price.cost_of_tokens(tokens)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reported_model_replaces_name_without_price() {
        let model = |args: &[&str], prices: &str| {
            let agent = json!({ "name": "c", "command": "claude", "args": args, "config": {} });
            let agent = with_reported_model(serde_json::from_value(agent).unwrap(), Some("claude-sonnet-4-6"));
            let (config, _) = UwfConfig::parse(prices, "config.yaml");
            SpendingAgent::from_agent(&agent, &config).model
        };
        assert_eq!(model(&[], "").as_deref(), Some("claude-sonnet-4-6"));
        assert_eq!(model(&["--model", "sonnet"], "").as_deref(), Some("claude-sonnet-4-6"));
        assert_eq!(model(&["--model", "claude-opus-4-5"], "").as_deref(), Some("claude-opus-4-5"));
        let own = "prices: { date: 2026-11-01, models: { sonnet: { input: 2, output: 10 } } }";
        assert_eq!(model(&["--model", "sonnet"], own).as_deref(), Some("sonnet"), "the person's own price counts");
    }

    #[test]
    fn configured_price_wins_over_list_price() {
        let (config, problems) = UwfConfig::parse(
            "providers: { p: { baseUrl: 'https://api.openai.com/v1' }, own: { baseUrl: 'http://localhost:1/v1' } }\n\
             models: { big: { provider: p, name: gpt-4o }, local: { provider: own, name: gpt-4o } }\n\
             prices: { date: 2026-11-01, currency: EUR, models: { gpt-4o-mini: { input: 1, output: 2 } } }\n",
            "config.yaml",
        );
        assert_eq!(problems, []);
        let quoted = |config: &UwfConfig, model: &str| {
            price(config, Some(model)).map(|quote| (quote.source, quote.currency.to_owned(), quote.price.input))
        };
        assert_eq!(quoted(&config, "gpt-4o-mini"), Some((MoneySource::Prices, "EUR".to_owned(), 1.0)));
        assert_eq!(quoted(&config, "big"), Some((MoneySource::List, "USD".to_owned(), 2.5)), "by the provider's name");
        assert_eq!(quoted(&config, "local"), None, "a model of that name elsewhere has no list price");
        assert_eq!(quoted(&config, "gpt-none"), None);
        assert_eq!(quoted(&UwfConfig::default(), "gpt-4o"), None, "conditions see only what providers report");
    }
}
