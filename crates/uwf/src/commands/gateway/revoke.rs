//! `uwf gateway revoke`

use serde_json::json;
use uwf_engine::error::ErrorKind;
use uwf_server::{MachineName, MachineTokens};

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf gateway revoke`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf gateway revoke laptop

A running server ends the machine's connection within some seconds.")]
pub(crate) struct Args {
    /// Name of the machine at the gateway.
    #[arg(value_parser = super::name)]
    name: MachineName,
}

/// Revokes the token of a machine.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let had_one = MachineTokens::of_root(&context.home).revoke(&args.name).map_err(|error| super::failure(&error))?;
    if !had_one {
        return Err(CommandError::new(ErrorKind::NotFound, format!("{} has no token", args.name))
            .hint("`uwf gateway list` shows which machines have one"));
    }
    let text = format!("the token of {} is no longer valid\n", style::bold(args.name.as_str()));
    Ok(PrintableReport::value_with_text(json!({ "name": args.name.as_str(), "revoked": true }), text))
}
