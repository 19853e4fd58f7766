//! The reference page in docs/, made from the same definitions as `--help`.

use std::fmt::Write as _;

use serde::Serialize;

use crate::printer::{CommandResult, Printed, Report};

#[derive(Serialize)]
struct Page {
    markdown: String,
}

impl Report for Page {
    fn text(&self) -> String {
        self.markdown.clone()
    }
}

/// Options every command has; the page tells them once.
const COMMON: [&str; 2] = ["format", "help"];

/// Prints the page.
pub(crate) fn run() -> CommandResult {
    Printed::new(&Page { markdown: page() })
}

/// The page.
pub(crate) fn page() -> String {
    let mut root = crate::cli::command().term_width(100);
    root.build();
    let mut markdown = String::from(
        "# Reference\n\nMade by `uwf reference` from the same definitions as `--help`. Every command takes `--format` and `--help`\n\
         too; exit codes are those of the first section.\n",
    );
    section(&mut markdown, &mut root, "uwf");
    markdown
}

fn section(markdown: &mut String, command: &mut clap::Command, path: &str) {
    let help = command.render_long_help().to_string();
    let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    // Writing to a String never fails.
    let _ = write!(markdown, "\n## `{path}`\n\n```text\n{}\n```\n", help.trim_end());
    for sub in command.get_subcommands_mut().filter(|sub| !sub.is_hide_set()) {
        let name = sub.get_name().to_owned();
        let mut brief =
            COMMON.into_iter().fold(sub.clone(), |sub, option| sub.mut_arg(option, |option| option.hide(true)));
        section(markdown, &mut brief, &format!("{path} {name}"));
    }
}
