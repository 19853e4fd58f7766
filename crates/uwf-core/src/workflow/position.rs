//! Creates the moderator for a position of a workflow's graph.

use super::model::Workflow;
use crate::moderator::{CompiledCondition, CompiledTransition, Moderator, ModeratorError};

impl Moderator {
    /// Creates the moderator for one position of a workflow: the last role, or `$START`.
    ///
    /// # Errors
    /// The graph lacks the position, a transition names an unknown condition, or a condition does not compile.
    pub fn for_position(workflow: &Workflow, position: &str) -> Result<Moderator, ModeratorError> {
        let transitions =
            workflow.graph.get(position).ok_or_else(|| ModeratorError::NoPosition { position: position.to_owned() })?;
        let mut edges = Vec::with_capacity(transitions.len());
        for transition in transitions {
            let condition = match &transition.condition {
                None => None,
                Some(name) => Some((name.clone(), compiled(workflow, position, &transition.role, name)?)),
            };
            edges.push(CompiledTransition {
                role: transition.role.clone(),
                condition,
                outcome: transition.outcome.clone(),
            });
        }
        Ok(Moderator::new(edges))
    }
}

fn compiled(workflow: &Workflow, position: &str, role: &str, name: &str) -> Result<CompiledCondition, ModeratorError> {
    let named = workflow.conditions.get(name).ok_or_else(|| ModeratorError::UnknownCondition {
        position: position.to_owned(),
        role: role.to_owned(),
        condition: name.to_owned(),
    })?;
    CompiledCondition::compile(&named.expression)
        .map_err(|source| ModeratorError::Compile { condition: name.to_owned(), source: Box::new(source) })
}
