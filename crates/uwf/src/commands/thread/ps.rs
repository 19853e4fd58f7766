//! `uwf thread ps`

use std::time::Duration;

use serde::Serialize;
use uwf_core::node::TokenCounts;
use uwf_engine::root::ids;
use uwf_engine::views::ps::{self, RunningMemory, RunningStep};

use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;
use crate::table::{self, TextTable};

/// Columns of a name.
const NAME: usize = 40;

/// Arguments of `uwf thread ps`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread ps\n  watch uwf thread ps --format text\n  uwf thread ps --format json | jq '.[] | select(.lastSign < (now - 600) * 1000).thread'   silent for 10 min\n\nThe steps that are under way on this machine. Times in JSON are Unix milliseconds; `lastSign` is when the agent last\nprinted something or recorded a turn."
)]
pub(crate) struct Args {}

#[derive(Serialize)]
#[serde(transparent)]
struct RunningStepsReport {
    steps: Vec<RunningStep>,
    #[serde(skip)]
    now: u64,
}

impl CommandReport for RunningStepsReport {
    fn text(&self) -> String {
        if self.steps.is_empty() {
            return "nothing runs\n".to_owned();
        }
        let mut table = TextTable::new(&["thread", "workflow", "role", "agent", "for", "last sign", "tokens", "pid"]);
        for step in &self.steps {
            let elapsed = Duration::from_millis(self.now.saturating_sub(step.since));
            table.row(vec![
                step.thread.to_string(),
                table::excerpt(step.workflow.as_deref().unwrap_or("–"), NAME),
                style::bold(&table::excerpt(step.branch.as_deref().unwrap_or(&step.role), NAME)),
                table::excerpt(step.agent.short(), NAME),
                table::duration(elapsed),
                table::ago(step.last_sign, self.now),
                step.tokens.as_ref().and_then(total).map_or_else(|| "–".to_owned(), |tokens| tokens.to_string()),
                step.pid.map_or_else(|| "–".to_owned(), |pid| pid.to_string()),
            ]);
        }
        table.text()
    }
}

/// All tokens; the total includes cached and reasoning tokens.
fn total(tokens: &TokenCounts) -> Option<u64> {
    tokens.total()
}

/// Lists running steps.
pub(crate) fn run(context: &CommandContext, Args {}: &Args) -> CommandResult {
    PrintableReport::new(&RunningStepsReport {
        steps: ps::ps(&context.home, &mut RunningMemory::default())?,
        now: ids::now_ms(),
    })
}
