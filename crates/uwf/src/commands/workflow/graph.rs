//! `uwf workflow graph`

use clap_complete::engine::ArgValueCompleter;
use serde_json::json;
use uwf_core::workflow::mermaid;
use uwf_engine::thread::nodes;

use crate::complete;
use crate::context::Context;
use crate::printer::{CommandResult, Printed};

/// Arguments of `uwf workflow graph`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow graph solve-issue
  uwf workflow graph flows/solve-issue.yaml > graph.mmd
  uwf workflow graph solve-issue --format json | jq .graph

Always Mermaid, also in a pipe, unless --format asks for data.")]
pub(crate) struct Args {
    /// The workflow: a file, a name, or a hash.
    #[arg(value_name = "NAME|HASH|FILE")]
    #[arg(add = ArgValueCompleter::new(complete::workflows))]
    workflow: String,
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let hash = context.workflow(&args.workflow)?;
    let workflow = nodes::workflow(context.home.store(), hash)?;
    let mermaid = mermaid(&workflow);
    let value = json!({ "hash": hash, "name": workflow.name, "graph": workflow.graph, "mermaid": mermaid });
    Ok(Printed::of(value, mermaid))
}
