//! The threads that `uwf run` with filters leaves out because they are at a limit, or wait for a person.

use serde_json::json;
use uwf_core::view;
use uwf_engine::error::ErrorKind;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::list::ThreadRow;

use crate::commands::thread::several::ThreadResult;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::table;

/// Whether the row of a thread that is not run says why.
pub(super) fn can_be(row: &ThreadRow) -> bool {
    matches!(row.state, ThreadState::Limited | ThreadState::Waiting)
        && row.left_by.is_none()
        && row.stopped_with.is_none()
}

fn is_at_usage_limit(row: &ThreadRow) -> bool {
    row.state == ThreadState::Limited && row.until.is_some()
}

/// The result of a thread as if it had been run: it stops at once.
pub(super) fn result(row: &ThreadRow) -> ThreadResult {
    let (kind, usual) = match row.state {
        ThreadState::Waiting => (ErrorKind::Waiting, "the thread waits"),
        _ => (ErrorKind::Limit, "the thread is at a limit"),
    };
    let why = row.why.as_deref().unwrap_or(usual);
    let error = CommandError { until: row.until, ..CommandError::new(kind, why) };
    let report = [
        ("error", error.as_entry()),
        ("workflow", json!(row.workflow)),
        ("head", json!(row.head)),
        ("done", json!(false)),
    ];
    let report = report.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    ThreadResult { thread: row.thread.clone(), exit_code: Some(i32::from(kind.exit_code())), report }
}

/// The results of the threads that are left out. Usage limits end by themselves, so they are always part of the report. Other limits and
/// waits are part of it only if no thread can run.
pub(super) fn results(left_out: &[ThreadRow], is_nothing_run: bool) -> Vec<ThreadResult> {
    left_out.iter().filter(|row| is_nothing_run || is_at_usage_limit(row)).map(result).collect()
}

/// Most threads that are named.
const NAMED: usize = 20;

/// Columns of a reason.
const WHY: usize = 100;

/// Says how many threads are left out and until when, and why each of them.
pub(super) fn report_left_out(context: &CommandContext, left_out: &[ThreadRow]) {
    let untils: Vec<u64> = left_out.iter().filter(|row| is_at_usage_limit(row)).filter_map(|row| row.until).collect();
    if let Some(first) = untils.iter().min() {
        let until = match untils.iter().all(|until| until == first) {
            true => "until",
            false => "the first until",
        };
        let at = format!("at a usage limit, {until} {} UTC", view::time(*first));
        context.printer.talk(&format!("left out {} {at}; --wait waits for it", table::count(untils.len(), "thread")));
    }
    let other = left_out.len() - untils.len();
    if other > 0 {
        let what = if untils.is_empty() { "" } else { "other " };
        let threads = if other == 1 { "thread" } else { "threads" };
        context.printer.talk(&format!("left out {other} {what}{threads} at a limit or waiting for a person"));
    }
    let (limited, rest): (Vec<&ThreadRow>, Vec<&ThreadRow>) = left_out.iter().partition(|row| is_at_usage_limit(row));
    for row in limited.into_iter().chain(rest).take(NAMED) {
        let why = row.why.as_deref().unwrap_or_default();
        let why = table::excerpt(why.lines().next().unwrap_or_default(), WHY);
        let why = if why.is_empty() { why } else { format!(": {why}") };
        context.printer.talk(&format!("  {} is {}{why}", row.thread, row.state.name()));
    }
    if left_out.len() > NAMED {
        let more = left_out.len() - NAMED;
        context.printer.talk(&format!("  and {more} more; `uwf thread list --state limited,waiting` lists them"));
    }
}
