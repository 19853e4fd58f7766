//! Schedules of a Temporal server.

use std::time::SystemTime;

use serde_json::json;
use uwf_core::view;
use uwf_engine::error::ErrorKind;
use uwf_engine::thread::load::Thread;
use uwf_engine::verbs::{kill, pause};
use uwf_engine::views::show;
use uwf_temporal::TemporalSchedule;

use super::{CreateArgs, ScheduleRow, left_out_in_words, without_agent_option};
use crate::commands::thread::args::no_ask::NoAsk;
use crate::commands::thread::start::{self, StartFollowUp};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;
pub(super) use crate::temporal::is_known;
use crate::temporal::{ScheduleClient, warn_of_own_store, warn_of_unknown_address};

/// Creates a schedule.
pub(super) fn create(context: &CommandContext, args: CreateArgs) -> CommandResult {
    let CreateArgs { name, workflow, cron, prompt, input, on: _ } = args;
    let schedules = ScheduleClient::connect(context)?;
    warn_of_own_store(context);
    warn_of_unknown_address(context)?;
    let options =
        start::StartOptions { prompt: Some(prompt), input, no_worktree: true, ..start::StartOptions::default() };
    let template = start::begin(context, &workflow, options, StartFollowUp::Nothing, NoAsk { no_ask: true })
        .map_err(without_agent_option)?
        .thread;
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
    let report = json!({ "schedule": name, "on": "temporal", "cron": cron, "template": template });
    Ok(PrintableReport::value_with_text(report, text))
}

/// The schedules of the server.
pub(super) fn rows(context: &CommandContext) -> Result<Vec<ScheduleRow>, CommandError> {
    let all = ScheduleClient::connect(context)?.all()?;
    Ok(all.iter().map(row).collect())
}

fn row(schedule: &TemporalSchedule) -> ScheduleRow {
    let TemporalSchedule { name, note, is_paused, left_out, .. } = schedule;
    let next: Vec<u64> = schedule.next.iter().map(milliseconds).collect();
    let when = match next.first() {
        _ if *is_paused => "paused".to_owned(),
        Some(next) => format!("next {} UTC", view::time(*next)),
        None => "no further time".to_owned(),
    };
    let report = json!({
        "schedule": name, "on": "temporal", "note": note, "paused": is_paused, "next": next, "leftOut": left_out
    });
    let facts =
        vec![("timer", "Temporal".to_owned()), ("note", note.clone()), ("skipped", left_out_in_words(*left_out))];
    let (workflow, times) = parts_of_note(note);
    ScheduleRow { name: name.clone(), report, project: None, times, workflow, next: when, facts, again: None }
}

/// The workflow and the times in a note, which is `threads of WORKFLOW at CRON`.
fn parts_of_note(note: &str) -> (String, String) {
    let parts = note.strip_prefix("threads of ").and_then(|rest| rest.split_once(" at "));
    let (workflow, times) = parts.unwrap_or(("", note));
    (workflow.to_owned(), times.trim_matches('`').to_owned())
}

/// Removes a schedule.
pub(super) fn remove(context: &CommandContext, name: &str) -> Result<(), CommandError> {
    let template = ScheduleClient::connect(context)?.remove(name)?;
    if let Some(template) = &template
        && let Err(error) = kill::kill(&context.home, template, None)
        // Another process may have killed the thread.
        && error.kind != ErrorKind::NotFound
    {
        context.printer.warn(&format!("its template thread {template} was not removed: {}", error.message));
    }
    Ok(())
}

fn milliseconds(time: &SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
