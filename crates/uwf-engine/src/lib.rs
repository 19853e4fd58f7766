//! The shell of uwf: everything that touches files, processes and clocks.
//!
//! It is a separate crate so that every way of driving threads (the command, a server, a test) shares one implementation of the step.
//! Start reading at [`verbs::step`]: moderator → agent → extract → persist.
//!
//! There are five layers, and each uses only the layers to its left: [`root`], the storage root and its files; [`thread`], reading
//! threads; [`attempt`], one attempt at a role; [`views`], what pages and reports show; [`verbs`], one file per command. A test asserts
//! this.
//!
//! A storage root is a [`root::home::Home`]; a verb is a function that takes one:
//!
//! ```
//! use uwf_core::moderator::NextAction;
//! use uwf_engine::root::home::Home;
//! use uwf_engine::thread::{load::Thread, moderate};
//! use uwf_engine::verbs::{put, start};
//! use uwf_engine::views::show;
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
//! put::put(&home, &file, &put::PutOptions::default())?;
//!
//! let request = start::StartRequest {
//!     workflow: "say-hello".into(),
//!     prompt: "Greet the world".into(),
//!     workspace: dir.into(),
//!     ..start::StartRequest::default()
//! };
//! let started = start::start(&home, &request, dir)?;
//! assert_eq!(show::show(&home, &started.thread)?.steps, 0);
//!
//! let (thread, _head) = Thread::active(&home, &started.thread)?;
//! let decision = moderate::next(&thread, &thread.workflow()?)?;
//! assert_eq!(decision.next, NextAction::Role("greeter".into()));
//! # Ok(())
//! # }
//! ```

pub mod attempt;
pub mod error;
pub mod root;
pub mod thread;
pub mod verbs;
pub mod views;

mod attempt_variable;
pub mod ownership;
