//! `uwf gateway token`

use serde_json::json;
use uwf_server::{MachineName, MachineTokens};

use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf gateway token`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf gateway token laptop
  uwf --format json gateway token laptop | jq -r .token

On the machine itself:
  WORKFLOW_GATEWAY_TOKEN=… uwf connect --name laptop --gateway https://gateway.example

A machine with this token can serve pages under its name to everyone who is logged in at the gateway. Give the token only to \
machines that you trust as much as the gateway.")]
pub(crate) struct Args {
    /// Name of the machine at the gateway.
    #[arg(value_parser = super::name)]
    name: MachineName,
}

/// Creates a token for a machine.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    context.home.make_root()?;
    let token = MachineTokens::of_root(&context.home).make(&args.name).map_err(|error| super::failure(&error))?;
    let text = format!(
        "{token}\nThe token of {}. It is not shown again; on that machine put it into WORKFLOW_GATEWAY_TOKEN.\n",
        style::bold(args.name.as_str())
    );
    Ok(PrintableReport::value_with_text(json!({ "name": args.name.as_str(), "token": token }), text))
}
