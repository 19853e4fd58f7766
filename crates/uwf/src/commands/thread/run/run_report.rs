//! The final report of `uwf run`.

use serde::Serialize;
use serde_json::Value;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::error::ErrorKind;
use uwf_engine::thread::load::Thread;
use uwf_engine::verbs::answer::AnswerPrecondition;
use uwf_engine::verbs::step::StepReport;

use crate::commands::thread::step;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, PrintableReport};

/// The report of the last step, or the thread's current state if a step failed.
#[derive(Serialize)]
pub(super) struct RunReport {
    /// Why the run stopped, in the form of a command's error.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    #[serde(flatten)]
    report: StepReport,
    #[serde(skip)]
    code: u8,
}

impl RunReport {
    /// The report of a thread that can continue, with an exit code that says so.
    pub(super) fn so_far(report: StepReport, code: u8) -> RunReport {
        // A run names its thread when it begins.
        RunReport { error: None, code, report: StepReport { task: None, ..report } }
    }

    /// The report of a thread that has ended.
    pub(super) fn ended(report: StepReport, exit_code: bool) -> RunReport {
        let code = step::end_code(report.outcome.as_deref(), exit_code);
        RunReport::so_far(report, code)
    }
}

impl CommandReport for RunReport {
    fn text(&self) -> String {
        let StepReport { done, thread, head, .. } = &self.report;
        let end = if *done { step::end_in_words(&self.report) } else { "not done".to_owned() };
        format!("{end}: thread {thread}, head {head}\nread it with: uwf thread read {thread}\n")
    }

    fn exit_code(&self) -> u8 {
        self.code
    }
}

/// The report of a thread that has ended, but only if the error is that the thread had ended, or was killed during a step of this process
/// (`signals`), or if the thread ended at the expected head.
pub(super) fn completed_before(
    context: &CommandContext,
    thread: &ThreadId,
    error: &CommandError,
    expected: AnswerPrecondition,
    signals: Option<&SignalListener>,
) -> Option<StepReport> {
    let is_killed = signals.is_some_and(|signals| step::is_ended_by_kill(error.kind, signals));
    let is_end = error.kind == ErrorKind::NotFound || is_killed;
    step::completed(context, thread).filter(|report| is_end || expected.head == Some(report.head))
}

/// Prints why the run stopped, and reports the thread's current state.
pub(super) fn stopped(context: &CommandContext, thread: &ThreadId, error: CommandError) -> CommandResult {
    // If the thread is unreadable, that adds nothing to the error. After a kill, the thread is gone.
    let Ok((loaded, head)) = Thread::active(&context.home, thread) else { return Err(error) };
    let report = StepReport::standing(loaded.start.workflow, thread.clone(), head.hash);
    context.printer.explain(&error);
    PrintableReport::new(&RunReport { code: error.kind.exit_code(), error: Some(error.as_entry()), report })
}
