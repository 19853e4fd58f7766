//! `thread why`: how a step was decided, and how its output was obtained.
//!
//! Decisions are not stored. The moderator repeats the decision on the thread before the step: the graph, the conditions and the history
//! never change, so the result is the same.

use json_cas::{Node, NodeHash};
use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::agent_name::AgentName;
use uwf_core::node::{NodeKind, ReactSession, RungResult};
use uwf_core::thread::ThreadId;

use crate::attempt::branch_outlook::BranchOutlook;
use crate::attempt::recorded::{RecordedAttempt, ThreadRecord};
use crate::error::Result;
use crate::root::home::Home;
use crate::root::{history, thread_ids};
use crate::thread::chain;
use crate::thread::load::Thread;
use crate::thread::moderate::{self, ConsideredTransition, DecisionExplanation};
use crate::thread::nodes;
use crate::thread::state::ThreadState;
use crate::thread::steps::StepParts;
use crate::views::show::ThreadStatus;
use crate::views::thread_now::ThreadNow;
use crate::views::{pages, show, workflow_names};

/// Why a step has its role and output, or why a thread is in its state.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadExplanation {
    /// The workflow.
    pub workflow: NodeHash,
    /// The workflow's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_name: Option<String>,
    /// The requested thread, or one that has the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// The step; absent for a thread without steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<ReasonedStep>,
    /// The next decision in the requested thread, or why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<ThreadOutlook>,
}

/// A step with the reasons for it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasonedStep {
    /// The StepNode.
    pub hash: NodeHash,
    /// Its position in the thread, from 1.
    pub index: usize,
    /// Role that was played.
    pub role: String,
    /// The agent.
    #[serde(flatten)]
    pub agent: AgentName,
    /// The previous role, or `$START`.
    pub after: String,
    /// How the moderator chose the role.
    pub routing: StepRouting,
    /// Whether the moderator chooses this role. A step added by hand may have another role.
    pub as_chosen: bool,
    /// If the role is a group with conditions: which roles it played, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<ConsideredTransition>,
    /// How its output was obtained.
    pub output: OutputOrigin,
}

/// A decision, or why it cannot be explained.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum StepRouting {
    /// The explanation.
    Explained(DecisionExplanation),
    /// A required node is not readable, or a condition cannot be evaluated.
    Unexplained {
        /// The reason.
        error: String,
    },
}

/// How an output was obtained.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputOrigin {
    /// Node that describes it.
    pub detail: Option<NodeHash>,
    /// Rung of the extraction ladder that produced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extracted_by: Option<String>,
    /// Each rung that was tried, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<RungResult>,
    /// Failed attempts at this step, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedAttempt>,
    /// Whether a later step command adopted the result of an earlier one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub adopted: bool,
    /// The failed attempt whose text was read again instead of running the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reread: Option<NodeHash>,
    /// The last step of the child thread that played the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_step: Option<NodeHash>,
    /// Why the rest is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

/// Describes a rung of the extraction ladder.
#[must_use]
pub fn rung_in_words(rung: &str) -> &'static str {
    match rung {
        "submit" => "the agent gave it as a value",
        "frontmatter" => "read from the header of the agent's answer",
        "feedback" => "the agent was asked again, in the same session",
        "llm" => "a model read it out of the agent's answer",
        _ => "as its agent says",
    }
}

/// A failed attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedAttempt {
    /// The attempt node.
    pub attempt: NodeHash,
    /// The agent, if known.
    #[serde(flatten)]
    pub agent: Option<AgentName>,
    /// Exit code, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Why it failed.
    pub error: String,
}

/// The future of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadOutlook {
    /// The state of the thread.
    pub state: ThreadState,
    /// Why it is in this state, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The outcome of a thread that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The moderator's next choice; `$END` is the end. For a killed thread, the choice that would have followed.
    pub routing: StepRouting,
    /// If the next role is a group with conditions: which roles it plays, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<ConsideredTransition>,
    /// Failed attempts at the next step so far, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedAttempt>,
}

/// Explains a thread: its newest step, and what comes next. Reads only what the conditions of these two decisions read, however long the
/// thread is.
///
/// # Errors
/// `NotFound` if the thread does not exist; errors of its head and of the workflow.
pub fn of_thread(home: &Home, id: &ThreadId) -> Result<ThreadExplanation> {
    let now = ThreadNow::read(home, id)?;
    let thread = &now.thread;
    let steps = thread.chain()?.len();
    let step = steps.checked_sub(1).map(|index| reasoned(thread, &now.record, index)).transpose()?;
    Ok(ThreadExplanation { step, next: Some(ahead(&now)?), ..about(thread) })
}

/// The future of a thread, or why it ended.
pub fn ahead(now: &ThreadNow<'_>) -> Result<ThreadOutlook> {
    let standing = show::status(now)?;
    let failures = if standing.done { Vec::new() } else { pages::failures(now) };
    let failed = failures.into_iter().map(failed_attempt).collect();
    let (routing, chosen) = routing(&now.thread)?;
    let branches = branches(&now.thread, chosen.as_deref())?;
    let ThreadStatus { state, why, outcome, .. } = standing;
    Ok(ThreadOutlook { state, why, outcome, routing, branches, failed })
}

/// Explains a step. A step belongs to all threads that were forked after it. Uses the newest of them that knows its own steps; with
/// 10,000 threads, finding it reads 10,000 small cache files.
///
/// # Errors
/// `NotFound` if the node does not exist, `Data` if it is not a step; errors of its nodes.
pub fn of_step(home: &Home, hash: NodeHash) -> Result<ThreadExplanation> {
    nodes::step_node(home.store(), hash)?;
    let known = thread_with(home, hash)?;
    let id = known.as_ref().map(|thread| thread.id.clone());
    let thread = known.map_or_else(|| Thread::without_id(home, hash), Ok)?;
    let reasons = of_step_in(&thread, &ThreadRecord::read(home, &thread.id)?, hash)?;
    Ok(ThreadExplanation { thread: id, ..reasons.unwrap_or_else(|| about(&thread)) })
}

/// Explains a step of a thread; `None` if the thread does not have it. Reads only this thread, however many there are.
pub fn of_step_in(thread: &Thread<'_>, record: &ThreadRecord, hash: NodeHash) -> Result<Option<ThreadExplanation>> {
    let Some(index) = thread.chain()?.position(hash) else { return Ok(None) };
    Ok(Some(ThreadExplanation { step: Some(reasoned(thread, record, index)?), ..about(thread) }))
}

fn about(thread: &Thread<'_>) -> ThreadExplanation {
    let workflow = thread.start.workflow;
    let workflow_name = workflow_names::own_name(thread.home(), workflow);
    ThreadExplanation { workflow, workflow_name, thread: Some(thread.id.clone()), step: None, next: None }
}

/// The newest thread of this machine with a step, by its head or by the cache of its chain.
fn thread_with(home: &Home, step: NodeHash) -> Result<Option<Thread<'_>>> {
    let finished = history::all(home)?.into_iter().map(|line| (line.thread.to_string(), line.head));
    let heads: std::collections::HashMap<String, NodeHash> = finished.chain(home.heads().list()?).collect();
    for id in thread_ids::all(home)?.into_iter().rev() {
        let (Some(head), Ok(thread)) = (heads.get(&id), id.parse::<ThreadId>()) else { continue };
        if *head != step && !chain::has_cached(home, &thread, step) {
            continue;
        }
        // The cache may be older than a move of the thread's head.
        if let Ok(found) = Thread::load_at(home, thread, *head)
            && found.chain().is_ok_and(|chain| chain.position(step).is_some())
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn reasoned(thread: &Thread<'_>, record: &ThreadRecord, index: usize) -> Result<ReasonedStep> {
    let before = thread.as_of(index)?;
    let (routing, chosen) = routing(&before)?;
    let store = thread.home().store();
    let hash = thread.step_hash(index)?;
    let (node, _) = nodes::step_node(store, hash)?;
    let alias = thread.step(index, StepParts::ALIAS).ok().and_then(|step| step.alias);
    Ok(ReasonedStep {
        hash,
        index: index + 1,
        as_chosen: chosen.is_none_or(|chosen| chosen == node.role),
        branches: branches(&before, Some(&node.role))?,
        after: before.position().to_owned(),
        output: obtained(thread, record.of_step(hash), &node),
        role: node.role,
        agent: AgentName { alias, agent: node.agent },
        routing,
    })
}

/// The moderator's choice at the head of a thread, explained; and the chosen role, if it could be determined.
fn routing(thread: &Thread<'_>) -> Result<(StepRouting, Option<String>)> {
    let workflow = thread.workflow()?;
    Ok(match moderate::next(thread, &workflow) {
        Ok(decision) => {
            let explained = moderate::explain(thread, &workflow, &decision);
            let next = explained.next.clone();
            (StepRouting::Explained(explained), Some(next))
        }
        Err(error) => (StepRouting::Unexplained { error: error.to_string() }, None),
    })
}

/// The branches of a group that is next on a thread.
fn branches(thread: &Thread<'_>, role: Option<&str>) -> Result<Vec<ConsideredTransition>> {
    let workflow = thread.workflow()?;
    match role.filter(|role| workflow.roles.get(*role).is_some_and(|role| role.more.play.is_some())) {
        Some(group) => Ok(BranchOutlook::for_thread(thread)?.explain_branches(&workflow, group)),
        None => Ok(Vec::new()),
    }
}

fn failed_attempt(failure: uwf_core::view::PageFailure) -> FailedAttempt {
    let uwf_core::view::PageFailure { attempt, agent, exit_code, error, .. } = failure;
    FailedAttempt { attempt, agent, exit_code, error }
}

fn obtained(thread: &Thread<'_>, attempt: Option<RecordedAttempt>, step: &uwf_core::node::StepNode) -> OutputOrigin {
    let home = thread.home();
    let obtained = OutputOrigin {
        detail: Some(step.detail),
        adopted: attempt.as_ref().is_some_and(|attempt| attempt.closed.as_ref().is_some_and(|closed| closed.adopted)),
        reread: attempt.and_then(|attempt| attempt.opened.reextract),
        ..OutputOrigin::default()
    };
    match home.store().get(step.detail) {
        Ok(detail) => with_detail(home, obtained, step.detail, &detail),
        Err(error) => OutputOrigin { unreadable: Some(error.to_string()), ..obtained },
    }
}

fn with_detail(home: &Home, obtained: OutputOrigin, hash: NodeHash, detail: &Node) -> OutputOrigin {
    let store = home.store();
    match NodeKind::from_type_hash(detail.type_hash) {
        Some(NodeKind::StepNode) => {
            let extracted_by = nodes::extracted_by(store, hash).ok().flatten();
            OutputOrigin { child_step: Some(hash), extracted_by, ..obtained }
        }
        Some(NodeKind::ReactSession) => match nodes::payload::<ReactSession>(hash, detail) {
            Ok(session) => {
                let failed = session.attempts.iter().copied().filter(|hash| nodes::has_failed(store, *hash));
                let failed = failed.map(|hash| failed_attempt(pages::failure(store, hash, &session.role))).collect();
                let extracted_by = nodes::extracted_by_of(detail);
                OutputOrigin { extracted_by, rungs: session.extraction, failed, ..obtained }
            }
            Err(error) => OutputOrigin { unreadable: Some(error.to_string()), ..obtained },
        },
        _ => {
            let kind = nodes::title(store, detail);
            OutputOrigin { unreadable: Some(format!("its detail is a {kind}, which does not say")), ..obtained }
        }
    }
}
