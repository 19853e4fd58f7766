//! The reference page in docs/, made from the same definitions as `--help`.

use std::fmt::Write as _;

use serde::Serialize;

use crate::printer::{CommandResult, Format, Printed, Report};

#[derive(Serialize)]
struct Page {
    markdown: String,
}

impl Report for Page {
    fn text(&self) -> String {
        self.markdown.clone()
    }

    fn preferred(&self) -> Option<Format> {
        Some(Format::Text)
    }
}

/// Prints the page.
pub(crate) fn run() -> CommandResult {
    let mut root = crate::cli::command().term_width(100);
    root.build();
    let mut markdown = String::from("# Reference\n\nMade by `uwf reference` from the same definitions as `--help`.\n");
    section(&mut markdown, &mut root, "uwf");
    let _ = write!(markdown, "\n## Exit codes\n\n```text\n{}\n```\n", crate::cli::EXIT_CODES);
    Printed::new(&Page { markdown })
}

fn section(markdown: &mut String, command: &mut clap::Command, path: &str) {
    let help = command.render_long_help().to_string();
    let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    // Writing to a String never fails.
    let _ = write!(markdown, "\n## `{path}`\n\n```text\n{}\n```\n", help.trim_end());
    let names: Vec<String> = command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        if let Some(sub) = command.find_subcommand_mut(&name) {
            section(markdown, sub, &format!("{path} {name}"));
        }
    }
}
