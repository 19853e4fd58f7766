//! `uwf cas verify`

use json_cas::{Hash, Problem, ProblemKind, StoreError, VerifyReport};
use serde::Serialize;
use uwf_engine::error::Kind;

use crate::context::Context;
use crate::error::CommandError;
use crate::printer::{CommandResult, Printed, Report};
use crate::progress::Progress;
use crate::style;

/// Arguments of `uwf cas verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas verify
  uwf cas verify 2XY1PEX26ZD0Y               only what is reachable from this node
  uwf cas verify | jq '.problems[]'

Each node: are its bytes those of its hash, does it fit its type, is everything it refers to there? Exit 65 when not. \
Putting the same content again repairs a corrupt node.")]
pub(crate) struct Args {
    /// The node to begin at: its hash, or a unique beginning of it. Default: the whole store.
    #[arg(value_name = "HASH")]
    node: Option<String>,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Verified(VerifyReport);

impl Report for Verified {
    fn text(&self) -> String {
        let VerifyReport { checked, bytes, problems } = &self.0;
        let mut text: String = problems.iter().map(told).collect();
        let found = match problems.len() {
            0 => style::green("no problems"),
            1 => style::red("1 problem"),
            more => style::red(&format!("{more} problems")),
        };
        text.push_str(&format!("{checked} nodes checked, {bytes} bytes: {found}\n"));
        text
    }

    fn exit_code(&self) -> u8 {
        if self.0.problems.is_empty() { 0 } else { Kind::Data.exit_code() }
    }
}

fn told(problem: &Problem) -> String {
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

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let root = args.node.as_deref().map(|typed| root(context, typed)).transpose()?;
    let mut progress = Progress::new(context.printer, "nodes checked");
    let roots = root.as_ref().map(std::slice::from_ref);
    let report = context.home.store().verify_counting(roots, &mut |checked| progress.at(checked))?;
    drop(progress);
    Printed::new(&Verified(report))
}

/// Where to begin: a node that is there, whatever its state.
fn root(context: &Context, typed: &str) -> Result<Hash, CommandError> {
    let hash = context.node(typed)?;
    if context.home.store().has(hash)? { Ok(hash) } else { Err(StoreError::NotFound { hash }.into()) }
}
