//! `uwf thread retry`

use clap_complete::engine::ArgValueCompleter;
use uwf_core::config::OutputMode;
use uwf_core::thread::ThreadId;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::answer::asks_a_person;
use uwf_engine::verbs::step::{expected_head, newest_attempt};
use uwf_engine::views::show;

use super::args::agents::output_parser;
use super::args::expect_attempt::ExpectAttempt;
use super::args::expect_head::ExpectHead;
use super::args::selection::{SelectionUse, ThreadsArg};
use super::several;
use crate::commands::thread::step;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::CommandResult;

/// Arguments of `uwf thread retry`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread retry 7Q2M\n  uwf thread retry 7Q2M --agent claude   another agent for this attempt\n  uwf thread retry --workflow nightly --yes   all stuck threads of a workflow\n\nDoes one step of a stuck thread, or of a thread whose agent is at its usage limit. Failed attempts are kept, and the step that succeeds lists them. To read the text of the\nfailed attempt again without running the agent: uwf thread step 7Q2M --reextract"
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadsArg,
    #[command(flatten)]
    expect: ExpectHead,
    #[command(flatten)]
    attempt: ExpectAttempt,
    /// Agent for this attempt only: an alias, or a command line.
    #[arg(long, value_name = "AGENT")]
    #[arg(add = ArgValueCompleter::new(complete::agents))]
    agent: Option<String>,
    /// Output of the --agent command line, as for `uwf thread step`.
    #[arg(long, value_name = "FORM", requires = "agent", value_parser = output_parser())]
    output: Option<OutputMode>,
    /// Exit with 10 when the thread has ended.
    #[arg(long)]
    exit_code: bool,
}

/// Retries the failed steps of threads.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let uses = SelectionUse { verb: "retry", states: &[ThreadState::Stuck], expects: args.expect.expected.is_some() };
    several::act(context, args.which.select(context, uses)?, |thread| retry_one(context, thread, args))
}

fn retry_one(context: &CommandContext, thread: &ThreadId, args: &Args) -> CommandResult {
    if args.expect.expected.is_some() {
        let head = expected_head::head(&context.home, thread, args.expect.expected)?;
        newest_attempt::check(&context.home, thread, head.hash, args.attempt.newest)?;
    }
    let status = show::show(&context.home, thread)?;
    let again = step::Args::again(thread, args.agent.clone(), (args.expect, args.attempt), args.exit_code)
        .with_output(args.output);
    let is_asking = || asks_a_person(&context.home, thread);
    match status.state {
        // If the step can't be retried, the step itself reports why. So it does if the thread waits until a person has merged files.
        ThreadState::Stuck | ThreadState::Completed | ThreadState::Killed | ThreadState::Running => {
            step::run(context, again)
        }
        ThreadState::Waiting if !is_asking()? => step::run(context, again),
        // Its attempt was stopped, or failed before the thread was paused and resumed.
        ThreadState::Active if status.last_attempt.is_some() => step::run(context, again),
        ThreadState::Waiting => {
            Err(CommandError::usage(format!("thread {thread} has no failed attempt: it waits for a person"))
                .hint(format!("answer it: uwf thread answer {thread}")))
        }
        ThreadState::Limited if status.until.is_some() => step::run(context, again.despite_limits()),
        ThreadState::Limited => {
            Err(CommandError::usage(format!("thread {thread} has no failed attempt: it is at a limit"))
                .hint(format!("`uwf thread limit {thread}` shows which; `uwf thread step {thread}` tries again")))
        }
        ThreadState::Paused => Err(CommandError::usage(format!("thread {thread} is paused"))
            .hint(format!("resume it first: uwf thread resume {thread}"))),
        state => Err(CommandError::usage(format!("thread {thread} has no failed attempt: it is {}", state.name()))
            .hint(format!("to do its next step: uwf thread step {thread}"))),
    }
}
