//! Shows long text on a terminal in the user's pager.

use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

use uwf_engine::attempt::agent_process::SignalListener;

use crate::terminal;

/// The pager if `PAGER` is not set.
const PAGER: &str = "less";

/// Options of `less` if the user set none: exit if the text fits, draw colours, and leave the text on the screen.
const LESS: &str = "FRX";

/// Whether a long text goes through the pager, for commands whose text can be long.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct PagerArgs {
    /// Print a long text straight to the terminal, not through $PAGER (else less).
    #[arg(long)]
    pub(crate) no_pager: bool,
}

/// Shows a text in the pager, if stdout is a terminal with fewer rows than the text. Returns whether the pager did; a pager that can't be
/// started, or that fails before it has read the text, shows nothing.
pub(crate) fn show(text: &str) -> bool {
    let Some(size) = terminal::size(&std::io::stdout()) else { return false };
    if text.lines().count() < size.rows || std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return false;
    }
    let chosen = std::env::var("PAGER").ok();
    let pager = chosen.as_deref().map_or(PAGER, str::trim);
    !pager.is_empty() && pager != "cat" && run(pager, text)
}

fn run(pager: &str, text: &str) -> bool {
    // Ctrl-C is for the pager.
    let Ok(_signals) = SignalListener::listen() else { return false };
    let mut command = Command::new("sh");
    command.args(["-c", pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let Ok(mut child) = command.spawn() else { return false };
    let written = child.stdin.take().map(|mut stdin| stdin.write_all(text.as_bytes()));
    let ended = child.wait();
    // A person who leaves the pager early has seen enough. A pager that can't be run (126 or 127 from the shell) has shown nothing.
    let is_missing = ended.is_ok_and(|status| matches!(status.code(), Some(126 | 127)));
    match written {
        Some(Err(error)) if error.kind() != ErrorKind::BrokenPipe => false,
        _ => !is_missing,
    }
}
