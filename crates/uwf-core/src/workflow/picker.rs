//! Who picks the best copy of a group.

use serde_json::Value;

use super::model::Workflow;
use super::role_group::RoleGroup;

/// The key of the best copy in the output of the role that picks, and of the group.
pub const WINNER: &str = "winner";

/// The key of the outputs of the copies in the output of the group.
pub const RESULTS: &str = "results";

/// The number of the copy that was picked, from 1, in the output of a group; `None` for any other output.
#[must_use]
pub fn picked_copy(output: &Value) -> Option<usize> {
    let copies = output.get(RESULTS)?.as_array()?;
    let number = usize::try_from(output.get(WINNER)?.as_u64()?).ok()?;
    (1..=copies.len()).contains(&number).then_some(number)
}

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
