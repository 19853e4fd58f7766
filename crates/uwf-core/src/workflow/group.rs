//! Reads groups: roles that play other roles at the same time.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use super::model::{NamedCondition, RoleOptions};
use super::older_forms;
use super::reader::WorkflowReader;
use super::role_group::{BranchFiles, BranchMerge, GroupBranch, RoleGroup};
use super::role_options::{OF_COMMANDS, OF_GROUPS};
use crate::document::fields::{MappingFields, text, wrong_type};
use crate::document::join;
use crate::usage::ThreadLimits;
use yaml_tree::{MappingEntry, YamlContent, YamlNode};

/// The key of a role that is a group.
pub(super) const PLAY: &str = "play";

/// Most roles and copies of a group.
pub(crate) const MAX_BRANCHES: usize = 64;

/// Other keys that may stand beside `play`.
const BESIDE_PLAY: [&str; 3] = ["description", PLAY, "name"];

/// Keys of a branch in the list of `play`.
pub(crate) const BRANCH_KEYS: [&str; 4] = ["role", "condition", "mayFail", "limits"];

impl WorkflowReader {
    /// The options of a role that is a group; `None` if it is not. `name` is the role's name, `role` its pointer.
    pub(super) fn group(
        &mut self,
        fields: MappingFields<'_>,
        name: &str,
        role: &str,
        conditions: &mut BTreeMap<String, NamedCondition>,
    ) -> Option<RoleOptions> {
        if let Some(empty) = fields.iter().find(|entry| entry.key == PLAY && entry.value.is_null()) {
            let hint = "name the roles that it plays: `play: [one, two]`";
            self.problems.error("bad-value", empty.value.at, "`play` is empty".to_owned(), Some(hint.to_owned()));
            return None;
        }
        let Some(play) = fields.get(PLAY) else {
            for entry in OF_GROUPS.iter().filter_map(|key| fields.get(key)) {
                let hint = "for one branch of a group, write `{ role: NAME, mayFail: true }` in its `play`";
                let hint = (entry.key == "mayFail").then(|| hint.to_owned());
                self.misplaced(entry, "belongs only to a role with `play`", hint);
            }
            return None;
        };
        let why = "does not belong to a role with `play`: the roles that it plays have it";
        self.refuse_beside(fields, &[&BESIDE_PLAY[..], &OF_GROUPS, &OF_COMMANDS].concat(), why);
        let group = RoleGroup {
            roles: self.group_roles(play, name, role, conditions)?,
            each: self.expression(fields, role, "each"),
            key: self.expression(fields, role, "key"),
            copies: self.count(fields, role, "copies"),
            pick: self.expression(fields, role, "pick"),
            max: self.count(fields, role, "max"),
            may_fail: self.option(fields, role, "mayFail").unwrap_or_default(),
            files: self.option::<BranchFiles>(fields, role, "files").unwrap_or_default(),
            merge: self.option::<BranchMerge>(fields, role, "merge").unwrap_or_default(),
            resolve: self.expression(fields, role, "resolve"),
        };
        Some(RoleOptions { play: Some(group), ..RoleOptions::default() })
    }

    /// The roles of `play`: a list, or one role for `each` and `copies`.
    fn group_roles(
        &mut self,
        play: &MappingEntry,
        name: &str,
        role: &str,
        conditions: &mut BTreeMap<String, NamedCondition>,
    ) -> Option<Vec<GroupBranch>> {
        let pointer = join(role, PLAY);
        self.locate(&pointer, play);
        let items = match &play.value.data {
            YamlContent::Sequence(items) => items.as_slice(),
            YamlContent::Scalar { .. } | YamlContent::Mapping(_) => std::slice::from_ref(&play.value),
        };
        if items.is_empty() || items.len() > MAX_BRANCHES {
            let message = format!("`play` lists {} roles; write 1 to {MAX_BRANCHES}", items.len());
            self.problems.error("bad-value", play.value.at, message, None);
        }
        let mut roles: Vec<GroupBranch> = Vec::new();
        for item in items {
            let at = join(&pointer, &roles.len().to_string());
            let Some(branch) = self.group_branch(item, name, &at, conditions) else { continue };
            if roles.iter().any(|known| known.role == branch.role) {
                let message = format!("`play` names the role `{}` twice", branch.role);
                self.problems.error("duplicate-key", item.at, message, None);
                continue;
            }
            self.positions.set_value(at, item.at);
            roles.push(branch);
        }
        Some(roles)
    }

    /// A text that must not be blank.
    fn expression(&mut self, fields: MappingFields<'_>, role: &str, key: &str) -> Option<String> {
        let entry = fields.get(key)?;
        let written = self.text_entry(entry, &join(role, key));
        if written.trim().is_empty() && entry.value.as_text().is_some() {
            self.problems.error("bad-value", entry.value.at, format!("`{key}` is empty"), None);
        }
        Some(written).filter(|written| !written.trim().is_empty())
    }

    fn count(&mut self, fields: MappingFields<'_>, role: &str, key: &str) -> Option<u64> {
        self.option(fields, role, key).map(NonZeroU64::get)
    }

    /// A role's name, or a mapping of role and condition. `at` is the pointer of the branch.
    fn group_branch(
        &mut self,
        item: &YamlNode,
        group: &str,
        at: &str,
        conditions: &mut BTreeMap<String, NamedCondition>,
    ) -> Option<GroupBranch> {
        if let Some(role) = item.as_text() {
            let role = role.to_owned();
            return Some(GroupBranch { role, condition: None, may_fail: false, limits: ThreadLimits::default() });
        }
        if !matches!(item.data, YamlContent::Mapping(_)) {
            wrong_type(item, PLAY, "a role, or a list of roles", &mut self.problems);
            return None;
        }
        let fields = MappingFields::from_mapping(item, "branch", &mut self.problems)?;
        fields.refuse_unknown(&BRANCH_KEYS, &[("when", "condition"), ("if", "condition")], &mut self.problems);
        let Some(role) = fields.get("role") else {
            self.problems.error("missing-key", item.at, "the branch has no `role`".to_owned(), None);
            return None;
        };
        self.positions.set_value(join(at, "role"), role.value.at);
        let role = text(&role.value, "role", &mut self.problems)?;
        let condition = match fields.get("condition") {
            None => None,
            Some(entry) => {
                self.locate(&join(at, "condition"), entry);
                let written = text(&entry.value, "condition", &mut self.problems)?;
                Some(older_forms::named(self, &written, entry, (group, &role), conditions))
            }
        };
        let may_fail = self.option(fields, at, "mayFail").unwrap_or_default();
        let limits = fields.get("limits").map(|entry| ThreadLimits::read(entry, &mut self.problems));
        Some(GroupBranch { role, condition, may_fail, limits: limits.unwrap_or_default() })
    }
}
