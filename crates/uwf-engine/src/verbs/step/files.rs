//! The files of a step in the worktree of its thread: recorded and pushed after the step, fetched before the next one.

use std::time::{Duration, Instant};

use json_cas::NodeHash;

use super::StepInProgress;
use crate::attempt::agents::AgentSpec;
use crate::attempt::git::GitScopeGuard;
use crate::attempt::recorded::AttemptOpening;
use crate::attempt::snapshot::{self, PushedFiles, StepFiles};
use crate::attempt::travel;
use crate::error::Result;
use crate::root::log::log;
use crate::root::worktree::Worktree;

/// Minimum time git gets for the files of a step, however little its agent left: the step was paid for.
const LEAST_TIME: Duration = Duration::from_secs(5);

impl StepInProgress<'_, '_> {
    /// Git, as part of a step by an agent: its time counts as the agent's.
    pub(super) fn errand(&self, agent: &AgentSpec, attempt: Option<&str>) -> GitScopeGuard {
        let until = agent.timeout_ms.map(|limit| {
            let left = Duration::from_millis(limit).saturating_sub(self.began.elapsed());
            Instant::now() + left.max(LEAST_TIME)
        });
        GitScopeGuard::begin(attempt, until)
    }

    /// Updates the thread's worktree to its files at a node, if another machine made them.
    pub(super) fn fetch_files(&self, node: NodeHash, agent: &AgentSpec) -> Result<()> {
        let _errand = self.errand(agent, None);
        let (settings, remote) = (&self.plan.settings, self.plan.config.worktree_remote.as_ref());
        if travel::bring_up_to_date(self.home, &self.thread.id, node, settings, remote)? {
            log!(self.log, "F7J4B2YH", Info, "the files at {node} came from another machine");
        }
        Ok(())
    }

    /// Records the files of the thread's worktree for a step; `None` if it has no worktree.
    ///
    /// The agent has ended and was paid, so no failure here may cost the step: the step is linked, and its report says that its files
    /// were not recorded. Files are recorded before the head moves, so that every head has its files. If the process is killed in
    /// between, the next step adopts this one and records its files.
    ///
    /// # Errors
    /// `Interrupted` or `Terminated` if uwf got a stop signal while the thread is active. Then, too, the next step adopts this one.
    pub(super) fn record_files(&self, opened: &AttemptOpening, step: NodeHash) -> Result<Option<StepFiles>> {
        let Some(worktree) = self.plan.settings.worktree_in_use() else { return Ok(None) };
        let _errand = self.errand(&opened.agent, Some(&opened.attempt));
        let recorded = match snapshot::take(self.home, worktree, opened, step) {
            Err(stopped) if stopped.kind.is_stop() && self.still_active() => return Err(stopped),
            recorded => recorded,
        };
        let tree = recorded.as_ref().ok().and_then(StepFiles::tree).map(str::to_owned);
        if let Err(error) = self.plan.settings.workplace(step).with_files(tree).publish_note(self.home, &opened.thread)
        {
            log!(self.log, "M6V3Q9TD", Warn, "other machines do not know where the files of step {step} are: {error}");
        }
        Ok(Some(match recorded {
            Ok(files) => self.pushed(worktree, step, files),
            Err(error) => {
                log!(self.log, "W4D8K1ZR", Warn, "the files of step {step} were not recorded: {error}");
                StepFiles::NotRecorded { not_recorded: error.to_string() }
            }
        }))
    }

    /// Files that were recorded, after pushing them to the remote if there is one. A failed push does not fail the step: the next step on
    /// this machine pushes everything recorded.
    fn pushed(&self, worktree: &Worktree, step: NodeHash, files: StepFiles) -> StepFiles {
        let (Some(remote), StepFiles::Recorded { tree, commit, left_out, .. }) =
            (&self.plan.config.worktree_remote, &files)
        else {
            return files;
        };
        let (tree, left_out) = (tree.clone(), left_out.clone());
        match travel::push(&worktree.repository, &self.thread.id, step, remote) {
            Ok(commit) => {
                let pushed = Some(PushedFiles::PushedTo(remote.to_string()));
                StepFiles::Recorded { tree, commit, left_out, pushed }
            }
            Err(error) => {
                log!(self.log, "K8R2N5XW", Warn, "the files of step {step} were not pushed: {error}");
                let pushed = Some(PushedFiles::NotPushed(error.to_string()));
                StepFiles::Recorded { tree, commit: commit.clone(), left_out, pushed }
            }
        }
    }
}
