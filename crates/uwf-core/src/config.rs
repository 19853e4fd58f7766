//! The types of `config.yaml`: the agents, the models, and the roles and purposes they serve. It is read strictly, and every problem is
//! reported with line and column.

mod agent;
mod check;
mod defaults;
pub mod edit;
mod file;
mod hooks;
mod keys;
mod limits;
mod list_prices;
mod notify;
mod otel;
mod prices;
mod project;
mod read;
mod retry;
mod sandbox;
mod sandbox_check;
mod secret;
mod store;
mod temporal;
mod texts;
mod worktree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

pub use agent::{AgentConfig, AgentDescription, AgentDescriptionSource, DESCRIBE_ARGUMENT, ExitMeaning, OutputMode};
pub use defaults::default_of;
pub use hooks::{HookAction, HookAnswer, HookConfig, HookSignature, HookStart};
pub use keys::{is_store_key, is_temporal_key};
pub(crate) use limits::MAX_OUTPUT_CAP;
pub use limits::{
    ConfigLimits, DEFAULT_IDLE_TIMEOUT, DEFAULT_KILL_GRACE, DEFAULT_PROMPT_BUDGET, ExtractRungs, LONG_TIMEOUT,
    QuestionPolicy, long_timeout,
};
pub use list_prices::ListPrices;
pub use notify::{NotifyBy, NotifyEvent, NotifyRule, NotifySetting, NtfyConfig, SlackConfig};
pub use otel::OtelConfig;
pub use prices::{DEFAULT_CURRENCY, ModelPrice, PriceTable, is_date};
pub use read::keys;
pub(crate) use read::schema;
pub use retry::{LONGEST_RETRY_WAIT, RetryPolicy, USUAL_RETRY_WAIT};
pub use sandbox::{HostPattern, NetworkPolicy, SandboxPolicy, SecretHost, WORKSPACE};
pub use secret::key_in;
pub use store::{LONGEST_LEASE, StoreKind, StoreUrl};
pub use temporal::TemporalConfig;
pub use worktree::{GitRemote, WorktreePrepare};

use schemars::JsonSchema;
use serde::Deserialize;
use texts::{NotBlank, Variable};

use crate::document::FileProblem;
pub use crate::workspace::WorkspaceKind;

/// Purpose of the model that reads answers; see [`UwfConfig::model_for`].
pub const EXTRACT: &str = "extract";

/// The variable with the secret of `uwf serve`.
pub const DASHBOARD_SECRET: &str = "WORKFLOW_DASHBOARD_SECRET";

/// The variable with the token of a machine that connects to a gateway.
pub const GATEWAY_TOKEN: &str = "WORKFLOW_GATEWAY_TOKEN";

/// The contents of `config.yaml`. A missing file is [`UwfConfig::default`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UwfConfig {
    /// `providers`: name → endpoint of a model provider.
    pub providers: BTreeMap<String, ModelProvider>,
    /// `models`: alias → model.
    pub models: BTreeMap<String, ModelConfig>,
    /// `agents`: alias → how to run it.
    pub agents: BTreeMap<String, AgentConfig>,
    /// `defaultAgent`: alias of the agent for roles without an override.
    pub default_agent: Option<String>,
    /// `agentOverrides`: workflow name → role → alias; a null entry (`None`) means no override.
    pub agent_overrides: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// `defaultModel`: alias of the model for every purpose without an override.
    pub default_model: Option<String>,
    /// `modelOverrides`: purpose (`extract`, `supervisor`, …) → alias; null means no override.
    pub model_overrides: BTreeMap<String, Option<String>>,
    /// `workspaces`: workflow name → working directory of its threads, unless the start command names one.
    pub workspaces: BTreeMap<String, WorkspaceKind>,
    /// `secrets`: further names of environment variables with secrets, in addition to every `apiKeyEnv`.
    pub secrets: BTreeSet<String>,
    /// Limits on steps, depth, prompt and output; each is a top-level key.
    pub limits: ConfigLimits,
    /// `notify`: notifications about threads.
    pub notify: Vec<NotifyRule>,
    /// `ask`: whether agents may ask a person.
    pub ask: QuestionPolicy,
    /// `askTimeout`: time after which an agent's question counts as not answered; `None` for any time.
    pub ask_timeout: Option<Duration>,
    /// `extract`: which stages of reading an answer are used.
    pub extract: ExtractRungs,
    /// `prices`: prices of models.
    pub prices: Option<PriceTable>,
    /// Whether the list prices that ship with uwf apply to other models. Not in [`UwfConfig::default`], because
    /// conditions must decide the same with every version of uwf.
    pub has_list_prices: bool,
    /// `otel`: destination of spans.
    pub otel: Option<OtelConfig>,
    /// `store`: store of nodes and heads, if several machines share them. Otherwise they are files of the storage root.
    pub store: Option<StoreUrl>,
    /// `store.lease`, see [`UwfConfig::lease`].
    pub lease: Option<Duration>,
    /// `temporal`: the Temporal server that runs steps on several machines.
    pub temporal: Option<TemporalConfig>,
    /// `worktree.remote`: remote that the worktrees of threads are pushed to and fetched from.
    pub worktree_remote: Option<GitRemote>,
    /// The commands that prepare a new worktree.
    pub worktree_prepare: WorktreePrepare,
    /// `hooks`: name → what a signed POST to the server starts or answers.
    pub hooks: BTreeMap<String, HookConfig>,
}

/// Where a model is served.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "provider")]
pub struct ModelProvider {
    /// `baseUrl`: root of the HTTP API.
    #[schemars(with = "NotBlank")]
    pub base_url: String,
    /// `apiKeyEnv`: name of the environment variable that holds the key; never the key.
    #[schemars(with = "Option<Variable>")]
    pub api_key_env: Option<String>,
    /// `kind`: its API, if the name does not identify it.
    pub kind: Option<String>,
}

/// One model of a provider.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "model")]
pub struct ModelConfig {
    /// `provider`: a key of [`UwfConfig::providers`].
    #[schemars(with = "NotBlank")]
    pub provider: String,
    /// `name`: the provider's name of the model.
    #[schemars(with = "NotBlank")]
    pub name: String,
}

impl UwfConfig {
    /// Parses the text of a config file; `origin` is the file's name in messages.
    ///
    /// Reports all problems at once, sorted by place. An unreadable part has its default in the returned config, so that a caller that
    /// continues despite an error has a valid one.
    #[must_use]
    pub fn parse(text: &str, origin: &str) -> (UwfConfig, Vec<FileProblem>) {
        let base = UwfConfig { has_list_prices: true, ..UwfConfig::default() };
        read::read(text, origin, &base, None)
    }

    /// This configuration, overlaid with a project's: `text` is the project's `.workflows/config.yaml`, and `dir` the directory that
    /// contains `.workflows`. Relative commands of its agents are relative to `dir`.
    ///
    /// Agents and models are replaced as a whole. A project must not decide where keys go: it is an error if it sets providers or secrets,
    /// or gives secrets to agents. Otherwise like [`UwfConfig::parse`].
    #[must_use]
    pub fn with_project(&self, text: &str, origin: &str, dir: &Path) -> (UwfConfig, Vec<FileProblem>) {
        read::read(text, origin, self, Some(dir))
    }

    /// How long a machine with a step of a shared store may be silent before another machine takes over the step.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.lease.unwrap_or(store::DEFAULT_LEASE)
    }

    /// The agent configured under `name`.
    #[must_use]
    pub fn agent(&self, name: &str) -> Option<&AgentConfig> {
        self.agents.get(name)
    }

    /// The alias of a role's agent in `config.yaml`: its override, otherwise the default agent.
    #[must_use]
    pub fn agent_for(&self, workflow: &str, role: &str) -> Option<&str> {
        let override_ = self.agent_overrides.get(workflow).and_then(|roles| roles.get(role));
        override_.and_then(|own| own.first()).map(String::as_str).or(self.default_agent.as_deref())
    }

    /// The alias of the agent of a group's copy, counted from 0, if the configuration has a list for the group. A short list begins again.
    #[must_use]
    pub fn agent_of_copy(&self, workflow: &str, group: &str, copy: usize) -> Option<&str> {
        let aliases = self.agent_overrides.get(workflow)?.get(group)?;
        aliases.get(copy.checked_rem(aliases.len())?).map(String::as_str)
    }

    /// The alias of the model for a purpose (`extract`, `supervisor`, …): `modelOverrides.<purpose>`, otherwise the model whose alias is
    /// the purpose, otherwise `defaultModel`.
    #[must_use]
    pub fn model_for(&self, purpose: &str) -> Option<&str> {
        let override_ = self.model_overrides.get(purpose).and_then(Option::as_deref);
        override_
            .or_else(|| self.models.get_key_value(purpose).map(|(alias, _)| alias.as_str()))
            .or(self.default_model.as_deref())
    }

    /// Names of all environment variables with secrets: every `apiKeyEnv`, the `headersEnv` of `otel`, each `secretEnv` of `hooks`, topics
    /// and tokens of `notify`, the `secrets` list, the secrets of sandboxes, and the secrets of uwf's own servers.
    #[must_use]
    pub fn secret_names(&self) -> BTreeSet<String> {
        let keys = self.providers.values().filter_map(|provider| provider.api_key_env.clone());
        let headers = self.otel.iter().flat_map(|otel| otel.headers_env.values().cloned());
        let sandboxes = self.agents.values().filter_map(|agent| agent.sandbox.as_ref());
        let of_sandboxes = sandboxes.flat_map(|sandbox| sandbox.secrets.keys().cloned());
        let named = keys.chain(headers).chain(of_sandboxes).chain(self.secrets.iter().cloned());
        named.chain(self.own_secret_names()).collect()
    }

    /// Names of the environment variables with secrets that no agent gets: each `secretEnv` of `hooks`, topics and tokens of `notify`, and the
    /// secrets of uwf's own servers. With them, an agent could start threads or answer for a person.
    #[must_use]
    pub fn own_secret_names(&self) -> BTreeSet<String> {
        let hooks = self.hooks.values().map(|hook| hook.secret_env.clone());
        let messengers = self.notify.iter().flat_map(|rule| rule.by.secret_variables());
        let servers = [DASHBOARD_SECRET, GATEWAY_TOKEN].map(str::to_owned);
        hooks.chain(messengers).chain(servers).collect()
    }
}
