//! Address of a model, and the protocol to use.

use std::fmt;
use std::str::FromStr;

use crate::secret::LlmApiKey;

/// Host whose endpoints use Anthropic's messages by default.
const ANTHROPIC_HOST: &str = "api.anthropic.com";

/// The format of requests and replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LlmWireFormat {
    /// `POST /chat/completions` as OpenAI defined it and most others support it.
    OpenAi,
    /// `POST /v1/messages` of Anthropic.
    Anthropic,
}

impl LlmWireFormat {
    /// The default wire of an endpoint: messages for Anthropic's own host, otherwise OpenAI's chat.
    pub fn for_base_url(base_url: &str) -> LlmWireFormat {
        if host(base_url).eq_ignore_ascii_case(ANTHROPIC_HOST) {
            LlmWireFormat::Anthropic
        } else {
            LlmWireFormat::OpenAi
        }
    }
}

impl FromStr for LlmWireFormat {
    type Err = String;

    /// `openai` or `anthropic`, in any case.
    fn from_str(text: &str) -> Result<LlmWireFormat, String> {
        match text.to_ascii_lowercase().as_str() {
            "openai" => Ok(LlmWireFormat::OpenAi),
            "anthropic" => Ok(LlmWireFormat::Anthropic),
            _ => Err(format!("`{text}` is not a kind of provider; there are `openai` and `anthropic`")),
        }
    }
}

/// A model at a provider.
#[derive(Clone, PartialEq, Eq)]
pub struct ModelEndpoint {
    /// Base URL as the provider documents it, without `/chat/completions` and without a trailing slash.
    pub base_url: String,
    /// Format of requests and replies.
    pub wire: LlmWireFormat,
    /// Key, if one is needed.
    pub api_key: Option<LlmApiKey>,
    /// The provider's name of the model.
    pub model: String,
}

impl fmt::Debug for ModelEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("base_url", &shown(&self.base_url))
            .field("wire", &self.wire)
            .field("api_key", &self.api_key)
            .field("model", &self.model)
            .finish()
    }
}

impl ModelEndpoint {
    /// An endpoint without a key. Its wire follows from the URL ([`LlmWireFormat::for_base_url`]).
    pub fn new(base_url: &str, model: &str) -> ModelEndpoint {
        ModelEndpoint {
            base_url: base_url.trim().trim_end_matches('/').to_owned(),
            wire: LlmWireFormat::for_base_url(base_url),
            api_key: None,
            model: model.to_owned(),
        }
    }

    /// The same endpoint with this wire.
    #[must_use]
    pub fn wire(mut self, wire: LlmWireFormat) -> ModelEndpoint {
        self.wire = wire;
        self
    }

    /// The same endpoint with a key. An empty key counts as no key.
    #[must_use]
    pub fn api_key(mut self, key: &str) -> ModelEndpoint {
        self.api_key = Some(LlmApiKey::new(key)).filter(|key| !key.reveal().is_empty());
        self
    }

    pub(crate) fn chat_url(&self) -> String {
        match self.wire {
            LlmWireFormat::OpenAi => format!("{}/chat/completions", self.base_url),
            LlmWireFormat::Anthropic => format!("{}/messages", self.anthropic_base()),
        }
    }

    pub(crate) fn models_url(&self) -> String {
        match self.wire {
            LlmWireFormat::OpenAi => format!("{}/models", self.base_url),
            // One page has them all: 1000 is the API's maximum.
            LlmWireFormat::Anthropic => format!("{}/models?limit=1000", self.anthropic_base()),
        }
    }

    /// Users give the base of Anthropic with or without the version.
    fn anthropic_base(&self) -> String {
        if self.base_url.ends_with("/v1") { self.base_url.clone() } else { format!("{}/v1", self.base_url) }
    }

    /// Headers that authenticate the client. They contain the key.
    pub(crate) fn headers(&self) -> Vec<(&'static str, String)> {
        let key = self.api_key.as_ref().map(LlmApiKey::reveal);
        match self.wire {
            LlmWireFormat::OpenAi => key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect(),
            LlmWireFormat::Anthropic => {
                let version = ("anthropic-version", "2023-06-01".to_owned());
                key.map(|key| ("x-api-key", key.to_owned())).into_iter().chain([version]).collect()
            }
        }
    }

    /// A provider's text without the key, which it may have repeated.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.api_key.as_ref().map_or_else(|| text.to_owned(), |key| key.redact(text))
    }

    /// True if the endpoint is on this machine, which no proxy can reach.
    pub(crate) fn is_local(&self) -> bool {
        let host = host(&self.base_url);
        host == "localhost" || host == "::1" || host.starts_with("127.")
    }
}

/// Host of a URL, without scheme, user, port and path.
fn host(url: &str) -> &str {
    let rest = url.trim().split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    match place.strip_prefix('[') {
        Some(ipv6) => ipv6.split(']').next().unwrap_or_default(),
        None => place.split(':').next().unwrap_or_default(),
    }
}

/// A URL for display, without user and password.
pub(crate) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    format!("{scheme}://{place}{path}")
}
