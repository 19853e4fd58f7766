//! `uwf store …`

mod copy;
mod init;
mod show;

use crate::context::CommandContext;
use crate::printer::CommandResult;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Show the store of nodes and heads, and check that it works.
    Show(show::Args),
    /// Prepare a shared store: its format in a bucket, its tables in a database.
    Init(init::Args),
    /// Copy threads and workflows from one store to another.
    Copy(copy::Args),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  uwf store show
  UWF_STORE_URL=s3://team-bucket/uwf uwf store init
  uwf store copy . s3://team-bucket/uwf

Nodes and heads are files of the storage root unless UWF_STORE_URL, or `store: {url: …}` in config.yaml, names a store
that several machines share: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX (Google), az://CONTAINER/PREFIX (Azure) or
postgres://HOST/DATABASE. Locks, records, settings and caches stay on each machine. `uwf help shared-store` has the rest.";

/// Runs a command of the group.
pub(crate) fn run(context: &CommandContext, command: Command) -> CommandResult {
    match command {
        Command::Show(args) => show::run(context, &args),
        Command::Init(args) => init::run(context, &args),
        Command::Copy(args) => copy::run(context, &args),
    }
}
