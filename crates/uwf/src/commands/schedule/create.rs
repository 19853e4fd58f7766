//! `uwf schedule create`

use serde_json::json;
use uwf_engine::thread::load::Thread;
use uwf_engine::verbs::{kill, pause};
use uwf_engine::views::show;

use super::CreateArgs;
use crate::commands::thread::args::no_ask::NoAsk;
use crate::commands::thread::start::{self, StartFollowUp};
use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;
use crate::temporal::{ScheduleClient, warn_of_own_store, warn_of_unknown_address};

/// Creates a schedule.
pub(crate) fn run(context: &CommandContext, args: CreateArgs) -> CommandResult {
    let CreateArgs { name, workflow, cron, prompt, input } = args;
    let schedules = ScheduleClient::connect(context)?;
    warn_of_own_store(context);
    warn_of_unknown_address(context)?;
    let options =
        start::StartOptions { prompt: Some(prompt), input, no_worktree: true, ..start::StartOptions::default() };
    let template = start::begin(context, &workflow, options, StartFollowUp::Nothing, NoAsk { no_ask: true })?.thread;
    let made = (|| {
        let reason = format!("schedule {name} starts threads from it");
        pause::pause(&context.home, &template, Some(&reason), None)?;
        let start = show::show(&context.home, &template)?.head;
        let workflow = Thread::load_at(&context.home, template.clone(), start)?.workflow()?.name;
        schedules.create(&name, &cron, &workflow, &template, start)
    })();
    if let Err(error) = made {
        // A template that can't be killed is paused or was never stepped, so it does no harm.
        let _ = kill::kill(&context.home, &template, None);
        return Err(error);
    }
    let text = format!("schedule {} starts threads of {workflow} at `{cron}`\n", style::bold(&name));
    Ok(PrintableReport::value_with_text(json!({ "schedule": name, "cron": cron, "template": template }), text))
}
