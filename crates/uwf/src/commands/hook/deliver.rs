//! `uwf hook deliver`: one process per delivery, so that the server changes nothing itself.

use serde_json::{Value, json};
use uwf_core::config::{HookAction, HookStart};
use uwf_core::thread::ThreadId;
use uwf_engine::error::ErrorKind;
use uwf_engine::thread::load::Thread;
use uwf_engine::verbs::hook::{self, HookDelivery, HookPlan, HookedStart};

use super::{answer, configured, report, start_arguments};
use crate::commands::thread::start;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::input;
use crate::printer::{CommandResult, PrintableReport};

/// Starts or answers a thread. `run` of the report says which thread the server runs then.
pub(super) fn run(context: &CommandContext, name: &str) -> CommandResult {
    let value = input::parse(&input::from_stdin()?, "stdin")?;
    let delivery: HookDelivery =
        serde_json::from_value(value).map_err(|error| CommandError::new(ErrorKind::Data, format!("stdin: {error}")))?;
    let config = configured(context, name)?;
    let thread = hook::thread_id(name, &delivery.delivery)?;
    let _turn = match &config.action {
        HookAction::Answer(_) => Some(hook::answered::take_turn(&context.home)?),
        HookAction::Start(_) => None,
    };
    // First, because the configuration may have changed since.
    match &config.action {
        HookAction::Start(start) if hook::has_started(&context.home, &thread)? => {
            let report = report("already started", name, &delivery.delivery);
            return started(context, report, &thread, start);
        }
        HookAction::Start(_) if hook::was_removed(&context.home, &thread)? => {
            let mut report = report("removed", name, &delivery.delivery);
            report["thread"] = json!(thread);
            report["notes"] = json!([format!("thread {thread} of this delivery was removed, so nothing was started")]);
            return printed(report);
        }
        HookAction::Answer(answer) => {
            let earlier = hook::answered::noted(&context.home, &thread)?;
            if let Some(earlier) = &earlier
                && answer::still_open(context, earlier)?.is_none()
            {
                return printed(answer::already(context, name, &delivery, answer, Some(earlier)));
            }
        }
        HookAction::Start(_) => {}
    }
    match (hook::plan(&context.home, name, &config, &delivery)?, &config.action) {
        (HookPlan::Start(planned), HookAction::Start(start)) => start_thread(context, name, &delivery, start, planned),
        (HookPlan::Answer(planned), HookAction::Answer(hook)) => {
            printed(answer::give(context, (name, &thread), &delivery, hook, &planned)?)
        }
        _ => printed(report("ignored", name, &delivery.delivery)),
    }
}

fn start_thread(
    context: &CommandContext,
    name: &str,
    delivery: &HookDelivery,
    start: &HookStart,
    planned: HookedStart,
) -> CommandResult {
    let (task, options, follows) = start_arguments(name, start, planned);
    let done = start::begin_task(context, &start.workflow, task, options, follows)?;
    let status = if done.is_repeated { "already started" } else { "started" };
    let mut report = report(status, name, &delivery.delivery);
    report["workflow"] = json!(done.workflow);
    if !done.notes.is_empty() {
        report["notes"] = json!(done.notes);
    }
    started(context, report, &done.thread, start)
}

fn started(context: &CommandContext, mut report: Value, thread: &ThreadId, start: &HookStart) -> CommandResult {
    // After the start: a note without a thread means that the thread was removed.
    hook::note_start(&context.home, thread, start.run)?;
    report["thread"] = json!(thread);
    if start.run {
        let head = Thread::any(&context.home, thread)?.start_hash;
        // After an attempt, a person decides.
        report["run"] = json!({ "thread": thread, "expectHead": head, "expectAttempt": "none" });
    }
    printed(report)
}

fn printed(report: Value) -> CommandResult {
    Ok(PrintableReport::value(report))
}
