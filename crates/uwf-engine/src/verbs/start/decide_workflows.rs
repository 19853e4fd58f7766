//! Decides which workflows play the roles of a thread when the thread starts.

use std::collections::BTreeSet;
use std::collections::btree_map::Entry;
use std::path::Path;

use json_cas::NodeHash;
use uwf_core::config::UwfConfig;

use crate::attempt::agents::delegation::{Decisions, RoleWorkflow, workflow_of};
use crate::attempt::bindings::{self, AgentBindings};
use crate::attempt::settings::ThreadSettings;
use crate::error::Result;
use crate::root::home::Home;
use crate::thread::nodes;
use crate::verbs::workflows::find_workflow::{self, PathTrust, WorkflowOrigin};

/// The circumstances of a decision.
pub(crate) struct WorkflowDecider<'d> {
    /// The storage root.
    pub home: &'d Home,
    /// The configuration of the thread.
    pub config: &'d UwfConfig,
    /// Directory of the person who decides, and whether the commands of a path run. Project files count only there; `None` for a thread that
    /// no person starts.
    pub person_at: Option<(&'d Path, PathTrust)>,
}

impl WorkflowDecider<'_> {
    /// Decides the workflows of a thread and of the child threads that may follow. Keeps the decisions in `settings`. Also returns notes
    /// for the person.
    ///
    /// # Errors
    /// Fails if a workflow bound in the thread itself can't be found, and with errors of the store. Any other missing workflow is a note.
    pub(crate) fn decide(&self, workflow: NodeHash, settings: &ThreadSettings) -> Result<(Decisions, Vec<String>)> {
        let mut decisions = settings.workflows.clone();
        decisions.values_mut().for_each(|decided| decided.roles.clear());
        let mut notes = Vec::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![(workflow, settings.bound.clone(), true)];
        while let Some((hash, bound, is_own)) = open.pop() {
            let workflow = nodes::workflow(self.home.store(), hash)?;
            for role in workflow.roles.keys() {
                let chosen = bindings::choose(self.config, &bound, &workflow.name, role, None, &settings.workspace);
                // A role without an agent is reported when its turn comes.
                let Ok(spec) = chosen else { continue };
                let Some(name) = workflow_of(&spec) else { continue };
                let decided = match self.one(name, &mut decisions, &mut notes) {
                    Ok(decided) => decided,
                    Err(error) if is_own && bound.agent_for_role(role).is_some() => return Err(error),
                    Err(error) => {
                        let hint = error.hints.first().map(|hint| format!("; {hint}")).unwrap_or_default();
                        notes.push(format!("workflow `{name}` cannot play role `{role}`: {}{hint}", error.message));
                        continue;
                    }
                };
                if is_own {
                    decided.roles.push(role.clone());
                }
                if seen.insert((decided.hash, spec.name.clone())) {
                    open.push((decided.hash, AgentBindings::for_child(&spec.config), false));
                }
            }
        }
        Ok((decisions, notes))
    }

    fn one<'m>(
        &self,
        name: &str,
        decisions: &'m mut Decisions,
        notes: &mut Vec<String>,
    ) -> Result<&'m mut RoleWorkflow> {
        Ok(match decisions.entry(name.to_owned()) {
            Entry::Occupied(decided) => decided.into_mut(),
            Entry::Vacant(place) => {
                let found = match self.person_at {
                    Some((dir, trust)) => find_workflow::workflow(self.home, name, dir, trust)?,
                    None => find_workflow::without_project(self.home, name, None)?,
                };
                let file = match found.origin {
                    WorkflowOrigin::File(file) | WorkflowOrigin::Project { file, .. } => Some(file),
                    WorkflowOrigin::Registry | WorkflowOrigin::Store => None,
                };
                if let Some(file) = &file {
                    notes.push(format!("workflow `{name}`, which plays a role, is taken from {}", file.display()));
                }
                place.insert(RoleWorkflow { hash: found.hash, file, roles: Vec::new() })
            }
        })
    }
}
