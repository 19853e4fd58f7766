//! `uwf thread ps`

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use uwf_engine::root::ids;
use uwf_engine::views::ps::{self, RunningMemory, RunningStep};

use crate::commands::thread::args::which::HereArg;
use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;
use crate::table::{self, TextTable};

/// Columns of a name.
const NAME: usize = 40;

/// Arguments of `uwf thread ps`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread ps\n  uwf thread ps --here   only the project that you are in\n  watch uwf thread ps --format text\n  uwf thread ps --format json | jq '.[] | select(.lastSign < (now - 600) * 1000).thread'   silent for 10 min\n\nThe steps that are under way on this machine. Times in JSON are Unix milliseconds; `lastSign` is when the agent last\nprinted something or recorded a turn."
)]
pub(crate) struct Args {
    #[command(flatten)]
    here: HereArg,
}

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
        // The project is of interest only where there are several.
        let has_projects = self.steps.iter().any(|step| step.project != self.steps[0].project);
        let mut names = vec!["thread", "workflow", "role", "agent", "for", "last sign", "tokens", "pid"];
        names.splice(1..1, has_projects.then_some("project"));
        let mut table = TextTable::new(&names).ids(Some(0)).flexible(0..names.len() - 4);
        for step in &self.steps {
            let elapsed = Duration::from_millis(self.now.saturating_sub(step.since));
            let project = step.project.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
            let mut cells = vec![
                step.thread.to_string(),
                table::excerpt(step.workflow.as_deref().unwrap_or("–"), NAME),
                style::bold(&table::excerpt(step.branch.as_deref().unwrap_or(&step.role), NAME)),
                table::excerpt(step.agent.short(), NAME),
                table::duration(elapsed),
                table::ago(step.last_sign, self.now),
                step.tokens.as_ref().and_then(table::tokens_so_far).unwrap_or_else(|| "–".to_owned()),
                step.pid.map_or_else(|| "–".to_owned(), |pid| pid.to_string()),
            ];
            let project = || table::excerpt(project.as_deref().unwrap_or("–"), NAME);
            cells.splice(1..1, has_projects.then(project));
            table.row(cells);
            if let Some(doing) = &step.doing {
                table.note(doing);
            }
        }
        table.text()
    }
}

/// Lists running steps.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let project = context.selected_project(args.here.here)?;
    let mut steps = ps::ps(&context.home, &mut RunningMemory::default())?;
    steps.retain(|step| project.as_ref().is_none_or(|project| step.project.as_deref() == Some(project.dir())));
    PrintableReport::new(&RunningStepsReport { steps, now: ids::now_ms() })
}
