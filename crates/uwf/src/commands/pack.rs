//! `uwf pack`

use std::time::Duration;

use serde::Serialize;
use uwf_core::document::parse_duration;
use uwf_engine::verbs::pack::{self, PackThreads, Packed, Unpacked};

use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};
use crate::progress::Progress;
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

The nodes of threads that have ended move from a file each into one compressed file, cas/packs/NAME.pack. Every command \
reads, forks, verifies and removes them there as before; nodes that active threads share with them may be among them. Each \
pack is read back from the disk and compared before a file is removed. Others may start, step and read threads \
meanwhile. Workflows with a name stay in their files. Programs that read cas/*.bin themselves do not find what is in \
packs: `--undo` writes all of it back.")]
pub(crate) struct Args {
    /// Only threads that ended so long ago: `90s`, `15m`, `24h`, `7d`.
    #[arg(long, value_name = "DURATION", default_value = "0s", hide_default_value = true, value_parser = duration)]
    older_than: Duration,
    /// Only report what would be packed; compresses all of it, and writes nothing.
    #[arg(long)]
    dry_run: bool,
    /// Give every node in a pack a file again, and remove the packs.
    #[arg(long, conflicts_with_all = ["older_than", "dry_run"])]
    undo: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "a duration is a number with a unit: 90s, 15m, 24h, 7d".to_owned())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PackReport {
    dry_run: bool,
    #[serde(flatten)]
    packed: Packed,
}

impl Report for PackReport {
    fn text(&self) -> String {
        let Packed {
            packed_threads,
            packed_nodes,
            left_nodes,
            bytes_before,
            bytes_after,
            disk_before,
            disk_after,
            packs,
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
        text
    }
}

#[derive(Serialize)]
struct UnpackReport {
    #[serde(flatten)]
    unpacked: Unpacked,
}

impl Report for UnpackReport {
    fn text(&self) -> String {
        let Unpacked { unpacked_nodes, bytes, removed_packs } = self.unpacked;
        let nodes = style::bold(&count(unpacked_nodes, "node"));
        format!("wrote {nodes}, {bytes} bytes, as files; removed {}\n", count(removed_packs, "pack"))
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let mut progress = Progress::new(context.printer, if args.undo { "nodes written" } else { "nodes read" });
    if args.undo {
        let unpacked = pack::unpack(&context.home, &mut |count| progress.at(count))?;
        drop(progress);
        return Printed::new(&UnpackReport { unpacked });
    }
    let request = PackThreads { older_than: args.older_than, dry_run: args.dry_run };
    let packed = pack::pack(&context.home, request, &mut |count| progress.at(count))?;
    drop(progress);
    Printed::new(&PackReport { dry_run: args.dry_run, packed })
}
