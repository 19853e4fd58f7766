//! `otel`: where spans of what threads did are sent.

use std::collections::BTreeMap;

use super::read::ConfigReader;
use super::secret::{is_variable, looks_like_key};
use crate::document::fields::{self, Fields};
use yaml_tree::Entry;

/// Keys of `otel`.
pub(crate) const OTEL_KEYS: [&str; 4] = ["endpoint", "headers", "headersEnv", "content"];

/// What a collector's path for spans is below its address.
const TRACES: &str = "/v1/traces";

/// The collector spans are sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Otel {
    /// `endpoint`: its address; `/v1/traces` is added unless it ends so.
    pub endpoint: String,
    /// `headers`: sent with each request.
    pub headers: BTreeMap<String, String>,
    /// `headersEnv`: the same, for values that are secrets: the names of the variables that hold them.
    pub headers_env: BTreeMap<String, String>,
    /// `content`: whether tasks, prompts, answers and what tools were given and said are sent, too.
    pub content: bool,
}

impl Otel {
    /// A collector at an address, and nothing else said.
    #[must_use]
    pub fn at(endpoint: impl Into<String>) -> Otel {
        let (headers, headers_env) = (BTreeMap::new(), BTreeMap::new());
        Otel { endpoint: endpoint.into(), headers, headers_env, content: false }
    }

    /// The URL that takes spans.
    #[must_use]
    pub fn traces_url(&self) -> String {
        let endpoint = self.endpoint.trim_end_matches('/');
        if endpoint.ends_with(TRACES) { endpoint.to_owned() } else { format!("{endpoint}{TRACES}") }
    }

    /// Whether an address can be one of a collector.
    #[must_use]
    pub fn is_address(text: &str) -> bool {
        let host = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        host.is_some_and(|host| !host.is_empty() && !host.contains(char::is_whitespace))
    }
}

impl ConfigReader {
    /// The collector; `None` when there is none, or its address is none.
    pub(super) fn otel(&mut self, fields: Fields<'_>) -> Option<Otel> {
        let entry = fields.get("otel")?;
        let own = self.entry(entry, &OTEL_KEYS)?;
        let headers = self.named(own, "headers", ConfigReader::header);
        let headers_env = self.named(own, "headersEnv", ConfigReader::header_variable);
        let content = self.switch(own, "content", false);
        let endpoint = self.required(own, entry, "endpoint", "collector")?;
        if !Otel::is_address(&endpoint) {
            let at = own.get("endpoint")?.value.at;
            let message = format!("`endpoint` is `{endpoint}`, which is not an address");
            let hint = "write it as http://localhost:4318; `/v1/traces` is added".to_owned();
            self.problems.error("bad-value", at, message, Some(hint));
            return None;
        }
        Some(Otel { endpoint, headers, headers_env, content })
    }

    fn header(&mut self, entry: &Entry) -> Option<String> {
        let value = self.header_text(entry)?;
        if value.split_whitespace().any(looks_like_key) {
            let message = format!("the value of `{}` stands here, and it looks like a secret", entry.key);
            let hint = format!("put it into `.env`, and the name of its variable here: `headersEnv.{}`", entry.key);
            self.problems.error("secret-in-config", entry.value.at, message, Some(hint));
        }
        Some(value)
    }

    fn header_variable(&mut self, entry: &Entry) -> Option<String> {
        let name = self.header_text(entry)?;
        if !is_variable(&name) {
            let message =
                format!("`headersEnv.{}` holds something that is not the name of an environment variable", entry.key);
            let hint = "put the value itself into `.env`, and the variable's name here".to_owned();
            self.problems.error("not-a-variable", entry.value.at, message, Some(hint));
            return None;
        }
        Some(name)
    }

    fn header_text(&mut self, entry: &Entry) -> Option<String> {
        let text = fields::text(&entry.value, &entry.key, &mut self.problems)?;
        let is_name = |key: &str| {
            !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        if !is_name(&entry.key) || text.chars().any(char::is_control) {
            let message = format!("`{}` with this value is not a header", entry.key);
            let hint = "a name has letters, digits, `-`, `_` and `.`; a value is one line".to_owned();
            self.problems.error("bad-value", entry.key_at, message, Some(hint));
            return None;
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_for_spans_is_added_once() {
        for (endpoint, url) in [
            ("http://localhost:4318", "http://localhost:4318/v1/traces"),
            ("http://localhost:4318/", "http://localhost:4318/v1/traces"),
            ("https://otlp.example/otlp", "https://otlp.example/otlp/v1/traces"),
            ("https://otlp.example/v1/traces/", "https://otlp.example/v1/traces"),
        ] {
            assert_eq!(Otel::at(endpoint).traces_url(), url);
        }
    }
}
