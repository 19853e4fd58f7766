//! Picks the best of a group's copies: by a role, by an expression, or by a person.

use std::collections::BTreeMap;
use std::path::Path;

use agent_kit::{Error, ErrorKind, Result};
use json_cas::NodeHash;
use serde_json::{Map, Value, json};
use uwf_core::prompt::{CopyChanges, copies_part, git_branches_part};
use uwf_core::text::{ellipsize, one_line};
use uwf_core::thread::{BranchOutput, ThreadId};
use uwf_core::usage::ThreadLimits;
use uwf_core::workflow::{
    CopyPicker, PERSON_PICKS, PlannedBranch, RESULTS, Role, RoleGroup, RoleOptions, WINNER, Workflow,
};
use uwf_engine::attempt::agents::{BUILT_IN_PREFIX, HUMAN};
use uwf_engine::attempt::bindings::{AgentBindings, AgentReference};
use uwf_engine::attempt::child_threads::Child;
use uwf_engine::root::home::Home;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::{message, moderate};
use uwf_engine::verbs::end_group::{BranchResult, EndedBranch, link_branches};
use uwf_engine::verbs::group_files::GroupFiles;
use uwf_engine::verbs::start_child;
use uwf_engine::views::branches;

use super::plan::GroupPlan;
use super::results::BranchErrors;
use super::{BranchTask, GroupAttempt, no_role, window};
use crate::workflow::BRIEF_SHARE;

/// Most symbols shown of the output of a copy.
const SHOWN: usize = 200;

/// A workflow, with the role of a person if a person may pick a copy of its group.
pub(super) fn with_person(home: &Home, workflow: Workflow, group: &RoleGroup) -> Result<Workflow> {
    let is_role = matches!(CopyPicker::for_group(&workflow, group), CopyPicker::Role(_));
    if group.copies.is_none() || is_role || workflow.roles.contains_key(PERSON_PICKS) {
        return Ok(workflow);
    }
    let schema = json!({
        "type": "object",
        "properties": { WINNER: { "type": "integer", "description": "the number of the best copy" } },
        "required": [WINNER],
        "additionalProperties": false,
    });
    let person = Role {
        description: "picks the best copy".to_owned(),
        goal: "Pick the best copy.".to_owned(),
        capabilities: Vec::new(),
        procedure: String::new(),
        output: String::new(),
        meta: home.store().put_schema(schema)?,
        more: RoleOptions::default(),
    };
    let roles: BTreeMap<String, Role> = workflow.roles.into_iter().chain([(PERSON_PICKS.to_owned(), person)]).collect();
    Ok(Workflow { roles, ..workflow })
}

impl GroupAttempt<'_, '_> {
    /// Rejects a group whose copies have all failed. They were settled, so a retry would not play them again.
    pub(super) fn refuse_without_copies(&self, group: &Thread<'_>, ended: &[EndedBranch]) -> Result<()> {
        let has_step = |branch: &EndedBranch| matches!(branch.result, BranchResult::Step(_));
        if self.group.copies.is_none() || ended.iter().any(has_step) {
            return Ok(());
        }
        let (parent, name) = (&self.context.thread().id, self.context.role_name());
        let mut errors = BranchErrors::new(self.group_path(), None);
        for branch in ended {
            if let BranchResult::Failed(why) = &branch.result {
                let thread = start_child::child_id(group, &branch.name);
                errors.push(&branch.name, &thread, Error::agent_failed(why.clone()));
            }
        }
        let Error { message, .. } = errors.into_error(parent);
        Err(Error::agent_failed(format!("every copy of `{name}` failed\n{message}"))
            .hint(format!("`uwf thread fork {parent}` begins a thread that plays the copies again")))
    }

    /// Lets a role, an expression or a person pick a copy, after all copies are linked.
    pub(super) fn pick(&self, id: &ThreadId, plan: &GroupPlan) -> Result<()> {
        let home = self.context.thread().home();
        let (group, _) = Thread::active(home, id)?;
        if self.group.copies.is_none() || group.chain()?.len() > plan.branches.len() {
            return Ok(());
        }
        match (CopyPicker::for_group(&self.workflow, &self.group), &plan.judge) {
            (CopyPicker::Expression(expression), _) => self.pick_by_expression(&group, plan, expression),
            (_, Some(judge)) => self.judge(&group, plan, judge),
            (_, None) => Ok(()),
        }
    }

    /// Checks that an expression names a copy. If it does not, a person may pick one.
    fn pick_by_expression(&self, group: &Thread<'_>, plan: &GroupPlan, expression: &str) -> Result<()> {
        let (home, name) = (group.home(), self.context.role_name());
        let copies = message::branches(home.store(), group.head)?;
        let Err(error) = by_expression(group, name, expression).and_then(|winner| winner_among(name, &winner, &copies))
        else {
            return Ok(());
        };
        // A store that does not answer says nothing about the expression.
        if error.kind != ErrorKind::Data || !self.is_person(PERSON_PICKS)? {
            return Err(error);
        }
        match self.begin_judge(group, &person(), &copies)? {
            Child::Ended(ended) => self.link_pick(group, plan, PERSON_PICKS, window::not_killed(ended)?.head),
            Child::Active(_) => Err(error.hint(self.take_hint())),
        }
    }

    /// Lets a role or a person pick a copy.
    fn judge(&self, group: &Thread<'_>, plan: &GroupPlan, judge: &PlannedBranch) -> Result<()> {
        let home = group.home();
        let copies = message::branches(home.store(), group.head)?;
        let begun = self.begin_judge(group, judge, &copies)?;
        let is_person = self.is_person(&judge.role)?;
        let workers = self.workers(false).filter(|_| !is_person);
        let ended = window::play_one(home, &judge.name, begun, &self.signals, workers).map_err(|error| {
            let (parent, name) = (&self.context.thread().id, self.context.role_name());
            match error.kind {
                ErrorKind::Waiting if is_person => {
                    let dir = self.files.as_ref().map(GroupFiles::dir);
                    // The person can pick without the numbers of lines.
                    let changes = self.changes(group, &copies).unwrap_or_default();
                    Error::waiting(format!(
                        "a person picks one of the copies of `{name}`: uwf thread take {parent} {}{}",
                        copy_argument(name),
                        lines_of(&copies, &changes, dir)
                    ))
                }
                _ => {
                    let thread = start_child::child_id(group, &judge.name);
                    BranchErrors::only(self.group_path(), &judge.name, &thread, error)
                        .into_error(parent)
                        .hint(self.take_hint())
                }
            }
        })?;
        self.link_pick(group, plan, &judge.name, ended.head)
    }

    fn take_hint(&self) -> String {
        let (parent, name) = (&self.context.thread().id, self.context.role_name());
        format!("`uwf thread take {parent} {}` picks a copy yourself", copy_argument(name))
    }

    /// Whether a role is the person who picks, not a role of the workflow.
    fn is_person(&self, role: &str) -> Result<bool> {
        Ok(role == PERSON_PICKS && !self.context.thread().workflow()?.roles.contains_key(PERSON_PICKS))
    }

    fn link_pick(&self, group: &Thread<'_>, plan: &GroupPlan, name: &str, step: NodeHash) -> Result<()> {
        let judged = EndedBranch { name: name.to_owned(), result: BranchResult::Step(step) };
        link_branches(group.home(), &group.id, plan.branches.len(), &[judged])
    }

    /// Starts the thread of the role that picks, or finds it.
    fn begin_judge(&self, group: &Thread<'_>, judge: &PlannedBranch, copies: &[BranchOutput]) -> Result<Child> {
        // If its thread has begun, it has its task.
        let part = match start_child::find_child(group, &judge.name)? {
            Some(_) => String::new(),
            None => self.judge_part(group, copies)?,
        };
        let is_person = self.is_person(&judge.role)?;
        let sees_as = if is_person { self.context.role_name() } else { &judge.role };
        let bound = if is_person { with_human() } else { AgentBindings::default() };
        let task = BranchTask { position: copies.len(), item: None, part: &part, sees_as, bound, has_files: false };
        self.start(group, judge, task, || self.judge_workflow(&judge.role, copies))
    }

    /// The part of the judge's task that has the copies, their changes and their git branches.
    fn judge_part(&self, group: &Thread<'_>, copies: &[BranchOutput]) -> Result<String> {
        let changes = self.changes(group, copies)?;
        let mut part = copies_part(copies, &changes, self.opened.prompt_budget / (2 * BRIEF_SHARE));
        if let Some(files) = &self.files {
            let branches = files.git_branches(group, &names_of_sound(copies))?;
            if !branches.is_empty() {
                part.push_str(&git_branches_part(self.context.role_name(), &branches));
            }
        }
        Ok(part)
    }

    /// The files that each copy changed; empty if copies have no worktrees.
    fn changes(&self, group: &Thread<'_>, copies: &[BranchOutput]) -> Result<Vec<CopyChanges>> {
        let Some(files) = &self.files else { return Ok(Vec::new()) };
        files.changes(group, &names_of_sound(copies), &self.context.redactor()?)
    }

    /// The workflow of the judge's thread: it can name only copies that exist and have not failed.
    fn judge_workflow(&self, role: &str, copies: &[BranchOutput]) -> Result<Workflow> {
        let home = self.context.thread().home();
        let mut workflow = self.workflow.branch(role).ok_or_else(|| no_role(role))?;
        let judge = workflow.roles.get_mut(role).ok_or_else(|| no_role(role))?;
        judge.meta = winners_schema(home, judge.meta, copies)?;
        Ok(workflow)
    }

    /// The output of the group: the winner, the judge's output, and the outputs of the copies. `steps` are the steps of the group's thread.
    pub(super) fn picked(&self, group: &Thread<'_>, steps: Vec<BranchOutput>) -> Result<Value> {
        let mut output = Map::new();
        let picker = CopyPicker::for_group(&self.workflow, &self.group);
        let name = self.context.role_name();
        let mut steps = steps;
        let copies = self.group.copies.unwrap_or_default();
        let winner = match picker {
            CopyPicker::Expression(expression) if steps.len() as u64 <= copies => {
                by_expression(group, name, expression)?
            }
            _ => {
                let verdict = steps.pop().map(|step| step.output).unwrap_or_default();
                let winner = verdict.get(WINNER).cloned().unwrap_or_default();
                if let CopyPicker::Role(role) = picker
                    && role != PERSON_PICKS
                {
                    output.insert("verdict".to_owned(), verdict);
                }
                winner
            }
        };
        let number = winner_among(name, &winner, &steps)?;
        if let Some(files) = &self.files {
            files.take_winner(group, &steps[number - 1].name)?;
        }
        output.insert(WINNER.to_owned(), number.into());
        output.insert(RESULTS.to_owned(), steps.into_iter().map(|step| step.output).collect());
        Ok(Value::Object(output))
    }
}

/// The argument that names a copy of a group.
fn copy_argument(group: &str) -> String {
    branches::as_argument(&format!("{group}.NUMBER")).into_owned()
}

fn names_of_sound(copies: &[BranchOutput]) -> Vec<&str> {
    copies.iter().filter(|copy| copy.failure().is_none()).map(|copy| copy.name.as_str()).collect()
}

/// A line for each copy, with its output and the command that shows its changes. `dir` is the directory of the thread's worktree.
fn lines_of(copies: &[BranchOutput], changes: &[CopyChanges], dir: Option<&Path>) -> String {
    let line = |copy: &BranchOutput| {
        let output = match (copy.failure(), &copy.output) {
            (Some(why), _) => format!("failed: {why}"),
            (None, Value::String(text)) => text.clone(),
            (None, output) => output.to_string(),
        };
        let changes = changes.iter().find(|changes| changes.name == copy.name).zip(dir);
        let changes = changes.map(|(changes, dir)| {
            format!("\n   {}: git -C {} diff {}", changes.summary(), dir.display(), changes.range)
        });
        format!("\n{}: {}{}", copy.name, ellipsize(&one_line(&output), SHOWN), changes.unwrap_or_default())
    };
    copies.iter().map(line).collect()
}

/// The number of the winner, if it is a copy that has not failed.
fn winner_among(group: &str, winner: &Value, copies: &[BranchOutput]) -> Result<usize> {
    let is_sound = |copy: &&BranchOutput| copy.failure().is_none();
    let number = number(winner).filter(|number| copies.get(number.wrapping_sub(1)).as_ref().is_some_and(is_sound));
    number.ok_or_else(|| {
        let copies: Vec<&str> = copies.iter().filter(is_sound).map(|copy| copy.name.as_str()).collect();
        Error::data(format!(
            "{winner} was picked as the winner of group `{group}`, whose copies are {}",
            copies.join(", ")
        ))
    })
}

/// The branch of the person who picks.
fn person() -> PlannedBranch {
    let name = PERSON_PICKS.to_owned();
    PlannedBranch { role: name.clone(), name, may_fail: false, limits: ThreadLimits::default() }
}

/// The binding of the role of the person who picks.
fn with_human() -> AgentBindings {
    let human = AgentReference::plain(format!("{BUILT_IN_PREFIX}{HUMAN}"));
    AgentBindings { agents: [(PERSON_PICKS.to_owned(), human)].into(), every_role: None }
}

/// The schema of a judge's output, in which only copies that have not failed can win.
fn winners_schema(home: &Home, meta: NodeHash, copies: &[BranchOutput]) -> Result<NodeHash> {
    let mut schema = home.store().schema(meta)?.value().clone();
    let can_win: Vec<&str> =
        copies.iter().filter(|copy| copy.failure().is_none()).map(|copy| copy.name.as_str()).collect();
    let Some(winner) = schema.pointer_mut(&format!("/properties/{WINNER}")).and_then(Value::as_object_mut) else {
        return Ok(meta);
    };
    let is_text = winner.get("type").and_then(Value::as_str) == Some("string");
    let names = can_win.into_iter().map(|name| match name.parse::<u64>() {
        Ok(number) if !is_text => Value::from(number),
        _ => Value::from(name),
    });
    winner.insert("enum".to_owned(), names.collect());
    Ok(home.store().put_schema(schema)?)
}

/// The copy that an expression names: the first, if it names several.
fn by_expression(group: &Thread<'_>, name: &str, expression: &str) -> Result<Value> {
    let found = moderate::evaluate_bounded(group, expression, None)
        .map_err(|error| Error { message: format!("`pick` of `{name}`: {}", error.message), ..error })?;
    let found = match found {
        Some(Value::Array(several)) => several.into_iter().next(),
        other => other,
    };
    found.ok_or_else(|| {
        Error::data(format!("`pick` of `{name}` names no copy: {expression}"))
            .hint("it must give the number of a copy, such as `steps[output.passed].role`")
    })
}

fn number(winner: &Value) -> Option<usize> {
    match winner {
        Value::String(text) => text.trim().parse().ok(),
        winner => winner.as_u64().and_then(|number| usize::try_from(number).ok()),
    }
}
