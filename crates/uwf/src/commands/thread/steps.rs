//! `uwf thread steps`

use uwf_core::view;
use uwf_engine::views::steps::{self, StepEntry, StepListing};

use super::args::which::ThreadArg;
use super::step::denied_calls;
use crate::context::CommandContext;
use crate::pager::PagerArgs;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;
use crate::table::{self, TextTable};

/// Columns shown of an output.
const SHOWN: usize = 60;

/// Arguments of `uwf thread steps`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread steps 7Q2M\n  uwf thread steps 7Q2M --format json | jq '.steps[-1].output'\n\nThe first entry is the start: {hash, workflow, prompt, timestamp}; every other one is a step: {hash, role, output, detail, agent,\nalias, timestamp}. `agent` is the configured command of `alias`, or a whole command line, which has no alias.\nTimestamps are Unix milliseconds; the first is null when the thread's id holds no time."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadArg,
    #[command(flatten)]
    paging: PagerArgs,
}

impl CommandReport for StepListing {
    fn text(&self) -> String {
        let mut table = TextTable::new(&["#", "step", "role", "agent", "time (UTC)", "output"]).flexible([2, 3]);
        for (index, entry) in (self.first..).zip(&self.steps) {
            table.row(match entry {
                StepEntry::Start { hash, prompt, timestamp, .. } => {
                    let start = style::dim("start");
                    vec![
                        index.to_string(),
                        hash.to_string(),
                        start,
                        String::new(),
                        timestamp.map(table::time).unwrap_or_default(),
                        table::excerpt(prompt, SHOWN),
                    ]
                }
                StepEntry::Step(step) => vec![
                    index.to_string(),
                    step.hash.to_string(),
                    style::bold(&step.role),
                    table::excerpt(&view::agent_name(&step.agent, step.alias.as_deref()), SHOWN),
                    table::time(step.timestamp),
                    table::excerpt(&step.output.to_string(), SHOWN) + &denied_calls(&step.denied),
                ],
            });
        }
        table.text()
    }
}

/// Lists the steps of a thread.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let id = context.thread(args.which.typed())?;
    let all = steps::steps(&context.home, &id, 0..usize::MAX)?;
    Ok(PrintableReport::long(all)?.paged(&args.paging))
}
