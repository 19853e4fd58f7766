//! `otel`: destination of the spans of threads.

use std::collections::BTreeMap;

/// Path for spans below a collector's address.
const TRACES: &str = "/v1/traces";

/// The collector that gets spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtelConfig {
    /// `endpoint`: its address. `/v1/traces` is appended if missing.
    pub endpoint: String,
    /// `headers`: sent with each request.
    pub headers: BTreeMap<String, String>,
    /// `headersEnv`: the same for secret values, as names of variables.
    pub headers_env: BTreeMap<String, String>,
    /// `content`: whether to send tasks, prompts, answers, and arguments and results of tools as well.
    pub content: bool,
}

impl OtelConfig {
    /// A collector at an address, with defaults for everything else.
    #[must_use]
    pub fn for_endpoint(endpoint: impl Into<String>) -> OtelConfig {
        let (headers, headers_env) = (BTreeMap::new(), BTreeMap::new());
        OtelConfig { endpoint: endpoint.into(), headers, headers_env, content: false }
    }

    /// The URL that takes spans.
    #[must_use]
    pub fn traces_url(&self) -> String {
        let endpoint = self.endpoint.trim_end_matches('/');
        if endpoint.ends_with(TRACES) { endpoint.to_owned() } else { format!("{endpoint}{TRACES}") }
    }

    /// Whether a text can be the address of a collector.
    #[must_use]
    pub fn is_address(text: &str) -> bool {
        let host = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        host.is_some_and(|host| !host.is_empty() && !host.contains(char::is_whitespace))
    }
}

/// Whether a text can be the name of a header.
pub(super) fn is_header_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
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
            assert_eq!(OtelConfig::for_endpoint(endpoint).traces_url(), url);
        }
    }
}
