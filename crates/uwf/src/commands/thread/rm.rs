//! `uwf thread rm`

use serde_json::json;
use uwf_engine::attempt::worktree::Removed;
use uwf_engine::verbs::rm;

use super::which::Which;
use crate::context::Context;
use crate::printer::{CommandResult, Printed};
use crate::style;

/// Arguments of `uwf thread rm`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread rm 7Q2M\n\nAn active thread is refused: `uwf thread kill` ends it first. No node is deleted: who has the hash of a step can\nstill read it, and fork from it. The git worktree of a thread is removed with it, unless it has uncommitted changes;\nits branch is kept as long as no other has all of its commits."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Remove its git worktree, too, though there are uncommitted changes in it.
    #[arg(long)]
    discard: bool,
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let thread = context.thread(args.which.typed())?;
    let removed = rm::remove(&context.home, &thread, args.discard)?;
    let mut text = format!("removed thread {} from the history\n", style::bold(thread.as_str()));
    let mut report = json!({ "thread": thread, "archived": false });
    if let Some(Removed { dir, kept_branch }) = &removed {
        text.push_str(&format!("removed its worktree {}\n", dir.display()));
        if let Some(branch) = kept_branch {
            text.push_str(&format!("its branch {branch} stays: no other has all of its commits\n"));
        }
        report["worktree"] = json!(removed);
    }
    Ok(Printed::of(report, text))
}
