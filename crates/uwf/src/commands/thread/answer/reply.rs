//! A person's reply to the question of an agent.

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
        if !reply.trim().is_empty() {
            return Ok(reply);
        }
    }
}
