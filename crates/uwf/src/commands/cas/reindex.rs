//! `uwf cas reindex`

use serde::Serialize;
use uwf_engine::verbs::reindex::{self, Reindexed};

use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};
use crate::progress::Progress;
use crate::style;

/// Arguments of `uwf cas reindex`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas reindex

The cache is never needed and never wrong: this only makes the next commands fast, after a restore from a backup, say. \
Temporary files that crashed writers left more than an hour ago are removed.")]
pub(crate) struct Args {}

#[derive(Serialize)]
struct Done {
    /// `ok`, or `problems`: an earlier command said it in this word.
    status: &'static str,
    #[serde(flatten)]
    done: Reindexed,
}

impl Report for Done {
    fn text(&self) -> String {
        let Reindexed { nodes, threads, steps, temp_files, problems } = &self.done;
        let mut text: String =
            problems.iter().map(|problem| format!("{} {problem}\n", style::yellow("not readable:"))).collect();
        text.push_str(&format!(
            "{nodes} nodes, {threads} threads with {steps} steps; {temp_files} temporary files removed\n"
        ));
        text
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, _args: &Args) -> CommandResult {
    let mut progress = Progress::new(context.printer, "nodes and threads read");
    let done = reindex::reindex(&context.home, &mut |count| progress.at(count))?;
    drop(progress);
    if !done.problems.is_empty() {
        context.printer.warn("some nodes are not readable; `uwf cas verify` tells what is wrong with each");
    }
    let status = if done.problems.is_empty() { "ok" } else { "problems" };
    Printed::new(&Done { status, done })
}
