//! `uwf gateway list`

use serde_json::{Value, json};
use uwf_core::view;
use uwf_server::MachineTokens;

use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf gateway list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf gateway list

The server knows which machines are connected: see GET /api/gateway/endpoints, or its page /machines.")]
pub(crate) struct Args {}

/// Lists the machines that have a token.
pub(crate) fn run(context: &CommandContext, _args: &Args) -> CommandResult {
    let all = MachineTokens::of_root(&context.home).all().map_err(|error| super::failure(&error))?;
    let rows: Vec<Value> = all.iter().map(|(name, kept)| json!({ "name": name, "madeAt": kept.made_at })).collect();
    let lines =
        all.iter().map(|(name, kept)| format!("{}  token made {} UTC\n", style::bold(name), view::time(kept.made_at)));
    let text: String = lines.collect();
    let text = if text.is_empty() { "no machine has a token\n".to_owned() } else { text };
    Ok(PrintableReport::value_with_text(Value::Array(rows), text))
}
