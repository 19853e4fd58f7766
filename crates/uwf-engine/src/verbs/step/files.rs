//! Recording the files that a step leaves in the worktree of its thread.

use json_cas::Hash;

use super::Step;
use crate::attempt::recorded::Opened;
use crate::attempt::snapshot::{self, StepFiles};
use crate::root::log::log;

impl Step<'_, '_> {
    /// Records the files of the thread's worktree as those of a step; `None` if it works in none.
    ///
    /// The agent has ended and was paid, so nothing that goes wrong here may cost the step: it lands, and its report says that
    /// its files were not recorded. That happens before the head moves, so that no step is the head whose files are still to
    /// come. Whoever is killed in between leaves a step that the next one takes over, and records the files of.
    pub(super) fn record_files(&self, opened: &Opened, step: Hash) -> Option<StepFiles> {
        let worktree = self.plan.settings.worktree_in_use()?;
        Some(snapshot::take(self.home, worktree, opened, step).unwrap_or_else(|error| {
            log!(self.log, "W4D8K1ZR", Warn, "the files of step {step} were not recorded: {error}");
            StepFiles::NotRecorded { not_recorded: error.to_string() }
        }))
    }
}
