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

/// Says how many threads are left out, and until when.
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
        let what = "at a limit or waiting for a person";
        context.printer.talk(&format!("left out {} {what}", table::count(other, "thread")));
    }
}
