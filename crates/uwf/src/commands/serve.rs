//! `uwf serve`

use std::net::SocketAddr;
use std::path::PathBuf;

use uwf_engine::error::ErrorKind;
use uwf_server::{CertificateFiles, CommandLine, SECRET_VARIABLE, ServeError, ServeSettings, ServerSecret};

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf serve                                  pages at http://127.0.0.1:7717; it prints the link that logs you in
  uwf serve --open                           and opens it in a browser
  uwf serve --read-only                      for people who only read
  uwf serve --hooks                          webhooks start threads: POST /hooks/NAME, signed
  uwf serve --gateway                        other machines connect to it: uwf gateway token NAME, uwf connect
  uwf serve --address 0.0.0.0:443 --host box.example --tls-cert cert.pem --tls-key key.pem
  curl -H \"Authorization: Bearer $SECRET\" http://127.0.0.1:7717/api/threads

Every connection needs the secret, even on loopback, because other users of the machine can connect. uwf creates it at the first
start and stores it in the storage root. WORKFLOW_DASHBOARD_SECRET, in the environment or in the root's .env, sets another one, which is
never printed; an address other than loopback requires it.
The server keeps no state: several servers, commands and cron can use one root, and stopping a server loses nothing.")]
pub(crate) struct Args {
    /// Address to listen on; port 0 picks a free port.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7717")]
    address: SocketAddr,
    /// A name besides localhost under which the server is reached, behind a proxy for instance; may be repeated.
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Refuse all changes.
    #[arg(long)]
    read_only: bool,
    /// Let other machines connect, and also show their threads and pages.
    #[arg(long)]
    gateway: bool,
    /// Use TLS with this certificate and its intermediate certificates, in PEM; read once at the start.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Serve the hooks of config.yaml: a signed POST to /hooks/NAME starts or answers a thread, without login.
    #[arg(long, conflicts_with = "read_only")]
    hooks: bool,
    /// Open the page in a browser.
    #[arg(long)]
    open: bool,
}

/// Runs the server.
pub(crate) fn run(context: &CommandContext, args: Args, commands: fn() -> CommandLine) -> CommandResult {
    let secret = secret(context)?;
    let Args { address, hosts, read_only, gateway, tls_cert, tls_key, hooks, open } = args;
    let certificate = tls_cert.zip(tls_key).map(|(chain, key)| CertificateFiles { chain, key });
    let scheme = if certificate.is_some() { "https" } else { "http" };
    let (home, cwd) = (&context.home, &*context.cwd);
    if hooks {
        check_hooks(context)?;
    }
    let settings = ServeSettings {
        home,
        cwd,
        address,
        hosts,
        secret,
        read_only,
        commands,
        is_gateway: gateway,
        certificate,
        has_hooks: hooks,
    };
    let served = uwf_server::serve(settings, |served| {
        context.printer.talk(&format!("serving at {scheme}://{}; Ctrl-C ends it", served.address));
        let secret =
            if served.logs_in { String::new() } else { format!(" and log in with the secret in {SECRET_VARIABLE}") };
        context.printer.talk(&format!("open {}{secret}", served.url));
        if open && let Err(why) = open_in_browser(&served.url) {
            context.printer.warn(&format!("no browser was opened: {why}"));
        }
    });
    served.map_err(|error| failure(&error))?;
    Ok(PrintableReport::nothing())
}

/// Warns about hooks that can't work yet. The server reads the configuration at each delivery, so they may work later.
///
/// # Errors
/// `Config` for a configuration with errors.
fn check_hooks(context: &CommandContext) -> Result<(), CommandError> {
    let hooks = context.home.config()?.hooks;
    if hooks.is_empty() {
        context.printer.warn("config.yaml has no `hooks`, so each POST to /hooks/NAME is answered with 404");
    }
    for (name, hook) in hooks {
        if context.variable(&hook.secret_env)?.is_none() {
            let variable = &hook.secret_env;
            context.printer.warn(&format!("hook `{name}` has no secret: set {variable} in the environment or in .env"));
        }
    }
    Ok(())
}

/// The server's secret: from the environment, `.env`, or a file of the storage root, in this order.
fn secret(context: &CommandContext) -> Result<ServerSecret, CommandError> {
    match context.variable(SECRET_VARIABLE)? {
        Some(text) => ServerSecret::chosen(text)
            .map_err(|why| CommandError::new(ErrorKind::Config, format!("{SECRET_VARIABLE}: {why}"))),
        None => {
            context.home.make_root()?;
            let path = context.home.dashboard_token();
            ServerSecret::of_file(&path).map_err(|error| {
                CommandError::new(ErrorKind::Io, format!("cannot read the secret of this server: {error}"))
            })
        }
    }
}

fn failure(error: &ServeError) -> CommandError {
    let hint = match error {
        ServeError::NeedsSecret(_) => "set WORKFLOW_DASHBOARD_SECRET to a long random text, or leave --address out",
        ServeError::Listen { .. } => "another server may be there already; --address 127.0.0.1:0 takes a free port",
        ServeError::Tls(_) | ServeError::Io(_) => "",
    };
    let kind = match error {
        ServeError::NeedsSecret(_) => ErrorKind::Usage,
        ServeError::Tls(_) => ErrorKind::Config,
        ServeError::Listen { .. } | ServeError::Io(_) => ErrorKind::Io,
    };
    let failure = CommandError::new(kind, error.to_string());
    if hint.is_empty() { failure } else { failure.hint(hint) }
}

/// Opens a page in the desktop's browser.
fn open_in_browser(url: &str) -> std::io::Result<()> {
    let opener = uwf_platform::host().link_opener();
    let mut command = std::process::Command::new(opener);
    command
        .arg(url)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let mut child = command.spawn()?;
    // Wait for the child, so that it does not remain a zombie.
    std::thread::spawn(move || child.wait());
    Ok(())
}
