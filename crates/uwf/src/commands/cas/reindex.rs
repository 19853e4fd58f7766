//! `uwf cas reindex`

use serde_json::{Value, json};
use uwf_engine::verbs::reindex::{self, ReindexReport};

use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};
use crate::progress::ProgressCounter;
use crate::style;
use crate::table::count;

/// Arguments of `uwf cas reindex`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas reindex

The cache is optional and always correct: rebuild it to speed up the next commands, for example after a restore from a
backup. \
Temporary files that crashed writers left more than an hour ago are removed.")]
pub(crate) struct Args {}

/// Rebuilds the caches.
pub(crate) fn run(context: &CommandContext, _args: &Args) -> CommandResult {
    let mut progress = ProgressCounter::new(context.printer, "nodes and threads read");
    let done = reindex::reindex(&context.home, &mut |count| progress.show_count(count))?;
    drop(progress);
    if !done.problems.is_empty() {
        context.printer.warn("some nodes are not readable; `uwf cas verify` shows the problem of each");
    }
    let ReindexReport { nodes, threads, steps, temp_files, problems } = &done;
    let mut text: String =
        problems.iter().map(|problem| format!("{} {problem}\n", style::yellow("not readable:"))).collect();
    text.push_str(&format!(
        "{}, {} with {}; {} removed\n",
        count(*nodes, "node"),
        count(*threads, "thread"),
        count(*steps, "step"),
        count(*temp_files, "temporary file")
    ));
    // The status in older versions' reports.
    let mut value = json!({ "status": if problems.is_empty() { "reindexed" } else { "problems" } });
    if let (Some(entries), Value::Object(done)) = (value.as_object_mut(), json!(done)) {
        entries.extend(done);
    }
    Ok(PrintableReport::value_with_text(value, text))
}
