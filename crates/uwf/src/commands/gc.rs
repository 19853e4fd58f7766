//! `uwf gc`, also `uwf cas gc`

use std::time::Duration;

use serde::Serialize;
use uwf_core::view;
use uwf_engine::verbs::gc::{self, GcRequest, GcSummary};

use crate::context::CommandContext;
use crate::duration;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::progress::ProgressCounter;
use crate::style;
use crate::table::count;

/// Arguments of `uwf gc`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf gc --dry-run
  uwf gc
  uwf gc --grace 0s               when no program but uwf itself stores nodes
  uwf gc | jq .bytes

A node is in use if it can be reached from a thread, active or ended, from the record of a thread, from a named workflow or its \
earlier versions, or from the configuration. All other nodes are removed if they are older than the grace; `uwf thread rm` and \
`uwf workflow rm` make nodes unused. Git worktrees of threads that ended before the grace are removed as well, unless they have \
uncommitted changes, and so are the recorded files of removed threads. Running this while threads run is safe. If a node in use \
cannot be read, nothing is removed (exit 65, or 74 if the disk fails).")]
pub(crate) struct Args {
    /// Only report what would be removed.
    #[arg(long)]
    dry_run: bool,
    /// Keep younger nodes, and the nodes they reference: `90s`, `15m`, `24h`, `7d`.
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = duration::given)]
    grace: Duration,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GcReport {
    dry_run: bool,
    #[serde(flatten)]
    collected: GcSummary,
}

impl CommandReport for GcReport {
    fn text(&self) -> String {
        let GcSummary {
            scanned_threads,
            active_refs,
            young_entries,
            deleted_entries,
            bytes,
            open_since,
            open_thread,
            removed_worktrees,
            kept_worktrees,
            deleted_refs,
            not_reclaimed,
        } = &self.collected;
        let verb = if self.dry_run { "would remove" } else { "removed" };
        let nodes = style::bold(&count(*deleted_entries, "node"));
        let mut text = format!("{verb} {nodes}, {bytes} bytes\n");
        text.push_str(&format!(
            "{} in use by {} and names of workflows",
            count(*active_refs, "node"),
            count(*scanned_threads, "thread")
        ));
        if *young_entries > 0 {
            text.push_str(&format!("; {young_entries} unused kept, because they are young"));
        }
        text.push('\n');
        if *removed_worktrees > 0 {
            let removed = count(*removed_worktrees, "worktree");
            text.push_str(&format!("{verb} {removed} of ended threads: nothing in them is uncommitted\n"));
        }
        if *kept_worktrees > 0 {
            let kept = count(*kept_worktrees, "worktree");
            text.push_str(&format!("{kept} of ended threads kept: something in them is not committed\n"));
        }
        if *deleted_refs > 0 {
            text.push_str(&format!("{verb} {} to files of removed threads from git\n", count(*deleted_refs, "ref")));
        }
        if let Some(why) = not_reclaimed {
            text.push_str(&format!(
                "the room of nodes in packs was not given back, the next `uwf gc` does it: {why}\n"
            ));
        }
        if let (Some(since), Some(thread)) = (open_since, open_thread) {
            let since = view::time(*since);
            text.push_str(&format!("thread {thread} has an open attempt: nodes stored since {since} are kept\n"));
        }
        text
    }
}

/// Removes unreferenced nodes.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    if args.grace < context.home.least_grace() {
        context.printer.talk("note: other machines use this store, so nodes younger than 30 days are kept");
    }
    let mut progress = ProgressCounter::new(context.printer, "nodes read");
    let request = GcRequest { grace: args.grace, dry_run: args.dry_run };
    let collected = gc::collect(&context.home, request, &mut |count| progress.show_count(count))?;
    drop(progress);
    PrintableReport::new(&GcReport { dry_run: args.dry_run, collected })
}
