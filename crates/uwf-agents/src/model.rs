//! From the configuration to a usable model.

use std::time::Duration;

use agent_kit::{Error, ErrorKind, Result};
use json_cas::nearest;
use schemars::JsonSchema;
use serde::Deserialize;
use uwf_core::config::{ModelProvider, UwfConfig};
use uwf_core::failure_class::{FailureClass, FailureNotice};
use uwf_core::node::TokenCounts;
use uwf_engine::attempt::agents::AgentSpec;
use uwf_engine::root::env_file;
use uwf_engine::root::home::Home;
use uwf_engine::root::project;
use uwf_llm::{
    ChatReply, ChatRequest, FinishReason, LlmClient, LlmTimeouts, LlmUsage, ModeCache, ModelEndpoint, RetryLimits,
};

use crate::progress;
use crate::settings::TimeLimit;

/// The model of an alias, or the default one, with its key.
///
/// # Errors
/// `Config` if the model or its provider is unknown, or its key is not set.
pub fn endpoint(home: &Home, config: &UwfConfig, alias: Option<&str>) -> Result<ModelEndpoint> {
    let Some(alias) = alias.or(config.default_model.as_deref()) else {
        return Err(Error::config("no model is configured").hint(
            "set `defaultModel` in config.yaml, or `model` of the agent; `uwf setup` asks for the necessary settings",
        ));
    };
    let Some(model) = config.models.get(alias) else {
        let error = Error::config(format!("model `{alias}` is not in config.yaml"));
        return Err(match nearest::nearest(alias, config.models.keys().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("add it: `models: {{ {alias}: {{ provider: …, name: … }} }}`")),
        });
    };
    let Some(provider) = config.providers.get(&model.provider) else {
        return Err(Error::config(format!(
            "model `{alias}` is of provider `{}`, which is not in config.yaml",
            model.provider
        ))
        .hint(format!("add it: `providers: {{ {}: {{ baseUrl: …, apiKeyEnv: … }} }}`", model.provider)));
    };
    let key = provider.api_key_env.as_deref().map(|name| key(home, &model.provider, name)).transpose()?;
    at_provider(&model.provider, provider, key.as_deref(), &model.name)
}

/// The endpoint of a provider's model. `key` is the value of its `apiKeyEnv`.
///
/// # Errors
/// `Config` if the provider's `kind` is unknown.
pub(crate) fn at_provider(
    name: &str,
    provider: &ModelProvider,
    key: Option<&str>,
    model: &str,
) -> Result<ModelEndpoint> {
    let endpoint = ModelEndpoint::new(&provider.base_url, model).api_key(key.unwrap_or_default());
    let Some(kind) = &provider.kind else { return Ok(endpoint) };
    let wire = kind.parse().map_err(|why: String| Error::config(format!("`kind` of provider `{name}`: {why}")))?;
    Ok(endpoint.wire(wire))
}

/// The value of a key's variable, from the environment, otherwise from `.env`.
fn key(home: &Home, provider: &str, name: &str) -> Result<String> {
    let path = home.env_file();
    env_file::value_of(name, &env_file::read(&path)?).ok_or_else(|| {
        Error::config(format!(
            "the key of provider `{provider}` is not set: {name} is in neither the environment nor .env"
        ))
        .hint(format!("put the line `{name}=…` into {}", path.display()))
    })
}

/// Settings of every agent that talks to a model itself.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ModelSettings {
    /// Limit on making a connection to the provider, 15s by default.
    connect_timeout: Option<TimeLimit>,
    /// Limit on a silence of the provider, 3m by default.
    idle_timeout: Option<TimeLimit>,
    /// Limit on one exchange with the model, its retries included, 20m by default.
    total_timeout: Option<TimeLimit>,
    /// Left to the provider by default.
    #[schemars(range(min = 0))]
    temperature: Option<f64>,
    /// Most tokens of one answer; left to the provider by default.
    #[schemars(range(min = 1, max = MAX_TOKENS))]
    max_tokens: Option<u32>,
    /// Whether answers come in pieces; true by default.
    stream: Option<bool>,
}

/// Most tokens that can be requested for one answer; a larger number is a mistake.
const MAX_TOKENS: u32 = 10_000_000;

/// Stands for no time limit: the connection breaks long before.
const UNLIMITED: Duration = Duration::from_hours(168);

impl ModelSettings {
    /// A request without messages.
    pub(crate) fn request(self) -> ChatRequest {
        ChatRequest {
            temperature: self.temperature,
            max_tokens: self.max_tokens,
            stream: self.stream.unwrap_or(true),
            ..ChatRequest::default()
        }
    }

    /// A client for the model of an attempt's agent.
    ///
    /// # Errors
    /// `Config` if the model is unknown or cannot be used.
    pub(crate) fn client(self, home: &Home, agent: &AgentSpec) -> Result<LlmClient> {
        let endpoint = endpoint(home, &project::config_here(home)?, agent.model.as_deref())?;
        client(endpoint, self.timeouts())
    }

    fn timeouts(self) -> LlmTimeouts {
        let usual = LlmTimeouts::default();
        let limit = |set: Option<TimeLimit>, usual: Duration| set.map_or(usual, |limit| limit.0.unwrap_or(UNLIMITED));
        LlmTimeouts {
            connect: limit(self.connect_timeout, usual.connect),
            idle: limit(self.idle_timeout, usual.idle),
            total: limit(self.total_timeout, usual.total),
        }
    }
}

/// A client that reports its retries.
///
/// # Errors
/// `Config` if the endpoint cannot be used.
pub fn client(endpoint: ModelEndpoint, timeouts: LlmTimeouts) -> Result<LlmClient> {
    let client = LlmClient::new(endpoint, timeouts, RetryLimits::default()).map_err(|error| failed(&error))?;
    Ok(client.on_retry(|retrying| {
        let wait = retrying.wait.as_secs_f64();
        progress::line(&format!(
            "try {} of {} failed, next in {wait:.1} s: {}",
            retrying.attempt, retrying.of, retrying.error
        ));
    }))
}

/// The cache of what was learned about structured output of models.
pub fn modes(home: &Home) -> ModeCache {
    ModeCache::new(home.model_modes())
}

/// A failed exchange as an agent's failure, or as `Config` if the configuration must change.
pub fn failed(error: &uwf_llm::Error) -> Error {
    let kind = match error {
        uwf_llm::Error::Endpoint { .. } | uwf_llm::Error::Auth { .. } => ErrorKind::Config,
        _ => ErrorKind::AgentFailed,
    };
    let failed = Error::new(kind, error.to_string());
    let failed = match error {
        uwf_llm::Error::Status { code, limits, body, .. } => {
            let headers = limits.all.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            failed.with_notice(&FailureNotice::of_response(*code, limits.retry_after, headers, body))
        }
        _ if error.is_transient() => failed.with_notice(&FailureNotice::new(FailureClass::Transient, None)),
        _ => failed,
    };
    match error.hint() {
        Some(hint) => failed.hint(hint),
        None => failed,
    }
}

/// Checks how a reply ended. An incomplete answer is an error even if it calls a tool, because the call may be incomplete as well.
///
/// # Errors
/// [`uwf_llm::Error::Truncated`] and [`uwf_llm::Error::Ended`], with the partial text.
pub fn whole(client: &LlmClient, reply: &ChatReply) -> std::result::Result<(), uwf_llm::Error> {
    let Some(fault) = reply.finish.fault() else { return Ok(()) };
    let (model, partial) = (client.endpoint().model.clone(), reply.text.clone());
    Err(match &reply.finish {
        FinishReason::Length(word) => uwf_llm::Error::Truncated { model, word: word.clone(), partial },
        _ => uwf_llm::Error::Ended { model, fault, partial },
    })
}

/// Token counts in the form of the store.
pub fn tokens(usage: LlmUsage) -> TokenCounts {
    let LlmUsage { input, output, cached, cache_write, reasoning, cost } = usage;
    TokenCounts { input, output, cached, cache_write, reasoning, cost }.in_range()
}

/// The sum of all exchanges; `None` if one of them is unknown.
pub fn total(usages: impl IntoIterator<Item = Option<LlmUsage>>) -> Option<LlmUsage> {
    let mut usages = usages.into_iter();
    let first = usages.next()??;
    usages.try_fold(first, |sum, next| Some(sum.plus(next?)))
}
