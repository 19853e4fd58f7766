//! The words of messages.

use uwf_core::text::{ellipsize, one_line};
use uwf_engine::verbs::answer::question::{PersonQuestion, QuestionForm};

/// Symbols of the thread in a code: as many as identify it for `uwf thread show`.
const OF_THREAD: usize = 4;

/// Symbols of the question in a code.
const OF_QUESTION: usize = 3;

/// Longest name of a person, in characters.
const MAX_NAME: usize = 60;

/// The short name of a question: the end of the thread's id, and symbols that differ between its questions.
pub(super) fn code(question: &PersonQuestion) -> String {
    let end = |text: &str, symbols: usize| text[text.len().saturating_sub(symbols)..].to_owned();
    let of_question = question.attempt.clone().unwrap_or_else(|| question.head.to_string());
    format!("{}-{}", end(question.thread.as_str(), OF_THREAD), end(&of_question, OF_QUESTION))
}

/// How to answer a question. `by_reply` says how to reply with a text, if people can reply.
pub(super) fn how_to_answer(question: &PersonQuestion, by_reply: Option<&str>, dashboard: Option<&str>) -> String {
    let elsewhere = elsewhere(question, dashboard);
    let labels = question.form.labels().join(", ");
    match (by_reply, &question.form) {
        (None, _) => format!("Answer it: {elsewhere}"),
        (_, QuestionForm::Several) => format!("The answer needs several values. Give it with {elsewhere}"),
        (Some(by_reply), QuestionForm::Choice(_)) => format!("Press a button, or {by_reply}. One of: {labels}"),
        (Some(by_reply), QuestionForm::Reply(options)) if !options.is_empty() => {
            format!("Press a button, or {by_reply}. Options: {labels}")
        }
        (Some(by_reply), QuestionForm::Reply(_) | QuestionForm::Text(_)) => format!("To answer, {by_reply}."),
    }
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
