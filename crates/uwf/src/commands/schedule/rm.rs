//! `uwf schedule rm`

use serde_json::json;
use uwf_engine::error::ErrorKind;
use uwf_engine::verbs::kill;

use super::name;
use crate::context::Context;
use crate::engine::Schedules;
use crate::printer::{CommandResult, Printed};
use crate::style;

/// Arguments of `uwf schedule rm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  uwf schedule rm weekly")]
pub(crate) struct Args {
    /// Its name.
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let template = Schedules::connect(context)?.remove(&args.name)?;
    if let Some(template) = &template
        && let Err(error) = kill::kill(&context.home, template, None)
        // Somebody killed it before.
        && error.kind != ErrorKind::NotFound
    {
        context.printer.warn(&format!("the thread {template} that it began others from is left: {}", error.message));
    }
    let text = format!("removed schedule {}; its threads continue\n", style::bold(&args.name));
    Ok(Printed::of(json!({ "schedule": args.name, "removed": true }), text))
}
