//! `uwf cas verify`

use clap_complete::engine::ArgValueCompleter;
use json_cas::{NodeHash, ProblemKind, StoreError, StoreProblem, VerifyReport};
use uwf_engine::error::ErrorKind;
use uwf_engine::root::named_nodes;

use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::progress::ProgressCounter;
use crate::style;
use crate::table::count;

/// Arguments of `uwf cas verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas verify
  uwf cas verify 2XY1PEX26ZD0Y               only what is reachable from this node
  uwf cas verify | jq '.problems[]'

Checks that each node matches its hash and its type, that the nodes it references exist, and the nodes that threads and \
workflow names reference. Exits with 65 if not. Storing the same content again repairs a corrupt node. With a shared store, \
garbled nodes are removed from this machine's cache and read from the store again.")]
pub(crate) struct Args {
    /// Start at this node: its hash, or a unique start of the hash. Default: the whole store.
    #[arg(value_name = "HASH", add = ArgValueCompleter::new(complete::hashes))]
    node: Option<String>,
}

impl CommandReport for VerifyReport {
    fn text(&self) -> String {
        let VerifyReport { checked, bytes, problems, removed_copies } = self;
        let mut text: String = problems.iter().map(line).collect();
        for hash in removed_copies {
            text.push_str(&format!("{hash}  garbled in the cache of this machine: removed, the store is read again\n"));
        }
        let found = match problems.len() {
            0 => style::green("no problems"),
            some => style::red(&count(some, "problem")),
        };
        text.push_str(&format!("{checked} nodes checked, {bytes} bytes: {found}\n"));
        text
    }

    fn exit_code(&self) -> u8 {
        if self.problems.is_empty() { 0 } else { ErrorKind::Data.exit_code() }
    }
}

fn line(problem: &StoreProblem) -> String {
    let kind = match problem.kind {
        ProblemKind::Corrupt => "corrupt",
        ProblemKind::Missing => "missing",
        ProblemKind::Invalid => "invalid",
        ProblemKind::Misnamed => "misnamed",
    };
    let hash = problem.hash.map(|hash| hash.to_string());
    let what = hash.or_else(|| problem.file.clone()).unwrap_or_default();
    let by = problem.referenced_by.map(|parent| format!(" (referred to by {parent})")).unwrap_or_default();
    format!("{what}  {}: {}{by}\n", style::red(kind), problem.reason)
}

/// Checks the store.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let root = args.node.as_deref().map(|typed| root(context, typed)).transpose()?;
    let mut progress = ProgressCounter::new(context.printer, "nodes checked");
    let roots = root.as_ref().map(std::slice::from_ref);
    let mut report = context.home.store().verify_counting(roots, &mut |checked| progress.show_count(checked))?;
    drop(progress);
    if root.is_none() {
        add_lost(context, &mut report)?;
    }
    PrintableReport::new(&report)
}

/// Adds missing nodes that no node references, but a thread or a name does.
fn add_lost(context: &CommandContext, report: &mut VerifyReport) -> Result<(), CommandError> {
    let (named, unreadable) = named_nodes::all(&context.home);
    unreadable.iter().for_each(|error| context.printer.warn(&error.to_string()));
    for (hash, by) in named {
        let is_known = report.problems.iter().any(|problem| problem.hash == Some(hash));
        if is_known {
            continue;
        }
        let (kind, reason) = match context.home.store().has(hash) {
            Ok(true) => continue,
            Ok(false) => (ProblemKind::Missing, format!("it does not exist, and is {by}")),
            // The node may be in a damaged pack.
            Err(StoreError::Corrupt { reason, .. }) => (ProblemKind::Corrupt, format!("{reason}, and is {by}")),
            Err(error) => return Err(error.into()),
        };
        report.problems.push(StoreProblem { hash: Some(hash), file: None, kind, reason, referenced_by: None });
    }
    Ok(())
}

/// The node to begin with. It must exist, but may be damaged.
fn root(context: &CommandContext, typed: &str) -> Result<NodeHash, CommandError> {
    let hash = context.node(typed)?;
    if context.home.store().has(hash)? { Ok(hash) } else { Err(StoreError::NotFound { hash }.into()) }
}
