//! `uwf workflow history`

use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use uwf_engine::verbs::workflows::{self, WorkflowVersion};

use crate::complete;
use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;
use crate::table::{self, TextTable};

/// Arguments of `uwf workflow history`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow history solve-issue
  uwf workflow history solve-issue | jq -r '.[1].hash'      the version before this one

Newest first. `timestamp` is the time at which the version got the name, in Unix milliseconds; 0 if it is unknown.")]
pub(crate) struct Args {
    /// The name.
    #[arg(add = ArgValueCompleter::new(complete::workflow_names))]
    name: String,
}

#[derive(Serialize)]
#[serde(transparent)]
struct WorkflowHistoryReport(Vec<WorkflowVersion>);

impl CommandReport for WorkflowHistoryReport {
    fn text(&self) -> String {
        let mut table = TextTable::new(&["hash", "since"]);
        for WorkflowVersion { hash, timestamp, current } in &self.0 {
            let since = if *timestamp == 0 { "-".to_owned() } else { table::time(*timestamp) };
            let mark = if *current { format!("  {}", style::green("current")) } else { String::new() };
            table.row(vec![hash.to_string(), format!("{since}{mark}")]);
        }
        table.text()
    }
}

/// Lists the versions of a workflow.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    PrintableReport::new(&WorkflowHistoryReport(workflows::history(&context.home, &args.name, &context.cwd)?))
}
