//! `uwf log`

use std::time::Duration;

use clap_complete::engine::ArgValueCompleter;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::log::LogLevel;
use uwf_engine::thread::load::Thread;
use uwf_engine::views::log::{LogFilter, LogLine, LogReader, is_tag};

use crate::commands::thread::args::which::HereArg;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};
use crate::{style, table};

/// Time between two checks for new lines.
const PACE: Duration = Duration::from_millis(250);

/// Arguments of `uwf log`.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("here", |arg| arg.conflicts_with("thread")),
    after_help = "Examples:\n  uwf log 7Q2M\n  uwf log --level warn           problems of all threads on this machine\n  uwf log --tag 7Q2M9XKA         one place in the code\n  uwf log --tag otel             spans that were sent to a collector, or failed; also `notify`\n  uwf log @ --follow --format json\n\nShows messages of keepers. `uwf live` and `uwf thread step-details` show what agents print. In JSON each line is\n{thread, tag, level, content, timestamp}, the time in Unix milliseconds."
)]
pub(crate) struct Args {
    /// A thread (its id, a unique start or end of the id, @ for the newest); all when absent.
    #[arg(value_name = "THREAD", add = ArgValueCompleter::new(complete::threads))]
    thread: Option<String>,
    #[command(flatten)]
    here: HereArg,
    /// Only lines with this tag; `notify` and `otel` select the lines about notifications and spans.
    #[arg(long)]
    tag: Option<String>,
    /// Only lines of at least this level.
    #[arg(long, value_enum)]
    level: Option<AtLeast>,
    /// Follow new lines until Ctrl-C.
    #[arg(long, short)]
    follow: bool,
}

/// Least level of the lines that are shown.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum AtLeast {
    Info,
    Warn,
    Error,
}

/// Prints the log.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let thread = args.thread.as_deref().map(|typed| context.thread(typed)).transpose()?;
    if let Some(thread) = &thread {
        match Thread::any(&context.home, thread).map_err(CommandError::from) {
            // A thread with damaged nodes is the very one whose log is needed.
            Err(unknown) if unknown.kind != ErrorKind::Data => return Err(unknown),
            _ => {}
        }
    }
    if let Some(tag) = args.tag.as_ref().filter(|tag| !is_tag(tag)) {
        return Err(CommandError::usage(format!("`{tag}` is not a tag"))
            .hint("a tag is `notify`, `otel`, or the 8 symbols in front of a line's text"));
    }
    let level = args.level.map(|level| match level {
        AtLeast::Info => LogLevel::Info,
        AtLeast::Warn => LogLevel::Warn,
        AtLeast::Error => LogLevel::Error,
    });
    let project = context.selected_project(args.here.here)?;
    let mut logs = LogReader::new(&context.home, LogFilter { thread, project, tag: args.tag.clone(), level });
    let lines = logs.poll()?;
    if lines.is_empty() && !args.follow {
        context.printer.talk("the log has no such line");
    }
    let mut is_read = show(context, &lines)?;
    while args.follow && is_read {
        std::thread::sleep(PACE);
        is_read = show(context, &logs.poll()?)?;
    }
    Ok(PrintableReport::nothing())
}

/// Prints lines; `false` if stdout is closed.
fn show(context: &CommandContext, lines: &[LogLine]) -> Result<bool, CommandError> {
    let is_text = context.printer.prints_text();
    let text: String = lines.iter().map(|line| if is_text { in_words(line) } else { json(line) }).collect();
    if text.is_empty() { Ok(true) } else { context.printer.stream(&text) }
}

fn json(line: &LogLine) -> String {
    let line = serde_json::to_string(line).expect("a line of a log is plain text and a number");
    format!("{line}\n")
}

fn in_words(line: &LogLine) -> String {
    let note = &line.note;
    let level = match note.level {
        LogLevel::Info => "info ".to_owned(),
        LogLevel::Warn => style::yellow("warn "),
        LogLevel::Error => style::red("error"),
    };
    let content = note.content.replace('\n', " ");
    format!("{} {level} {} {} {content}\n", table::time(note.timestamp), line.thread, style::dim(&note.tag))
}
