//! `uwf config list`

use serde_json::{Map, Value};
use uwf_core::config::edit;

use super::values;
use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf config list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf config list
  uwf config list | jq -r 'keys[]'

Prints every key that is set in config.yaml, in the form that `config get` and `config set` take. The file has no
secrets.")]
pub(crate) struct Args {}

/// Lists the values.
pub(crate) fn run(context: &CommandContext, _args: &Args) -> CommandResult {
    let values = values(context)?;
    for (_, file) in &values.project {
        context.printer.talk(&format!("values of {file} override your own configuration"));
    }
    let leaves = edit::leaves(&values.all).into_iter().map(|(path, value)| (path.to_string(), value.clone()));
    let listed: Map<String, Value> = leaves.collect();
    let line = |(key, value): (&String, &Value)| match value {
        Value::String(text) if !text.contains('\n') => format!("{} = {text}\n", style::bold(key)),
        value => format!("{} = {value}\n", style::bold(key)),
    };
    let text: String = listed.iter().map(line).collect();
    Ok(PrintableReport::value_with_text(Value::Object(listed), text))
}
