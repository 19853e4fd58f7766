//! `uwf config set`

use clap_complete::engine::ArgValueCompleter;
use json_cas::nearest::did_you_mean;
use serde::Serialize;
use serde_json::Value;
use uwf_core::config::edit::{self, BadValue, KeyPath};
use uwf_engine::error::ErrorKind;
use uwf_engine::root::config_file::{self, ConfigChange, ConfigChangeReport};

use super::key;
use super::validate::problems_of;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf config set`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf config set maxSteps 50
  uwf config set agents.coder '{command: codex, args: [exec, \"-\"], output: text}'
  uwf config set agents.coder.timeout 2h
  uwf config set agentOverrides.solve-issue.reviewer judge
  uwf config set agents.coder.args '[-p, \"{prompt}\"]'

Only this value changes: comments, order, unknown keys and formatting elsewhere in the file stay. A result that is not
valid is refused with exit 78, and nothing is written.")]
pub(crate) struct Args {
    /// The key, its parts joined by dots.
    #[arg(add = ArgValueCompleter::new(complete::config_keys))]
    key: String,
    /// The value, as YAML: true, 5, 30m, null, [a, b], {a: 1}.
    #[arg(allow_hyphen_values = true, required_unless_present = "unset", conflicts_with = "unset")]
    value: Option<String>,
    /// The value is a text, whatever it looks like.
    #[arg(long)]
    string: bool,
    /// Remove the key, as `uwf config unset` does.
    #[arg(long, hide = true, conflicts_with = "string")]
    unset: bool,
}

#[derive(Serialize)]
struct SetReport {
    key: String,
    /// Absent if the key was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    file: String,
    /// Whether the file changed.
    changed: bool,
}

impl CommandReport for SetReport {
    fn text(&self) -> String {
        let SetReport { key, value, file, changed } = self;
        let key = style::bold(key);
        match (value, changed) {
            (Some(value), true) => format!("set {key} to {value} in {file}\n"),
            (Some(value), false) => format!("{key} is {value} already in {file}\n"),
            (None, true) => format!("removed {key} from {file}\n"),
            (None, false) => format!("{key} is not set in {file}\n"),
        }
    }
}

/// Sets a value.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let path = key(&args.key)?;
    let value = args.value.as_deref().map(|text| value(text, args.string)).transpose()?;
    if value.is_some() {
        check_known(&path)?;
    }
    let change = match &value {
        Some(value) => ConfigChange::Set(path.clone(), value.clone()),
        None => ConfigChange::Unset(path.clone()),
    };
    done(context, &path, value, change)
}

/// Refuses a first key that uwf would ignore. Keys that begin with `x-` are for notes.
fn check_known(path: &KeyPath) -> Result<(), CommandError> {
    let first = path.parts().first().map_or("", String::as_str);
    if uwf_core::config::keys().any(|key| key == first) || first.starts_with("x-") {
        return Ok(());
    }
    let near = did_you_mean(first, uwf_core::config::keys());
    let hint = near.unwrap_or_else(|| "`uwf help configuration` lists the keys".to_owned());
    Err(CommandError::new(ErrorKind::Config, format!("`{first}` is not a key of the configuration"))
        .hint(hint)
        .hint("nothing was written"))
}

/// Makes and reports the change.
pub(super) fn done(
    context: &CommandContext,
    path: &KeyPath,
    value: Option<Value>,
    change: ConfigChange,
) -> CommandResult {
    let configured = config_file::change(&context.home, &[change], &|text| problems_of(&context.home, text))?;
    warn(context, &configured);
    let file = context.home.config_file().display().to_string();
    PrintableReport::new(&SetReport { key: path.to_string(), value, file, changed: configured.changed })
}

/// Warns about remaining problems of a written configuration.
pub(super) fn warn(context: &CommandContext, configured: &ConfigChangeReport) {
    // A role that is missing may be what the person adds to the workflow next; `uwf config validate` reports it.
    for problem in configured.warnings.iter().filter(|problem| problem.code != "unknown-role") {
        let hint = problem.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        context.printer.warn(&format!("{}{hint}", problem.message));
    }
    if configured.errors_left > 0 {
        context.printer.warn("the file has other errors still: `uwf config validate` shows them");
    }
}

fn value(text: &str, is_text: bool) -> Result<Value, CommandError> {
    if is_text {
        return Ok(Value::from(text));
    }
    edit::value(text).map_err(|error| {
        let hint = match error {
            BadValue::Empty => "`--string ''` is an empty text, `null` is null, `uwf config unset` removes the key",
            BadValue::Syntax(_) | BadValue::Block | BadValue::Comment => {
                "to store it as text, add `--string`; write lists as [a, b], mappings as {a: 1}"
            }
        };
        CommandError::usage(error.to_string()).hint(hint)
    })
}
