//! `uwf thread live`, also `uwf live`

mod draw;

use std::collections::BTreeSet;
use std::time::Duration;

use clap_complete::engine::ArgValueCompleter;
use json_cas::NodeHash;
use uwf_core::event::{OutputStream, ThreadEvent, ThreadEventKind};
use uwf_core::thread::ThreadId;
use uwf_engine::error::ErrorKind;
use uwf_engine::thread::nodes;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::list::{ThreadFilter, list};
use uwf_engine::views::live::{LiveAll, LiveStart, LiveThread};
use uwf_engine::views::show::show;

use self::draw::EventRenderer;
use crate::commands::thread::args::which::NEWEST;
use crate::commands::thread::step;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};

/// Time between two polls.
const PACE: Duration = Duration::from_millis(100);

/// Arguments of `uwf thread live`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf live 7Q2M                 from its beginning to its end\n  uwf live --last --tail 0      from now on\n  uwf live --all --role coder   what coders do in all threads\n  uwf live 7Q2M --format json | jq -r 'select(.event == \"step\").role'\n\nIt only reads: any process can step the thread, and Ctrl-C ends only this command. It ends with the thread. With\n--format json it prints one event a line."
)]
pub(crate) struct Args {
    /// The thread: its id, a unique start or end of the id, or @ for the newest, @2 for the one before.
    #[arg(required_unless_present_any = ["last", "all"], conflicts_with_all = ["last", "all"])]
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    thread: Option<String>,
    /// The newest thread, like @.
    #[arg(long, visible_alias = "latest", conflicts_with = "all")]
    last: bool,
    /// All active threads, and threads that start meanwhile, from now until Ctrl-C.
    #[arg(long)]
    all: bool,
    /// Start with the newest N steps; 0 shows only new events.
    #[arg(long, value_name = "N")]
    tail: Option<usize>,
    /// Only events of this role.
    #[arg(long, value_name = "ROLE", add = ArgValueCompleter::new(complete::roles))]
    role: Option<String>,
    /// Show also what agents print on stderr.
    #[arg(long)]
    debug: bool,
    /// Exit with 10 when the thread has ended.
    #[arg(long, conflicts_with = "all")]
    exit_code: bool,
}

/// Follows a thread, or every active thread.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let mut screen = LiveScreen { context, debug: args.debug, drawing: EventRenderer::default() };
    if let Some(role) = &args.role {
        check_role(context, args, role)?;
    }
    if args.all {
        return all(context, args, &mut screen);
    }
    let thread = context.thread(args.thread.as_deref().unwrap_or(NEWEST))?;
    let from = args.tail.map_or(LiveStart::Beginning, LiveStart::Newest);
    let mut live = LiveThread::watch(thread.clone(), from, args.role.clone());
    loop {
        if !screen.show(&live.poll(&context.home)?)? {
            return Ok(PrintableReport::nothing());
        }
        match live.state() {
            Some(ThreadState::Completed | ThreadState::Killed) => {
                let outcome = show(&context.home, &thread)?.outcome;
                return Ok(PrintableReport::nothing().exits(step::end_code(outcome.as_deref(), args.exit_code)));
            }
            _ => std::thread::sleep(PACE),
        }
    }
}

/// Rejects a role that is neither in the thread's workflow nor in the workflows that play its roles. With `--all` it only warns, because a
/// later thread may have the role.
fn check_role(context: &CommandContext, args: &Args, role: &str) -> Result<(), CommandError> {
    let threads: Vec<ThreadId> = match (&args.thread, args.all) {
        (_, true) => list(&context.home, &ThreadFilter::default())?.rows.into_iter().map(|row| row.thread).collect(),
        (thread, false) => vec![context.thread(thread.as_deref().unwrap_or(NEWEST))?],
    };
    // If a thread is unreadable, following it reports that.
    let status = threads.iter().filter_map(|thread| show(&context.home, thread).ok());
    let workflows: BTreeSet<NodeHash> =
        status.flat_map(|it| it.workflows.into_values().map(|child| child.hash).chain([it.workflow])).collect();
    let workflows = workflows.into_iter().filter_map(|hash| nodes::workflow(context.home.store(), hash).ok());
    let roles: BTreeSet<String> = workflows.flat_map(|workflow| workflow.roles.into_keys()).collect();
    if !roles.is_empty() && !roles.contains(role) {
        let roles = roles.into_iter().collect::<Vec<_>>().join(", ");
        if !args.all {
            let which = threads.iter().map(ThreadId::as_str).collect::<String>();
            return Err(CommandError::usage(format!("thread {which} has no role `{role}`"))
                .hint(format!("its roles are {roles}")));
        }
        context.printer.warn(&format!("nothing here has a role `{role}` yet; the roles are {roles}"));
    }
    Ok(())
}

/// Follows every active thread until stdout is closed.
fn all(context: &CommandContext, args: &Args, screen: &mut LiveScreen<'_>) -> CommandResult {
    let mut live = LiveAll::watch(args.tail.map(LiveStart::Newest), args.role.clone());
    while screen.show(&live.poll(&context.home)?)? {
        std::thread::sleep(PACE);
    }
    Ok(PrintableReport::nothing())
}

/// The screen that shows events.
struct LiveScreen<'c> {
    context: &'c CommandContext,
    debug: bool,
    drawing: EventRenderer,
}

impl LiveScreen<'_> {
    /// Shows events; `false` if stdout is closed.
    fn show(&mut self, events: &[ThreadEvent]) -> Result<bool, CommandError> {
        let is_text = self.context.printer.prints_text();
        let mut text = String::new();
        for event in events.iter().filter(|event| self.debug || !is_stderr(event)) {
            if is_text {
                text.push_str(&self.drawing.draw(event));
            } else {
                let json = serde_json::to_string(event).map_err(|error| {
                    CommandError::new(ErrorKind::Internal, format!("an event is not JSON: {error}"))
                })?;
                text.push_str(&json);
                text.push('\n');
            }
        }
        if text.is_empty() { Ok(true) } else { self.context.printer.stream(&text) }
    }
}

fn is_stderr(event: &ThreadEvent) -> bool {
    matches!(event.what, ThreadEventKind::Output { stream: OutputStream::Stderr, .. })
}
