//! `uwf config …`

mod edit;
mod get;
mod list;
mod path;
mod set;
mod unset;
pub(crate) mod validate;

use serde_json::Value;
use uwf_core::config::edit::{EditError, KeyPath, values as values_of};
use uwf_engine::configure;
use uwf_engine::error::{Error, Kind};

use crate::context::Context;
use crate::error::CommandError;
use crate::printer::CommandResult;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Print the value of a key.
    Get(get::Args),
    /// Change one value; comments and everything else in the file stay as they are.
    Set(set::Args),
    /// Remove a key.
    Unset(unset::Args),
    /// Edit the whole file in your editor; it is replaced once it is valid.
    Edit(edit::Args),
    /// List what is set.
    List(list::Args),
    /// Tell everything that is wrong with the configuration, on this machine.
    Validate(validate::Args),
    /// Print where the configuration is.
    Path(path::Args),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  uwf config set agents.coder '{command: codex, args: [exec, \"-\"], output: text}'
  uwf config set defaultAgent coder
  uwf config get agents.coder.command
  uwf config validate

A key that holds a dot is quoted: models.\"gpt-4.1\".name";

/// Runs a command of the group.
pub(crate) fn run(context: &Context, command: Command) -> CommandResult {
    match command {
        Command::Get(args) => get::run(context, &args),
        Command::Set(args) => set::run(context, &args),
        Command::Unset(args) => unset::run(context, &args),
        Command::Edit(args) => edit::run(context, &args),
        Command::List(args) => list::run(context, &args),
        Command::Validate(args) => validate::run(context, &args),
        Command::Path(args) => path::run(context, &args),
    }
}

/// A key as it was typed.
fn key(text: &str) -> Result<KeyPath, CommandError> {
    text.parse().map_err(|error| {
        CommandError::usage(format!("not a key: {error}"))
            .hint("keys are joined by dots: agents.coder.command; a key with a dot in it is quoted: models.\"gpt-4.1\"")
    })
}

/// What the file says, null when there is none.
fn values(context: &Context) -> Result<Value, CommandError> {
    let path = context.home.config_file();
    let text = configure::read(&path)?;
    values_of(&text, &path.display().to_string()).map_err(|error| {
        let error = match error {
            EditError::Unreadable(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
            EditError::NotAMapping { .. } | EditError::Entangled { .. } => error.to_string(),
        };
        Error::new(Kind::Config, error).hint("`uwf config validate` shows the lines").into()
    })
}
