//! `uwf completions`: what a shell needs to complete commands.

use clap_complete::Shell;
use serde::Serialize;

use crate::printer::{CommandResult, Printed, Report};

/// Arguments of `uwf completions`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf completions bash > /etc/bash_completion.d/uwf\n  uwf completions zsh > ~/.zfunc/_uwf\n  uwf completions fish > ~/.config/fish/completions/uwf.fish"
)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

#[derive(Serialize)]
struct Script {
    script: String,
}

impl Report for Script {
    fn text(&self) -> String {
        self.script.clone()
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::cli::command(), "uwf", &mut script);
    Printed::new(&Script { script: String::from_utf8_lossy(&script).into_owned() })
}
