//! `thread why`: what a step was decided by, and how its output was obtained.
//!
//! Nothing of a decision is stored. It is made again by the moderator, on the thread as it was before the step: the graph, the
//! conditions and the history never change, so what comes out is what came out then.

use json_cas::{Hash, Node};
use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::agent_name::AgentName;
use uwf_core::node::{NodeKind, ReactSession, Rung};
use uwf_core::thread::ThreadId;

use crate::attempt::recorded;
use crate::error::Result;
use crate::root::home::Home;
use crate::root::{history, thread_ids};
use crate::thread::chain;
use crate::thread::load::Thread;
use crate::thread::moderate::{self, Explained};
use crate::thread::nodes;
use crate::thread::state::State;
use crate::thread::steps::Parts;
use crate::verbs::{pages, show, workflow_names};

/// Why a step is as it is, or why a thread stands where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reasons {
    /// The workflow.
    pub workflow: Hash,
    /// What it calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_name: Option<String>,
    /// The thread: the one that was asked about, or one that has the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// The step; absent for a thread without steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<ReasonedStep>,
    /// What comes next in the thread that was asked about, or why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Ahead>,
}

/// A step with the reasons for it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasonedStep {
    /// The StepNode.
    pub hash: Hash,
    /// Its position in the thread, from 1.
    pub index: usize,
    /// Role that was played.
    pub role: String,
    /// The agent.
    #[serde(flatten)]
    pub agent: AgentName,
    /// The role before it, or `$START`.
    pub after: String,
    /// How the moderator chose the role.
    pub routing: Routing,
    /// Whether the role is the one that the moderator chooses. A step that was put there by hand may be another.
    pub as_chosen: bool,
    /// How its output was obtained.
    pub output: Obtained,
}

/// A decision, or why it cannot be explained.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Routing {
    /// How it came about.
    Explained(Explained),
    /// Nodes that it takes are not readable, or a condition cannot be evaluated.
    Unexplained {
        /// Why.
        error: String,
    },
}

/// How an output was obtained.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Obtained {
    /// Node that says it.
    pub detail: Option<Hash>,
    /// Rung of the extraction ladder that gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extracted_by: Option<String>,
    /// Each rung that was tried, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<Rung>,
    /// Tries at this step that failed before, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedAttempt>,
    /// Whether a later step command took over what an earlier one had paid for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub adopted: bool,
    /// The failed attempt whose text was read again instead of running the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reread: Option<Hash>,
    /// The last step of the child thread that played the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_step: Option<Hash>,
    /// Why no more of this is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

/// What a rung of the extraction ladder does.
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

/// A try that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedAttempt {
    /// The attempt node.
    pub attempt: Hash,
    /// The agent, when it is known.
    #[serde(flatten)]
    pub agent: Option<AgentName>,
    /// Exit code, when there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Why it failed.
    pub error: String,
}

/// What lies ahead of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ahead {
    /// What the thread is doing.
    pub state: State,
    /// Why it is in this state, when there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What the moderator chooses next; `$END` is the end. Of a thread that was killed it is what would have come.
    pub routing: Routing,
    /// Tries at the next step that failed so far, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedAttempt>,
}

/// Why a thread stands where it stands: its newest step, and what comes next. Reads what the conditions of the two decisions
/// read, however long the thread is.
///
/// # Errors
/// `NotFound` when there is no such thread, those of its head and of the workflow.
pub fn of_thread(home: &Home, id: &ThreadId) -> Result<Reasons> {
    let standing = show::show(home, id)?;
    let thread = Thread::at(home, id.clone(), standing.head)?;
    let steps = thread.chain()?.len();
    let step = steps.checked_sub(1).map(|index| reasoned(&thread, index)).transpose()?;
    let failed = if standing.done { Vec::new() } else { failed_since(home, &thread)? };
    let next = Ahead { state: standing.state, why: standing.why, routing: routing(&thread)?.0, failed };
    Ok(Reasons { step, next: Some(next), ..about(home, &thread, Some(id.clone())) })
}

/// Why a step is as it is. A step is part of all threads that were forked behind it; the newest of them that knows its own
/// steps is taken, which with 10,000 threads costs reading 10,000 small files of the cache.
///
/// # Errors
/// `NotFound` when there is no such node, `Data` when it is no step, those of its nodes.
pub fn of_step(home: &Home, hash: Hash) -> Result<Reasons> {
    nodes::step_node(home.store(), hash)?;
    let known = thread_with(home, hash)?;
    let id = known.as_ref().map(|thread| thread.id.clone());
    let thread = known.map_or_else(|| Thread::without_id(home, hash), Ok)?;
    let index = thread.chain()?.position(hash);
    let step = index.map(|index| reasoned(&thread, index)).transpose()?;
    Ok(Reasons { step, ..about(home, &thread, id) })
}

/// Why a step of a thread is as it is; `None` when the thread has no such step. However many threads there are, only this one
/// is read.
///
/// # Errors
/// `NotFound` when there is no such thread, those of its nodes.
pub fn of_step_in(home: &Home, id: &ThreadId, hash: Hash) -> Result<Option<Reasons>> {
    let thread = Thread::any(home, id)?;
    let Some(index) = thread.chain()?.position(hash) else { return Ok(None) };
    let step = Some(reasoned(&thread, index)?);
    Ok(Some(Reasons { step, ..about(home, &thread, Some(id.clone())) }))
}

fn about(home: &Home, thread: &Thread<'_>, id: Option<ThreadId>) -> Reasons {
    let workflow = thread.start.workflow;
    let workflow_name = workflow_names::own_name(home, workflow);
    Reasons { workflow, workflow_name, thread: id, step: None, next: None }
}

/// The newest thread of this machine that has a step, by its head or by the cache of its chain.
fn thread_with(home: &Home, step: Hash) -> Result<Option<Thread<'_>>> {
    let finished = history::all(home)?.into_iter().map(|line| (line.thread.to_string(), line.head));
    let heads: std::collections::HashMap<String, Hash> = finished.chain(home.heads().list()?).collect();
    for id in thread_ids::all(home)?.into_iter().rev() {
        let (Some(head), Ok(thread)) = (heads.get(&id), id.parse::<ThreadId>()) else { continue };
        if *head != step && !chain::has_cached(home, &thread, step) {
            continue;
        }
        // A cache may be that of a thread as it was before somebody moved its head elsewhere.
        if let Ok(found) = Thread::at(home, thread, *head)
            && found.chain().is_ok_and(|chain| chain.position(step).is_some())
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn reasoned(thread: &Thread<'_>, index: usize) -> Result<ReasonedStep> {
    let before = thread.as_of(index)?;
    let (routing, chosen) = routing(&before)?;
    let store = thread.home().store();
    let hash = thread.step_hash(index)?;
    let (node, _) = nodes::step_node(store, hash)?;
    let alias = thread.step(index, Parts::ALIAS).ok().and_then(|step| step.alias);
    Ok(ReasonedStep {
        hash,
        index: index + 1,
        as_chosen: chosen.is_none_or(|chosen| chosen == node.role),
        after: before.position().to_owned(),
        output: obtained(thread, hash, &node)?,
        role: node.role,
        agent: AgentName { alias, agent: node.agent },
        routing,
    })
}

/// What the moderator chooses at the head of a thread, explained; and the choice itself when it can be made.
fn routing(thread: &Thread<'_>) -> Result<(Routing, Option<String>)> {
    let workflow = thread.workflow()?;
    Ok(match moderate::next(thread, &workflow) {
        Ok(decision) => {
            let explained = moderate::explain(thread, &workflow, &decision);
            let next = explained.next.clone();
            (Routing::Explained(explained), Some(next))
        }
        Err(error) => (Routing::Unexplained { error: error.to_string() }, None),
    })
}

/// Tries since the step that is the head.
fn failed_since(home: &Home, thread: &Thread<'_>) -> Result<Vec<FailedAttempt>> {
    let failures = pages::failures(home, &thread.id, thread.head)?;
    Ok(failures.into_iter().map(failed_attempt).collect())
}

fn failed_attempt(failure: uwf_core::view::Failure) -> FailedAttempt {
    let uwf_core::view::Failure { attempt, agent, exit_code, error, .. } = failure;
    FailedAttempt { attempt, agent, exit_code, error }
}

fn obtained(thread: &Thread<'_>, hash: Hash, step: &uwf_core::node::StepNode) -> Result<Obtained> {
    let home = thread.home();
    let attempt = recorded::of_step(home, &thread.id, hash)?;
    let obtained = Obtained {
        detail: Some(step.detail),
        adopted: attempt.as_ref().is_some_and(|attempt| attempt.closed.as_ref().is_some_and(|closed| closed.adopted)),
        reread: attempt.and_then(|attempt| attempt.opened.reextract),
        ..Obtained::default()
    };
    Ok(match home.store().get(step.detail) {
        Ok(detail) => with_detail(home, obtained, step.detail, &detail),
        Err(error) => Obtained { unreadable: Some(error.to_string()), ..obtained },
    })
}

fn with_detail(home: &Home, obtained: Obtained, hash: Hash, detail: &Node) -> Obtained {
    let store = home.store();
    match NodeKind::of(detail.type_hash) {
        Some(NodeKind::StepNode) => {
            let extracted_by = nodes::extracted_by(store, hash).ok().flatten();
            Obtained { child_step: Some(hash), extracted_by, ..obtained }
        }
        Some(NodeKind::ReactSession) => match nodes::payload::<ReactSession>(hash, detail) {
            Ok(session) => {
                let failed = session.attempts.iter().copied().filter(|hash| nodes::has_failed(store, *hash));
                let failed = failed.map(|hash| failed_attempt(pages::failure(store, hash, &session.role))).collect();
                let extracted_by = nodes::extracted_by_of(detail);
                Obtained { extracted_by, rungs: session.extraction, failed, ..obtained }
            }
            Err(error) => Obtained { unreadable: Some(error.to_string()), ..obtained },
        },
        _ => {
            let kind = nodes::title(store, detail);
            Obtained { unreadable: Some(format!("its detail is a {kind}, which does not say")), ..obtained }
        }
    }
}
