//! `uwf agent mcp`

use std::path::PathBuf;

use agent_kit::AgentContext;
use agent_kit::mcp;
use uwf_engine::root::home::AttemptId;

use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf agent mcp`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  STEP=\"'$UWF_THREAD','$UWF_ROLE','--root','$ROOT','--attempt','$UWF_ATTEMPT'\"
  codex exec -c mcp_servers.uwf.command=\"$UWF_BIN\" \\
      -c \"mcp_servers.uwf.args=['agent','mcp',$STEP]\" …
  MCP='{\"mcpServers\":{\"uwf\":{\"command\":\"%s\",\"args\":[\"agent\",\"mcp\",\"%s\",\"%s\"]}}}'
  claude -p --mcp-config \\
      \"$(printf \"$MCP\" \"$UWF_BIN\" \"$UWF_THREAD\" \"$UWF_ROLE\")\" …

A server of the Model Context Protocol on stdin and stdout with the tools `submit` (its arguments are the role's output, \
checked at once; the last accepted call counts), `context` and `cas_get`. It ends with its input.")]
pub(crate) struct Args {
    /// The thread.
    thread: String,
    /// The role that is being played.
    role: String,
    /// The storage root, for agents that do not pass on their environment.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// The attempt that gets the results; UWF_ATTEMPT does the same.
    #[arg(long, value_name = "ID")]
    attempt: Option<String>,
}

impl Args {
    /// The attempt named in the arguments.
    pub(crate) fn attempt(&self) -> Option<AttemptId<'_>> {
        Some(AttemptId { thread: &self.thread, attempt: self.attempt.as_deref()? })
    }
}

/// Runs the MCP server of an agent.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let thread = context.thread(&args.thread)?;
    let running = args.attempt.clone().or_else(|| std::env::var("UWF_ATTEMPT").ok());
    let agent = AgentContext::within(&context.home, &thread, &args.role, running.as_deref())?;
    mcp::serve(&agent, &mut std::io::stdin().lock(), &mut std::io::stdout().lock())?;
    Ok(PrintableReport::nothing())
}
