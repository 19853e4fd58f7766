//! The program `uwf`: turns arguments into requests, and reports into text.
//!
//! It is a separate crate because only it prints, and only it turns failures into exit codes.

use std::process::ExitCode;

mod ask;
mod checked;
mod cli;
mod commands;
mod complete;
mod context;
mod described;
mod duration;
mod editor;
mod error;
mod file_schemas;
mod help_text;
mod input;
mod install;
mod messengers;
mod new_files;
mod pager;
mod printer;
mod progress;
mod role_commands;
mod skills;
mod snippet;
mod style;
mod table;
mod templates;
#[cfg(feature = "temporal")]
mod temporal;
mod terminal;
mod topics;
mod usage;

fn main() -> ExitCode {
    cli::main()
}
