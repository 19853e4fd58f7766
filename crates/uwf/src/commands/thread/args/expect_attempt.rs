//! The attempt that a command was made for.

use uwf_engine::verbs::step::newest_attempt::NewestAttempt;

/// The attempt that a command was made for.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct ExpectAttempt {
    /// Exit with 75 unless this is the newest attempt at that head. `none` if there must be no attempt.
    #[arg(long = "expect-attempt", value_name = "ID|none", requires = "expected")]
    pub(crate) newest: Option<NewestAttempt>,
}
