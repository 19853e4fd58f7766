//! Whether a command may ask questions.

use crate::ask::TerminalAsker;

/// Whether a command may ask.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct NoAsk {
    /// Never ask, even on a terminal.
    #[arg(long)]
    pub(crate) no_ask: bool,
}

impl NoAsk {
    /// Whether to ask: a person is at the terminal, and `--no-ask` is not set.
    pub(crate) fn asks(self) -> bool {
        !self.no_ask && TerminalAsker::has_person()
    }
}
