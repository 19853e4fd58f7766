//! The words of messages.

use uwf_agents::acp::permission;
use uwf_core::text::{ellipsize, one_line};
use uwf_engine::verbs::answer::question::{PersonQuestion, QuestionForm};
use uwf_engine::verbs::notifier::NotifyMessage;

/// Symbols of the thread in a code: as many as identify it for `uwf thread show`.
const OF_THREAD: usize = 4;

/// Symbols of the question in a code.
const OF_QUESTION: usize = 3;

/// Longest task of a thread, in characters.
const MAX_TASK: usize = 120;

/// Longest name of a person, in characters.
const MAX_NAME: usize = 60;

/// The short name of a question: the end of the thread's id, and symbols that differ between its questions.
pub(super) fn code(question: &PersonQuestion) -> String {
    let end = |text: &str, symbols: usize| text[text.len().saturating_sub(symbols)..].to_owned();
    let of_question = question.attempt.clone().unwrap_or_else(|| question.head.to_string());
    format!("{}-{}", end(question.thread.as_str(), OF_THREAD), end(&of_question, OF_QUESTION))
}

/// The text of a message with a question. Options that are all on buttons are not listed again.
pub(super) fn question_text<'m>(message: &'m NotifyMessage, question: &PersonQuestion, buttons: usize) -> &'m str {
    match are_on_buttons(question, buttons) {
        true => permission::request_without_options(&message.text),
        false => &message.text,
    }
}

/// The thread of a question, and how to answer. `by_reply` says how to reply with a text, if people can reply. `buttons` is the number of
/// buttons.
pub(super) fn how_to_answer(
    message: &NotifyMessage,
    question: &PersonQuestion,
    (by_reply, buttons): (Option<&str>, usize),
    dashboard: Option<&str>,
) -> String {
    // The question of a role has the task in its text.
    let task = message.task.as_deref().filter(|_| matches!(question.form, QuestionForm::Reply(_)));
    let task = task.map(|task| format!(": {}", ellipsize(&one_line(task), MAX_TASK))).unwrap_or_default();
    format!("Thread {}{task}\n\n{}", message.thread, way_to_answer(question, (by_reply, buttons), dashboard))
}

fn way_to_answer(
    question: &PersonQuestion,
    (by_reply, buttons): (Option<&str>, usize),
    dashboard: Option<&str>,
) -> String {
    let elsewhere = elsewhere(question, dashboard);
    let Some(by_reply) = by_reply else { return format!("Answer it: {elsewhere}") };
    if question.form == QuestionForm::Several {
        return format!("The answer needs several values. Give it with {elsewhere}");
    }
    let labels = question.form.labels();
    let is_permission = permission::request_without_options(&question.text) != question.text;
    let press = if buttons > 0 { "Press a button, or" } else { "To answer," };
    match &question.form {
        _ if labels.is_empty() => format!("To answer, {by_reply}."),
        _ if is_permission => {
            format!("{press} {by_reply}. `yes` allows it; a text that names no option denies it.")
        }
        _ if are_on_buttons(question, buttons) => format!("{press} {by_reply}."),
        QuestionForm::Choice(_) => format!("{press} {by_reply}. One of: {}", labels.join(", ")),
        _ => format!("{press} {by_reply}. Options: {}", labels.join(", ")),
    }
}

/// Whether each option of a question has a button.
fn are_on_buttons(question: &PersonQuestion, buttons: usize) -> bool {
    let options = question.form.labels().len();
    options > 0 && options <= buttons
}

/// Ways to answer apart from a reply.
pub(super) fn elsewhere(question: &PersonQuestion, dashboard: Option<&str>) -> String {
    let command = format!("uwf thread answer {}", question.thread);
    match dashboard {
        Some(dashboard) => format!("{command}, or {}/threads/{}", dashboard.trim_end_matches('/'), question.thread),
        None => command,
    }
}

/// A name that another program sent, for the record.
pub(super) fn person(name: &str) -> String {
    let plain: String = one_line(name).chars().filter(|symbol| !symbol.is_control()).collect();
    ellipsize(plain.trim(), MAX_NAME).into_owned()
}
