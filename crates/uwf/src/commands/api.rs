//! `uwf api`

use uwf_engine::error::ErrorKind;
use uwf_server::{ApiRequest, CommandLine};

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::input;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf api`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf api GET /threads
  uwf api GET '/threads?state=stuck,waiting&limit=5'
  uwf api POST /threads/7Q2M/step --data '{\"expectedHead\": \"4RFRSVTQADPZC\"}'
  uwf api GET /threads/7Q2M/events         events as they happen, until the thread ends
  uwf api GET /openapi.json

It answers like `uwf serve`, without a server. The exit code is 0 for a status of 200 to 399, otherwise the exit code
of the failed command. `uwf help http-api` has all paths.")]
pub(crate) struct Args {
    /// GET or POST.
    #[arg(value_parser = ["GET", "POST"], ignore_case = true)]
    method: String,
    /// Path of the API, with or without /api, and with its query.
    path: String,
    /// The request as JSON; `-` reads it from stdin.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    data: Option<String>,
}

/// Sends a request to the API.
pub(crate) fn run(context: &CommandContext, args: &Args, commands: fn() -> CommandLine) -> CommandResult {
    let body = match args.data.as_deref() {
        Some("-") => input::from_stdin()?,
        data => data.unwrap_or_default().to_owned(),
    };
    let below = args.path.strip_prefix("/api").filter(|rest| rest.starts_with('/')).unwrap_or(&args.path);
    if !below.starts_with('/') {
        return Err(
            CommandError::usage(format!("`{}` is not a path of the API", args.path)).hint("a path begins with /")
        );
    }
    let path = format!("/api{below}");
    let method = args.method.to_ascii_uppercase();
    let call = ApiRequest { home: &context.home, cwd: &context.cwd, commands, method: &method, path: &path, body };
    let mut failed = None;
    let mut said = Vec::new();
    let answered = uwf_server::call(call, |piece| {
        said.extend_from_slice(piece);
        let whole = said.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let text: Vec<u8> = said.drain(..whole).collect();
        let shown = context.printer.stream(&String::from_utf8_lossy(&text));
        shown.unwrap_or_else(|error| {
            failed = Some(error);
            false
        })
    });
    let status = answered.map_err(|error| CommandError::new(ErrorKind::Usage, error.to_string()))?;
    if let Some(error) = failed {
        return Err(error);
    }
    let rest = String::from_utf8_lossy(&said).into_owned();
    if !rest.is_empty() {
        context.printer.stream(&format!("{rest}\n"))?;
    }
    Ok(PrintableReport::nothing().exits(exit_code(status, &rest)))
}

/// The exit code of the failed command, or else the one for the HTTP status.
fn exit_code(status: u16, answer: &str) -> u8 {
    if status < 400 {
        return 0;
    }
    let report: serde_json::Value = serde_json::from_str(answer).unwrap_or_default();
    let code = report["error"]["exitCode"].as_u64().and_then(|code| u8::try_from(code).ok());
    let kind = match status {
        404 => ErrorKind::NotFound,
        409 => ErrorKind::Busy,
        400..500 => ErrorKind::Usage,
        _ => ErrorKind::Internal,
    };
    code.unwrap_or(kind.exit_code())
}
