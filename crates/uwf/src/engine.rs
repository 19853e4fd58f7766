//! Engines that run steps on several machines, as commands use them. Only Temporal is one.
#![cfg_attr(
    not(feature = "temporal"),
    expect(dead_code, reason = "a build without engines refuses before it reads what was asked for")
)]

#[cfg(not(feature = "temporal"))]
mod absent;
#[cfg(feature = "temporal")]
mod temporal;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::builder::NonEmptyStringValueParser;
use uwf_engine::error::ErrorKind;

use crate::context::Context;
#[cfg(not(feature = "temporal"))]
use crate::error::CommandError;

#[cfg(not(feature = "temporal"))]
pub(crate) use absent::{Begun, Schedules, failure_of, tell, warn_of_unknown_address, work};
#[cfg(feature = "temporal")]
pub(crate) use temporal::{Begun, Schedules, failure_of, tell, warn_of_unknown_address, work};

/// Which engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Engine {
    /// A server of Temporal.
    Temporal,
}

/// Where the engine is. What is not said here is in the variables of Temporal's own clients, or in config.yaml.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Addressed {
    /// Where the server is; the port is 7233 by default. Default: `TEMPORAL_ADDRESS`, else `temporal.address` of config.yaml, else
    /// localhost.
    #[arg(long, value_name = "HOST[:PORT]", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) address: Option<String>,
    /// Its namespace. Default: `TEMPORAL_NAMESPACE`, else `temporal.namespace`, else `default`.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) namespace: Option<String>,
    /// Name by which workers and threads find each other. Default: `temporal.taskQueue`, else `uwf`.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) task_queue: Option<String>,
    /// A client certificate for mTLS, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// CA certificate of the server, PEM; by default those of the system.
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
}

/// How a worker works.
pub(crate) struct Work {
    /// Agents whose steps it takes; those of config.yaml when none are named.
    pub(crate) agents: Vec<String>,
    /// Most agents at once.
    pub(crate) max_agents: usize,
    /// Where agents of threads work that began on other machines; the current directory when nobody says.
    pub(crate) cwd: Option<PathBuf>,
    /// How long steps may continue after it was told to end.
    pub(crate) drain: Duration,
}

/// Action of a person on a thread that the engine running it must learn about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// Answered it, or gave it what it stood still for.
    Answered,
    /// Let it continue.
    Resumed,
    /// Let no further step begin.
    Paused,
    /// Killed it.
    Killed,
}

/// A schedule, as it is listed.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    /// Its name.
    pub(crate) name: String,
    /// What it begins, and when.
    pub(crate) note: String,
    /// Whether it is paused.
    pub(crate) is_paused: bool,
    /// When it begins threads next.
    pub(crate) next: Vec<SystemTime>,
    /// How many times were left out, because the thread before had not ended.
    pub(crate) left_out: u64,
}

/// The reason why a followed thread can't continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble<'a> {
    /// No worker takes it.
    Untaken,
    /// Workers retry what they do not accomplish, for this reason.
    InVain(&'a str),
    /// Workers cannot run its workflow, for this reason.
    Failing(&'a str),
}

/// What became of a thread that was followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Followed {
    /// It has ended.
    Ended,
    /// It needs a person to continue.
    Stopped {
        /// Which failure this would be of a step here.
        kind: ErrorKind,
        /// One line.
        message: String,
    },
    /// The engine runs it no more; it stands where it stood.
    Abandoned(String),
}

/// Warns that workers on other machines cannot find what is only in the store of this one. Those on this machine can.
pub(crate) fn warn_of_own_store(context: &Context) {
    if context.home.shared().is_none() {
        let root = context.home.root().display();
        context.printer.warn(&format!(
            "only this machine has the store {root}, so workers on other machines cannot take this; \
             for one that they share: uwf help shared-store"
        ));
    }
}

/// The kind of failure of an exit code.
#[cfg(feature = "temporal")]
fn kind_of(exit_code: u8) -> ErrorKind {
    let kinds = [
        ErrorKind::Waiting,
        ErrorKind::Limit,
        ErrorKind::AgentFailed,
        ErrorKind::NotExtractable,
        ErrorKind::Usage,
        ErrorKind::Data,
        ErrorKind::NotFound,
        ErrorKind::Config,
    ];
    kinds.into_iter().find(|kind| kind.exit_code() == exit_code).unwrap_or(ErrorKind::Internal)
}

#[cfg(not(feature = "temporal"))]
fn not_built_in() -> CommandError {
    CommandError::new(ErrorKind::Config, "this uwf was built without engines")
        .hint("`cargo install uwf --features temporal` has Temporal")
}
