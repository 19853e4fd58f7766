//! `uwf hook …`

mod answer;
mod deliver;
mod test;

use std::path::PathBuf;

use clap_complete::engine::ArgValueCompleter;
use json_cas::nearest::did_you_mean;
use serde_json::json;
use uwf_core::config::{HookConfig, HookStart};
use uwf_core::input::{InputDoor, InputRequest, InputValues};
use uwf_engine::error::ErrorKind;
use uwf_engine::verbs::hook::HookedStart;

use crate::commands::thread::args::chosen_id::ChosenId;
use crate::commands::thread::start::{StartFollowUp, StartOptions, ThreadTask};
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::CommandResult;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Show what a hook would do for a payload, and change nothing.
    Test(TestArgs),
    /// Start or answer a thread for a delivery from stdin, whose signature was verified: for `uwf serve`.
    #[command(hide = true)]
    Deliver(DeliverArgs),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  uwf hook test triage --payload issue.json --header 'X-GitHub-Event: issues'
  uwf serve --hooks                                    serves each hook at /hooks/NAME

`hooks` of config.yaml has the hooks: `uwf help configuration`.";

/// Arguments of `uwf hook test`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf hook test triage --payload issue.json --header 'X-GitHub-Event: issues'
  uwf hook test triage --payload - < issue.json
  uwf hook test triage --payload issue.json | jq -r .prompt

Evaluates the expressions of the hook and makes the checks of a start or an answer. No signature is needed.")]
pub(crate) struct TestArgs {
    /// Name of the hook, a key of `hooks` in config.yaml.
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(complete::hooks))]
    name: String,
    /// A file with the body of a delivery as JSON; `-` is stdin.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    payload: PathBuf,
    /// A header of the delivery, such as 'X-GitHub-Event: issues'; may be repeated.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// Id of the delivery.
    #[arg(long, value_name = "ID", default_value = "test")]
    delivery: String,
}

/// Arguments of `uwf hook deliver`.
#[derive(Debug, clap::Args)]
pub(crate) struct DeliverArgs {
    /// Name of the hook.
    #[arg(value_name = "NAME")]
    name: String,
}

/// Runs a command of the group.
pub(crate) fn run(context: &CommandContext, command: Command) -> CommandResult {
    match command {
        Command::Test(args) => test::run(context, args),
        Command::Deliver(args) => deliver::run(context, &args.name),
    }
}

/// A hook of the configuration.
///
/// # Errors
/// `Config` for a configuration with errors, `NotFound` for an unknown hook.
fn configured(context: &CommandContext, name: &str) -> Result<HookConfig, CommandError> {
    // A project has no hooks.
    let hooks = context.home.config()?.hooks;
    hooks.get(name).cloned().ok_or_else(|| {
        let unknown = CommandError::new(ErrorKind::NotFound, format!("config.yaml has no hook `{name}`"));
        match did_you_mean(name, hooks.keys().map(String::as_str)) {
            Some(near) => unknown.hint(near),
            None => unknown.hint("`uwf help configuration` describes `hooks`"),
        }
    })
}

/// The arguments of the start that a hook makes.
fn start_arguments(name: &str, hook: &HookStart, planned: HookedStart) -> (ThreadTask, StartOptions, StartFollowUp) {
    let HookedStart { thread, prompt, input, labels } = planned;
    let values = input.map(|value| InputValues::Value { value, origin: format!("hooks.{name}.start.input") });
    let options = StartOptions {
        cwd: hook.cwd.clone().map(PathBuf::from),
        labels,
        id: ChosenId { chosen: Some(thread) },
        ..StartOptions::default()
    };
    let follows = match hook.run {
        true => StartFollowUp::Steps { until: None, steps: None },
        false => StartFollowUp::Nothing,
    };
    (ThreadTask { prompt, input: InputRequest { values, set: Vec::new(), door: InputDoor::Hook } }, options, follows)
}

/// Parses a header; its name in lower case.
fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("a header is `NAME: VALUE`; this one has no `:`")?;
    Ok((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
}

/// A report of a hook, as JSON.
fn report(status: &str, name: &str, delivery: &str) -> serde_json::Value {
    json!({ "status": status, "hook": name, "delivery": delivery })
}
