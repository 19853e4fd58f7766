//! `uwf pack`

use std::time::Duration;

use json_cas::NodeHash;
use serde::Serialize;
use uwf_engine::error::ErrorKind;
use uwf_engine::verbs::pack::{self, AbandonedPack, PackSummary, PackThreads, UnpackSummary};

use crate::context::CommandContext;
use crate::duration;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::progress::ProgressCounter;
use crate::style;
use crate::table::count;

/// Arguments of `uwf pack`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf pack --dry-run
  uwf pack --older-than 7d
  uwf pack | jq .diskAfter
  uwf pack --undo                 before another implementation reads the store
  uwf pack --forget 2XY1PEX26ZD0Y a pack that is damaged for good

Moves the nodes of ended threads, one file each, into one compressed file, cas/packs/NAME.pack. All commands read packed \
nodes as before, including nodes that active threads share. Files are removed only after the pack was read back from the disk \
and compared. Running this while threads run is safe. Named workflows keep their files. Programs that read cas/*.bin \
themselves do not find packed nodes: `--undo` restores the files. Unreadable nodes are listed, with exit 65.")]
pub(crate) struct Args {
    /// Only threads that ended so long ago: `90s`, `15m`, `24h`, `7d`.
    #[arg(long, value_name = "DURATION", default_value = "0s", hide_default_value = true, value_parser = duration::given)]
    older_than: Duration,
    /// Only report what would be packed: compress the nodes, but write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Give every node in a pack a file again, and remove the packs.
    #[arg(long, conflicts_with_all = ["older_than", "dry_run"])]
    undo: bool,
    /// Give up a damaged or missing pack without a backup: readable nodes become files, the rest is lost.
    #[arg(long, value_name = "PACK", conflicts_with_all = ["older_than", "dry_run", "undo"])]
    forget: Option<NodeHash>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PackReport {
    dry_run: bool,
    #[serde(flatten)]
    packed: PackSummary,
}

impl CommandReport for PackReport {
    fn text(&self) -> String {
        let PackSummary {
            packed_threads,
            packed_nodes,
            left_nodes,
            bytes_before,
            bytes_after,
            disk_before,
            disk_after,
            packs,
            ref not_reclaimed,
        } = self.packed;
        let verb = if self.dry_run { "would pack" } else { "packed" };
        let nodes = style::bold(&count(packed_nodes, "node"));
        let mut text = format!("{verb} {nodes} of {}", count(packed_threads, "thread"));
        if packed_nodes > 0 {
            text.push_str(&format!(
                ": {bytes_before} bytes become {bytes_after}, on the disk {disk_before} become {disk_after}"
            ));
        }
        text.push('\n');
        if left_nodes > 0 {
            text.push_str(&format!(
                "{} left as files: corrupt (`uwf cas verify` names them), or just put again\n",
                count(left_nodes, "node")
            ));
        }
        text.push_str(&format!("there {} {}\n", if packs == 1 { "is" } else { "are" }, count(packs, "pack")));
        if let Some(why) = not_reclaimed {
            text.push_str(&format!("small packs were not merged: {why}\n"));
        }
        text
    }
}

impl CommandReport for UnpackSummary {
    fn text(&self) -> String {
        let nodes = style::bold(&count(self.unpacked_nodes, "node"));
        let packs = count(self.removed_packs, "pack");
        format!("{}wrote {nodes}, {} bytes, as files; removed {packs}\n", unreadable(self), self.bytes)
    }

    fn exit_code(&self) -> u8 {
        let is_whole = self.unreadable.is_empty() && self.damaged_packs.is_empty();
        if is_whole { 0 } else { ErrorKind::Data.exit_code() }
    }
}

impl CommandReport for AbandonedPack {
    fn text(&self) -> String {
        let AbandonedPack { pack, moved_to, unpacked } = self;
        let nodes = count(unpacked.unpacked_nodes, "node");
        let file = moved_to.as_ref().map(|path| format!("; its file is {} now", path.display())).unwrap_or_default();
        format!(
            "{}gave up pack {}{file}\n{nodes} in the pack could be read and have files; `uwf cas verify` shows what \
             is missing now\n",
            unreadable(unpacked),
            style::bold(&pack.to_string()),
        )
    }
}

/// One line for each unreadable node and each damaged pack.
fn unreadable(unpacked: &UnpackSummary) -> String {
    let mark = style::red("not readable:");
    let nodes = unpacked.unreadable.iter().map(|node| format!("{mark} {}: {}\n", node.hash, node.reason));
    let packs = unpacked.damaged_packs.iter().map(|pack| format!("{mark} {}: {}\n", pack.path.display(), pack.reason));
    nodes.chain(packs).collect()
}

/// Packs nodes, unpacks them with `--undo`, or gives up a damaged pack with `--forget`.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let mut progress = ProgressCounter::new(context.printer, if args.undo { "nodes written" } else { "nodes read" });
    if args.undo {
        let unpacked = pack::unpack(&context.home, &mut |count| progress.show_count(count))?;
        drop(progress);
        return PrintableReport::new(&unpacked);
    }
    if let Some(pack) = args.forget {
        return PrintableReport::new(&pack::forget(&context.home, pack)?);
    }
    let request = PackThreads { older_than: args.older_than, dry_run: args.dry_run };
    let packed = pack::pack(&context.home, request, &mut |count| progress.show_count(count))?;
    drop(progress);
    PrintableReport::new(&PackReport { dry_run: args.dry_run, packed })
}
