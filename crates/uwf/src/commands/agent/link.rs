//! `uwf agent link`

use std::path::PathBuf;

use serde_json::{Value, json};
use uwf_engine::verbs::agent_link::{self, AgentLink};

use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf agent link`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf agent link ~/.local/bin
  uwf-hermes 01ARZ3NDEKTSV4RRFFQ69G5FAV coder     once that directory is on PATH

A step needs no links: a command `uwf-NAME` in the configuration always runs the built-in agent. If another program
has one of the names, the command changes nothing.")]
pub(crate) struct Args {
    /// The directory; created if missing.
    dir: PathBuf,
}

/// Creates links for the built-in agents.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let linked = agent_link::link(context.home.bin(), &context.cwd.join(&args.dir))?;
    let line = |link: &AgentLink| format!("{}{}\n", link.path.display(), if link.made { "" } else { " (was there)" });
    let entry = |link: &AgentLink| json!({ "path": link.path.display().to_string(), "made": link.made });
    let links: Vec<Value> = linked.iter().map(entry).collect();
    Ok(PrintableReport::value_with_text(json!({ "links": links }), linked.iter().map(line).collect::<String>()))
}
