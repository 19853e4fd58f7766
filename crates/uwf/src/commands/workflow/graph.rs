//! `uwf workflow graph`

use clap_complete::engine::ArgValueCompleter;
use json_cas::NodeHash;
use serde::Serialize;
use serde_json::{Value, json};
use uwf_core::config::UwfConfig;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::{GraphDrawing, Workflow};
use uwf_engine::error::ErrorKind;
use uwf_engine::thread::nodes;
use uwf_engine::views::course::{self, ThreadCourse};
use uwf_engine::views::groups;
use uwf_engine::views::thread_now::ThreadNow;

use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, OwnFormat, PrintableReport, ReportFormat, formats};

/// Newest groups of a thread that are read for their branches: enough for a workflow with several groups.
const GROUPS: usize = 8;

/// Arguments of `uwf workflow graph`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow graph solve-issue > graph.mmd
  uwf workflow graph flows/solve-issue.yaml --format svg > graph.svg
  uwf workflow graph --thread 7Q2M --format svg > thread.svg    its path and position
  uwf workflow graph solve-issue --format json | jq .graph

Always Mermaid, also in a pipe, unless --format says otherwise. Arrows are labelled with the names and meanings of
conditions and with outcomes, and the box of a group lists its branches; in DOT and SVG, tooltips show the full text. The SVG is self-contained and fits light and dark pages.")]
pub(crate) struct Args {
    /// The workflow: a file, a name, or a hash. Default with --thread: the thread's workflow.
    #[arg(value_name = "NAME|HASH|FILE", required_unless_present = "thread")]
    #[arg(add = ArgValueCompleter::new(complete::workflows))]
    workflow: Option<String>,
    /// Show how often this thread took each transition, and mark its position.
    #[arg(long, value_name = "THREAD")]
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    thread: Option<String>,
    /// How to draw it; json and yaml are data. Default: mermaid.
    #[arg(long, value_name = "FORMAT")]
    #[arg(value_parser = formats(&[OwnFormat::Mermaid, OwnFormat::Dot, OwnFormat::Svg]))]
    format: Option<ReportFormat>,
}

/// A graph in every format.
#[derive(Serialize)]
struct WorkflowGraphReport {
    hash: NodeHash,
    name: String,
    graph: Value,
    mermaid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<ThreadPath>,
    #[serde(skip)]
    drawing: GraphDrawing,
}

/// The path of a thread through the graph.
#[derive(Serialize)]
struct ThreadPath {
    thread: ThreadId,
    state: &'static str,
    /// A role, `$START` or `$END`.
    at: String,
    taken: Vec<TakenTransition>,
}

#[derive(Serialize)]
struct TakenTransition {
    from: String,
    to: String,
    times: usize,
}

impl CommandReport for WorkflowGraphReport {
    fn text(&self) -> String {
        self.mermaid.clone()
    }

    fn own(&self, format: OwnFormat) -> String {
        match format {
            OwnFormat::Dot => self.drawing.dot(),
            OwnFormat::Svg => self.drawing.svg(),
            _ => self.text(),
        }
    }
}

/// Draws a workflow.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    PrintableReport::long(drawn(context, args)?)
}

fn drawn(context: &CommandContext, args: &Args) -> Result<WorkflowGraphReport, CommandError> {
    let Some(typed) = &args.thread else {
        let hash = context.workflow(args.workflow.as_deref().unwrap_or_default())?;
        let workflow = nodes::workflow(context.home.store(), hash)?;
        let drawing = GraphDrawing::from_workflow(&workflow, None);
        return Ok(graph(hash, &workflow, drawing, None));
    };
    let id = context.thread(typed)?;
    let now = ThreadNow::read(&context.home, &id)?;
    let groups = groups::all(&now, &UwfConfig::default(), GROUPS)?;
    let ThreadCourse { hash, workflow, course, state } = course::thread_course(&now)?.with_branches(&groups);
    if let Some(named) = &args.workflow {
        check_same(context, named, &id, hash, &workflow)?;
    }
    let drawing = GraphDrawing::from_workflow(&workflow, Some(&course));
    let taken =
        drawing.taken().map(|(from, to, times)| TakenTransition { from: from.to_owned(), to: to.to_owned(), times });
    let gone = ThreadPath { thread: id, state: state.name(), at: course.at, taken: taken.collect() };
    Ok(graph(hash, &workflow, drawing, Some(gone)))
}

fn graph(
    hash: NodeHash,
    workflow: &Workflow,
    drawing: GraphDrawing,
    thread: Option<ThreadPath>,
) -> WorkflowGraphReport {
    let mermaid = drawing.mermaid();
    WorkflowGraphReport { hash, name: workflow.name.clone(), graph: json!(workflow.graph), mermaid, thread, drawing }
}

/// A thread keeps the workflow version that it started with: warns about another version, and rejects another workflow.
fn check_same(
    context: &CommandContext,
    named: &str,
    id: &ThreadId,
    hash: NodeHash,
    workflow: &Workflow,
) -> Result<(), CommandError> {
    let other = context.workflow(named)?;
    if other == hash {
        return Ok(());
    }
    if nodes::workflow(context.home.store(), other)?.name == workflow.name {
        context.printer.warn(&format!("thread {id} runs another version of {named}, so this draws {hash}"));
        return Ok(());
    }
    Err(CommandError::new(
        ErrorKind::Usage,
        format!("thread {id} does not run {named}: its workflow is {}", workflow.name),
    )
    .hint(format!("uwf workflow graph --thread {id}")))
}
