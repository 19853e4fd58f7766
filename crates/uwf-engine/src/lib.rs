//! The shell of uwf: everything that touches files, processes and clocks, one file per verb.
//!
//! It is a crate of its own so that every way of driving threads (the command, a server, a test) shares one
//! implementation of the step. Start reading at [`step`]: moderator → agent → extract → persist.
//!
//! A storage root is a [`home::Home`]; a verb is a function of it:
//!
//! ```
//! use uwf_core::moderator::Next;
//! use uwf_engine::{home::Home, load::Thread, moderate, put, show, start};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! let home = Home::open(dir.join("root"), "uwf");
//! let file = dir.join("say-hello.yaml");
//! std::fs::write(&file, "
//! name: say-hello
//! roles:
//!   greeter:
//!     goal: Say hello.
//!     meta: { type: object, properties: { words: { type: integer } }, required: [words] }
//! graph:
//!   $START: [ { role: greeter } ]
//!   greeter: [ { role: $END } ]
//! ")?;
//! put::put(&home, &file, true)?;
//!
//! let request = start::Request {
//!     workflow: "say-hello".into(),
//!     prompt: "Greet the world".into(),
//!     workspace: dir.into(),
//!     ..start::Request::default()
//! };
//! let started = start::start(&home, &request, dir)?;
//! assert_eq!(show::show(&home, &started.thread)?.steps, 0);
//!
//! let (thread, _head) = Thread::active(&home, &started.thread)?;
//! let decision = moderate::next(&thread, &thread.workflow()?)?;
//! assert_eq!(decision.next, Next::Role("greeter".into()));
//! # Ok(())
//! # }
//! ```

pub mod advisors;
pub mod agents;
pub mod answer;
pub mod attempts;
mod beginning;
pub mod bindings;
pub mod chain;
pub mod child;
pub mod children;
pub mod closure;
pub mod configure;
pub mod delegation;
pub mod digest;
pub mod doctor;
pub mod end;
pub mod env_file;
pub mod environment;
pub mod error;

pub mod evaluate;
pub mod expand;
pub mod fork;
pub mod hand;
pub mod history;
pub mod home;
pub mod ids;
pub mod keeper;
pub mod kill;
pub mod link;
pub mod list;
pub mod live_trace;
pub mod load;
pub mod lock;
pub mod log;
pub mod marks;
pub mod moderate;
pub mod overview;
pub mod pause;
pub mod persist;
pub mod plan;
pub mod processes;
pub mod program;
pub mod project;
pub mod put;
pub mod rebind;
pub mod rebuild;
mod record;
pub mod recover;
pub mod reextract;
pub mod registry;
pub mod reindex;
pub mod remove;
pub mod repair;
pub mod resolve;
pub mod roots;
pub mod salvage;
pub mod settings;
pub mod sharing;
pub mod show;
pub mod spoken;
pub mod start;
pub mod state;
pub mod step;
pub mod thread_ids;
pub mod told;
pub mod transcript;
pub mod turns;
pub mod type_index;
pub mod validate;
mod verdict;
pub mod verify;
