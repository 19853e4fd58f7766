//! `uwf thread show`

mod branches_table;

use serde::Serialize;
use uwf_core::label;
use uwf_core::text::one_line;
use uwf_engine::attempt::agents::delegation::RoleWorkflow;
use uwf_engine::root::registry;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::groups::{self, GroupStatus};
use uwf_engine::views::show::{self, ThreadStatus};
use uwf_engine::views::thread_now::ThreadNow;
use uwf_engine::views::workflow_names::WorkflowNames;

use self::branches_table::branches_table;
use super::args::which::ThreadArg;
use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::{style, table};

/// Columns shown of the task.
const TASK: usize = 80;

/// Arguments of `uwf thread show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  uwf thread show 7Q2M\n  uwf thread show 7Q2M --format json | jq .state")]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadArg,
}

/// A thread, with its workflow's name, and the reason why Temporal's workers cannot continue it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShowReport {
    #[serde(flatten)]
    status: ThreadStatus,
    #[serde(skip)]
    workflow_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temporal_failure: Option<String>,
    /// Tool calls that were denied to the agent of its newest attempt, or of its last step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    denied: Vec<String>,
    /// The group that it plays, or played last.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<GroupStatus>,
}

impl CommandReport for ShowReport {
    fn text(&self) -> String {
        let ShowReport { status: shown, workflow_name, temporal_failure, denied, group } = self;
        let name = workflow_name.as_ref().map(|name| format!("{} ", one_line(name))).unwrap_or_default();
        let mut lines = vec![
            ("thread", style::bold(shown.thread.as_str())),
            ("state", state(shown.state, shown.pausing, shown.outcome.as_deref())),
        ];
        lines.push(("workflow", format!("{name}{}", shown.workflow)));
        lines.push(("task", table::excerpt(&shown.task, TASK)));
        lines.extend(shown.input.as_ref().map(|input| ("input", table::excerpt(&input.to_string(), TASK))));
        lines.extend((!shown.labels.is_empty()).then(|| ("labels", one_line(&label::in_line(&shown.labels)))));
        lines.push(("head", shown.head.to_string()));
        lines.push(("steps", shown.steps.to_string()));
        let optional = [
            ("last role", shown.role.as_deref().map(one_line)),
            ("answered", shown.answered_by.as_deref().map(|by| format!("by {}", one_line(by)))),
            ("at role", shown.at_role.as_deref().map(one_line)),
            ("agent", shown.agent.as_ref().map(ToString::to_string)),
            ("why", shown.why.as_deref().map(reason)),
            ("denied", (!denied.is_empty()).then(|| one_line(&denied.join(", ")))),
            ("condition", shown.condition.as_deref().map(one_line)),
            ("since", shown.since.map(table::time)),
            ("digest", shown.digest.map(|digest| digest.to_string())),
            ("attempt", shown.attempt.map(|hash| hash.to_string())),
            ("started", shown.started_at.map(table::time)),
            ("changed", shown.changed_at.map(table::time)),
            ("end", shown.end.map(|hash| hash.to_string())),
            ("parent", parent(shown)),
            ("in group", shown.branch.as_deref().map(one_line)),
            ("branch", shown.worktree.as_ref().map(|worktree| worktree.branch.clone())),
            ("machine", shown.machine.clone()),
            ("works on", shown.works_on.as_ref().map(|on| format!("{}, in {}", on.machine, on.workspace.display()))),
            ("temporal", temporal_failure.as_ref().map(|why| format!("workers cannot continue it: {why}"))),
            ("workspace", shown.workspace.as_ref().map(|dir| dir.display().to_string())),
        ];
        lines.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
        let mut text: String =
            lines.iter().map(|(name, value)| format!("{:<10} {value}\n", format!("{name}:"))).collect();
        text.extend(shown.workflows.iter().flat_map(|(name, decided)| played(name, decided)));
        text.extend(group.iter().map(|group| format!("\n{}", branches_table(group))));
        text.extend(shown.asks.iter().map(|asks| format!("\n{}\n", asks.trim())));
        text
    }
}

/// A reason, its further lines below its first.
fn reason(why: &str) -> String {
    table::reason(why, usize::MAX).join(&format!("\n{:11}", ""))
}

/// One line for each role that a workflow plays.
fn played(name: &str, decided: &RoleWorkflow) -> Vec<String> {
    let file = decided.file.as_ref().map(|file| format!(" from {}", file.display())).unwrap_or_default();
    let line = |role: &String| format!("{:<10} {role} by workflow {name} {}{file}\n", "role:", decided.hash);
    decided.roles.iter().map(line).collect()
}

/// The parent thread of a child; if the parent is unknown, the parent's head.
fn parent(shown: &ThreadStatus) -> Option<String> {
    let head = shown.parent?;
    Some(match &shown.parent_thread {
        Some(thread) => format!("{thread} at {head}"),
        None => head.to_string(),
    })
}

/// A state in its colour.
pub(crate) fn state(state: ThreadState, pausing: bool, outcome: Option<&str>) -> String {
    let words = show::state_in_words(state, pausing, outcome);
    match state {
        ThreadState::Completed if words != state.name() => style::red(&words),
        ThreadState::Active | ThreadState::Paused => words,
        ThreadState::Running | ThreadState::Completed => style::green(&words),
        ThreadState::Waiting | ThreadState::Limited => style::yellow(&words),
        ThreadState::Stuck | ThreadState::Killed | ThreadState::Corrupt => style::red(&words),
    }
}

/// Shows a thread.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let thread = context.thread(args.which.typed())?;
    let now = ThreadNow::read(&context.home, &thread)?;
    let status = show::status(&now)?;
    // The state of a thread is shown even if a branch is unreadable, or the configuration.
    let config = context.home.config().unwrap_or_default();
    let group = groups::newest(&now, &config).unwrap_or_else(|error| {
        context.printer.warn(&format!("the branches are not readable: {error}"));
        None
    });
    // Commands that need names report an unreadable registry.
    let mut names = WorkflowNames::from_registry(&registry::read(&context.home).unwrap_or_default());
    let workflow_name = names.name(&context.home, status.workflow);
    #[cfg(feature = "temporal")]
    let temporal_failure = if status.done { None } else { crate::temporal::failure_of(context, &thread)? };
    #[cfg(not(feature = "temporal"))]
    let temporal_failure = None;
    let denied = show::denied(&now);
    PrintableReport::new(&ShowReport { status, workflow_name, temporal_failure, denied, group })
}
