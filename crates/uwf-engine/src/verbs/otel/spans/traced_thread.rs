//! A thread of a trace: its span, and the times of its steps.

use json_cas::{NodeHash, Store};
use uwf_core::event::ThreadEvent;

use super::super::ids::{span_id, step_id};
use super::super::otlp::SpanId;
use crate::attempt::child_threads;
use crate::attempt::recorded::{RecordedAttempt, ThreadRecord};
use crate::error::Result;
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::thread::nodes;

/// A thread whose events are processed.
pub(super) struct TracedThread<'h> {
    pub(super) thread: Thread<'h>,
    pub(super) workflow: String,
    pub(super) prompt: String,
    pub(super) span: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) begun_at: u64,
    pub(super) attempts: Vec<RecordedAttempt>,
    pub(super) has_ended: bool,
    /// Path of the branch that it is.
    pub(super) branch: Option<String>,
    /// Whether it is the thread of a group.
    pub(super) is_group: bool,
    /// Include only attempts that failed since then, in Unix milliseconds; `None` for all.
    pub(super) since: Option<u64>,
}

impl<'h> TracedThread<'h> {
    pub(super) fn begun(
        home: &'h Home,
        event: &ThreadEvent,
        workflow: &str,
        prompt: &str,
        since: Option<u64>,
    ) -> Result<TracedThread<'h>> {
        let id = &event.thread;
        let thread = Thread::any(home, id)?;
        let above = child_threads::parent_of(home, id).zip(thread.start.parent);
        let is_group = thread.workflow().is_ok_and(|workflow| workflow.planned_branches().is_some());
        Ok(TracedThread {
            branch: event.branch.clone(),
            is_group,
            workflow: workflow.to_owned(),
            prompt: prompt.to_owned(),
            span: span_id("thread", id, &[]),
            parent: above.map(|(parent, head)| match event.branch {
                Some(_) => span_id("thread", &parent, &[]),
                None => step_id(&parent, head),
            }),
            begun_at: event.at,
            attempts: ThreadRecord::read(home, id)?.all(),
            has_ended: false,
            since,
            thread,
        })
    }

    /// The thread's head before a step (with an index from 1), and when the thread reached that head.
    pub(super) fn before(&self, store: &Store, index: usize) -> Result<(NodeHash, u64)> {
        let Some(before) = index.checked_sub(2) else { return Ok((self.thread.start_hash, self.begun_at)) };
        let head = self.thread.step_hash(before)?;
        Ok((head, nodes::step_node(store, head)?.1.max(self.begun_at)))
    }

    /// When a step began and ended: as recorded, or else by its agent's duration. If both are unknown, it began when the thread reached
    /// the previous head.
    pub(super) fn times(&self, hash: NodeHash, stored_at: u64, before: u64, took: Option<u64>) -> (u64, u64) {
        let ended_at = stored_at.max(before);
        let attempt = self.attempts.iter().find(|attempt| attempt.result() == Some(hash));
        let by_duration = took.map(|took| ended_at.saturating_sub(took));
        let begun_at = attempt.map(|attempt| attempt.opened.opened_at).or(by_duration).unwrap_or(before);
        (begun_at.clamp(before, ended_at), ended_at)
    }
}
