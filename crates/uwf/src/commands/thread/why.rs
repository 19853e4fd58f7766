//! `uwf thread why`

pub(super) mod explanation;

use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use uwf_core::text::one_line;
use uwf_core::view::agent_name;
use uwf_core::workflow::{END, START};
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::why::{
    self, FailedAttempt, OutputOrigin, ReasonedStep, StepRouting, ThreadExplanation, ThreadOutlook,
};

use super::args::thread_or_node::{self, ThreadOrNode};
use super::args::which::NEWEST;
use super::show;
use super::why::explanation::{branches, explanation};
use crate::complete;
use crate::context::CommandContext;
use crate::pager::PagerArgs;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::{style, table};

/// Arguments of `uwf thread why`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf thread why 7Q2M             the newest step, and what comes next or why the thread ended
  uwf thread why 2XY1PEX26ZD0Y    any step of any thread, by its hash
  uwf thread why @ --format json | jq '.next.routing.considered'

Shows the transitions of each decision in order, up to the chosen transition: name, description and expression of the
condition, the values it read, and its result. uwf repeats each decision from the nodes of the thread, which never
change. For a group, it also shows which branches were left out. It runs no agent and writes nothing.")]
pub(crate) struct Args {
    /// A thread (its id, a unique start or end of the id, @ for the newest), or a step (its hash, or a unique start of the hash).
    #[arg(value_name = "THREAD|STEP", required_unless_present = "last", conflicts_with = "last")]
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    what: Option<String>,
    /// The newest thread, like @.
    #[arg(long)]
    last: bool,
    #[command(flatten)]
    paging: PagerArgs,
}

#[derive(Serialize)]
#[serde(transparent)]
struct WhyReport(ThreadExplanation);

impl CommandReport for WhyReport {
    fn text(&self) -> String {
        let WhyReport(reasons) = self;
        let workflow = reasons.workflow.to_string();
        let workflow = one_line(reasons.workflow_name.as_deref().unwrap_or(&workflow));
        let mut text = match &reasons.thread {
            Some(thread) => format!("{} thread {thread}\n", style::bold(&workflow)),
            None => format!("{} (no thread of this machine is known to have the step)\n", style::bold(&workflow)),
        };
        text.extend(reasons.step.as_ref().map(step));
        text.extend(reasons.next.as_ref().map(ahead));
        text
    }
}

fn step(step: &ReasonedStep) -> String {
    let by = agent_name(&step.agent.agent, step.agent.alias.as_deref());
    let mut text =
        format!("\n{}. {} by {}: {}\n", step.index, style::bold(&one_line(&step.role)), one_line(&by), step.hash);
    let after =
        if step.after == START { "at the start".to_owned() } else { format!("after {}", one_line(&step.after)) };
    text.push_str(&routing(&format!("chosen {after}"), &step.routing));
    if !step.as_chosen {
        let note =
            format!("  the step is one of {}: it was added by hand, or by another program\n", one_line(&step.role));
        text.push_str(&style::yellow(&note));
    }
    text.push_str(&branches(&step.branches));
    text.push_str(&obtained(&step.output));
    text
}

fn routing(what: &str, routing: &StepRouting) -> String {
    match routing {
        StepRouting::Explained(explained) if explained.considered.iter().any(|line| line.matched) => {
            explanation(what, explained)
        }
        StepRouting::Explained(explained) => {
            format!("{}  no transition matched, which ends a thread\n", explanation(what, explained))
        }
        StepRouting::Unexplained { error } => format!("{what}: {}\n", style::red(&one_line(error))),
    }
}

fn obtained(output: &OutputOrigin) -> String {
    let mut lines = Vec::new();
    if let Some(child) = output.child_step {
        lines.push(format!("by a child thread, its last step {child}: uwf thread why {child}"));
    }
    if let Some(by) = output.extracted_by.as_deref().filter(|_| output.child_step.is_none()) {
        lines.push(format!("{by}: {}", why::rung_in_words(by)));
    }
    for rung in &output.rungs {
        let said = rung.errors.iter().chain(&rung.fixes).map(|said| one_line(said));
        let said: Vec<String> = said.collect();
        if !said.is_empty() {
            lines.push(format!("{}: {}", rung.rung, said.join("; ")));
        }
    }
    if output.adopted {
        lines.push("taken over: the step command that ran its agent ended before it could link the step".to_owned());
    }
    lines.extend(output.reread.map(|attempt| format!("read again from the text of the failed attempt {attempt}")));
    lines.extend(failures(&output.failed));
    lines.extend(output.unreadable.as_ref().map(|why| format!("nothing else is known: {}", one_line(why))));
    lines.extend(output.detail.map(|detail| style::dim(&format!("uwf thread step-details {detail} shows everything"))));
    format!("output obtained\n{}", lines.iter().map(|line| format!("  {line}\n")).collect::<String>())
}

/// The failed attempts, oldest first. Attempts that failed alike in a row are one entry, with the newest of them.
fn failures(attempts: &[FailedAttempt]) -> Vec<String> {
    let is_alike = |one: &FailedAttempt, next: &FailedAttempt| {
        (&one.agent, one.exit_code, &one.error) == (&next.agent, next.exit_code, &next.error)
    };
    attempts.chunk_by(is_alike).filter_map(|alike| Some(failed(alike.last()?, alike.len()))).collect()
}

fn failed(attempt: &FailedAttempt, times: usize) -> String {
    let by = attempt.agent.as_ref().map(|agent| format!(" by {}", one_line(agent.short()))).unwrap_or_default();
    let code = attempt.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
    let before = if times == 1 { "failed before:".to_owned() } else { format!("failed {times} times before, last") };
    format!("{before} {}{by}{code}{}", attempt.attempt, reason(&attempt.error, "    "))
}

/// A reason after a colon, or each of its lines below if it has several.
fn reason(why: &str, indent: &str) -> String {
    match table::reason(why, usize::MAX).as_slice() {
        [only] => format!(": {only}"),
        lines => lines.iter().map(|line| format!("\n{indent}{line}")).collect(),
    }
}

fn ahead(ahead: &ThreadOutlook) -> String {
    let why = ahead.why.as_deref().map(|why| reason(why, "  ")).unwrap_or_default();
    let mut text = format!("\nnow {}{why}\n", show::state(ahead.state, false, ahead.outcome.as_deref()));
    let what = match (&ahead.routing, ahead.state) {
        (StepRouting::Explained(explained), ThreadState::Completed) if explained.next == END => "ended by",
        (_, ThreadState::Completed | ThreadState::Killed) => "would have come next",
        _ => "next",
    };
    text.push_str(&routing(what, &ahead.routing));
    text.push_str(&branches(&ahead.branches));
    for failure in failures(&ahead.failed) {
        text.push_str(&format!("  {failure}\n"));
    }
    text
}

/// Explains a step, or what comes next in a thread.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let reasons = match thread_or_node::find(context, args.what.as_deref().unwrap_or(NEWEST))? {
        ThreadOrNode::Thread(thread) => why::of_thread(&context.home, &thread)?,
        ThreadOrNode::Node(node) => why::of_step(&context.home, node)?,
    };
    Ok(PrintableReport::long(WhyReport(reasons))?.paged(&args.paging))
}
