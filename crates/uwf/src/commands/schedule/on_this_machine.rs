//! Schedules whose threads systemd or cron starts on this machine.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::json;
use uwf_core::input::{InputDoor, InputRequest, InputValues};
use uwf_core::label::LabelFilter;
use uwf_core::text::one_line;
use uwf_core::thread::ThreadId;
use uwf_engine::root::ids;
use uwf_engine::root::machine_schedules::{self, HeldSchedules, LABEL, MachineSchedule, MachineTimer};
use uwf_engine::root::marks::{self, ThreadMark};
use uwf_engine::root::project_files::ProjectRoot;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::list::{self, ThreadFilter, ThreadRow};

use super::cron_times::CronTimes;
use super::log_file;
use super::system_timer::{self, TimedCommand, TimerStatus};
use super::{CreateArgs, ScheduleRow, left_out_in_words, unknown, without_agent_option};
use crate::commands::thread::args::no_ask::NoAsk;
use crate::commands::thread::start::{self, StartFollowUp, StartOptions, ThreadTask};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Creates a schedule: its entry first, so that a timer never starts an unknown one.
pub(super) fn create(context: &CommandContext, timer: MachineTimer, args: CreateArgs) -> CommandResult {
    let CreateArgs { name, workflow, cron, prompt, input, on: _ } = args;
    let times = CronTimes::parse(&cron).map_err(|why| {
        CommandError::usage(format!("`{cron}`: {why}"))
            .hint("minute, hour, day of the month, month and day of the week: '0 9 * * 1' is each Monday at 9:00 UTC")
    })?;
    let directory = context.workspace()?;
    let workflow = match directory.join(&workflow) {
        file if file.is_file() => file.canonicalize().unwrap_or(file).display().to_string(),
        _ => workflow,
    };
    let mut options = StartOptions { prompt: Some(prompt), input, ..StartOptions::default() };
    let ThreadTask { prompt, input } = start::task(context, &workflow, &mut options, NoAsk { no_ask: true })?;
    let values = input.values.as_ref().map(|values| match values {
        InputValues::Document(document) => document.value.clone(),
        InputValues::Value { value, .. } => value.clone(),
    });
    let schedule = MachineSchedule {
        cron: cron.clone(),
        timer,
        workflow: workflow.clone(),
        prompt: prompt.clone(),
        input: values,
        set: input.set.clone(),
        directory,
        left_out: 0,
    };
    let follows = StartFollowUp::Steps { until: None, steps: None };
    start::check_task(context, &workflow, ThreadTask { prompt, input }, StartOptions::default(), follows)
        .map_err(without_agent_option)?;

    let mut held = HeldSchedules::hold(&context.home)?;
    if held.by_name.contains_key(&name) {
        return Err(CommandError::usage(format!("schedule `{name}` already exists"))
            .hint(format!("to replace it: uwf schedule rm {name}")));
    }
    held.by_name.insert(name.clone(), schedule.clone());
    held.write()?;
    if let Err(error) = system_timer::create(timer, &times, &timed(context, &name, &schedule)) {
        held.by_name.remove(&name);
        held.write()?;
        return Err(error);
    }
    if let Some(warning) = system_timer::warning(timer) {
        context.printer.warn(&warning);
    }
    let by = by(timer);
    let text = format!("schedule {} starts threads of {workflow} at `{cron}`, by {by}\n", style::bold(&name));
    Ok(PrintableReport::value_with_text(json!({ "schedule": name, "on": timer, "cron": cron }), text))
}

/// The schedules of this machine, with what systemd and cron know of them.
pub(super) fn rows(context: &CommandContext) -> Result<Vec<ScheduleRow>, CommandError> {
    let schedules = machine_schedules::read(&context.home)?;
    schedules.iter().map(|(name, schedule)| row(context, name, schedule)).collect()
}

fn row(context: &CommandContext, name: &str, schedule: &MachineSchedule) -> Result<ScheduleRow, CommandError> {
    let MachineSchedule { cron, timer, workflow, prompt, directory, left_out, .. } = schedule;
    let command = timed(context, name, schedule);
    let status = match CronTimes::parse(cron) {
        Ok(times) => system_timer::status(*timer, &times, &command),
        Err(why) => TimerStatus::Inactive(why),
    };
    let last = newest_thread(context, name, true)?.map(|row| row.thread);
    let (output, output_in_words) = output(context, *timer, name);
    let mut report = json!({
        "schedule": name, "on": timer, "workflow": workflow, "cron": cron, "prompt": prompt, "directory": directory,
        "active": matches!(status, TimerStatus::Active(_)), "leftOut": left_out, "output": output,
    });
    let mut again = None;
    let next = match status {
        TimerStatus::Active(Some(next)) => {
            report["next"] = json!(next);
            next
        }
        TimerStatus::Active(None) => "active".to_owned(),
        TimerStatus::Inactive(why) => {
            report["why"] = json!(why);
            again = Some(self::again(name, schedule));
            style::red(&format!("NOT ACTIVE: {why}"))
        }
    };
    if let Some(last) = &last {
        report["lastThread"] = json!(last);
    }
    let project = ProjectRoot::of_dir(&context.home, directory);
    let facts = vec![
        ("timer", by(*timer).to_owned()),
        ("task", prompt.clone()),
        ("directory", directory.display().to_string()),
        ("last", last.map_or_else(String::new, |thread| thread.to_string())),
        ("skipped", left_out_in_words(*left_out)),
        ("output", output_in_words),
    ];
    let (name, times, workflow) = (name.to_owned(), cron.clone(), one_line(workflow));
    Ok(ScheduleRow { name, report, project, times, workflow, next, facts, again })
}

/// Where the output of the runs is: the file or the command that shows it, and the same in words.
fn output(context: &CommandContext, timer: MachineTimer, name: &str) -> (String, String) {
    match timer {
        MachineTimer::Systemd => {
            let command = format!("journalctl --user -u uwf-{name}.service");
            (command.clone(), command)
        }
        MachineTimer::Cron => {
            let root = context.home.root();
            let (path, older) = (log_file::path(root, name), log_file::older(root, name));
            let earlier = if older.exists() { format!("\n{} (earlier runs)", older.display()) } else { String::new() };
            (path.display().to_string(), format!("{}{earlier}", path.display()))
        }
    }
}

/// The commands that create a schedule again, for a shell.
fn again(name: &str, schedule: &MachineSchedule) -> String {
    let MachineSchedule { cron, timer, workflow, prompt, input, set, directory, left_out: _ } = schedule;
    let quoted = |word: &str| shlex::try_quote(word).map_or_else(|_| word.to_owned(), Cow::into_owned);
    let set: String = set.iter().map(|assignment| format!(" --set {}", quoted(assignment))).collect();
    let input = if input.is_some() { " --input FILE" } else { "" };
    format!(
        "uwf schedule rm {name} && cd {} && uwf schedule create {name} --workflow {} --cron {} -p {}{input}{set} --on {}",
        quoted(&directory.display().to_string()),
        quoted(workflow),
        quoted(cron),
        quoted(prompt),
        by(*timer)
    )
}

/// Removes a schedule: its timer first, so that a timer never starts an unknown one. Returns whether there was one.
pub(super) fn remove(context: &CommandContext, name: &str) -> Result<bool, CommandError> {
    let mut held = HeldSchedules::hold(&context.home)?;
    let Some(schedule) = held.by_name.get(name) else { return Ok(false) };
    let command = timed(context, name, schedule);
    if let Some(other) = system_timer::other(schedule.timer, &command)? {
        context.printer.warn(&format!("{other}, so it stays"));
    }
    system_timer::remove(schedule.timer, &command)?;
    held.by_name.remove(name);
    held.write()?;
    Ok(true)
}

/// Starts a thread of a schedule, unless an earlier one has not ended. Such a thread continues if it stopped at a usage limit that has ended.
///
/// # Errors
/// `NotFound` for an unknown schedule, and each error of `uwf run`.
pub(super) fn start_thread(context: &CommandContext, name: &str) -> Result<StartedBySchedule, CommandError> {
    // Held until the thread is in the index: of two timers, only one may start a thread.
    let mut held = HeldSchedules::hold(&context.home)?;
    let Some(schedule) = held.by_name.get_mut(name) else {
        return Err(unknown(name));
    };
    if let Some(row) = newest_thread(context, name, false)? {
        if is_limit_over(context, &row) {
            return Ok(StartedBySchedule::Continued(row.thread));
        }
        schedule.left_out += 1;
        held.write()?;
        return Ok(StartedBySchedule::LeftOut(row.thread));
    }
    let MachineSchedule { workflow, prompt, input, set, directory, .. } = schedule;
    let values = input.clone().map(|value| InputValues::Value { value, origin: format!("schedule {name}") });
    let task = ThreadTask {
        prompt: prompt.clone(),
        input: InputRequest { values, set: set.clone(), door: InputDoor::CommandLine },
    };
    let labels = [(LABEL.to_owned(), name.to_owned())].into();
    let options = StartOptions { cwd: Some(directory.clone()), labels, ..StartOptions::default() };
    let follows = StartFollowUp::Steps { until: None, steps: None };
    Ok(StartedBySchedule::Started(start::begin_task(context, workflow, task, options, follows)?.thread))
}

/// The thread of a time of a schedule.
pub(super) enum StartedBySchedule {
    /// This thread was started.
    Started(ThreadId),
    /// None was started, because this one can continue after a usage limit.
    Continued(ThreadId),
    /// None was started, because this one has not ended.
    LeftOut(ThreadId),
}

/// Whether a thread stopped at a usage limit that has ended, so that only its next step is missing.
fn is_limit_over(context: &CommandContext, row: &ThreadRow) -> bool {
    let until = || marks::get(&context.home, &row.thread, ThreadMark::Limited)?.until;
    row.state == ThreadState::Active && until().is_some_and(|until| until <= ids::now_ms())
}

/// The newest thread of a schedule: of all, or of those that have not ended.
fn newest_thread(context: &CommandContext, name: &str, all: bool) -> Result<Option<ThreadRow>, CommandError> {
    let label = LabelFilter { key: LABEL.to_owned(), value: Some(name.to_owned()) };
    let filter =
        ThreadFilter { all, labels: vec![label], folds_branches: true, limit: Some(1), ..ThreadFilter::default() };
    Ok(list::list(&context.home, &filter)?.rows.into_iter().next())
}

fn timed<'c>(context: &'c CommandContext, name: &'c str, schedule: &'c MachineSchedule) -> TimedCommand<'c> {
    TimedCommand {
        name,
        root: context.home.root(),
        directory: &schedule.directory,
        program: program(context.home.bin()),
        path: std::env::var_os("PATH").unwrap_or_default(),
    }
}

/// The file of this program, so that a timer finds it wherever it begins.
fn program(bin: &Path) -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| bin.to_owned())
}

fn by(timer: MachineTimer) -> &'static str {
    match timer {
        MachineTimer::Systemd => "systemd",
        MachineTimer::Cron => "cron",
    }
}
