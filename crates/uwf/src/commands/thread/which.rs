//! Which thread a command is about.

use crate::complete;
use clap_complete::engine::ArgValueCompleter;
use uwf_core::thread::ThreadId;

/// The thread a command is about.
#[derive(Debug, clap::Args)]
pub(crate) struct Which {
    /// The thread: its id, a unique start or end of the id, or @ for the newest, @2 for the one before.
    #[arg(required_unless_present = "last", conflicts_with = "last")]
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    thread: Option<String>,
    /// The newest thread, as @ is.
    #[arg(long)]
    last: bool,
}

/// What is typed for the newest thread.
pub(crate) const NEWEST: &str = "@";

impl Which {
    /// A thread that is known.
    pub(crate) fn named(thread: &ThreadId) -> Which {
        Which { thread: Some(thread.to_string()), last: false }
    }

    /// As it was typed.
    pub(crate) fn typed(&self) -> &str {
        self.thread.as_deref().unwrap_or(NEWEST)
    }
}
