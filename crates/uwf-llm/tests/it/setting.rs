//! A provider and a client of it.

use std::time::Duration;

use uwf_llm::{ChatMessage, ChatRequest, Client, Endpoint, Retry, Timeouts, Wire};
use uwf_testing::llm_server::{LlmServer, Script};

/// A key that must not turn up anywhere.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// Both wires, for tests that hold for both.
pub(crate) const WIRES: [Wire; 2] = [Wire::OpenAi, Wire::Anthropic];

pub(crate) fn endpoint(server: &LlmServer, wire: Wire) -> Endpoint {
    Endpoint::new(&server.url(), "test-model").wire(wire).api_key(KEY)
}

/// Limits that no test reaches unless it means to.
pub(crate) fn timeouts() -> Timeouts {
    let seconds = Duration::from_secs;
    Timeouts { connect: seconds(10), idle: seconds(20), total: seconds(40) }
}

/// Four tries with hardly a wait between them.
pub(crate) fn retry() -> Retry {
    Retry { first_wait: Duration::from_millis(1), longest_wait: Duration::from_millis(5), ..Retry::default() }
}

pub(crate) fn client(server: &LlmServer, wire: Wire) -> Client {
    Client::new(endpoint(server, wire), timeouts(), retry()).unwrap()
}

/// A provider with a script, and a client of it.
pub(crate) fn talk(wire: Wire, script: impl Into<Script>) -> (LlmServer, Client) {
    let server = LlmServer::start(script);
    let client = client(&server, wire);
    (server, client)
}

pub(crate) fn ask(text: &str) -> ChatRequest {
    ChatRequest::new(vec![ChatMessage::User(text.to_owned())])
}

pub(crate) fn streamed(text: &str) -> ChatRequest {
    ChatRequest { stream: true, ..ask(text) }
}
