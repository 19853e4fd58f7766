//! `uwf recover`

use std::path::Path;

use serde::Serialize;
use uwf_engine::error::ErrorKind;
use uwf_engine::verbs::recover::{self, NamesRecovery, RecoveryFinding, RecoverySummary, ThreadRecovery};

use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;
use crate::table::count;

/// Arguments of `uwf recover`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf recover --dry-run
  uwf recover
  uwf recover --dry-run | jq '.threads[] | select(.finding != \"kept\")'

Use this if the thread index (threads.yaml) is damaged, lost, or restored from an old backup. Heads are read from the readable \
part of the index, the records of attempts, and the history. The old file is kept as threads.yaml.broken-TIME. Damaged node \
types of uwf are stored again. Exits with 65 if the head of a thread can't be determined.

On a shared store, use this if heads of threads, or names of workflows, are missing, damaged, or reference a missing node. They \
are restored from the notes in the store and the records of this machine, and lost nodes from the cache of this machine. Heads \
that another machine moves meanwhile are left alone.")]
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
    recovered: RecoverySummary,
}

impl CommandReport for RecoverReport {
    fn text(&self) -> String {
        let RecoverySummary { index, fault, kept_as, threads, names, problems, .. } = &self.recovered;
        let mut text: String =
            fault.iter().chain(problems).map(|fault| format!("{} {fault}\n", style::red("✗"))).collect();
        let is_silent = |row: &&ThreadRecovery| row.finding == RecoveryFinding::Kept && row.note.is_none();
        text.extend(threads.iter().filter(|row| !is_silent(row)).map(line));
        text.extend(names.iter().map(line_of_names));
        let kept = count(threads.iter().filter(|row| row.finding == RecoveryFinding::Kept).count(), "thread");
        text.push_str(&match index {
            Some(index) => self.about_index(index, &kept),
            None => self.about_store(&kept),
        });
        text.extend(kept_as.iter().map(|path| format!("the old index is now {}\n", path.display())));
        text
    }

    fn exit_code(&self) -> u8 {
        let RecoverySummary { threads, names, .. } = &self.recovered;
        let mut findings = threads.iter().map(|row| row.finding).chain(names.iter().map(|names| names.finding));
        if findings.any(|finding| finding == RecoveryFinding::Lost) { ErrorKind::Data.exit_code() } else { 0 }
    }
}

impl RecoverReport {
    fn about_index(&self, index: &Path, kept: &str) -> String {
        let index = index.display();
        match (self.recovered.changed, self.dry_run) {
            (false, _) => format!("{index} is correct, with {kept}\n"),
            (true, true) => format!("{index} would be rewritten; {kept} as before\n"),
            (true, false) => format!("{index} was rewritten; {kept} as before\n"),
        }
    }

    fn about_store(&self, kept: &str) -> String {
        let RecoverySummary { store, changed, threads, nodes_put_back, not_in_store, .. } = &self.recovered;
        let store = store.as_deref().unwrap_or_default();
        let has_doubts =
            threads.iter().any(|row| matches!(row.finding, RecoveryFinding::Differs | RecoveryFinding::Lost));
        let mut text = match (changed, self.dry_run) {
            (false, _) if has_doubts => format!("nothing in {store} was changed; {kept} as before\n"),
            (false, _) => format!("the heads in {store} are correct, with {kept}\n"),
            (true, true) => format!("heads in {store} would be set; {kept} as before\n"),
            (true, false) => format!("heads in {store} were set; {kept} as before\n"),
        };
        if *nodes_put_back > 0 {
            let nodes = count(*nodes_put_back, "node");
            text.push_str(&format!("{nodes} that it had lost were restored from this machine's cache\n"));
        }
        if *not_in_store > 0 {
            let threads = count(*not_in_store, "thread");
            text.push_str(&format!(
                "{threads} of this machine's records are not in the store: they were removed there, or never copied\n"
            ));
        }
        text
    }
}

fn line_of_names(names: &NamesRecovery) -> String {
    let head = names.head.map(|head| format!(" at {head}")).unwrap_or_default();
    let before = names.before.map(|before| format!(" (was {before})")).unwrap_or_default();
    let note = names.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    format!("{}  {}{head}{before}{note}\n", style::bold("names of workflows"), finding(names.finding))
}

fn finding(finding: RecoveryFinding) -> String {
    match finding {
        RecoveryFinding::Kept => "kept".to_owned(),
        RecoveryFinding::Restored => style::green("restored"),
        RecoveryFinding::Moved => style::green("moved"),
        RecoveryFinding::Archived => style::green("archived"),
        RecoveryFinding::Differs => style::yellow("differs"),
        RecoveryFinding::Lost => style::red("lost"),
    }
}

fn line(row: &ThreadRecovery) -> String {
    let finding = finding(row.finding);
    let head = row.head.map(|head| format!(" at {head}")).unwrap_or_default();
    let from = row.from.map(|from| format!(", from {}", from.in_words())).unwrap_or_default();
    let before = row.before.map(|before| format!(" (was {before})")).unwrap_or_default();
    let note = row.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    format!("{}  {finding}{head}{from}{before}{note}\n", style::bold(row.thread.as_str()))
}

/// Rebuilds the index of threads.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let recovered = recover::recover(&context.home, args.dry_run)?;
    PrintableReport::new(&RecoverReport { dry_run: args.dry_run, recovered })
}
