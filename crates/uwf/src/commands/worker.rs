//! `uwf worker`

#[cfg(feature = "temporal")]
mod work;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap_complete::engine::ArgValueCompleter;

use crate::commands::thread::args::on::engines;
use crate::{complete, duration};

#[cfg(feature = "temporal")]
pub(crate) use self::work::run;

/// Arguments of `uwf worker`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf worker --engine temporal --address temporal.example:7233 --max-agents 4
  uwf worker --engine temporal --agent claude --agent codex     only steps that these play
  uwf thread run --on temporal 7Q2M                             gives a thread to the workers

A worker connects to the server, so this machine accepts no connections. It runs threads of its store. On TERM or
Ctrl-C it stops taking steps and lets running steps finish within --drain. Steps that still run then, or at a second
signal, are ended
and taken by another worker. Set an API key in TEMPORAL_API_KEY, because other users can see arguments.")]
pub(crate) struct Args {
    /// The engine that hands out steps.
    #[arg(long, value_name = "ENGINE", value_parser = engines())]
    engine: String,
    #[command(flatten)]
    addressed: EngineAddress,
    /// Maximum number of agents at once.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    max_agents: u16,
    /// Agent of this machine; can be repeated. Default: all agents in config.yaml, and `uwf-play` for groups.
    #[arg(long = "agent", value_name = "NAME", add = ArgValueCompleter::new(complete::agents))]
    agents: Vec<String>,
    /// Directory for agents of threads that started on other machines; for worktrees that travel, a clone of their
    /// repository. Default: the current directory.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    cwd: Option<PathBuf>,
    /// Time that running steps may take after TERM.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = duration::given)]
    drain: Duration,
}

/// Address of the engine. Missing values come from the variables of Temporal's own clients, or from config.yaml.
#[derive(Debug, clap::Args)]
struct EngineAddress {
    /// Address of the server; the default port is 7233. Default: `TEMPORAL_ADDRESS`, else `temporal.address` of
    /// config.yaml, else
    /// localhost.
    #[arg(long, value_name = "HOST[:PORT]", value_parser = NonEmptyStringValueParser::new())]
    address: Option<String>,
    /// Its namespace. Default: `TEMPORAL_NAMESPACE`, else `temporal.namespace`, else `default`.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    namespace: Option<String>,
    /// Name with which workers and threads find each other. Default: `temporal.taskQueue`, else `uwf`.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    task_queue: Option<String>,
    /// A client certificate for mTLS, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// CA certificate of the server, in PEM. Default: the system's CA certificates.
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
}
