//! `uwf thread label`

use uwf_core::label::{self, ThreadLabel};
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::settings::label::{LabelChanges, LabelReport, change, show};

use super::args::expect_head::ExpectHead;
use super::args::selection::{SelectionUse, ThreadsArg};
use super::several;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf thread label`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread label 7Q2M                                its labels\n  uwf thread label 7Q2M --set team=web --remove draft\n  uwf thread label --workflow solve-issue --set sprint=12 --yes\n\nYou can also label threads that have ended. Child threads get the labels that their parent has when they start."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadsArg,
    #[command(flatten)]
    expect: ExpectHead,
    /// A label to add; one with the same key is replaced. Repeat for several.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<ThreadLabel>,
    /// Key of a label to remove. Repeat for several.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    remove: Vec<String>,
}

impl CommandReport for LabelReport {
    fn text(&self) -> String {
        let thread = style::bold(self.thread.as_str());
        if self.labels.is_empty() {
            return format!("thread {thread} has no labels\n");
        }
        let labels: Vec<String> = self.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("thread {thread}: {}\n", labels.join(", "))
    }
}

/// Shows or changes the labels of threads.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let set = label::by_key(args.set.iter().cloned()).map_err(CommandError::usage)?;
    if let Some(key) = args.remove.iter().find(|key| set.contains_key(*key)) {
        return Err(CommandError::usage(format!("--set and --remove both name the label `{key}`")));
    }
    let changes = LabelChanges { set, remove: args.remove.clone() };
    let uses = SelectionUse { verb: "label", states: &ThreadState::ALL, expects: args.expect.expected.is_some() };
    several::act(context, args.which.select(context, uses)?, |thread| {
        PrintableReport::new(&match changes == LabelChanges::default() {
            true => show(&context.home, thread)?,
            false => change(&context.home, thread, &changes, args.expect.expected)?,
        })
    })
}
