//! `--on`: the engine that runs a thread.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser};

use crate::duration;

/// Parses the name of an engine that runs steps on several machines.
pub(crate) fn engines() -> PossibleValuesParser {
    PossibleValuesParser::new([PossibleValue::new("temporal").help("A Temporal server")])
}

/// Which engine, and whether to watch it.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct EngineArgs {
    /// Hand the thread to the workers of an engine (`uwf worker`), and follow it.
    #[arg(long, value_name = "ENGINE", value_parser = engines(), conflicts_with_all = ["all", "until", "steps"])]
    pub(crate) on: Option<String>,
    /// With --on, do not follow the thread.
    #[arg(long, requires = "on")]
    pub(crate) detach: bool,
    /// Steps until the engine's workflow continues as a new run: for tests.
    #[arg(long, value_name = "N", requires = "on", hide = true)]
    pub(crate) steps_per_run: Option<u32>,
    /// With --on, how long to leave an idle thread alone at first; for tests.
    #[arg(long, value_name = "DURATION", requires = "on", hide = true, value_parser = duration::given)]
    pub(crate) look_again: Option<Duration>,
}
