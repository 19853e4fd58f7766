//! Why the benchmark could not be run.

use std::io;
use std::path::{Path, PathBuf};

/// Result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong. A figure that cannot be taken for want of a tool is no error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a program.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was being done, a verb.
        action: &'static str,
        /// To what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A command that was to be measured failed, so its time means nothing.
    #[error("`{command}` failed ({status}): {stderr}")]
    Command {
        /// The command line.
        command: String,
        /// How it ended.
        status: String,
        /// What it said.
        stderr: String,
    },
    /// Cargo said why.
    #[error("the programs to be measured could not be built")]
    Build,
    /// Filling a store failed.
    #[error("cannot prepare the stores: {0}")]
    Seed(String),
    /// What was measured is not what was meant.
    #[error("the benchmark does not measure what it should: {0}")]
    Unexpected(String),
    /// A storage root or a thread could not be read or written.
    #[error("{0}")]
    Engine(#[from] uwf_engine::error::Error),
}

impl Error {
    /// For `map_err` on anything that touches a path.
    pub fn with_path(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { action, path: path.to_owned(), source }
    }
}
