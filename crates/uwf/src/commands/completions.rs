//! `uwf completions`: scripts for shells to complete commands.

use std::path::PathBuf;

use clap_complete::Shell;
use clap_complete::env::Shells;
use serde_json::json;
use uwf_engine::error::ErrorKind;

use crate::complete;
use crate::error::CommandError;
use crate::install::{self, InstallFile};
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf completions`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf completions --install             for the shell you use, into your own directories\n  uwf completions --install zsh\n  source <(uwf completions bash)        for this session\n\nThe shell asks uwf: for threads with their tasks, workflows, roles, agents, keys of the configuration, and files."
)]
pub(crate) struct Args {
    /// The shell. Default with --install: $SHELL.
    #[arg(required_unless_present = "install")]
    shell: Option<Shell>,
    /// Write the script where the shell looks for it: bash, zsh or fish.
    #[arg(long)]
    install: bool,
    /// With --install: only report what would be written.
    #[arg(long, requires = "install")]
    dry_run: bool,
}

impl Args {
    /// Whether the script is installed instead of printed.
    pub(crate) fn installs(&self) -> bool {
        self.install
    }
}

/// Prints or installs the script.
pub(crate) fn run(args: &Args) -> CommandResult {
    let shell = args.shell.or_else(Shell::from_env).ok_or_else(|| {
        CommandError::usage("cannot find out the shell: SHELL is not set").hint("uwf completions --install bash")
    })?;
    let script = script(shell)?;
    if !args.install {
        return Ok(PrintableReport::value_with_text(json!({ "script": script }), script));
    }
    let path = place(shell)?;
    let todo = (shell == Shell::Zsh).then(|| {
        let dir = path.parent().map(install::short).unwrap_or_default();
        format!("add to ~/.zshrc, before compinit: fpath=({dir} $fpath)")
    });
    // zsh loads the file from fpath as the body of the completing function, so it must also answer the first request.
    let content = match shell {
        Shell::Zsh => format!("{script}[[ $funcstack[1] = _uwf ]] && _clap_dynamic_completer_uwf \"$@\"\n"),
        _ => script,
    };
    install::install(&[InstallFile { path, content: content.into_bytes() }], args.dry_run, todo)
}

fn script(shell: Shell) -> Result<String, CommandError> {
    let internal =
        |why: &dyn std::fmt::Display| CommandError::new(ErrorKind::Internal, format!("no script for {shell}: {why}"));
    let shells = Shells::builtins();
    let completer = shells.completer(&shell.to_string()).ok_or_else(|| internal(&"it is not known"))?;
    let mut script = Vec::new();
    completer
        .write_registration(complete::VARIABLE, "uwf", "uwf", &complete::program(), &mut script)
        .map_err(|error| internal(&error))?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Where a shell looks for the user's completions.
fn place(shell: Shell) -> Result<PathBuf, CommandError> {
    Ok(match shell {
        Shell::Bash => install::dir("XDG_DATA_HOME", ".local/share")?.join("bash-completion/completions/uwf"),
        Shell::Zsh => install::dir("ZDOTDIR", "")?.join(".zfunc/_uwf"),
        Shell::Fish => install::dir("XDG_CONFIG_HOME", ".config")?.join("fish/completions/uwf.fish"),
        other => {
            return Err(CommandError::usage(format!("where {other} looks for completions is not known")).hint(
                format!("`uwf completions {other}` prints the script; its own documentation says where to put it"),
            ));
        }
    })
}
