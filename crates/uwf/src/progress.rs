//! A counter on stderr for long work, only for people.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use crate::printer::CommandPrinter;

/// Shorter work needs no counter.
const PATIENCE: Duration = Duration::from_millis(500);

/// Time between two updates of the counter.
const PACE: Duration = Duration::from_millis(100);

/// Counts on one line of a terminal; silent elsewhere.
pub(crate) struct ProgressCounter {
    printer: CommandPrinter,
    what: &'static str,
    next: Instant,
    is_terminal: bool,
    is_shown: bool,
}

impl ProgressCounter {
    /// A counter of `what` (`nodes checked`).
    pub(crate) fn new(printer: CommandPrinter, what: &'static str) -> ProgressCounter {
        let is_terminal = std::io::stderr().is_terminal();
        ProgressCounter { printer, what, next: Instant::now() + PATIENCE, is_terminal, is_shown: false }
    }

    /// Shows how many are done.
    pub(crate) fn show_count(&mut self, count: usize) {
        if !self.is_terminal || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + PACE;
        self.printer.live(&format!("{count} {}", self.what));
        self.is_shown = true;
    }
}

impl Drop for ProgressCounter {
    fn drop(&mut self) {
        if self.is_shown {
            self.printer.clear_line();
        }
    }
}
