//! `uwf man`: the manual pages of all commands.

use std::path::PathBuf;

use clap_mangen::Man;
use serde_json::json;
use uwf_engine::error::ErrorKind;

use crate::error::CommandError;
use crate::install::{self, InstallFile};
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf man --install                     then: man uwf-thread-step
  uwf man thread step | man -l -        one page, installed or not
  uwf man --install --dir /usr/local/share/man/man1")]
pub(crate) struct Args {
    /// Print the page of this command. Default: uwf itself.
    #[arg(conflicts_with = "install")]
    command: Vec<String>,
    /// Write the pages of all commands where `man` looks for them.
    #[arg(long)]
    install: bool,
    /// Directory to write them to. Default: man/man1 in $XDG_DATA_HOME, else ~/.local/share.
    #[arg(long, requires = "install", value_hint = clap::ValueHint::DirPath)]
    dir: Option<PathBuf>,
    /// With --install: only report what would be written.
    #[arg(long, requires = "install")]
    dry_run: bool,
}

impl Args {
    /// Whether the pages are installed instead of printed.
    pub(crate) fn installs(&self) -> bool {
        self.install
    }
}

/// Prints or installs manual pages.
pub(crate) fn run(args: &Args, mut root: clap::Command) -> CommandResult {
    root.build();
    if !args.install {
        let command = super::help::find(&root, &args.command)?;
        let roff = page(command, &file_name("uwf", &args.command))?;
        let roff = String::from_utf8_lossy(&roff);
        return Ok(PrintableReport::value_with_text(json!({ "roff": roff }), roff));
    }
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => install::dir("XDG_DATA_HOME", ".local/share")?.join("man/man1"),
    };
    let mut files = Vec::new();
    for (name, command) in all(&root, "uwf") {
        files.push(InstallFile { path: dir.join(format!("{name}.1")), content: page(command, &name)? });
    }
    install::install(&files, args.dry_run, None)
}

/// Every command, with the name of its page.
fn all<'c>(command: &'c clap::Command, name: &str) -> Vec<(String, &'c clap::Command)> {
    let below = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let below = below.flat_map(|sub| all(sub, &format!("{name}-{}", sub.get_name())));
    std::iter::once((name.to_owned(), command)).chain(below).collect()
}

fn file_name(root: &str, words: &[String]) -> String {
    std::iter::once(root).chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join("-")
}

fn page(command: &clap::Command, name: &str) -> Result<Vec<u8>, CommandError> {
    let mut page = Vec::new();
    let rendered = Man::new(command.clone().display_name(name.to_owned()))
        .title(name.to_uppercase())
        .source(concat!("uwf ", env!("CARGO_PKG_VERSION")))
        .render(&mut page);
    rendered.map_err(|error| CommandError::new(ErrorKind::Internal, format!("no page for {name}: {error}")))?;
    Ok(page)
}
