//! Who picks the best copy of a group.

use super::model::Workflow;
use super::role_group::RoleGroup;

/// The key of the best copy in the output of the role that picks, and of the group.
pub const WINNER: &str = "winner";

/// The role of a person who picks a copy.
pub const PERSON_PICKS: &str = "pick";

/// Who picks the best copy of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyPicker<'g> {
    /// A role of the workflow.
    Role(&'g str),
    /// JSONata over the thread of the group, whose steps are the copies.
    Expression(&'g str),
    /// A person.
    Person,
}

impl<'g> CopyPicker<'g> {
    /// Who picks for a group of a workflow.
    #[must_use]
    pub fn for_group<M>(workflow: &Workflow<M>, group: &'g RoleGroup) -> CopyPicker<'g> {
        match group.pick.as_deref() {
            None => CopyPicker::Person,
            Some(pick) if workflow.roles.contains_key(pick) => CopyPicker::Role(pick),
            Some(pick) => CopyPicker::Expression(pick),
        }
    }
}

/// Whether `pick` can only be meant as the name of a role.
pub(super) fn is_word(pick: &str) -> bool {
    let is_word = pick.chars().all(|symbol| symbol.is_alphanumeric() || ['-', '_'].contains(&symbol));
    is_word && pick.parse::<u64>().is_err()
}
