//! Calls the moderator: loads only the part of the history that its conditions read, and evaluates the expressions it returns.

use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_core::moderator::{
    self, CompiledCondition, ConditionClass, DecisionState, EndReason, EvaluationRequest, HistoryReads, MatchReason,
    Moderator, ModeratorDecision, ModeratorError, NextAction, ThreadHistory, present,
};
use uwf_core::node::NodeKind;
use uwf_core::outcome::SUCCEEDED;
use uwf_core::thread::{Step, ThreadId};
use uwf_core::workflow::{END, GroupBranch, START, Transition, Workflow};

use crate::error::{Error, ErrorCause, Result};
use crate::root::home::Home;
use crate::thread::branches;
use crate::thread::evaluate;
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::thread::steps::StepParts;
use crate::thread::usage;

/// Maximum size of a value in an explanation, in bytes of JSON. Compared values are usually far shorter; a longer one is a whole output
/// or several.
const MAX_SHOWN: usize = 2048;

/// Maximum number of steps to read for a glance.
const GLANCED: usize = 4;

/// Explanation of a decision, for reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionExplanation {
    /// The role chosen, or `$END`.
    pub next: String,
    /// Every transition that was considered, in order.
    pub considered: Vec<ConsideredTransition>,
    /// If the role is a group with conditions: which roles it plays, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<ConsideredTransition>,
}

/// A considered transition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConsideredTransition {
    /// Its target.
    pub role: String,
    /// Name of its condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The workflow's description of the condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// The parts of the history that the expression read, in the order it names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<ReadValue>,
    /// The result; absent if there was none.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Whether it was taken.
    pub matched: bool,
    /// The reason.
    pub why: String,
    /// Why its condition cannot be evaluated. A group with such a branch does not begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A part of the history that a condition read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReadValue {
    /// The part, as an expression.
    pub what: String,
    /// Its value; absent if it is missing, too long or unknown.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Size of a value that is too long for an explanation, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// Why it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The next role of a thread, or its end.
///
/// # Errors
/// `Data` if a condition cannot be evaluated; errors of the nodes it reads.
pub fn next(thread: &Thread<'_>, workflow: &Workflow) -> Result<ModeratorDecision> {
    decide(thread, workflow, None, unroutable)
}

/// Decides at the head of a thread. `refused` makes the error of a condition that cannot be evaluated.
fn decide(
    thread: &Thread<'_>,
    workflow: &Workflow,
    item: Option<&Value>,
    refused: impl Fn(&Thread<'_>, &ModeratorError) -> Error,
) -> Result<ModeratorDecision> {
    let moderator = match Moderator::for_position(workflow, thread.position()) {
        Ok(moderator) => moderator,
        // A role without transitions: nothing can match.
        Err(ModeratorError::NoPosition { .. }) => {
            return Ok(ModeratorDecision { next: NextAction::End(EndReason::NoMatch), trace: Vec::new() });
        }
        Err(error) => return Err(refused(thread, &error)),
    };
    let history = ThreadHistory { item: item.cloned(), ..history(thread, &moderator.reads())? };
    let mut progress = moderator.decide(&history).map_err(|error| refused(thread, &error))?;
    loop {
        progress = match progress {
            DecisionState::Decided(decision) => return Ok(decision),
            DecisionState::Evaluate { request, resume } => {
                let answer = evaluate::in_child(thread.home(), &request)?;
                resume.answer(answer).map_err(|error| refused(thread, &error))?
            }
        };
    }
}

/// The next role of a thread, or its end, if that is cheap to find.
pub(crate) fn glance(thread: &Thread<'_>, workflow: &Workflow) -> Option<NextAction> {
    if let Err(ModeratorError::NoPosition { .. }) = Moderator::for_position(workflow, thread.position()) {
        return Some(NextAction::End(EndReason::NoMatch));
    }
    glance_at_decision(thread, workflow).map(|decision| decision.next)
}

/// The decision at the head of a thread, if it is cheap to make: without a child process for conditions, and reading few steps. `None` at
/// a position without transitions.
pub(crate) fn glance_at_decision(thread: &Thread<'_>, workflow: &Workflow) -> Option<ModeratorDecision> {
    let moderator = Moderator::for_position(workflow, thread.position()).ok()?;
    let reads = moderator.reads();
    if reads.usage || reads.positions(thread.chain().ok()?.len()).len() > GLANCED {
        return None;
    }
    match moderator.decide(&history(thread, &reads).ok()?).ok()? {
        DecisionState::Decided(decision) => Some(decision),
        DecisionState::Evaluate { .. } => None,
    }
}

/// The decision about a named condition of a workflow as if it were the only one. `item` is the item of the branch that has it.
///
/// # Errors
/// `Data` if it cannot be evaluated.
pub(crate) fn decide_alone(
    thread: &Thread<'_>,
    workflow: &Workflow,
    condition: &str,
    item: Option<&Value>,
) -> Result<ModeratorDecision> {
    let only = Transition { role: END.to_owned(), condition: Some(condition.to_owned()), outcome: None };
    let graph = [(thread.position().to_owned(), vec![only])].into();
    decide(thread, &Workflow { graph, ..workflow.clone() }, item, |thread, error| {
        Error::data(error.to_string()).hint(evaluated_by(&thread.id)).hint(NEW_VERSION)
    })
}

/// Explains which branches a group has on this thread, in the order of the workflow. Empty if the role is not a group, or if its
/// branches have no conditions. `item` is the item of the branch that plays the group.
pub(crate) fn explain_branches(
    thread: &Thread<'_>,
    workflow: &Workflow,
    group: &str,
    item: Option<&Value>,
) -> Vec<ConsideredTransition> {
    let Some(play) = workflow.roles.get(group).and_then(|role| role.more.play.as_ref()) else { return Vec::new() };
    if play.roles.iter().all(|branch| branch.condition.is_none()) {
        return Vec::new();
    }
    let considered = |branch: &GroupBranch| {
        let unknown = |why: String| ConsideredTransition {
            role: branch.role.clone(),
            condition: branch.condition.clone(),
            description: None,
            expression: None,
            reads: Vec::new(),
            value: None,
            matched: branch.condition.is_none(),
            why,
            error: None,
        };
        let Some(condition) = &branch.condition else { return unknown(why(MatchReason::Unconditional, true)) };
        match decide_alone(thread, workflow, condition, item) {
            Ok(decision) => {
                let explained = explain_with(thread, workflow, &decision, item).considered.pop();
                let explained = explained.map(|line| ConsideredTransition { role: branch.role.clone(), ..line });
                explained.unwrap_or_else(|| unknown("unknown".to_owned()))
            }
            Err(error) => ConsideredTransition { error: Some(error.message.clone()), ..unknown(error.message) },
        }
    };
    play.roles.iter().map(considered).collect()
}

/// Evaluates any expression on a thread, in the sandbox.
///
/// # Errors
/// `Data` if it cannot be evaluated.
pub fn evaluate(thread: &Thread<'_>, expression: &str) -> Result<Option<Value>> {
    let condition = CompiledCondition::compile(expression)?;
    let history = history(thread, condition.reads())?;
    evaluate::in_child(thread.home(), &EvaluationRequest::new(expression, &history))?
        .map_err(|why| not_evaluated(expression, &why))
}

/// Evaluates an expression of the workflow on a thread: in the sandbox only if its cost is not bounded. `item` is the item of the branch
/// that has it.
///
/// # Errors
/// `Data` if it cannot be evaluated.
pub fn evaluate_bounded(thread: &Thread<'_>, expression: &str, item: Option<&Value>) -> Result<Option<Value>> {
    let condition = CompiledCondition::compile(expression)?;
    let history = ThreadHistory { item: item.cloned(), ..history(thread, condition.reads())? };
    let request = EvaluationRequest::new(expression, &history);
    let answer = match condition.class() {
        ConditionClass::Plain => moderator::evaluate(&request).map_err(|error| error.to_string()),
        ConditionClass::Bounded => evaluate::in_child(thread.home(), &request)?,
    };
    answer.map_err(|why| not_evaluated(expression, &why))
}

/// The part of a thread's history that conditions read.
pub fn history(thread: &Thread<'_>, reads: &HistoryReads) -> Result<ThreadHistory> {
    let chain = thread.chain()?;
    let mut history = ThreadHistory {
        thread_id: thread.id.to_string(),
        workflow: thread.start.workflow.to_string(),
        prompt: thread.start.prompt.clone(),
        input: thread.input()?,
        depth: thread.start.depth.unwrap_or(0),
        total: chain.len(),
        ..ThreadHistory::default()
    };
    if reads.usage {
        history.usage = Some(usage::reported(thread)?);
    }
    if reads.branches {
        history.branches = branches::of_groups(thread, &outcome_of_branch)?;
    }
    for position in reads.positions(chain.len()) {
        let step = thread.step(position, StepParts { detail: reads.details, ..StepParts::NONE })?;
        let outcome = if reads.outcomes { outcome_of_child(thread.home(), step.detail)? } else { None };
        history.steps.push(Step { outcome, ..step });
    }
    if history.is_complete() {
        return Ok(history);
    }
    for role in &reads.count_of {
        history.counts.insert(role.clone(), chain.count_of(role));
    }
    for role in &reads.first_of {
        if let Some(first) = chain.first_of(role) {
            history.first_of.insert(role.clone(), thread.step(first, StepParts::NONE)?.output);
        }
    }
    for role in &reads.last_of {
        if let Some(last) = chain.last_of(role) {
            history.last_of.insert(role.clone(), thread.step(last, StepParts::NONE)?.output);
        }
    }
    Ok(history)
}

/// The outcome of the child thread that a step has as its detail: its moderator decides again about its last step. A group has the outcome
/// of its first branch that a workflow ended in another way than `succeeded`. `None` if no child thread played the role.
fn outcome_of_child(home: &Home, detail: NodeHash) -> Result<Option<String>> {
    if !is_step(home, detail)? {
        return Ok(None);
    }
    let child = Thread::without_id(home, detail)?;
    let workflow = child.workflow()?;
    if workflow.planned_branches().is_none() {
        return Ok(next(&child, &workflow)?.outcome().map(str::to_owned));
    }
    for record in child.chain()?.records() {
        let other = outcome_of_branch(home, record.detail)?.filter(|outcome| outcome != SUCCEEDED);
        if other.is_some() {
            return Ok(other);
        }
    }
    Ok(Some(SUCCEEDED.to_owned()))
}

/// The outcome of the workflow or group that played a branch whose result is `step`. `None` if an agent played it, or if it failed.
pub(crate) fn outcome_of_branch(home: &Home, step: NodeHash) -> Result<Option<String>> {
    match is_step(home, step)? {
        true => outcome_of_child(home, nodes::step_node(home.store(), step)?.0.detail),
        false => Ok(None),
    }
}

fn is_step(home: &Home, node: NodeHash) -> Result<bool> {
    Ok(NodeKind::from_type_hash(nodes::get(home.store(), node)?.type_hash) == Some(NodeKind::StepNode))
}

/// Explains a decision made on this thread, for reports.
pub fn explain(thread: &Thread<'_>, workflow: &Workflow, decision: &ModeratorDecision) -> DecisionExplanation {
    explain_with(thread, workflow, decision, None)
}

fn explain_with(
    thread: &Thread<'_>,
    workflow: &Workflow,
    decision: &ModeratorDecision,
    item: Option<&Value>,
) -> DecisionExplanation {
    let next = match &decision.next {
        NextAction::Role(role) => role.clone(),
        NextAction::End(_) => END.to_owned(),
    };
    let considered = decision.trace.iter().map(|line| ConsideredTransition {
        role: line.role.clone(),
        condition: line.condition.clone(),
        description: line.condition.as_deref().and_then(|name| description(workflow, name)),
        expression: line.expression.clone(),
        reads: line.expression.as_deref().map(|expression| values_read(thread, expression, item)).unwrap_or_default(),
        value: line.value.clone(),
        matched: line.matched,
        why: why(line.note, line.matched),
        error: None,
    });
    DecisionExplanation { next, considered: considered.collect(), branches: Vec::new() }
}

fn description(workflow: &Workflow, condition: &str) -> Option<String> {
    let description = &workflow.conditions.get(condition)?.description;
    (!description.trim().is_empty()).then(|| description.clone())
}

/// The values an expression reads from a thread. A part that is the whole expression is left out: it equals the result.
fn values_read(thread: &Thread<'_>, expression: &str, item: Option<&Value>) -> Vec<ReadValue> {
    let Ok(condition) = CompiledCondition::compile(expression) else { return Vec::new() };
    let parts = condition.references().into_iter().filter(|part| part != expression.trim());
    parts.map(|part| value_read(thread, part, item)).collect()
}

fn value_read(thread: &Thread<'_>, what: String, item: Option<&Value>) -> ReadValue {
    let (value, error) = match evaluate_bounded(thread, &what, item) {
        Ok(value) => (value, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let bytes = value.as_ref().map(|value| value.to_string().len()).filter(|bytes| *bytes > MAX_SHOWN);
    ReadValue { what, value: value.filter(|_| bytes.is_none()), bytes, error }
}

fn not_evaluated(expression: &str, why: &str) -> Error {
    Error::data(format!("`{expression}` could not be evaluated: {why}"))
}

fn why(note: MatchReason, matched: bool) -> String {
    match note {
        MatchReason::Unconditional => "it has no condition".to_owned(),
        MatchReason::Boolean => format!("the expression gave {matched}"),
        MatchReason::Counted => format!("the value counts as {matched}"),
        MatchReason::Missing => "the expression gave nothing, which counts as false".to_owned(),
    }
}

fn unroutable(thread: &Thread<'_>, error: &ModeratorError) -> Error {
    let (id, position) = (&thread.id, thread.position());
    Error::data(format!("thread {id} cannot be routed from `{position}`: {error}"))
        .hint(evaluated_by(id))
        .hint(around(id, position))
        .hint(NEW_VERSION)
        .with_cause(ErrorCause::Unroutable)
}

/// Hint for any condition.
fn evaluated_by(thread: &ThreadId) -> String {
    format!("`uwf thread eval {thread} EXPR` shows what an expression gives")
}

/// Hint for a wrong condition.
const NEW_VERSION: &str = "a thread keeps its version of the workflow: correct the condition, run `uwf workflow put \
                           FILE`, then start a new thread";

/// Hint for a correct condition that reads wrong data.
fn around(thread: &ThreadId, position: &str) -> String {
    match position {
        START => format!("`uwf thread fork {thread} -p 'TEXT'` starts a thread with another task"),
        role => {
            let is_word = role.chars().all(|symbol| symbol.is_alphanumeric() || ['-', '_', '.'].contains(&symbol));
            let word = if is_word { role.to_owned() } else { format!("'{}'", role.replace('\'', "'\\''")) };
            format!("`uwf thread fork {thread} --from-role {word}` starts a thread in which `{role}` is next")
        }
    }
}
