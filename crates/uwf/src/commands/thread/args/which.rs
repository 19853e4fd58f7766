//! The thread argument of a command.

use crate::complete;
use clap_complete::engine::ArgValueCompleter;
use uwf_core::thread::ThreadId;

/// The thread a command is about.
#[derive(Debug, clap::Args)]
pub(crate) struct ThreadArg {
    /// The thread: its id, a unique start or end of the id, or @ for the newest of this project, @2 for the one before.
    #[arg(required_unless_present = "last", conflicts_with = "last")]
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    thread: Option<String>,
    /// The newest thread of this project, like @.
    #[arg(long)]
    last: bool,
}

/// The option that selects the threads of a project.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct HereArg {
    /// Only threads of this project: the git repository here, or the directory with .workflows.
    #[arg(long)]
    pub(crate) here: bool,
}

/// The argument for the newest thread.
pub(crate) const NEWEST: &str = "@";

impl ThreadArg {
    /// Names a known thread.
    pub(crate) fn named(thread: &ThreadId) -> ThreadArg {
        ThreadArg { thread: Some(thread.to_string()), last: false }
    }

    /// The argument as typed.
    pub(crate) fn typed(&self) -> &str {
        self.thread.as_deref().unwrap_or(NEWEST)
    }
}
