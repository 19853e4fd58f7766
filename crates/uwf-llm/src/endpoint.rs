//! Where a model is and how it is talked to.

use std::fmt;
use std::str::FromStr;

use crate::secret::Secret;

/// Host whose endpoints speak Anthropic's messages unless a setting says otherwise.
const ANTHROPIC_HOST: &str = "api.anthropic.com";

/// The shape of requests and replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// `POST /chat/completions` as OpenAI defined it and most others understand it.
    OpenAi,
    /// `POST /v1/messages` of Anthropic.
    Anthropic,
}

impl Wire {
    /// What an endpoint speaks when nobody says so: Anthropic's own host its messages, every other OpenAI's chat.
    pub fn of(base_url: &str) -> Wire {
        if host(base_url).eq_ignore_ascii_case(ANTHROPIC_HOST) { Wire::Anthropic } else { Wire::OpenAi }
    }
}

impl FromStr for Wire {
    type Err = String;

    /// `openai` or `anthropic`, in any case.
    fn from_str(text: &str) -> Result<Wire, String> {
        match text.to_ascii_lowercase().as_str() {
            "openai" => Ok(Wire::OpenAi),
            "anthropic" => Ok(Wire::Anthropic),
            _ => Err(format!("`{text}` is not a kind of provider; there are `openai` and `anthropic`")),
        }
    }
}

/// A model at a provider.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Base URL as its documentation gives it, without `/chat/completions`; no slash at its end.
    pub base_url: String,
    /// How it is talked to.
    pub wire: Wire,
    /// Key, where one is needed.
    pub api_key: Option<Secret>,
    /// The provider's name of the model.
    pub model: String,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("base_url", &shown(&self.base_url))
            .field("wire", &self.wire)
            .field("api_key", &self.api_key)
            .field("model", &self.model)
            .finish()
    }
}

impl Endpoint {
    /// An endpoint without key; its wire follows from the URL ([`Wire::of`]).
    pub fn new(base_url: &str, model: &str) -> Endpoint {
        Endpoint {
            base_url: base_url.trim().trim_end_matches('/').to_owned(),
            wire: Wire::of(base_url),
            api_key: None,
            model: model.to_owned(),
        }
    }

    /// The same endpoint, talked to in this way.
    #[must_use]
    pub fn wire(mut self, wire: Wire) -> Endpoint {
        self.wire = wire;
        self
    }

    /// The same endpoint with a key; an empty one is none.
    #[must_use]
    pub fn api_key(mut self, key: &str) -> Endpoint {
        self.api_key = Some(Secret::new(key)).filter(|key| !key.reveal().is_empty());
        self
    }

    pub(crate) fn chat_url(&self) -> String {
        match self.wire {
            Wire::OpenAi => format!("{}/chat/completions", self.base_url),
            Wire::Anthropic => format!("{}/messages", self.anthropic_base()),
        }
    }

    pub(crate) fn models_url(&self) -> String {
        match self.wire {
            Wire::OpenAi => format!("{}/models", self.base_url),
            // One page holds them all: 1000 is the largest the API gives.
            Wire::Anthropic => format!("{}/models?limit=1000", self.anthropic_base()),
        }
    }

    /// Anthropic's clients are given a base with or without the version.
    fn anthropic_base(&self) -> String {
        if self.base_url.ends_with("/v1") { self.base_url.clone() } else { format!("{}/v1", self.base_url) }
    }

    /// Headers that say who is asking. The key is in them.
    pub(crate) fn headers(&self) -> Vec<(&'static str, String)> {
        let key = self.api_key.as_ref().map(Secret::reveal);
        match self.wire {
            Wire::OpenAi => key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect(),
            Wire::Anthropic => {
                let version = ("anthropic-version", "2023-06-01".to_owned());
                key.map(|key| ("x-api-key", key.to_owned())).into_iter().chain([version]).collect()
            }
        }
    }

    /// A text of the provider, without the key it may have repeated.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.api_key.as_ref().map_or_else(|| text.to_owned(), |key| key.redact(text))
    }

    /// True when the endpoint is this very machine, which no proxy can reach.
    pub(crate) fn is_local(&self) -> bool {
        let host = host(&self.base_url);
        host == "localhost" || host == "::1" || host.starts_with("127.")
    }
}

/// Host of a URL: no scheme, user, port, or path.
fn host(url: &str) -> &str {
    let rest = url.trim().split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    match place.strip_prefix('[') {
        Some(ipv6) => ipv6.split(']').next().unwrap_or_default(),
        None => place.split(':').next().unwrap_or_default(),
    }
}

/// A URL for people to read: without user and password, which some people put there.
pub(crate) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    format!("{scheme}://{place}{path}")
}
