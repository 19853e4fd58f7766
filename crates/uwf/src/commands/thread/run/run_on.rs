//! `uwf thread run --on`: lets an engine run the thread, on any machine.

use serde::Serialize;
use uwf_core::text::one_line;
use uwf_core::thread::ThreadId;
use uwf_core::usage::ThreadLimits;
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::error::ErrorKind;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::answer::AnswerPrecondition;
use uwf_engine::verbs::step::{StepReport, expected_head, newest_attempt};
use uwf_engine::views::show;
use uwf_engine::views::steps::{StepEntry, steps};
use uwf_temporal::TemporalAction;

use crate::commands::thread::args::on::EngineArgs;
use crate::commands::thread::run::run_report::{self, RunReport, completed_before};
use crate::commands::thread::step::{completed, denied_calls};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;
use crate::temporal::{
    FollowEnd, FollowObstacle, FollowedThread, notify_temporal, warn_of_own_store, warn_of_unknown_address,
};

/// Where a thread was when it was handed to an engine. It has no text, because the messages on stderr say everything.
#[derive(Serialize)]
struct HandedOver(StepReport);

impl CommandReport for HandedOver {
    fn text(&self) -> String {
        String::new()
    }
}

/// Lets an engine run the thread if its head and newest attempt are the expected ones; `exit_code` is whether `--exit-code` was given.
pub(super) fn run(
    context: &CommandContext,
    thread: &ThreadId,
    on: &EngineArgs,
    expected: AnswerPrecondition,
    exit_code: bool,
) -> CommandResult {
    let found = expected_head::head(&context.home, thread, expected.head)
        .and_then(|head| newest_attempt::check(&context.home, thread, head.hash, expected.attempt));
    if let Err(error) = found {
        let error = CommandError::from(error);
        // If the thread is stopped, its workflow on Temporal may not know yet.
        notify_temporal(context, thread, TemporalAction::Answer);
        return match completed_before(context, thread, &error, expected, None) {
            Some(report) => PrintableReport::new(&RunReport::ended(report, exit_code)),
            None => run_report::stopped(context, thread, error),
        };
    }
    let Some(followed) = follow(context, thread, on)? else {
        let shown = show::show(&context.home, thread)?;
        let standing = StepReport::standing(shown.workflow, thread.clone(), shown.head);
        return PrintableReport::new(&HandedOver(standing));
    };
    match (failure(context, thread, followed), completed(context, thread)) {
        (_, Some(report)) => PrintableReport::new(&RunReport::ended(report, exit_code)),
        (Some(error), None) => run_report::stopped(context, thread, error),
        (None, None) => {
            Err(CommandError::new(ErrorKind::NotFound, format!("thread {thread} was ended before its end"))
                .hint(format!("to see its end: uwf thread show {thread}")))
        }
    }
}

/// Hands the thread to the engine, and follows it until it ends or stops. `None` with `--detach`.
fn follow(context: &CommandContext, thread: &ThreadId, on: &EngineArgs) -> Result<Option<FollowEnd>, CommandError> {
    let mut seen = steps(&context.home, thread, 0..0)?.count;
    let begun = FollowedThread::begin(context, thread.clone(), on.steps_per_run, on.look_again)?;
    warn_of_own_store(context);
    warn_of_unknown_address(context)?;
    warn_of_own_settings(context, thread)?;
    let begins = if begun.is_new() { "runs on Temporal now" } else { "runs on Temporal already" };
    if on.detach {
        context.printer.talk(&format!(
            "thread {} {begins}; follow it with: uwf thread live {thread}",
            style::bold(thread.as_str())
        ));
        return Ok(None);
    }
    context.printer.talk(&format!("thread {} {begins}; Ctrl-C ends only this command", style::bold(thread.as_str())));
    let followed =
        begun.follow(|| seen = print_new_steps(context, thread, seen), |trouble| warn_of(context, thread, trouble))?;
    Ok(Some(followed))
}

/// Prints what keeps the thread from continuing.
fn warn_of(context: &CommandContext, thread: &ThreadId, trouble: FollowObstacle) {
    let line = match trouble {
        FollowObstacle::Untaken => {
            "no worker has taken it for 10 s: start a worker that has the agent; see `uwf worker --help`".to_owned()
        }
        FollowObstacle::InVain(why) => format!("Temporal retries it: {why}"),
        FollowObstacle::DelayedBranch { thread, why } => format!("thread {thread}, a branch: {why}"),
        FollowObstacle::Failing(why) => format!(
            "no worker can continue it: its workflow task fails: {why}; a newer worker may. To run it again from its \
             head: temporal workflow terminate -w uwf-{thread}; uwf thread run --on temporal {thread}"
        ),
    };
    context.printer.talk(&line);
}

/// Warns about limits and agents that were set for the thread on this machine: workers elsewhere use their own.
fn warn_of_own_settings(context: &CommandContext, thread: &ThreadId) -> Result<(), CommandError> {
    let settings = ThreadSettings::load(&context.home, thread)?.unwrap_or_default();
    let own = [(settings.limits != ThreadLimits::default(), "limits"), (!settings.bound.is_empty(), "agents")];
    let own: Vec<&str> = own.into_iter().filter(|(is_own, _)| *is_own).map(|(_, what)| what).collect();
    if !own.is_empty() && context.home.serves_other_machines() {
        context.printer.warn(&format!(
            "only this machine knows the {} that were chosen for the thread; workers on others go by its workflow and \
             their config.yaml",
            own.join(" and ")
        ));
    }
    Ok(())
}

/// Prints steps that were not printed yet, and returns the number of steps. If they are unreadable now, the next call prints them.
fn print_new_steps(context: &CommandContext, thread: &ThreadId, seen: usize) -> usize {
    let Ok(new) = steps(&context.home, thread, seen..usize::MAX) else { return seen };
    for entry in &new.steps {
        if let StepEntry::Step(step) = entry {
            let agent = one_line(step.alias.as_deref().unwrap_or(&step.agent));
            let denied = denied_calls(&step.denied);
            context.printer.talk(&format!("{} {} by {agent}{denied}", style::green("✓"), style::bold(&step.role)));
        }
    }
    new.count
}

/// The error for a thread that stopped or was abandoned.
fn failure(context: &CommandContext, thread: &ThreadId, followed: FollowEnd) -> Option<CommandError> {
    match followed {
        FollowEnd::Ended => None,
        FollowEnd::Stopped { kind, message } => Some(stopped(context, thread, CommandError::new(kind, message))),
        FollowEnd::Abandoned(_) if is_killed(context, thread) => {
            Some(CommandError::new(ErrorKind::NotFound, format!("thread {thread} was killed")))
        }
        FollowEnd::Abandoned(why) => Some(
            CommandError::new(ErrorKind::Busy, format!("Temporal no longer runs the thread: {why}"))
                .hint(format!("run it again from its head: uwf thread run --on temporal {thread}")),
        ),
    }
}

fn is_killed(context: &CommandContext, thread: &ThreadId) -> bool {
    show::show(&context.home, thread).is_ok_and(|shown| shown.state == ThreadState::Killed)
}

/// Adds to an error what the store says about the thread, such as its question or why it is paused. The engine does not know these.
fn stopped(context: &CommandContext, thread: &ThreadId, error: CommandError) -> CommandError {
    let again = format!("to let Temporal continue: uwf thread run --on temporal {thread}");
    if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Config) {
        return error.hint("each worker's log names the problem on its machine").hint(again);
    }
    let shown = show::show(&context.home, thread).ok();
    let why = shown.as_ref().and_then(|shown| match (&shown.why, &shown.asks) {
        (Some(why), Some(asks)) => Some(format!("{why}\n{asks}")),
        (why, asks) => asks.as_ref().or(why.as_ref()).cloned(),
    });
    let message = why.map_or_else(|| error.error.clone(), |why| format!("{}: {why}", error.error));
    let error = CommandError::new(error.kind, message);
    match shown.map(|shown| shown.state) {
        Some(ThreadState::Waiting) => {
            error.hint(format!("to answer it and let Temporal continue: uwf thread answer {thread}"))
        }
        Some(ThreadState::Paused) => error.hint(format!("to continue: uwf thread resume {thread}")),
        _ => error.hint(format!("to see its state: uwf thread show {thread}")).hint(again),
    }
}
