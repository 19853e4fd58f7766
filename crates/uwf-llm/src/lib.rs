//! Talks to language models: chat completions of OpenAI-compatible endpoints and Anthropic messages.
//!
//! A separate crate, because it is the only HTTP client: TLS and its dependencies stay here, and the crate knows nothing
//! of workflows. Requests and replies are JSON values at the edge, so that nothing from a provider is lost:
//! [`ChatReply::raw`] is its whole response.
//!
//! [`LlmClient::chat`] is one exchange, with retries. [`structured()`] gets one JSON value of a schema in any mode that the
//! model supports, and [`structured_with_lookups()`] lets the model look things up first. [`LlmClient::models`] lists the
//! available models.
//!
//! Other services use the same client: [`post_json`], [`LineServer`] and [`TextSocket`].
//!
//! ```
//! use uwf_llm::{ChatMessage, ChatRequest, LlmClient, ModelEndpoint, RetryLimits, LlmTimeouts};
//! # use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};
//!
//! # fn main() -> uwf_llm::Result<()> {
//! # let server = LlmServer::start([ScriptedAnswer::text("Cats.")]);
//! # let base_url = server.url();
//! let endpoint = ModelEndpoint::new(&base_url, "acme-large-2").api_key("a key");
//! let client = LlmClient::new(endpoint, LlmTimeouts::default(), RetryLimits::default())?;
//! let request = ChatRequest::new(vec![ChatMessage::User("Name one animal.".into())]);
//! assert_eq!(client.chat(&request)?.text, "Cats.");
//! # Ok(())
//! # }
//! ```

mod anthropic;
mod assembly;
mod client;
mod delta;
mod endpoint;
pub mod error;
mod http;
mod lines;
mod lookups;
mod message;
mod mode;
mod openai;
mod preset;
mod reply;
mod request;
pub mod retry;
mod secret;
mod socket;
pub mod sse;
mod stream;
pub mod strict;
mod structured;
mod usage;
mod whole_json;

pub use client::LlmClient;
pub use delta::ReplyDelta;
pub use endpoint::{LlmWireFormat, ModelEndpoint};
pub use error::{Error, LimitHeaders, LlmTimeoutKind, Result};
pub use http::{LlmTimeouts, post_json, post_with_token};
pub use lines::{LineServer, LineStream};
pub use lookups::{LookedUp, LookupTools};
pub use message::{ChatMessage, ChatToolCall};
pub use mode::{ModeCache, StructuredMode};
pub use preset::{PRESETS, ProviderPreset, preset};
pub use reply::{ChatReply, FinishReason};
pub use request::{ChatRequest, ChatTool, ResponseFormat, ToolChoice};
pub use retry::{RetryLimits, RetryNotice};
pub use secret::LlmApiKey;
pub use socket::TextSocket;
pub use structured::{
    StructuredAttempt, StructuredError, StructuredValue, ValueSpec, structured, structured_with_lookups,
};
pub use usage::LlmUsage;
pub use whole_json::whole_json;
