//! The size of the terminal.

use std::io::IsTerminal;
use std::os::fd::AsFd;

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TerminalSize {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// The size of a stream's terminal; `None` if the stream is not a terminal, or the size is unknown.
pub(crate) fn size(stream: &(impl AsFd + IsTerminal)) -> Option<TerminalSize> {
    if !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
    (columns > 0 && rows > 0).then_some(TerminalSize { columns, rows })
}
