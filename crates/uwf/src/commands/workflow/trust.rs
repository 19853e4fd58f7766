//! `uwf workflow trust`

use clap_complete::engine::ArgValueCompleter;
use serde_json::json;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::trusted_workflows;
use uwf_engine::thread::nodes;

use crate::ask::TerminalAsker;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};
use crate::role_commands::RoleCommands;
use crate::style;

/// Arguments of `uwf workflow trust`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow show check-links           shows its commands
  uwf workflow trust check-links
  uwf workflow trust check-links --revoke

A role with `run` is code that uwf runs on this machine, with your rights. A file that you name on the command line, or
store with `uwf workflow put`, is yours and needs no trust. A workflow of a repository's .workflows directory, or one
that came from another store, runs its commands only after you trust it. At a terminal, uwf shows the commands and
asks first. You trust this version: after a change you must trust it again.")]
pub(crate) struct Args {
    /// The workflow: a name, a hash, or a file.
    #[arg(value_name = "NAME|HASH|FILE")]
    #[arg(add = ArgValueCompleter::new(complete::workflows))]
    workflow: String,
    /// Revoke the trust.
    #[arg(long)]
    revoke: bool,
    /// Don't ask at a terminal.
    #[arg(short, long, conflicts_with = "revoke")]
    yes: bool,
}

/// Trusts the commands of a workflow.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let home = &context.home;
    let hash = context.workflow(&args.workflow)?;
    let workflow = nodes::workflow(home.store(), hash)?;
    let commands = RoleCommands::stored(&workflow);
    if commands.is_empty() {
        return Err(CommandError::usage(format!("workflow `{}` {hash} has no role with `run`", workflow.name))
            .hint("only roles with `run` need trust"));
    }
    let asks = !args.revoke && !args.yes && TerminalAsker::has_person();
    if asks && !trusted_workflows::allows(home, hash, &workflow)? {
        let asker = TerminalAsker::new(context.printer);
        asker.print_line(&format!("{} {hash}\n{}", style::bold(&workflow.name), commands.text().trim_end()));
        if !asker.yes("trust these commands?")? {
            return Err(CommandError::new(ErrorKind::Interrupted, "you answered no, so nothing was trusted"));
        }
    }
    match args.revoke {
        true => trusted_workflows::distrust(home, hash)?,
        false => trusted_workflows::trust(home, hash, &workflow)?,
    }
    let verb = if args.revoke { "no longer trusted:" } else { "trusted" };
    let text = format!("{verb} {} {hash}\n{}", style::bold(&workflow.name), commands.text());
    Ok(PrintableReport::value_with_text(
        json!({ "name": workflow.name, "hash": hash, "trusted": !args.revoke, "commands": commands }),
        text,
    ))
}
