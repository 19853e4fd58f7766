//! `uwf run` with several threads: named, selected by filters, or with `--all` every active one.
//!
//! Each thread is run by its own `uwf run`. So if one fails, the others continue, and a signal ends each as it ends any run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use json_cas::NodeHash;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use serde_json::{Map, Value};
use uwf_call::{UwfCall, UwfOutputFiles};
use uwf_core::text::one_line;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::home::ROOT_VARIABLES;
use uwf_engine::root::project_files::ProjectRoot;
use uwf_engine::thread::chain::StepChain;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::nodes;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::list::ThreadRow;

use super::left_out;
use super::limit_wait::{self, EndWatch, LimitStreak};
use crate::ask::TerminalAsker;
use crate::commands::thread::args::filter::ThreadFilterArgs;
use crate::commands::thread::args::selection::{self, YesArg};
use crate::commands::thread::several::{ThreadResult, worst_code};
use crate::commands::thread::step;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandPrinter, CommandReport, CommandResult, PrintableReport};
use crate::table::TextTable;
use crate::{style, table};

/// How often to check whether a run has ended. A signal, including the one for a child's end, wakes the check at once.
const LOOK: Duration = Duration::from_millis(200);

/// The options of `uwf run --all`.
pub(super) struct RunAllOptions {
    /// Maximum number of parallel runs.
    pub(super) jobs: usize,
    /// Include threads whose last attempt failed.
    pub(super) stuck: bool,
    /// `--all` is given, so only several projects need a confirmation.
    pub(super) is_all: bool,
    /// Threads of several projects run without a question.
    pub(super) everywhere: bool,
    /// Whether the person has confirmed the run of several.
    pub(super) confirmation: YesArg,
    /// A person may be asked.
    pub(super) asks: bool,
    /// The role to stop before, in threads whose workflow has it.
    pub(super) until: Option<String>,
    /// Maximum number of steps per thread.
    pub(super) most: Option<u64>,
    /// Wait for the end of usage limits and for replies.
    pub(super) wait: bool,
}

/// A thread to run.
struct QueuedRun {
    thread: ThreadId,
    /// The role to stop before.
    until: Option<String>,
    /// Maximum number of steps.
    most: Option<u64>,
    /// Don't let agents ask a person.
    no_ask: bool,
    /// Unix milliseconds of the end of a usage limit or of a question, before which it is not run.
    due: u64,
    /// Whether it is run as soon as it no longer waits for a reply.
    waits: bool,
    /// Its result, if the command ends before that.
    stopped: Option<ThreadResult>,
    /// The usage limits that it has reached.
    limits: LimitStreak,
    /// Looks whether it has ended meanwhile.
    watch: EndWatch,
}

impl QueuedRun {
    /// Whether it can run now.
    fn is_due(&mut self, context: &CommandContext) -> bool {
        limit_wait::left(self.due).is_zero()
            || (self.waits && !limit_wait::waits(context, &self.thread))
            || self.watch.has_ended(context, &self.thread)
    }

    /// The rest of a run that has reached a usage limit, or waits for a reply.
    fn rest(mut self, context: &CommandContext, steps_before: u64, (end, waits): (u64, bool)) -> Option<QueuedRun> {
        self.due = self.limits.next(context, &self.thread, end)?;
        (self.waits, self.watch) = (waits, EndWatch::default());
        let made = steps(context, &self.thread).saturating_sub(steps_before);
        // A run without a step to make ends at once, before the next limit.
        let most = self.most.map(|most| most.saturating_sub(made));
        (most != Some(0)).then_some(QueuedRun { most, ..self })
    }
}

/// A thread that runs.
struct RunningThread {
    run: QueuedRun,
    pid: Pid,
    /// Steps of the thread before.
    steps: u64,
}

/// Number of steps of a thread; 0 if they can't be read.
fn steps(context: &CommandContext, thread: &ThreadId) -> u64 {
    let active = Thread::active(&context.home, thread).ok();
    let steps = active.and_then(|(thread, _)| thread.chain().map(StepChain::len).ok());
    steps.and_then(|steps| u64::try_from(steps).ok()).unwrap_or_default()
}

/// When a thread that stopped can continue, and whether it waits for a reply.
fn end(result: &ThreadResult) -> Option<(u64, bool)> {
    let until = result.report.get("error")?["until"].as_u64()?;
    Some((until, result.exit_code == Some(i32::from(ErrorKind::Waiting.exit_code()))))
}

/// The results of all threads.
#[derive(Serialize)]
#[serde(transparent)]
struct RunAllReport {
    threads: Vec<ThreadResult>,
    #[serde(skip)]
    code: u8,
}

impl CommandReport for RunAllReport {
    fn text(&self) -> String {
        if self.threads.is_empty() {
            return "no thread to run\n".to_owned();
        }
        let mut table = TextTable::new(&["thread", "exit", "result"]).flexible([2]);
        for ThreadResult { thread, exit_code, report } in &self.threads {
            let what = result_in_words(report);
            let code = exit_code.map_or_else(|| "–".to_owned(), |code| code.to_string());
            let code = if *exit_code == Some(0) { style::green(&code) } else { style::yellow(&code) };
            table.row(vec![thread.to_string(), code, what]);
        }
        table.text()
    }

    fn exit_code(&self) -> u8 {
        self.code
    }
}

/// The result of a thread: its error, how it ended, or the role that comes next.
fn result_in_words(report: &Map<String, Value>) -> String {
    let text = |key: &str| report.get(key).and_then(Value::as_str);
    if let Some(why) = report.get("error").and_then(|error| error["message"].as_str()) {
        // The lines after a question say how to answer it.
        return why.lines().next().unwrap_or_default().to_owned();
    }
    if report.get("done").and_then(Value::as_bool) == Some(true) {
        return step::ending_in_words(text("outcome"), text("condition"), text("reason"));
    }
    let next = report.get("next").and_then(|next| next["role"].as_str()).map(|role| format!("next: {role}"));
    next.or_else(|| text("reason").map(one_line)).unwrap_or_default()
}

/// Runs the threads.
pub(super) fn run(
    context: &CommandContext,
    all: &RunAllOptions,
    named: &[String],
    filters: &ThreadFilterArgs,
) -> CommandResult {
    let (wanted, left_out) = match named {
        [] => filtered(context, all, filters)?,
        named => (heads(context, selection::named(context, named)?)?, Vec::new()),
    };
    let queued = queued(context, all, wanted)?;
    match all.is_all {
        true => check_projects(context, all, filters, &queued)?,
        false => {
            let threads: Vec<ThreadId> = queued.iter().map(|run| run.thread.clone()).collect();
            all.confirmation.check(context, "run", &threads, named.is_empty())?;
        }
    }
    let mut signals = SignalListener::listen()?;
    left_out::report_left_out(context, &left_out);
    let mut ended = left_out::results(&left_out, queued.is_empty());
    let mut waiting = queued;
    let (send, receive) = mpsc::channel();
    let mut running: BTreeMap<ThreadId, RunningThread> = BTreeMap::new();
    let mut stop = None;
    let printer = &context.printer;
    std::thread::scope(|scope| {
        loop {
            while stop.is_none() && running.len() < all.jobs {
                let Some(at) = waiting.iter_mut().position(|run| run.is_due(context)) else { break };
                let run = waiting.remove(at);
                let (thread, steps) = (run.thread.clone(), steps(context, &run.thread));
                let (child, files) = start(context, &run)?;
                running.insert(thread.clone(), RunningThread { run, pid: Pid::from_child(&child), steps });
                let send = send.clone();
                // The receiver lives until every sender is done.
                scope.spawn(move || send.send(follow(printer, thread, child, files)));
            }
            if running.is_empty() && (waiting.is_empty() || stop.is_some()) {
                return Ok::<(), CommandError>(());
            }
            let next = waiting.iter().map(|run| limit_wait::left(run.due)).filter(|left| !left.is_zero()).min();
            signals.wait(next.filter(|_| running.is_empty()).map_or(LOOK, |left| left.min(LOOK)));
            if let Some(signal) = signals.stop().filter(|_| stop.is_none()) {
                stop = Some(signal);
                let signal = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
                for running in running.values() {
                    // The run may have ended already.
                    let _ = kill_process(running.pid, signal);
                }
            }
            for over in receive.try_iter() {
                let run = running.remove(&over.thread);
                let end = end(&over).filter(|_| all.wait && stop.is_none());
                match run.zip(end).and_then(|(before, end)| before.run.rest(context, before.steps, end)) {
                    Some(rest) => {
                        let left = table::duration(limit_wait::left(rest.due));
                        let what = if rest.waits { "a reply" } else { "the end of a usage limit" };
                        printer.talk(&format!("{} waits {left} for {what}", over.thread));
                        waiting.push(QueuedRun { stopped: Some(over), ..rest });
                    }
                    None => ended.push(over),
                }
            }
        }
    })?;
    ended.extend(waiting.into_iter().filter_map(|run| run.stopped));
    ended.sort_by(|one, other| one.thread.cmp(&other.thread));
    let code = match stop {
        Some(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        None => worst_code(&ended),
    };
    PrintableReport::new(&RunAllReport { threads: ended, code })
}

/// A thread to run, before its options are known.
struct WantedRun {
    thread: ThreadId,
    workflow: Option<NodeHash>,
    due: u64,
    waits: bool,
    stopped: Option<ThreadResult>,
}

/// The threads that filters select, and those that are left out because they are at a limit or wait, oldest first. Child threads are
/// skipped: their parents run them.
fn filtered(
    context: &CommandContext,
    all: &RunAllOptions,
    filters: &ThreadFilterArgs,
) -> Result<(Vec<WantedRun>, Vec<ThreadRow>), CommandError> {
    // A thread whose usage limit or wait is over is as good as active.
    let is_due = |row: &ThreadRow| row.until.is_some_and(|until| all.wait || limit_wait::left(until).is_zero());
    let is_wanted = |row: &ThreadRow| {
        !filters.state.is_empty()
            || row.state == ThreadState::Active
            || (all.stuck && row.state == ThreadState::Stuck)
            || is_due(row)
    };
    let rows = selection::rows(context, filters, &[], |row| is_wanted(row) || left_out::can_be(row))?;
    let (wanted, left_out): (Vec<ThreadRow>, Vec<ThreadRow>) = rows.into_iter().partition(is_wanted);
    let wanted = wanted.into_iter().map(|row| {
        // Without `--wait`, the run of a thread that can't continue yet says so and ends.
        let until = row.until.filter(|_| all.wait);
        WantedRun {
            due: until.unwrap_or_default(),
            waits: all.wait && row.state == ThreadState::Waiting,
            stopped: until.map(|_| left_out::result(&row)),
            workflow: row.workflow,
            thread: row.thread,
        }
    });
    Ok((wanted.collect(), left_out))
}

/// Named threads. The run of a thread that can't run reports why.
fn heads(context: &CommandContext, threads: Vec<ThreadId>) -> Result<Vec<WantedRun>, CommandError> {
    let mut wanted = Vec::new();
    for thread in threads {
        let workflow = Thread::active(&context.home, &thread).ok().map(|(loaded, _)| loaded.start.workflow);
        wanted.push(WantedRun { thread, workflow, due: 0, waits: false, stopped: None });
    }
    Ok(wanted)
}

/// The runs of these threads with their options.
fn queued(
    context: &CommandContext,
    all: &RunAllOptions,
    wanted: Vec<WantedRun>,
) -> Result<Vec<QueuedRun>, CommandError> {
    let having = all.until.as_deref().map(|role| having_role(context, &wanted, role)).transpose()?;
    let queued = wanted.into_iter().map(|run| {
        let has_role = having.as_ref().is_some_and(|having| run.workflow.is_some_and(|it| having.contains(&it)));
        QueuedRun {
            thread: run.thread,
            until: all.until.clone().filter(|_| has_role),
            most: all.most,
            no_ask: !all.asks,
            due: run.due,
            waits: run.waits,
            stopped: run.stopped,
            limits: LimitStreak::default(),
            watch: EndWatch::default(),
        }
    });
    Ok(queued.collect())
}

/// Asks before threads of several projects run: in one project, `--all` is easily meant for it alone.
///
/// # Errors
/// `Usage` without a terminal; `Interrupted` if the person says no.
fn check_projects(
    context: &CommandContext,
    all: &RunAllOptions,
    filters: &ThreadFilterArgs,
    queued: &[QueuedRun],
) -> Result<(), CommandError> {
    if all.everywhere || all.confirmation.yes || filters.here.here {
        return Ok(());
    }
    let projects: BTreeSet<Option<ProjectRoot>> =
        queued.iter().map(|run| ProjectRoot::of_thread(&context.home, &run.thread)).collect();
    if projects.len() < 2 {
        return Ok(());
    }
    let name = |project: Option<ProjectRoot>| project.map_or_else(|| "no project".to_owned(), |project| project.name());
    let names: Vec<String> = projects.into_iter().map(name).collect();
    let what = format!("{} threads of {} projects ({})", queued.len(), names.len(), names.join(", "));
    if !all.asks || !TerminalAsker::has_person() {
        return Err(CommandError::usage(format!("--all would run {what}"))
            .hint("--here runs only this project's threads, --everywhere runs all"));
    }
    match TerminalAsker::new(context.printer).yes(&format!("run {what}?"))? {
        true => Ok(()),
        false => Err(CommandError::new(ErrorKind::Interrupted, "you answered no, so no thread was run")
            .hint("--here runs only this project's threads, or name the threads")),
    }
}

/// The workflows of these threads that have the role.
///
/// # Errors
/// `Usage` if no workflow has the role: the name is mistyped, and the threads would run to their ends.
fn having_role(context: &CommandContext, runs: &[WantedRun], role: &str) -> Result<BTreeSet<NodeHash>, CommandError> {
    let workflows: BTreeSet<NodeHash> = runs.iter().filter_map(|run| run.workflow).collect();
    let (mut having, mut roles) = (BTreeSet::new(), BTreeSet::new());
    for hash in workflows {
        // If a workflow is unreadable, the run of its thread reports it.
        let Ok(workflow) = nodes::workflow(context.home.store(), hash) else { continue };
        if workflow.roles.contains_key(role) {
            having.insert(hash);
        }
        roles.extend(workflow.roles.into_keys());
    }
    if having.is_empty() && !roles.is_empty() {
        let roles = roles.into_iter().collect::<Vec<_>>().join(", ");
        return Err(
            CommandError::usage(format!("no thread to run has a role `{role}`")).hint(format!("their roles: {roles}"))
        );
    }
    Ok(having)
}

/// Starts a run in a process group of its own: this process passes Ctrl-C on, which must not arrive twice.
fn start(context: &CommandContext, run: &QueuedRun) -> Result<(Child, UwfOutputFiles), CommandError> {
    let mut args: Vec<String> = ["--format", "json", "run", run.thread.as_str()].map(str::to_owned).into();
    args.extend(run.until.iter().map(|role| format!("--until={role}")));
    args.extend(run.most.map(|most| format!("--steps={most}")));
    args.extend(run.no_ask.then(|| "--no-ask".to_owned()));
    let home = &context.home;
    let call = UwfCall::new(home.bin(), &context.cwd, args).variable(ROOT_VARIABLES[0], home.root());
    let started = call.command().and_then(|(mut command, files)| {
        // Its messages are printed while it runs.
        Ok((command.stderr(Stdio::piped()).spawn()?, files))
    });
    started.map_err(|error| CommandError::new(ErrorKind::Io, format!("cannot start {}: {error}", home.bin().display())))
}

/// Prints the run's messages, each after the name of its thread, until the run ends.
fn follow(printer: &CommandPrinter, thread: ThreadId, mut child: Child, files: UwfOutputFiles) -> ThreadResult {
    for line in child.stderr.take().into_iter().flat_map(|stderr| BufReader::new(stderr).lines()).map_while(Result::ok)
    {
        printer.talk(&format!("{thread} {line}"));
    }
    let ended = child.wait().and_then(|status| files.outcome(Some(status)));
    let (exit_code, report) = ended.map_or((None, Value::Null), |ended| (ended.code().map(i32::from), ended.report()));
    let report = match report {
        Value::Object(report) => report,
        _ => Map::new(),
    };
    ThreadResult { thread, exit_code, report }
}
