//! `thread show`: the state of a thread.

use json_cas::Hash;
use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::agent_name::AgentName;
use uwf_core::outcome::SUCCEEDED;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::START;

use crate::attempt::agents::delegation::Decisions;
use crate::attempt::child_threads;
use crate::attempt::elsewhere::{self, ClaimReport};
use crate::attempt::recorded::{self, Outcome};
use crate::attempt::recorded_digest;
use crate::attempt::settings::Settings;
use crate::error::Result;
use crate::root::history;
use crate::root::home::Home;
use crate::root::workplace::{self, Workplace};
use crate::root::worktree::Worktree;
use crate::root::{ids, marks, missing_thread};
use crate::thread::digest::Digest;
use crate::thread::ending;
use crate::thread::load::Thread;
use crate::thread::state::{self, State};
use crate::views::thread_state::{Known, Pause};

/// State of a thread. The first four keys are the same as in a step's report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStatus {
    /// Workflow of the thread.
    pub workflow: Hash,
    /// Its id.
    pub thread: ThreadId,
    /// Its head.
    pub head: Hash,
    /// Whether it has ended.
    pub done: bool,
    /// Its current state.
    pub state: State,
    /// Role of its last step; absent before the first step.
    pub role: Option<String>,
    /// Its task.
    pub task: String,
    /// Number of steps.
    pub steps: usize,
    /// Start time in Unix milliseconds, from its id; absent if the id is not a ULID.
    pub started_at: Option<u64>,
    /// Time of its last change, in Unix milliseconds.
    pub changed_at: Option<u64>,
    /// Digest recorded at its head, which covers the whole run; absent if none was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Why it is in this state, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether the thread pauses after its running step.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pausing: bool,
    /// The full question that a waiting thread asks a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// Since when it is in this state, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Role that is running or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_role: Option<String>,
    /// Agent that plays or played it.
    #[serde(flatten)]
    pub agent: Option<AgentName>,
    /// Attempt node of the last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Hash>,
    /// Id of the newest attempt at its head, whatever its result; absent if the head has no attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_attempt: Option<String>,
    /// Thread-end node of a finished thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Hash>,
    /// Return code of that node: 11 for another outcome than `succeeded`, 1 if the supervisor killed the thread, 130 if a person did.
    /// Absent in JSON if it is 0.
    #[serde(skip_serializing_if = "ending::is_zero")]
    pub return_code: Option<i32>,
    /// Its outcome: `succeeded`, another word of the workflow, `no-match`, `stopped` by the supervisor, or `killed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Name of the condition of its last transition, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Its parent's head when this child thread started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Hash>,
    /// Its parent thread, if this machine knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_thread: Option<ThreadId>,
    /// Number of threads above this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Workflows that play its roles, by the names its agents use for them.
    #[serde(skip_serializing_if = "Decisions::is_empty")]
    pub workflows: Decisions,
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
    pub works_on: Option<Workplace>,
}

impl ThreadStatus {
    /// The state in words: see [`state_in_words`].
    pub fn state_in_words(&self) -> String {
        state_in_words(self.state, self.pausing, self.outcome.as_deref())
    }
}

/// A state in words: a running thread may be about to pause, and an ended one says its outcome.
pub fn state_in_words(state: State, pausing: bool, outcome: Option<&str>) -> String {
    match outcome {
        Some(outcome) if outcome != SUCCEEDED => outcome.to_owned(),
        _ => format!("{}{}", state.name(), if pausing { ", then paused" } else { "" }),
    }
}

/// Shows the state of a thread. Reads two nodes, its index line, marks and cache, however long it is.
///
/// # Errors
/// `NotFound` if the thread does not exist; errors of its nodes.
pub fn show(home: &Home, id: &ThreadId) -> Result<ThreadStatus> {
    match home.heads().read(id.as_str())? {
        Some(head) => active(home, id, head.hash),
        None => finished(home, id),
    }
}

fn active(home: &Home, id: &ThreadId, head: Hash) -> Result<ThreadStatus> {
    let pause = child_threads::paused(home, id)?.map(|(by, reason)| Pause { by, reason: Some(reason) });
    let told = elsewhere::told(home, id, head)?;
    let known = Known {
        marks: marks::at_head(home, id, &marks::of_here(home, id), head),
        pause,
        elsewhere: told.as_ref().map(ClaimReport::elsewhere),
    };
    let state = known.state(home, id);
    let reason = known.reason(home, id, state);
    let mut shown = base(&Thread::at(home, id.clone(), head)?, state)?;
    let attempt = match &told {
        Some(ClaimReport::Over(attempt)) => Some((**attempt).clone()),
        Some(ClaimReport::AtWork(_)) | None => recorded::read(home, id)?,
    };
    let at_head = attempt.as_ref().filter(|attempt| attempt.opened.expected_head == head);
    shown.last_attempt = at_head.map(|attempt| attempt.opened.attempt.clone());
    if state == State::Running {
        if let Some(ClaimReport::AtWork(at_work)) = told {
            shown.at_role = Some(at_work.role);
            shown.agent = Some(at_work.agent);
            let since = u64::try_from(at_work.since.as_millis()).unwrap_or(u64::MAX);
            shown.since = Some(ids::now_ms().saturating_sub(since));
            shown.machine = Some(at_work.machine);
        } else if let Some(attempt) = attempt {
            shown.at_role = Some(attempt.opened.role);
            shown.agent = Some(attempt.opened.agent.names());
            shown.since = Some(attempt.opened.opened_at);
        }
        shown.pausing = known.is_pausing(state);
        shown.why = reason.map(|reason| reason.why);
        return Ok(shown);
    }
    if let Some(reason) = reason {
        shown.at_role = reason.role;
        shown.why = Some(reason.why);
        shown.since = Some(reason.since);
        shown.asks = reason.asks.filter(|_| state == State::Waiting);
    }
    if let Some(attempt) = attempt.filter(|attempt| attempt.opened.expected_head == head)
        && let Some(closed) = attempt.closed.filter(|closed| matches!(closed.outcome, Outcome::Failed | Outcome::Asked))
    {
        shown.agent = Some(attempt.opened.agent.names());
        shown.attempt = closed.node;
    }
    Ok(shown)
}

fn finished(home: &Home, id: &ThreadId) -> Result<ThreadStatus> {
    let line = history::of(home, id)?.ok_or_else(|| missing_thread::not_found(home, id))?;
    let shown = base(&Thread::ended(home, &line)?, state::of_finished(line.status))?;
    let end = line.end.and_then(|end| ending::read(home.store(), end));
    Ok(ThreadStatus {
        done: true,
        changed_at: Some(line.completed_at),
        why: end.as_ref().map(|end| end.reason.clone()),
        end: line.end,
        outcome: line.outcome.or_else(|| end.as_ref().map(|end| end.outcome().to_owned())),
        return_code: end.as_ref().map(|end| end.return_code),
        condition: end.and_then(|end| end.meaning?.condition),
        ..shown
    })
}

fn base(thread: &Thread<'_>, state: State) -> Result<ThreadStatus> {
    let settings = Settings::load(thread.home(), &thread.id).ok().flatten();
    let works_on = match settings {
        Some(_) => None,
        // It is only a note, so ignore errors.
        None => workplace::of(thread.home(), &thread.id).ok().flatten(),
    };
    Ok(ThreadStatus {
        workflow: thread.start.workflow,
        thread: thread.id.clone(),
        head: thread.head,
        digest: recorded_digest::at(thread.home(), &thread.id, thread.head)?,
        done: false,
        state,
        role: (thread.position() != START).then(|| thread.position().to_owned()),
        task: thread.start.prompt.clone(),
        steps: thread.chain()?.len(),
        started_at: thread.started_at(),
        changed_at: thread.changed_at(),
        why: None,
        pausing: false,
        asks: None,
        since: None,
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
        depth: thread.start.depth,
        workflows: settings.as_ref().map(|settings| settings.workflows.clone()).unwrap_or_default(),
        worktree: settings.as_ref().and_then(|settings| settings.worktree.clone()),
        workspace: settings.map(|settings| settings.workspace),
        machine: None,
        works_on,
    })
}
