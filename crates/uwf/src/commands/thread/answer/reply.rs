//! A person's reply to the question of an agent.

use uwf_agents::acp::permission::{self, ALLOWING, KINDS};
use uwf_core::text::one_line;
use uwf_engine::verbs::answer::{AgentQuestion, OpenQuestion};

use super::{Args, editor};
use crate::ask::{InterruptibleWait, TerminalAsker};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::input;

/// Gets the reply from the arguments, the editor or the terminal.
pub(super) fn of_arguments(
    context: &CommandContext,
    args: &Args,
    asked: &OpenQuestion,
    question: &AgentQuestion,
) -> Result<String, CommandError> {
    if args.editor {
        return editor::write_reply(context, asked, question);
    }
    let text = match (&args.message, &args.file) {
        (Some(message), _) => message.clone(),
        (None, Some(file)) => input::from_file(file)?,
        (None, None) if args.no_ask.asks() => return ask_person(context, question),
        (None, None) => {
            return Err(super::not_given("reply", args.no_ask)
                .hint(format!("uwf thread answer {} -m TEXT", asked.thread))
                .hint("or --file FILE, --editor"));
        }
    };
    if text.trim().is_empty() {
        return Err(CommandError::usage("the reply is empty").hint("the agent continues with your reply: give a text"));
    }
    Ok(text)
}

/// Shows the question and reads a line.
///
/// # Errors
/// `Interrupted` if the person does not reply; the thread keeps waiting.
pub(super) fn ask_person(context: &CommandContext, question: &AgentQuestion) -> Result<String, CommandError> {
    let asker = TerminalAsker::new(context.printer);
    let _ends = InterruptibleWait::begin()?;
    asker.print_line(&format!("{}\n", question.text));
    loop {
        let reply = asker.as_typed("your reply: ")?;
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
            _ => return Ok(reply),
        }
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
        ReplyEffect::Denial => "denied: the reply is not one of the options; the agent gets your text".to_owned(),
    });
}
