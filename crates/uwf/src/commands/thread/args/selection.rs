//! The threads that a command acts on: named one by one, or selected by filters.

use clap_complete::engine::ArgValueCompleter;
use uwf_core::thread::ThreadId;
use uwf_engine::error::ErrorKind;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::list::{self, ThreadFilter, ThreadRow};
use uwf_engine::views::show;
use uwf_engine::views::workflow_names::WorkflowNames;

use super::filter::{self, FILTERS, ThreadFilterArgs};
use super::which::NEWEST;
use crate::ask::TerminalAsker;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::table::{self, TextTable};

/// Columns of a task in the list of threads to act on.
const TASK: usize = 60;

/// The threads a command is about.
#[derive(Debug, clap::Args)]
pub(crate) struct ThreadsArg {
    /// The thread: its id, a unique start or end of the id, or @ for the newest of this project, @2 for the one before; several threads can be named.
    #[arg(value_name = "THREAD", required_unless_present_any = FILTERS.iter().chain(&["last"]), conflicts_with_all = FILTERS.iter().chain(&["last"]))]
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    threads: Vec<String>,
    /// The newest thread of this project, like @.
    #[arg(long, conflicts_with_all = FILTERS)]
    last: bool,
    #[command(flatten)]
    pub(crate) filters: ThreadFilterArgs,
    #[command(flatten)]
    pub(crate) confirmation: YesArg,
}

/// Whether the person has confirmed the change of several threads.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct YesArg {
    /// Act on several threads without asking; needed in a pipe if filters select more than one.
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// The selected threads.
#[derive(Debug)]
pub(crate) enum ThreadSelection {
    /// One thread, named. The report is about it.
    One(ThreadId),
    /// Several named threads, or any number that filters selected, oldest first. The report is a list.
    Several(Vec<ThreadId>),
}

/// The change that a command makes to the threads it selects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SelectionUse {
    /// The command's verb.
    pub(crate) verb: &'static str,
    /// States of threads that filters select if no `--state` is given; all unfinished ones if empty.
    pub(crate) states: &'static [ThreadState],
    /// Whether `--expect-head` is given, which is about one thread.
    pub(crate) expects: bool,
}

impl ThreadsArg {
    /// Whether neither a thread nor a filter is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.threads.is_empty() && !self.last && self.filters.is_empty()
    }

    /// The threads, after the person agreed to several.
    ///
    /// # Errors
    /// `NotFound` and `Usage` for an unknown thread or workflow; `Usage` if filters select several without a terminal to ask at;
    /// `Interrupted` if the person says no.
    pub(crate) fn select(&self, context: &CommandContext, uses: SelectionUse) -> Result<ThreadSelection, CommandError> {
        if self.filters.is_empty() && self.threads.len() < 2 {
            let typed = self.threads.first().map_or(NEWEST, String::as_str);
            return Ok(ThreadSelection::One(context.thread(typed)?));
        }
        if uses.expects {
            return Err(CommandError::usage("--expect-head is about one thread, and the command names several"));
        }
        let is_filtered = !self.filters.is_empty();
        let threads = match is_filtered {
            true => filtered(context, &self.filters, uses.states, |_| true)?,
            false => named(context, &self.threads)?,
        };
        self.confirmation.check(context, uses.verb, &threads, is_filtered)?;
        Ok(ThreadSelection::Several(threads))
    }
}

/// The named threads in the order of their names, each once.
///
/// # Errors
/// The first unknown name: then nothing is changed.
pub(crate) fn named(context: &CommandContext, typed: &[String]) -> Result<Vec<ThreadId>, CommandError> {
    let mut threads = Vec::new();
    for word in typed {
        let thread = context.resolve_thread(word)?;
        if !threads.contains(&thread) {
            threads.push(thread);
        }
    }
    Ok(threads)
}

/// The ids of the threads that match, oldest first.
pub(crate) fn filtered(
    context: &CommandContext,
    filters: &ThreadFilterArgs,
    states: &[ThreadState],
    is_wanted: impl Fn(&ThreadRow) -> bool,
) -> Result<Vec<ThreadId>, CommandError> {
    Ok(rows(context, filters, states, is_wanted)?.into_iter().map(|row| row.thread).collect())
}

/// The threads that match, oldest first. Child threads are skipped: the commands reach them through their parents.
pub(crate) fn rows(
    context: &CommandContext,
    filters: &ThreadFilterArgs,
    states: &[ThreadState],
    is_wanted: impl Fn(&ThreadRow) -> bool,
) -> Result<Vec<ThreadRow>, CommandError> {
    let filter = filters.filter(context, &filter::registry(context)?)?;
    let states = if filter.states.is_empty() { states.to_vec() } else { filter.states };
    let rows = list::list(&context.home, &ThreadFilter { states, ..filter })?.rows;
    Ok(rows.into_iter().rev().filter(|row| is_wanted(row) && row.parent().is_none()).collect())
}

impl YesArg {
    /// Shows the threads and asks, if there are several. In a pipe, named threads need no confirmation.
    ///
    /// # Errors
    /// `Usage` if filters selected several threads in a pipe; `Interrupted` if the person says no.
    pub(crate) fn check(
        self,
        context: &CommandContext,
        verb: &str,
        threads: &[ThreadId],
        is_filtered: bool,
    ) -> Result<(), CommandError> {
        let has_person = TerminalAsker::has_person();
        if self.yes || threads.len() < 2 || !(has_person || is_filtered) {
            return Ok(());
        }
        context.printer.talk(listed(context, threads)?.trim_end());
        let what = table::count(threads.len(), "thread");
        if !has_person {
            return Err(CommandError::usage(format!("the filters select {what}; nothing was changed"))
                .hint(format!("to {verb} all of them, add --yes")));
        }
        match TerminalAsker::new(context.printer).yes(&format!("{verb} {what}?"))? {
            true => Ok(()),
            false => Err(CommandError::new(ErrorKind::Interrupted, "you answered no, so nothing was changed")
                .hint("to select fewer threads, add a filter or name them; `uwf thread list` takes the same filters")),
        }
    }
}

/// A table of threads, for the person who decides about them.
fn listed(context: &CommandContext, threads: &[ThreadId]) -> Result<String, CommandError> {
    let mut names = WorkflowNames::from_registry(&filter::registry(context)?);
    let mut table = TextTable::new(&["thread", "state", "workflow", "task"]).flexible([3]);
    for thread in threads {
        let mut row = vec![thread.to_string()];
        // The command itself reports an unreadable thread.
        if let Ok(status) = show::show(&context.home, thread) {
            let name = names.name(&context.home, status.workflow).unwrap_or_else(|| status.workflow.to_string());
            let state = status.state.name().to_owned();
            row.extend([state, table::excerpt(&name, TASK), table::excerpt(&status.task, TASK)]);
        }
        row.resize(4, "–".to_owned());
        table.row(row);
    }
    Ok(table.text())
}
