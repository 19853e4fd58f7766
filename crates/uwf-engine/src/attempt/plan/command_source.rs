//! The workflow that a person trusts, for the commands of a thread.

use json_cas::NodeHash;
use uwf_core::workflow::Workflow;

use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::trusted_workflows;
use crate::thread::load::Thread;

/// The workflow whose commands a thread runs. A branch of a group runs a part of the workflow with the group, which is the one that a
/// person knows.
pub(super) struct CommandSource {
    hash: NodeHash,
    workflow: Workflow,
}

impl CommandSource {
    /// A thread's own workflow.
    pub(super) fn own(hash: NodeHash, workflow: &Workflow) -> CommandSource {
        CommandSource { hash, workflow: workflow.clone() }
    }

    /// The source of a thread's commands.
    pub(super) fn of_thread(thread: &Thread<'_>, workflow: &Workflow) -> Result<CommandSource> {
        let at = |head: NodeHash| Thread::load_at(thread.home(), thread.id.clone(), head);
        let mut source = CommandSource::own(thread.start.workflow, workflow);
        let mut above = thread.start.parent;
        while let Some(group) = above.filter(|_| source.has_commands()) {
            let group = at(group)?;
            let Some(player) = group.start.parent else { break };
            if group.workflow()?.planned_branches().is_none() {
                break;
            }
            let player = at(player)?;
            let workflow = player.workflow()?;
            // The thread may come from another store, and name any thread as its parent.
            if !source.is_part_of(&workflow) {
                break;
            }
            source = CommandSource { hash: player.start.workflow, workflow };
            above = player.start.parent;
        }
        Ok(source)
    }

    /// The workflow that a person must trust first; `None` if its commands may run.
    pub(super) fn untrusted(self, home: &Home) -> Result<Option<CommandSource>> {
        Ok(if trusted_workflows::allows(home, self.hash, &self.workflow)? { None } else { Some(self) })
    }

    /// The error for a step that would run one of its commands.
    pub(super) fn refusal(&self) -> Error {
        trusted_workflows::refusal(&self.workflow, self.hash)
    }

    fn has_commands(&self) -> bool {
        self.workflow.commands().next().is_some()
    }

    /// Whether another workflow has the same commands for the same roles.
    fn is_part_of(&self, whole: &Workflow) -> bool {
        let has_command =
            |role: &str, run| whole.roles.get(role).is_some_and(|role| role.more.run.as_ref() == Some(run));
        self.workflow.commands().all(|(role, run)| has_command(role, run))
    }
}
