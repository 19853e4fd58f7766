//! `uwf thread list`

use clap_complete::engine::ArgValueCompleter;
use std::collections::HashMap;

use clap::builder::{NonEmptyStringValueParser, TypedValueParser};
use serde::Serialize;
use uwf_core::outcome;
use uwf_core::thread::ThreadId;
use uwf_engine::root::{ids, thread_ids};
use uwf_engine::thread::chain;
use uwf_engine::views::list::{self, BranchCounts, NamedThreadRow, ThreadFilter, ThreadListing};
use uwf_engine::views::overview::{OverviewReader, ThreadOverview};
use uwf_engine::views::workflow_names::WorkflowNames;

use crate::commands::thread::args::filter::{self, ThreadFilterArgs};
use crate::commands::thread::show;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::pager::PagerArgs;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::table::{self, TextTable};
use crate::{style, terminal};

/// Columns of a task and of a reason in a pipe; on a terminal its width decides.
const WORDS: usize = 80;

/// Lines shown of a reason.
const REASON_LINES: usize = 3;

/// Threads shown to people by default.
const SHOWN: usize = 30;

/// Columns a terminal needs to show whole ids; on a narrower one they leave no room for anything else.
const WIDE: usize = 120;

/// Arguments of `uwf thread list`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread list\n  uwf thread list --all --workflow solve-issue --limit 20\n  uwf thread list --state stuck,waiting --format json | jq -r '.[].thread'\n  uwf thread list --all --search 'dark mode'\n\nNewest thread first. Finished threads are shown only with --all or --state. Text shows 30 threads unless --limit says\notherwise, child threads below their parents, and the role that is running, waiting or next. A thread that plays a group\nis one row with the number of its branches; --branches shows each of them. JSON is an array of all threads; `role` is the\nrole of the last step, and times are Unix milliseconds."
)]
pub(crate) struct Args {
    /// The workflow, as --workflow gives it.
    #[arg(hide = true, conflicts_with = "workflow")]
    name: Option<String>,
    /// Include finished threads.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    filters: ThreadFilterArgs,
    /// Only threads that ended with this outcome, or with one of several: failed,no-match.
    #[arg(long, value_name = "OUTCOME", value_parser = outcome_parser(), value_delimiter = ',')]
    outcome: Vec<String>,
    /// Only threads at this role: it is running, waiting, stuck or next, or an ended thread ended after it.
    #[arg(long, value_name = "ROLE", add = ArgValueCompleter::new(complete::roles))]
    role: Option<String>,
    /// Only threads older than this one, for the next page of a list.
    #[arg(long, value_name = "THREAD", add = ArgValueCompleter::new(complete::threads))]
    after: Option<String>,
    /// At most this many.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Skip this many threads.
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
    /// Show the branches of groups as rows of their own.
    #[arg(long)]
    branches: bool,
    /// Times in UTC instead of how long ago.
    #[arg(long)]
    utc: bool,
    #[command(flatten)]
    paging: PagerArgs,
}

/// One word, as workflows name outcomes.
fn outcome_parser() -> impl TypedValueParser<Value = String> {
    NonEmptyStringValueParser::new().try_map(|word| match outcome::is_word(&word) {
        true => Ok(word),
        false => Err(outcome::EXAMPLES),
    })
}

#[derive(Serialize)]
#[serde(transparent)]
struct ThreadListReport {
    rows: Vec<NamedThreadRow>,
    /// Data that is shown only to people.
    #[serde(skip)]
    for_people: Option<ForPeople>,
}

/// Data that the text shows besides the rows.
struct ForPeople {
    /// The text for an empty list.
    nothing: &'static str,
    /// One overview for each row.
    overviews: Vec<Option<ThreadOverview>>,
    /// Matching threads before the shown rows.
    before: usize,
    /// Matching threads after the shown rows.
    after: usize,
    /// Threads of groups that are folded into the rows.
    folded: usize,
    /// Branches that the threads of the rows are playing.
    branches: HashMap<ThreadId, BranchCounts>,
    /// Number of symbols at the end of an id that distinguish all threads.
    enough: usize,
    /// Current time in Unix milliseconds, for relative times; `None` shows times in UTC.
    now_ms: Option<u64>,
}

impl CommandReport for ThreadListReport {
    fn text(&self) -> String {
        let Some(shown) = &self.for_people else { return String::new() };
        let mut text = if self.rows.is_empty() { shown.nothing.to_owned() } else { self.table(shown) };
        if self.rows.is_empty() && shown.folded > 0 {
            text = "no threads; --branches also shows the threads of groups\n".to_owned();
        }
        if !self.rows.is_empty() {
            let enough = format!("the last {} symbols of a thread are enough", shown.enough);
            let folded = if shown.folded > 0 { "; --branches also shows the threads of groups" } else { "" };
            text.push_str(&format!("{}\n", style::dim(&format!("{enough}{folded}"))));
        }
        if shown.before > 0 {
            text.push_str(&format!("… {} before\n", shown.before));
        }
        if shown.after > 0 {
            let all = shown.before + self.rows.len() + shown.after;
            let next = shown.before + self.rows.len() + shown.folded;
            text.push_str(&format!("… {} more: --limit {all}, or the next with --offset {next}\n", shown.after));
        }
        text
    }
}

impl ThreadListReport {
    fn table(&self, shown: &ForPeople) -> String {
        let width = terminal::size(&std::io::stdout()).map(|size| size.columns);
        let is_short = width.is_some_and(|columns| columns < WIDE);
        let changed = if shown.now_ms.is_some() { "changed" } else { "changed (UTC)" };
        let mut table =
            TextTable::new(&["thread", "state", "workflow", "role", "steps", changed, "task"]).flexible([2, 3]);
        for (at, depth) in list::in_families(self.rows.iter().map(|named| &named.row)) {
            let NamedThreadRow { row, workflow_name, branch, .. } = &self.rows[at];
            let overview = shown.overviews[at].as_ref();
            let dash = || "–".to_owned();
            let name = branch.clone().or(workflow_name.clone()).or(row.workflow.map(|hash| hash.to_string()));
            let role = overview.and_then(|overview| overview.role.as_deref());
            let steps = overview.map(|overview| {
                overview.steps.map_or_else(|| format!(">{}", chain::COUNTED), |steps| steps.to_string())
            });
            let changed =
                row.changed_at.map(|time| shown.now_ms.map_or_else(|| table::time(time), |now| table::ago(time, now)));
            table.row(vec![
                shown_id(&row.thread, shown.enough, is_short, depth),
                show::state(row.state, row.pausing, row.outcome.as_deref()),
                name.as_deref().map_or_else(dash, |name| table::excerpt(name, WORDS)),
                role.map_or_else(dash, |role| table::excerpt(role, WORDS)),
                steps.unwrap_or_else(dash),
                changed.unwrap_or_else(dash),
                overview.map_or_else(dash, |overview| self.task(overview, shown.enough, width, depth)),
            ]);
            if let Some(counts) = shown.branches.get(&row.thread) {
                table.note(&branches_in_words(counts));
            }
            let has_failed = row.outcome.as_deref().is_some_and(|outcome| outcome != outcome::SUCCEEDED);
            if let Some(condition) = row.condition.as_deref().filter(|_| has_failed) {
                table.note(&format!("condition: {condition}"));
            }
            if let Some(why) = &row.why {
                let lines = table::reason(why, width.unwrap_or(WORDS));
                lines.iter().take(REASON_LINES).for_each(|line| table.note(line));
                if lines.len() > REASON_LINES {
                    table.note(&format!("… {} more", lines.len() - REASON_LINES));
                }
            }
        }
        table.text()
    }

    /// The first words of a task; for a child whose parent is not on this page, also the parent.
    fn task(&self, overview: &ThreadOverview, enough: usize, width: Option<usize>, depth: usize) -> String {
        let of = match &overview.parent {
            Some(parent) if depth == 0 => format!("(for …{}) ", end_of(parent, enough)),
            _ => String::new(),
        };
        format!("{of}{}", table::excerpt(&overview.task, width.unwrap_or(WORDS)))
    }
}

/// The number of branches in each state.
pub(crate) fn branches_in_words(counts: &BranchCounts) -> String {
    let active = counts.active.iter().map(|(state, count)| format!("{count} {}", state.name()));
    let ended = (counts.ended > 0).then(|| format!("{} ended", counts.ended));
    format!("branches: {}", active.chain(ended).collect::<Vec<_>>().join(", "))
}

/// An id with its distinct end emphasised; on a narrow terminal only the end.
fn shown_id(thread: &ThreadId, enough: usize, is_short: bool, depth: usize) -> String {
    let end = end_of(thread, enough);
    let start = &thread.as_str()[..thread.as_str().len() - end.len()];
    let branch = if depth == 0 { String::new() } else { format!("{}└ ", "  ".repeat(depth - 1)) };
    format!("{branch}{}{}", style::dim(if is_short { "…" } else { start }), style::bold(end))
}

fn end_of(thread: &ThreadId, symbols: usize) -> &str {
    let id = thread.as_str();
    &id[id.len().saturating_sub(symbols)..]
}

/// Lists threads.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let registry = filter::registry(context)?;
    let is_text = context.printer.prints_text();
    let workflow = args.filters.workflow.clone().or(args.name.clone());
    let filters = ThreadFilterArgs { workflow, ..args.filters.clone() };
    let limit = args.limit.or(is_text.then_some(SHOWN));
    let after = args.after.as_deref();
    let after = after.map(|typed| thread_ids::resolve(&context.home, context.project().as_ref(), typed)).transpose()?;
    let filter = ThreadFilter {
        all: args.all,
        outcomes: args.outcome.clone(),
        role: args.role.clone(),
        after,
        folds_branches: is_text && !args.branches,
        limit,
        offset: args.offset,
        ..filters.filter(context, &registry)?
    };
    let mut listing = list::list(&context.home, &filter)?;
    let rows = std::mem::take(&mut listing.rows);
    let mut names = WorkflowNames::from_registry(&registry);
    let rows: Vec<NamedThreadRow> =
        rows.into_iter().map(|row| NamedThreadRow::from_row(row, &mut names, &context.home)).collect();
    let for_people = if is_text { Some(for_people(context, args, &rows, listing)?) } else { None };
    Ok(PrintableReport::long(ThreadListReport { rows, for_people })?.paged(&args.paging))
}

fn for_people(
    context: &CommandContext,
    args: &Args,
    rows: &[NamedThreadRow],
    listing: ThreadListing,
) -> Result<ForPeople, CommandError> {
    let ThreadListing { matching, folded, branches, .. } = listing;
    let before = args.offset.min(matching);
    let mut overviews = OverviewReader::new(&context.home);
    let hides_finished = !args.all && args.filters.state.is_empty() && args.outcome.is_empty() && matching == 0;
    Ok(ForPeople {
        nothing: if hides_finished { "no active threads; --all also lists finished ones\n" } else { "no threads\n" },
        overviews: rows.iter().map(|named| overviews.summarize(&named.row)).collect(),
        before,
        after: (matching - before).saturating_sub(rows.len()),
        folded,
        branches: branches.iter().map(|(thread, played)| (thread.clone(), BranchCounts::count(played))).collect(),
        enough: enough(context)?,
        now_ms: (!args.utc).then(ids::now_ms),
    })
}

/// Number of symbols at the end of an id that distinguish all threads, including finished ones.
fn enough(context: &CommandContext) -> Result<usize, CommandError> {
    let ids = thread_ids::all(&context.home)?;
    Ok(thread_ids::distinct_suffix(ids.iter().map(String::as_str)))
}
