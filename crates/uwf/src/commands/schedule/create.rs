//! `uwf schedule create`

use clap_complete::engine::ArgValueCompleter;
use serde_json::json;
use uwf_engine::thread::load::Thread;
use uwf_engine::verbs::{kill, pause, show};

use super::name;
use crate::commands::thread::start::{self, Follows};
use crate::complete;
use crate::context::Context;
use crate::engine::{Schedules, warn_of_own_store, warn_of_unknown_address};
use crate::printer::{CommandResult, Printed};
use crate::style;

/// Arguments of `uwf schedule create`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf schedule create weekly --workflow review --cron '0 9 * * 1' -p 'Review what was merged last week'
  uwf schedule create nightly --workflow tidy --cron 'CRON_TZ=Europe/Berlin 30 2 * * *' -p - < task.md

Workflow and task are kept in a thread that is paused and never stepped; each time a new thread begins where it does. So a
later version of the workflow counts from the next `create` on. A time at which the thread before has not ended is left out,
also when that thread waits for a person; `uwf schedule list` counts such times.")]
pub(crate) struct Args {
    /// Its name.
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// A workflow: path, name, hash or unique prefix of one.
    #[arg(long, value_name = "WORKFLOW", add = ArgValueCompleter::new(complete::workflows))]
    workflow: String,
    /// When: minute, hour, day of the month, month, day of the week, in UTC unless it begins with CRON_TZ=ZONE.
    #[arg(long, value_name = "CRON")]
    cron: String,
    /// Task of the threads; `-` reads it from stdin.
    #[arg(short, long, value_name = "PROMPT", allow_hyphen_values = true)]
    prompt: String,
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: Args) -> CommandResult {
    let Args { name, workflow, cron, prompt } = args;
    let schedules = Schedules::connect(context)?;
    warn_of_own_store(context);
    warn_of_unknown_address(context)?;
    let options = start::Options { prompt: Some(prompt), no_worktree: true, ..start::Options::default() };
    let template = start::begin(context, &workflow, options, Follows::Nothing)?.thread;
    let made = (|| {
        let reason = format!("schedule {name} begins threads from it");
        pause::pause(&context.home, &template, Some(&reason), None)?;
        let start = show::show(&context.home, &template)?.head;
        let workflow = Thread::at(&context.home, template.clone(), start)?.workflow()?.name;
        schedules.create(&name, &cron, &workflow, &template, start)
    })();
    if let Err(error) = made {
        // If it cannot be killed, it is paused or was never stepped, and does nothing.
        let _ = kill::kill(&context.home, &template, None);
        return Err(error);
    }
    let text = format!("schedule {} begins threads of {workflow} at `{cron}`\n", style::bold(&name));
    Ok(Printed::of(json!({ "schedule": name, "cron": cron, "template": template }), text))
}
