//! The answer that a delivery gives to a thread.

use serde_json::{Value, json};
use uwf_core::config::HookAnswer;
use uwf_core::label::LabelFilter;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::child_threads;
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::answer::{self, AnswerPrecondition, OpenQuestion};
use uwf_engine::verbs::hook::answered;
use uwf_engine::verbs::hook::deliveries::AnsweredQuestion;
use uwf_engine::verbs::hook::{HookDelivery, HookedAnswer};
use uwf_engine::views::list::{self, ThreadFilter};
use uwf_engine::views::thread_now::ThreadNow;

use super::report;
use crate::commands::thread::answer as thread_answer;
use crate::context::CommandContext;
use crate::error::CommandError;

/// Most characters of the sender's name in the author of an answer.
const MAX_SENDER: usize = 100;

/// The question that an answer is for.
///
/// # Errors
/// `Busy` if no thread asks, or several threads have the label.
pub(super) fn question(context: &CommandContext, planned: &HookedAnswer) -> Result<OpenQuestion, CommandError> {
    let thread = thread(context, &planned.thread)?;
    Ok(answer::asked(&context.home, &thread, AnswerPrecondition::default()).map_err(not_waiting)?)
}

/// The noted question of an earlier delivery, if it is still open.
///
/// # Errors
/// `Waiting` if the thread is paused, `Io`.
pub(super) fn still_open(
    context: &CommandContext,
    noted: &AnsweredQuestion,
) -> Result<Option<OpenQuestion>, CommandError> {
    let seen = AnswerPrecondition { head: Some(noted.head), attempt: Some(noted.attempt) };
    match answer::asked(&context.home, &noted.thread, seen) {
        Ok(open) => Ok(Some(open)),
        Err(error) if matches!(error.kind, ErrorKind::Busy | ErrorKind::NotFound | ErrorKind::Usage) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Answers a thread, unless this delivery or an equal one has. `id` identifies the delivery.
///
/// # Errors
/// As [`question`]; `NotExtractable` if the output does not fit the role.
pub(super) fn give(
    context: &CommandContext,
    (name, id): (&str, &ThreadId),
    delivery: &HookDelivery,
    hook: &HookAnswer,
    planned: &HookedAnswer,
) -> Result<Value, CommandError> {
    let home = &context.home;
    let open = match answered::noted(home, id)? {
        Some(noted) => still_open(context, &noted)?.map(|open| (open, noted)),
        None => {
            let asked = question(context, planned)?;
            // An answer that does not fit must not count as given.
            thread_answer::check_output(context, &asked, &planned.output)?;
            let noted = answered::note(home, id, &answered::question(home, &asked.thread, asked.head, hook.run)?)?;
            still_open(context, &noted)?.map(|open| (open, noted))
        }
    };
    let Some((asked, noted)) = open else {
        let noted = answered::noted(home, id)?;
        return Ok(already(context, name, delivery, hook, noted.as_ref()));
    };
    let given = thread_answer::by_program(context, &asked, &planned.output, &author(name, &delivery.payload));
    let done = match given {
        // A person has answered meanwhile.
        Err(busy) if busy.kind == ErrorKind::Busy && still_open(context, &noted)?.is_none() => {
            return Err(question(context, planned).err().unwrap_or(busy));
        }
        given => given?,
    };
    let top = child_threads::topmost(home, &asked.thread);
    let mut report = report("answered", name, &delivery.delivery);
    report["thread"] = json!(asked.thread);
    report["role"] = json!(asked.role);
    #[cfg(feature = "temporal")]
    crate::temporal::notify_temporal(context, &top, uwf_temporal::TemporalAction::Answer);
    if hook.run && !done.done {
        let head = (top == asked.thread).then_some(done.head);
        report["run"] = json!({ "thread": top, "expectHead": head });
    }
    Ok(report)
}

/// The report for a repeated delivery. If the first one was killed before the thread continued, the thread continues now.
pub(super) fn already(
    context: &CommandContext,
    name: &str,
    delivery: &HookDelivery,
    hook: &HookAnswer,
    noted: Option<&AnsweredQuestion>,
) -> Value {
    let mut report = report("already answered", name, &delivery.delivery);
    if let Some(AnsweredQuestion { thread, .. }) = noted {
        report["thread"] = json!(thread);
        let top = child_threads::topmost(&context.home, thread);
        let is_ready = ThreadNow::read(&context.home, &top).is_ok_and(|now| now.state == ThreadState::Active);
        if hook.run && is_ready {
            report["run"] = json!({ "thread": top });
        }
    }
    report
}

/// The thread of an answer: a whole id, or a label that only one waiting thread has.
fn thread(context: &CommandContext, selector: &str) -> Result<ThreadId, CommandError> {
    let selector = selector.trim();
    if let Ok(id) = selector.parse::<ThreadId>() {
        return Ok(id);
    }
    let label: LabelFilter =
        selector.parse().ok().filter(|label: &LabelFilter| label.value.is_some()).ok_or_else(|| {
            CommandError::new(ErrorKind::Data, format!("`answer.thread` gives `{selector}`"))
                .hint("it must give the whole id of a thread, or a label KEY=VALUE")
        })?;
    let filter = ThreadFilter { labels: vec![label], states: vec![ThreadState::Waiting], ..ThreadFilter::default() };
    let rows = list::list(&context.home, &filter)?.rows;
    match rows.as_slice() {
        [only] => Ok(only.thread.clone()),
        [] => {
            Err(CommandError::new(ErrorKind::Busy, format!("no thread with the label {selector} waits for a person"))
                .hint(format!("`uwf thread list --label {selector}` lists its threads")))
        }
        several => {
            let threads: Vec<String> = several.iter().map(|row| row.thread.to_string()).collect();
            let message = format!("several threads with the label {selector} wait: {}", threads.join(", "));
            Err(CommandError::new(ErrorKind::Busy, message).hint("use a label that only one of them has"))
        }
    }
}

/// Reports a thread that asks nothing as a conflict.
fn not_waiting(error: Error) -> Error {
    match error.kind {
        ErrorKind::Usage | ErrorKind::NotFound | ErrorKind::Waiting => Error { kind: ErrorKind::Busy, ..error },
        _ => error,
    }
}

/// The author of an answer: the hook, and the sender that the payload names.
fn author(name: &str, payload: &Value) -> String {
    let sender = payload.pointer("/sender/login").and_then(Value::as_str).unwrap_or_default();
    let sender: String = sender.chars().filter(|symbol| !symbol.is_control()).take(MAX_SENDER).collect();
    if sender.is_empty() { format!("hook:{name}") } else { format!("hook:{name} {sender}") }
}
