//! The command line: groups of commands, and the hidden ones by which uwf calls itself.

use std::ffi::OsString;
use std::mem::ManuallyDrop;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use uwf_engine::evaluate;
use uwf_engine::keeper;

use crate::commands::{agent, cas, completions, config, doctor, recover, reference, setup, thread, workflow};
use crate::context::Context;
use crate::error::CommandError;
use crate::on_demand::OnDemand;
use crate::printer::{CommandResult, Format, Printer};

/// Exit codes, as every help text lists them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    did what was asked, $END included (10 with --exit-code)
  20   waiting for a person, or paused
  30   a limit or budget was hit
  40   the agent failed
  41   the agent's answer has no valid output
  64   usage
  65   bad data: workflow, condition, corrupt node
  69   not found, or not active
  70   internal error
  74   files: disk full, permissions
  75   busy or the head moved: try again
  78   configuration
  130  interrupted (143: terminated)";

/// Stateless workflow engine for AI agents: every step is one process, every output is kept.
#[derive(Debug, Parser)]
#[command(name = "uwf", version, after_help = AFTER_HELP, after_long_help = format!("{AFTER_HELP}\n\n{EXIT_CODES}"), disable_help_subcommand = true, max_term_width = 110)]
pub(crate) struct Cli {
    /// How to print the report; UWF_FORMAT does the same. Default: text on a terminal, one line of JSON in a pipe.
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    #[command(subcommand)]
    command: Group,
}

const AFTER_HELP: &str = "\
Examples:
  uwf workflow put solve-issue.yaml           store a workflow under its name
  uwf thread start solve-issue -p 'Fix #42'   begin a run; nothing is executed yet
  uwf thread step 7Q2M                        one step: moderator, agent, extract
  uwf run solve-issue -p 'Fix #42'            start and step until the end
  uwf thread read 7Q2M                        what happened, to be read

The storage root is $UNCAGED_WORKFLOW_STORAGE_ROOT, else $WORKFLOW_STORAGE_ROOT, else ~/.uncaged/workflow.";

const THREAD_EXAMPLES: &str = "\
Examples:
  uwf thread start solve-issue -p 'Fix #42'
  uwf thread step 7Q2M
  uwf thread list --state stuck
  uwf thread read 7Q2M";

#[derive(Debug, Subcommand)]
enum Group {
    /// Workflows: store, check, list, draw.
    #[command(subcommand, after_help = workflow::EXAMPLES)]
    Workflow(OnDemand<workflow::Command>),
    /// Threads: start, step, look at, fork, end.
    #[command(subcommand, after_help = THREAD_EXAMPLES)]
    Thread(OnDemand<thread::Command>),
    /// Start a thread (or go on with one) and step it until it is done, waiting, stuck or at a limit.
    Run(OnDemand<thread::run::Args>),
    /// The content-addressed store.
    #[command(subcommand, after_help = cas::EXAMPLES)]
    Cas(OnDemand<cas::Command>),
    /// What agents are made of, for agents in any language.
    #[command(subcommand, after_help = agent::EXAMPLES)]
    Agent(OnDemand<agent::Command>),
    /// The configuration: read, change, check.
    #[command(subcommand, after_help = config::EXAMPLES)]
    Config(OnDemand<config::Command>),
    /// Choose provider, key, model and default agent, and prove that they work.
    Setup(OnDemand<setup::Args>),
    /// Look at what is installed, reachable and left over.
    Doctor(OnDemand<doctor::Args>),
    /// Make a damaged or lost index of threads anew from everything else that is known of them.
    Recover(OnDemand<recover::Args>),
    /// Print shell completions.
    Completions(completions::Args),
    /// Print the reference page of all commands.
    #[command(hide = true)]
    Reference,
}

/// Runs the command line of this process.
pub(crate) fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = own_child(&args) {
        return ExitCode::from(code);
    }
    let args = crate::commands::agent::by_program_name(args);
    let cli = match of_keeper(&args).map_or_else(|| parse(args), Ok) {
        Ok(cli) => cli,
        Err(error) => return parse_failure(&error),
    };
    let printer = match Printer::new(cli.format) {
        Ok(printer) => printer,
        Err(failure) => return ExitCode::from(Printer::plain().failure(&failure)),
    };
    let code = match run(cli.command, printer) {
        Ok(report) => printer.report(&report),
        Err(failure) => printer.failure(&failure),
    };
    ExitCode::from(code)
}

/// The command line by which a keeper runs one of uwf's own agents, in just that form. To describe it to clap first is much
/// of what such a process does by itself.
fn of_keeper(args: &[OsString]) -> Option<Cli> {
    let [_, group, command, name, thread, role] = args else { return None };
    let plain = |arg: &OsString| arg.to_str().filter(|arg| !arg.starts_with('-')).map(str::to_owned);
    if group != "agent" || command != "run" {
        return None;
    }
    let args = agent::run::Args { name: plain(name)?, rest: vec![plain(thread)?, plain(role)?] };
    Some(Cli { format: None, command: Group::Agent(OnDemand(agent::Command::Run(args))) })
}

/// As `Cli::try_parse_from` does it, but the description of the command line is not taken apart afterwards: in a process
/// that soon ends, this would only be a seventh of all it does by itself.
fn parse(args: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut described = ManuallyDrop::new(command());
    let mut matches = described.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut described))
}

fn run(command: Group, printer: Printer) -> CommandResult {
    match command {
        Group::Completions(args) => completions::run(&args),
        Group::Reference => reference::run(),
        Group::Workflow(OnDemand(command)) => workflow::run(&Context::open(printer)?, command),
        Group::Thread(OnDemand(command)) => thread::run(&Context::open(printer)?, command),
        Group::Run(OnDemand(args)) => thread::run::run(&Context::open(printer)?, args),
        Group::Cas(OnDemand(command)) => cas::run(&Context::open(printer)?, command),
        Group::Agent(OnDemand(command)) => agent::run(&Context::open_at(command.root(), printer)?, command),
        Group::Setup(OnDemand(args)) => setup::run(&Context::open(printer)?, &args),
        Group::Doctor(OnDemand(args)) => doctor::run(&Context::open(printer)?, &args),
        Group::Recover(OnDemand(args)) => recover::run(&Context::open(printer)?, &args),
        Group::Config(OnDemand(command)) => config::run(&Context::open(printer)?, command),
    }
}

/// The whole command line as clap knows it.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Calls of uwf by itself; they come before argument parsing to cost nothing.
fn own_child(args: &[OsString]) -> Option<u8> {
    let done = match args.get(1)?.to_str()? {
        keeper::KEEPER_ARGUMENT => keeper::keeper_main(args.get(2)?.to_str()?),
        evaluate::CHILD_ARGUMENT => evaluate::child_main().map(|answer| {
            // The parent may have given up on us.
            let _ = std::io::Write::write_all(&mut std::io::stdout(), &answer);
        }),
        _ => return None,
    };
    Some(match done {
        Ok(()) => 0,
        Err(error) => Printer::plain().failure(&CommandError::from(error)),
    })
}

/// Help and version go to stdout with 0; a misuse is 64, not clap's 2.
fn parse_failure(error: &clap::Error) -> ExitCode {
    let printed = error.print();
    if error.use_stderr() {
        // Nobody may be there to read it.
        return ExitCode::from(uwf_engine::error::Kind::Usage.exit_code());
    }
    ExitCode::from(Printer::plain().written(printed, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn what_a_keeper_calls_is_read_as_clap_reads_it() {
        let line = args("uwf agent run command 01ARZ3NDEKTSV4RRFFQ69G5FAV coder");
        let short = of_keeper(&line).map(|cli| format!("{cli:?}"));
        assert_eq!(short, parse(line).ok().map(|cli| format!("{cli:?}")));
        assert!(short.is_some());
    }

    #[test]
    fn every_other_form_is_left_to_clap() {
        for line in [
            "uwf agent run mock -t T",
            "uwf agent run mock -h T",
            "uwf agent run mock T --help",
            "uwf agent run mock -t T -r R",
            "uwf agent run --format json T",
            "uwf agent submit mock T R",
            "uwf thread run mock T R",
            "uwf agent run mock",
        ] {
            assert!(of_keeper(&args(line)).is_none(), "{line}");
        }
    }
}
