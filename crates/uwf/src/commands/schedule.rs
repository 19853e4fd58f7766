//! `uwf schedule …`

mod cron_times;
mod log_file;
#[cfg(not(feature = "temporal"))]
mod no_temporal;
#[cfg(feature = "temporal")]
mod on_temporal;
mod on_this_machine;
mod system_timer;

use std::os::unix::process::CommandExt;

use clap_complete::engine::ArgValueCompleter;
use json_cas::nearest::did_you_mean;
use serde_json::{Value, json};
use uwf_engine::error::ErrorKind;
use uwf_engine::root::home::ROOT_VARIABLES;
use uwf_engine::root::machine_schedules::{self, MachineTimer};
use uwf_engine::root::project_files::ProjectRoot;

#[cfg(not(feature = "temporal"))]
use self::no_temporal as on_temporal;
use self::on_this_machine::StartedBySchedule;
use crate::commands::thread::args::thread_input::InputArgs;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;
use crate::table::TextTable;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Start a thread of a workflow at the times of a cron expression.
    Create(CreateArgs),
    /// List the schedules: their times, timers and newest threads.
    #[command(alias = "ls")]
    List(ListArgs),
    /// Show a schedule: its task, its timer, and where the output of its runs is.
    Show(NameArgs),
    /// Start and run a thread of a schedule now, as its timer does.
    Start(NameArgs),
    /// Remove a schedule; threads it started continue.
    Rm(NameArgs),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  uwf schedule create weekly --workflow review --cron '0 9 * * 1' -p 'Review what was merged last week'
  uwf schedule list
  uwf schedule show weekly
  uwf schedule start weekly
  uwf schedule rm weekly

systemd or cron starts the threads on this machine. With a Temporal server, workers (uwf worker) run them.";

/// Arguments of `uwf schedule create`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf schedule create weekly --workflow review --cron '0 9 * * 1' -p 'Review what was merged last week'
  uwf schedule create nightly --workflow tidy --cron 'CRON_TZ=Europe/Berlin 30 2 * * *' -p - < task.md
  uwf schedule create monthly --workflow report --cron '0 6 1 * *' -p 'Write the report' --set period=month
  uwf schedule create hourly --workflow triage --cron '15 * * * *' -p 'Triage new issues' --on temporal

A time is skipped if the previous thread has not ended, even if it waits for a person. `uwf schedule show` counts skipped
times. On this machine, the previous thread continues if it stopped at a usage limit that has ended. New threads work in
the directory in which you create the schedule, and use the workflow and the configuration of their time. On Temporal, a
paused thread holds workflow, task and input, and each thread is its copy.")]
pub(crate) struct CreateArgs {
    /// Its name.
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// A workflow: path, name, hash or unique prefix of one.
    #[arg(long, value_name = "WORKFLOW", add = ArgValueCompleter::new(complete::workflows))]
    workflow: String,
    /// When: minute, hour, day of the month, month, day of the week, in UTC unless it begins with CRON_TZ=ZONE.
    #[arg(long, value_name = "CRON")]
    cron: String,
    /// Task of the threads; `-` reads it from stdin.
    #[arg(short, long, value_name = "PROMPT", allow_hyphen_values = true)]
    prompt: String,
    #[command(flatten)]
    input: InputArgs,
    /// The program that starts the threads: by default Temporal if its address is known, else systemd, else cron.
    #[arg(long, value_name = "TIMER")]
    on: Option<ScheduleKeeper>,
}

/// The program that starts the threads of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ScheduleKeeper {
    Systemd,
    Cron,
    Temporal,
}

/// Arguments of `uwf schedule list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  uwf schedule list\n  uwf schedule list --here   only the project that you are in")]
pub(crate) struct ListArgs {
    /// Only schedules of this project: the git repository here, or the directory with .workflows.
    #[arg(long)]
    here: bool,
}

/// Arguments of `uwf schedule show`, `start` and `rm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  uwf schedule show weekly\n  uwf schedule start weekly\n  uwf schedule rm weekly")]
pub(crate) struct NameArgs {
    /// Its name.
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
}

/// A schedule as JSON, and as text for people.
struct ScheduleRow {
    name: String,
    report: Value,
    /// The project that its threads work in.
    project: Option<ProjectRoot>,
    /// Its times, as given.
    times: String,
    workflow: String,
    /// When the next thread starts, or why none will.
    next: String,
    /// Further facts, with their names.
    facts: Vec<(&'static str, String)>,
    /// The command that creates its lost timer again.
    again: Option<String>,
}

impl ScheduleRow {
    /// Everything about it, a line for each fact.
    fn details(&self) -> String {
        let own = [("workflow", &self.workflow), ("times", &self.times), ("next", &self.next)];
        let facts = own.into_iter().chain(self.facts.iter().map(|(name, fact)| (*name, fact)));
        let lines = facts.filter(|(_, fact)| !fact.is_empty()).map(|(name, fact)| {
            let name = style::dim(&format!("{name:<9}"));
            format!("  {name}  {}\n", fact.lines().collect::<Vec<_>>().join("\n             "))
        });
        let again = self.again.as_ref().map(|command| format!("To create it again:\n{command}\n")).unwrap_or_default();
        format!("{}\n{}{again}", style::bold(&self.name), lines.collect::<String>())
    }
}

/// Runs a command of the group.
pub(crate) fn run(context: &CommandContext, command: Command) -> CommandResult {
    match command {
        Command::Create(args) => create(context, args),
        Command::List(args) => list(context, &args),
        Command::Show(args) => show(context, &args.name),
        Command::Start(args) => start(context, &args.name),
        Command::Rm(args) => remove(context, &args.name),
    }
}

fn create(context: &CommandContext, args: CreateArgs) -> CommandResult {
    let keeper = args.on.map_or_else(|| default_keeper(context), Ok)?;
    match keeper {
        ScheduleKeeper::Systemd => on_this_machine::create(context, MachineTimer::Systemd, args),
        ScheduleKeeper::Cron => on_this_machine::create(context, MachineTimer::Cron, args),
        ScheduleKeeper::Temporal => on_temporal::create(context, args),
    }
}

fn default_keeper(context: &CommandContext) -> Result<ScheduleKeeper, CommandError> {
    if on_temporal::is_known(context)? {
        return Ok(ScheduleKeeper::Temporal);
    }
    Ok(match system_timer::available()? {
        MachineTimer::Systemd => ScheduleKeeper::Systemd,
        MachineTimer::Cron => ScheduleKeeper::Cron,
    })
}

fn list(context: &CommandContext, args: &ListArgs) -> CommandResult {
    let project = context.selected_project(args.here)?;
    let mut rows = on_this_machine::rows(context)?;
    rows.retain(|row| project.is_none() || row.project == project);
    // Threads of a Temporal server work in directories of its workers.
    if project.is_none() && on_temporal::is_known(context)? {
        rows.extend(on_temporal::rows(context)?);
    }
    let mut table = TextTable::new(&["schedule", "workflow", "times", "next"]).flexible([0, 1, 2]);
    for row in &rows {
        table.row(vec![style::bold(&row.name), row.workflow.clone(), row.times.clone(), row.next.clone()]);
    }
    let text = if rows.is_empty() { "no schedules\n".to_owned() } else { table.text() };
    Ok(PrintableReport::value_with_text(Value::Array(rows.into_iter().map(|row| row.report).collect()), text))
}

fn show(context: &CommandContext, name: &str) -> CommandResult {
    let is_named = |row: &ScheduleRow| row.name == name;
    let mut row = on_this_machine::rows(context)?.into_iter().find(is_named);
    if row.is_none() && on_temporal::is_known(context)? {
        row = on_temporal::rows(context)?.into_iter().find(is_named);
    }
    let row = row.ok_or_else(|| {
        let names = machine_schedules::read(&context.home).unwrap_or_default();
        let near = did_you_mean(name, names.keys().map(String::as_str));
        near.into_iter().fold(unknown(name), CommandError::hint)
    })?;
    let text = row.details();
    Ok(PrintableReport::value_with_text(row.report, text))
}

fn remove(context: &CommandContext, name: &str) -> CommandResult {
    if !on_this_machine::remove(context, name)? {
        remove_elsewhere(context, name)?;
    }
    let text = format!("removed schedule {}; its threads continue\n", style::bold(name));
    Ok(PrintableReport::value_with_text(json!({ "schedule": name, "removed": true }), text))
}

/// Removes a schedule that this machine does not have.
fn remove_elsewhere(context: &CommandContext, name: &str) -> Result<(), CommandError> {
    if !on_temporal::is_known(context)? {
        return Err(unknown(name));
    }
    on_temporal::remove(context, name)
}

/// An error without hints about `--agent`, which `schedule create` does not have.
fn without_agent_option(mut error: CommandError) -> CommandError {
    error.hints.retain(|hint| !hint.contains("`--agent "));
    error
}

fn unknown(name: &str) -> CommandError {
    CommandError::new(ErrorKind::NotFound, format!("this machine has no schedule `{name}`"))
        .hint("`uwf schedule list` shows the schedules")
}

fn start(context: &CommandContext, name: &str) -> CommandResult {
    log_file::begin(&context.printer, context.home.root(), name);
    match on_this_machine::start_thread(context, name)? {
        StartedBySchedule::LeftOut(thread) => {
            let text = format!("no thread was started: {thread} has not ended\n");
            Ok(PrintableReport::value_with_text(json!({ "schedule": name, "leftOut": true, "thread": thread }), text))
        }
        StartedBySchedule::Started(thread) | StartedBySchedule::Continued(thread) => {
            // The run replaces this process, so a signal to it is a signal to the run.
            let root = context.home.root();
            let error = std::process::Command::new(context.home.bin())
                .args(["run", thread.as_str()])
                .args(context.printer.format_arguments())
                // No question at this terminal: it waits, as in every run by the timer.
                .stdin(std::process::Stdio::null())
                .env(ROOT_VARIABLES[0], root)
                .exec();
            Err(CommandError::new(ErrorKind::Io, format!("cannot run thread {thread}: {error}"))
                .hint(format!("uwf run {thread}")))
        }
    }
}

/// How many times were skipped, as a fact.
fn left_out_in_words(times: u64) -> String {
    match times {
        0 => String::new(),
        1 => "1 time, because the previous thread had not ended".to_owned(),
        times => format!("{times} times, because the previous thread had not ended"),
    }
}

/// Parses the name of a schedule.
fn name(text: &str) -> Result<String, String> {
    let is_plain = text.chars().all(|symbol| symbol.is_ascii_alphanumeric() || "-_.".contains(symbol));
    // The timer's command would read it as an option.
    let is_option = text.starts_with('-');
    (is_plain && !is_option && (1..=100).contains(&text.len())).then(|| text.to_owned()).ok_or_else(|| {
        "a name has letters, digits, `-`, `_` and `.`, at most 100, and does not begin with `-`".to_owned()
    })
}
