//! The answers to `uwf setup`, and the resulting changes of the configuration.

use std::collections::BTreeMap;

use serde_json::Value;
use uwf_agents::agent_choices::{AgentChoice, command_permission};
use uwf_core::config::edit::KeyPath;
use uwf_core::config::{AgentConfig, UwfConfig};
use uwf_engine::root::config_file::ConfigChange;
use uwf_llm::{LlmApiKey, LlmWireFormat, ModelEndpoint};

/// All answers.
pub(super) struct SetupAnswers {
    /// The default model; `None` leaves the models unchanged.
    pub(super) model: Option<SetupModel>,
    /// The default agent; `None` leaves it unchanged.
    pub(super) agent: Option<SetupAgent>,
    /// Whether agents may run commands; `None` leaves that unchanged.
    pub(super) may_run_commands: Option<bool>,
}

/// A model, and the URL of its provider.
pub(super) struct SetupModel {
    /// The provider's name in the configuration.
    pub(super) provider: String,
    pub(super) base_url: String,
    pub(super) wire: LlmWireFormat,
    pub(super) key: SetupProviderKey,
    /// The provider's name of the model.
    pub(super) name: String,
}

/// A provider's key.
pub(super) enum SetupProviderKey {
    /// The provider needs no key.
    None,
    /// A variable already has the key.
    Known { variable: String, value: LlmApiKey },
    /// The key will be stored in `.env`.
    New { variable: String, value: LlmApiKey },
}

/// The default agent.
pub(super) enum SetupAgent {
    /// A configured agent, perhaps with another model.
    Known {
        /// Its alias.
        alias: String,
        /// The model that its program uses from now on.
        model: Option<String>,
    },
    /// An agent to add.
    New(AgentChoice),
}

impl SetupProviderKey {
    pub(super) fn variable(&self) -> Option<&str> {
        match self {
            SetupProviderKey::None => None,
            SetupProviderKey::Known { variable, .. } | SetupProviderKey::New { variable, .. } => Some(variable),
        }
    }

    fn value(&self) -> Option<&LlmApiKey> {
        match self {
            SetupProviderKey::None => None,
            SetupProviderKey::Known { value, .. } | SetupProviderKey::New { value, .. } => Some(value),
        }
    }
}

impl SetupAgent {
    /// The chosen agent: a configured one if its alias is configured, and a new one otherwise.
    pub(super) fn from_choice(config: &UwfConfig, choice: AgentChoice) -> SetupAgent {
        if config.agents.contains_key(&choice.alias) {
            SetupAgent::known(choice.alias)
        } else {
            SetupAgent::New(choice)
        }
    }

    /// A configured agent as it is.
    pub(super) fn known(alias: impl Into<String>) -> SetupAgent {
        SetupAgent::Known { alias: alias.into(), model: None }
    }

    pub(super) fn alias(&self) -> &str {
        match self {
            SetupAgent::Known { alias, .. } => alias,
            SetupAgent::New(choice) => &choice.alias,
        }
    }
}

impl SetupModel {
    /// The model's endpoint, for requests.
    pub(super) fn endpoint(&self) -> ModelEndpoint {
        let key = self.key.value().map_or("", LlmApiKey::reveal);
        ModelEndpoint::new(&self.base_url, &self.name).wire(self.wire).api_key(key)
    }
}

impl SetupAnswers {
    /// The changes of the configuration, and the model's alias.
    pub(super) fn changes(&self, config: &UwfConfig) -> (Vec<ConfigChange>, Option<String>) {
        let mut changes = Vec::new();
        let alias = self.model.as_ref().map(|model| model_changes(model, config, &mut changes));
        match &self.agent {
            Some(SetupAgent::New(choice)) => {
                for (key, value) in choice.entry.as_object().into_iter().flatten() {
                    changes.push(ConfigChange::Set(KeyPath::from_keys(&["agents", &choice.alias, key]), value.clone()));
                }
                changes.push(set(&["defaultAgent"], &choice.alias));
            }
            Some(SetupAgent::Known { alias, model }) => {
                changes.extend(model.as_ref().map(|model| set(&["agents", alias, "model"], model)));
                changes.push(set(&["defaultAgent"], alias));
            }
            None => {}
        }
        for (alias, agent) in self.agents(config) {
            let settings = self.may_run_commands.and_then(|may_run| command_permission::settings(&agent, may_run));
            for (key, value) in settings.into_iter().flatten() {
                changes.push(ConfigChange::Set(KeyPath::from_keys(&["agents", &alias, key]), value));
            }
        }
        (changes, alias)
    }

    /// Whether an agent has settings that decide whether it runs commands.
    pub(super) fn can_decide_commands(&self, config: &UwfConfig) -> bool {
        let settings = |agent: &AgentConfig| command_permission::settings(agent, true);
        self.agents(config).values().filter_map(settings).any(|settings| !settings.is_empty())
    }

    /// The consequences of the answer no: a sentence about each agent that loses more than its commands.
    pub(super) fn lost_without_commands(&self, config: &UwfConfig) -> Vec<&'static str> {
        let mut lost: Vec<&str> =
            self.agents(config).values().filter_map(command_permission::lost_without_commands).collect();
        lost.dedup();
        lost
    }

    /// The agents for which the answer does not hold, each with the reason.
    pub(super) fn undecided(&self, config: &UwfConfig) -> Vec<(String, String)> {
        let Some(may_run) = self.may_run_commands else { return Vec::new() };
        let is_undecided = |agent: &AgentConfig| {
            command_permission::settings(agent, may_run).is_none()
                && !(may_run && command_permission::always_runs(agent))
        };
        let agents = self.agents(config).into_iter().filter(|(_, agent)| is_undecided(agent));
        let with_reason = |(alias, agent): (String, AgentConfig)| {
            let why = match command_permission::always_runs(&agent) {
                true => format!(
                    "agent `{alias}` still runs commands: `{}` gives its program that right; a sandbox limits what commands \
                     reach: `uwf help isolating`",
                    agent.command
                ),
                false => format!(
                    "uwf cannot decide whether agent `{alias}` runs commands: configure that in its own program"
                ),
            };
            (alias, why)
        };
        agents.map(with_reason).collect()
    }

    /// The configured agents, and the new one.
    fn agents(&self, config: &UwfConfig) -> BTreeMap<String, AgentConfig> {
        let mut agents = config.agents.clone();
        if let Some(SetupAgent::New(choice)) = &self.agent {
            agents.extend(choice.config().map(|agent| (choice.alias.clone(), agent)));
        }
        agents
    }
}

fn model_changes(model: &SetupModel, config: &UwfConfig, changes: &mut Vec<ConfigChange>) -> String {
    let SetupModel { provider, base_url, wire, key, name } = model;
    changes.push(set(&["providers", provider, "baseUrl"], base_url));
    if let Some(variable) = key.variable() {
        changes.push(set(&["providers", provider, "apiKeyEnv"], variable));
    }
    let kind = KeyPath::from_keys(&["providers", provider, "kind"]);
    changes.push(if *wire == LlmWireFormat::for_base_url(base_url) {
        ConfigChange::Unset(kind)
    } else {
        ConfigChange::Set(kind, Value::from(kind_of(*wire)))
    });
    let alias = alias(config, provider, name);
    changes.push(set(&["models", &alias, "provider"], provider));
    changes.push(set(&["models", &alias, "name"], name));
    changes.push(set(&["defaultModel"], &alias));
    alias
}

fn set(path: &[&str], value: &str) -> ConfigChange {
    ConfigChange::Set(KeyPath::from_keys(path), Value::from(value))
}

fn kind_of(wire: LlmWireFormat) -> &'static str {
    match wire {
        LlmWireFormat::OpenAi => "openai",
        LlmWireFormat::Anthropic => "anthropic",
    }
}

/// The alias of the model, or the shortest free new one.
fn alias(config: &UwfConfig, provider: &str, name: &str) -> String {
    let same =
        |(_, model): &(&String, &uwf_core::config::ModelConfig)| model.provider == provider && model.name == name;
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
