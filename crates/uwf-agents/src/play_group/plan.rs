//! Decides which branches a group has.

use std::collections::BTreeMap;

use agent_kit::{Error, Result};
use serde_json::Value;
use uwf_core::moderator::CompiledCondition;
use uwf_core::usage::ThreadLimits;
use uwf_core::workflow::{CopyPicker, GroupBranch, PERSON_PICKS, PlannedBranch, RoleGroup, Workflow};
use uwf_engine::attempt::branch_outlook::BranchOutlook;
use uwf_engine::thread::load::Thread;

/// Largest item in bytes: an agent gets it as an environment variable.
const MAX_ITEM: usize = 64 << 10;

/// Longest key of an item, in symbols.
const MAX_KEY: usize = 200;

/// The branches of a group.
pub(super) struct GroupPlan {
    /// In the order of the file, or of the items.
    pub(super) branches: Vec<PlannedBranch>,
    /// The branch that picks the best copy.
    pub(super) judge: Option<PlannedBranch>,
    /// The item of each branch; empty without `each`.
    pub(super) items: Vec<Value>,
}

impl GroupPlan {
    /// The branches of a group that is about to begin. The group is a role of `thread`.
    ///
    /// # Errors
    /// `Data` if `each` gives no list, or items that can't be branches; `Limit` if there are more than `max_branches`.
    pub(super) fn new(
        thread: &Thread<'_>,
        workflow: &Workflow,
        (name, group): (&str, &RoleGroup),
        max_branches: u64,
    ) -> Result<GroupPlan> {
        let plan = match group.repeated() {
            None => GroupPlan::plain(listed(thread, workflow, (name, group))?),
            Some(branch) => match &group.each {
                Some(each) => {
                    let hint = remade(thread, each);
                    of_items(items(thread, name, each)?, (name, group), branch, hint.as_deref())?
                }
                None => {
                    let copies = copies(group, branch);
                    GroupPlan { judge: judge(workflow, group, &copies), ..GroupPlan::plain(copies) }
                }
            },
        };
        let count = plan.branches.len() as u64;
        if count > max_branches {
            let message = format!("group `{name}` would have {count} branches, and `maxBranches` is {max_branches}");
            return Err(Error::limit(message)
                .hint(format!("to allow more: `uwf config set maxBranches {count}`, then step the thread again")));
        }
        Ok(plan)
    }

    /// The branches of a group's thread.
    ///
    /// # Errors
    /// `Data` if it is not the thread of a group.
    pub(super) fn of_thread(thread: &Thread<'_>, group: &RoleGroup) -> Result<GroupPlan> {
        let not_a_group = || Error::data(format!("thread {} is not the thread of a group", thread.id));
        let mut branches = thread.workflow()?.planned_branches().ok_or_else(not_a_group)?;
        let copies = group.copies.and_then(|copies| usize::try_from(copies).ok());
        let judge = copies.filter(|copies| branches.len() > *copies).and_then(|_| branches.pop());
        let items: Vec<Value> = match group.each {
            None => Vec::new(),
            Some(_) => serde_json::from_str(&thread.start.prompt).map_err(|_| not_a_group())?,
        };
        Ok(GroupPlan { branches, judge, items })
    }

    fn plain(branches: Vec<PlannedBranch>) -> GroupPlan {
        GroupPlan { branches, judge: None, items: Vec::new() }
    }

    /// The branches, then the judge: one step each in the group's thread.
    pub(super) fn steps(&self) -> Vec<PlannedBranch> {
        self.branches.iter().chain(&self.judge).cloned().collect()
    }
}

/// The listed roles whose conditions hold.
fn listed(thread: &Thread<'_>, workflow: &Workflow, (name, group): (&str, &RoleGroup)) -> Result<Vec<PlannedBranch>> {
    let mut branches = Vec::with_capacity(group.roles.len());
    let outlook = BranchOutlook::for_thread(thread)?;
    for branch in &group.roles {
        let holds = outlook.holds(workflow, branch.condition.as_deref()).map_err(|error| Error {
            message: format!("branch `{}` of group `{name}`: {}", branch.role, error.message),
            ..error
        })?;
        if holds {
            branches.push(planned(branch.role.clone(), group, branch));
        }
    }
    Ok(branches)
}

fn copies(group: &RoleGroup, branch: &GroupBranch) -> Vec<PlannedBranch> {
    (1..=group.copies.unwrap_or_default()).map(|number| planned(number.to_string(), group, branch)).collect()
}

/// The branch of the role that picks a copy; none if an expression does.
fn judge(workflow: &Workflow, group: &RoleGroup, copies: &[PlannedBranch]) -> Option<PlannedBranch> {
    let role = match CopyPicker::for_group(workflow, group) {
        CopyPicker::Role(role) => role.to_owned(),
        CopyPicker::Person => PERSON_PICKS.to_owned(),
        CopyPicker::Expression(_) => return None,
    };
    // A role can be named like the number of a copy, but not begin with `$`.
    let name = if is_free(copies, &role) { role.clone() } else { format!("${role}") };
    Some(PlannedBranch { name, role, may_fail: false, limits: ThreadLimits::default() })
}

/// Whether no branch has a name.
pub(super) fn is_free(branches: &[PlannedBranch], name: &str) -> bool {
    branches.iter().all(|branch| branch.name != name)
}

fn planned(name: String, group: &RoleGroup, branch: &GroupBranch) -> PlannedBranch {
    let may_fail = group.may_fail || branch.may_fail;
    PlannedBranch { name, role: branch.role.clone(), may_fail, limits: branch.limits }
}

/// The list that `each` gives.
fn items(thread: &Thread<'_>, name: &str, each: &str) -> Result<Vec<Value>> {
    let found = BranchOutlook::for_thread(thread)?
        .evaluate(each)
        .map_err(|error| Error { message: format!("`each` of `{name}`: {}", error.message), ..error })?;
    let kind = match found {
        Some(Value::Array(items)) => return Ok(items),
        None => "nothing",
        Some(Value::Null) => "null",
        Some(Value::Object(_)) => "an object",
        Some(Value::String(_)) => "a text",
        Some(Value::Number(_)) => "a number",
        Some(Value::Bool(_)) => "true or false",
    };
    Err(Error::data(format!("`each` of `{name}` gives {kind}; it must give a list: {each}")).hint(
        "a JSONata filter gives a single match bare, and nothing without a match; `[…]` around it always gives a list",
    ))
}

/// How a thread gets another list from `each`, by what the expression reads.
fn remade(thread: &Thread<'_>, each: &str) -> Option<String> {
    let condition = CompiledCondition::compile(each).ok()?;
    let of_field = condition.field_reads().first().map(|read| read.role.as_deref().unwrap_or(thread.position()));
    if let Some(role) = of_field.or_else(|| condition.reads().last_of.first().map(String::as_str)) {
        let role = shlex::try_quote(role).ok()?;
        let again = format!("`uwf thread fork {} --from-role {role}`", thread.id);
        return Some(format!("have the role that made the list run again: {again}"));
    }
    let has_input = !condition.input_reads().is_empty();
    has_input.then(|| format!("give other values: `uwf thread fork {} --set 'NAME=VALUE'`", thread.id))
}

/// `remade` is the hint about another list.
fn of_items(
    items: Vec<Value>,
    (name, group): (&str, &RoleGroup),
    branch: &GroupBranch,
    remade: Option<&str>,
) -> Result<GroupPlan> {
    let mut branches = Vec::with_capacity(items.len());
    let mut known = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let bad = |why: String| Error::data(format!("item {} of `{name}` {why}", index + 1));
        let remade = |error: Error| error.hints(remade.map(str::to_owned));
        let bytes = item.to_string().len();
        if bytes > MAX_ITEM {
            return Err(bad(format!("has {bytes} bytes; the limit is {MAX_ITEM}"))
                .hint("let the items name files, which the branches read"));
        }
        // It is the value of an environment variable.
        if item.as_str().is_some_and(|text| text.contains('\0')) {
            return Err(remade(bad("has a NUL character, which no agent can be given".to_owned())));
        }
        let own = match &group.key {
            None => (index + 1).to_string(),
            Some(key) => key_of(item, key).map_err(|why| {
                remade(bad(why).hint(format!(
                    "`key: {key}` names each branch by the `{key}` of its item; without `key`, branches have numbers"
                )))
            })?,
        };
        if let Some(first) = known.insert(own.clone(), index) {
            let key = group.key.as_deref().unwrap_or_default();
            let message = format!("items {} and {} of `{name}` have the same `{key}`: `{own}`", first + 1, index + 1);
            return Err(remade(
                Error::data(message).hint(format!("each item needs its own `{key}`, because it names the branch")),
            ));
        }
        branches.push(planned(own, group, branch));
    }
    Ok(GroupPlan { items, ..GroupPlan::plain(branches) })
}

/// The value of an item's key, as the name of a branch, or why it can't be one.
fn key_of(item: &Value, key: &str) -> Result<String, String> {
    let name = match item.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        None => return Err(format!("has no `{key}`")),
        Some(_) => return Err(format!("cannot name a branch: its `{key}` is neither a text nor a number")),
    };
    let is_name = !name.trim().is_empty() && name.chars().count() <= MAX_KEY && !name.starts_with('$');
    if !is_name || name.chars().any(char::is_control) {
        return Err(format!(
            "cannot name a branch by its `{key}`: use 1 to {MAX_KEY} characters on one line, not beginning with `$`"
        ));
    }
    Ok(name)
}
