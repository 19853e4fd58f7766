//! `uwf config unset`

use clap_complete::engine::ArgValueCompleter;
use uwf_engine::root::config_file::ConfigChange;

use super::{key, set};
use crate::complete;
use crate::context::CommandContext;
use crate::printer::CommandResult;

/// Arguments of `uwf config unset`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf config unset agents.coder.timeout
  uwf config unset agentOverrides.solve-issue

Removes the key and everything below it; comments and the rest of the file stay. A key that is not set is not an error.")]
pub(crate) struct Args {
    /// The key, its parts joined by dots.
    #[arg(add = ArgValueCompleter::new(complete::config_keys))]
    key: String,
}

/// Removes a key.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let path = key(&args.key)?;
    set::done(context, &path, None, ConfigChange::Unset(path.clone()))
}
