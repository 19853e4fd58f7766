//! Checks groups: their roles, and keys that don't belong together.

use std::collections::BTreeSet;

use super::group_items::{self, BAD_GROUP};
use super::schema_paths::{Possibility, can_have};
use crate::document::{Positions, Problems, join};
use crate::moderator::{Condition, Reads};
use crate::workflow::group::{MAX_BRANCHES, PLAY};
use crate::workflow::model::{Meta, WorkflowDraft};
use crate::workflow::picker::{PERSON_PICKS, Picker, is_word};
use crate::workflow::role_group::{BranchFiles, BranchMerge, RoleGroup};
use crate::workspace::Workspace;
use json_cas::nearest::did_you_mean;
use yaml_tree::Position;

/// The hint for a group that is among its own branches.
const PLAYS_ITSELF: &str = "name the roles that do the work, not the group";

pub(super) fn check(draft: &WorkflowDraft, positions: &Positions, problems: &mut Problems) {
    for (name, group) in draft.groups() {
        let check = GroupCheck { draft, positions, name, group };
        check.roles(problems);
        check.repetition(problems);
        check.pick(problems);
        check.files(problems);
        group_items::check(draft, positions, (name, group), problems);
        check.readers(problems);
        check.conditions(problems);
        check.within_groups(problems);
    }
}

/// Checks one group.
struct GroupCheck<'d> {
    draft: &'d WorkflowDraft,
    positions: &'d Positions,
    name: &'d str,
    group: &'d RoleGroup,
}

impl GroupCheck<'_> {
    /// The place of a key's value, or of one of its items.
    fn position(&self, key: &str) -> Position {
        self.positions.value(&format!("{}/{key}", join("/roles", self.name)))
    }

    fn error(&self, key: &str, message: String, hint: Option<&str>, problems: &mut Problems) {
        problems.error(BAD_GROUP, self.position(key), message, hint.map(str::to_owned));
    }

    fn roles(&self, problems: &mut Problems) {
        let name = self.name;
        for (index, branch) in self.group.roles.iter().enumerate() {
            let at = self.position(&format!("{PLAY}/{index}"));
            if !self.draft.roles.contains_key(&branch.role) {
                let message =
                    format!("`play` of `{name}` names the role `{}`, which does not exist", branch.role.escape_debug());
                let known = self.draft.roles.keys().map(String::as_str);
                problems.error("unknown-role", at, message, did_you_mean(&branch.role, known));
            } else if self.plays_itself(&branch.role) {
                let hint = Some(PLAYS_ITSELF.to_owned());
                problems.error(BAD_GROUP, at, format!("the role `{name}` plays itself"), hint);
            }
        }
    }

    fn plays_itself(&self, role: &str) -> bool {
        role == self.name || self.draft.branches_of(role).contains(&self.name)
    }

    /// `each` and `copies`, and the keys that need them.
    fn repetition(&self, problems: &mut Problems) {
        let RoleGroup { roles, each, key, copies, pick, .. } = self.group;
        if each.is_some() && copies.is_some() {
            let hint = "keep `each` for a branch per item, or `copies` for several tries at the same task";
            self.error("copies", "`each` and `copies` do not belong together".to_owned(), Some(hint), problems);
        }
        let repeats = if each.is_some() { "each" } else { "copies" };
        match self.group.repeated() {
            Some(branch) if branch.condition.is_some() => {
                let message = format!("a condition does not belong to the role of `{repeats}`");
                self.error(PLAY, message, Some("the transition to the group can have it"), problems);
            }
            Some(_) if roles.len() > 1 => {
                let message = format!("`{repeats}` plays one role, and `play` lists {}", roles.len());
                self.error(PLAY, message, Some("a role that is a group can play several"), problems);
            }
            _ => {}
        }
        if key.is_some() && each.is_none() {
            let (message, hint) =
                ("`key` names a key of the items of `each`, which is missing", "add `each`, or leave `key` out");
            self.error("key", message.to_owned(), Some(hint), problems);
        }
        if pick.is_some() && copies.is_none() {
            let (message, hint) =
                ("`pick` chooses among `copies`, which is missing", "add `copies: 3`, or leave `pick` out");
            self.error("pick", message.to_owned(), Some(hint), problems);
        }
        if let Some(copies) = copies.filter(|copies| !(2..=MAX_BRANCHES as u64).contains(copies)) {
            self.error("copies", format!("`copies` is {copies}; write 2 to {MAX_BRANCHES}"), None, problems);
        }
    }

    /// The role that picks must be able to say which copy wins.
    fn pick(&self, problems: &mut Problems) {
        if self.group.copies.is_none() {
            return;
        }
        let pick = match Picker::for_group(self.draft, self.group) {
            Picker::Role(role) => role,
            Picker::Expression(pick) => return self.pick_expression(pick, problems),
            Picker::Person if self.draft.roles.contains_key(PERSON_PICKS) => {
                let message = format!(
                    "without `pick`, a person picks a copy as the role `{PERSON_PICKS}`, and the workflow has a role of this name"
                );
                return self.error(PLAY, message, Some("rename the role, or name who picks: `pick: ROLE`"), problems);
            }
            Picker::Person => return,
        };
        let Some(judge) = self.draft.roles.get(pick) else { return };
        if self.plays_itself(pick) {
            self.error("pick", format!("the role `{}` plays itself", self.name), Some(PLAYS_ITSELF), problems);
        } else if judge.more.play.is_some() {
            self.error("pick", format!("`pick` names the group `{pick}`"), Some("name a role that decides"), problems);
        } else if let Meta::Inline(schema) = &judge.meta
            && can_have(schema, &["winner".to_owned()]) != Possibility::Possible
        {
            let message = format!("the output of `{pick}` has no `winner`, so it cannot pick a copy");
            self.error("pick", message, Some("add `winner: { type: integer }` to its `meta`"), problems);
        }
    }

    fn pick_expression(&self, pick: &str, problems: &mut Problems) {
        let known = self.draft.roles.keys().map(String::as_str);
        let hint = did_you_mean(pick, known);
        if is_word(pick) {
            self.error(
                "pick",
                format!("`pick` names the role `{pick}`, which does not exist"),
                hint.as_deref(),
                problems,
            );
        } else if let Err(error) = Condition::compile(pick) {
            let message = format!("`pick` is neither a role nor an expression: {error}");
            self.error("pick", message, hint.as_deref(), problems);
        }
    }

    fn files(&self, problems: &mut Problems) {
        let RoleGroup { files, merge, max, .. } = self.group;
        if *files == BranchFiles::Shared && *max != Some(1) {
            let message =
                "`files: shared` needs `max: 1`, because branches at the same time would overwrite each other";
            let hint = "add `max: 1`, or give each branch a copy of the files: `files: worktree`";
            self.error("files", message.to_owned(), Some(hint), problems);
        }
        if *merge == BranchMerge::Sequence && *files != BranchFiles::Worktree {
            let message = "`merge` needs `files: worktree`: only then do the branches have changes of their own";
            let hint = "add `files: worktree`, or leave `merge` out";
            self.error("merge", message.to_owned(), Some(hint), problems);
        }
        if *merge == BranchMerge::Sequence && self.group.copies.is_some() {
            let message = "`merge` does not belong to `copies`: only the files of the winner are used";
            self.error("merge", message.to_owned(), Some("leave `merge` out"), problems);
        }
        if *files == BranchFiles::Worktree && self.draft.workspace != Workspace::Worktree {
            let message = "`files: worktree` works only in a thread that has a git worktree itself".to_owned();
            let hint = "add `workspace: worktree`, or start its threads with `--worktree`".to_owned();
            problems.warning("no-worktree", self.position("files"), message, Some(hint));
        }
    }

    /// The conditions of branches must exist.
    fn conditions(&self, problems: &mut Problems) {
        for (index, branch) in self.group.roles.iter().enumerate() {
            let Some(name) = branch.condition.as_deref() else { continue };
            if !self.draft.conditions.contains_key(name) {
                let message = format!("condition `{}` is not defined", name.escape_debug());
                let known = self.draft.conditions.keys().map(String::as_str);
                let at = self.position(&format!("{PLAY}/{index}"));
                problems.error("unknown-condition", at, message, did_you_mean(name, known));
            }
        }
    }

    /// A branch begins without steps. So expressions of a role that a group plays can read only the start.
    fn within_groups(&self, problems: &mut Problems) {
        for branch in &self.group.roles {
            let Some(role) = self.draft.roles.get(&branch.role) else { continue };
            let group = role.more.play.as_ref();
            let each = group.and_then(|group| group.each.as_deref()).map(|each| ("each", each));
            let conditions = group.into_iter().flat_map(|group| &group.roles).filter_map(|own| own.condition.as_ref());
            let conditions = conditions.filter_map(|name| self.draft.conditions.get(name));
            let conditions = conditions.map(|condition| ("a condition", condition.expression.as_str()));
            let with = role.more.with.values().map(|value| ("with", value.as_str()));
            let reads_steps = |expression: &str| {
                Condition::compile(expression).is_ok_and(|compiled| *compiled.reads() != Reads::none())
            };
            if let Some((key, _)) = each.into_iter().chain(conditions).chain(with).find(|(_, own)| reads_steps(own)) {
                let message = format!(
                    "{key} of `{}` reads steps, and the group `{}` plays it in a thread without steps",
                    branch.role, self.name
                );
                let hint = format!("let the graph name `{}`, or read only `start`", branch.role);
                self.error(PLAY, message, Some(&hint), problems);
            }
        }
    }

    /// Warns of conditions that read a branch which may be left out.
    fn readers(&self, problems: &mut Problems) {
        for (name, condition) in &self.draft.conditions {
            let Ok(compiled) = Condition::compile(&condition.expression) else { continue };
            let reads = compiled.field_reads().iter().filter(|read| read.role.as_deref() == Some(self.name));
            let branches: BTreeSet<&str> = reads.filter_map(|read| read.path.first()).map(String::as_str).collect();
            let conditional = self.group.roles.iter().filter(|branch| branch.condition.is_some());
            for branch in conditional.filter(|branch| branches.contains(branch.role.as_str())) {
                let role = &branch.role;
                let message =
                    format!("the condition `{name}` reads `{role}` of `{}`, which may be left out", self.name);
                let hint = format!("without that branch it reads nothing; test `$exists(…{role})` first");
                let at = self.positions.value(&join(&join("/conditions", name), "expression"));
                problems.warning("conditional-branch", at, message, Some(hint));
            }
        }
    }
}
