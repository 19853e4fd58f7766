//! A person's reply to the question of an agent.

use std::time::Duration;

use json_cas::nearest::did_you_mean;
use uwf_agents::acp::permission::{self, ALLOWING, KINDS};
use uwf_core::text::one_line;
use uwf_core::thread::ThreadId;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::home::Home;
use uwf_engine::root::ids;
use uwf_engine::root::marks::{self, ThreadMark};
use uwf_engine::verbs::answer::{self, AgentQuestion, AnswerPrecondition, OpenQuestion};
use uwf_engine::verbs::step::newest_attempt::NewestAttempt;

use super::{Args, editor};
use crate::ask::{InterruptibleWait, TerminalAsker};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::input;
use crate::table;

/// Gets the reply from the arguments, the editor or the terminal.
pub(super) fn of_arguments(
    context: &CommandContext,
    args: &Args,
    asked: &OpenQuestion,
    question: &AgentQuestion,
) -> Result<String, CommandError> {
    let text = match (&args.message, &args.file) {
        _ if args.editor => editor::write_reply(context, asked, question)?,
        (Some(message), _) => message.clone(),
        (None, Some(file)) => input::from_file(file)?,
        (None, None) if args.no_ask.asks() => {
            return ask_person(context, asked, question)?.ok_or_else(|| closed(context, asked));
        }
        (None, None) => {
            return Err(super::not_given("reply", args.no_ask)
                .hint(format!("uwf thread answer {} -m TEXT", asked.thread))
                .hint("or --file FILE, --editor"));
        }
    };
    if text.trim().is_empty() {
        return Err(CommandError::usage("the reply is empty").hint("the agent continues with your reply: give a text"));
    }
    match meant_option(question, &text) {
        Some(meant) => Err(CommandError::usage(format!(
            "`{}` is not an option, so it would deny the request",
            one_line(text.trim())
        ))
        .hint(meant)
        .hint(format!("the options: {}", question.options.join(", ")))
        .hint("to deny it, reply `no` and your reason")),
        None => Ok(text),
    }
}

/// A hint for a reply that denies only because it is a part of an option, a mistyped one, or a number without an option.
fn meant_option(question: &AgentQuestion, reply: &str) -> Option<String> {
    let is_denial = matches!(ReplyEffect::for_reply(question, reply), Some(ReplyEffect::Denial));
    if !is_denial || is_refusal(reply) {
        return None;
    }
    if permission::normal(reply).parse::<u64>().is_ok() {
        return Some(format!("a number from 1 to {} chooses an option", question.options.len()));
    }
    if let Some(option) = question.options.iter().find(|option| has_words_of(option, reply)) {
        return Some(format!("did you mean `{}`?", one_line(option)));
    }
    let words = question.options.iter().map(String::as_str).chain(KINDS).chain(ALLOWING);
    did_you_mean(reply.trim(), words.filter(|word| word.len() > 2))
}

/// Whether every word of a reply is in the name of an option: `always` in `Always allow git`.
fn has_words_of(option: &str, reply: &str) -> bool {
    let [option, reply] = [option, reply].map(permission::normal);
    let words: Vec<&str> = option.split(|symbol: char| !symbol.is_alphanumeric()).collect();
    reply.split_whitespace().all(|word| words.contains(&word))
}

/// Shows the question and reads a line. `None` if the question is closed first: `askTimeout` has ended, or it has a reply.
///
/// # Errors
/// `Interrupted` if the person does not reply; the thread keeps waiting.
pub(super) fn ask_person(
    context: &CommandContext,
    asked: &OpenQuestion,
    question: &AgentQuestion,
) -> Result<Option<String>, CommandError> {
    let asker = TerminalAsker::new(context.printer);
    let _ends = InterruptibleWait::begin()?;
    let wait = QuestionWait::begin(context, &asked.thread);
    asker.print_line(&format!("{}\n", question.text));
    if let Some(end) = wait.end {
        let left = Duration::from_millis(end.saturating_sub(ids::now_ms()));
        let then = match question.options.is_empty() {
            true => "the agent decides by itself",
            false => "the request is denied, and the agent continues without it",
        };
        asker.print_line(&format!("If you don't reply within {}, {then}.\n", table::duration(left)));
    }
    loop {
        let Some(reply) = asker.as_typed_while("your reply: ", &|| wait.is_open())? else {
            context.printer.talk(wait.why_closed());
            return Ok(None);
        };
        if reply.trim().is_empty() {
            continue;
        }
        match ReplyEffect::for_reply(question, &reply) {
            Some(ReplyEffect::Denial) if !is_refusal(&reply) => {
                let last = question.options.len();
                asker.print_line(&format!(
                    "This is not an option. Type a number from 1 to {last}, or `no` and your reason.\n"
                ));
            }
            _ => return Ok(Some(reply)),
        }
    }
}

/// The wait for a reply at the terminal.
struct QuestionWait<'c> {
    home: &'c Home,
    thread: &'c ThreadId,
    /// Whether the thread had a mark that shows that it waits.
    is_marked: bool,
    /// End of `askTimeout`, Unix milliseconds; `None` if the time has ended before, because a late reply still counts.
    end: Option<u64>,
}

impl<'c> QuestionWait<'c> {
    fn begin(context: &'c CommandContext, thread: &'c ThreadId) -> QuestionWait<'c> {
        let mark = marks::get(&context.home, thread, ThreadMark::Waiting);
        let end = mark.as_ref().and_then(|reason| reason.until).filter(|end| *end > ids::now_ms());
        QuestionWait { home: &context.home, thread, is_marked: mark.is_some(), end }
    }

    fn has_ended(&self) -> bool {
        self.end.is_some_and(|end| end <= ids::now_ms())
    }

    fn is_open(&self) -> bool {
        let is_replied = || self.is_marked && marks::get(self.home, self.thread, ThreadMark::Waiting).is_none();
        !self.has_ended() && !is_replied()
    }

    fn why_closed(&self) -> &'static str {
        if self.has_ended() { "there was no reply in time" } else { "the question was answered elsewhere" }
    }
}

/// The error for a question that was closed before the person replied.
fn closed(context: &CommandContext, asked: &OpenQuestion) -> CommandError {
    let seen = AnswerPrecondition {
        head: Some(asked.head),
        attempt: asked.question.as_ref().and_then(|question| question.attempt.parse().ok()).map(NewestAttempt::Is),
    };
    match answer::asked(&context.home, &asked.thread, seen) {
        Err(first) => first.into(),
        Ok(_) => CommandError::new(ErrorKind::Busy, "there was no reply in time, so nothing was recorded".to_owned())
            .hint(format!("continue without a reply: uwf run {}", asked.thread))
            .hint(format!("or reply late, before the thread continues: uwf thread answer {} -m TEXT", asked.thread)),
    }
}

/// The effect of a reply to a question with options.
enum ReplyEffect<'q> {
    /// The option that it names.
    Option(&'q str),
    /// It allows the request, once if possible.
    Allowed,
    /// It is not one of the options, so it denies the request.
    Denial,
}

impl ReplyEffect<'_> {
    /// The effect of a reply; `None` if the question has no options, or if only the agent knows it.
    fn for_reply<'q>(question: &'q AgentQuestion, reply: &str) -> Option<ReplyEffect<'q>> {
        if question.options.is_empty() {
            return None;
        }
        let wanted = permission::normal(reply);
        Some(match permission::named_option(&question.options, reply) {
            Some(at) => ReplyEffect::Option(&question.options[at]),
            // Only the agent knows which option has a kind.
            None if KINDS.contains(&wanted.as_str()) => return None,
            None if ALLOWING.contains(&wanted.as_str()) => ReplyEffect::Allowed,
            None => ReplyEffect::Denial,
        })
    }
}

/// Whether a person means to deny the request.
fn is_refusal(reply: &str) -> bool {
    let first = reply.split(|symbol: char| !symbol.is_alphanumeric()).find(|word| !word.is_empty());
    first.is_some_and(|word| ["no", "n", "deny", "reject", "don"].contains(&word.to_lowercase().as_str()))
}

/// Says what a reply to a question with options does.
pub(super) fn say_effect(context: &CommandContext, question: &AgentQuestion, reply: &str) {
    let Some(effect) = ReplyEffect::for_reply(question, reply) else { return };
    context.printer.talk(&match effect {
        ReplyEffect::Option(option) => format!("chosen: {}", one_line(option)),
        ReplyEffect::Allowed => "allowed, once if possible".to_owned(),
        ReplyEffect::Denial if is_refusal(reply) => "denied; the agent gets your text".to_owned(),
        ReplyEffect::Denial => "denied: the reply is not one of the options; the agent gets your text".to_owned(),
    });
}
