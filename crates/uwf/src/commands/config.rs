//! `uwf config …`

mod edit;
mod get;
mod hook_problems;
mod list;
mod path;
mod set;
mod trust;
mod unset;
mod unused_override;
pub(crate) mod validate;

use serde_json::Value;
use uwf_core::config::edit::{EditError, KeyPath, get as value_at, values as values_of};
use uwf_engine::error::Error;
use uwf_engine::root::config_text;
use uwf_engine::root::project::{self, ProjectConfig};

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::CommandResult;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Print the value of a key.
    Get(get::Args),
    /// Change one value; comments and everything else in the file stay as they are.
    Set(set::Args),
    /// Remove a key.
    Unset(unset::Args),
    /// Edit the whole file in your editor; it is replaced once it is valid.
    Edit(edit::Args),
    /// List the keys that are set.
    #[command(alias = "ls")]
    List(list::Args),
    /// Check the configuration on this machine.
    Validate(validate::Args),
    /// Print the path of the configuration.
    Path(path::Args),
    /// Trust a project's configuration (`.workflows/config.yaml`) in its current form.
    Trust(trust::Args),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  uwf config set agents.coder '{command: codex, args: [exec, \"-\"], output: text}'
  uwf config set defaultAgent coder
  uwf config get agents.coder.command
  uwf config validate

Quote a key that has a dot: models.\"gpt-4.1\".name";

/// Runs a command of the group.
pub(crate) fn run(context: &CommandContext, command: Command) -> CommandResult {
    match command {
        Command::Get(args) => get::run(context, &args),
        Command::Set(args) => set::run(context, &args),
        Command::Unset(args) => unset::run(context, &args),
        Command::Edit(args) => edit::run(context, &args),
        Command::List(args) => list::run(context, &args),
        Command::Validate(args) => validate::run(context, &args),
        Command::Path(args) => path::run(context, &args),
        Command::Trust(args) => trust::run(context, &args),
    }
}

/// A typed key.
fn key(text: &str) -> Result<KeyPath, CommandError> {
    text.parse().map_err(|error| {
        CommandError::usage(format!("not a key: {error}"))
            .hint("keys are joined by dots: agents.coder.command; a key with a dot in it is quoted: models.\"gpt-4.1\"")
    })
}

/// The values of the configuration: the user's file, with the current project's file on top.
struct ConfigValues {
    /// The merged values; null without any file.
    all: Value,
    /// The values and the path of each file of the project that is used.
    project: Vec<(Value, String)>,
}

impl ConfigValues {
    /// The project's file that the value comes from, if it does.
    fn origin(&self, path: &KeyPath) -> Option<&str> {
        let is_origin = |values: &Value| {
            // A project's agent replaces the whole entry.
            let whole = path.parts().len().min(2);
            let of = |length: usize| value_at(values, &KeyPath::from_keys(&path.parts()[..length])).is_some();
            let is_entry = matches!(path.parts()[0].as_str(), "agents" | "models") && path.parts().len() > 1;
            of(path.parts().len()) || is_entry && of(whole)
        };
        self.project.iter().rev().find(|(values, _)| is_origin(values)).map(|(_, file)| file.as_str())
    }
}

/// The values for the current directory.
fn values(context: &CommandContext) -> Result<ConfigValues, CommandError> {
    let path = context.home.config_file();
    let own = read(&config_text::read(&path)?, &path.display().to_string())?;
    let project = project::find_project_config(&context.home, &context.cwd)?;
    context.name_ignored(project.as_ref());
    let mut values = ConfigValues { all: own, project: Vec::new() };
    for trusted in project.iter().flat_map(ProjectConfig::trusted_files) {
        let file = trusted.file.display().to_string();
        let over = read(trusted.text(), &file)?;
        values.all = laid_over(values.all, &over);
        values.project.push((over, file));
    }
    Ok(values)
}

fn read(text: &str, file: &str) -> Result<Value, CommandError> {
    values_of(text, file).map_err(|error| {
        let error = match error {
            EditError::Unreadable(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
            EditError::NotAMapping { .. } | EditError::Entangled { .. } => error.to_string(),
        };
        Error::config(error).hint("`uwf config validate` shows the lines").into()
    })
}

/// A project's values merged over the user's, as for a step: agents and models are replaced as a whole.
fn laid_over(own: Value, over: &Value) -> Value {
    let (mut all, Some(over)) = (own.as_object().cloned().unwrap_or_default(), over.as_object()) else { return own };
    for (key, value) in over {
        let depth = match key.as_str() {
            "agents" | "models" | "modelOverrides" | "extract" => 1,
            "agentOverrides" => 2,
            _ => 0,
        };
        let below = all.remove(key).unwrap_or(Value::Null);
        all.insert(key.clone(), merged(below, value, depth));
    }
    Value::Object(all)
}

/// `over` merged over `below`: mappings are merged down to `depth`, other values are replaced.
fn merged(below: Value, over: &Value, depth: usize) -> Value {
    match (below, over) {
        (Value::Object(mut below), Value::Object(over)) if depth > 0 => {
            for (key, value) in over {
                let old = below.remove(key).unwrap_or(Value::Null);
                below.insert(key.clone(), merged(old, value, depth - 1));
            }
            Value::Object(below)
        }
        _ => over.clone(),
    }
}
