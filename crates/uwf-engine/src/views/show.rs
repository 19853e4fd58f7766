//! `thread show`: the state of a thread.

use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use uwf_core::agent_name::AgentName;
use uwf_core::failure_class::FailureClass;
use uwf_core::label::ThreadLabels;
use uwf_core::node::ThreadEnd;
use uwf_core::outcome::{self, SUCCEEDED};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::START;

use crate::attempt::agents::delegation::Decisions;
use crate::attempt::elsewhere::ClaimReport;
use crate::attempt::recorded::AttemptOutcome;
use crate::attempt::recorded_digest;
use crate::attempt::settings::ThreadSettings;
use crate::error::Result;
use crate::root::history::HistoryLine;
use crate::root::home::Home;
use crate::root::ids;
use crate::root::workplace::{self, ThreadWorkplace};
use crate::root::worktree::Worktree;
use crate::thread::digest::ThreadDigest;
use crate::thread::ending::{self, ThreadEnding};
use crate::thread::load::Thread;
use crate::thread::state::ThreadState;
use crate::thread::{moderate, nodes};
use crate::views::branches;
use crate::views::thread_now::ThreadNow;

/// State of a thread. The first four keys are the same as in a step's report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStatus {
    /// Workflow of the thread.
    pub workflow: NodeHash,
    /// Its id.
    pub thread: ThreadId,
    /// Its head.
    pub head: NodeHash,
    /// Whether it has ended.
    pub done: bool,
    /// Its current state.
    pub state: ThreadState,
    /// Role of its last step; absent before the first step.
    pub role: Option<String>,
    /// Its task.
    pub task: String,
    /// Its input; absent if its workflow has none, or if the node is not readable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Number of steps.
    pub steps: usize,
    /// Start time in Unix milliseconds, from its id; absent if the id is not a ULID.
    pub started_at: Option<u64>,
    /// Time of its last change, in Unix milliseconds.
    pub changed_at: Option<u64>,
    /// Digest recorded at its head, which covers the whole run; absent if none was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<ThreadDigest>,
    /// Why it is in this state, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Hints for a person, if it is stuck.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// The thread above whose state it has, because that thread plays it and has stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_with: Option<ThreadId>,
    /// The thread above that ended or continued without it. It needs no action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_by: Option<ThreadId>,
    /// Whether the thread pauses after its running step.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pausing: bool,
    /// The full question that a waiting thread asks a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// The person who gave the newest answer: the last step, or the reply to the question of an agent since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// Since when it is in this state, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// When it can continue, in Unix milliseconds: at the end of a usage limit, at `askTimeout` of a question, or after the wait between two
    /// attempts of a running step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Class of its last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
    /// Role that is running or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_role: Option<String>,
    /// Agent that plays or played it.
    #[serde(flatten)]
    pub agent: Option<AgentName>,
    /// Attempt node of the last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<NodeHash>,
    /// Id of the newest attempt at its head, whatever its result; absent if the head has no attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_attempt: Option<String>,
    /// Thread-end node of a finished thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<NodeHash>,
    /// Return code of that node: 11 for another outcome than `succeeded`, 1 if the supervisor killed the thread, 130 if a person did.
    /// Absent in JSON if it is 0.
    #[serde(skip_serializing_if = "ending::is_zero")]
    pub return_code: Option<i32>,
    /// Its outcome: `succeeded`, another word of the workflow, `no-match`, `stopped` by the supervisor, or `killed`. A
    /// branch that its group continued without has `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Name of the condition of its last transition, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Its parent's head when this child thread started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<NodeHash>,
    /// Its parent thread, if this machine knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_thread: Option<ThreadId>,
    /// Path of the branch that it is, `GROUP.BRANCH`; absent if it is not a branch of a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Number of threads above this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Workflows that play its roles, by the names its agents use for them.
    #[serde(skip_serializing_if = "Decisions::is_empty")]
    pub workflows: Decisions,
    /// Its labels.
    #[serde(skip_serializing_if = "ThreadLabels::is_empty")]
    pub labels: ThreadLabels,
    /// Its own git worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// Directory its agents work in, if this machine knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<std::path::PathBuf>,
    /// Machine that is running its step, if not this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Its workplace, if only another machine knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub works_on: Option<ThreadWorkplace>,
}

impl ThreadStatus {
    /// The state in words: see [`state_in_words`].
    pub fn state_in_words(&self) -> String {
        state_in_words(self.state, self.pausing, self.outcome.as_deref())
    }
}

/// Tool calls that were denied to the agent of the newest attempt that has ended, or of the last step.
pub fn denied(now: &ThreadNow<'_>) -> Vec<String> {
    let store = now.thread.home().store();
    let closed = now.newest().filter(|attempt| attempt.opened.expected_head == now.thread.head);
    let node = closed.and_then(|attempt| attempt.closed.as_ref()).and_then(|closed| closed.node);
    match (node, &now.thread.last) {
        (Some(attempt), _) => nodes::denied_in_attempt(store, attempt),
        (None, Some(last)) => {
            nodes::session(store, last.detail).map(|session| nodes::denied_in_session(&session)).unwrap_or_default()
        }
        (None, None) => Vec::new(),
    }
}

/// A state in words: a running thread may be about to pause, and an ended one says its outcome.
pub fn state_in_words(state: ThreadState, pausing: bool, outcome: Option<&str>) -> String {
    match outcome {
        Some(outcome) if outcome != SUCCEEDED => outcome.to_owned(),
        _ => format!("{}{}", state.name(), if pausing { ", then paused" } else { "" }),
    }
}

/// Shows the state of a thread. Reads two nodes and its input, its index line, marks and cache, however long it is.
///
/// # Errors
/// `NotFound` if the thread does not exist; errors of its nodes.
pub fn show(home: &Home, id: &ThreadId) -> Result<ThreadStatus> {
    status(&ThreadNow::read(home, id)?)
}

/// The same for a thread that was read before.
pub fn status(now: &ThreadNow<'_>) -> Result<ThreadStatus> {
    let shown = base(now)?;
    Ok(match &now.end {
        Some(line) => finished(now, line, shown),
        None => active(now, shown),
    })
}

fn active(now: &ThreadNow<'_>, mut shown: ThreadStatus) -> ThreadStatus {
    let attempt = now.newest();
    let at_head = attempt.filter(|attempt| attempt.opened.expected_head == now.thread.head);
    shown.last_attempt = at_head.map(|attempt| attempt.opened.attempt.clone());
    if now.state == ThreadState::Running {
        if let Some(ClaimReport::AtWork(at_work)) = &now.news {
            shown.at_role = Some(at_work.role.clone());
            shown.agent = Some(at_work.agent.clone());
            let since = u64::try_from(at_work.since.as_millis()).unwrap_or(u64::MAX);
            shown.since = Some(ids::now_ms().saturating_sub(since));
            shown.machine = Some(at_work.machine.clone());
        } else if let Some(attempt) = attempt {
            shown.at_role = Some(attempt.opened.role.clone());
            shown.agent = Some(attempt.opened.agent.names());
            shown.since = Some(attempt.opened.opened_at);
        }
        shown.pausing = now.is_pausing();
        shown.why = now.reason.as_ref().map(|reason| reason.why.clone());
        shown.until = now.continues_at();
        return shown;
    }
    if let Some(reason) = now.reason.clone() {
        shown.at_role = reason.role;
        shown.why = Some(reason.why);
        shown.since = Some(reason.since);
        shown.until = now.continues_at();
        if now.state == ThreadState::Stuck {
            shown.hints = reason.hints;
        }
        shown.asks = reason.asks.filter(|_| now.state == ThreadState::Waiting);
    }
    if let Some(attempt) = at_head
        && let Some(closed) = &attempt.closed
        && matches!(closed.outcome, AttemptOutcome::Failed | AttemptOutcome::Asked)
    {
        shown.agent = Some(attempt.opened.agent.names());
        shown.attempt = closed.node;
        shown.failure = closed.failure.map(|failure| failure.class);
    }
    shown
}

fn ending_condition(thread: &Thread<'_>) -> Option<String> {
    let decision = moderate::glance_at_decision(thread, &thread.workflow().ok()?)?;
    ThreadEnding::by(&decision).condition
}

/// The condition of the last transition. Old lines of the history, and ends of workflows without outcomes, lack it: then the moderator
/// decides again, if that is cheap.
fn condition(now: &ThreadNow<'_>, line: &HistoryLine, end: Option<ThreadEnd>) -> Option<String> {
    let is_by_graph = end.as_ref().is_some_and(|end| end.reason == outcome::BY_GRAPH);
    let in_node = end.and_then(|end| end.meaning).map(|meaning| meaning.condition);
    match (&line.condition, in_node) {
        (Some(condition), _) => Some(condition.clone()),
        (None, Some(in_node)) => in_node,
        (None, None) if is_by_graph => ending_condition(&now.thread),
        (None, None) => None,
    }
}

/// The person who gave the newest answer at the head, if a person did.
fn answered_by(now: &ThreadNow<'_>) -> Option<String> {
    let attempt = now.newest().filter(|attempt| attempt.opened.expected_head == now.thread.head);
    let replied = attempt.and_then(|attempt| match &attempt.replied {
        Some(replied) => replied.by.clone(),
        None => attempt.opened.replies.last()?.by.clone(),
    });
    replied.or_else(|| {
        let last = now.thread.last.as_ref()?;
        nodes::answered_by(&nodes::session(now.thread.home().store(), last.detail)?)
    })
}

fn finished(now: &ThreadNow<'_>, line: &HistoryLine, shown: ThreadStatus) -> ThreadStatus {
    let end = line.end.and_then(|end| ending::read(now.thread.home().store(), end));
    ThreadStatus {
        done: true,
        changed_at: Some(line.completed_at),
        why: end.as_ref().map(|end| end.reason.clone()),
        end: line.end,
        outcome: line.outcome.clone().or_else(|| end.as_ref().map(|end| end.outcome().to_owned())),
        return_code: end.as_ref().map(|end| end.return_code),
        condition: condition(now, line, end),
        ..shown
    }
}

fn base(now: &ThreadNow<'_>) -> Result<ThreadStatus> {
    let (thread, home) = (&now.thread, now.thread.home());
    let settings = ThreadSettings::in_record(home, &now.record).ok().flatten();
    let works_on = match settings {
        Some(_) => None,
        // It is only a note, so ignore errors.
        None => workplace::read_workplace(home, &thread.id).ok().flatten(),
    };
    Ok(ThreadStatus {
        workflow: thread.start.workflow,
        thread: thread.id.clone(),
        head: thread.head,
        digest: recorded_digest::in_record(home, &now.record, thread.head),
        done: false,
        state: now.state,
        role: (thread.position() != START).then(|| thread.position().to_owned()),
        task: thread.start.prompt.clone(),
        input: thread.input().unwrap_or_default(),
        steps: thread.chain()?.len(),
        started_at: thread.started_at(),
        changed_at: thread.changed_at(),
        why: None,
        hints: Vec::new(),
        stopped_with: now.stopped_with.clone(),
        left_by: now.left_by.clone(),
        pausing: false,
        asks: None,
        answered_by: answered_by(now),
        since: None,
        until: None,
        failure: None,
        at_role: None,
        agent: None,
        attempt: None,
        last_attempt: None,
        end: None,
        return_code: None,
        outcome: None,
        condition: None,
        parent: thread.start.parent,
        parent_thread: settings.as_ref().and_then(|settings| settings.parent.clone()),
        branch: settings.as_ref().and_then(|settings| branches::path_in(home, settings)),
        depth: thread.start.depth,
        workflows: settings.as_ref().map(|settings| settings.workflows.clone()).unwrap_or_default(),
        labels: settings.as_ref().map(|settings| settings.labels.clone()).unwrap_or_default(),
        worktree: settings.as_ref().and_then(|settings| settings.worktree.clone()),
        workspace: settings.map(|settings| settings.workspace),
        machine: None,
        works_on,
    })
}
