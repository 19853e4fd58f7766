//! The commands that a workflow's roles run, for people who decide whether to trust it.

use serde::Serialize;
use uwf_core::text::one_line;
use uwf_core::workflow::{Workflow, WorkflowDraft};

use crate::style;

/// The commands of a workflow.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(crate) struct RoleCommands(Vec<CommandOfRole>);

/// A role and its command.
#[derive(Debug, Serialize)]
struct CommandOfRole {
    role: String,
    command: String,
}

impl RoleCommands {
    /// The commands of a stored workflow.
    pub(crate) fn stored(workflow: &Workflow) -> RoleCommands {
        RoleCommands::from_roles(workflow.roles.iter().map(|(name, role)| (name, role.more.run.as_ref())))
    }

    /// The commands of a workflow file.
    pub(crate) fn of_draft(draft: &WorkflowDraft) -> RoleCommands {
        RoleCommands::from_roles(draft.roles.iter().map(|(name, role)| (name, role.more.run.as_ref())))
    }

    fn from_roles<'r>(
        roles: impl Iterator<Item = (&'r String, Option<&'r uwf_core::workflow::RoleCommand>)>,
    ) -> RoleCommands {
        let command = |(role, run): (&String, Option<&uwf_core::workflow::RoleCommand>)| {
            Some(CommandOfRole { role: role.clone(), command: run?.command.clone() })
        };
        RoleCommands(roles.filter_map(command).collect())
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One line for each command.
    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|one| format!("  {} runs: {}\n", style::bold(&one.role), one_line(&one.command))).collect()
    }
}
