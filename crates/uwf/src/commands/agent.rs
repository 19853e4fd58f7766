//! `uwf agent …`

mod context;
mod describe;
mod extract;
mod link;
mod list;
mod mcp;
pub(crate) mod run;
mod submit;
mod trace;

use std::ffi::OsString;
use std::path::Path;

use uwf_engine::attempt::agents::{BUILT_IN, BUILT_IN_PREFIX};
use uwf_engine::root::home::AttemptId;

use crate::context::CommandContext;
use crate::printer::{CommandResult, ReportFormat, StdoutContent};

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Print what a role needs: the task, the steps so far, the schema of its output, the prompt.
    Context(context::Args),
    /// Submit a role's output: check it, store it, print the step's hash.
    Submit(submit::Args),
    /// Extract a value from a text, as a step does.
    Extract(extract::Args),
    /// Serve an agent an MCP server to hand in its result while it works. Agents start this.
    Mcp(mcp::Args),
    /// Run a built-in agent for a role of a thread. If you run it by hand, the step is stored, but the thread does
    /// not move.
    Run(run::Args),
    /// List configured and built-in agents.
    #[command(alias = "ls")]
    List(list::Args),
    /// Create links `uwf-NAME` to this program, to call the built-in agents.
    Link(link::Args),
    /// Show name, version, capabilities, settings and program of an agent.
    Describe(describe::Args),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  An agent in sh, called by uwf with thread and role as its last two arguments:

    #!/bin/sh
    task=$(\"$UWF_BIN\" agent context \"$1\" \"$2\" | jq -r .task)
    words=$(printf %s \"$task\" | wc -w)
    \"$UWF_BIN\" agent submit \"$1\" \"$2\" --data \"{\\\"words\\\": $words}\"";

impl Command {
    /// The storage root named in the command, because agents start MCP servers with an almost empty environment.
    pub(crate) fn root(&self) -> Option<&Path> {
        self.mcp()?.root.as_deref()
    }

    /// The attempt named in the command.
    pub(crate) fn attempt(&self) -> Option<AttemptId<'_>> {
        self.mcp()?.attempt()
    }

    /// The arguments of an MCP server.
    fn mcp(&self) -> Option<&mcp::Args> {
        match self {
            Command::Mcp(args) => Some(args),
            Command::Context(_)
            | Command::Submit(_)
            | Command::Extract(_)
            | Command::Run(_)
            | Command::List(_)
            | Command::Link(_)
            | Command::Describe(_) => None,
        }
    }

    /// The kind of output that the command writes to stdout.
    pub(crate) fn stdout(&self) -> StdoutContent {
        match self {
            Command::Context(args) if args.asks_for_text() => StdoutContent::Document(ReportFormat::Text),
            Command::Context(_) => StdoutContent::Document(ReportFormat::Json),
            // The hash of the step, in the form that agents print.
            Command::Submit(_) => StdoutContent::Document(ReportFormat::Text),
            Command::Mcp(_) | Command::Run(_) => StdoutContent::Protocol,
            Command::Extract(_) | Command::List(_) | Command::Link(_) | Command::Describe(_) => StdoutContent::Report,
        }
    }
}

/// Runs a command of the group.
pub(crate) fn run(context: &CommandContext, command: Command) -> CommandResult {
    match command {
        Command::Context(args) => context::run(context, &args),
        Command::Submit(args) => submit::run(context, &args),
        Command::Extract(args) => extract::run(context, &args),
        Command::Mcp(args) => mcp::run(context, &args),
        Command::Run(args) => run::run(context, &args),
        Command::List(args) => list::run(context, &args),
        Command::Link(args) => link::run(context, &args),
        Command::Describe(args) => describe::run(context, &args),
    }
}

/// Rewrites a call through a link with the name of a built-in agent to `uwf agent run`; other names mean uwf itself.
pub(crate) fn by_program_name(args: Vec<OsString>) -> Vec<OsString> {
    let name = args
        .first()
        .and_then(|program| Path::new(program).file_name()?.to_str()?.strip_prefix(BUILT_IN_PREFIX).map(str::to_owned))
        .filter(|name| BUILT_IN.contains(&name.as_str()));
    match name {
        Some(name) => {
            let prefix = ["uwf", "agent", "run", &name].map(OsString::from);
            prefix.into_iter().chain(args.into_iter().skip(1)).collect()
        }
        None => args,
    }
}
