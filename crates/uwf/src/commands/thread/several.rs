//! A command that acts on several threads, and its report: a list.

use serde::Serialize;
use serde_json::{Map, Value};
use uwf_core::outcome::NOT_SUCCEEDED;
use uwf_core::thread::ThreadId;
use uwf_engine::error::ErrorKind;

use crate::commands::thread::args::selection::ThreadSelection;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, PrintableReport};

/// The result of one thread.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadResult {
    /// The thread.
    pub(crate) thread: ThreadId,
    /// Exit code of the command for this thread alone; absent if a signal ended it.
    pub(crate) exit_code: Option<i32>,
    /// The report of the command for this thread alone.
    #[serde(flatten)]
    pub(crate) report: Map<String, Value>,
}

/// The results of several threads.
#[derive(Serialize)]
#[serde(transparent)]
struct SeveralThreadsReport {
    threads: Vec<ThreadResult>,
    #[serde(skip)]
    text: String,
}

impl CommandReport for SeveralThreadsReport {
    fn text(&self) -> String {
        if self.threads.is_empty() { "no thread matches\n".to_owned() } else { self.text.clone() }
    }

    fn exit_code(&self) -> u8 {
        worst_code(&self.threads)
    }
}

/// Acts on the selected thread, or on each of several. If one fails, the others follow; a signal ends the whole command.
///
/// # Errors
/// The failure of a single thread. Failures of several threads are part of the report.
pub(crate) fn act(
    context: &CommandContext,
    selection: ThreadSelection,
    mut action: impl FnMut(&ThreadId) -> CommandResult,
) -> CommandResult {
    let threads = match selection {
        ThreadSelection::One(thread) => return action(&thread),
        ThreadSelection::Several(threads) => threads,
    };
    let mut several = SeveralThreadsReport { threads: Vec::new(), text: String::new() };
    for thread in threads {
        let (report, code, is_interrupted) = match action(&thread) {
            Ok(done) => {
                context.acted_on(&thread);
                let code = done.code();
                let (report, text) = done.into_data();
                several.text.push_str(&text);
                (report, code, false)
            }
            Err(failure) => {
                context.printer.explain(&failure);
                let code = failure.kind.exit_code();
                let is_interrupted = failure.kind == ErrorKind::Interrupted;
                (with_state(context, &thread, failure).to_json(), code, is_interrupted)
            }
        };
        let Value::Object(report) = report else { continue };
        several.threads.push(ThreadResult { thread, exit_code: Some(i32::from(code)), report });
        if is_interrupted {
            break;
        }
    }
    PrintableReport::new(&several)
}

fn with_state(context: &CommandContext, thread: &ThreadId, failure: CommandError) -> CommandError {
    if failure.known.is_empty() { context.with_state_of(thread, failure) } else { failure }
}

/// The most urgent exit code, whatever the order of the threads. A failure comes before an end that is not `succeeded`, that before a limit,
/// and a limit before a wait.
pub(crate) fn worst_code(threads: &[ThreadResult]) -> u8 {
    let codes = threads.iter().map(|one| {
        one.exit_code.and_then(|code| u8::try_from(code).ok()).unwrap_or_else(|| ErrorKind::Internal.exit_code())
    });
    let urgency = |code: u8| match code {
        0 => 0,
        code if code == ErrorKind::Waiting.exit_code() => 1,
        code if code == ErrorKind::Limit.exit_code() => 2,
        NOT_SUCCEEDED => 3,
        _ => 4,
    };
    codes.max_by_key(|code| (urgency(*code), *code)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_urgent_code_wins_in_any_order() {
        let worst = |codes: &[i32]| {
            let result = |code: &i32| ThreadResult {
                thread: "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap(),
                exit_code: Some(*code),
                report: Map::new(),
            };
            let forward: Vec<ThreadResult> = codes.iter().map(result).collect();
            let backward: Vec<ThreadResult> = codes.iter().rev().map(result).collect();
            assert_eq!(worst_code(&forward), worst_code(&backward), "{codes:?}");
            worst_code(&forward)
        };
        assert_eq!([worst(&[]), worst(&[0, 0]), worst(&[0, 20]), worst(&[20, 30])], [0, 0, 20, 30]);
        assert_eq!([worst(&[11, 30]), worst(&[11, 40, 20]), worst(&[65, 40])], [11, 40, 65]);
    }
}
