//! The pure core of uwf: what a workflow is, which role comes next, what an agent is told, what its answer means.
//!
//! It is a crate of its own so that purity can be enforced: nothing here does I/O or reads a clock or the
//! environment (fenced by this crate's `clippy.toml`). Functions take values and return values; what needs the
//! outside world is returned as an effect for `uwf-engine` to carry out.

pub mod config;
pub mod escapes;
pub mod extract;
pub mod foreign;
pub mod moderator;
pub mod node;
pub mod prompt;
pub mod thread;
pub mod view;
pub mod workflow;
