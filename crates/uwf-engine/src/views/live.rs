//! `thread live`: events of a thread and its child threads.
//!
//! A watcher polls the data that every step leaves anyway: the head, the record, the files of the running attempt and the marks. So it
//! works alongside any process that steps the thread, and it notices if that process is killed.
//!
//! # Why in this order
//!
//! The parts change one after the other while they are read. A step writes its record first, then moves the head, then changes the marks.
//! A poll reads in the same direction ([`ThreadNow::read`]): the newest attempt in the record then belongs to the head that is read next, or
//! to an earlier one, but never to a later one. Read the other way round, an attempt could end between the two readings: the poll would
//! show the step's successor at work, and only the next poll the step itself.
//!
//! Events come out in the order in which things happened. An attempt at the head of the last poll comes before the new steps: it led to the
//! first of them, and its remaining turns and texts belong before that step. An attempt at the present head comes after them. Child threads
//! are read before the step that they result in, because afterwards that step is in the past, and no later poll returns to it.
//!
//! A watcher holds no lock and keeps no file open. It may lag behind, but it never makes a step wait.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use json_cas::{NodeHash, Store};
use uwf_core::event::{self, OutputStream, ThreadEvent, ThreadEventKind};
use uwf_core::node::{ContentNode, ReactSession, ReactToolCall, ReactTurn};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::GROUP_AGENT;

use crate::attempt::child_threads::{self, kinship};
use crate::attempt::live_trace::follow::LiveTraceFollower;
use crate::attempt::printed::new_text;
use crate::attempt::recorded::{AttemptOutcome, AttemptOutputFiles, RecordedAttempt};
use crate::attempt::redactor::SecretRedactor;
use crate::attempt::settings::ThreadSettings;
use crate::attempt::turns::{AgentToolCall, AgentTurn};
use crate::error::{ErrorKind, Result};
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::root::{env_file, history, ids};
use crate::thread::children;
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::thread::state::ThreadState;
use crate::views::branches;
use crate::views::show::{self, ThreadStatus};
use crate::views::thread_now::ThreadNow;

/// Where to begin in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveStart {
    /// With its first step.
    Beginning,
    /// With this many of the newest existing steps.
    Newest(usize),
    /// With the step that follows this head.
    After(NodeHash),
}

/// A watched thread, with its child threads. It does not hold the storage root, so callers can keep it anywhere between two polls.
pub struct LiveThread {
    role: Option<String>,
    thread: WatchedThread,
}

impl LiveThread {
    /// Begins to watch a thread, or only one role in it. Reads nothing before [`LiveThread::poll`].
    pub fn watch(thread: ThreadId, from: LiveStart, role: Option<String>) -> LiveThread {
        LiveThread { role, thread: WatchedThread::new(thread, 0, from) }
    }

    /// Events since the last call; the first call returns the thread's past.
    ///
    /// # Errors
    /// `NotFound` if the thread does not exist or was removed; errors of its nodes. Callers may call it again.
    pub fn poll(&mut self, home: &Home) -> Result<Vec<ThreadEvent>> {
        if self.thread.has_ended() {
            return Ok(Vec::new());
        }
        self.poll_at(&ThreadNow::read(home, &self.thread.id)?)
    }

    /// The same as of the moment at which the thread was read.
    pub fn poll_at(&mut self, now: &ThreadNow<'_>) -> Result<Vec<ThreadEvent>> {
        let mut events = Vec::new();
        self.thread.poll_at(now, &mut events)?;
        if let Some(wanted) = &self.role {
            let mut roles = self.thread.roles();
            roles.retain(|_, role| role == wanted);
            events.retain(|event| match &event.what {
                ThreadEventKind::Attempt { role, .. } | ThreadEventKind::Failed { role, .. } => role == wanted,
                ThreadEventKind::Step(step) => step.role == *wanted,
                ThreadEventKind::Turn { attempt, .. } | ThreadEventKind::Output { attempt, .. } => {
                    roles.contains_key(attempt)
                }
                ThreadEventKind::Thread { .. } | ThreadEventKind::State { .. } | ThreadEventKind::End { .. } => true,
            });
        }
        Ok(events)
    }

    /// The head at the last poll; `None` before the first.
    pub fn head(&self) -> Option<NodeHash> {
        self.thread.head
    }

    /// The state at the last poll; `None` before the first.
    pub fn state(&self) -> Option<ThreadState> {
        self.thread.state.as_ref().map(|(state, _)| *state)
    }
}

/// All active threads, including those that start while watching.
pub struct LiveAll {
    /// Where to begin in the threads that exist at the first poll. Later threads are followed from their beginning.
    from: Option<LiveStart>,
    role: Option<String>,
    threads: BTreeMap<ThreadId, ThreadSnapshot>,
    /// Threads that ended while they were watched, or that began and ended between two polls.
    ended: BTreeSet<ThreadId>,
    /// Size of the history at the last poll; `None` before the first.
    history: Option<u64>,
    /// Unix milliseconds when watching began.
    since: u64,
}

/// A thread with its head and marks at the last poll.
struct ThreadSnapshot {
    head: NodeHash,
    marks: BTreeSet<ThreadMark>,
    live: LiveThread,
}

impl LiveAll {
    /// Begins to watch all threads, from now on or with some of their existing steps.
    pub fn watch(from: Option<LiveStart>, role: Option<String>) -> LiveAll {
        let (threads, ended) = (BTreeMap::new(), BTreeSet::new());
        LiveAll { from, role, threads, ended, history: None, since: ids::now_ms() }
    }

    /// Events in all threads since the last call. Reads only threads whose head or marks have changed, or that have an open attempt. Skips
    /// unreadable threads.
    pub fn poll(&mut self, home: &Home) -> Result<Vec<ThreadEvent>> {
        let is_first = self.history.is_none();
        let heads = home.heads().list()?;
        let mut marked = marks::all(home)?;
        let mut events = Vec::new();
        let mut gone = std::mem::take(&mut self.threads);
        for (id, head) in heads {
            let Ok(thread) = id.parse::<ThreadId>() else { continue };
            let marks = marked.remove(&id).unwrap_or_default();
            let known = gone.remove(&thread);
            let is_calm = match &known {
                Some(seen) => seen.head == head && seen.marks == marks,
                None => is_first && self.from.is_none(),
            };
            let mut seen = known.unwrap_or_else(|| {
                let now = if is_first { self.from.unwrap_or(LiveStart::After(head)) } else { LiveStart::Beginning };
                ThreadSnapshot {
                    head,
                    marks: BTreeSet::new(),
                    live: LiveThread::watch(thread.clone(), now, self.role.clone()),
                }
            });
            if !is_calm || marks.contains(&ThreadMark::Open) {
                events.extend(seen.live.poll(home).unwrap_or_default());
            }
            self.threads.insert(thread, ThreadSnapshot { head, marks, ..seen });
        }
        for (id, mut seen) in gone {
            events.extend(seen.live.poll(home).unwrap_or_default());
            self.ended.insert(id);
        }
        events.extend(self.short_lived(home)?);
        Ok(events)
    }

    /// Events in threads that began and ended between two polls. Reads the history only if it has changed.
    fn short_lived(&mut self, home: &Home) -> Result<Vec<ThreadEvent>> {
        let size = home.history_file().metadata().map_or(0, |meta| meta.len());
        if self.history.replace(size) == Some(size) {
            return Ok(Vec::new());
        }
        let finished = history::all(home)?;
        let mut new: Vec<ThreadId> = finished
            .into_iter()
            .rev()
            .take_while(|line| line.completed_at >= self.since)
            .map(|line| line.thread)
            .filter(|id| self.ended.insert(id.clone()))
            .collect();
        new.reverse();
        let live = |id| LiveThread::watch(id, LiveStart::Beginning, self.role.clone()).poll(home).unwrap_or_default();
        Ok(new.into_iter().flat_map(live).collect())
    }
}

/// A thread as of the last poll.
struct WatchedThread {
    id: ThreadId,
    depth: usize,
    /// Path of the branch that it is; `None` before the first poll.
    branch: Option<String>,
    /// Path of the branch above it.
    above: Option<String>,
    /// Where to begin; `None` after the first poll.
    from: Option<LiveStart>,
    head: Option<NodeHash>,
    steps: usize,
    attempt: Option<WatchedAttempt>,
    state: Option<(ThreadState, Option<String>)>,
    children: BTreeMap<ThreadId, WatchedThread>,
}

/// The newest attempt as of the last poll.
struct WatchedAttempt {
    id: String,
    role: String,
    is_over: bool,
    turns: usize,
    /// The unfinished turn as of the last poll.
    open: Option<AgentTurn>,
    trace: LiveTraceFollower,
    printed: u64,
    complained: u64,
}

impl WatchedThread {
    fn new(id: ThreadId, depth: usize, from: LiveStart) -> WatchedThread {
        WatchedThread {
            id,
            depth,
            branch: None,
            above: None,
            from: Some(from),
            head: None,
            steps: 0,
            attempt: None,
            state: None,
            children: BTreeMap::new(),
        }
    }

    fn event(&self, at: u64, what: ThreadEventKind) -> ThreadEvent {
        ThreadEvent {
            v: event::VERSION,
            thread: self.id.clone(),
            depth: self.depth,
            branch: self.branch.clone(),
            within: self.above.clone().filter(|_| self.branch.is_none()),
            at,
            what,
        }
    }

    fn has_ended(&self) -> bool {
        matches!(self.state, Some((ThreadState::Completed | ThreadState::Killed, _)))
    }

    /// Roles of the followed attempts, by attempt.
    fn roles(&self) -> BTreeMap<String, String> {
        let own = self.attempt.iter().map(|attempt| (attempt.id.clone(), attempt.role.clone()));
        self.children.values().flat_map(WatchedThread::roles).chain(own).collect()
    }

    fn poll(&mut self, home: &Home, events: &mut Vec<ThreadEvent>) -> Result<()> {
        if self.has_ended() && !self.is_revived(home)? {
            return Ok(());
        }
        self.poll_at(&ThreadNow::read(home, &self.id)?, events)
    }

    /// Whether a killed thread is active again: the next attempt of its parent revives a killed branch.
    fn is_revived(&self, home: &Home) -> Result<bool> {
        let was_killed = matches!(self.state, Some((ThreadState::Killed, _)));
        Ok(was_killed && home.heads().read(self.id.as_str())?.is_some())
    }

    fn poll_at(&mut self, now: &ThreadNow<'_>, events: &mut Vec<ThreadEvent>) -> Result<()> {
        let (home, thread, shown) = (now.thread.home(), &now.thread, show::status(now)?);
        if let Some(from) = self.from.take() {
            let settings = ThreadSettings::in_record(home, &now.record).ok().flatten();
            self.branch = settings.and_then(|settings| branches::path_in(home, &settings));
            let workflow = thread.workflow().map_or_else(|_| shown.workflow.to_string(), |workflow| workflow.name);
            let prompt = shown.task.clone();
            events.push(self.event(shown.started_at.unwrap_or(0), ThreadEventKind::Thread { workflow, prompt }));
            let chain = thread.chain()?;
            self.steps = match from {
                LiveStart::Beginning => 0,
                LiveStart::Newest(count) => chain.len().saturating_sub(count),
                LiveStart::After(head) => {
                    chain.records().iter().position(|record| record.step == head).map_or(0, |index| index + 1)
                }
            };
        }
        let (before, after) = match &now.attempt {
            Some(attempt) if Some(attempt.opened.expected_head) == self.head => (Some(attempt), None),
            attempt => (None, attempt.as_ref()),
        };
        if let Some(attempt) = before {
            self.attempt(home, attempt, events)?;
        }
        // The thread of a group has no attempts: its parent's agent plays the branches.
        if now.attempt.is_none() {
            // A branch may have begun and ended since the last poll.
            self.poll_children(home, child_threads::in_order(home, &self.id)?, events)?;
        }
        self.new_steps(home, thread, events)?;
        if let Some(attempt) = after.filter(|attempt| attempt.opened.expected_head == shown.head) {
            self.attempt(home, attempt, events)?;
        }
        self.changed_state(&shown, events);
        Ok(())
    }

    /// Adds the steps that were linked since the last poll.
    fn new_steps(&mut self, home: &Home, thread: &Thread<'_>, events: &mut Vec<ThreadEvent>) -> Result<()> {
        if self.head == Some(thread.head) {
            return Ok(());
        }
        for index in self.steps..thread.chain()?.len() {
            let step = thread.whole_step(index)?;
            if step.is_child_thread {
                self.finished_child(home, step.detail, events)?;
            } else if step.agent == GROUP_AGENT {
                self.failed_branch(home, &step.role, events)?;
            }
            let rest = self.attempt.take().filter(|attempt| !attempt.is_over && attempt.role == step.role);
            if let Some(attempt) = rest {
                self.rest_of_turns(home.store(), &attempt, step.detail, events);
            }
            events.push(self.event(step.timestamp, ThreadEventKind::Step(Box::new(step))));
        }
        self.steps = thread.chain()?.len();
        self.head = Some(thread.head);
        Ok(())
    }

    /// Adds the turns of an attempt that ended between two polls, from the node that has them.
    fn rest_of_turns(&self, store: &Store, attempt: &WatchedAttempt, detail: NodeHash, events: &mut Vec<ThreadEvent>) {
        // An agent without turns of its own has one turn, which is its output.
        if attempt.turns == 0 && attempt.open.is_none() {
            return;
        }
        // An unreadable node is reported where the step is shown.
        let Ok(turns) = stored_turns(store, detail, attempt.turns) else { return };
        for (number, turn) in turns.into_iter().enumerate() {
            events.push(self.turn(&attempt.id, attempt.turns + number, &turn, true));
        }
    }

    /// Adds the events of the newest attempt since the last poll.
    fn attempt(&mut self, home: &Home, attempt: &RecordedAttempt, events: &mut Vec<ThreadEvent>) -> Result<()> {
        let opened = &attempt.opened;
        let is_known = self.attempt.as_ref().is_some_and(|known| known.id == opened.attempt);
        let is_closed = attempt.closed.is_some();
        if !is_known {
            self.attempt = Some(WatchedAttempt::new(attempt));
            let pid = attempt.started.as_ref().map(|started| started.pid);
            let (role, agent) = (opened.role.clone(), opened.agent.names());
            events.push(self.event(
                opened.opened_at,
                ThreadEventKind::Attempt { attempt: opened.attempt.clone(), role, agent, pid },
            ));
        }
        let Some(mut running) = self.attempt.take() else { return Ok(()) };
        if !running.is_over {
            if opened.agent.plays_by_threads() {
                self.running_children(home, events)?;
            }
            let files = AttemptOutputFiles::paths_of_attempt(home, &self.id, &opened.attempt);
            self.new_turns(&mut running, &files, events);
            self.new_output(home, &mut running, attempt, &files, events);
        }
        if let Some(closed) = attempt.closed.as_ref().filter(|_| !running.is_over)
            && matches!(closed.outcome, AttemptOutcome::Failed)
        {
            let error = closed.error.clone().unwrap_or_default();
            let (attempt, role) = (opened.attempt.clone(), opened.role.clone());
            let node = closed.node;
            let denied = node.map(|node| nodes::denied_in_attempt(home.store(), node)).unwrap_or_default();
            events.push(self.event(closed.closed_at, ThreadEventKind::Failed { attempt, role, error, node, denied }));
            running.is_over = true;
        }
        running.is_over |=
            is_closed && !matches!(attempt.closed.as_ref().map(|closed| closed.outcome), Some(AttemptOutcome::Linked));
        self.attempt = Some(running);
        Ok(())
    }

    fn new_turns(&self, running: &mut WatchedAttempt, files: &AttemptOutputFiles, events: &mut Vec<ThreadEvent>) {
        let Some(news) = running.trace.read_new_turns(files) else { return };
        for (number, stored) in news.over {
            // An agent that restarted its trace repeats turns.
            if number < running.turns {
                continue;
            }
            if let Some(turn) = news.texts.turn(&stored) {
                events.push(self.turn(&running.id, number, &turn, true));
            }
            running.turns = number + 1;
            running.open = None;
        }
        let open = news.open.and_then(|stored| news.texts.turn(&stored));
        if let Some(turn) = open.filter(|turn| running.open.as_ref() != Some(turn)) {
            events.push(self.turn(&running.id, running.turns, &turn, false));
            running.open = Some(turn);
        }
    }

    fn turn(&self, attempt: &str, number: usize, turn: &AgentTurn, done: bool) -> ThreadEvent {
        let tool_calls = turn.tool_calls.iter().map(|call| event::EventToolCall {
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            result: call.result.clone(),
            duration_ms: call.duration_ms,
        });
        let what = ThreadEventKind::Turn {
            attempt: attempt.to_owned(),
            turn: number + 1,
            text: turn.output.clone(),
            tool_calls: tool_calls.collect(),
            tokens: turn.tokens.clone(),
            done,
        };
        self.event(ids::now_ms(), what)
    }

    /// Adds the output that an agent has printed since the last poll. Skips the stdout of an agent with a trace, whose turns have its
    /// answer, and of an agent that stores its nodes itself, which prints only their hash.
    fn new_output(
        &self,
        home: &Home,
        running: &mut WatchedAttempt,
        attempt: &RecordedAttempt,
        files: &AttemptOutputFiles,
        events: &mut Vec<ThreadEvent>,
    ) {
        let opened = &attempt.opened;
        let is_shown = opened.agent.is_wrapped() && !opened.agent.leaves_trace();
        let has_grown = |path: &Path, from: u64| path.metadata().is_ok_and(|meta| meta.len() > from);
        let has_printed = is_shown && has_grown(&files.raw, running.printed);
        if !has_printed && !has_grown(&files.err, running.complained) {
            return;
        }
        // Don't show output while the secrets are unknown.
        let Ok(file) = env_file::read(&home.env_file()) else { return };
        let redactor = SecretRedactor::new(opened.secrets.iter().cloned(), &file);
        let is_over = attempt.closed.is_some();
        let mut read = |path: &Path, from: &mut u64, stream: OutputStream| {
            while let Some(text) = new_text(path, from, is_over, &redactor) {
                events.push(
                    self.event(ids::now_ms(), ThreadEventKind::Output { attempt: running.id.clone(), stream, text }),
                );
            }
        };
        if is_shown {
            read(&files.raw, &mut running.printed, OutputStream::Stdout);
        }
        read(&files.err, &mut running.complained, OutputStream::Stderr);
    }

    /// Polls the child threads that play the role, including those that ended since the last poll.
    fn running_children(&mut self, home: &Home, events: &mut Vec<ThreadEvent>) -> Result<()> {
        self.poll_children(home, child_threads::active(home, &self.id)?, events)
    }

    /// Polls these children, which are in order, and those that had not ended at the last poll.
    fn poll_children(&mut self, home: &Home, children: Vec<ThreadId>, events: &mut Vec<ThreadEvent>) -> Result<()> {
        let known = self.children.values().filter(|child| !child.has_ended()).map(|child| child.id.clone());
        let ended: Vec<ThreadId> = known.filter(|id| !children.contains(id)).collect();
        let mut ids = children;
        if !ended.is_empty() {
            ids.extend(ended);
            kinship::sort(home, &mut ids);
        }
        for id in ids {
            match self.child(id.clone()).poll(home, events) {
                // It was removed.
                Err(error) if error.kind == ErrorKind::NotFound => drop(self.children.remove(&id)),
                other => other?,
            }
        }
        Ok(())
    }

    /// Polls the child thread that a step results from; `last` is the last step of the child.
    fn finished_child(&mut self, home: &Home, last: NodeHash, events: &mut Vec<ThreadEvent>) -> Result<()> {
        for id in child_threads::ended_at(home, &self.id, last)? {
            let child = self.child(id);
            // It was killed before, and has ended in another way since.
            child.state.take_if(|(state, _)| *state == ThreadState::Killed);
            child.poll(home, events)?;
        }
        Ok(())
    }

    /// Polls the thread of a branch that failed, where the group continues without it.
    fn failed_branch(&mut self, home: &Home, name: &str, events: &mut Vec<ThreadEvent>) -> Result<()> {
        for id in children::known(home, &self.id)? {
            let place = ThreadSettings::load(home, &id).ok().flatten().and_then(|settings| settings.branch);
            if place.is_some_and(|place| place.name == name) {
                self.child(id).poll(home, events)?;
            }
        }
        Ok(())
    }

    fn child(&mut self, id: ThreadId) -> &mut WatchedThread {
        let depth = self.depth + 1;
        let above = self.branch.clone().or_else(|| self.above.clone());
        self.children
            .entry(id.clone())
            .or_insert_with(|| WatchedThread { above, ..WatchedThread::new(id, depth, LiveStart::Beginning) })
    }

    fn changed_state(&mut self, shown: &ThreadStatus, events: &mut Vec<ThreadEvent>) {
        let state = (shown.state, shown.why.clone());
        if self.state.as_ref() == Some(&state) {
            return;
        }
        let at = shown.changed_at.unwrap_or_else(ids::now_ms);
        let (name, why) = (shown.state.name().to_owned(), shown.why.clone());
        events.push(match shown.state {
            ThreadState::Completed | ThreadState::Killed => {
                let (outcome, condition) = (shown.outcome.clone(), shown.condition.clone());
                self.event(at, ThreadEventKind::End { status: name, reason: why, outcome, condition })
            }
            _ => self.event(shown.since.unwrap_or(at), ThreadEventKind::State { state: name, why, until: shown.until }),
        });
        self.state = Some(state);
    }
}

impl WatchedAttempt {
    fn new(attempt: &RecordedAttempt) -> WatchedAttempt {
        WatchedAttempt {
            id: attempt.opened.attempt.clone(),
            role: attempt.opened.role.clone(),
            is_over: false,
            turns: 0,
            open: None,
            trace: LiveTraceFollower::default(),
            printed: 0,
            complained: 0,
        }
    }
}

/// The turns of a session, without the first `skip`.
fn stored_turns(store: &Store, detail: NodeHash, skip: usize) -> Result<Vec<AgentTurn>> {
    let session: ReactSession = nodes::payload(detail, &store.get(detail)?)?;
    let text = |hash: NodeHash| nodes::typed::<ContentNode>(store, hash).map(|content| content.text);
    let mut turns = Vec::new();
    for hash in session.turns.into_iter().skip(skip) {
        let turn: ReactTurn = nodes::typed(store, hash)?;
        let mut tool_calls = Vec::new();
        for hash in turn.tool_calls {
            let call: ReactToolCall = nodes::typed(store, hash)?;
            let (arguments, result) = (text(call.arguments)?, text(call.result)?);
            tool_calls.push(AgentToolCall { name: call.name, arguments, result, duration_ms: call.duration_ms });
        }
        let output = text(turn.output)?;
        turns.push(AgentTurn { output, tool_calls, tokens: turn.tokens, ..AgentTurn::asked([""; 0]) });
    }
    Ok(turns)
}
