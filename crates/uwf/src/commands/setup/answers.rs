//! The answers to `uwf setup`, and the resulting changes of the configuration.

use serde_json::Value;
use uwf_agents::agent_choices::AgentChoice;
use uwf_core::config::Config;
use uwf_core::config::edit::KeyPath;
use uwf_engine::root::config_file::Change;
use uwf_llm::{Endpoint, Secret, Wire};

/// All answers.
pub(super) struct Answers {
    /// The default model; `None` leaves the models unchanged.
    pub(super) model: Option<Model>,
    /// The default agent; `None` leaves it unchanged.
    pub(super) agent: Option<Agent>,
}

/// A model, and the URL of its provider.
pub(super) struct Model {
    /// The provider's name in the configuration.
    pub(super) provider: String,
    pub(super) base_url: String,
    pub(super) wire: Wire,
    pub(super) key: Key,
    /// The provider's name of the model.
    pub(super) name: String,
}

/// A provider's key.
pub(super) enum Key {
    /// The provider needs no key.
    None,
    /// A variable already has the key.
    Known { variable: String, value: Secret },
    /// The key will be stored in `.env`.
    New { variable: String, value: Secret },
}

/// The default agent.
pub(super) enum Agent {
    /// The alias of a configured agent.
    Known(String),
    /// An agent to add.
    New(AgentChoice),
}

impl Key {
    pub(super) fn variable(&self) -> Option<&str> {
        match self {
            Key::None => None,
            Key::Known { variable, .. } | Key::New { variable, .. } => Some(variable),
        }
    }

    fn value(&self) -> Option<&Secret> {
        match self {
            Key::None => None,
            Key::Known { value, .. } | Key::New { value, .. } => Some(value),
        }
    }
}

impl Agent {
    /// The chosen agent: a configured one if its alias is configured, and a new one otherwise.
    pub(super) fn of(config: &Config, choice: AgentChoice) -> Agent {
        if config.agents.contains_key(&choice.alias) { Agent::Known(choice.alias) } else { Agent::New(choice) }
    }

    pub(super) fn alias(&self) -> &str {
        match self {
            Agent::Known(alias) => alias,
            Agent::New(choice) => &choice.alias,
        }
    }
}

impl Model {
    /// The model's endpoint, for requests.
    pub(super) fn endpoint(&self) -> Endpoint {
        let key = self.key.value().map_or("", Secret::reveal);
        Endpoint::new(&self.base_url, &self.name).wire(self.wire).api_key(key)
    }
}

impl Answers {
    /// The changes of the configuration, and the model's alias.
    pub(super) fn changes(&self, config: &Config) -> (Vec<Change>, Option<String>) {
        let mut changes = Vec::new();
        let alias = self.model.as_ref().map(|model| model_changes(model, config, &mut changes));
        match &self.agent {
            Some(Agent::New(choice)) => {
                for (key, value) in choice.entry.as_object().into_iter().flatten() {
                    changes.push(Change::Set(KeyPath::of(&["agents", &choice.alias, key]), value.clone()));
                }
                changes.push(set(&["defaultAgent"], &choice.alias));
            }
            Some(Agent::Known(alias)) => changes.push(set(&["defaultAgent"], alias)),
            None => {}
        }
        (changes, alias)
    }
}

fn model_changes(model: &Model, config: &Config, changes: &mut Vec<Change>) -> String {
    let Model { provider, base_url, wire, key, name } = model;
    changes.push(set(&["providers", provider, "baseUrl"], base_url));
    if let Some(variable) = key.variable() {
        changes.push(set(&["providers", provider, "apiKeyEnv"], variable));
    }
    let kind = KeyPath::of(&["providers", provider, "kind"]);
    changes.push(if *wire == Wire::of(base_url) {
        Change::Unset(kind)
    } else {
        Change::Set(kind, Value::from(kind_of(*wire)))
    });
    let alias = alias(config, provider, name);
    changes.push(set(&["models", &alias, "provider"], provider));
    changes.push(set(&["models", &alias, "name"], name));
    changes.push(set(&["defaultModel"], &alias));
    alias
}

fn set(path: &[&str], value: &str) -> Change {
    Change::Set(KeyPath::of(path), Value::from(value))
}

fn kind_of(wire: Wire) -> &'static str {
    match wire {
        Wire::OpenAi => "openai",
        Wire::Anthropic => "anthropic",
    }
}

/// The alias of the model, or the shortest free new one.
fn alias(config: &Config, provider: &str, name: &str) -> String {
    let same = |(_, model): &(&String, &uwf_core::config::Model)| model.provider == provider && model.name == name;
    if let Some((alias, _)) = config.models.iter().find(same) {
        return alias.clone();
    }
    let last = name.rsplit('/').next().unwrap_or(name);
    let short: String = last.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let long = format!("{provider}-{short}");
    let numbered = (2..).map(|number| format!("{long}-{number}"));
    // There are more numbers than models.
    let free = |alias: &String| !config.models.contains_key(alias);
    [short, long.clone()].into_iter().chain(numbered).find(free).unwrap_or(long)
}
