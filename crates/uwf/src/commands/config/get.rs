//! `uwf config get`

use clap_complete::engine::ArgValueCompleter;
use json_cas::nearest::did_you_mean;
use serde_json::Value;
use uwf_core::config::default_of;
use uwf_core::config::edit::{self, KeyPath};
use uwf_engine::error::ErrorKind;

use super::{key, values};
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf config get`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf config get defaultAgent --format text
  uwf config get agents.coder
  uwf config get 'models.\"gpt-4.1\".name'

A single value is printed bare; a map or a list is JSON in a pipe. Exit 69 when the key is not set.")]
pub(crate) struct Args {
    /// The key, its parts joined by dots.
    #[arg(add = ArgValueCompleter::new(complete::config_keys))]
    key: String,
}

/// Prints a value.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let path = key(&args.key)?;
    let values = values(context)?;
    match edit::get(&values.all, &path) {
        Some(value) => {
            if let Some(file) = values.origin(&path) {
                context.printer.talk(&format!("{path} comes from {file}"));
            }
            let text = match value {
                Value::String(text) => format!("{text}\n"),
                other => yaml_tree::write::block(other),
            };
            let is_data = context.printer.has_format() || value.is_array() || value.is_object();
            Ok(match is_data {
                true => PrintableReport::value_with_text(value.clone(), text),
                // For `$(uwf config get KEY)`.
                false => PrintableReport::line(text.trim_end_matches('\n')),
            })
        }
        None => Err(not_set(context, &values.all, &path)),
    }
}

fn not_set(context: &CommandContext, values: &Value, path: &KeyPath) -> CommandError {
    let file = context.home.config_file();
    let error = CommandError::new(ErrorKind::NotFound, format!("`{path}` is not set in {}", file.display()));
    // An agent that does not exist has no defaults.
    let parent = path.parts().split_last().and_then(|(_, above)| edit::get(values, &KeyPath::from_keys(above)));
    if let Some(default) = default_of(path).filter(|_| parent.is_some() || path.parts()[0] != "agents") {
        return error.hint(format!("the default holds: {default}"));
    }
    let mut known: Vec<String> = uwf_core::config::keys().map(str::to_owned).collect();
    known.extend(edit::paths(values).iter().map(ToString::to_string));
    let wanted = path.to_string();
    let near = did_you_mean(&wanted, known.iter().map(String::as_str).filter(|key| *key != wanted));
    error.hint(near.unwrap_or_else(|| "`uwf config list` shows what is set".to_owned()))
}
