//! What an agent is made of: its context, the prompt, the way from its answer to a stored step.
//!
//! It is a crate of its own so that an agent written in Rust needs this and nothing else, and so that the built-in
//! agents are made of exactly what everybody else's are. The whole of an agent is [`create_agent`]: see its example.

pub mod agent;
pub mod answer;
pub mod briefing;
pub mod context;
pub mod frames;
pub mod ladder;
pub mod mcp;
pub mod play;
pub mod recorder;
pub mod spawn;
pub mod submit;
pub mod submitted;
mod told;

pub use agent::{DESCRIBE_ARGUMENT, create_agent, create_described_agent};
pub use answer::{Answer, Turn};
pub use context::Context;
pub use play::{Agent, play};
pub use recorder::Recorder;
pub use told::ToldStep;
pub use uwf_core::config::AgentDescription;
pub use uwf_engine::error::{Error, Kind, Result};
