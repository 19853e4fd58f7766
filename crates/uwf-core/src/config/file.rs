//! The keys of `config.yaml`, each defined only here: its name, its place and its possible values. The reader and the schema are derived
//! from it; the page `configuration` of the reference describes the keys.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::agent::{AgentDescription, ExitMeaning, OutputMode};
use super::hooks::{HookAnswer, HookSignature, HookStart};
use super::limits::{MAX_OUTPUT_CAP, MAX_PARALLEL, MAX_ROUNDS, MIN_PROMPT_BUDGET, QuestionPolicy};
use super::notify::NotifyEvent;
use super::retry::MAX_ATTEMPTS;
use super::texts::{
    self, Address, Argument, Currency, Day, Expression, HeaderValue, HostText, LeaseText, NotBlank, RemoteText,
    SecretHostText, StoreUrlText, Topic, Variable, VariableValue,
};
use super::{ModelConfig, ModelPrice, ModelProvider};
use crate::document::{DurationText, OneOrMany};
use crate::failure_class::FailureClass;
use crate::number::MAX_WHOLE;
use crate::usage::LimitKeys;
use crate::workspace::WorkspaceKind;

/// A user's name → its value.
type Named<T> = BTreeMap<String, T>;

/// Role → the alias of its agent. A group with copies can have one for each copy.
type RoleAgents = Named<Option<OneOrMany<String>>>;

/// The whole file.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(super) struct ConfigFile {
    pub providers: Option<Named<ModelProvider>>,
    pub models: Option<Named<ModelConfig>>,
    pub agents: Option<Named<AgentKeys>>,
    pub default_agent: Option<String>,
    pub agent_overrides: Option<Named<Option<RoleAgents>>>,
    pub default_model: Option<String>,
    pub model_overrides: Option<Named<Option<String>>>,
    pub workspaces: Option<Named<Option<WorkspaceKind>>>,
    #[schemars(with = "Option<Vec<Variable>>")]
    pub secrets: Option<BTreeSet<String>>,
    #[serde(flatten)]
    pub limits: LimitKeys,
    #[schemars(range(max = u32::MAX))]
    pub max_depth: Option<u32>,
    #[schemars(range(min = 1, max = MAX_WHOLE))]
    pub max_branches: Option<u64>,
    #[schemars(range(min = 1, max = MAX_PARALLEL))]
    pub parallel: Option<u32>,
    #[schemars(range(max = MAX_WHOLE))]
    pub supervisor_interval: Option<u64>,
    #[schemars(range(min = MIN_PROMPT_BUDGET, max = u32::MAX))]
    pub prompt_budget: Option<u32>,
    #[schemars(range(min = 1, max = MAX_OUTPUT_CAP))]
    pub output_cap: Option<u64>,
    #[serde(default, deserialize_with = "DurationText::deserialize")]
    #[schemars(with = "Option<DurationText>")]
    pub kill_grace: Option<Duration>,
    pub ask: Option<QuestionPolicy>,
    #[serde(default, deserialize_with = "DurationText::deserialize")]
    #[schemars(with = "Option<DurationText>")]
    pub ask_timeout: Option<Duration>,
    pub extract: Option<ExtractKeys>,
    pub notify: Option<OneOrMany<NotifyKeys>>,
    pub prices: Option<PricesKeys>,
    pub otel: Option<OtelKeys>,
    pub store: Option<StoreKeys>,
    pub temporal: Option<super::TemporalConfig>,
    pub worktree: Option<WorktreeKeys>,
    #[schemars(extend("propertyNames" = texts::hook_names()))]
    pub hooks: Option<Named<HookKeys>>,
}

/// An agent, and how it is run.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "agent")]
pub(super) struct AgentKeys {
    #[schemars(with = "NotBlank")]
    pub command: String,
    #[schemars(with = "Option<Vec<Argument>>")]
    pub args: Option<Vec<String>>,
    pub output: Option<OutputMode>,
    pub model: Option<String>,
    pub env: Option<AgentEnvironment>,
    #[serde(default, deserialize_with = "DurationText::deserialize")]
    #[schemars(with = "Option<DurationText>")]
    pub timeout: Option<Duration>,
    #[serde(default, deserialize_with = "DurationText::deserialize")]
    #[schemars(with = "Option<DurationText>")]
    pub idle_timeout: Option<Duration>,
    #[schemars(extend("propertyNames" = texts::exit_statuses()))]
    pub exit_codes: Option<Named<ExitMeaning>>,
    pub expect_file: Option<String>,
    pub config: Option<Map<String, Value>>,
    #[schemars(range(min = 1, max = MAX_PARALLEL))]
    pub max: Option<u32>,
    pub retry: Option<RetryKeys>,
    #[schemars(with = "Option<NotBlank>")]
    pub fallback: Option<String>,
    pub sandbox: Option<SandboxKeys>,
    pub describe: Option<DescribeKey>,
}

/// The files and hosts that an agent's program reaches.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "sandbox", extend("x-unknown" = "error"))]
pub(super) struct SandboxKeys {
    #[schemars(with = "Option<Vec<NotBlank>>")]
    pub write: Option<Vec<String>>,
    #[schemars(with = "Option<Vec<NotBlank>>")]
    pub read: Option<Vec<String>>,
    pub network: Option<NetworkKey>,
    #[schemars(with = "Option<Named<SecretHostText>>", extend("propertyNames" = texts::variable_names()))]
    pub secrets: Option<Named<String>>,
}

/// The hosts that an agent's program reaches.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum NetworkKey {
    Word(NetworkWord),
    Hosts(#[schemars(with = "Vec<HostText>")] Vec<String>),
}

/// A network in one word.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum NetworkWord {
    None,
}

/// When an agent tries again.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-names" = "whole"))]
pub(super) struct RetryKeys {
    #[schemars(range(min = 1, max = MAX_ATTEMPTS))]
    pub attempts: Option<u32>,
    #[serde(default, deserialize_with = "DurationText::deserialize")]
    #[schemars(with = "Option<DurationText>")]
    pub wait: Option<Duration>,
    pub on: Option<OneOrMany<FailureClass>>,
}

/// The environment variables of an agent.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum AgentEnvironment {
    /// Names of the secrets that are passed on.
    Secrets(#[schemars(with = "Vec<Variable>")] Vec<String>),
    /// Variables that are set; null passes a secret on.
    Variables(
        #[schemars(with = "Named<Option<VariableValue>>", extend("propertyNames" = texts::variable_names()))]
        Map<String, Value>,
    ),
}

/// The description of an agent, or whether uwf asks it for one.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum DescribeKey {
    Asked(bool),
    Given(AgentDescription),
}

/// Which rungs of the extraction ladder are used, and how often.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ExtractKeys {
    pub submit: Option<bool>,
    pub frontmatter: Option<bool>,
    pub feedback: Option<RoundCount>,
    pub llm: Option<RoundCount>,
}

/// A number of rounds; `false` is none, `true` the usual ones.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum RoundCount {
    Count(#[schemars(range(max = MAX_ROUNDS))] u32),
    Switch(bool),
}

impl RoundCount {
    pub(super) fn or_usual(&self, usual: u32) -> u32 {
        match self {
            RoundCount::Count(count) => *count,
            RoundCount::Switch(is_on) => u32::from(*is_on) * usual,
        }
    }
}

/// A notification.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    {"required": ["command"]}, {"required": ["webhook"]}, {"required": ["webhookEnv"]}, {"required": ["ntfy"]}, {"required": ["slack"]}
]))]
pub(super) struct NotifyKeys {
    pub on: Option<OneOrMany<NotifyEvent>>,
    pub outcome: Option<OneOrMany<String>>,
    pub command: Option<String>,
    pub webhook: Option<String>,
    pub webhook_env: Option<String>,
    pub ntfy: Option<NtfyKeys>,
    pub slack: Option<SlackKeys>,
}

/// A topic of ntfy.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "ntfy", extend("oneOf" = [{"required": ["topic"]}, {"required": ["topicEnv"]}]))]
pub(super) struct NtfyKeys {
    #[schemars(with = "Option<Address>")]
    pub server: Option<String>,
    #[schemars(with = "Option<Topic>")]
    pub topic: Option<String>,
    #[schemars(with = "Option<Variable>")]
    pub topic_env: Option<String>,
    #[schemars(with = "Option<Topic>")]
    pub replies: Option<String>,
    #[schemars(with = "Option<Variable>")]
    pub replies_env: Option<String>,
    #[schemars(with = "Option<Variable>")]
    pub token_env: Option<String>,
    #[schemars(with = "Option<Variable>")]
    pub reply_token_env: Option<String>,
    pub run: Option<bool>,
    #[schemars(with = "Option<Address>")]
    pub dashboard: Option<String>,
}

/// A channel of Slack.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "slack")]
pub(super) struct SlackKeys {
    #[schemars(with = "Option<Address>")]
    pub server: Option<String>,
    #[schemars(with = "NotBlank")]
    pub channel: String,
    #[schemars(with = "Variable")]
    pub bot_token_env: String,
    #[schemars(with = "Option<Variable>")]
    pub app_token_env: Option<String>,
    pub users: Option<Vec<String>>,
    pub run: Option<bool>,
    #[schemars(with = "Option<Address>")]
    pub dashboard: Option<String>,
}

/// Prices of models.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "table")]
pub(super) struct PricesKeys {
    #[schemars(with = "Day")]
    pub date: String,
    #[schemars(with = "Option<Currency>")]
    pub currency: Option<String>,
    pub models: Option<Named<ModelPrice>>,
}

/// The collector of spans.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "collector")]
pub(super) struct OtelKeys {
    #[schemars(with = "Address")]
    pub endpoint: String,
    #[schemars(with = "Option<Named<HeaderValue>>", extend("propertyNames" = texts::header_names()))]
    pub headers: Option<Named<String>>,
    #[schemars(with = "Option<Named<Variable>>", extend("propertyNames" = texts::header_names()))]
    pub headers_env: Option<Named<String>>,
    pub content: Option<bool>,
}

/// A store that several machines share. Where `UWF_STORE_URL` names the store, the file may say the rest.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "store", extend("anyOf" = [{"required": ["url"]}, {"required": ["lease"]}]))]
pub(super) struct StoreKeys {
    #[schemars(with = "Option<StoreUrlText>")]
    pub url: Option<String>,
    #[serde(default, deserialize_with = "DurationText::deserialize")]
    #[schemars(with = "Option<LeaseText>")]
    pub lease: Option<Duration>,
}

/// A hook: it starts a thread, or answers one. An unknown key is an error: without its mistyped `when`, a hook would start too many threads.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "hook", extend("oneOf" = [{"required": ["start"]}, {"required": ["answer"]}], "x-unknown" = "error"))]
pub(super) struct HookKeys {
    #[schemars(with = "Variable")]
    pub secret_env: String,
    pub signature: Option<HookSignature>,
    #[schemars(with = "Option<Expression>")]
    pub when: Option<String>,
    pub start: Option<HookStart>,
    pub answer: Option<HookAnswer>,
}

/// How the worktrees of threads are prepared, and where they are pushed.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "worktree")]
pub(super) struct WorktreeKeys {
    #[schemars(with = "Option<RemoteText>")]
    pub remote: Option<String>,
    #[schemars(with = "Option<Vec<NotBlank>>")]
    pub prepare: Option<Vec<String>>,
    #[serde(default, deserialize_with = "DurationText::deserialize")]
    #[schemars(with = "Option<DurationText>")]
    pub prepare_timeout: Option<Duration>,
}
