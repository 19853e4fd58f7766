//! `uwf recover`

use serde::Serialize;
use uwf_engine::error::ErrorKind;
use uwf_engine::verbs::recover::{self, Finding, Recovered, Row};

use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};
use crate::style;
use crate::table::count;

/// Arguments of `uwf recover`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf recover --dry-run
  uwf recover
  uwf recover --dry-run | jq '.threads[] | select(.finding != \"kept\")'

For an index of threads (threads.yaml) that is damaged, lost, or restored from an old backup. Where a thread stands is \
read from the index as far as it is readable, from the records of its attempts, and from the history. The old file is \
kept beside the new one as threads.yaml.broken-TIME. uwf's own node types are stored again if damaged. Exit 65 when there are threads of which nothing says where they \
stand.")]
pub(crate) struct Args {
    /// Only report what would be done.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecoverReport {
    dry_run: bool,
    #[serde(flatten)]
    recovered: Recovered,
}

impl Report for RecoverReport {
    fn text(&self) -> String {
        let Recovered { index, fault, changed, kept_as, threads, problems } = &self.recovered;
        let mut text: String =
            fault.iter().chain(problems).map(|fault| format!("{} {fault}\n", style::red("✗"))).collect();
        let (kept, others): (Vec<&Row>, Vec<&Row>) = threads.iter().partition(|row| row.finding == Finding::Kept);
        text.extend(others.into_iter().map(line));
        let index = index.display();
        text.push_str(&match (changed, self.dry_run) {
            (false, _) => format!("{index} is as it should be, with {}\n", count(kept.len(), "thread")),
            (true, true) => format!("{index} would be written anew; {} as before\n", count(kept.len(), "thread")),
            (true, false) => format!("{index} was written anew; {} as before\n", count(kept.len(), "thread")),
        });
        text.extend(kept_as.iter().map(|path| format!("the old one is {}\n", path.display())));
        text
    }

    fn exit_code(&self) -> u8 {
        let lost = self.recovered.threads.iter().any(|row| row.finding == Finding::Lost);
        if lost { ErrorKind::Data.exit_code() } else { 0 }
    }
}

fn line(row: &Row) -> String {
    let finding = match row.finding {
        Finding::Kept => "kept".to_owned(),
        Finding::Restored => style::green("restored"),
        Finding::Moved => style::green("moved"),
        Finding::Archived => style::green("archived"),
        Finding::Differs => style::yellow("differs"),
        Finding::Lost => style::red("lost"),
    };
    let head = row.head.map(|head| format!(" at {head}")).unwrap_or_default();
    let from = row.from.map(|from| format!(", from {}", from.told())).unwrap_or_default();
    let before = row.before.map(|before| format!(" (was {before})")).unwrap_or_default();
    let note = row.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    format!("{}  {finding}{head}{from}{before}{note}\n", style::bold(row.thread.as_str()))
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let recovered = recover::recover(&context.home, args.dry_run)?;
    Printed::new(&RecoverReport { dry_run: args.dry_run, recovered })
}
