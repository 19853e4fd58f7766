//! `uwf connect`

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use durable_files::regular;
use uwf_engine::error::ErrorKind;
use uwf_server::{
    CommandLine, ConnectError, ConnectEvent, ConnectSettings, GatewayUrl, MACHINE_TOKEN_VARIABLE, MachineName,
};

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};

/// Variable with the gateway's URL.
const URL_VARIABLE: &str = "WORKFLOW_GATEWAY_URL";

/// Maximum size of a token file.
const MAX_TOKEN: u64 = 1024;

/// Permission bits of a file for users other than its owner.
const OTHERS: u32 = 0o077;

/// Arguments of `uwf connect`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  WORKFLOW_GATEWAY_TOKEN=… uwf connect --gateway https://gateway.example
  uwf connect --name laptop --gateway https://gateway.example --token-file ~/.config/uwf-gateway-token
  uwf connect --read-only

Run `uwf gateway token NAME` on the gateway's machine to create the token. It is never an argument, because other users of a machine
can see arguments. This machine opens no port; it connects to the gateway, and connects again if the connection ends. Everyone who
is logged in at the gateway can do here what `uwf serve` allows, including starting threads, which run commands, unless --read-only
is set.

Uses the proxy in HTTPS_PROXY (HTTP_PROXY for http://) or ALL_PROXY, except for hosts in NO_PROXY.")]
pub(crate) struct Args {
    /// Name of this machine at the gateway. Default: its host name.
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<MachineName>,
    /// Address of the gateway: https://HOST:PORT, or http:// on loopback and in networks you trust. Default:
    /// WORKFLOW_GATEWAY_URL.
    #[arg(long, value_name = "URL")]
    gateway: Option<GatewayUrl>,
    /// File with the token, readable by you alone. Default: WORKFLOW_GATEWAY_TOKEN of the environment, or of the storage root's .env.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Refuse all changes on this machine.
    #[arg(long)]
    read_only: bool,
}

fn name(text: &str) -> Result<MachineName, String> {
    text.parse().map_err(|error: uwf_server::NotAName| error.to_string())
}

/// Connects to the gateway.
pub(crate) fn run(context: &CommandContext, args: Args, commands: fn() -> CommandLine) -> CommandResult {
    let Args { name, gateway, token_file, read_only } = args;
    let name = name
        .map_or_else(MachineName::of_host, Ok)
        .map_err(|error| CommandError::usage(error.to_string()).hint("choose a name for this machine: --name NAME"))?;
    let gateway = gateway.map_or_else(|| url(context), Ok)?;
    let token = token(context, token_file.as_deref())?;
    let printer = context.printer;
    if !gateway.is_tls() && !gateway.is_loopback() {
        printer.warn(&format!("the connection to {gateway} is not encrypted, including the token; use https://"));
    }
    let (at, known_as, rights) = (gateway.clone(), name.clone(), if read_only { ", read-only" } else { "" });
    let tell = move |event: &ConnectEvent| match event {
        ConnectEvent::Connected => printer.talk(&format!("connected to {at} as {known_as}{rights}; Ctrl-C ends it")),
        ConnectEvent::Lost { why, pause } => {
            printer.talk(&format!("not connected: {why}; trying again in {}", shown(*pause)));
        }
        ConnectEvent::Asked { by, what } => printer.talk(&format!("{by} requested {what}")),
    };
    let (home, cwd, version) = (&context.home, &*context.cwd, env!("CARGO_PKG_VERSION"));
    let settings = ConnectSettings { home, cwd, name, gateway, token, read_only, version, commands };
    uwf_server::connect(settings, tell).map_err(|error| failure(&error))?;
    Ok(PrintableReport::nothing())
}

fn shown(pause: Duration) -> String {
    format!("{:.1} s", pause.as_secs_f64())
}

/// The gateway's URL, from the environment or `.env`.
fn url(context: &CommandContext) -> Result<GatewayUrl, CommandError> {
    let text = context.variable(URL_VARIABLE)?.unwrap_or_default();
    if text.is_empty() {
        return Err(CommandError::usage("the address of the gateway is missing")
            .hint(format!("--gateway https://HOST, or {URL_VARIABLE}")));
    }
    text.parse().map_err(|error| CommandError::new(ErrorKind::Config, format!("{URL_VARIABLE}: {error}")))
}

/// The token: from the given file, or else from the environment or `.env`.
fn token(context: &CommandContext, file: Option<&Path>) -> Result<String, CommandError> {
    let token = match file {
        Some(file) => of_file(file)?,
        None => context.variable(MACHINE_TOKEN_VARIABLE)?.unwrap_or_default(),
    };
    let token = token.trim();
    if token.is_empty() {
        return Err(CommandError::usage("the token is missing").hint(format!(
            "`uwf gateway token NAME` on the gateway's machine creates one; put it into {MACHINE_TOKEN_VARIABLE}"
        )));
    }
    Ok(token.to_owned())
}

fn of_file(path: &Path) -> Result<String, CommandError> {
    let failed = |error: std::io::Error| {
        CommandError::new(ErrorKind::Io, format!("cannot read the token in {}: {error}", path.display()))
    };
    let file = regular::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.mode() & OTHERS != 0 {
        let why = format!("other users can read the token in {}", path.display());
        return Err(CommandError::new(ErrorKind::Config, why).hint(format!("chmod 600 {}", path.display())));
    }
    let bytes = regular::read(path, MAX_TOKEN).map_err(failed)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn failure(error: &ConnectError) -> CommandError {
    match error {
        ConnectError::Refused { .. } => CommandError::new(ErrorKind::Config, error.to_string())
            .hint("`uwf gateway list` on the gateway's machine lists the machines that may connect, `uwf gateway \
                   token NAME` adds one"),
        ConnectError::Proxy(_) => CommandError::new(ErrorKind::Config, error.to_string())
            .hint("HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT has name and password in it; NO_PROXY names hosts that need no proxy"),
        ConnectError::Replaced(_) => CommandError::new(ErrorKind::Busy, error.to_string())
            .hint("each machine needs a name and a token of its own: --name NAME"),
        ConnectError::Tls(_) => CommandError::new(ErrorKind::Config, error.to_string()),
        ConnectError::Io(_) => CommandError::new(ErrorKind::Io, error.to_string()),
    }
}
