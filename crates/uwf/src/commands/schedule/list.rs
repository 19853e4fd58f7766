//! `uwf schedule list`

use std::time::SystemTime;

use serde_json::{Value, json};
use uwf_core::view;
use uwf_temporal::TemporalSchedule;

use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;
use crate::temporal::ScheduleClient;

/// Lists the schedules.
pub(crate) fn run(context: &CommandContext) -> CommandResult {
    let all = ScheduleClient::connect(context)?.all()?;
    let rows: Vec<Value> = all
        .iter()
        .map(|one| {
            let next: Vec<u64> = one.next.iter().map(milliseconds).collect();
            let TemporalSchedule { name, note, is_paused, left_out, .. } = one;
            json!({ "schedule": name, "note": note, "paused": is_paused, "next": next, "leftOut": left_out })
        })
        .collect();
    let lines = all.iter().map(|one| {
        let next = match one.next.first() {
            _ if one.is_paused => "paused".to_owned(),
            Some(next) => format!("next {} UTC", view::time(milliseconds(next))),
            None => "no further time".to_owned(),
        };
        let left_out = match one.left_out {
            0 => String::new(),
            1 => "; 1 time was left out, because the thread before had not ended".to_owned(),
            times => format!("; {times} times were left out, because the thread before had not ended"),
        };
        format!("{}  {}, {next}{left_out}\n", style::bold(&one.name), one.note)
    });
    let text: String = lines.collect();
    let text = if text.is_empty() { "no schedules\n".to_owned() } else { text };
    Ok(PrintableReport::value_with_text(Value::Array(rows), text))
}

fn milliseconds(time: &SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
