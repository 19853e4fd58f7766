//! The process that performs a step, and what comes before and after it.

use crate::attempt::agent_process::SignalListener;
use crate::attempt::keeper;
use crate::attempt::leftover::AnswerKeeper;
use crate::error::Result;
use crate::root::home::Home;
use crate::root::log::{LogFile, log};
use crate::verbs::step::{self, StepReport, StepRequest};
use crate::verbs::{kill, notify, otel};

/// The keeper's side of [`step::in_keeper`]. The crate of the agents knows how to read the output of their programs; this crate does not.
///
/// # Errors
/// `Usage` if the request is not readable.
pub fn keeper_main(request: &str, keep_answer: AnswerKeeper) -> Result<()> {
    let performed = |request: &StepRequest| -> Result<StepReport> {
        let home = Home::from_environment()?;
        let before =
            (notify::NotifyBaseline::read(&home, &request.thread), otel::OtelBaseline::read(&home, &request.thread));
        let report = step::perform(&home, request, keep_answer, &mut SignalListener::listen()?);
        if report.is_ok()
            && let Err(error) = kill::kill_left_children(&home, &request.thread)
        {
            let log = LogFile::open(&home.log_file(&request.thread));
            log!(log, "R4N8C2XT", Warn, "child threads that are no longer needed stay: {}", error.message);
        }
        before.0.notify_changes(&home, &request.thread, report.as_ref().is_ok_and(|report| report.done));
        before.1.send_step(&home, &request.thread, report.is_ok());
        report
    };
    keeper::main(request, performed)
}
