//! `uwf thread run`, also `uwf run`

mod branch_lines;
mod left_out;
mod limit_wait;
mod live_line;
mod run_all;
#[cfg(feature = "temporal")]
mod run_on;
mod run_progress;
mod run_report;

use clap_complete::engine::ArgValueCompleter;
use std::time::{Duration, Instant};

use uwf_core::agent_name::AgentName;
use uwf_core::moderator::NextAction;
use uwf_core::number::MAX_WHOLE;
use uwf_core::outcome::SUCCEEDED;
use uwf_core::text::one_line;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::attempt::recorded;
use uwf_engine::attempt::worktree::setup::WorktreeSetup;
use uwf_engine::attempt::{plan, settings};
use uwf_engine::error::ErrorKind;
use uwf_engine::root::home::Home;
use uwf_engine::root::project;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::moderate;
use uwf_engine::verbs::answer::{AnswerPrecondition, asked};
use uwf_engine::verbs::settings::rebind;
use uwf_engine::verbs::start::readiness;
use uwf_engine::verbs::step::{StepReport, StepRequest, UpcomingRole, expected_head, in_keeper, newest_attempt};
use uwf_engine::views::branch_setups::BranchSetups;
use uwf_engine::views::groups;

use self::limit_wait::LimitStreak;
use self::run_progress::RunProgress;
use self::run_report::{RunReport, completed_before, stopped};
use crate::commands::thread::args::expect_attempt::ExpectAttempt;
use crate::commands::thread::args::expect_head::ExpectHead;
use crate::commands::thread::args::filter::{FILTERS, LABEL, ThreadFilterArgs};
use crate::commands::thread::args::label;
use crate::commands::thread::args::no_ask::NoAsk;
use crate::commands::thread::args::on;
use crate::commands::thread::args::selection::YesArg;
use crate::commands::thread::args::which::NEWEST;
use crate::commands::thread::start::StartFollowUp;
use crate::commands::thread::{answer, start, step};
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};
use crate::{style, table};

/// Arguments of `uwf run`.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("chosen", |arg| arg.requires("prompt")),
    mut_arg(LABEL, |arg| arg.help("Without --prompt: only threads with this label, or with this key and any value. With --prompt: a label of the new thread, KEY=VALUE. Repeat for several")),
    mut_args(|arg| match only_filters().any(|id| id == arg.get_id().as_str()) {
        true => arg.conflicts_with_all(["last", "prompt", "set", "input", "cwd", "agents", "expected", "on"]),
        false => arg,
    }),
    mut_arg("expected", |arg| arg.conflicts_with("prompt")),
    mut_arg("no_ask", |arg| arg.help("Never ask, even on a terminal, and don't let agents ask a person: their prompts do not offer it")),
    after_help = "Examples:\n  uwf run solve-issue -p 'Fix #42'\n  uwf run release -p 'Release it' --set version=1.2.0\n  uwf run 7Q2M\n  uwf run 7Q2M --steps 3              stop after three steps; exit 30 if there are more\n  uwf run 7Q2M --agent coder=claude   another agent for one role from now on; --agent claude: for all roles\n  uwf run 7Q2M --until reviewer       stop before the reviewer's turn\n  uwf run 7Q2M --no-ask               exit 20 if a person must answer, instead of asking here\n  uwf run 7Q2M --wait                 wait for the end of usage limits\n  uwf run --all --jobs 4              all active threads, four at once\n  uwf run --all --here                all active threads of this project\n  uwf run 7Q2M M3KX                   several threads; the report is a list\n  uwf run solve-issue -p 'Fix #42' --label ticket=42\n  uwf run --workflow nightly --yes    all active threads of a workflow"
)]
pub(crate) struct Args {
    /// A thread to continue (@ is the newest of this project), or with --prompt a workflow to start; several threads can be named.
    #[arg(value_name = "THREAD|WORKFLOW", required_unless_present_any = FILTERS.into_iter().chain(["last", "all"]), conflicts_with_all = only_filters().chain(["last", "all"]))]
    #[arg(add = ArgValueCompleter::new(complete::threads_or_workflows))]
    targets: Vec<String>,
    /// The newest thread of this project, like @.
    #[arg(long, conflicts_with = "prompt")]
    last: bool,
    /// Run every active thread; skip threads that wait, are paused, stuck or at a limit.
    #[arg(long, conflicts_with_all = ["last", "prompt", "set", "input", "cwd", "agents", "expected"])]
    all: bool,
    #[command(flatten)]
    filters: ThreadFilterArgs,
    /// With several threads: how many run in parallel.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// With --all or filters: include stuck threads.
    #[arg(long, conflicts_with_all = ["targets", "last"])]
    stuck: bool,
    /// With --all: threads of all projects, without asking.
    #[arg(long, requires = "all", conflicts_with_all = ["targets", "last", "here"])]
    everywhere: bool,
    #[command(flatten)]
    confirmation: YesArg,
    /// Stop before this role is played; with --all or several threads, those whose workflow has no such role run without it.
    #[arg(long, value_name = "ROLE", add = ArgValueCompleter::new(complete::roles))]
    until: Option<String>,
    /// Stop after N steps; run again to continue.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_WHOLE))]
    steps: Option<u64>,
    #[command(flatten)]
    options: start::StartOptions,
    #[command(flatten)]
    expect: ExpectHead,
    #[command(flatten)]
    attempt: ExpectAttempt,
    #[command(flatten)]
    on: on::EngineArgs,
    /// If an agent is at its usage limit, wait until the limit ends and continue; if the thread asks a person, wait for the reply or for `askTimeout`.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    no_ask: NoAsk,
    /// Exit with 10 when the thread has ended.
    #[arg(long)]
    exit_code: bool,
}

/// The options that are filters whatever else is given, by their ids.
fn only_filters() -> impl Iterator<Item = &'static str> {
    FILTERS.into_iter().filter(|id| *id != LABEL)
}

/// Runs a thread, a new thread, or several threads.
pub(crate) fn run(context: &CommandContext, mut args: Args) -> CommandResult {
    #[cfg(not(feature = "temporal"))]
    if args.on.on.is_some() {
        return Err(CommandError::without_temporal());
    }
    let most = steps_now(context, &mut args)?;
    match args.options.prompt {
        Some(_) if args.targets.is_empty() => {
            return Err(CommandError::usage("--prompt starts a thread, so a workflow is needed")
                .hint("name the workflow: `uwf run WORKFLOW -p 'TEXT'`"));
        }
        Some(_) => args.options.labels = label::of_new_thread(std::mem::take(&mut args.filters.label))?,
        None => refuse_start_options(&args)?,
    }
    if args.all || args.targets.len() > 1 || !args.filters.is_empty() {
        return run_all::run(context, &several(&args, most)?, &args.targets, &args.filters);
    }
    if args.jobs.is_some() || args.stuck {
        return Err(CommandError::usage("--jobs and --stuck need --all, a filter or several threads"));
    }
    // Only for the first step; later steps continue from it.
    let mut expected = AnswerPrecondition { head: args.expect.expected, attempt: args.attempt.newest };
    let target = args.targets.pop().unwrap_or_else(|| NEWEST.to_owned());
    let thread = if args.options.prompt.is_some() {
        // Another machine may have agents that this one lacks.
        let follows = match args.on.on {
            Some(_) => StartFollowUp::Nothing,
            None => StartFollowUp::Steps { until: args.until.clone(), steps: most },
        };
        new_thread(context, &target, args.options, follows, args.no_ask)?
    } else {
        let thread = known_thread(context, &target, args.options, expected)?;
        if args.on.on.is_none() {
            name_unready(context, &thread, args.until.clone(), most);
        }
        thread
    };
    #[cfg(feature = "temporal")]
    if args.on.on.is_some() {
        return run_on::run(context, &thread, &args.on, expected, args.exit_code);
    }
    let asks = args.no_ask.asks() && context.home.config().is_ok_and(|config| config.ask.asks());
    let mut signals = SignalListener::listen()?;
    let mut progress = RunProgress::from_now(context, &thread);
    let mut limits = LimitStreak::default();
    let mut steps = 0;
    loop {
        if let Some(role) = &args.until
            && let Some(report) = before(context, &thread, role, expected)?
        {
            context.printer.talk(&format!("`{role}` is next; continue with: uwf run {thread}"));
            return PrintableReport::new(&RunReport::so_far(report, 0));
        }
        let first = std::mem::take(&mut expected);
        let request = StepRequest {
            expected_head: first.head,
            expected_attempt: first.attempt,
            no_ask: args.no_ask.no_ask,
            ..StepRequest::plain(thread.clone())
        };
        let report = match one_step(context, &request, &mut signals, &mut progress) {
            Ok(report) => report,
            Err(error) => match completed_before(context, &thread, &error, first, Some(&signals)) {
                Some(report) => return PrintableReport::new(&RunReport::ended(report, args.exit_code)),
                None if error.kind == ErrorKind::Waiting && asks => match answered(context, &thread, error) {
                    Ok(Some(report)) => report,
                    Ok(None) => continue,
                    Err(error) => return stopped(context, &thread, error),
                },
                None => {
                    let error = CommandError { until: limit_wait::end(context, &thread, &error), ..error };
                    match error.until.filter(|_| args.wait).and_then(|end| limits.next(context, &thread, end)) {
                        Some(until) => limit_wait::wait(context, &thread, &error, until, &mut signals),
                        None => return stopped(context, &thread, error),
                    }
                    continue;
                }
            },
        };
        steps += 1;
        if report.done {
            if report.reason.as_deref() == Some(uwf_core::outcome::NO_MATCH) {
                context.printer.warn("no transition matched, so the thread ended there");
            }
            return PrintableReport::new(&RunReport::ended(report, args.exit_code));
        }
        if most.is_some_and(|most| steps >= most) {
            let plural = if steps == 1 { "step" } else { "steps" };
            // Without the limit, the next step would report this.
            if let Some(UpcomingRole::Error(error)) = &report.next {
                context.printer.warn(error);
            }
            context.printer.talk(&format!("stopped after {steps} {plural}; continue with: uwf run {thread}"));
            return PrintableReport::new(&RunReport::so_far(report, ErrorKind::Limit.exit_code()));
        }
    }
}

/// The options of a run of several threads.
///
/// # Errors
/// `Usage` for an option that is about one thread.
fn several(args: &Args, most: Option<u64>) -> Result<run_all::RunAllOptions, CommandError> {
    let options = &args.options;
    let is_about_one = options.prompt.is_some()
        || !options.input.is_empty()
        || options.cwd.is_some()
        || !options.agents.agents.is_empty()
        || args.expect.expected.is_some()
        || args.on.on.is_some();
    if is_about_one {
        return Err(CommandError::usage(
            "--prompt, --set, --input, --cwd, --agent, --expect-head and --on are about one thread",
        )
        .hint("several words are several threads: quote a task that has spaces"));
    }
    Ok(run_all::RunAllOptions {
        jobs: usize::from(args.jobs.unwrap_or(1)),
        stuck: args.stuck,
        is_all: args.all,
        everywhere: args.everywhere,
        confirmation: args.confirmation,
        asks: !args.no_ask.no_ask,
        until: args.until.clone(),
        most,
        wait: args.wait,
    })
}

/// The number of steps to stop after. Also accepts `--max-steps` for an existing thread, with a warning, because it was the name of
/// `--steps`.
fn steps_now(context: &CommandContext, args: &mut Args) -> Result<Option<u64>, CommandError> {
    if args.options.prompt.is_some() {
        return Ok(args.steps);
    }
    let Some(most) = args.options.limits.max_steps.take() else { return Ok(args.steps) };
    if args.steps.is_some() {
        return Err(CommandError::usage("--max-steps is a limit of the thread, and needs --prompt")
            .hint(format!("to change the limits of a thread: uwf thread limit {} --steps N", named_thread(args))));
    }
    context.printer.warn(&format!("--max-steps is a limit of a new thread; to stop early, use --steps {most}"));
    Ok(Some(most))
}

/// The thread that the command names, for hints.
fn named_thread(args: &Args) -> &str {
    args.targets.first().map_or(if args.all { "THREAD" } else { NEWEST }, String::as_str)
}

/// Rejects options that only a new thread can have.
fn refuse_start_options(args: &Args) -> Result<(), CommandError> {
    let options = &args.options;
    let thread = named_thread(args);
    if options.limits.strict_limits {
        return Err(CommandError::usage("--strict-limits needs --prompt: it checks the limits of a new thread")
            .hint(format!("`uwf thread limit {thread} --cost AMOUNT` warns of a limit that can't stop the thread")));
    }
    if let Some(change) = options.limits.as_change() {
        return Err(CommandError::usage(
            "these limits apply only to new threads; change those of a running thread with `uwf thread limit`",
        )
        .hint(format!("for instance: uwf thread limit {thread} {change}")));
    }
    if !args.filters.label.is_empty() && (args.last || !args.targets.is_empty()) {
        return Err(CommandError::usage("--label selects threads, and this command names the thread")
            .hint("a new thread gets labels: `uwf run WORKFLOW -p 'TEXT' --label KEY=VALUE`"));
    }
    if options.worktree || options.no_worktree {
        return Err(CommandError::usage("--worktree and --no-worktree need --prompt: they belong to a thread's start"));
    }
    Ok(())
}

/// The thread's current state, if this role is next.
fn before(
    context: &CommandContext,
    thread: &ThreadId,
    role: &str,
    expected: AnswerPrecondition,
) -> Result<Option<StepReport>, CommandError> {
    // If the thread is unreadable, has ended, or has moved, the step reports that.
    let Ok((loaded, head)) = Thread::active(&context.home, thread) else { return Ok(None) };
    if expected.head.is_some_and(|expected| expected != head.hash)
        || newest_attempt::check(&context.home, thread, head.hash, expected.attempt).is_err()
    {
        return Ok(None);
    }
    let workflow = loaded.workflow()?;
    plan::check_stop(&workflow, role)?;
    match moderate::next(&loaded, &workflow)?.next {
        NextAction::Role(next) if next == role => {
            let standing = StepReport::standing(loaded.start.workflow, thread.clone(), head.hash);
            Ok(Some(StepReport { next: Some(UpcomingRole::Role(next)), ..standing }))
        }
        _ => Ok(None),
    }
}

/// Asks the person at the terminal the thread's question. Returns the thread's step, or `None` if a child was waiting, or an agent that
/// continues with the reply or without one. If the thread waits for something else, it keeps waiting.
fn answered(
    context: &CommandContext,
    thread: &ThreadId,
    waits: CommandError,
) -> Result<Option<StepReport>, CommandError> {
    // For example, the thread is paused, or several children wait.
    let Ok(asked) = asked(&context.home, thread, AnswerPrecondition::default()) else { return Err(waits) };
    let later = |error: CommandError| match error.kind {
        ErrorKind::Interrupted => error.hint(format!("the thread keeps waiting: `uwf thread answer {thread}`")),
        _ => error,
    };
    let Some(report) = answer::at_terminal(context, &asked).map_err(later)? else { return Ok(None) };
    if let Some(role) = &report.role {
        context.printer.talk(&format!(
            "{} {} by {}",
            style::green("✓"),
            style::bold(role),
            report.agent.as_ref().map(AgentName::to_string).unwrap_or_default()
        ));
    }
    Ok(Some(report).filter(|report| report.role.is_some() && report.thread == *thread))
}

/// Starts a thread, and prints its id and its worktree, if any.
fn new_thread(
    context: &CommandContext,
    target: &str,
    options: start::StartOptions,
    follows: StartFollowUp,
    no_ask: NoAsk,
) -> Result<ThreadId, CommandError> {
    let started = start::begin(context, target, options, follows, no_ask)?;
    context.printer.talk(&format!("thread {}", style::bold(started.thread.as_str())));
    if let Some(worktree) = &started.worktree {
        context.printer.talk(start::in_worktree(worktree).trim_end());
    }
    Ok(started.thread)
}

/// Warns about agents that can't start, before the steps that precede them cost money.
fn name_unready(context: &CommandContext, thread: &ThreadId, until: Option<String>, steps: Option<u64>) {
    let unready = |thread: &Thread<'_>| readiness::of_thread(thread, &start::readiness(until, steps)).ok();
    // The step reports problems of the thread itself.
    let warnings = Thread::active(&context.home, thread).ok().and_then(|(loaded, _)| unready(&loaded));
    warnings.unwrap_or_default().iter().for_each(|warning| context.printer.warn(warning));
}

/// The existing thread to continue, bound to other agents if some are given.
fn known_thread(
    context: &CommandContext,
    target: &str,
    options: start::StartOptions,
    expected: AnswerPrecondition,
) -> Result<ThreadId, CommandError> {
    if !options.input.is_empty() {
        return Err(CommandError::usage("--set and --input need --prompt: they belong to a thread's start").hint(
            format!("to start a copy of the thread with another input: uwf thread fork {target} --set NAME=VALUE"),
        ));
    }
    let thread = context.thread(target).map_err(|error| match target.starts_with(NEWEST) {
        true => error,
        false => {
            let word = shlex::try_quote(target).unwrap_or_else(|_| target.into());
            error.hint(format!("to start workflow `{target}`, give it a task: uwf run {word} -p 'TEXT'"))
        }
    })?;
    if options.cwd.is_some() {
        return Err(CommandError::usage("--cwd needs --prompt: it belongs to a thread's start")
            .hint(format!("to run a thread in another directory: uwf thread step {thread} --cwd DIR")));
    }
    let project = settings::project_of(&context.home, &thread).ok().flatten();
    context.name_ignored(project.as_ref());
    if !options.agents.agents.is_empty() {
        let config = match &project {
            Some(project) => project::config(&context.home, project.dir())?,
            None => context.home.config()?,
        };
        let bound = options.agents.bindings(&config)?;
        if expected.attempt.is_some() {
            let head = expected_head::head(&context.home, &thread, expected.head)?;
            newest_attempt::check(&context.home, &thread, head.hash, expected.attempt)?;
        }
        let notes = rebind::rebind(&context.home, &thread, bound, &context.cwd, expected.head)?;
        notes.iter().for_each(|note| context.printer.warn(note));
    }
    Ok(thread)
}

/// Words about the time of a step, without the wait for a place of `agents.X.max`, which they name.
fn took(home: &Home, thread: &ThreadId, elapsed: Duration) -> String {
    let all = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    let started = recorded::read(home, thread).ok().flatten().and_then(|attempt| attempt.started);
    let waited = started.map_or(0, |started| started.waited_ms);
    table::work_time(all.saturating_sub(waited), waited, 1)
}

/// Runs one step with progress on stderr: a live line on a terminal, a line per branch, and one line per step.
fn one_step(
    context: &CommandContext,
    request: &StepRequest,
    signals: &mut SignalListener,
    progress: &mut RunProgress<'_>,
) -> Result<StepReport, CommandError> {
    let mut setups = BranchSetups::before(&context.home, &request.thread);
    let begun = Instant::now();
    progress.begin();
    let report = in_keeper(&context.home, request, signals, &mut || progress.show());
    progress.end();
    step::print_setups(context, &mut setups);
    let report = report?;
    if let Some(role) = &report.role {
        let agent = report.agent.as_ref().map(AgentName::to_string).unwrap_or_default();
        let adopted = if report.adopted { " (taken over)" } else { "" };
        let instead = report.fallback_for.as_ref().map(|reason| format!(" instead of {}", one_line(&reason.agent)));
        let instead = instead.unwrap_or_default();
        let outcome = groups::step_outcome(&context.home, report.head).filter(|outcome| outcome != SUCCEEDED);
        let outcome = outcome.map(|outcome| format!(": {}", style::red(&one_line(&outcome)))).unwrap_or_default();
        context.printer.talk(&format!(
            "{} {}{outcome} by {agent}{instead}{adopted}, {}{}",
            style::green("✓"),
            style::bold(role),
            took(&context.home, &report.thread, begun.elapsed()),
            step::denied_calls(&report.denied)
        ));
    }
    for line in report.setup.iter().flat_map(WorktreeSetup::lines) {
        context.printer.talk(&line);
    }
    for note in report.files_notes() {
        context.printer.warn(&note);
    }
    Ok(report)
}
