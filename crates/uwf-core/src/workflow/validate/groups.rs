//! Checks groups: their roles, and keys that don't belong together.

use std::collections::BTreeSet;

use super::branch_paths;
use super::expressions::ExpressionCheck;
use super::group_items::{self, BAD_GROUP};
use super::schema_paths::{PathPossibility, can_have};
use super::transitions::{quoted, undefined_condition};
use crate::document::{ProblemCollector, SourcePositions, join};
use crate::moderator::CompiledCondition;
use crate::workflow::group::{MAX_BRANCHES, PLAY};
use crate::workflow::model::{DraftSchema, WorkflowDraft};
use crate::workflow::picker::{CopyPicker, PERSON_PICKS, WINNER, is_word};
use crate::workflow::role_group::{BranchFiles, BranchMerge, RoleGroup};
use crate::workspace::WorkspaceKind;
use json_cas::nearest::did_you_mean;
use yaml_tree::TextPosition;

/// The hint for a group that is among its own branches.
const PLAYS_ITSELF: &str = "name the roles that do the work, not the group";

pub(super) fn check(draft: &WorkflowDraft, positions: &SourcePositions, problems: &mut ProblemCollector) {
    for (name, group) in draft.groups() {
        let check = GroupCheck { draft, positions, name, group };
        check.roles(problems);
        check.repetition(problems);
        check.pick(problems);
        check.files(problems);
        check.resolver(problems);
        group_items::check(draft, positions, (name, group), problems);
        check.readers(problems);
        check.conditions(problems);
    }
    branch_paths::check(draft, positions, problems);
}

/// Checks one group.
struct GroupCheck<'d> {
    draft: &'d WorkflowDraft,
    positions: &'d SourcePositions,
    name: &'d str,
    group: &'d RoleGroup,
}

impl GroupCheck<'_> {
    /// The place of a key's value, or of one of its items.
    fn position(&self, key: &str) -> TextPosition {
        self.positions.value(&format!("{}/{key}", join("/roles", self.name)))
    }

    fn error(&self, key: &str, message: String, hint: Option<&str>, problems: &mut ProblemCollector) {
        problems.error(BAD_GROUP, self.position(key), message, hint.map(str::to_owned));
    }

    fn roles(&self, problems: &mut ProblemCollector) {
        let name = self.name;
        for (index, branch) in self.group.roles.iter().enumerate() {
            let at = self.position(&format!("{PLAY}/{index}/role"));
            if !self.draft.roles.contains_key(&branch.role) {
                self.unknown_role((PLAY, at), &branch.role, problems);
            } else if self.plays_itself(&branch.role) {
                let hint = Some(PLAYS_ITSELF.to_owned());
                let through = if branch.role == name { String::new() } else { format!(" through `{}`", branch.role) };
                problems.error(BAD_GROUP, at, format!("the role `{name}` plays itself{through}"), hint);
            }
        }
    }

    /// Reports that the value of a key, at this place, names an unknown role.
    fn unknown_role(&self, (key, at): (&str, TextPosition), role: &str, problems: &mut ProblemCollector) {
        if problems.is_full() {
            return;
        }
        let message =
            format!("`{key}` of `{}` names the role `{}`, which does not exist", self.name, role.escape_debug());
        let known = || self.draft.roles.keys().map(String::as_str).filter(|known| *known != self.name);
        let hint = did_you_mean(role, known())
            .or_else(|| known().next().is_some().then(|| format!("roles: {}", quoted(known()))));
        problems.error("unknown-role", at, message, hint);
    }

    fn plays_itself(&self, role: &str) -> bool {
        role == self.name || self.draft.branches_of(role).contains(&self.name)
    }

    /// `each` and `copies`, and the keys that need them.
    fn repetition(&self, problems: &mut ProblemCollector) {
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
        if key.as_ref().is_some_and(|key| key.trim().is_empty()) {
            let hint = "name a key of the items, or leave `key` out: then the branches have numbers";
            self.error("key", "`key` is empty".to_owned(), Some(hint), problems);
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
    fn pick(&self, problems: &mut ProblemCollector) {
        if self.group.copies.is_none() {
            return;
        }
        let pick = match CopyPicker::for_group(self.draft, self.group) {
            CopyPicker::Role(role) => role,
            CopyPicker::Expression(pick) => return self.pick_expression(pick, problems),
            CopyPicker::Person if self.draft.roles.contains_key(PERSON_PICKS) => {
                let message = format!(
                    "without `pick`, a person picks a copy as the role `{PERSON_PICKS}`, and the workflow has a role of this name"
                );
                return self.error(PLAY, message, Some("rename the role, or name who picks: `pick: ROLE`"), problems);
            }
            CopyPicker::Person => return,
        };
        let Some(judge) = self.draft.roles.get(pick) else { return };
        if self.plays_itself(pick) {
            self.error("pick", format!("the role `{}` plays itself", self.name), Some(PLAYS_ITSELF), problems);
        } else if judge.more.play.is_some() {
            self.error("pick", format!("`pick` names the group `{pick}`"), Some("name a role that decides"), problems);
        } else if judge.more.run.is_some() {
            let message = format!("the output of the command `{pick}` has no `{WINNER}`, so it cannot pick a copy");
            let hint = "name a role that answers, write an expression, or leave `pick` out: then a person picks";
            self.error("pick", message, Some(hint), problems);
        } else if let DraftSchema::Inline(schema) = &judge.meta
            && can_have(schema, &[WINNER.to_owned()]) != PathPossibility::Possible
        {
            let message = format!("the output of `{pick}` has no `{WINNER}`, so it cannot pick a copy");
            self.error("pick", message, Some(&format!("add `{WINNER}: {{ type: integer }}` to its `meta`")), problems);
        }
    }

    fn pick_expression(&self, pick: &str, problems: &mut ProblemCollector) {
        let at = self.position("pick");
        if is_word(pick) {
            return self.unknown_role(("pick", at), pick, problems);
        }
        let compiled = match CompiledCondition::compile(pick) {
            Ok(compiled) => compiled,
            Err(error) => {
                let hint = did_you_mean(pick, self.draft.roles.keys().map(String::as_str));
                let message = format!("`pick` is neither a role nor an expression: {error}");
                return self.error("pick", message, hint.as_deref(), problems);
            }
        };
        let copies = self.group.copies.unwrap_or_default();
        if pick.trim().parse().is_ok_and(|number: u64| !(1..=copies).contains(&number)) {
            let message = format!("`pick` of `{}` names copy {}, and there are only {copies}", self.name, pick.trim());
            return self.error("pick", message, None, problems);
        }
        let (draft, positions) = (self.draft, self.positions);
        let whole = format!("`pick` of `{}`", self.name);
        let last = self.group.roles.iter().map(|branch| branch.role.as_str()).collect();
        let copies = Some(copies);
        ExpressionCheck { draft, positions, whole, at, last, has_step: true, is_condition: false, copies }
            .check(&compiled, problems);
    }

    fn files(&self, problems: &mut ProblemCollector) {
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
        if *files == BranchFiles::Read
            && let Some(inner) = self.writer()
        {
            let message = format!(
                "the branches of `{}` only read files, and its group `{inner}` changes the files of the thread",
                self.name
            );
            let hint = "give each branch a copy of the files: `files: worktree`; or `files: shared` with `max: 1`";
            self.error("files", message, Some(hint), problems);
        }
        if *files == BranchFiles::Worktree && self.draft.workspace != WorkspaceKind::Worktree {
            let message = "`files: worktree` works only in a thread that has a git worktree itself".to_owned();
            let hint = "add `workspace: worktree`, or start its threads with `--worktree`".to_owned();
            problems.warning("no-worktree", self.position("files"), message, Some(hint));
        }
    }

    /// A group within this group that changes the files which this one works with: by its branches, by merging them, or by its winner.
    fn writer(&self) -> Option<&str> {
        let mut seen = BTreeSet::from([self.name]);
        let mut open = vec![self.group];
        while let Some(group) = open.pop() {
            for role in group.roles.iter().map(|branch| branch.role.as_str()) {
                let Some(inner) = self.draft.roles.get(role).and_then(|role| role.more.play.as_ref()) else { continue };
                if !seen.insert(role) {
                    continue;
                }
                match inner.files {
                    BranchFiles::Shared => return Some(role),
                    BranchFiles::Worktree if inner.merge == BranchMerge::Sequence || inner.copies.is_some() => {
                        return Some(role);
                    }
                    // Its branches change copies of the files.
                    BranchFiles::Worktree => {}
                    BranchFiles::Read => open.push(inner),
                }
            }
        }
        None
    }

    /// The role that resolves conflicts must exist, and there must be merges.
    fn resolver(&self, problems: &mut ProblemCollector) {
        let Some(resolve) = self.group.resolve.as_deref() else { return };
        if self.group.merge != BranchMerge::Sequence {
            let message = "`resolve` needs `merge: sequence`: only a merge can have conflicts";
            self.error("resolve", message.to_owned(), Some("add `merge: sequence`, or leave `resolve` out"), problems);
        }
        match self.draft.roles.get(resolve) {
            None => self.unknown_role(("resolve", self.position("resolve")), resolve, problems),
            Some(_) if self.plays_itself(resolve) => {
                self.error("resolve", format!("the role `{}` plays itself", self.name), None, problems);
            }
            Some(role) if role.more.play.is_some() => {
                let message = format!("`resolve` names the group `{resolve}`");
                self.error("resolve", message, Some("name a single role"), problems);
            }
            Some(_) => {}
        }
    }

    /// The conditions of branches must exist.
    fn conditions(&self, problems: &mut ProblemCollector) {
        for (index, branch) in self.group.roles.iter().enumerate() {
            let Some(name) = branch.condition.as_deref() else { continue };
            if !self.draft.conditions.contains_key(name) {
                undefined_condition(self.draft, name, self.position(&format!("{PLAY}/{index}/condition")), problems);
            }
        }
    }

    /// Warns of conditions that read a branch which may be left out.
    fn readers(&self, problems: &mut ProblemCollector) {
        for (name, condition) in &self.draft.conditions {
            let Ok(compiled) = CompiledCondition::compile(&condition.expression) else { continue };
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
