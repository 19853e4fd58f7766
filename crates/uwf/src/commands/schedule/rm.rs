//! `uwf schedule rm`

use serde_json::json;
use uwf_engine::error::ErrorKind;
use uwf_engine::verbs::kill;

use super::RmArgs;
use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;
use crate::temporal::ScheduleClient;

/// Removes a schedule.
pub(crate) fn run(context: &CommandContext, args: &RmArgs) -> CommandResult {
    let template = ScheduleClient::connect(context)?.remove(&args.name)?;
    if let Some(template) = &template
        && let Err(error) = kill::kill(&context.home, template, None)
        // Another process may have killed the thread.
        && error.kind != ErrorKind::NotFound
    {
        context.printer.warn(&format!("its template thread {template} was not removed: {}", error.message));
    }
    let text = format!("removed schedule {}; its threads continue\n", style::bold(&args.name));
    Ok(PrintableReport::value_with_text(json!({ "schedule": args.name, "removed": true }), text))
}
