//! A provider and a client of it.

use std::time::Duration;

use uwf_llm::{ChatMessage, ChatRequest, LlmClient, LlmTimeouts, LlmWireFormat, ModelEndpoint, RetryLimits};
use uwf_testing::llm_server::{LlmScript, LlmServer};

/// A key that must not turn up anywhere.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// Both wires, for tests that hold for both.
pub(crate) const WIRES: [LlmWireFormat; 2] = [LlmWireFormat::OpenAi, LlmWireFormat::Anthropic];

pub(crate) fn endpoint(server: &LlmServer, wire: LlmWireFormat) -> ModelEndpoint {
    ModelEndpoint::new(&server.url(), "test-model").wire(wire).api_key(KEY)
}

/// Limits that no test reaches unless it means to.
pub(crate) fn timeouts() -> LlmTimeouts {
    let seconds = Duration::from_secs;
    LlmTimeouts { connect: seconds(10), idle: seconds(20), total: seconds(40) }
}

/// Four tries with hardly a wait between them.
pub(crate) fn retry() -> RetryLimits {
    RetryLimits {
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_millis(5),
        ..RetryLimits::default()
    }
}

pub(crate) fn client(server: &LlmServer, wire: LlmWireFormat) -> LlmClient {
    LlmClient::new(endpoint(server, wire), timeouts(), retry()).unwrap()
}

/// A provider with a script, and a client of it.
pub(crate) fn talk(wire: LlmWireFormat, script: impl Into<LlmScript>) -> (LlmServer, LlmClient) {
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
