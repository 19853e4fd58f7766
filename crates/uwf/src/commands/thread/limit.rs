//! `uwf thread limit`

use std::time::Duration;

use uwf_core::money::dollars;
use uwf_core::number::MAX_WHOLE;
use uwf_core::usage::ThreadLimits;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::settings::limit::{self, KnownUsage, LimitChange, LimitChanges, LimitReport};

use super::args::expect_head::ExpectHead;
use super::args::limits::{amount, seconds};
use super::args::which::ThreadArg;
use super::show;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;
use crate::table::{self, TextTable};

/// Arguments of `uwf thread limit`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread limit 7Q2M                  its usage and its limits\n  uwf thread limit 7Q2M --cost +5        five dollars more\n  uwf thread limit 7Q2M --steps 60 --time +2h\n\nA limit does not end a running step; the next step exits with 30. Limits come from the start of the thread (--max-steps,\n--max-time, --max-tokens, --max-cost), otherwise from `limits` in its workflow, otherwise from config.yaml. The usage of\nchild threads counts for their parent."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadArg,
    #[command(flatten)]
    expect: ExpectHead,
    /// Maximum number of steps; +N adds to it.
    #[arg(long, value_name = "N", value_parser = number, allow_negative_numbers = true)]
    steps: Option<LimitChange<u64>>,
    /// Maximum time since its start, as 90s, 15m, 2h or 1d; +TIME adds to it.
    #[arg(long, value_name = "TIME", value_parser = time, allow_negative_numbers = true)]
    time: Option<LimitChange<u64>>,
    /// Maximum number of tokens; +N adds to it.
    #[arg(long, value_name = "N", value_parser = number, allow_negative_numbers = true)]
    tokens: Option<LimitChange<u64>>,
    /// Maximum cost in US dollars; +AMOUNT adds to it.
    #[arg(long, value_name = "AMOUNT", value_parser = money, allow_negative_numbers = true)]
    cost: Option<LimitChange<f64>>,
}

fn change<T>(text: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Result<LimitChange<T>, String> {
    match text.strip_prefix('+') {
        Some(more) => read(more).map(LimitChange::By),
        None => read(text).map(LimitChange::To),
    }
}

fn number(text: &str) -> Result<LimitChange<u64>, String> {
    let whole = |text: &str| text.parse().ok().filter(|number| (1..=MAX_WHOLE).contains(number));
    let range = || format!("it must be a whole number above 0, at most {MAX_WHOLE}, or + and one");
    change(text, |text| whole(text).ok_or_else(range))
}

fn time(text: &str) -> Result<LimitChange<u64>, String> {
    change(text, seconds)
}

fn money(text: &str) -> Result<LimitChange<f64>, String> {
    change(text, amount)
}

impl CommandReport for LimitReport {
    fn text(&self) -> String {
        let LimitReport { thread, state, used, tokens_unknown, cost_unknown, running, .. } = self;
        let LimitReport { age, limits, reached, why, .. } = self;
        let KnownUsage { steps, tokens, cost, .. } = *used;
        let ThreadLimits { max_steps, max_time, max_tokens, max_cost } = *limits;
        let in_words = |seconds: u64| table::duration(Duration::from_secs(seconds));
        let or_none = |limit: Option<String>| limit.unwrap_or_else(|| "–".to_owned());
        let mut table = TextTable::new(&["", "used", "limit"]);
        let mut row = |what: &str, used: String, limit: Option<String>| {
            table.row(vec![what.to_owned(), used, or_none(limit)]);
        };
        row("steps", table::grouped(steps), max_steps.map(table::grouped));
        row("time", in_words(*age), max_time.map(in_words));
        row("tokens", as_known(*tokens_unknown + running, tokens.map(table::grouped)), max_tokens.map(table::grouped));
        row("cost", as_known(*cost_unknown + running, cost.map(dollars)), max_cost.map(dollars));
        let reached = match (reached, state) {
            (Some(reached), ThreadState::Limited | ThreadState::Completed | ThreadState::Killed) => {
                format!("{reached}\n")
            }
            (Some(reached), _) => format!("{reached}, so its next step will be refused\n"),
            (None, _) => {
                why.as_ref().map(|why| format!("it has reached none of these limits: {why}\n")).unwrap_or_default()
            }
        };
        let runs = |unknown: usize| table::count(unknown, "run");
        let mut unknown = String::new();
        if max_tokens.is_some() && *tokens_unknown > 0 {
            let runs = runs(*tokens_unknown);
            unknown.push_str(&format!("the tokens of {runs} are not known, so maxTokens does not count them\n"));
        }
        if max_cost.is_some() && *cost_unknown > 0 {
            let runs = runs(*cost_unknown);
            unknown.push_str(&format!("the cost of {runs} is not known, so maxCost does not count it\n"));
        }
        let (thread, state) = (style::bold(thread.as_str()), show::state(*state, false, None));
        format!("thread {thread} is {state}\n{reached}{}{unknown}", table.text())
    }
}

/// A number, marked as a minimum or unknown if some agent runs did not report theirs.
fn as_known(unknown: usize, number: Option<String>) -> String {
    match (unknown, number) {
        (_, None) => "unknown".to_owned(),
        (0, Some(number)) => number,
        (_, Some(number)) => format!("≥ {number}"),
    }
}

impl Args {
    /// Whether the command changes a limit instead of only showing limits.
    #[cfg(feature = "temporal")]
    pub(crate) fn changes_any(&self) -> bool {
        !self.changes().is_empty()
    }

    fn changes(&self) -> LimitChanges {
        LimitChanges { steps: self.steps, time: self.time, tokens: self.tokens, cost: self.cost }
    }
}

/// Shows or changes the limits of a thread.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let thread = context.thread(args.which.typed())?;
    let changes = args.changes();
    if changes.is_empty() {
        return PrintableReport::new(&limit::show(&context.home, &thread)?);
    }
    if args.expect.expected.is_some() && changes.is_relative() {
        return Err(CommandError::usage("with --expect-head a limit is given whole, not as +N")
            .hint("the head does not move, so repeating the command would add the amount twice"));
    }
    let limits = limit::change(&context.home, &thread, &changes, args.expect.expected)?;
    limits.notes.iter().for_each(|note| context.printer.warn(note));
    PrintableReport::new(&limits)
}
