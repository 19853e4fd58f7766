//! The parts of an agent: its context, the prompt, and the way from its answer to a stored step.
//!
//! It is a separate crate, so that an agent in Rust only depends on this one, and the built-in agents use the same parts as all others. An
//! agent can be a single function from its context to its answer. [`create_agent`] turns it into a program:
//!
//! ```
//! use agent_kit::{AgentAnswer, AgentContext, Result, create_agent};
//! use serde_json::json;
//!
//! fn work(context: &AgentContext<'_>) -> Result<AgentAnswer> {
//!     let words = context.task().split_whitespace().count();
//!     Ok(AgentAnswer::value(json!({ "words": words })))
//! }
//!
//! # #[allow(dead_code)]
//! # mod program {
//! # use super::{create_agent, work};
//! fn main() -> std::process::ExitCode {
//!     create_agent(work)
//! }
//! # }
//! #
//! # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
//! # use uwf_engine::root::home::Home;
//! # use uwf_engine::verbs::{put, start};
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! # let home = Home::open(dir.join("root"), "uwf");
//! # let file = dir.join("say-hello.yaml");
//! # std::fs::write(&file, "
//! # name: say-hello
//! # roles:
//! #   greeter:
//! #     meta: { type: object, properties: { words: { type: integer } }, required: [words] }
//! # graph:
//! #   $START: [ { role: greeter } ]
//! #   greeter: [ { role: $END } ]
//! # ")?;
//! # put::put(&home, &file, &put::PutOptions::default())?;
//! # let request = start::StartRequest {
//! #     workflow: "say-hello".into(),
//! #     prompt: "Greet the world".into(),
//! #     workspace: dir.into(),
//! #     ..start::StartRequest::default()
//! # };
//! # let thread = start::start(&home, &request, dir)?.thread;
//! # let context = AgentContext::load(&home, &thread, "greeter")?;
//! # assert_eq!(work(&context)?.value, Some(json!({ "words": 3 })));
//! # Ok(())
//! # }
//! ```

pub mod agent;
pub mod answer;
pub mod context;
pub mod context_report;
pub mod failure_notice;
pub mod json_rpc;
pub mod ladder;
pub mod mcp;
mod output_check;
pub mod play;
mod question;
pub mod recorder;
pub mod spawn;
mod steps;
pub mod submit;
pub mod submitted_value;

pub use agent::{create_agent, create_described_agent};
pub use answer::{AgentAnswer, AgentTurn};
pub use context::AgentContext;
pub use play::{Agent, play};
pub use question::{PERMISSION_NEEDED, ask_person, shown_option};
pub use recorder::TurnRecorder;
pub use uwf_core::config::{AgentDescription, DESCRIBE_ARGUMENT};
pub use uwf_core::thread::Step;
pub use uwf_engine::error::{Error, ErrorKind, Result};
