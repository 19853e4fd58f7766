//! Talks to language models: chat completions of OpenAI-compatible endpoints and Anthropic messages.
//!
//! It is a crate of its own because it is the only HTTP client: TLS and its dependencies stay behind this door, and it
//! knows nothing of workflows. Requests and replies are JSON values at the edge, so that nothing a provider says is lost:
//! [`Reply::raw`] is the whole of it.
//!
//! [`Client::chat`] is one exchange, with retries; [`structured()`] gets one JSON value of a schema out of whatever way
//! the model offers, and [`structured_with_lookups()`] lets it look something up before; [`Client::models`] lists what can
//! be talked to.

mod anthropic;
mod client;
mod endpoint;
pub mod error;
mod find_json;
mod http;
mod lookups;
mod message;
mod mode;
mod openai;
mod preset;
mod reply;
mod request;
pub mod retry;
mod secret;
pub mod sse;
mod stream;
pub mod strict;
mod structured;
mod usage;

pub use client::Client;
pub use endpoint::{Endpoint, Wire};
pub use error::{Error, Result, Waited};
pub use find_json::find_json;
pub use http::Timeouts;
pub use lookups::{LookedUp, Lookups};
pub use message::{Message, ToolCall};
pub use mode::{Mode, ModeCache};
pub use preset::{PRESETS, Preset, preset};
pub use reply::{Finish, Reply};
pub use request::{ChatRequest, ResponseFormat, Tool, ToolChoice};
pub use retry::{Retry, Retrying};
pub use secret::Secret;
pub use stream::Delta;
pub use structured::{Attempt, Shape, Structured, Unstructured, structured, structured_with_lookups};
pub use usage::Usage;
