//! Whether a command may ask.

use crate::ask::Asker;

/// Whether a command may ask.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct NoAsk {
    /// Never ask, even on a terminal.
    #[arg(long)]
    pub(crate) no_ask: bool,
}

impl NoAsk {
    /// Whether to ask: there is a person, who has not ruled it out.
    pub(crate) fn asks(self) -> bool {
        !self.no_ask && Asker::has_person()
    }
}
