//! The head that a command was made for.

use clap_complete::engine::ArgValueCompleter;
use json_cas::NodeHash;

use crate::complete;

/// The head that a command was made for.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct ExpectHead {
    /// Exit with 75, and change nothing, unless this is the head of the thread.
    #[arg(long = "expect-head", value_name = "HASH", add = ArgValueCompleter::new(complete::hashes))]
    pub(crate) expected: Option<NodeHash>,
}
