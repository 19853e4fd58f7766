//! `uwf thread cost`

use std::time::Duration;

use clap::ValueEnum;
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use uwf_core::money::money;
use uwf_core::spending::{MoneySource, SpendingTotals};
use uwf_core::text::one_line;
use uwf_engine::views::cost::{self, CostBy, CostReport, CostRequest, CostRow, DayZone};

use crate::commands::thread::args::which::HereArg;
use crate::complete;
use crate::context::CommandContext;
use crate::pager::PagerArgs;
use crate::printer::{CommandReport, CommandResult, OwnFormat, PrintableReport, ReportFormat, formats};
use crate::table::{self, TextTable};
use crate::{style, terminal};

/// Rows of threads shown to people by default.
const SHOWN: usize = 30;

/// Columns that a terminal needs for whole numbers of tokens. A narrower one shows short ones, and neither cached nor reasoning tokens,
/// which input and output include.
const WIDE: usize = 120;

/// Columns of a name.
const NAME: usize = 40;

/// Arguments of `uwf thread cost`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("here", |arg| arg.conflicts_with("threads")), after_help = "\
Examples:
  uwf thread cost @
  uwf thread cost --here
  uwf thread cost --since 7d --by model
  uwf thread cost @ --by branch
  uwf thread cost --since 30d --by label
  uwf thread cost --since 2026-11-01 --until 2026-12-01 --by day --format csv > november.csv
  uwf thread cost --format json | jq '.total.cost'

The cost is what the provider or the agent's program reported; otherwise the tokens times the configured `prices`, by the model's
alias or its name at the provider; for other models, times the list prices that ship with uwf. Unknown cost is shown as unknown and never counts as 0. The row of a thread includes its
child threads and the steps it shares with forks; the total counts each step once.")]
pub(crate) struct Args {
    /// The threads: ids, unique starts or ends of ids, or @ for the newest. Default: all, including finished threads.
    #[arg(value_name = "THREAD")]
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    threads: Vec<String>,
    #[command(flatten)]
    here: HereArg,
    /// Only what was spent since: so long ago (7d, 12h), or from a day on (2026-11-01).
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only what was spent until: so long ago (7d, 12h), or before a day (2026-12-01).
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Time zone of the days, such as Europe/Berlin. Default: the time zone of this machine (TZ).
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// Group rows by this; `branch` has a row for each branch of a group, and for each other role; `label` has one for each KEY=VALUE.
    #[arg(long, value_name = "WHAT", default_value = "thread")]
    by: CostGrouping,
    /// At most this many lines of threads as text. Default: 30.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// How to print the report. Default: text on a terminal, one line of JSON in a pipe.
    #[arg(id = "format", long = "format", value_name = "FORMAT", value_parser = formats(&[OwnFormat::Csv]))]
    _format: Option<ReportFormat>,
    #[command(flatten)]
    paging: PagerArgs,
}

/// Group rows by this.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum CostGrouping {
    Thread,
    Role,
    Branch,
    Agent,
    Model,
    Workflow,
    Label,
    Day,
}

#[derive(Serialize)]
#[serde(transparent)]
struct ThreadCostReport {
    costs: CostReport,
    /// Maximum number of thread rows shown to people.
    #[serde(skip)]
    limit: usize,
}

impl CommandReport for ThreadCostReport {
    fn text(&self) -> String {
        let costs = &self.costs;
        let (what, has_workflow) = heading(costs);
        let mut headings = vec![what.as_str()];
        headings.extend(has_workflow.then_some("workflow"));
        let is_short = terminal::size(&std::io::stdout()).is_some_and(|size| size.columns < WIDE);
        headings.extend(["steps", "failed", "input"]);
        headings.extend((!is_short).then_some("cached"));
        headings.push("output");
        headings.extend((!is_short).then_some("reasoning"));
        headings.extend(["cost", "time"]);
        let table = TextTable::new(&headings).flexible([0, 1]).ids(has_workflow.then_some(0));
        let mut table = table.paths((costs.by == CostBy::Branch).then_some(0));
        let most = if costs.by == CostBy::Thread { self.limit } else { usize::MAX };
        for row in costs.rows.iter().take(most) {
            table.row(line(row, has_workflow, is_short));
        }
        let total = CostRow { name: Some("total".to_owned()), workflow: None, spent: costs.total.clone() };
        let total = line(&total, has_workflow, is_short).into_iter();
        table.row(total.map(|cell| if cell.is_empty() { cell } else { style::bold(&cell) }).collect());
        let notes: String = self.notes(most).iter().map(|note| format!("{}\n", style::dim(note))).collect();
        table.text() + &notes
    }

    fn own(&self, format: OwnFormat) -> String {
        match format {
            OwnFormat::Csv => self.costs.csv(),
            _ => self.text(),
        }
    }
}

impl ThreadCostReport {
    fn notes(&self, most: usize) -> Vec<String> {
        let CostReport { rows, total, prices, list_prices, unpriced, shared_steps, .. } = &self.costs;
        let mut notes = Vec::new();
        if rows.len() > most {
            notes.push(format!("… {} more: --limit {}", rows.len() - most, rows.len()));
        }
        if *shared_steps > 0 && self.costs.by == CostBy::Thread {
            let shared = table::count(*shared_steps, "step");
            notes.push(format!("{shared} shared by several of these threads: in the total only once"));
        }
        let from = |source: MoneySource| {
            let sums = total.cost.iter().filter(move |((_, from), _)| *from == source);
            sums.map(|((currency, _), amount)| money(*amount, currency)).collect::<Vec<_>>().join(" + ")
        };
        let provider = from(MoneySource::Provider);
        if !provider.is_empty() {
            notes.push(format!("{provider} as reported by the providers"));
        }
        if let (Some(prices), false) = (prices, from(MoneySource::Prices).is_empty()) {
            notes.push(format!("{} by the prices of {} in config.yaml", from(MoneySource::Prices), prices.date));
        }
        if let Some(prices) = list_prices {
            notes.push(format!("{} by the list prices of {} that ship with uwf", from(MoneySource::List), prices.date));
        }
        if total.running > 0 {
            let runs = table::count(total.running, "run");
            notes.push(format!("{runs} in progress: the numbers so far are minimums"));
        }
        let runs = total.steps + total.failed_attempts;
        let unreadable = self.costs.unreadable.len();
        if unreadable > 0 {
            notes.push(format!(
                "{} not fully readable: the sums leave out the missing parts",
                table::count(unreadable, "thread")
            ));
        }
        let unknown = total.cost_unknown.saturating_sub(unreadable);
        if unknown > 0 {
            let models: Vec<String> =
                unpriced.iter().map(|model| model.as_deref().map_or_else(|| "no model".to_owned(), one_line)).collect();
            notes.push(format!("the cost of {unknown} of {runs} runs is not known ({})", models.join(", ")));
        }
        let uncounted = total.tokens_unknown.saturating_sub(unreadable);
        if uncounted > 0 {
            notes.push(format!("the tokens of {uncounted} of {runs} runs were not counted"));
        }
        notes
    }
}

fn heading(costs: &CostReport) -> (String, bool) {
    let what = match costs.by {
        CostBy::Thread => "thread",
        CostBy::Role => "role",
        CostBy::Branch => "branch",
        CostBy::Agent => "agent",
        CostBy::Model => "model",
        CostBy::Workflow => "workflow",
        CostBy::Label => "label",
        CostBy::Day => return (format!("day ({})", costs.time_zone), false),
    };
    (what.to_owned(), costs.by == CostBy::Thread)
}

fn line(row: &CostRow, has_workflow: bool, is_short: bool) -> Vec<String> {
    let spent = &row.spent;
    let is_whole = spent.are_tokens_whole();
    // Some providers don't report cached and reasoning tokens, so show these sums even if they are incomplete.
    let number = if is_short { short } else { table::grouped };
    let [input, output] = [spent.tokens.input, spent.tokens.output].map(|sum| tokens(sum, is_whole, spent, number));
    let parts = [spent.tokens.cached, spent.tokens.reasoning].map(|sum| sum.map_or_else(dash, table::grouped));
    let [cached, reasoning] = parts.map(|part| (!is_short).then_some(part));
    let mut cells = vec![row.name.as_deref().map_or_else(dash, |name| table::excerpt(name, NAME))];
    cells.extend(
        has_workflow.then(|| row.workflow.as_deref().map_or_else(String::new, |name| table::excerpt(name, NAME))),
    );
    cells.extend([spent.steps.to_string(), spent.failed_attempts.to_string(), input]);
    cells.extend(cached);
    cells.push(output);
    cells.extend(reasoning);
    cells.extend([spent.cost_text(), table::duration(Duration::from_millis(spent.duration_ms))]);
    cells
}

fn dash() -> String {
    "–".to_owned()
}

/// A number of tokens, marked as a minimum if some were not counted.
fn tokens(sum: Option<u64>, is_whole: bool, spent: &SpendingTotals, number: fn(u64) -> String) -> String {
    match sum {
        Some(sum) if is_whole => number(sum),
        Some(sum) => format!("≥ {}", number(sum)),
        None if !spent.are_tokens_whole() => "unknown".to_owned(),
        None => "0".to_owned(),
    }
}

/// A number in a few symbols: `9,999`, `12K`, `1.2M`.
fn short(number: u64) -> String {
    match number {
        0..10_000 => table::grouped(number),
        10_000..1_000_000 => format!("{}K", number / 1000),
        1_000_000..1_000_000_000 => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
        _ => format!("{}.{}G", number / 1_000_000_000, number / 100_000_000 % 10),
    }
}

/// Prints the cost of threads.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let zone = args.time_zone.as_deref().map_or_else(|| Ok(DayZone::of_machine()), DayZone::named)?;
    let time = |typed: &Option<String>| typed.as_deref().map(|typed| cost::since(typed, &zone)).transpose();
    let (since, until) = (time(&args.since)?, time(&args.until)?);
    let threads = args.threads.iter().map(|typed| context.thread(typed)).collect::<Result<_, _>>()?;
    let project = context.selected_project(args.here.here)?;
    let by = match args.by {
        CostGrouping::Thread => CostBy::Thread,
        CostGrouping::Role => CostBy::Role,
        CostGrouping::Branch => CostBy::Branch,
        CostGrouping::Agent => CostBy::Agent,
        CostGrouping::Model => CostBy::Model,
        CostGrouping::Workflow => CostBy::Workflow,
        CostGrouping::Label => CostBy::Label,
        CostGrouping::Day => CostBy::Day,
    };
    let request = CostRequest { threads, project, since, until, by, zone, only_ended: false };
    let costs = cost::cost(&context.home, &context.config()?, &request)?;
    for unreadable in &costs.unreadable {
        context.printer.warn(&format!("thread {} is not fully readable: {}", unreadable.thread, unreadable.why));
    }
    Ok(PrintableReport::long(ThreadCostReport { costs, limit: args.limit.unwrap_or(SHOWN) })?.paged(&args.paging))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_never_overstate() {
        let shown = [9_999, 12_999, 999_999, 1_299_999, 12_300_000_000].map(short);
        assert_eq!(shown, ["9,999", "12K", "999K", "1.2M", "12.3G"]);
    }
}
