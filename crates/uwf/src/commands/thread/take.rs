//! `uwf thread take`

use clap_complete::engine::ArgValueCompleter;
use uwf_core::workflow::PERSON_PICKS;
use uwf_engine::error::ErrorKind;
use uwf_engine::views::branches;

use super::answer;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::CommandResult;

/// Arguments of `uwf thread take`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf thread take 7Q2M drafts.2
  uwf thread take 7Q2M drafts.2 -m 'Shortest, and every test passes.'
  uwf thread take @ drafts.1 && uwf run @

A group with `copies` and without `pick` waits for a person after the last copy. `uwf thread show` lists the copies with their
threads; `uwf thread read THREAD` shows one. The text of -m becomes part of the thread, so that later roles see the reason.")]
pub(crate) struct Args {
    /// The thread that waits: its id, a unique start or end of the id, or @ for the newest.
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    thread: String,
    /// The copy: its group, a dot, and its number.
    #[arg(value_name = "GROUP.NUMBER")]
    copy: String,
    /// Why.
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// Exit with 10 when the thread has ended.
    #[arg(long)]
    exit_code: bool,
}

/// Takes a copy as the winner of its group.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let id = context.thread(&args.thread)?;
    let picked = args.copy.rsplit_once('.').and_then(|(group, number)| Some((group, number.parse::<u64>().ok()?)));
    let Some((group, number)) = picked else {
        return Err(CommandError::usage(format!("`{}` is not a copy of a group", args.copy))
            .hint("write its group, a dot, and its number: `drafts.2`"));
    };
    let person = format!("{group}.{PERSON_PICKS}");
    let asked = branches::named(&context.home, &id, &person).map_err(|error| {
        let message = format!("group `{group}` of thread {id} does not wait for a person to pick a copy");
        error.hints.into_iter().fold(CommandError::usage(message), CommandError::hint)
    })?;
    let text = args.message.as_deref().unwrap_or_default();
    let taken =
        answer::with_text(context, (&id, &asked), &format!("---\nwinner: {number}\n---\n{text}"), args.exit_code);
    taken.map_err(|error| match error.kind {
        ErrorKind::NotExtractable => {
            CommandError::usage(format!("copy {number} of group `{group}` does not exist, or has failed"))
                .hint(format!("`uwf thread show {id}` lists the copies"))
        }
        _ => error,
    })
}
