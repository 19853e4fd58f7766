//! `uwf workflow graph`

use clap_complete::engine::ArgValueCompleter;
use std::collections::BTreeMap;

use json_cas::Hash;
use serde::Serialize;
use uwf_core::workflow::{Transition, mermaid};
use uwf_engine::thread::nodes;

use crate::complete;
use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};

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

#[derive(Serialize)]
struct Drawn {
    hash: Hash,
    name: String,
    graph: BTreeMap<String, Vec<Transition>>,
    mermaid: String,
}

impl Report for Drawn {
    fn text(&self) -> String {
        self.mermaid.clone()
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let hash = context.workflow(&args.workflow)?;
    let workflow = nodes::workflow(context.home.store(), hash)?;
    let mermaid = mermaid(&workflow);
    Printed::new(&Drawn { hash, name: workflow.name, graph: workflow.graph, mermaid })
}
