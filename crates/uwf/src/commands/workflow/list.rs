//! `uwf workflow list`

use serde::Serialize;
use uwf_engine::verbs::workflows::{self, NamedWorkflow};

use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;
use crate::table::TextTable;

/// Arguments of `uwf workflow list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow list
  uwf workflow list | jq -r '.[].name'

`origin` is `registry`, or the file of the project's .workflows directory, which takes precedence when both have a name.
`timestamp` is when the registry gave the name to this version, in Unix milliseconds.")]
pub(crate) struct Args {}

#[derive(Serialize)]
#[serde(transparent)]
struct WorkflowRow(Vec<NamedWorkflow>);

impl CommandReport for WorkflowRow {
    fn text(&self) -> String {
        if self.0.is_empty() {
            return "no workflows yet; `uwf workflow put FILE` stores one\n".to_owned();
        }
        let mut table = TextTable::new(&["name", "hash", "origin"]).flexible([0]);
        for NamedWorkflow { name, hash, origin, problem, .. } in &self.0 {
            let hash = hash.map_or_else(|| "-".to_owned(), |hash| hash.to_string());
            let problem =
                problem.as_ref().map(|problem| format!("  {} {problem}", style::red("!"))).unwrap_or_default();
            table.row(vec![style::bold(name), hash, format!("{origin}{problem}")]);
        }
        table.text()
    }
}

/// Lists the workflows.
pub(crate) fn run(context: &CommandContext, _args: &Args) -> CommandResult {
    PrintableReport::new(&WorkflowRow(workflows::list(&context.home, &context.cwd)?))
}
