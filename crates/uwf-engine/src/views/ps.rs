//! `thread ps`: running steps. One readdir finds the threads with an open attempt; nothing is read of other threads, however many there
//! are.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::activity;
use uwf_core::agent_name::AgentName;
use uwf_core::node::TokenCounts;
use uwf_core::text;
use uwf_core::thread::ThreadId;
use uwf_core::view;

use crate::attempt::child_threads::kinship;
use crate::attempt::live_trace::follow::{LiveTraceFollower, LiveTraceUpdate};
use crate::attempt::recorded::{AttemptOutputFiles, RecordedAttempt, ThreadRecord};
use crate::attempt::settings::ThreadSettings;
use crate::error::Result;
use crate::root::home::Home;
use crate::root::lock;
use crate::root::marks::{self, MarkReason, ThreadMark};
use crate::root::project_files::ProjectRoot;
use crate::thread::load::Thread;
use crate::views::branches;

/// Maximum length of an agent's activity, in characters.
const DOING: usize = 100;

/// A running step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunningStep {
    /// The thread.
    pub thread: ThreadId,
    /// Directory of the project that it works in: a git repository, or a directory with `.workflows`. Absent outside of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// Name of its workflow; absent if it is not readable.
    pub workflow: Option<String>,
    /// Role that is played.
    pub role: String,
    /// The agent.
    #[serde(flatten)]
    pub agent: AgentName,
    /// The attempt; between two attempts, the failed one.
    pub attempt: String,
    /// Start time of the attempt, or of the wait for the next one, in Unix milliseconds.
    pub since: u64,
    /// Time of the agent's last output or recorded activity, in Unix milliseconds; its start time if there was none.
    pub last_sign: u64,
    /// Tokens so far, as of the last turn that counted them; absent if they are not counted, or only at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenCounts>,
    /// The agent's current activity, in a few words: the tool it called, or else its last words; between two attempts, the wait. Absent if it
    /// records no trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    /// Process of the agent; absent before it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Process that watches the agent.
    pub keeper: u32,
    /// The parent thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<ThreadId>,
    /// Path of the branch that the thread is: `GROUP.BRANCH`. Absent if the thread is not a branch of a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// Progress of running agents. Each look reads only new turns.
#[derive(Debug, Default)]
pub struct RunningMemory(HashMap<String, KnownAttempt>);

/// State of an attempt at the last look.
#[derive(Debug, Default)]
struct KnownAttempt {
    trace: LiveTraceFollower,
    tokens: Option<TokenCounts>,
    doing: Option<String>,
}

impl KnownAttempt {
    fn refresh(&mut self, files: &AttemptOutputFiles) {
        let Some(news) = self.trace.read_new_turns(files) else { return };
        if news.open.is_some() || !news.over.is_empty() {
            self.doing = doing(&news);
        }
        self.tokens = news.tokens;
    }
}

/// The running steps on this machine, oldest thread first, and branches in the order of their groups. `memory` is the state after the last call; with a fresh one, the agents' whole
/// activity is read.
///
/// # Errors
/// `Io` if the marks cannot be listed. Unreadable threads are left out.
pub fn ps(home: &Home, memory: &mut RunningMemory) -> Result<Vec<RunningStep>> {
    let marked = marks::all_here(home)?;
    let open = marked.into_iter().filter(|(_, marks)| marks.contains(&ThreadMark::Open));
    let mut known = std::mem::take(&mut memory.0);
    let running = |id: ThreadId| {
        let record = lock::is_held(home, &id).unwrap_or(false).then(|| ThreadRecord::read(home, &id).ok())??;
        let attempt = record.newest()?;
        if attempt.closed.is_some() {
            let wait = marks::get(home, &id, ThreadMark::Open).filter(MarkReason::is_wait)?;
            return Some(waiting(home, &record, attempt, &wait));
        }
        let name = attempt.opened.attempt.clone();
        let mut seen = known.remove(&name).unwrap_or_default();
        let step = running(home, &record, attempt, &mut seen);
        memory.0.insert(name, seen);
        Some(step)
    };
    let mut open: Vec<ThreadId> = open.filter_map(|(id, _)| id.parse().ok()).collect();
    kinship::sort(home, &mut open);
    Ok(open.into_iter().filter_map(running).collect())
}

/// A step that waits for its next attempt.
fn waiting(home: &Home, record: &ThreadRecord, attempt: RecordedAttempt, wait: &MarkReason) -> RunningStep {
    let step = running(home, record, attempt, &mut KnownAttempt::default());
    let doing = wait.until.map(|at| format!("retries at {} UTC", view::time_of_day(at)));
    RunningStep { doing, pid: None, tokens: None, since: wait.since, last_sign: wait.since, ..step }
}

fn running(home: &Home, record: &ThreadRecord, attempt: RecordedAttempt, known: &mut KnownAttempt) -> RunningStep {
    let id = record.thread();
    let opened = attempt.opened;
    let files = AttemptOutputFiles::paths_of_attempt(home, id, &opened.attempt);
    known.refresh(&files);
    let signs = [&files.raw, &files.err, &files.out, &files.trace, &files.turn];
    let last_sign = signs.into_iter().filter_map(|path| changed_at(path)).max().unwrap_or(0);
    let thread = Thread::any(home, id).ok();
    let settings = ThreadSettings::in_record(home, record).ok().flatten();
    let project = settings.as_ref().and_then(|settings| ProjectRoot::of_dir(home, &settings.workspace));
    RunningStep {
        project: project.map(|project| project.dir().to_owned()),
        branch: settings.as_ref().and_then(|settings| branches::path_in(home, settings)),
        workflow: thread.and_then(|thread| thread.workflow().ok()).map(|workflow| workflow.name),
        role: opened.role,
        agent: opened.agent.names(),
        since: opened.opened_at,
        last_sign: last_sign.max(opened.opened_at),
        tokens: known.tokens.clone(),
        pid: attempt.started.map(|started| started.pid),
        keeper: opened.keeper,
        doing: known.doing.clone(),
        parent: settings.and_then(|settings| settings.parent),
        attempt: opened.attempt,
        thread: id.clone(),
    }
}

/// Returns an agent's current activity: its last tool call, or its last words.
fn doing(news: &LiveTraceUpdate<'_>) -> Option<String> {
    let turn = news.open.as_ref().or(news.over.last().map(|(_, turn)| turn))?;
    let words = match turn.calls.last() {
        Some(call) => activity::describe_call(&call.name, &news.texts.text(call.arguments)?),
        None => news.texts.text(turn.output)?.trim_end().rsplit('\n').next()?.to_owned(),
    };
    let words = text::one_line(&words);
    (!words.trim().is_empty()).then(|| text::ellipsize(words.trim(), DOING).into_owned())
}

/// Modification time of a non-empty file, in Unix milliseconds.
fn changed_at(path: &Path) -> Option<u64> {
    let meta = path.metadata().ok().filter(|meta| meta.len() > 0)?;
    let since = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}
